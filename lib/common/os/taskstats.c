/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SO_RCVBUFFORCE */
#include "os/taskstats.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "os/kept.h"

#define FIRST_PIDS    0xeffffffcU /* PROC_PID_INIT_INO of <linux/proc_ns.h> */
#define RECEIVE_BYTES (1 << 20)   /* of the socket: a thousand ends */

#define PADDED(bytes)   (((size_t)(bytes) + 3U) & ~(size_t)3) /* NLA_ALIGN, of unsigned numbers */
#define ATTRIBUTE_BYTES sizeof(struct nlattr)

struct message {
    struct nlmsghdr head;
    struct genlmsghdr command;
    char rest[512];
};

/* ---- asking ------------------------------------------------------------------------------ */

static void add_text(struct message *message, uint16_t type, const char *text)
{
    size_t length = strlen(text) + 1;
    struct nlattr attribute = {(uint16_t)(ATTRIBUTE_BYTES + length), type};
    char *at = (char *)message + message->head.nlmsg_len;
    memcpy(at, &attribute, sizeof attribute);
    memcpy(at + ATTRIBUTE_BYTES, text, length);
    message->head.nlmsg_len += (uint32_t)PADDED(attribute.nla_len);
}

/* One question with one text, and its answer; the errno of a refusal. */
static int ask(int fd, struct message *message, uint16_t family, uint8_t command, uint16_t type,
               const char *text)
{
    *message = (struct message){
        .head = {.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
                 .nlmsg_type = family,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .command = {.cmd = command, .version = 1},
    };
    add_text(message, type, text);
    if (send(fd, message, message->head.nlmsg_len, 0) < 0) {
        return errno;
    }
    ssize_t got = recv(fd, message, sizeof *message, 0);
    if (got < (ssize_t)sizeof message->head) {
        return got < 0 ? errno : EPROTO;
    }
    if (message->head.nlmsg_type == NLMSG_ERROR) {
        int error;
        memcpy(&error, &message->command, sizeof error);
        return -error;
    }
    return 0;
}

/* The attribute of a type among those between two positions, or NULL. */
static const char *find(const char *at, const char *end, uint16_t type, size_t *ret_length)
{
    struct nlattr attribute;
    while (end - at >= (ptrdiff_t)sizeof attribute) {
        memcpy(&attribute, at, sizeof attribute);
        if (attribute.nla_len < ATTRIBUTE_BYTES || attribute.nla_len > end - at) {
            return NULL;
        }
        if ((attribute.nla_type & NLA_TYPE_MASK) == type) {
            *ret_length = attribute.nla_len - ATTRIBUTE_BYTES;
            return at + ATTRIBUTE_BYTES;
        }
        ptrdiff_t step = (ptrdiff_t)PADDED(attribute.nla_len);
        at = step < end - at ? at + step : end;
    }
    return NULL;
}

static uint16_t family_of(int fd)
{
    struct message message;
    size_t length;
    uint16_t family = 0;
    if (ask(fd, &message, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
            TASKSTATS_GENL_NAME) != 0) {
        return 0;
    }
    const char *end = (const char *)&message + message.head.nlmsg_len;
    const char *id = message.head.nlmsg_len <= sizeof message
                         ? find(message.rest, end, CTRL_ATTR_FAMILY_ID, &length)
                         : NULL;
    if (id != NULL && length >= sizeof family) {
        memcpy(&family, id, sizeof family);
    }
    struct message acknowledgement;
    (void)recv(fd, &acknowledgement, sizeof acknowledgement, MSG_DONTWAIT);
    return family;
}

static resmon_status register_all(int fd)
{
    char cpus[32];
    struct message message;
    long count = sysconf(_SC_NPROCESSORS_CONF);
    uint16_t family = family_of(fd);
    if (family == 0) {
        return rm_error(RESMON_ENOTSUP, "this kernel has no task statistics (CONFIG_TASKSTATS)");
    }
    (void)snprintf(cpus, sizeof cpus, "0-%ld", (count > 0 ? count : 1) - 1);
    int error =
        ask(fd, &message, family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus);
    return error == 0 ? RESMON_OK
                      : rm_error_errno(error, "cannot register for the kernel's task statistics");
}

/* In another namespace of pids, theirs are other processes'. */
static bool is_first_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == FIRST_PIDS;
}

resmon_status rm_taskstats_open(int *ret_fd)
{
    const int bytes = RECEIVE_BYTES;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK};
    if (!is_first_namespace()) {
        return rm_error(RESMON_ENOTSUP, "task statistics have the pids of the host");
    }
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    if (fd < 0) {
        return rm_error_errno(errno, "cannot open a socket for the kernel's task statistics");
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    resmon_status status =
        bind(fd, (struct sockaddr *)&address, sizeof address) == 0
            ? register_all(fd)
            : rm_error_errno(errno, "cannot connect to the kernel's task statistics");
    if (status != RESMON_OK) {
        (void)close(fd);
        return status;
    }
    *ret_fd = rm_kept_raise(fd);
    rm_kept_mark(*ret_fd);
    return RESMON_OK;
}

void rm_taskstats_close(int fd)
{
    if (fd >= 0) {
        rm_kept_drop(fd);
    }
}

/* ---- accounts ---------------------------------------------------------------------------- */

/* Struct taskstats grows with its version: what this one has not is 0. */
static bool read_account(const char *at, size_t length, struct rm_task_account *ret_account)
{
    struct taskstats stats;
    memset(&stats, 0, sizeof stats);
    memcpy(&stats, at, length < sizeof stats ? length : sizeof stats);
    uint64_t ticks_ns = (stats.ac_utime + stats.ac_stime) * 1000;
    *ret_account = (struct rm_task_account){
        .pid = stats.version >= 12 ? stats.ac_tgid : 0,
        .thread = stats.ac_pid,
        .cpu_ns = stats.cpu_run_virtual_total > 0 ? stats.cpu_run_virtual_total : ticks_ns,
        .most_ns = ticks_ns > stats.cpu_run_virtual_total ? ticks_ns : stats.cpu_run_virtual_total,
        .rss_peak = stats.hiwater_rss * 1024,
        .wait_status = stats.ac_exitcode,
    };
    return length >= offsetof(struct taskstats, hiwater_rss) + sizeof stats.hiwater_rss;
}

static void take_message(const char *message, size_t bytes,
                         void (*take)(void *context, const struct rm_task_account *account),
                         void *context)
{
    struct nlmsghdr head;
    struct rm_task_account account;
    size_t length, inner;
    memcpy(&head, message, sizeof head);
    if (head.nlmsg_len > bytes || head.nlmsg_type < NLMSG_MIN_TYPE ||
        head.nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN)) {
        return;
    }
    const char *first = message + NLMSG_LENGTH(GENL_HDRLEN);
    const char *all = find(first, message + head.nlmsg_len, TASKSTATS_TYPE_AGGR_PID, &length);
    const char *stats = all != NULL ? find(all, all + length, TASKSTATS_TYPE_STATS, &inner) : NULL;
    if (stats != NULL && read_account(stats, inner, &account)) {
        take(context, &account);
    }
}

bool rm_taskstats_read(int fd, void (*take)(void *context, const struct rm_task_account *account),
                       void *context)
{
    char bytes[4096]; /* an account has some 500 */
    bool is_whole = true;
    for (;;) {
        ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got < 0 && errno == ENOBUFS) {
            is_whole = false;
            continue;
        }
        if (got < (ssize_t)sizeof(struct nlmsghdr)) {
            return is_whole;
        }
        take_message(bytes, (size_t)got, take, context);
    }
}

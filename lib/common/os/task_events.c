/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* recvmmsg, SO_RCVBUFFORCE */
#include "os/task_events.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "base/status.h"

#define RECEIVE_BYTES (1 << 20) /* of a socket: about a thousand events */

static bool bind_socket(int fd, const struct sockaddr_nl *address)
{
    const int bytes = RECEIVE_BYTES;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    return bind(fd, (const struct sockaddr *)address, sizeof *address) == 0;
}

/* ---- forks -------------------------------------------------------------------------------- */

#define BATCH         16
#define MOST_BATCHES  1024 /* a bound if processes fork faster than we read */
#define MESSAGE_BYTES 128
#define ALL_EVENTS    0xe00003c7U /* PROC_EVENT_ALL of Linux 6.6, with its confirmation */

/* The request of Linux 6.6; older kernels ignore one of this length. */
struct input {
    uint32_t operation;
    uint32_t events;
};

#define AT_EVENT       (sizeof(struct nlmsghdr) + sizeof(struct cn_msg))
#define AT_WHAT        (AT_EVENT + offsetof(struct proc_event, what))
#define AT_FORK(field) (AT_EVENT + offsetof(struct proc_event, event_data.fork.field))

/* A classic filter reads big endian: constants are converted with htonl(). */
static bool leave_out_threads(int fd)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT_WHAT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROC_EVENT_NONE, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_FORK), 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT_FORK(child_pid)),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT_FORK(child_tgid)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {.len = RM_ARRAY_LEN(steps), .filter = steps};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

static bool ask_for_forks(int fd, uint32_t mark)
{
    const struct input input = {.operation = PROC_CN_MCAST_LISTEN, .events = ALL_EVENTS};
    const struct nlmsghdr head = {.nlmsg_len = AT_EVENT + sizeof input, .nlmsg_type = NLMSG_DONE};
    const struct cn_msg connector = {
        .id = {CN_IDX_PROC, CN_VAL_PROC}, .ack = mark, .len = sizeof input};
    char message[AT_EVENT + sizeof input];
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, &connector, sizeof connector);
    memcpy(message + AT_EVENT, &input, sizeof input);
    return send(fd, message, sizeof message, MSG_NOSIGNAL) == (ssize_t)sizeof message;
}

/* The event of a message; false: it has no event. */
static bool parse(const void *message, size_t length, struct cn_msg *ret_connector,
                  struct proc_event *ret_event)
{
    if (length < AT_EVENT + sizeof *ret_event) {
        return false;
    }
    memcpy(ret_connector, (const char *)message + sizeof(struct nlmsghdr), sizeof *ret_connector);
    memcpy(ret_event, (const char *)message + AT_EVENT, sizeof *ret_event);
    return ret_connector->id.idx == CN_IDX_PROC && ret_connector->id.val == CN_VAL_PROC;
}

/* The kernel confirms before send() returns, or never. */
static bool is_confirmed(int fd, uint32_t mark)
{
    char bytes[MESSAGE_BYTES];
    struct cn_msg connector;
    struct proc_event event;
    for (ssize_t got; (got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0;) {
        if (parse(bytes, (size_t)got, &connector, &event) && event.what == PROC_EVENT_NONE &&
            connector.ack == mark + 1) {
            return event.event_data.ack.err == 0;
        }
    }
    return false;
}

static bool listen_to(int fd)
{
    const uint32_t mark = (uint32_t)getpid();
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    return leave_out_threads(fd) && bind_socket(fd, &address) && ask_for_forks(fd, mark) &&
           is_confirmed(fd, mark);
}

/* "000000006f1c8f13 11  4711       00000001 ...": a socket, its protocol, whose, and its groups. */
static bool is_listener(struct rm_text line)
{
    struct rm_text word;
    uint64_t protocol, groups;
    return rm_parse_word(&line, &word) && rm_parse_u64(&line, &protocol) &&
           protocol == NETLINK_CONNECTOR && rm_parse_word(&line, &word) &&
           rm_parse_word(&line, &word) && rm_parse_hex(&word, &groups) &&
           (groups & CN_IDX_PROC) != 0;
}

size_t rm_fork_events_listeners(const struct rm_root *root, struct rm_scratch *scratch)
{
    struct rm_text text, line;
    size_t count = 0;
    if (rm_file_read_once(root, "proc/self/net/netlink", scratch, &text) != RESMON_OK) {
        return 0;
    }
    while (rm_parse_line(&text, &line)) {
        count += is_listener(line) ? 1 : 0;
    }
    return count;
}

bool rm_fork_events_open(struct rm_fork_events *events, const struct rm_root *root,
                         struct rm_scratch *scratch)
{
    if (rm_fork_events_listeners(root, scratch) >= RM_FORK_LISTENERS) {
        return false;
    }
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
    if (fd < 0) {
        return false;
    }
    if (!listen_to(fd)) {
        (void)close(fd);
        return false;
    }
    rm_kept_take(&events->socket, fd);
    return true;
}

void rm_fork_events_parse(const void *message, size_t length, rm_fork_visit_fn *visit,
                          void *context)
{
    struct cn_msg connector;
    struct proc_event event;
    if (parse(message, length, &connector, &event) && event.what == PROC_EVENT_FORK &&
        event.event_data.fork.child_pid == event.event_data.fork.child_tgid) {
        visit(context, (uint64_t)event.event_data.fork.parent_tgid,
              (uint64_t)event.event_data.fork.child_tgid);
    }
}

/* Returns the number of messages, or a negative errno. */
static int read_batch(int fd, rm_fork_visit_fn *visit, void *context)
{
    char bytes[BATCH][MESSAGE_BYTES];
    struct iovec places[BATCH];
    struct sockaddr_nl from[BATCH] = {{.nl_pid = 0}};
    struct mmsghdr messages[BATCH] = {0};
    for (size_t i = 0; i < BATCH; i++) {
        places[i] = (struct iovec){bytes[i], MESSAGE_BYTES};
        messages[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
                                              .msg_namelen = sizeof from[i],
                                              .msg_iov = &places[i],
                                              .msg_iovlen = 1};
    }
    int count = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < count; i++) {
        if (from[i].nl_pid == 0) { /* sent by the kernel */
            rm_fork_events_parse(bytes[i], messages[i].msg_len, visit, context);
        }
    }
    return count >= 0 ? count : -errno;
}

bool rm_fork_events_read(struct rm_fork_events *events, rm_fork_visit_fn *visit, void *context)
{
    int count = BATCH;
    bool has_all = true;
    if (!rm_kept_is_ours(&events->socket)) {
        events->socket = (struct rm_kept){0}; /* the program has closed it */
        return false;
    }
    events->latest = 0;
    for (int i = 0; i < MOST_BATCHES && (count == BATCH || count == -ENOBUFS); i++) {
        count = read_batch(events->socket.fd, visit, context);
        events->latest += count > 0 ? (size_t)count : 0;
        has_all &= count >= 0 || count == -EAGAIN;
    }
    return has_all && count != BATCH;
}

void rm_fork_events_close(struct rm_fork_events *events)
{
    rm_kept_close(&events->socket);
}

/* ---- ends of tasks ------------------------------------------------------------------------ */

#define FIRST_PIDS 0xeffffffcU /* PROC_PID_INIT_INO of <linux/proc_ns.h> */

#define PADDED(bytes)   (((size_t)(bytes) + 3U) & ~(size_t)3) /* NLA_ALIGN, of unsigned numbers */
#define ATTRIBUTE_BYTES sizeof(struct nlattr)

struct message {
    struct nlmsghdr head;
    struct genlmsghdr command;
    char rest[512];
};

static void add_text(struct message *message, uint16_t type, const char *text)
{
    size_t length = strlen(text) + 1;
    struct nlattr attribute = {(uint16_t)(ATTRIBUTE_BYTES + length), type};
    char *at = (char *)message + message->head.nlmsg_len;
    memcpy(at, &attribute, sizeof attribute);
    memcpy(at + ATTRIBUTE_BYTES, text, length);
    message->head.nlmsg_len += (uint32_t)PADDED(attribute.nla_len);
}

/* One request with one text, and its reply; 0, or the errno of the reply. */
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

/* The statistics have the pids of the first namespace, which are of other processes elsewhere. */
static bool is_first_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == FIRST_PIDS;
}

resmon_status rm_taskstats_open(int *ret_fd)
{
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK};
    if (!is_first_namespace()) {
        return rm_error(RESMON_ENOTSUP, "task statistics have the pids of the host");
    }
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    if (fd < 0) {
        return rm_error_errno(errno, "cannot open a socket for the kernel's task statistics");
    }
    resmon_status status =
        bind_socket(fd, &address)
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

/* Struct taskstats grows with its version: members that the kernel does not have are 0. */
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

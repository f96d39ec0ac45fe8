/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* recvmmsg, SO_RCVBUFFORCE */
#include "os/fork_events.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/parse.h"

#define RECEIVE_BYTES (1 << 20) /* of the socket: a thousand forks */
#define BATCH         16
#define MOST_BATCHES  1024 /* whoever forks faster than we read is not waited for */
#define MESSAGE_BYTES 128
#define ALL_EVENTS    0xe00003c7U /* PROC_EVENT_ALL of Linux 6.6: what the kernel confirms, too */

/* What Linux 6.6 takes; older kernels leave a question of this length alone. */
struct input {
    uint32_t operation;
    uint32_t events;
};

#define AT_EVENT       (sizeof(struct nlmsghdr) + sizeof(struct cn_msg))
#define AT_WHAT        (AT_EVENT + offsetof(struct proc_event, what))
#define AT_FORK(field) (AT_EVENT + offsetof(struct proc_event, event_data.fork.field))

/* A classic filter reads big endian: what it compares with constants is turned, too. */
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

static bool ask(int fd, uint32_t mark)
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

/* The event of a message; false: it has none. */
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

/* The kernel has confirmed by the time that the question is sent, or it never will. */
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
    const int bytes = RECEIVE_BYTES;
    const uint32_t mark = (uint32_t)getpid();
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    return leave_out_threads(fd) && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
           ask(fd, mark) && is_confirmed(fd, mark);
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

/* How many messages there were; a negative errno. */
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
        if (from[i].nl_pid == 0) { /* the kernel's */
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

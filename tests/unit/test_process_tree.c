/* SPDX-License-Identifier: MIT */
/*
 * Whose memory is whose in a process tree, with real processes: a child that vfork() has stopped
 * its parent for, a process without its main thread, children that we had before, orphans, and what
 * the kernel tells of forks.
 */
#define _GNU_SOURCE /* vfork, pipe2 */
#include "test.h"

#include <fcntl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/process_tree.h"
#include "unit/sanitizer.h"

#define MIB   (1 << 20)
#define TAKEN (64U * MIB)

static struct rm_collect collect;
static struct rm_process_tree tree;
static int gate[2]; /* whoever reads from it goes on when we write */

static void take_memory(void)
{
    char *memory = mmap(NULL, TAKEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t at = 0; memory != MAP_FAILED && at < TAKEN; at += 4096) {
        ((volatile char *)memory)[at] = 1;
    }
}

static void wait_at_gate(void)
{
    char unused;
    (void)!read(gate[0], &unused, 1);
}

/* Forks a process that does this once its tree is observed. */
static pid_t observe(void (*work)(void))
{
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(100); /* should the test fail */
        wait_at_gate();
        work();
        _exit(0);
    }
    assert_ok(rm_collect_init(&collect, NULL, pid, 0));
    assert_ok(rm_tree_open(&tree, &collect, true));
    assert_int_equal(write(gate[1], "a", 1), 1);
    return pid;
}

static void finish(pid_t pid)
{
    assert_int_equal(write(gate[1], "abcd", 4), 4); /* more than there are */
    (void)close(gate[1]);
    (void)close(gate[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    rm_tree_close(&tree);
    rm_collect_free(&collect);
}

static double update(void)
{
    double rss = 0.0;
    (void)usleep(1000);
    collect.now_ns++;
    assert_ok(rm_tree_update(&tree, &collect));
    for (size_t i = 0; i < tree.count; i++) {
        rss += tree.members[i].rss;
    }
    return rss;
}

static double rss_of_two(void)
{
    double rss;
    do {
        rss = update();
    } while (tree.count < 2);
    return rss;
}

static void begin_child_of_vfork(void)
{
    take_memory();
    if (vfork() == 0) {
        wait_at_gate();
        _exit(0);
    }
}

TEST(memory_that_vfork_shares_counts_once)
{
    pid_t pid = observe(begin_child_of_vfork);
    double rss = rss_of_two();
    assert_true(tree.members[1].shares);
    assert_true(rss > TAKEN && rss < 1.5 * TAKEN);
    finish(pid);
}

/* A copy is another memory, as large as it may be. */
static void begin_child_of_fork(void)
{
    take_memory();
    if (fork() == 0) {
        wait_at_gate();
        _exit(0);
    }
    wait_at_gate();
    (void)wait(NULL);
}

TEST(a_copy_counts_on_its_own)
{
    pid_t pid = observe(begin_child_of_fork);
    double rss = rss_of_two();
    assert_false(tree.members[1].shares);
    assert_true(rss > 1.9 * TAKEN);
    finish(pid);
}

static void *go_on(void *unused)
{
    (void)unused;
    take_memory();
    wait_at_gate();
    _exit(0);
}

static void leave_main_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, go_on, NULL) == 0) {
        pthread_exit(NULL);
    }
}

TEST(a_process_lives_without_its_main_thread)
{
    double rss;
    if (HAS_THREAD_SANITIZER) {
        print_message("skipped: ThreadSanitizer does not stand a main thread that ends\n");
        skip();
    }
    pid_t pid = observe(leave_main_thread);
    do {
        rss = update();
    } while (!tree.members[0].has_lost_main || rss < TAKEN);
    assert_false(tree.members[0].is_zombie);
    assert_true(rss < 1.5 * TAKEN || HAS_ADDRESS_SANITIZER);
    assert_true(tree.members[0].fds > 0.0);
    finish(pid);
}

/* ---- orphans ------------------------------------------------------------------------------ */

static void begin_orphan(void)
{
    if (fork() == 0) {
        if (fork() == 0) {
            (void)setsid();
            take_memory();
            wait_at_gate();
        }
        _exit(0);
    }
    (void)wait(NULL);
    wait_at_gate();
}

TEST(an_orphan_stays_where_it_began)
{
    double rss;
    pid_t other = fork();
    if (other == 0) {
        for (;;) {
            (void)pause(); /* it was there before: no orphan */
        }
    }
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    pid_t pid = observe(begin_orphan);
    do {
        rss = update();
    } while (tree.count < 2 || rss < TAKEN);
    assert_int_equal(tree.count, 2);
    assert_int_equal(tree.members[1].ppid, getpid());
    assert_int_equal(rm_tree_child_above(&tree, &tree.members[1]), 0);
    (void)kill(other, SIGKILL);
    finish(pid);
    while (wait(NULL) > 0) {
    }
}

static void begin_many_orphans(void)
{
    for (int i = 0; i < 50; i++) {
        if (fork() == 0) {
            if (fork() == 0) {
                char bytes[4096] = "";
                int null = open("/dev/null", O_WRONLY);
                (void)!write(null, bytes, sizeof bytes);
            }
            _exit(0);
        }
        (void)wait(NULL);
    }
    wait_at_gate();
}

/* Between two looks they come and go; what they did is in what we have waited for. */
TEST(orphans_that_nobody_saw_count)
{
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    pid_t pid = observe(begin_many_orphans);
    for (int waited = 0; waited < 50;) {
        waited += waitpid(-1, NULL, 0) > 0 ? 1 : 0;
    }
    (void)update();
    (void)update();
    assert_near(tree.orphans.io[RM_TREE_WRITE_CHARS] + tree.members[0].io[RM_TREE_WRITE_CHARS],
                50 * 4096, 1024);
    assert_near(tree.uncounted, 0.0, 0.0);
    finish(pid);
}

/* ---- forks that the kernel tells of ------------------------------------------------------- */

static int said[2]; /* an orphan is there, and its ancestors are not */
static int turn[2]; /* it goes on when we write */

/* The last of a chain of processes, the others of which have ended by then. */
static void begin_chain(int length, void (*work)(void))
{
    if (fork() != 0) {
        return;
    }
    for (int i = 1; i < length; i++) {
        pid_t parent = getpid();
        if (fork() != 0) {
            _exit(0);
        }
        while (getppid() == parent) {
            (void)usleep(100);
        }
    }
    (void)alarm(100);
    work();
    _exit(0);
}

static void say_and_wait(void)
{
    char unused;
    (void)!write(said[1], "a", 1);
    (void)!read(turn[0], &unused, 1);
}

static void begin_next_orphan(void)
{
    say_and_wait();
    begin_chain(2, say_and_wait);
}

static void begin_orphans_in_turn(void)
{
    begin_chain(3, begin_next_orphan);
    (void)wait(NULL);
    wait_at_gate();
}

static void begin_many(void)
{
    wait_at_gate();
    for (int i = 0; i < 200; i++) {
        begin_chain(1, say_and_wait);
    }
    wait_at_gate();
}

static void finish_told(pid_t pid)
{
    const char all[256] = "";
    assert_int_equal(write(turn[1], all, sizeof all), sizeof all); /* whoever waits goes on */
    finish(pid);
    (void)close(said[0]);
    (void)close(said[1]);
    (void)close(turn[0]);
    (void)close(turn[1]);
}

/* Skips where the kernel tells nothing. */
static pid_t observe_told(void (*work)(void))
{
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    assert_int_equal(pipe2(turn, O_CLOEXEC), 0);
    pid_t pid = observe(work);
    if (!rm_births_are_reported(&tree.births)) {
        (void)kill(pid, SIGKILL);
        finish_told(pid);
        print_message("skipped: the kernel tells nobody here who forked whom\n");
        skip();
    }
    return pid;
}

static void wait_for_words(int count)
{
    char unused;
    for (int i = 0; i < count; i++) {
        assert_int_equal(read(said[0], &unused, 1), 1);
    }
}

/* Who lives of the tree, but for the root. */
static size_t count_living(uint64_t *ret_pid)
{
    size_t count = 0;
    for (size_t i = 1; i < tree.count; i++) {
        if (!tree.members[i].is_zombie) {
            *ret_pid = tree.members[i].pid;
            count++;
        }
    }
    return count;
}

/* Nobody stood in a list of children when somebody looked, nor whom an orphan begins that ends. */
TEST(an_orphan_is_known_whose_parents_nobody_saw)
{
    uint64_t first = 0, second = 0;
    pid_t pid = observe_told(begin_orphans_in_turn);
    wait_for_words(1);
    assert_true(rm_tree_take_forks(&tree) <= RM_NS_PER_S); /* between two samples */
    assert_true(rm_tree_take_forks(&tree) <= RM_NS_PER_S);
    (void)update();
    assert_int_equal(count_living(&first), 1);
    assert_int_equal(write(turn[1], "a", 1), 1);
    wait_for_words(1);
    while (kill((pid_t)first, 0) == 0) {
        (void)usleep(100);
    }
    (void)update();
    assert_int_equal(count_living(&second), 1);
    assert_int_not_equal(second, first);
    finish_told(pid);
}

/* More than the socket holds: lists of children have those whose parent is there. */
TEST(forks_that_are_not_told_are_looked_for)
{
    const int little = 1;
    uint64_t pid_of_one;
    pid_t pid = observe_told(begin_many);
    int fd = tree.births.events.socket.fd;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little), 0);
    assert_int_equal(write(gate[1], "a", 1), 1);
    wait_for_words(200);
    (void)update();
    assert_true(tree.births.count < 200);
    assert_non_null(strstr(collect.remark, "the kernel dropped fork events"));
    assert_int_equal(collect.provenance, RESMON_PROVENANCE_SAMPLED);
    assert_int_equal(count_living(&pid_of_one), 200);
    finish_told(pid);
}

/* ---- its messages ------------------------------------------------------------------------- */

struct message {
    struct nlmsghdr head;
    char connector[sizeof(struct cn_msg)];
    char event[sizeof(struct proc_event)];
} __attribute__((packed));

static struct message made_fork(uint32_t group, int what, pid_t parent, pid_t child, pid_t thread)
{
    const struct cn_msg connector = {.id = {group, CN_VAL_PROC}};
    struct proc_event event = {.cpu = 0};
    struct message message = {.head.nlmsg_type = NLMSG_DONE};
    event.what = what;
    event.event_data.fork.parent_tgid = parent;
    event.event_data.fork.child_tgid = child;
    event.event_data.fork.child_pid = thread;
    memcpy(message.connector, &connector, sizeof connector);
    memcpy(message.event, &event, sizeof event);
    return message;
}

static struct message made(uint32_t group, int what, int child_thread)
{
    return made_fork(group, what, 10, 20, child_thread);
}

static void count_fork(void *context, uint64_t parent, uint64_t child)
{
    assert_int_equal(parent, 10);
    assert_int_equal(child, 20);
    ++*(int *)context;
}

TEST(only_whole_messages_of_forked_processes_count)
{
    int count = 0;
    const struct message fork_ = made(CN_IDX_PROC, PROC_EVENT_FORK, 20);
    const struct message others[] = {
        made(CN_IDX_PROC, PROC_EVENT_FORK, 21), /* a thread */
        made(CN_IDX_PROC, PROC_EVENT_NONE, 20),
        made(CN_IDX_PROC + 1, PROC_EVENT_FORK, 20),
    };
    for (size_t length = 0; length < sizeof fork_; length++) {
        rm_fork_events_parse(&fork_, length, count_fork, &count);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(others); i++) {
        rm_fork_events_parse(&others[i], sizeof others[i], count_fork, &count);
    }
    assert_int_equal(count, 0);
    rm_fork_events_parse(&fork_, sizeof fork_, count_fork, &count);
    assert_int_equal(count, 1);
}

static void fork_nobody(void *context, uint64_t parent, uint64_t child)
{
    (void)context;
    (void)parent;
    (void)child;
}

/* Whoever has ended is asked about once more; whoever has a number again is somebody else. */
TEST(the_ended_are_remembered_for_one_look)
{
    struct rm_births births = {.count = 0};
    rm_births_note(&births, 20, true);
    rm_births_note_end(&births, 30);
    rm_births_note_end(&births, 20); /* is another's by now */
    assert_int_equal(births.count, 2);
    rm_births_note_end(&births, 40);
    rm_births_note(&births, 40, false);
    assert_false(rm_births_has(&births, 40));
    assert_true(rm_births_has(&births, 20) && rm_births_has(&births, 30));
    assert_false(rm_births_read(&births, fork_nobody, NULL)); /* is closed */
    assert_true(rm_births_has(&births, 20));                  /* was not looked for yet */
    assert_false(rm_births_has(&births, 30));
    rm_births_close(&births);
}

/* ---- numbers that are used again ---------------------------------------------------------- */

static int teller = -1; /* in the place of the kernel */

static void tell(pid_t parent, pid_t child)
{
    const struct message message = made_fork(CN_IDX_PROC, PROC_EVENT_FORK, parent, child, child);
    assert_int_equal(write(teller, &message, sizeof message), sizeof message);
}

static void take_word_of_teller(void)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
    rm_fork_events_close(&tree.births.events);
    rm_kept_take(&tree.births.events.socket, ends[0]);
    teller = ends[1];
}

static void begin_child(void)
{
    if (fork() == 0) {
        wait_at_gate();
        _exit(0);
    }
    wait_at_gate();
    (void)wait(NULL);
}

static bool has_member(pid_t pid)
{
    bool has = false;
    for (size_t i = 0; i < tree.count; i++) {
        has |= tree.members[i].pid == (uint64_t)pid;
    }
    return has;
}

static pid_t begin_stranger(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(100);
        for (;;) {
            (void)pause();
        }
    }
    return pid;
}

/* A stranger with the number of one of ours that has ended, and what it forks: before the end was
 * seen, after, and where one of ours has the number again. */
TEST(who_has_the_number_of_one_of_ours_is_a_stranger)
{
    enum { BEFORE, AFTER, OURS, STRANGERS };
    pid_t stranger[STRANGERS];
    pid_t pid = observe(begin_child);
    for (int i = 0; i < STRANGERS; i++) {
        stranger[i] = begin_stranger();
    }
    (void)rss_of_two();
    pid_t child = (pid_t)tree.members[1].pid;
    take_word_of_teller();
    tell(1, child);
    tell(child, stranger[BEFORE]);
    (void)update();
    assert_int_equal(tree.count, 1);
    tell(child, stranger[AFTER]);
    (void)update();
    assert_int_equal(tree.count, 1);
    tell(pid, 999999); /* of ours: has ended before we looked, */
    tell(999999, stranger[OURS]);
    tell(1, 999999); /* and its number is a stranger's by then */
    tell(999999, stranger[AFTER]);
    (void)update();
    assert_true(has_member(stranger[OURS]));
    assert_false(has_member(stranger[BEFORE]) || has_member(stranger[AFTER]));
    for (int i = 0; i < STRANGERS; i++) {
        (void)kill(stranger[i], SIGKILL);
        (void)waitpid(stranger[i], NULL, 0);
    }
    (void)close(teller);
    finish(pid);
}

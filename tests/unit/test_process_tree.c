/* SPDX-License-Identifier: MIT */
/*
 * Whose memory is whose in a process tree, with real processes: a child that vfork() has stopped
 * its parent for, a process without its main thread, children that we had before, and orphans.
 */
#define _GNU_SOURCE /* vfork, pipe2 */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

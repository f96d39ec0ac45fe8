/* SPDX-License-Identifier: MIT */
/*
 * A /proc that counts processes otherwise than this process does: made ones, and real ones in pid
 * namespaces of their own, where that is permitted.
 */
#define _GNU_SOURCE /* unshare */
#include "collect/counters.h"
#include "fixtures/machine.h"
#include "test.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/thread.h"
#include "os/proc_pid.h"

/* ---- made ones ------------------------------------------------------------------------------ */

struct made {
    char directory[64];
    struct rm_root root;
    struct rm_scratch scratch;
};

static void make(struct made *made)
{
    char path[128];
    (void)strcpy(made->directory, "test-pids-XXXXXX");
    assert_non_null(mkdtemp(made->directory));
    (void)snprintf(path, sizeof path, "%s/proc", made->directory);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_ok(rm_root_open(&made->root, made->directory));
    assert_ok(rm_scratch_init(&made->scratch));
}

static void unmake(struct made *made)
{
    rm_scratch_free(&made->scratch);
    rm_root_close(&made->root);
    (void)remove_directory(made->directory);
}

static void add_process(struct made *made, int number, const char *levels)
{
    char path[128];
    char text[128];
    (void)snprintf(path, sizeof path, "%s/proc/%d", made->directory, number);
    assert_int_equal(mkdir(path, 0755), 0);
    (void)snprintf(path, sizeof path, "%s/proc/%d/status", made->directory, number);
    (void)snprintf(text, sizeof text, "Name:\tmade\nPid:\t%d\n%s%s%sThreads:\t1\n", number,
                   levels[0] != '\0' ? "NSpid:" : "", levels, levels[0] != '\0' ? "\n" : "");
    write_file(path, text, strlen(text));
}

static void set_self(const struct made *made, const char *target)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/proc/self", made->directory);
    (void)unlink(path);
    assert_int_equal(symlink(target, path), 0);
}

static void assert_view(struct made *made, int64_t pid, enum rm_pid_view_kind kind, int64_t own,
                        unsigned depth)
{
    struct rm_pid_view view = rm_pid_view_find(&made->root, &made->scratch, pid);
    assert_int_equal(view.kind, kind);
    assert_int_equal(view.own, own);
    assert_int_equal(view.depth, depth);
}

TEST(kinds_of_proc)
{
    struct made made;
    make(&made);
    assert_view(&made, 7, RM_PID_VIEW_SAME, 7, 0); /* no /proc: nothing says otherwise */
    add_process(&made, 31, "\t31");
    add_process(&made, 32, ""); /* before Linux 4.1 */
    add_process(&made, 4711, "\t4711\t12\t1");
    add_process(&made, 5, "\t5\t5");
    set_self(&made, "31");
    assert_view(&made, 31, RM_PID_VIEW_SAME, 31, 0);
    set_self(&made, "32");
    assert_view(&made, 32, RM_PID_VIEW_SAME, 32, 0);
    assert_view(&made, 1, RM_PID_VIEW_OUTER, 32, 0);
    set_self(&made, "4711");
    assert_view(&made, 1, RM_PID_VIEW_OUTER, 4711, 2);
    set_self(&made, "5"); /* numbers that happen to be equal: those of children differ */
    assert_view(&made, 5, RM_PID_VIEW_OUTER, 5, 1);
    unmake(&made);
}

static int64_t here(struct made *made, const struct rm_pid_view *view, int64_t number)
{
    return rm_pid_view_here(view, &made->root, &made->scratch, number);
}

TEST(numbers_are_translated)
{
    struct made made;
    make(&made);
    add_process(&made, 31, "\t31");
    add_process(&made, 4711, "\t4711\t1");
    add_process(&made, 4712, "\t4712\t2");
    add_process(&made, 4713, "\t4713\t3\t1"); /* in a namespace below */
    add_process(&made, 4714, "");
    set_self(&made, "4711");
    const struct rm_pid_view view = rm_pid_view_find(&made.root, &made.scratch, 1);
    assert_int_equal(here(&made, &view, 4711), 1);
    assert_int_equal(here(&made, &view, 4712), 2);
    assert_int_equal(here(&made, &view, 4713), 3);
    assert_int_equal(here(&made, &view, 31), 0); /* not in ours */
    assert_int_equal(here(&made, &view, 4714), 0);
    assert_int_equal(here(&made, &view, 99), 0);
    const struct rm_pid_view same = {.kind = RM_PID_VIEW_SAME, .own = 31};
    assert_int_equal(here(&made, &same, 4711), 4711);
    assert_int_equal(rm_pid_view_there(&same, &made.root, &made.scratch, 77), 77);
    unmake(&made);
}

/* ---- real ones ------------------------------------------------------------------------------ */

/* In processes of their own, which cannot fail as cmocka would have it. */
#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                             \
        }                                                                         \
    } while (0)

static double rss_of(const char *path)
{
    size_t length;
    char *text = read_file(path, &length);
    CHECK(text != NULL);
    double pages = atof(strchr(text, ' '));
    free(text);
    return pages * (double)sysconf(_SC_PAGESIZE);
}

static pid_t start_child(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            (void)pause();
        }
    }
    return child;
}

static double tree_of(int64_t pid, uint16_t metric, int64_t *ret_number)
{
    static struct readings readings;
    CHECK(readings_open(&readings, NULL, pid) == RESMON_OK);
    readings_take(&readings, 0);
    double value = readings_get(&readings, metric, 0);
    *ret_number = readings.collect.proc_pid;
    readings_close(&readings);
    return value;
}

/* Before Linux 5.3 nobody tells which number there a process has that is one here. */
static bool has_descriptors_of_processes(void)
{
#ifdef SYS_pidfd_open
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    bool is_there = fd >= 0;
    if (is_there) {
        (void)close(fd);
    }
    return is_there;
#else
    return false;
#endif
}

/* Of the namespace: this process and its child. */
static void check_child(pid_t child, double both)
{
    static struct rm_collect collect;
    char path[64];
    int64_t number;
    if (!has_descriptors_of_processes()) {
        CHECK(rm_collect_init(&collect, NULL, child, 0) == RESMON_ESRCH);
        return;
    }
    CHECK(tree_of(child, RM_TREE_PROCESSES, &number) == 1.0);
    (void)snprintf(path, sizeof path, "/proc/%lld/statm", (long long)number);
    double sum = rss_of("/proc/self/statm") + rss_of(path);
    CHECK(fabs(both - sum) < 16.0 * (1 << 20));
}

static bool has_task(const struct rm_collect *collect, int64_t task)
{
    for (size_t i = 0; i < collect->counters->task_count; i++) {
        if (collect->counters->tasks[i] == task) {
            return true;
        }
    }
    return false;
}

static void check_counters(struct rm_collect *collect, pid_t child)
{
    CHECK(rm_counters_open(collect) == RESMON_OK);
    CHECK(collect->counters->task_count == 1); /* this thread is left out */
    CHECK(has_task(collect, child));
}

/* Process 1 of a namespace whose /proc is the one outside: proc/1 is another process. */
static void be_inside(void)
{
    static struct rm_collect collect;
    int64_t number;
    CHECK(getpid() == 1);
    pid_t child = start_child();
    CHECK(tree_of(0, RM_TREE_PROCESSES, &number) == 2.0);
    CHECK(number > 1);
    double both = tree_of(0, RM_TREE_MEM_RSS, &number);
    check_child(child, both);
    CHECK(tree_of(0, RM_PROC_CPU_TIME, &number) > 0.0);
    CHECK(rm_collect_init(&collect, NULL, 0, 0) == RESMON_OK);
    check_counters(&collect, child);
    rm_collect_free(&collect);
    CHECK(rm_collect_init(&collect, NULL, 4194304, 0) == RESMON_ESRCH);
    _exit(0);
}

static int mounted[2]; /* a pipe: a byte when it is done, closed when it is not permitted */

static void mount_proc(void)
{
    (void)close(mounted[0]);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, NULL) != 0) {
        _exit(77);
    }
    CHECK(write(mounted[1], "", 1) == 1);
    for (;;) {
        (void)pause();
    }
}

static void check_source(const struct readings *readings, const char *name)
{
    const struct source *source = readings_source(readings, name);
    CHECK(source->opened == RESMON_ENOENT);
    CHECK(strstr(source->reason[0], "mount it again") != NULL);
}

/* Has the /proc of a namespace that it is not in. */
static void be_outside(void)
{
    static struct readings readings;
    char byte;
    (void)close(mounted[1]);
    if (read(mounted[0], &byte, 1) != 1) {
        _exit(77);
    }
    CHECK(readings_open(&readings, NULL, 0) == RESMON_OK);
    static const char *const names[] = {"tree", "proc_cpu", "proc_mem", "proc_fds", "cgroup_mem"};
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        check_source(&readings, names[i]);
    }
    readings_close(&readings);
    _exit(0);
}

/* Runs `inside` as process 1 of a namespace, and `outside`, unless NULL, beside it.  What the one
 * that is waited for exits with; 77: not permitted. */
static int run_in_namespace(int flags, void (*inside)(void), void (*outside)(void))
{
    int status;
    pid_t starter = fork();
    assert_true(starter >= 0);
    if (starter == 0) {
        if (unshare(CLONE_NEWPID | flags) != 0) {
            _exit(77);
        }
        pid_t first = fork();
        CHECK(first >= 0);
        if (first == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            inside();
        }
        if (outside != NULL) {
            outside();
        }
        CHECK(waitpid(first, &status, 0) == first);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    assert_int_equal(waitpid(starter, &status, 0), starter);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void run_or_skip(int flags, void (*inside)(void), void (*outside)(void))
{
    int result = run_in_namespace(flags, inside, outside);
    if (result == 77) {
        print_message("skipped: unshare() of a pid namespace is not permitted here\n");
        skip();
    }
    assert_int_equal(result, 0);
}

TEST(the_outer_proc)
{
    run_or_skip(0, be_inside, NULL);
}

TEST(a_foreign_proc)
{
    assert_int_equal(pipe(mounted), 0);
    run_or_skip(CLONE_NEWNS, mount_proc, be_outside);
}

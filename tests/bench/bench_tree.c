/* SPDX-License-Identifier: MIT */
/*
 * What a reading of a process tree costs, against the same system calls bare, on files that are all
 * kept open.  The library keeps a share of those that a program may have open, which is 1024 where
 * nobody has said otherwise.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "collect/collect.h"
#include "collect/process_tree.h"
#include "isolated.h"

#define MOST_MEMBERS 2001
#define USUAL_LIMIT  1024

static const char *const names[] = {"stat", "statm", "io", "fd"};
#define FD_DIRECTORY 3

struct member {
    pid_t pid;
    clockid_t clock;
    int fds[RM_ARRAY_LEN(names)];
};

struct setup {
    struct member members[MOST_MEMBERS];
    size_t count;
    int loadavg;
    struct rm_collect collect;
    struct rm_process_tree tree;
};

static double floor_reads(void *context, size_t count)
{
    const struct setup *setup = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        for (const struct member *m = setup->members; m < setup->members + setup->count; m++) {
            struct timespec cpu;
            struct stat info;
            for (size_t f = 0; f < FD_DIRECTORY; f++) {
                bench_read_bare(m->fds[f]);
            }
            if (clock_gettime(m->clock, &cpu) != 0 || fstat(m->fds[FD_DIRECTORY], &info) != 0) {
                abort();
            }
        }
        bench_read_bare(setup->loadavg);
    }
    return (bench_now_ns() - start) / (double)count;
}

/* ---- ours, on a thread with descriptors of its own, as the library samples --------------------
 */

static double open_tree(void *context, size_t unused)
{
    struct setup *setup = context;
    double start = bench_now_ns();
    (void)unused;
    if (rm_collect_init(&setup->collect, NULL, 0, 0) != RESMON_OK ||
        rm_tree_open(&setup->tree, &setup->collect, true) != RESMON_OK) {
        fprintf(stderr, "cannot set up: %s\n", resmon_last_error());
        exit(2);
    }
    return bench_now_ns() - start;
}

static double close_tree(void *context, size_t unused)
{
    struct setup *setup = context;
    (void)unused;
    rm_tree_close(&setup->tree);
    rm_collect_free(&setup->collect);
    return 0.0;
}

static double update_tree(void *context, size_t count)
{
    struct setup *setup = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        if (rm_tree_update(&setup->tree, &setup->collect) != RESMON_OK) {
            abort();
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

static double our_updates(void *setup, size_t count)
{
    return isolated_call(update_tree, setup, count);
}

/* ---- the processes ----------------------------------------------------------------------------
 */

static void start_children(struct setup *setup, size_t children)
{
    setup->members[0].pid = getpid();
    for (size_t m = 1; m <= children; m++) {
        setup->members[m].pid = fork();
        if (setup->members[m].pid == 0) {
            for (;;) {
                pause();
            }
        }
    }
    setup->count = children + 1;
}

static void end_children(struct setup *setup)
{
    for (size_t m = 1; m < setup->count; m++) {
        (void)kill(setup->members[m].pid, SIGKILL);
        (void)waitpid(setup->members[m].pid, NULL, 0);
    }
}

static void open_files(struct setup *setup)
{
    char path[64];
    setup->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    for (struct member *m = setup->members; m < setup->members + setup->count; m++) {
        for (size_t f = 0; f < RM_ARRAY_LEN(names); f++) {
            (void)snprintf(path, sizeof path, "/proc/%ld/%s", (long)m->pid, names[f]);
            m->fds[f] = open(path, O_RDONLY | O_CLOEXEC);
            if (m->fds[f] < 0) {
                perror(path);
                exit(2);
            }
        }
        if (clock_getcpuclockid(m->pid, &m->clock) != 0) {
            abort();
        }
    }
}

static void close_files(const struct setup *setup)
{
    (void)close(setup->loadavg);
    for (const struct member *m = setup->members; m < setup->members + setup->count; m++) {
        for (size_t f = 0; f < RM_ARRAY_LEN(names); f++) {
            (void)close(m->fds[f]);
        }
    }
}

static void limit_files(rlim_t most)
{
    struct rlimit limit;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

struct size {
    const char *reading, *opening; /* what these figures are called */
    size_t children;
    size_t count;     /* of readings, each time */
    rlim_t most_open; /* RLIMIT_NOFILE: the usual one, and one as the command resmon has it */
    double target;
};

static const struct size sizes[] = {
    {"process tree of 64 children", "finding 64 children", 64, 200, USUAL_LIMIT, 1.5},
    {"process tree of 500 children", "finding 500 children", 500, 20, USUAL_LIMIT, 0.0},
    {"process tree of 2,000 children", "finding 2,000 children", 2000, 5, USUAL_LIMIT, 0.0},
    {"process tree of 500 children, 16,384 files", "finding 500 children, 16,384 files", 500, 20,
     16384, 0.0},
    {"process tree of 2,000 children, 16,384 files", "finding 2,000 children, 16,384 files", 2000,
     5, 16384, 0.0},
};

static void bench_size(struct bench *bench, struct setup *setup, const struct size *size)
{
    limit_files(size->most_open);
    start_children(setup, size->children);
    bench_value(bench, size->opening, isolated_call(open_tree, setup, 1) / 1e6, "ms", 0.0);
    (void)our_updates(setup, 1);
    printf("  %zu processes, %zu files kept open\n", setup->tree.count, setup->tree.open_files);
    limit_files(RLIM_INFINITY);
    open_files(setup);
    bench_ratio(bench, size->reading, floor_reads, our_updates, setup, size->count, size->target);
    if (size == sizes) {
        char arguments[64];
        (void)snprintf(arguments, sizeof arguments, "tree %ld", (long)getpid());
        bench_psutil(arguments, bench_median(bench, our_updates, setup, 20));
    }
    close_files(setup);
    (void)isolated_call(close_tree, setup, 1);
    end_children(setup);
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_tree");
    static struct setup setup;
    for (size_t i = 0; i < RM_ARRAY_LEN(sizes); i++) {
        bench_size(&bench, &setup, &sizes[i]);
    }
    return bench_end(&bench);
}

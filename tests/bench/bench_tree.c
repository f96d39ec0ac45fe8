/* SPDX-License-Identifier: MIT */
/*
 * What a reading of a process tree of 64 children costs, against the same system calls bare.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "collect/collect.h"
#include "collect/process_tree.h"

#define CHILDREN 64
#define MEMBERS  (CHILDREN + 1)

static const char *const names[] = {"stat", "statm", "io"};

struct setup {
    int fds[MEMBERS][3];
    int loadavg;
    int root;
    clockid_t clocks[MEMBERS];
    pid_t pids[MEMBERS];
    struct rm_collect collect;
    struct rm_process_tree tree;
};

static double floor_reads(void *context, size_t count)
{
    struct setup *setup = context;
    static char bytes[16384];
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        for (size_t m = 0; m < MEMBERS; m++) {
            struct timespec cpu;
            struct stat info;
            char path[64];
            for (size_t f = 0; f < 3; f++) {
                if (pread(setup->fds[m][f], bytes, sizeof bytes, 0) <= 0) {
                    abort();
                }
            }
            (void)snprintf(path, sizeof path, "proc/%ld/fd", (long)setup->pids[m]);
            if (clock_gettime(setup->clocks[m], &cpu) != 0 ||
                fstatat(setup->root, path, &info, 0) != 0) {
                abort();
            }
        }
        if (pread(setup->loadavg, bytes, sizeof bytes, 0) <= 0) {
            abort();
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

static double our_updates(void *context, size_t count)
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

static void start_children(struct setup *setup)
{
    setup->pids[0] = getpid();
    for (size_t m = 1; m < MEMBERS; m++) {
        setup->pids[m] = fork();
        if (setup->pids[m] == 0) {
            for (;;) {
                pause();
            }
        }
    }
}

static void open_files(struct setup *setup)
{
    char path[64];
    setup->root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    setup->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    for (size_t m = 0; m < MEMBERS; m++) {
        for (size_t f = 0; f < 3; f++) {
            (void)snprintf(path, sizeof path, "/proc/%ld/%s", (long)setup->pids[m], names[f]);
            setup->fds[m][f] = open(path, O_RDONLY | O_CLOEXEC);
        }
        if (clock_getcpuclockid(setup->pids[m], &setup->clocks[m]) != 0) {
            abort();
        }
    }
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_tree");
    static struct setup setup;
    start_children(&setup);
    open_files(&setup);
    if (rm_collect_init(&setup.collect, NULL, 0, 0) != RESMON_OK ||
        rm_tree_open(&setup.tree, &setup.collect, true) != RESMON_OK) {
        fprintf(stderr, "cannot set up: %s\n", resmon_last_error());
        return 2;
    }
    (void)our_updates(&setup, 1);
    printf("  %zu processes, %zu files kept open\n", setup.tree.count, setup.tree.open_files);
    bench_ratio(&bench, "process tree of 64 children", floor_reads, our_updates, &setup, 200, 1.5);
    char arguments[64];
    (void)snprintf(arguments, sizeof arguments, "tree %ld", (long)getpid());
    bench_psutil(arguments, bench_median(&bench, our_updates, &setup, 20));
    for (size_t m = 1; m < MEMBERS; m++) {
        (void)kill(setup.pids[m], SIGKILL);
        (void)waitpid(setup.pids[m], NULL, 0);
    }
    rm_tree_close(&setup.tree);
    rm_collect_free(&setup.collect);
    return bench_end(&bench);
}

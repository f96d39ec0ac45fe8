/* SPDX-License-Identifier: MIT */
/*
 * What every bench shares: rounds in turn (floor, ours, floor, ours, ...), medians, ratios, and the
 * verdict of --check.  Machines are noisy; the ratio of neighbouring rounds is not.
 */
#ifndef RESMON_TESTS_BENCH_H
#define RESMON_TESTS_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#define BENCH_MAX_ROUNDS 101

struct bench {
    const char *name;
    bool is_check; /* --check: exit status 1 past a target */
    bool is_quick; /* --quick: few rounds, for a first look */
    bool has_failed;
};

/** Reads --check and --quick; exits with usage on anything else. */
struct bench bench_begin(int argc, char **argv, const char *name);

/** A measured thing: runs `count` operations and returns the nanoseconds that one took. */
typedef double (*bench_fn)(void *context, size_t count);

/**
 * Runs floor and ours in turn and prints "what: floor F, ours O, ratio R (target T)".  The ratio is
 * the median over pairs.  `target` 0: only informative.
 */
void bench_ratio(struct bench *bench, const char *what, bench_fn floor, bench_fn ours,
                 void *context, size_t count, double target);

/**
 * The same for writing `bytes`: prints "what: floor F, ours O MB/s, ratio R", where a ratio is a
 * multiple of the floor's time.  Past its target below `least` MB/s; `least` 0: only informative.
 */
void bench_speed(struct bench *bench, const char *what, bench_fn floor, bench_fn ours,
                 void *context, size_t bytes, double least);

/** Prints one value against an upper bound; `bound` 0: only informative. */
void bench_value(struct bench *bench, const char *what, double value, const char *unit,
                 double bound);

/** Prints a count that has to be exactly `wanted`. */
void bench_count(struct bench *bench, const char *what, size_t count, size_t wanted);

/** Sorts `values`, and returns the middle one. */
double bench_middle(double *values, size_t count);

/** Median time of one operation, in ns. */
double bench_median(struct bench *bench, bench_fn ours, void *context, size_t count);

/** Runs tests/bench/psutil_peer.py with `arguments` and prints what it took beside `ours_ns`. */
void bench_psutil(const char *arguments, double ours_ns);

/** Reads a file of the kernel as libresmon does, and looks at nothing: one pread(), and a second
 * where the first filled the kernel's buffer. */
void bench_read_bare(int fd);

/** CLOCK_MONOTONIC in ns; resident memory of this process, from its page tables. */
double bench_now_ns(void);
double bench_resident_bytes(void);

/** End the bench where a call of the library failed, and where there is no memory. */
void bench_check(resmon_status status);
void *bench_need(void *memory);

/** The exit status. */
int bench_end(struct bench *bench);

#endif

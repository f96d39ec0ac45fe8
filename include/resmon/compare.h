/* SPDX-License-Identifier: MIT */
/*
 * resmon/compare.h - benchmarks and comparisons: values of several runs per side, the interval of
 * their difference, and the verdict of a gate.
 *
 *     resmon_bench *old, *new;
 *     resmon_bench_load("main.json", &old), resmon_bench_load("mine.json", &new);
 *     resmon_diff *diff;
 *     resmon_diff_make(old, 0, new, 0, "wall>5%+10ms", &diff);
 *     if (resmon_diff_verdict(diff) == RESMON_VERDICT_WORSE) ...
 *
 * A benchmark holds groups of runs: each a command, or a version of a program, with its figures
 * (wall time, CPU time, peak RSS, energy, bytes read and written, ...) by run, and those of each
 * scope, by its path ("train/step").  `resmon bench` makes one, of run documents it is made here.
 *
 * Figures are of two kinds.  Counted ones (peaks that are exact, calls, bytes, instructions) are
 * the same when the same is done: they are compared as they are, and one run a side will do. Others
 * differ from run to run.  Of these the difference is the median of all differences between a run
 * of one side and a run of the other (Hodges and Lehmann), and p the probability that runs that are
 * alike differ so much by chance (Mann and Whitney, two-sided; exact up to 50 runs a side, with
 * equal values up to 25).  The interval, of 95 %, is that of the same test.  Nothing is asked of
 * how runs are distributed, but that they do not hang on each other: take processes of their own,
 * in turns.
 *
 * A gate is a text of rules, in lines or separated by commas; more of a figure is worse:
 *
 *     wall>5%+10ms               by more than 5 % and more than 10 ms
 *     peak>2%+1MiB               units: ns us ms s min h, B KiB MiB GiB kB MB GB, uJ mJ J kJ Wh kWh
 *     scope:train/step wall>3%   of a scope; * and ? in its path stand for any names
 *
 * Figures: wall, self, cpu, user, system, peak, energy, read, written, from_storage, to_storage,
 * calls, minor_faults, major_faults, voluntary_switches, involuntary_switches, instructions; and
 * what explains others: others (CPU time of other programs), steal (that the hypervisor kept),
 * throttled (by a quota), cpu_wait and io_wait (time in which somebody waited for CPUs, or all for
 * I/O).
 *
 * A counted figure is worse when it exceeds what its rule allows, and else not.  Another one is
 * worse when its difference exceeds what the rule allows and p, with all rules that are tested
 * taken together (S. Holm, 1979: the probability of any false alarm stays below 5 %), is at most
 * 0.05; not worse when the upper end of its interval is within what the rule allows; and else
 * nobody can tell.
 */
#ifndef RESMON_COMPARE_H
#define RESMON_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** Groups of runs.  Since 0.1. */
typedef struct resmon_bench resmon_bench;

/** A comparison of two groups.  Since 0.1. */
typedef struct resmon_diff resmon_diff;

/** An empty one.  Free it with resmon_bench_free().  RESMON_EINVAL, RESMON_ENOMEM.  Thread class:
 * any thread.  Since 0.1. */
RESMON_API resmon_status resmon_bench_new(resmon_bench **ret_bench);

/** NULL is allowed.  Thread class: as all that change one: one thread at a time.  Since 0.1. */
RESMON_API void resmon_bench_free(resmon_bench *bench);

/** Adds a run (NULL: none) to the group of that name, which is made if there is none.  The run may
 * be freed.  RESMON_EINVAL; RESMON_ENOMEM: the benchmark is to be freed.  Thread class: one thread
 * at a time. Since 0.1. */
RESMON_API resmon_status resmon_bench_add(resmon_bench *bench, const char *name,
                                          const resmon_run *run);

/**
 * Adds a run that a parent timed and waited for, without a monitor: what it used, with its wall
 * time, and how it ended (NULL: well).  NaN: not known.  CPU time is the sum of user and system.
 * The machine is this one.
 * RESMON_EINVAL: NULL, or a short struct_size; RESMON_ENOMEM: the benchmark is to be freed.
 * Thread class: one thread at a time.  Since 0.1.
 */
RESMON_API resmon_status resmon_bench_add_usage(resmon_bench *bench, const char *name,
                                                const resmon_run_usage *usage,
                                                const resmon_run_end *end);

/** RESMON_OK to go on; anything else ends a benchmark, and is returned.  Since 0.1. */
typedef int32_t (*resmon_bench_function)(void *context);

/** How a function is called again and again.  Zero: the default.  Since 0.1. */
typedef struct resmon_bench_options {
    size_t struct_size;
    uint64_t runs;   /**< that make the group; default 20 */
    uint64_t calls;  /**< of the function in each run; default: as many as take 1 ms at least */
    uint64_t warmup; /**< calls before, that do not count; default 1 */
    uint64_t batch;  /**< what each call stands for, where the function has a loop of its own:
                        figures  are divided by it, too; default 1 */
} resmon_bench_options;

/**
 * Calls a function of this process again and again, and adds its runs to the group of that name:
 * wall and CPU time, I/O and page faults for each call, and the exact peak RSS of the process
 * meanwhile (the kernel's mark is set back, as RESMON_PEAK_RSS of <resmon/scope.h> says). `options`
 * NULL: all defaults.
 *
 * Runs in one process hang on each other (caches, the heap, where the memory is): what counts in
 * the end are processes (`resmon bench`).  What a compiler can see is for nothing it leaves out:
 * resmon_keep().
 * RESMON_EINVAL: NULL; RESMON_ENOSPC: 64 watches are open; RESMON_ENOMEM.
 * Thread class: any thread, which calls the function; one at a time per benchmark.  Since 0.1.
 */
RESMON_API resmon_status resmon_bench_run(resmon_bench *bench, const char *name,
                                          resmon_bench_function function, void *context,
                                          const resmon_bench_options *options);

/** Has a value computed, and the memory written that somebody could look at, although nobody does:
 * for loops that measure.  `value` is an object that has an address.  Since 0.1. */
#if defined(__GNUC__)
#define resmon_keep(value) __asm__ volatile("" : : "r"(&(value)) : "memory")
#endif

/** Reads what resmon_bench_text() wrote as "json", or hyperfine's --export-json.  RESMON_EFORMAT:
 * it is neither, as a run document; RESMON_ENOENT, RESMON_EACCES and the like; RESMON_ENOTSUP:
 * built without cJSON; RESMON_ENOMEM.  Thread class: any thread.  Since 0.1. */
RESMON_API resmon_status resmon_bench_load(const char *path, resmon_bench **ret_bench);

/** How many groups there are; the name of one ("" past the end), and how many runs it has. */
RESMON_API size_t resmon_bench_count(const resmon_bench *bench);
RESMON_API const char *resmon_bench_name(const resmon_bench *bench, size_t index);
RESMON_API size_t resmon_bench_run_count(const resmon_bench *bench, size_t index);

/**
 * The benchmark as text: "text" (for people), "html" (a page), "json" (all of it; what hyperfine's
 * scripts read is there by their names), "bmf" (Bencher's Metric Format), "github"
 * (github-action-benchmark's customSmallerIsBetter), "go" (lines of Go's benchmarks, for benchstat
 * -col /command).  Free `ret_text` with resmon_text_free() of <resmon/report.h>.  RESMON_ENOENT:
 * there is no such form; RESMON_EINVAL, RESMON_ENOMEM. Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_bench_text(const resmon_bench *bench, const char *form,
                                           char **ret_text);

/* Of a row, and of all rows together: the last in this order that there is among them. */
#define RESMON_VERDICT_NONE        0 /**< there is no rule */
#define RESMON_VERDICT_NOT_WORSE   1
#define RESMON_VERDICT_CANNOT_TELL 2 /**< nobody can tell: more runs, or quieter ones, would */
#define RESMON_VERDICT_WORSE       3

/** A figure of both sides.  Texts live as long as the comparison.  Since 0.1. */
typedef struct resmon_diff_row {
    size_t struct_size;
    const char *path;                       /**< of the scope, "train/step"; "" for the run */
    const char *figure;                     /**< "wall" */
    const char *title;                      /**< "wall time" */
    const char *unit;                       /**< "s", "B", "J", "1" */
    const char *rule;                       /**< of the gate; "": none */
    double before, before_low, before_high; /**< median, and its interval of 95 %; NaN: of fewer
                                                 than 6 runs there is none */
    double after, after_low, after_high;
    double shift, shift_low, shift_high; /**< after - before; interval: NaN of too few runs */
    double p;                            /**< NaN: not tested */
    double p_of_all;                     /**< with all rules together; NaN: no rule, not tested */
    double allowance;                    /**< by how much it may grow; 0 without a rule */
    uint64_t before_runs, after_runs;    /**< that know the figure */
    uint64_t
        runs_wanted; /**< a side, with which a verdict is likely; 0: there is one, or not known */
    int32_t is_counted; /**< 1: compared as it is */
    int32_t verdict;    /**< RESMON_VERDICT_* */
} resmon_diff_row;

/**
 * Compares group `before_index` of one benchmark with group `after_index` of another, or of the
 * same. Both must live as long as the comparison.  `gate` NULL: "wall>5%+10ms, cpu>5%+10ms,
 * peak>5%+1MiB";
 * "": no rule.  RESMON_EINVAL: NULL, no such group, a rule that is wrong (the text says which, and
 * what would be right); RESMON_ENOSPC: more than 64 rules; RESMON_ENOMEM.  Free it with
 * resmon_diff_free().  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_diff_make(const resmon_bench *before, size_t before_index,
                                          const resmon_bench *after, size_t after_index,
                                          const char *gate, resmon_diff **ret_diff);

/** NULL is allowed.  Since 0.1. */
RESMON_API void resmon_diff_free(resmon_diff *diff);

/**
 * Says a run of each side, of which the page ("html") then has charts on one axis, and flame graphs
 * of the difference where both have stacks.  They must live as long as the comparison, or until
 * NULL is said.  RESMON_EINVAL: `diff` is NULL.  Thread class: as all that change one: one thread
 * at a time.  Since 0.1.
 */
RESMON_API resmon_status resmon_diff_set_runs(resmon_diff *diff, const resmon_run *before,
                                              const resmon_run *after);

/** RESMON_VERDICT_* of all rules; a rule that finds no figure of both sides: CANNOT_TELL.  Since
 * 0.1.
 */
RESMON_API int32_t resmon_diff_verdict(const resmon_diff *diff);

/** Rows, those of the run first; RESMON_ENOENT past the end.  Since 0.1. */
RESMON_API size_t resmon_diff_count(const resmon_diff *diff);
RESMON_API resmon_status resmon_diff_get(const resmon_diff *diff, size_t index,
                                         resmon_diff_row *ret_row);

/**
 * The comparison as text: "text", "html" (a page without scripts; with charts, after
 * resmon_diff_set_runs()), "markdown" (for a pull request), "json", "junit" (XML).  `width` in
 * columns, of "text"; 0: 100.  `is_full` not 0: each figure of each scope, not only those with a
 * rule or a change.  Free `ret_text` with resmon_text_free() of <resmon/report.h>.  RESMON_ENOENT:
 * there is no such form; RESMON_EINVAL, RESMON_ENOMEM.  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_diff_text(const resmon_diff *diff, const char *form, size_t width,
                                          int32_t is_full, char **ret_text);

/* ---- from one benchmark to the next ------------------------------------------------------- */

/** Benchmarks of one thing in the order of time.  Since 0.1. */
typedef struct resmon_trend resmon_trend;

/** An empty one.  Free it with resmon_trend_free().  RESMON_EINVAL, RESMON_ENOMEM.  Thread class:
 * any thread.  Since 0.1. */
RESMON_API resmon_status resmon_trend_new(resmon_trend **ret_trend);

/** NULL is allowed.  Thread class: as all that change one: one thread at a time.  Since 0.1. */
RESMON_API void resmon_trend_free(resmon_trend *trend);

/** Adds a benchmark under a label, as a commit, of any order; it must live as long, unchanged.
 * RESMON_EINVAL: NULL; RESMON_ENOMEM.  Thread class: one thread at a time.  Since 0.1. */
RESMON_API resmon_status resmon_trend_add(resmon_trend *trend, const char *label,
                                          const resmon_bench *bench);

/**
 * The trend as text: "text", "html" (a page without scripts), "json".  Benchmarks are in the order
 * of the times at which their first runs began; where one does not say, as they were added.  What
 * was measured by another command, or on another kind of machine (CPU, kernel, CPUs, memory), is a
 * series of its own.  Of the run its wall and CPU time, peak, energy and instructions are followed,
 * of scopes their wall time, up to 512 series.
 *
 * Changes of the level are found by E-divisive (D. S. Matteson, N. A. James, 2014) in the medians
 * of the last 1000 benchmarks: where those before and after, three at least, differ by more than in
 * 99 of 100 random orders.  The same benchmarks have the same changes.
 *
 * `width` in columns, of "text"; 0: 100.  Free `ret_text` with resmon_text_free() of
 * <resmon/report.h>.  RESMON_ENOENT: there is no such form; RESMON_EINVAL, RESMON_ENOMEM.  Thread
 * class: one thread at a time.  Since 0.1.
 */
RESMON_API resmon_status resmon_trend_text(resmon_trend *trend, const char *form, size_t width,
                                           char **ret_text);

RESMON_END_DECLS

#endif

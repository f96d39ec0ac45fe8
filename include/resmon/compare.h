/* SPDX-License-Identifier: MIT */
/*
 * resmon/compare.h - benchmarks, comparisons of two groups of runs, gates, and trends.  In
 * libresmon-reader.
 *
 *     resmon_bench *before, *after;
 *     resmon_diff *diff;
 *     resmon_bench_load("main.json", &before);
 *     resmon_bench_load("mine.json", &after);
 *     resmon_diff_make(before, 0, after, 0, "wall>5%+10ms", &diff);
 *     if (resmon_diff_verdict(diff) == RESMON_VERDICT_WORSE) {
 *         puts("slower");
 *     }
 *
 * A benchmark holds groups of runs.  A group is one command, or one version of a program.  It has
 * values (wall time, CPU time, peak RSS, energy, bytes read and written, ...) for each run, and for
 * each scope by its path ("train/step").  `resmon bench` writes benchmarks; resmon_bench_add()
 * builds them from runs.
 *
 * There are two kinds of values:
 *
 * - Counted values (exact peaks, calls, bytes, instructions) are the same whenever the same work is
 *   done.  They are compared directly; one run per side is enough.  If the runs of one side differ
 *   by more than a rule allows, the value is tested like the other kind.
 * - Other values vary from run to run.  Their difference is the median of all differences between
 *   a run of one side and a run of the other side (Hodges and Lehmann).  p is the probability that
 *   runs without a real difference differ this much by chance (Mann and Whitney, two-sided; exact
 *   up to 50 runs per side, with equal values up to 25).  The 95 % confidence interval belongs to
 *   the same test.
 *
 * The test assumes no distribution, but runs must be independent: use separate processes, and
 * alternate the two sides.
 *
 * A gate is a text of rules, on lines or separated by commas; '#' begins a comment.  The first rule
 * that matches a value applies.  A higher value is worse:
 *
 *     wall>5%+10ms               worse by more than 5 % and more than 10 ms
 *     peak>2%+1MiB               units: ns us ms s min h, B KiB MiB GiB kB MB GB, uJ mJ J kJ Wh kWh
 *     scope:train/step wall>3%   value of a scope; * and ? in its path are wildcards
 *
 * Values: wall, self, cpu, user, system, peak, energy, read, written, from_storage, to_storage,
 * calls, minor_faults, major_faults, voluntary_switches, involuntary_switches, instructions.  These
 * explain the others:
 *
 * - others: CPU time of other programs,
 * - steal: CPU time that the hypervisor gave to other virtual machines,
 * - throttled: time throttled by a CPU quota,
 * - heat: time slowed down by heat,
 * - clock: CPU frequency,
 * - cpu_wait, io_wait: time in which some tasks waited for CPUs, or all tasks for I/O.
 *
 * The verdict of a value with a rule:
 *
 * - A counted value is worse if it grows by more than the rule allows, otherwise not worse.
 * - Another value is worse if its difference exceeds what the rule allows and p, adjusted for all
 *   tested rules, is at most 0.05 (S. Holm, 1979: the probability of any false alarm stays below
 *   5 %).  It is not worse if the upper end of its interval is within what the rule allows.
 *   Otherwise the data are insufficient.
 */
#ifndef RESMON_COMPARE_H
#define RESMON_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** A benchmark: groups of runs.  Since 0.1. */
typedef struct resmon_bench resmon_bench;

/** A comparison of two groups.  Since 0.1. */
typedef struct resmon_diff resmon_diff;

/**
 * Creates an empty benchmark.  Free it with resmon_bench_free().
 * RESMON_EINVAL: `ret_bench` is NULL; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_bench_new(resmon_bench **ret_bench);

/** Frees a benchmark; NULL is allowed.  Thread class: one thread at a time.  Since 0.1. */
RESMON_API void resmon_bench_free(resmon_bench *bench);

/**
 * Adds `run` to the group `name`, and creates the group if it does not exist.
 * `run` NULL: only creates the group.  The run may be freed afterwards.
 * RESMON_EINVAL: `bench` or `name` is NULL; RESMON_ENOMEM: the benchmark is unusable, free it.
 * Thread class: one thread at a time.  Since 0.1.
 */
RESMON_API resmon_status resmon_bench_add(resmon_bench *bench, const char *name,
                                          const resmon_run *run);

/**
 * Adds a run that was measured without a monitor, by the parent that waited for the process.
 * `usage` has its wall time and its resource usage; NaN: unknown.  CPU time is the sum of user and
 * system time.  `end` is how it ended; NULL: successfully.  The machine of the run is this one.
 * RESMON_EINVAL: `bench`, `name` or `usage` is NULL, or a struct_size is too small; RESMON_ENOMEM:
 * the benchmark is unusable, free it.
 * Thread class: one thread at a time.  Since 0.1.
 */
RESMON_API resmon_status resmon_bench_add_usage(resmon_bench *bench, const char *name,
                                                const resmon_run_usage *usage,
                                                const resmon_run_end *end);

/** A function to benchmark.  It returns RESMON_OK to continue; another value ends the benchmark,
 * and resmon_bench_run() returns that value.  Since 0.1. */
typedef int32_t (*resmon_bench_function)(void *context);

/** The number of calls of a function.  Zero means the default.  Since 0.1. */
typedef struct resmon_bench_options {
    size_t struct_size;
    uint64_t runs;   /**< runs in the group; default 20 */
    uint64_t calls;  /**< calls per run; default: as many as take at least 1 ms */
    uint64_t warmup; /**< calls before the first run, not measured; default 1 */
    uint64_t batch;  /**< iterations of a loop inside the function: values per call are divided by
                        it, too; default 1 */
} resmon_bench_options;

/**
 * Calls a function of this process repeatedly, and adds the runs to the group `name`.
 * A run has wall time, CPU time, I/O and page faults per call, and the exact peak RSS of the
 * process.  The kernel's high-water mark is reset (see RESMON_PEAK_RSS in <resmon/scope.h>).
 * `options` NULL: all defaults.
 *
 * Runs in one process are not independent (caches, heap, memory placement); for a decision,
 * benchmark separate processes (`resmon bench`).  A compiler removes work whose result is unused;
 * see resmon_keep().
 * RESMON_EINVAL: `bench`, `name` or `function` is NULL, or struct_size is too small; RESMON_ENOSPC:
 * 64 watches are open; RESMON_ENOMEM; or the value that `function` returned.
 * Thread class: any thread, which calls `function`; one at a time per benchmark.  Since 0.1.
 */
RESMON_API resmon_status resmon_bench_run(resmon_bench *bench, const char *name,
                                          resmon_bench_function function, void *context,
                                          const resmon_bench_options *options);

/** Makes the compiler compute `value` and write memory although nothing reads them, for loops that
 * measure.  `value` is an object that has an address.  Since 0.1. */
#if defined(__GNUC__)
#define resmon_keep(value) __asm__ volatile("" : : "r"(&(value)) : "memory")
#endif

/**
 * Reads a file of resmon_bench_text() in the format "json", or of hyperfine's --export-json.
 * Free the benchmark with resmon_bench_free().
 * RESMON_EINVAL: an argument is NULL; RESMON_EFORMAT: another format, for example a run document;
 * RESMON_ENOENT, RESMON_EACCES and similar: the file cannot be read; RESMON_ENOTSUP: built without
 * cJSON; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_bench_load(const char *path, resmon_bench **ret_bench);

/** Returns the number of groups; 0 for NULL.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_bench_count(const resmon_bench *bench);

/** Returns the name of group `index`; "" past the end.  It lives until the benchmark changes or is
 * freed.  Any thread.  Since 0.1. */
RESMON_API const char *resmon_bench_name(const resmon_bench *bench, size_t index);

/** Returns the number of runs in group `index`; 0 past the end.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_bench_run_count(const resmon_bench *bench, size_t index);

/**
 * Renders a benchmark as text.  `form` is one of:
 *
 * - "text": for people,
 * - "html": HTML report,
 * - "json": all data, with the names that hyperfine's scripts read,
 * - "bmf": Bencher's Metric Format,
 * - "github": customSmallerIsBetter of github-action-benchmark,
 * - "go": lines of Go's benchmarks, for benchstat -col /command.
 *
 * Free `ret_text` with resmon_text_free() of <resmon/report.h>.
 * RESMON_ENOENT: `form` is unknown; RESMON_EINVAL: an argument is NULL; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_bench_text(const resmon_bench *bench, const char *form,
                                           char **ret_text);

/* Verdict of a value.  The verdict of a comparison is the highest number among them. */
#define RESMON_VERDICT_NONE        0 /**< no rule */
#define RESMON_VERDICT_NOT_WORSE   1
#define RESMON_VERDICT_CANNOT_TELL 2 /**< insufficient data: more, or quieter, runs are needed */
#define RESMON_VERDICT_WORSE       3

/** A value of both sides.  Strings live as long as the comparison.  Since 0.1. */
typedef struct resmon_diff_row {
    size_t struct_size;
    const char *path;                       /**< path of the scope, "train/step"; "": the run */
    const char *figure;                     /**< name of the value, "wall" */
    const char *title;                      /**< "wall time" */
    const char *unit;                       /**< "s", "B", "J", "1" */
    const char *rule;                       /**< rule of the gate; "": none */
    double before, before_low, before_high; /**< median and its 95 % confidence interval, which is
                                                 NaN for fewer than 6 runs */
    double after, after_low, after_high;
    double shift, shift_low, shift_high; /**< after - before; interval NaN: too few runs */
    double p;                            /**< NaN: not tested */
    double p_of_all;                     /**< adjusted for all rules; NaN: no rule, or not tested */
    double allowance;                    /**< growth that the rule allows; 0 without a rule */
    uint64_t before_runs, after_runs;    /**< runs that have the value */
    uint64_t runs_wanted; /**< runs per side that make a verdict likely; 0: there is a verdict, or
                               the number is unknown */
    int32_t is_counted;   /**< 1: counted value, compared directly */
    int32_t verdict;      /**< RESMON_VERDICT_* */
} resmon_diff_row;

/**
 * Compares group `before_index` of one benchmark with group `after_index` of another or the same.
 * Both benchmarks must live as long as the comparison.  `gate` NULL: "wall>5%+10ms, cpu>5%+10ms,
 * peak>5%+1MiB"; "": no rule.  Free the comparison with resmon_diff_free().
 * RESMON_EINVAL: an argument is NULL, there is no such group, a group has no run, or a rule is
 * invalid; RESMON_ENOSPC: more than 64 rules; RESMON_ENOMEM.  The error text shows an invalid rule
 * and the correct form.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_diff_make(const resmon_bench *before, size_t before_index,
                                          const resmon_bench *after, size_t after_index,
                                          const char *gate, resmon_diff **ret_diff);

/** Frees a comparison; NULL is allowed.  Thread class: one thread at a time.  Since 0.1. */
RESMON_API void resmon_diff_free(resmon_diff *diff);

/**
 * Sets one run per side, for charts on one axis and flame graphs of the difference in "html".
 * Flame graphs require stacks in both runs.  The runs must live as long as the comparison, or until
 * this function is called with NULL.
 * RESMON_EINVAL: `diff` is NULL.
 * Thread class: one thread at a time.  Since 0.1.
 */
RESMON_API resmon_status resmon_diff_set_runs(resmon_diff *diff, const resmon_run *before,
                                              const resmon_run *after);

/**
 * Returns the verdict of all rules, RESMON_VERDICT_*; RESMON_VERDICT_NONE for NULL.
 * If a rule matches no value of both sides, the verdict is at least RESMON_VERDICT_CANNOT_TELL.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API int32_t resmon_diff_verdict(const resmon_diff *diff);

/** Returns the number of compared values; 0 for NULL.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_diff_count(const resmon_diff *diff);

/**
 * Gets compared value `index`; values of the run come before values of scopes.
 * RESMON_ENOENT: past the end; RESMON_EINVAL: NULL, or struct_size is too small.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_diff_get(const resmon_diff *diff, size_t index,
                                         resmon_diff_row *ret_row);

/**
 * Renders a comparison as text.  `form` is one of:
 *
 * - "text": for people, `width` columns wide (0: 100),
 * - "html": HTML report without scripts; with charts after resmon_diff_set_runs(),
 * - "markdown": for a pull request,
 * - "json",
 * - "junit": XML.
 *
 * `is_full` not 0: all values of all scopes, not only those with a rule or a change.  Free
 * `ret_text` with resmon_text_free() of <resmon/report.h>.
 * RESMON_ENOENT: `form` is unknown; RESMON_EINVAL: an argument is NULL; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_diff_text(const resmon_diff *diff, const char *form, size_t width,
                                          int32_t is_full, char **ret_text);

/* ---- trends over many benchmarks ---------------------------------------------------------- */

/** Benchmarks of the same program in the order of time.  Since 0.1. */
typedef struct resmon_trend resmon_trend;

/**
 * Creates an empty trend.  Free it with resmon_trend_free().
 * RESMON_EINVAL: `ret_trend` is NULL; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_trend_new(resmon_trend **ret_trend);

/** Frees a trend; NULL is allowed.  Thread class: one thread at a time.  Since 0.1. */
RESMON_API void resmon_trend_free(resmon_trend *trend);

/**
 * Adds a benchmark under a label, such as a commit, in any order.
 * The label is copied.  The benchmark must live, unchanged, as long as the trend.
 * RESMON_EINVAL: an argument is NULL; RESMON_ENOMEM.
 * Thread class: one thread at a time.  Since 0.1.
 */
RESMON_API resmon_status resmon_trend_add(resmon_trend *trend, const char *label,
                                          const resmon_bench *bench);

/**
 * Renders a trend as "text" (`width` columns wide; 0: 100), "html" (without scripts) or "json".
 * Benchmarks are sorted by the start time of their first run; if one has no time, they stay in the
 * order in which they were added.  A trend has up to 512 series: wall time, CPU time, peak, energy
 * and instructions of the run, and wall time of scopes.  Each command and each kind of machine (CPU
 * model, frequency governor, kernel, number of CPUs, memory) has its own series.
 *
 * E-divisive (D. S. Matteson, N. A. James, 2014) finds changes of the level in the medians of the
 * last 1000 benchmarks: the benchmarks before and after a change, at least three each, differ by
 * more than in 99 of 100 random orders.  The result is the same for the same benchmarks.
 *
 * Free `ret_text` with resmon_text_free() of <resmon/report.h>.
 * RESMON_ENOENT: `form` is unknown; RESMON_EINVAL: an argument is NULL; RESMON_ENOMEM.
 * Thread class: one thread at a time.  Since 0.1.
 */
RESMON_API resmon_status resmon_trend_text(resmon_trend *trend, const char *form, size_t width,
                                           char **ret_text);

RESMON_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * resmon/baseline.h - energy above idle: the energy of the work (A), of an idle period of the same
 * length (B), and the difference A - B.  In libresmon-reader.
 *
 *     resmon_run *idle, *work;
 *     resmon_monitor *monitor;
 *     resmon_comparison comparison = {.struct_size = sizeof comparison};
 *     resmon_measure_idle(60.0, NULL, &idle);
 *     resmon_monitor_new_text("domains=cpu+energy", &monitor);
 *     resmon_monitor_start(monitor);
 *     do_the_work();
 *     resmon_monitor_stop(monitor);
 *     resmon_monitor_snapshot(monitor, &work);
 *     const resmon_run *works[] = {work}, *idles[] = {idle};
 *     resmon_compare_runs(works, 1, idles, 1, NULL, &comparison);
 *     puts(comparison.statement);
 *
 * Each quantity is given in J, W, gCO2eq and kgCO2eq per year, with a confidence interval of the
 * difference.  Energies are of the whole machine: A and B include other programs that run on it.
 *
 * The power of a machine varies from minute to minute.  One run of each side is therefore not
 * enough to know the uncertainty of the difference.  Measure several of each, alternating (work,
 * idle, idle, work, ...), as `resmon baseline` does.
 */
#ifndef RESMON_BASELINE_H
#define RESMON_BASELINE_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>

RESMON_BEGIN_DECLS

/**
 * Records the idle machine while the calling thread sleeps for `seconds`.
 * Keep the machine as quiet as it is beside the work, and use the options of the work's monitor, so
 * that the overhead is equal.  `options` NULL: all defaults.  The domains always include
 * RESMON_DOMAIN_ENERGY and RESMON_DOMAIN_CPU (models use the CPU load).  Scopes are not recorded
 * unless the option `scopes` is set.  A signal handler that runs meanwhile does not end the sleep.
 * Free the run with resmon_run_free().
 * RESMON_EINVAL: `seconds` is not above 0, or is above 604800 (a week), or `ret_run` is NULL; and
 * the errors of resmon_monitor_new() and resmon_monitor_start().
 * Thread class: any thread; returns after `seconds`.  Since 0.1.
 */
RESMON_API resmon_status resmon_measure_idle(double seconds, const resmon_monitor_options *options,
                                             resmon_run **ret_run);

/** Options of a comparison.  Zero means the default.  Since 0.1. */
typedef struct resmon_comparison_options {
    size_t struct_size;
    double hours_per_day; /**< duration of the work per day, above 0 ... 24; default 8 */
    double days_per_year; /**< above 0 ... 366; default 365 */
} resmon_comparison_options;

/** A quantity of the work, of an idle period of the same length, and their difference.  NaN:
 * unknown.  Since 0.1. */
typedef struct resmon_compared {
    double work;
    double idle;
    double difference; /**< work - idle */
    double low;        /**< lower end of the 95 % confidence interval of the difference */
    double high;       /**< upper end */
} resmon_compared;

/**
 * A comparison, with all of its strings.  Since 0.1.
 *
 * Power is energy / time; for several runs, the sum of energies / the sum of times.  The confidence
 * interval is Welch's: difference +- Student's t * sqrt(variance of work + variance of idle), with
 * the variances of the mean power, times a fixed time.  It does not include how much the duration
 * of the work varies between runs.
 *
 * With two or more runs, the variance of a side comes from the differences between their powers.
 * With one run, it comes from 5 to 10 stretches of equal time (at least 0.2 s and 4 readings each)
 * inside the run.  It then does not include variation that is slower than a stretch, or that exists
 * between runs.  No variance is below the resolution of the counters at the ends of a run (1 ms;
 * for a model of the CPU load, 10 ms).
 */
typedef struct resmon_comparison {
    size_t struct_size;
    resmon_compared energy_j;     /**< over `seconds` */
    resmon_compared power_w;      /**< mean */
    resmon_compared gco2eq;       /**< energy_j / 3.6e6 * pue * g_per_kwh */
    resmon_compared kgco2eq_year; /**< at this power for hours_per_day on days_per_year:
                                       gco2eq / seconds / 1000 * 3600 * hours * days */
    double seconds;               /**< duration of the work: mean of its runs */
    double degrees_of_freedom;    /**< of the interval; NaN: no interval */
    double modelled_share;        /**< share of energy_j.work that is modelled: 0 ... 1 */
    double hours_per_day, days_per_year;
    double g_per_kwh, pue; /**< of the first work run */
    uint64_t work_runs, idle_runs;
    uint64_t work_stretches, idle_stretches; /**< of a single run; 0: not divided */
    int32_t provenance;     /**< RESMON_PROVENANCE_* of the least certain component */
    int32_t is_significant; /**< 1: the interval excludes 0; 0: it includes 0, or there is none */
    char components[32];    /**< the compared components: "cpu+ram" */
    char place[64];         /**< place of g_per_kwh */
    char method[160];       /**< of the interval: "between 3 runs of each"; "": no interval */
    char remark[512];       /**< sentences about limits of the result, or "": components that are
                                 left out because not all runs have them, or know them in the same
                                 way; a machine that was busy during an idle run */
    char statement[512];    /**< the result in plain words */
} resmon_comparison;

/**
 * Compares one or more runs of the work with one or more idle runs.
 * Runs may come from run documents.  `options` NULL: all defaults.  Set struct_size of
 * `ret_comparison` before the call.
 * RESMON_EINVAL: NULL, no run, or an option is out of range; RESMON_ENOENT: a run has no energy, or
 * no component is known in all runs; RESMON_ERANGE: a run is shorter than 0.1 s, too short for
 * counters with ticks of 10 ms.  The error text names the run and the remedy.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_compare_runs(const resmon_run *const *work, size_t work_count,
                                             const resmon_run *const *idle, size_t idle_count,
                                             const resmon_comparison_options *options,
                                             resmon_comparison *ret_comparison);

/**
 * Renders a comparison as text for people: a table, the method, and the statement.
 * Lines have at most 100 columns.  Free `ret_text` with resmon_text_free() of <resmon/report.h>.
 * RESMON_EINVAL: an argument is NULL, or struct_size is too small; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_comparison_text(const resmon_comparison *comparison,
                                                char **ret_text);

RESMON_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * resmon/baseline.h - energy of work above idle: the energy of the work (A), of an idle period of
 * the same time (B), and the difference A - B, each also in W, in gCO2eq and in kgCO2eq per year,
 * with a confidence interval of the difference.
 *
 *     resmon_measure_idle(60.0, NULL, &idle);
 *     ... a monitor over the work, resmon_monitor_snapshot(monitor, &work) ...
 *     resmon_comparison comparison = {.struct_size = sizeof comparison};
 *     resmon_compare_runs(&work, 1, &idle, 1, NULL, &comparison);
 *     puts(comparison.statement);
 *
 * Energies are of the whole machine: what else runs on it is in A and in B.  What it draws differs
 * from one minute to the next, so one run of each says little of how sure the difference is: take
 * several of each in turns (work, idle, idle, work, ...).  `resmon baseline` does that.
 */
#ifndef RESMON_BASELINE_H
#define RESMON_BASELINE_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>

RESMON_BEGIN_DECLS

/**
 * Records the machine while the calling thread sleeps for `seconds`: a run to compare with.  Leave
 * the machine as quiet as it is beside the work, and take the options of the work's monitor, so
 * that observing costs the same.  `options` NULL: all defaults.  The domains always have
 * RESMON_DOMAIN_ENERGY and RESMON_DOMAIN_CPU (models go by the load); scopes are left alone unless
 * `scopes` says otherwise.  A signal handler that runs meanwhile does not end it.
 * RESMON_EINVAL: `seconds` is not above 0, or above 604800 (a week), or NULL for `ret_run`; and as
 * resmon_monitor_new() and resmon_monitor_start().  Free the run with resmon_run_free().
 * Thread class: any thread; returns after `seconds`.  Since 0.1.
 */
RESMON_API resmon_status resmon_measure_idle(double seconds, const resmon_monitor_options *options,
                                             resmon_run **ret_run);

/** Options of a comparison.  Zero: the default.  Since 0.1. */
typedef struct resmon_comparison_options {
    size_t struct_size;
    double hours_per_day; /**< that a year's work lasts, above 0 ... 24; default 8 */
    double days_per_year; /**< above 0 ... 366; default 365 */
} resmon_comparison_options;

/** A quantity of the work, of an idle period of the same time, and work - idle.  NaN: not known.
 * Since 0.1. */
typedef struct resmon_compared {
    double work;
    double idle;
    double difference;
    double low; /**< 95 % confidence interval of the difference: from here */
    double high;
} resmon_compared;

/**
 * A comparison.  It holds all of its texts.  Since 0.1.
 *
 * Power is energy over time; of several runs, all their energy over all their time.  The interval
 * is Welch's: difference +- Student's t * sqrt(variance of work + variance of idle), each of the
 * mean power, times a fixed time.  How much longer or shorter the work took from run to run is not
 * in it.  A side of two or more runs has its variance from how their powers differ; a side of one
 * from how the power of stretches of equal time (5 to 10 of them, at least 0.2 s and 4 readings
 * each) differs inside it, which knows nothing of what lasts longer than a stretch, or differs
 * between runs.  No variance is less than what counters resolve at the ends of runs (1 ms; of a
 * model by load, 10 ms).
 */
typedef struct resmon_comparison {
    size_t struct_size;
    resmon_compared energy_j;     /**< over `seconds` */
    resmon_compared power_w;      /**< mean */
    resmon_compared gco2eq;       /**< energy_j / 3.6e6 * pue * g_per_kwh */
    resmon_compared kgco2eq_year; /**< at that power for hours_per_day on days_per_year:
                                       gco2eq / seconds / 1000 * 3600 * hours * days */
    double seconds;               /**< that the work took: mean of its runs */
    double degrees_of_freedom;    /**< of the interval; NaN: none */
    double modelled_share;        /**< of energy_j.work, what a model says: 0 ... 1 */
    double hours_per_day, days_per_year;
    double g_per_kwh, pue; /**< of the first work run */
    uint64_t work_runs, idle_runs;
    uint64_t work_stretches, idle_stretches; /**< of a single run; 0: not divided */
    int32_t provenance;     /**< the least certain of all components: RESMON_PROVENANCE_* */
    int32_t is_significant; /**< 1: the interval does not hold 0; 0: it does, or there is none */
    char components[32];    /**< that were compared: "cpu+ram" */
    char place[64];         /**< of g_per_kwh */
    char method[160];       /**< of the interval: "between 3 runs of each"; "": there is none */
    char remark[512];       /**< what to know, in sentences: components that were left out because
                                 not all runs know them, or in different ways; a machine that was
                                 busy while it should have idled; or "" */
    char statement[512];    /**< the result in plain words */
} resmon_comparison;

/**
 * Compares one or more runs of the work with one or more of idling; runs from documents will do.
 * `options` NULL: all defaults.
 * RESMON_EINVAL: NULL, no run, an option out of range; RESMON_ENOENT: a run has no energy, or there
 * is no component that all know; RESMON_ERANGE: a run of less than 0.1 s, too short for counters
 * with ticks of 10 ms.  The text says which run, and what to do.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_compare_runs(const resmon_run *const *work, size_t work_count,
                                             const resmon_run *const *idle, size_t idle_count,
                                             const resmon_comparison_options *options,
                                             resmon_comparison *ret_comparison);

/**
 * A comparison as text for people: a table, how it was made, and the statement; at most 100 columns
 * wide.  Free `ret_text` with resmon_text_free() of <resmon/report.h>.  RESMON_EINVAL,
 * RESMON_ENOMEM.  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_comparison_text(const resmon_comparison *comparison,
                                                char **ret_text);

RESMON_END_DECLS

#endif

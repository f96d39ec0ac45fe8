/* SPDX-License-Identifier: MIT */
/*
 * Owns the values by which runs are compared: the rows of figures.def.  Pure.
 */
#ifndef RM_COMPARE_FIGURES_H
#define RM_COMPARE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "run/run.h"

struct rm_run_figures {
    resmon_headline headline;
    resmon_run_usage usage; /* NaN: the run has no such value */
    double instructions;
    double others_s, steal_s; /* the machine's CPU time: of other processes; steal time */
    double throttled_s; /* time in which a quota kept the cgroup's runnable threads from running */
    double heat_s;      /* time in which heat slowed processors, mean over CPUs */
    double clock_hz;    /* mean while the run was on CPUs, else of the machine's fastest CPU */
    double cpu_wait_s, io_wait_s; /* PSI: some task waited for CPUs; all tasks waited for I/O */
    bool is_peak_exact;
};

struct rm_figure {
    const char *key, *unit, *title;
    bool is_counted;
    double (*of_run)(const struct rm_run_figures *run);
    double (*of_scope)(const resmon_run_scope *scope);
};

#define RM_FIGURE(key, unit, is_counted, title, of_run, of_scope) RM_FIGURE_##key,
enum rm_figure_id {
#include "compare/figures.def"
    RM_FIGURE_COUNT
};

extern const struct rm_figure rm_figures[RM_FIGURE_COUNT];

/** RM_FIGURE_COUNT: there is no such key. */
enum rm_figure_id rm_figure_find(const char *key, size_t length);

struct rm_run_figures rm_run_figures_of(const struct resmon_run *run);

#endif

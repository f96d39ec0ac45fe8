/* SPDX-License-Identifier: MIT */
/*
 * Owns the figures that runs are compared by: the rows of figures.def.  Pure.
 */
#ifndef RM_COMPARE_FIGURES_H
#define RM_COMPARE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "run/run.h"

struct rm_run_figures {
    resmon_headline headline;
    resmon_run_usage usage; /* NaN: the run knows none */
    double instructions;
    double others_s, steal_s; /* CPU time of the machine that others had, and nobody */
    double throttled_s;       /* time that the group's runnable threads were held back */
    double heat_s;            /* that processors were slowed by heat, mean over CPUs */
    double clock_hz;          /* of the run's own time on CPUs, else of the machine's fastest CPU */
    double cpu_wait_s, io_wait_s; /* in which somebody waited for CPUs, or all for I/O (PSI) */
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

/** RM_FIGURE_COUNT: there is none of that key. */
enum rm_figure_id rm_figure_find(const char *key, size_t length);

struct rm_run_figures rm_run_figures_of(const struct resmon_run *run);

#endif

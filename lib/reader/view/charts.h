/* SPDX-License-Identifier: MIT */
/*
 * Owns which charts a run has, as plain lists: what is measured together, in which unit, and how it
 * is called (views CHART and COMPARE of metric/views.def).  A row of a run's table may cover
 * several samples, and is drawn as its mean, with a band from the least to the largest of them.
 */
#ifndef RM_VIEW_CHARTS_H
#define RM_VIEW_CHARTS_H

#include "view/plots.h"
#include "view/subject.h"

#define RM_LINE_BOUND (-1)

/* A series of a chart. */
struct rm_chart_line {
    const char *key; /* of its numbers */
    const char *label;
    int colour;       /* its number; RM_LINE_BOUND: a bound */
    bool is_level;    /* a bound, not a use */
    const char *said; /* what is known of the whole run, from every sample */
    size_t run;       /* of several: whose */
    struct rm_points points;
};

/* Lines that share an axis. */
struct rm_chart {
    const char *key, *title, *unit, *note;
    const char *missing; /* why there are no lines */
    struct rm_chart_line **lines;
    size_t count, room;
};

struct rm_charts {
    struct rm_chart **items;
    size_t count, room;
};

/** All charts of a run: four that are always there, and others where there is something to see;
 * what was nothing throughout is noted in `quiet` of the subject. */
struct rm_charts rm_charts_of_run(struct rm_subject *subject);

/** Charts with one line for each run that has it, in their order. */
struct rm_charts rm_charts_of_runs(struct rm_subject *subjects, size_t count);

/** Whether anything is to be drawn. */
bool rm_chart_has_points(const struct rm_chart *chart);

#endif

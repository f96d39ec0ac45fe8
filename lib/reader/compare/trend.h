/* SPDX-License-Identifier: MIT */
/*
 * Owns how values change from one benchmark to the next.  Each value of each command on each kind
 * of machine is a series, in which the changes of level are found.  Pure.
 *
 * Changes are found by E-divisive with the energy distance (D. S. Matteson, N. A. James: A
 * Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data, 2014).  D. Daly
 * and others use it for benchmarks (The Use of Change Point Detection to Identify Software
 * Performance Regressions, 2020).
 *
 * The candidate is the split of a segment at which its two parts differ most.  For the test, the
 * values within each segment are put into random orders.  The candidate is a change if at most
 * RM_CHANGES_ALPHA of these orders have a split that differs as much.  Then both parts are searched
 * in turn.  The random generator has a fixed seed: equal values have equal changes.
 */
#ifndef RM_COMPARE_TREND_H
#define RM_COMPARE_TREND_H

#include "compare/group.h"
#include "compare/ranks.h"

#define RM_CHANGES_ALPHA 0.01

struct rm_change {
    size_t at; /* the first value of the new level */
    double p;
};

/** The changes in their order; rm_free() frees them.  The values must be finite, and at most
 * RM_CHANGES_MOST.  RESMON_ENOMEM. */
resmon_status rm_changes_find(struct rm_values values, struct rm_change **ret_changes,
                              size_t *ret_count);

#define RM_TREND_SERIES 512U

/* A benchmark; documents are in the order of time. */
struct rm_trend_document {
    const char *label;   /* "3f2a91c" */
    int64_t realtime_ns; /* when its first run began, since 1970; 0: not known */
    size_t order;        /* number of documents that were added before */
    const struct rm_groups *groups;
};

struct rm_trend_point {
    size_t document;
    struct rm_between median;
};

struct rm_trend_change {
    size_t at; /* the first point of the new level */
    double p;
    double before, after;    /* medians of the points of both levels */
    struct rm_between shift; /* from the points before the change to the points at and after it */
};

struct rm_trend_series {
    const struct rm_group *group; /* of its first point: command and machine */
    const char *path;             /* of the scope; "": the run */
    enum rm_figure_id figure;
    struct rm_trend_point *points;
    size_t count, room;
    struct rm_trend_change *changes;
    size_t change_count;
};

struct rm_trend {
    struct rm_arena strings;
    struct rm_trend_document *documents;
    size_t count, room;
    struct rm_trend_series *series; /* set by rm_trend_make() */
    size_t series_count, series_room;
    size_t machines; /* the number of kinds of machines */
    size_t left_out; /* points of series past RM_TREND_SERIES */
};

/** Adds a benchmark; `groups` must live as long as the trend.  RESMON_ENOMEM. */
resmon_status rm_trend_add(struct rm_trend *trend, const char *label,
                           const struct rm_groups *groups);

/** Sorts the documents (by time, if the time of all is known), makes the series, and finds their
 * changes.  It may be called again after more documents were added.  Only the last RM_CHANGES_MOST
 * documents of a series count.  RESMON_ENOMEM. */
resmon_status rm_trend_make(struct rm_trend *trend);

void rm_trend_free(struct rm_trend *trend);

#endif

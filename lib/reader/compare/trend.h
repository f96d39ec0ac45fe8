/* SPDX-License-Identifier: MIT */
/*
 * Owns how figures went from one benchmark to the next: a series for each figure of each command on
 * each kind of machine, and where its level changed.  Pure.
 *
 * Changes are found by E-divisive with the energy distance (D. S. Matteson, N. A. James: A
 * Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data, 2014), as D. Daly
 * and others use it for benchmarks (The Use of Change Point Detection to Identify Software
 * Performance Regressions, 2020): the split of a segment at which its two parts differ most is a
 * change if no more than RM_CHANGES_ALPHA of the orders into which the values of each segment can
 * be brought by chance have one that differs as much; then both parts are looked at in turn. Chance
 * is a generator with a fixed seed: the same values have the same changes.
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

/** The changes in their order, for rm_free().  Values are finite, and RM_CHANGES_MOST at most.
 * RESMON_ENOMEM. */
resmon_status rm_changes_find(struct rm_values values, struct rm_change **ret_changes,
                              size_t *ret_count);

#define RM_TREND_SERIES 512U

/* A benchmark, in the order of time. */
struct rm_trend_document {
    const char *label;   /* "3f2a91c" */
    int64_t realtime_ns; /* when its first run began, since 1970; 0: not known */
    size_t order;        /* in which it was added */
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
    struct rm_between shift; /* of the points after it against those before it */
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
    struct rm_trend_series *series; /* by rm_trend_make() */
    size_t series_count, series_room;
    size_t machines; /* how many kinds there are */
    size_t left_out; /* points of series past RM_TREND_SERIES */
};

/** Adds a benchmark, which must live as long.  RESMON_ENOMEM. */
resmon_status rm_trend_add(struct rm_trend *trend, const char *label,
                           const struct rm_groups *groups);

/** Puts the documents in order (by time, if that is known of all), makes the series, and finds
 * their changes; once more after others were added.  Of each series the last RM_CHANGES_MOST
 * documents count.  RESMON_ENOMEM. */
resmon_status rm_trend_make(struct rm_trend *trend);

void rm_trend_free(struct rm_trend *trend);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns how figures went from one benchmark to the next: a series for each figure of each command on
 * each kind of machine, and where its level changed.  Pure.
 */
#ifndef RM_COMPARE_TREND_H
#define RM_COMPARE_TREND_H

#include "compare/changes.h"
#include "compare/group.h"
#include "compare/shift.h"

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

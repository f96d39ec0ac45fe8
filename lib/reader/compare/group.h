/* SPDX-License-Identifier: MIT */
/*
 * Owns the figures of several runs of one thing, a command or a version of a program: each figure
 * of the run and of each scope, by run.  Pure.
 */
#ifndef RM_COMPARE_GROUP_H
#define RM_COMPARE_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/map.h"
#include "compare/figures.h"
#include "compare/ranks.h"

struct rm_group_row {
    const char *path; /* of the scope, "train/step"; "" for the run */
    enum rm_figure_id figure;
    bool is_counted; /* in all of its runs */
    double *values;  /* by run; NaN: not known */
    size_t count, room;
};

/* How one run ended. */
struct rm_group_run {
    int32_t exit_status;
    int32_t signal_number;
};

/* What a machine is known by; runs of different ones are not compared silently. */
struct rm_group_machine {
    const char *cpu_model, *governor, *kernel, *host; /* "": not known */
    double cpus, memory_bytes;
};

struct rm_group {
    struct rm_arena strings;
    const char *name;
    struct rm_group_run *runs;
    size_t run_count, run_room;
    struct rm_group_row *rows; /* of the run first; scopes in the order in which they came */
    size_t row_count, row_room;
    struct rm_map row_of;            /* by path and figure */
    struct rm_group_machine machine; /* of the first run */
    int64_t realtime_ns;             /* when that began, since 1970; 0: not known */
    bool is_mixed;                   /* not all runs were on it */
};

/** RESMON_ENOMEM. */
resmon_status rm_group_begin(struct rm_group *group, const char *name);
void rm_group_free(struct rm_group *group);

/** Says the machine of the run that was added last.  Its texts are copied.  RESMON_ENOMEM. */
resmon_status rm_group_note_machine(struct rm_group *group, const struct rm_group_machine *machine);

/** Adds a run.  RESMON_ENOMEM: the group is of no use any more. */
resmon_status rm_group_add_run(struct rm_group *group, const struct resmon_run *run);

/** Adds a run of which each figure is said by itself: rm_group_put() says them. */
resmon_status rm_group_add_empty(struct rm_group *group, struct rm_group_run run);

/** A figure of the run that was added last.  RESMON_ENOMEM. */
resmon_status rm_group_put(struct rm_group *group, const char *path, enum rm_figure_id figure,
                           bool is_counted, double value);

/** NULL: no run knows it. */
const struct rm_group_row *rm_group_find(const struct rm_group *group, const char *path,
                                         enum rm_figure_id figure);

/** The values of the runs that know it, in a copy that is freed with rm_free().  RESMON_ENOMEM. */
resmon_status rm_group_known(const struct rm_group_row *row, double **ret_copy,
                             struct rm_values *ret_values);

/** How many of the runs failed. */
size_t rm_group_failures(const struct rm_group *group);

/* ---- several groups ----------------------------------------------------------------------- */

struct rm_groups {
    struct rm_group *at;
    size_t count, room;
};

void rm_groups_free(struct rm_groups *groups);

/** A new, empty group; NULL: no memory. */
struct rm_group *rm_groups_add(struct rm_groups *groups, const char *name);

/** NULL: there is none of that name. */
struct rm_group *rm_groups_find(const struct rm_groups *groups, const char *name);

/* ---- machines ----------------------------------------------------------------------------- */

/** Whether two machines are the same, as far as is known; where not, what differs, in words. */
bool rm_group_is_same_machine(const struct rm_group_machine *one,
                              const struct rm_group_machine *other, char *text, size_t room);

#endif

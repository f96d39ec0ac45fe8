/* SPDX-License-Identifier: MIT */
/*
 * Owns the values of several runs of the same command, or of the same version of a program: each
 * value of the run and of each scope, by run.  Pure.
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
    bool is_counted; /* in all runs of the row */
    double *values;  /* by run; NaN: not known */
    size_t count, room;
};

/* How one run ended. */
struct rm_group_run {
    int32_t exit_status;
    int32_t signal_number;
};

/* The facts that identify a machine.  A comparison of runs of different machines has a remark. */
struct rm_group_machine {
    const char *cpu_model, *governor, *kernel, *host; /* "": not known */
    double cpus, memory_bytes;
};

struct rm_group {
    struct rm_arena strings;
    const char *name;
    struct rm_group_run *runs;
    size_t run_count, run_room;
    struct rm_group_row *rows; /* of the run first; then scopes in the order of addition */
    size_t row_count, row_room;
    struct rm_map row_of;            /* by path and figure */
    struct rm_group_machine machine; /* of the first run */
    int64_t realtime_ns;             /* start of the first run, since 1970; 0: not known */
    bool is_mixed;                   /* the runs are from different machines */
};

/** RESMON_ENOMEM. */
resmon_status rm_group_begin(struct rm_group *group, const char *name);
void rm_group_free(struct rm_group *group);

/** Sets the machine of the run that was added last.  The texts are copied.  RESMON_ENOMEM. */
resmon_status rm_group_note_machine(struct rm_group *group, const struct rm_group_machine *machine);

/** Adds a run.  RESMON_ENOMEM: then the group can only be freed. */
resmon_status rm_group_add_run(struct rm_group *group, const struct resmon_run *run);

/** Adds a run without values; rm_group_put() adds each of them. */
resmon_status rm_group_add_empty(struct rm_group *group, struct rm_group_run run);

/** Adds a value of the run that was added last.  RESMON_ENOMEM. */
resmon_status rm_group_put(struct rm_group *group, const char *path, enum rm_figure_id figure,
                           bool is_counted, double value);

/** NULL: no run has this value. */
const struct rm_group_row *rm_group_find(const struct rm_group *group, const char *path,
                                         enum rm_figure_id figure);

/** A copy of the known values of a row, which rm_free() frees.  RESMON_ENOMEM. */
resmon_status rm_group_known(const struct rm_group_row *row, double **ret_copy,
                             struct rm_values *ret_values);

/** The number of failed runs. */
size_t rm_group_failures(const struct rm_group *group);

/* ---- several groups ----------------------------------------------------------------------- */

struct rm_groups {
    struct rm_group *at;
    size_t count, room;
};

void rm_groups_free(struct rm_groups *groups);

/** A new, empty group; NULL: no memory. */
struct rm_group *rm_groups_add(struct rm_groups *groups, const char *name);

/** NULL: there is no group of that name. */
struct rm_group *rm_groups_find(const struct rm_groups *groups, const char *name);

/* ---- machines ----------------------------------------------------------------------------- */

/** Whether two machines are the same, as far as their facts are known.  If not, `text` is what
 * differs, in words. */
bool rm_group_is_same_machine(const struct rm_group_machine *one,
                              const struct rm_group_machine *other, char *text, size_t room);

#endif

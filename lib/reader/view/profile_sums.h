/* SPDX-License-Identifier: MIT */
/*
 * Owns the sums over stacks: by function and by line, the hottest of them, and how amounts from few
 * samples are shown: with a mark where they may be off by more than a tenth, and as a bound where
 * they are worth no more than that.
 */
#ifndef RM_VIEW_PROFILE_SUMS_H
#define RM_VIEW_PROFILE_SUMS_H

#include "base/map.h"
#include "run/run.h"
#include "view/model.h"

/* The text of source files, from a layer that may read them. */
struct rm_source_lines {
    /** Whether the file can be read. */
    bool (*is_there)(void *context, const char *file);
    /** Line `line` (from 1), without its end, until the next call; NULL: there is none. */
    const char *(*get)(void *context, const char *file, uint32_t line, size_t *ret_length);
    void *context;
};

/* A line of a function.  Texts live as long as the row. */
struct rm_line {
    const char *function, *file;
    uint32_t line;
    uint64_t hits;        /* how often it ran, or was seen to run */
    double time_ns;       /* with what it called; NaN: not known */
    double bytes;         /* by which memory grew meanwhile; NaN: not known */
    uint64_t occurrences; /* of growing */
    double memory_bytes;  /* after it; NaN: not known */
    double own; /* of time or bytes, what was spent in this line itself: functions with more of it
                   come first */
    double function_sum; /* of time or bytes, all of the function; where it calls itself, its lines
                        have more together.  0: as much as its lines have */
    double error, most;  /* of bytes from samples: standard error, 0 if exact; and what there is at
                            all */
};

struct rm_function_sum {
    const char *name; /* "work", "libm.so.6+0x1234" */
    const char *file; /* of its source, else of its program or library; "" */
    double self[RM_STACK_KINDS];
    double total[RM_STACK_KINDS]; /* with what it called; recursion counts once */
    double self_square[RM_STACK_KINDS], total_square[RM_STACK_KINDS]; /* of standard errors */
    uint64_t samples[RM_STACK_KINDS];                                 /* of total */
};

struct rm_profile_sums {
    struct rm_arena arena;
    double weight[RM_STACK_KINDS]; /* of all samples */
    double square[RM_STACK_KINDS]; /* of its standard error */
    uint64_t samples[RM_STACK_KINDS];
    struct rm_function_sum *functions;
    size_t function_count;
    uint32_t *function_of;                 /* by place */
    struct rm_line *lines[RM_STACK_KINDS]; /* of those that have any of the kind */
    size_t line_count[RM_STACK_KINDS];
};

/** RESMON_ENOMEM; free it all the same. */
resmon_status rm_profile_sum(const struct resmon_run *run, const struct rm_source_lines *sources,
                             struct rm_profile_sums *ret_sums);
void rm_profile_sums_free(struct rm_profile_sums *sums);

#define RM_HOT_MOST 6

struct rm_hot {
    const char *function;
    uint32_t line; /* 0: not known */
    double amount; /* in it, or in what has no source that it called: ns, B */
};

/** The places with the most of a kind, and how many.  Where most samples have no lines, functions.
 */
size_t rm_hot_find(const struct rm_profile_sums *sums, int kind, struct rm_hot hot[RM_HOT_MOST]);

/* An amount from samples. */
struct rm_sampled {
    double weight;
    double square; /* of its standard error */
    double most;   /* what there is at all; NaN: not known */
};

/** An amount of a kind: ns of CPU time, B. */
const char *rm_stack_amount(struct rm_page *page, int kind, double amount);

/** "3.0 MiB"; "~3.0 MiB": 95 of 100 such lie within its own size of the truth, but not within a
 * tenth of it; "<9.2 MiB": less than that, in 97.5 of 100. */
const char *rm_sampled_text(struct rm_page *page, int kind, struct rm_sampled sampled);

/** "1.1 to 6.4 MiB", in 95 of 100 cases; "" of what has no mark. */
const char *rm_sampled_range(struct rm_page *page, int kind, struct rm_sampled sampled);

bool rm_sampled_has_doubt(int kind, struct rm_sampled sampled);

/** What the marks say, as a line below a table. */
extern const char *const rm_sampled_legend;

#endif

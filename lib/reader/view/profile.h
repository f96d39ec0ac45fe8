/* SPDX-License-Identifier: MIT */
/*
 * Owns the sums over stacks, by function and by line (profile_sums.c), and tables by line of source
 * code, in the layouts of line_profiler and memory_profiler (lines.c).  Amounts from few samples
 * have a mark if they may be off by more than a tenth, and are shown as an upper bound if no better
 * value is possible.
 */
#ifndef RM_VIEW_PROFILE_H
#define RM_VIEW_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "run/run.h"
#include "view/model.h"

/* ---- sums over stacks ------------------------------------------------------------------------ */

/* Access to the text of source files. */
struct rm_source_lines {
    /** Whether the file can be read. */
    bool (*is_there)(void *context, const char *file);
    /** Line `line` (from 1), without its end, until the next call; NULL: the file has no such line.
     */
    const char *(*get)(void *context, const char *file, uint32_t line, size_t *ret_length);
    /** Whether the text is in the run: code of a notebook, whose lines count with what they call.
     */
    bool (*is_kept)(void *context, const char *file);
    void *context;
};

/* A line of a function.  Texts live as long as the row. */
struct rm_line {
    const char *function, *file;
    uint32_t line;
    uint64_t hits;        /* how often it ran, or samples in which it was on the stack */
    double time_ns;       /* inclusive; NaN: not known */
    double bytes;         /* growth of memory, inclusive; NaN: not known */
    uint64_t occurrences; /* of growth */
    double memory_bytes;  /* in use after it; NaN: not known */
    double own; /* time or bytes of the line itself (exclusive): functions are sorted by its sum */
    double owned;        /* of own: if its source is readable and not the system's */
    double function_sum; /* time or bytes of the whole function, which is less than the sum of its
                            lines if it is recursive.  0: the sum of its lines */
    double error, most;  /* of sampled bytes: standard error, 0 if exact; and the total of the run
                          */
};

struct rm_function_sum {
    const char *name; /* "work", "libm.so.6+0x1234" */
    const char *file; /* its source file, else its program or library; "" */
    double self[RM_STACK_KINDS];
    double total[RM_STACK_KINDS]; /* inclusive; recursion counts once */
    double self_square[RM_STACK_KINDS], total_square[RM_STACK_KINDS]; /* of standard errors */
    uint64_t samples[RM_STACK_KINDS];                                 /* of total */
    double unlined[RM_STACK_KINDS]; /* of self: in stacks without any line */
    double unowned[RM_STACK_KINDS]; /* of self: in stacks without a line of a readable source */
};

struct rm_profile_sums {
    struct rm_arena arena;
    double weight[RM_STACK_KINDS]; /* of all samples */
    double square[RM_STACK_KINDS]; /* of its standard error */
    uint64_t samples[RM_STACK_KINDS];
    struct rm_function_sum *functions;
    size_t function_count;
    uint32_t *function_of;                 /* by place */
    struct rm_line *lines[RM_STACK_KINDS]; /* lines with samples of the kind */
    size_t line_count[RM_STACK_KINDS];
};

/** RESMON_ENOMEM; the sums must be freed in any case. */
resmon_status rm_profile_sum(const struct resmon_run *run, const struct rm_source_lines *sources,
                             struct rm_profile_sums *ret_sums);
/** Whether a kind has something to tell: memory that is still there, only if much is gone. */
bool rm_profile_kind_is_shown(const struct rm_profile_sums *sums, int kind);

void rm_profile_sums_free(struct rm_profile_sums *sums);

#define RM_HOT_MOST 6

struct rm_hot {
    const char *function;
    uint32_t line; /* 0: not known */
    double amount; /* of it and its callees without source: ns, B */
};

/** The places with the most of a kind, and how many: lines, and functions of stacks without one. If
 * most samples have no lines, lines count only where their source is readable. */
size_t rm_hot_find(const struct rm_profile_sums *sums, int kind, struct rm_hot hot[RM_HOT_MOST]);

/* ---- amounts from samples -------------------------------------------------------------------- */

struct rm_sampled {
    double weight;
    double square; /* of its standard error */
    double most;   /* the total of the run; NaN: not known */
};

/** An amount of a kind: ns of CPU time, B. */
const char *rm_stack_amount(struct rm_page *page, int kind, double amount);

/** "3.0 MiB"; "~3.0 MiB": the 95 % interval is wider than a tenth of the value to both sides;
 * "<9.2 MiB": the interval is wider than the value, and this is its upper end. */
const char *rm_sampled_text(struct rm_page *page, int kind, struct rm_sampled sampled);

/** The 95 % interval, "1.1 to 6.4 MiB"; "" for a value without a mark. */
const char *rm_sampled_range(struct rm_page *page, int kind, struct rm_sampled sampled);

/** Whether the value has a mark. */
bool rm_sampled_has_doubt(int kind, struct rm_sampled sampled);

/** What the marks mean, as a line below a table. */
extern const char *const rm_sampled_legend;

/* ---- tables by line -------------------------------------------------------------------------- */

/*
 * Source files are read for these: regular files of a bounded size with the ending of a source
 * file; the last one is cached.  The names come from debug information or a document, so from
 * outside: the checks keep a forged name from putting the text of another file into a report.
 * The runs are set by the user of this file; otherwise zeroed: nothing read yet.
 */
struct rm_source_files {
    const struct resmon_run *const *runs; /* whose sources are used first */
    size_t run_count;
    char *name; /* of the cached file */
    char *text;
    uint64_t bytes;
    uint32_t line; /* the last requested line, and its offset */
    uint64_t offset;
};

struct rm_source_lines rm_source_lines_of(struct rm_source_files *files);
void rm_source_files_free(struct rm_source_files *files);

enum rm_line_table { RM_LINES_TIME, RM_LINES_MEMORY };

struct rm_line_terms {
    enum rm_line_table table;
    const struct rm_source_lines *sources;
    size_t most_functions; /* with the largest exclusive amounts */
    size_t most_lines;     /* of a function, with the largest amounts */
    double least_share;    /* of all exclusive amounts: functions with less are left out */
    bool is_filled;        /* also lines in between without data, up to most_lines */
};

/**
 * Sorts the rows by function, file and line, and adds a table for each function with an exclusive
 * amount.  Returns the number of tables.
 */
size_t rm_lines_add(struct rm_page *page, struct rm_line *lines, size_t count,
                    const struct rm_line_terms *terms);

#endif

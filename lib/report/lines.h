/* SPDX-License-Identifier: MIT */
/*
 * Owns tables by line of the source, in the forms that line_profiler and memory_profiler have made
 * familiar, function by function.  Who fills the rows knows what was sampled or measured.
 */
#ifndef RM_REPORT_LINES_H
#define RM_REPORT_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

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

enum rm_line_table { RM_LINES_TIME, RM_LINES_MEMORY };

struct rm_line_terms {
    enum rm_line_table table;
    const struct rm_source_lines *sources;
    size_t most_functions; /* those with the most */
    size_t most_lines;     /* of one, those with the most */
    double least_share;    /* of all that is anybody's own: functions with less are left out */
    size_t width;          /* of the page */
    bool is_filled;        /* with the lines between that have nothing, up to most_lines */
};

/**
 * Sorts the rows by function, file and line, and appends the tables of those functions that have
 * something of their own.  Returns how many functions that were.
 */
size_t rm_lines_write(struct rm_buffer *buffer, struct rm_line *lines, size_t count,
                      const struct rm_line_terms *terms);

#endif

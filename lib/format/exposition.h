/* SPDX-License-Identifier: MIT */
/*
 * Owns the two text formats that Prometheus reads: 0.0.4 (no timestamps here) and OpenMetrics 1.0
 * (with them).  Knows nothing of runs.  Text leaves in pieces, so that memory stays small; a
 * failure sticks, and is asked for once at the end.
 */
#ifndef RM_FORMAT_EXPOSITION_H
#define RM_FORMAT_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "format/pen.h"

enum rm_family_kind { RM_FAMILY_GAUGE, RM_FAMILY_COUNTER, RM_FAMILY_INFO };

/* Names and units must be valid already; a help is any text. */
struct rm_exposed_family {
    const char *name; /* without "_total", "_info" */
    const char *unit; /* "" for none; else the name ends in it */
    const char *help;
    const char *note; /* goes on after the help; may be NULL */
    enum rm_family_kind kind;
};

struct rm_exposition {
    bool is_open_metrics;
    const char *common; /* labels of every sample: `a="b",c="d"` or "" */
    const struct rm_exposed_family *family;
    bool is_announced; /* the family's head has been written */
    struct rm_pen pen;
};

void rm_exposition_begin(struct rm_exposition *exposition, bool is_open_metrics, const char *common,
                         const struct rm_output *output);

/** The samples that follow are of `family`, which must live until the next call. */
void rm_exposition_family(struct rm_exposition *exposition, const struct rm_exposed_family *family);

/**
 * One sample, with `labels` of its own (as in `common`).  Left out when `value` is NaN, or not one
 * for a counter.  `t_ns`, since 1970, is for OpenMetrics; the caller sees to it that it grows.
 */
void rm_exposition_sample(struct rm_exposition *exposition, const char *labels, double value,
                          int64_t t_ns);

/** Ends the text; the first failure. */
resmon_status rm_exposition_end(struct rm_exposition *exposition);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the text format of Prometheus, 0.0.4, without timestamps.  Knows nothing of runs.  Text
 * leaves in pieces, so that memory stays small; a failure sticks, and is asked for once at the end.
 */
#ifndef RM_FORMAT_EXPOSITION_H
#define RM_FORMAT_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "format/pen.h"

enum rm_family_kind { RM_FAMILY_GAUGE, RM_FAMILY_COUNTER, RM_FAMILY_INFO };

/* Names must be valid already; a help is any text. */
struct rm_exposed_family {
    const char *name; /* without "_total", "_info" */
    const char *help;
    const char *note; /* goes on after the help; may be NULL */
    enum rm_family_kind kind;
};

struct rm_exposition {
    const char *common; /* labels of every sample: `a="b",c="d"` or "" */
    const struct rm_exposed_family *family;
    bool is_announced; /* the family's head has been written */
    struct rm_pen pen;
};

void rm_exposition_begin(struct rm_exposition *exposition, const char *common,
                         const struct rm_output *output);

/** The samples that follow are of `family`, which must live until the next call. */
void rm_exposition_family(struct rm_exposition *exposition, const struct rm_exposed_family *family);

/**
 * One sample, with `labels` of its own (as in `common`).  Left out when `value` is NaN, or not one
 * for a counter.
 */
void rm_exposition_sample(struct rm_exposition *exposition, const char *labels, double value);

/** Ends the text; the first failure. */
resmon_status rm_exposition_end(struct rm_exposition *exposition);

#endif

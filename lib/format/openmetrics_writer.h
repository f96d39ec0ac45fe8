/* SPDX-License-Identifier: MIT */
/*
 * Owns what the parts of format/openmetrics.c have in common while they write a run.
 */
#ifndef RM_FORMAT_OPENMETRICS_WRITER_H
#define RM_FORMAT_OPENMETRICS_WRITER_H

#include "format/openmetrics.h"

struct rm_openmetrics_writer {
    const struct resmon_run *run;
    int64_t end_ns; /* of the run, since 1970; -1: beyond what can be told */
    bool has_history;
    bool is_running;
    struct rm_buffer common; /* labels of every sample */
    struct rm_buffer own;    /* of the sample at hand */
    struct rm_exposition exposition;
};

/** Starts the labels of the sample at hand. */
struct rm_buffer *rm_openmetrics_clear(struct rm_openmetrics_writer *writer);

/** A sample with those labels that stands for the whole run, at its end. */
void rm_openmetrics_put(struct rm_openmetrics_writer *writer, double value);

/** All families of scopes; of the run, its bounds and its sources. */
void rm_openmetrics_put_scopes(struct rm_openmetrics_writer *writer);
void rm_openmetrics_put_run(struct rm_openmetrics_writer *writer);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns what the parts of format/prometheus.c have in common while they write a run.
 */
#ifndef RM_FORMAT_PROMETHEUS_WRITER_H
#define RM_FORMAT_PROMETHEUS_WRITER_H

#include "format/prometheus.h"

struct rm_prometheus_writer {
    const struct resmon_run *run;
    bool is_running;
    struct rm_buffer common; /* labels of every sample */
    struct rm_buffer own;    /* of the sample at hand */
    struct rm_exposition exposition;
};

/** Starts the labels of the sample at hand. */
struct rm_buffer *rm_prometheus_clear(struct rm_prometheus_writer *writer);

/** A sample with those labels. */
void rm_prometheus_put(struct rm_prometheus_writer *writer, double value);

/** All families of scopes; of the run, its bounds and its sources. */
void rm_prometheus_put_scopes(struct rm_prometheus_writer *writer);
void rm_prometheus_put_run(struct rm_prometheus_writer *writer);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the exposition of a run to Prometheus: its families, their samples and their labels.
 * <resmon/prometheus.h> is its contract. Pure formatting, without files or servers.
 */
#ifndef RM_FORMAT_PROMETHEUS_H
#define RM_FORMAT_PROMETHEUS_H

#include "format/exposition.h"
#include "metric/metric.h"
#include "run/run.h"

#define RM_PROMETHEUS_MOST_SCOPES 1000

#define RM_PROMETHEUS_FLAGS                                                          \
    (RESMON_PROMETHEUS_KEEP | RESMON_PROMETHEUS_NO_NODE | RESMON_PROMETHEUS_NO_JOB | \
     RESMON_PROMETHEUS_NO_PID)

struct rm_prometheus {
    uint64_t flags;                 /* RESMON_PROMETHEUS_NO_* */
    const struct rm_labels *labels; /* the user's labels; may be NULL */
};

/* ---- the name of a metric of the table ------------------------------------------------------ */

#define RM_FAMILY_BYTES 128

struct rm_family {
    char name[RM_FAMILY_BYTES]; /* without the suffix of its samples */
    const char *unit;           /* the last word of the name; "" for none */
    double divisor;             /* value in the table's unit / divisor = value in `unit` */
};

/** Names the family of a metric by the rule of <resmon/prometheus.h>. Only units, and the label for
 * the instances of a metric, are listed by hand. */
void rm_family_of(const struct rm_metric *metric, struct rm_family *ret_family);

/* ---- the exposition -------------------------------------------------------------------------- */

/** Writes the exposition. Returns the first failure of `output`, or RESMON_ENOMEM. */
resmon_status rm_prometheus_write(const struct resmon_run *run, const struct rm_prometheus *how,
                                  struct rm_output output);

/** Adds the exposition to a buffer. */
resmon_status rm_prometheus_print(const struct resmon_run *run, const struct rm_prometheus *how,
                                  struct rm_buffer *buffer);

/** The value of a label that the library determines ("node", "job_id", "rank", "pid"), or NULL. */
const char *rm_prometheus_fact(const struct resmon_run *run, const char *label);

#endif

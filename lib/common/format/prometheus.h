/* SPDX-License-Identifier: MIT */
/*
 * Owns the exposition of a run to Prometheus: its families, their samples and their labels.
 * <resmon/prometheus.h> is its contract. Pure formatting, without files or servers.
 */
#ifndef RM_FORMAT_PROMETHEUS_H
#define RM_FORMAT_PROMETHEUS_H

#include "format/exposition.h"
#include "run/run.h"

#define RM_PROMETHEUS_FLAGS                                                          \
    (RESMON_PROMETHEUS_KEEP | RESMON_PROMETHEUS_NO_NODE | RESMON_PROMETHEUS_NO_JOB | \
     RESMON_PROMETHEUS_NO_PID)

struct rm_prometheus {
    uint64_t flags;                 /* RESMON_PROMETHEUS_NO_* */
    const struct rm_labels *labels; /* the user's labels; may be NULL */
};

/* ---- names ------------------------------------------------------------------------------------
 */

#define RM_FAMILY_BYTES 128

struct rm_family {
    char name[RM_FAMILY_BYTES]; /* without the suffix of its samples */
    const char *unit;           /* the last word of the name; "" for none */
    double divisor;             /* value in the table's unit / divisor = value in `unit` */
};

/** Names the family of a dotted name with a unit of the table of metrics, by the rule of
 * <resmon/prometheus.h>.  Only units are listed by hand. */
void rm_family_name(const char *name, const char *symbol, struct rm_family *ret_family);

/* ---- the exposition -------------------------------------------------------------------------- */

/** Writes the exposition. Returns the first failure of `output`, or RESMON_ENOMEM. */
resmon_status rm_prometheus_write(const struct resmon_run *run, const struct rm_prometheus *how,
                                  struct rm_output output);

/** Adds the exposition to a buffer. */
resmon_status rm_prometheus_print(const struct resmon_run *run, const struct rm_prometheus *how,
                                  struct rm_buffer *buffer);

#endif

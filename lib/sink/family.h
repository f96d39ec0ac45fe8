/* SPDX-License-Identifier: MIT */
/*
 * Owns what a metric of the table is called in Prometheus.  The rule stands in
 * <resmon/prometheus.h>; nothing here is listed by hand but words for units, and the label that
 * tells the instances of a metric apart.
 */
#ifndef RM_SINK_FAMILY_H
#define RM_SINK_FAMILY_H

#include "metric/metric.h"

#define RM_FAMILY_BYTES 128

struct rm_family {
    char name[RM_FAMILY_BYTES]; /* without the suffix of its samples */
    const char *unit;           /* the last word of the name; "" for none */
    double divisor;             /* value in the table's unit / divisor = value in this one */
};

void rm_family_of(const struct rm_metric *metric, struct rm_family *ret_family);

/** The label for the instance of a column: "mountpoint" for file systems, else "device". */
const char *rm_family_instance_label(const struct rm_metric *metric);

#endif

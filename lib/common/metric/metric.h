/* SPDX-License-Identifier: MIT */
/*
 * Owns the table of metrics (metrics.def) and look-ups in it.
 */
#ifndef RM_METRIC_METRIC_H
#define RM_METRIC_METRIC_H

#include <stdint.h>

#include <resmon/metric.h>

/** RM_PROC_MEM_RSS and so on: the pinned ids. */
enum rm_metric_id {
#define RM_METRIC(id, token, name, unit, kind, level, origin, help) RM_##token = (id),
#include "base/compiler.h"
#include "metric/metrics.def"
#undef RM_METRIC
    RM_METRIC_IDS /* greater than all ids, which ascend */
};

/* Flag in rm_metric.kind: the gauge is over the interval since the previous reading. */
#define RM_INTERVAL  0x100
#define RM_KIND_MASK 0xff

/* Has no pointers: each would need a relocation of 24 bytes beside its own 8. */
struct rm_metric {
    uint16_t id;
    uint16_t kind; /* RESMON_GAUGE or RESMON_COUNTER; with RM_INTERVAL: INTERVAL or GROWTH */
    uint16_t level;
    uint16_t name, unit, origin, help; /* offsets in the table's texts */
};

/* How the values of several instances, processes and nodes become one value in a merged run. */
enum rm_metric_rule {
    RM_RULE_SUM,
    RM_RULE_MEAN,
    RM_RULE_SHARE, /* of a machine or device: a sum over processes, a mean over devices and nodes */
    RM_RULE_EACH,  /* instances measure different things: a sum over processes and nodes only */
    RM_RULE_NONE,  /* neither: bits, and peaks at different times */
};

/** Texts of a row; static. */
RM_SHARED const char *rm_metric_name(const struct rm_metric *metric);
RM_SHARED const char *rm_metric_unit(const struct rm_metric *metric);
RM_SHARED const char *rm_metric_help(const struct rm_metric *metric);
RM_SHARED const char *rm_metric_origin(const struct rm_metric *metric);

/** NULL, of a metric that the table does not have: by its unit. */
RM_SHARED enum rm_metric_rule rm_metric_rule(const struct rm_metric *metric, const char *unit);

/** The row with this id, or NULL. */
RM_SHARED const struct rm_metric *rm_metric_of(uint32_t id);

/** Row `index` of the table, or NULL past the end. */
RM_SHARED const struct rm_metric *rm_metric_row(size_t index);

/** The row with this name, or NULL. */
RM_SHARED const struct rm_metric *rm_metric_by_name(const char *name);

/** The table's text equal to `name`, so that names can be compared by address; `name` itself if the
 * table has none. */
const char *rm_metric_own_text(const char *name);

#endif

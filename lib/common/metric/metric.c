/* SPDX-License-Identifier: MIT */
#include "metric/metric.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"
#include "base/struct_size.h"

#define GAUGE    RESMON_GAUGE
#define INTERVAL (RESMON_GAUGE | RM_INTERVAL)
#define GROWTH   (RESMON_COUNTER | RM_INTERVAL)
#define COUNTER  RESMON_COUNTER
#define PROCESS  RESMON_LEVEL_PROCESS
#define TREE     RESMON_LEVEL_TREE
#define CGROUP   RESMON_LEVEL_CGROUP
#define NODE     RESMON_LEVEL_NODE
#define DEVICE   RESMON_LEVEL_DEVICE

/* The concatenated texts of all rows. */
static const struct texts {
#define RM_METRIC(id, token, name, unit, kind, level, origin, help)                              \
    char token##_name[sizeof(name)], token##_unit[sizeof(unit)], token##_origin[sizeof(origin)], \
        token##_help[sizeof(help)];
#include "metric/metrics.def"
#undef RM_METRIC
} texts = {
#define RM_METRIC(id, token, name, unit, kind, level, origin, help) name, unit, origin, help,
#include "metric/metrics.def"
#undef RM_METRIC
};

_Static_assert(sizeof texts <= UINT16_MAX, "16 bits say where a text begins");

static const struct rm_metric table[] = {
#define RM_METRIC(id, token, name, unit, kind, level, origin, help) \
    {(id),                                                          \
     (kind),                                                        \
     (level),                                                       \
     offsetof(struct texts, token##_name),                          \
     offsetof(struct texts, token##_unit),                          \
     offsetof(struct texts, token##_origin),                        \
     offsetof(struct texts, token##_help)},
#include "metric/metrics.def"
#undef RM_METRIC
};

/* ROW_PROC_MEM_RSS and so on: indexes of rows. */
enum {
#define RM_METRIC(id, token, name, unit, kind, level, origin, help) ROW_##token,
#include "metric/metrics.def"
#undef RM_METRIC
};

/* Index + 1 by id; 0: no such metric. */
static const uint16_t places[RM_METRIC_IDS] = {
#define RM_METRIC(id, token, name, unit, kind, level, origin, help) [(id)] = ROW_##token + 1,
#include "metric/metrics.def"
#undef RM_METRIC
};

static const char *text_at(uint16_t offset)
{
    return (const char *)&texts + offset;
}

const char *rm_metric_name(const struct rm_metric *metric)
{
    return text_at(metric->name);
}

const char *rm_metric_unit(const struct rm_metric *metric)
{
    return text_at(metric->unit);
}

const char *rm_metric_help(const struct rm_metric *metric)
{
    return text_at(metric->help);
}

const char *rm_metric_origin(const struct rm_metric *metric)
{
    return text_at(metric->origin);
}

static const struct {
    uint16_t id;
    uint16_t rule;
} rules[] = {
    {RM_PROC_CPU_PERCENT, RM_RULE_SUM}, /* 100 = one CPU */
    {RM_TREE_CPU_PERCENT, RM_RULE_SUM},
    {RM_PROC_CPU_HOST_PERCENT, RM_RULE_SHARE},
    {RM_PROC_CPU_CGROUP_PERCENT, RM_RULE_SHARE},
    {RM_PROC_CPU_AFFINITY_PERCENT, RM_RULE_SHARE},
    {RM_PROC_MEM_HOST_PERCENT, RM_RULE_SHARE},
    {RM_PROC_MEM_CGROUP_PERCENT, RM_RULE_SHARE},
    {RM_PROC_MEM_AFFINITY_PERCENT, RM_RULE_SHARE},
    {RM_PROC_MEM_PEAK_RSS, RM_RULE_NONE}, /* the ranks have it */
    {RM_CG_MEM_PEAK, RM_RULE_NONE},
    {RM_ENERGY_ZONE, RM_RULE_EACH}, /* a package includes its cores */
    {RM_GPU_THROTTLE_REASONS, RM_RULE_NONE},
    {RM_GPU_TREE_SM, RM_RULE_SHARE},
    {RM_PERF_EVENT, RM_RULE_EACH},
};

/* Temperatures, frequencies, ratios, and the time in which tasks waited have no sum. */
enum rm_metric_rule rm_metric_rule(const struct rm_metric *metric, const char *unit)
{
    static const char *const means[] = {"%", "C", "Hz"};
    bool is_mean = metric != NULL &&
                   (metric->kind == INTERVAL || strstr(rm_metric_name(metric), ".psi.") != NULL);
    for (size_t i = 0; metric != NULL && i < RM_ARRAY_LEN(rules); i++) {
        if (rules[i].id == metric->id) {
            return (enum rm_metric_rule)rules[i].rule;
        }
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(means); i++) {
        is_mean |= strcmp(unit, means[i]) == 0;
    }
    return is_mean ? RM_RULE_MEAN : RM_RULE_SUM;
}

const struct rm_metric *rm_metric_of(uint32_t id)
{
    return id < RM_ARRAY_LEN(places) && places[id] > 0 ? &table[places[id] - 1] : NULL;
}

const struct rm_metric *rm_metric_row(size_t index)
{
    return index < RM_ARRAY_LEN(table) ? &table[index] : NULL;
}

const struct rm_metric *rm_metric_by_name(const char *name)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(table); i++) {
        if (strcmp(rm_metric_name(&table[i]), name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

const char *rm_metric_own_text(const char *name)
{
    const struct rm_metric *row = rm_metric_by_name(name);
    return row != NULL ? rm_metric_name(row) : name;
}

static resmon_status fill(const struct rm_metric *row, resmon_metric *ret_metric)
{
    const resmon_metric result = {
        .id = row->id,
        .name = rm_metric_name(row),
        .unit = rm_metric_unit(row),
        .kind = row->kind & RM_KIND_MASK,
        .level = row->level,
        .origin = text_at(row->origin),
        .help = rm_metric_help(row),
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_metric), ret_metric);
}

size_t resmon_metric_count(void)
{
    return RM_ARRAY_LEN(table);
}

resmon_status resmon_metric_at(size_t index, resmon_metric *ret_metric)
{
    if (index >= RM_ARRAY_LEN(table)) {
        return rm_error(RESMON_ENOENT, "metric index %zu is past the last, %zu", index,
                        RM_ARRAY_LEN(table) - 1);
    }
    return fill(&table[index], ret_metric);
}

resmon_status resmon_metric_find(const char *name, resmon_metric *ret_metric)
{
    if (name == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_metric_find: name is NULL");
    }
    const struct rm_metric *row = rm_metric_by_name(name);
    if (row == NULL) {
        return rm_error(RESMON_ENOENT, "no metric is called '%s'; resmon_metric_at() lists them",
                        name);
    }
    return fill(row, ret_metric);
}

/* SPDX-License-Identifier: MIT */
#include "net/mlflow_summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "metric/view.h"
#include "run/energy.h"
#include "run/headline.h"

/* ---- names of performance counters ---------------------------------------------------------- */

#define NUMBER_BYTES 8 /* "_2", for one of a name that is taken */

typedef char name_text[RM_MLFLOW_COUNTER_BYTES];

/* Of libpfm4's names, '/' is no step in a path; '-' is what MLflow's own names have as '_'. */
static void set_name(name_text target, const resmon_run_counter *counter)
{
    char text[RM_MLFLOW_COUNTER_BYTES - NUMBER_BYTES];
    bool is_time = strcmp(counter->unit, "s") == 0;
    (void)snprintf(text, sizeof text, "%.*s%s", (int)sizeof text - 1 - (is_time ? 8 : 0),
                   counter->name, is_time ? "_seconds" : "");
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '-' || *at == '/' ? '_' : *at;
    }
    rm_mlflow_clean_name(target, RM_MLFLOW_COUNTER_BYTES, text);
}

static bool is_name_taken(const char *name, name_text *names, size_t count)
{
    static const char *const figures[] = {
        "wall_seconds",       "calls",          "cpu_seconds",     "thread_cpu_seconds",
        "rss_peak_megabytes", "read_megabytes", "write_megabytes", "energy_joules"};
    for (size_t i = 0; i < RM_ARRAY_LEN(figures); i++) {
        if (strcmp(name, figures[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A name for each counter of the run: none twice, none that a figure of scopes has; "" for those
 * that were not counted. */
static void rm_mlflow_counters_name(const struct resmon_run *run,
                                    char ret_names[RM_SCOPE_COUNTERS][RM_MLFLOW_COUNTER_BYTES])
{
    for (size_t i = 0; i < run->counter_count; i++) {
        char *name = ret_names[i];
        name[0] = '\0';
        if (run->counters[i].status != RESMON_OK) {
            continue;
        }
        set_name(name, &run->counters[i]);
        size_t length = strlen(name);
        for (unsigned number = 2; is_name_taken(name, ret_names, i); number++) {
            (void)snprintf(name + length, RM_MLFLOW_COUNTER_BYTES - length, "_%u", number);
        }
    }
}

/* ---- figures -------------------------------------------------------------------------------- */

#define MOST_NODES    4096 /* of a merged run */
#define FIGURE_ROOM   57   /* of a key: for "system/resmon/scope/", a number and a figure */
#define COUNTER_ROOM  97   /* of a key: as FIGURE_ROOM, with the name of a performance counter */
#define MOST_SCOPES   128
#define SCOPE_FIGURES 8
#define ENERGY_POINTS 5
#define MEGA          1e6

static void add_point_of(struct rm_mlflow_plan *plan, const char *key, double value, int64_t node)
{
    if (isfinite(value)) {
        plan->points[plan->point_count++] =
            (struct rm_mlflow_point){.key = key, .value = value, .step = node};
    }
}

static void add_point(struct rm_mlflow_plan *plan, const char *key, double value)
{
    add_point_of(plan, key, value, plan->place.node_index);
}

static const char *copy_key(struct rm_mlflow_plan *plan, const char *key)
{
    return rm_arena_text(&plan->arena, key, strlen(key));
}

/* Metrics that the table of views does not name: the total of a counter, the mean of a gauge.
 * False: no memory. */
static bool add_other_points(struct rm_mlflow_plan *plan)
{
    const struct resmon_run *run = plan->run;
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_MLFLOW, RM_VIEW_OTHER, &at, &row);) {
        for (size_t i = 0; i < run->column_count; i++) {
            const resmon_column *column = &run->columns[i];
            if (strcmp(column->metric, rm_metric_name(row.metric)) != 0 || column->n == 0) {
                continue;
            }
            char name[RM_MLFLOW_LONGEST_KEY], key[RM_MLFLOW_LONGEST_KEY + 16];
            rm_mlflow_column_name(name, column);
            (void)snprintf(key, sizeof key, "resmon/run/%s", name);
            const char *copy = copy_key(plan, key);
            if (copy == NULL) {
                return false;
            }
            bool is_total = row.series == RESMON_SERIES_LAST;
            add_point(plan, copy, (is_total ? column->last : column->mean) / row.divisor);
        }
    }
    return true;
}

static bool add_run_points(struct rm_mlflow_plan *plan)
{
    struct rm_view_row row;
    add_point(plan, "resmon/run/wall_seconds", rm_run_headline(plan->run).wall_s);
    for (size_t at = 0; rm_view_next(RM_VIEW_MLFLOW, "run", &at, &row);) {
        char key[64];
        (void)snprintf(key, sizeof key, "resmon/run/%s", row.label);
        const char *copy = copy_key(plan, key);
        if (copy == NULL) {
            return false;
        }
        add_point(plan, copy, rm_run_last_of(plan->run, row.metric->id, NULL) / row.divisor);
    }
    return add_other_points(plan);
}

/* The path of a scope, within what a key with a figure's name behind it has room for. */
static void scope_path(const struct rm_mlflow_plan *plan, size_t index,
                       char path[RM_MLFLOW_LONGEST_KEY])
{
    const struct resmon_run *run = plan->run;
    size_t figure = (run->counter_count > 0 ? COUNTER_ROOM : FIGURE_ROOM);
    const char *names[RM_MAX_DEPTH + 1];
    size_t depth = 0;
    char text[2048] = "";
    size_t length = 0;
    for (int64_t at = (int64_t)index; at >= 0 && depth <= RM_MAX_DEPTH;
         at = run->scopes[at].parent) {
        names[depth++] = run->scopes[at].name;
    }
    while (depth > 0) {
        char part[128];
        char *slash;
        (void)rm_text_set(part, sizeof part, names[--depth]);
        while ((slash = strchr(part, '/')) != NULL) {
            *slash = '_'; /* a slash in a name is no step in the tree */
        }
        int added = snprintf(text + length, sizeof text - length, "%s%s", length > 0 ? "/" : "",
                             part[0] != '\0' ? part : "_");
        length += added > 0 && (size_t)added < sizeof text - length ? (size_t)added : 0;
    }
    rm_mlflow_clean_name(path, RM_MLFLOW_LONGEST_KEY - figure - strlen(plan->config->monitor),
                         text);
}

/* Cleaned names may meet: the later ones get a number. */
static void make_unique(char paths[][RM_MLFLOW_LONGEST_KEY], size_t count)
{
    char *last = paths[count - 1];
    size_t length = strlen(last);
    unsigned number = 1;
    for (size_t i = 0; i + 1 < count;) {
        if (strcmp(paths[i], last) == 0) {
            (void)snprintf(last + length, RM_MLFLOW_LONGEST_KEY - length, "_%u", ++number);
            i = 0;
        } else {
            i++;
        }
    }
}

/* With what is still open. */
static double wall_of(const resmon_run_scope *scope)
{
    return scope->wall_ns;
}

/* False: no memory. */
static bool add_scope_point(struct rm_mlflow_plan *plan, const char *path, const char *figure,
                            double value)
{
    char key[RM_MLFLOW_LONGEST_KEY + 64];
    const char *copy;
    if (!isfinite(value) || figure[0] == '\0') {
        return true;
    }
    (void)snprintf(key, sizeof key, "resmon/scope/%s/%s", path, figure);
    copy = copy_key(plan, key);
    if (copy != NULL) {
        add_point(plan, copy, value);
    }
    return copy != NULL;
}

/* What may be off by more than itself is not shown. */
static double figure_of(const resmon_estimate *estimate)
{
    return rm_estimate_is_vague(estimate) ? RM_NAN : estimate->value;
}

/* False: no memory. */
static bool add_scope_points(struct rm_mlflow_plan *plan, const resmon_run_scope *scope,
                             const char *path)
{
    bool has_memory = true;
    const struct {
        const char *figure;
        double value;
    } figures[SCOPE_FIGURES] = {
        {"wall_seconds", wall_of(scope) / 1e9},
        {"calls", (double)scope->calls},
        {"cpu_seconds", figure_of(&scope->pcpu_ns) / 1e9},
        {"thread_cpu_seconds", figure_of(&scope->cpu_ns) / 1e9},
        {"rss_peak_megabytes", scope->rss_peak_bytes / MEGA},
        {"read_megabytes", figure_of(&scope->io_read_bytes) / MEGA},
        {"write_megabytes", figure_of(&scope->io_write_bytes) / MEGA},
        {"energy_joules", scope->energy_j},
    };
    for (size_t i = 0; i < SCOPE_FIGURES && has_memory; i++) {
        has_memory = add_scope_point(plan, path, figures[i].figure, figures[i].value);
    }
    for (size_t i = 0; i < plan->run->counter_count && scope->counter_calls > 0 && has_memory;
         i++) {
        has_memory = add_scope_point(plan, path, plan->counters[i], figure_of(&scope->counters[i]));
    }
    return has_memory;
}

static int descending(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;
    return first < second ? 1 : first > second ? -1 : 0;
}

/* Of very many, those that took longest: all above `wall_ns`, and so many of just that. */
struct least {
    double wall_ns;
    size_t ties;
};

static resmon_status find_least(struct rm_mlflow_plan *plan, size_t count, struct least *ret_least)
{
    size_t all = plan->run->scope_count;
    double *walls = rm_arena_alloc(&plan->arena, all, sizeof *walls);
    if (walls == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for MLflow");
    }
    for (size_t i = 0; i < all; i++) {
        double wall_ns = wall_of(&plan->run->scopes[i]);
        walls[i] = wall_ns > 0.0 ? wall_ns : 0.0; /* not NaN, which has no place in an order */
    }
    qsort(walls, all, sizeof *walls, descending);
    *ret_least = (struct least){.wall_ns = count > 0 ? walls[count - 1] : 0.0};
    while (ret_least->ties < count && walls[count - 1 - ret_least->ties] == ret_least->wall_ns) {
        ret_least->ties++;
    }
    return RESMON_OK;
}

static bool is_taken(struct least *least, double wall_ns)
{
    if (wall_ns == least->wall_ns && least->ties > 0) {
        least->ties--;
        return true;
    }
    return wall_ns > least->wall_ns;
}

static resmon_status add_scopes(struct rm_mlflow_plan *plan)
{
    const struct resmon_run *run = plan->run;
    size_t count = run->scope_count < MOST_SCOPES ? run->scope_count : MOST_SCOPES;
    struct least least = {0};
    char(*paths)[RM_MLFLOW_LONGEST_KEY] = rm_arena_alloc(&plan->arena, count, sizeof *paths);
    if (paths == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for MLflow");
    }
    rm_mlflow_counters_name(run, plan->counters);
    resmon_status status = find_least(plan, count, &least);
    if (status != RESMON_OK) {
        return status;
    }
    size_t added = 0;
    for (size_t i = 0; i < run->scope_count && added < count; i++) {
        if (!is_taken(&least, wall_of(&run->scopes[i]))) {
            continue;
        }
        scope_path(plan, i, paths[added++]);
        make_unique(paths, added);
        if (!add_scope_points(plan, &run->scopes[i], paths[added - 1])) {
            return rm_error(RESMON_ENOMEM, "out of memory for MLflow");
        }
    }
    plan->scopes_left_out = run->scope_count - added;
    return RESMON_OK;
}

/* What is not known is left out. */
static void add_energy_points(struct rm_mlflow_plan *plan)
{
    resmon_energy energy = rm_run_energy(plan->run);
    const struct {
        const char *key;
        double value;
    } points[ENERGY_POINTS] = {
        {"resmon/energy/node_joules", energy.node_j},
        {"resmon/energy/tree_joules", energy.tree_j},
        {"resmon/energy/modelled_share", energy.modelled_share},
        {"resmon/carbon/node_gco2eq", energy.node_gco2eq},
        {"resmon/carbon/tree_gco2eq", energy.tree_gco2eq},
    };
    for (size_t i = 0; i < ENERGY_POINTS && rm_run_has_energy(plan->run); i++) {
        add_point(plan, points[i].key, points[i].value);
    }
}

/* At most: the time, those of the table of views, and one for each column that it does not name. */
static size_t run_point_count(const struct resmon_run *run)
{
    struct rm_view_row row;
    size_t count = 1 + run->column_count;
    for (size_t at = 0; rm_view_next(RM_VIEW_MLFLOW, "run", &at, &row);) {
        count++;
    }
    return count;
}

/* Of a merged run those of each node, as if each had sent its own. */
static size_t nodes_of(const struct resmon_run *run)
{
    return run->node_count < MOST_NODES ? run->node_count : MOST_NODES;
}

static void add_node_points(struct rm_mlflow_plan *plan)
{
    for (size_t i = 0; i < RM_NODE_SUMMARY_KEYS; i++) {
        if (plan->run->node_count == 0) {
            add_point(plan, rm_node_summary_key(i), rm_node_summary_value(plan->run, i));
        }
        for (size_t node = 0; node < nodes_of(plan->run); node++) {
            add_point_of(plan, rm_node_summary_key(i), rm_node_summary_value_of(plan->run, i, node),
                         (int64_t)node);
        }
    }
}

resmon_status rm_mlflow_summary_add(struct rm_mlflow_plan *plan)
{
    size_t most = RM_NODE_SUMMARY_KEYS * (1 + nodes_of(plan->run)) + run_point_count(plan->run) +
                  ENERGY_POINTS + MOST_SCOPES * (SCOPE_FIGURES + RM_SCOPE_COUNTERS);
    plan->points = rm_arena_alloc(&plan->arena, most, sizeof *plan->points);
    if (plan->points == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for MLflow");
    }
    add_node_points(plan);
    if (!add_run_points(plan)) {
        return rm_error(RESMON_ENOMEM, "out of memory for MLflow");
    }
    add_energy_points(plan);
    return add_scopes(plan);
}

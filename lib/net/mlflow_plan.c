/* SPDX-License-Identifier: MIT */
#include "net/mlflow_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/number.h"
#include "base/status.h"
#include "base/text.h"
#include "format/document.h"
#include "format/json.h"
#include "metric/view.h"
#include "run/energy.h"
#include "run/node_summary.h"

#define LONGEST_KEY    250
#define MOST_NODES     4096      /* of a merged run */
#define MOST_NODE_TAGS 64        /* a server takes 100 tags in a request */
#define SYSTEM         "system/" /* of keys in the tab "System metrics" */
#define FIGURE_ROOM    57        /* of a key: for "system/resmon/scope/", a number and a figure */
#define COUNTER_ROOM   97        /* the same, for that of a performance counter */
#define MOST_SCOPES    128
#define OTHER_ROOM     19  /* of a key: for "system/resmon/run/" */
#define VALUE_BYTES    512 /* of a parameter or tag of ours */
#define SCOPE_FIGURES  8
#define ENERGY_POINTS  5
#define MEGA           1e6

/* ---- names ------------------------------------------------------------------------------ */

static char allowed(char byte)
{
    static const char others[] = "_.- :";
    bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    bool is_digit = byte >= '0' && byte <= '9';
    return is_letter || is_digit || strchr(others, byte) != NULL ? byte : '_';
}

/* A part that means a directory to the server, or nothing, has no place in a name. */
static bool is_step(const char *part, size_t length)
{
    return length == 0 || (length <= 2 && strspn(part, ".") >= length);
}

/* A cut may have left a step: "a/..b" as "a/..". */
static size_t without_last_step(const char *name, size_t length)
{
    size_t begin = length;
    while (begin > 0 && name[begin - 1] != '/') {
        begin--;
    }
    if (!is_step(name + begin, length - begin)) {
        return length;
    }
    return begin > 0 ? begin - 1 : 0;
}

/* Allowed are [/\w.\- :], without empty, "." and ".." parts. */
void rm_mlflow_clean_name(char *target, size_t room, const char *name)
{
    size_t out = 0;
    for (const char *at = name; *at != '\0';) {
        size_t length = strcspn(at, "/");
        if (!is_step(at, length) && out + 2 < room) {
            if (out > 0) {
                target[out++] = '/';
            }
            for (size_t i = 0; i < length && out + 1 < room; i++) {
                target[out++] = allowed(at[i]);
            }
        }
        at += length + (at[length] == '/' ? 1 : 0);
    }
    target[out] = '\0';
    out = without_last_step(target, out);
    if (out == 0) {
        target[out++] = '_';
    }
    target[out] = '\0';
}

/* ---- place ------------------------------------------------------------------------------ */

struct rm_mlflow_place rm_mlflow_place_of(const struct rm_mlflow_config *config,
                                          const struct resmon_run *run)
{
    struct rm_mlflow_place place = {.node_index = config->node_index,
                                    .is_first = true,
                                    .is_reporter = rm_run_reports_host(run)};
    double index = rm_run_fact_number(run, "job", "node_index");
    double rank = rm_run_fact_number(run, "job", "rank");
    if (place.node_index < 0) {
        place.node_index = index >= 0.0 && index < 1e9 ? (int64_t)index : 0;
    }
    (void)rm_text_set(place.node_name, sizeof place.node_name, rm_run_node_name(run));
    rm_mlflow_clean_name(place.job, sizeof place.job, rm_run_fact_text(run, "job", "key"));
    if (rm_run_fact_text(run, "job", "key")[0] == '\0') {
        place.job[0] = '\0';
    }
    if (config->node_index < 0 && !(index >= 0.0) && rank >= 0.0) {
        place.node_index = (int64_t)fmin(rank, 1e9); /* steps of different nodes must differ */
    }
    bool is_shared = place.job[0] != '\0' || config->run_id[0] != '\0';
    if (is_shared && rank >= 0.0) {
        place.is_first = rank == 0.0;
    } else if (place.job[0] != '\0') {
        place.is_first = place.node_index == 0 && place.is_reporter;
    }
    return place;
}

/* ---- the summary ------------------------------------------------------------------------ */

static void add_point_of(struct rm_mlflow_plan *plan, const char *key, double value, int64_t node)
{
    if (isfinite(value)) {
        plan->points[plan->point_count++] = (struct rm_mlflow_point){key, value, node};
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

static double last_of(const struct resmon_run *run, uint32_t metric, const char *instance)
{
    const resmon_column *stats = rm_run_statistics_of(run, metric, instance);
    return stats != NULL ? stats->last : RM_NAN;
}

/* "node.fs.used_/home", clean. */
static void put_other_name(char name[LONGEST_KEY], const resmon_column *column)
{
    char text[LONGEST_KEY];
    (void)snprintf(text, sizeof text, "%s%s%.150s", column->metric,
                   column->instance[0] != '\0' ? "_" : "", column->instance);
    rm_mlflow_clean_name(name, LONGEST_KEY - OTHER_ROOM, text);
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
            char name[LONGEST_KEY], key[LONGEST_KEY + 16];
            put_other_name(name, column);
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
    add_point(plan, "resmon/run/wall_seconds", (double)plan->run->info.duration_ns / 1e9);
    for (size_t at = 0; rm_view_next(RM_VIEW_MLFLOW, "run", &at, &row);) {
        char key[64];
        (void)snprintf(key, sizeof key, "resmon/run/%s", row.label);
        const char *copy = copy_key(plan, key);
        if (copy == NULL) {
            return false;
        }
        add_point(plan, copy, last_of(plan->run, row.metric->id, NULL) / row.divisor);
    }
    return add_other_points(plan);
}

/* The path of a scope, within what a key with a figure's name behind it has room for. */
static void scope_path(const struct resmon_run *run, size_t index, char path[LONGEST_KEY])
{
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
    rm_mlflow_clean_name(path, LONGEST_KEY - (run->counter_count > 0 ? COUNTER_ROOM : FIGURE_ROOM),
                         text);
}

/* Cleaned names may meet: the later ones get a number. */
static void make_unique(char paths[][LONGEST_KEY], size_t count)
{
    char *last = paths[count - 1];
    size_t length = strlen(last);
    unsigned number = 1;
    for (size_t i = 0; i + 1 < count;) {
        if (strcmp(paths[i], last) == 0) {
            (void)snprintf(last + length, LONGEST_KEY - length, "_%u", ++number);
            i = 0;
        } else {
            i++;
        }
    }
}

/* With what is still open. */
static double wall_of(const resmon_run_scope *scope)
{
    return scope->wall_ns + scope->open_ns;
}

/* False: no memory. */
static bool add_scope_point(struct rm_mlflow_plan *plan, const char *path, const char *figure,
                            double value)
{
    char key[LONGEST_KEY + 64];
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
        {"calls", (double)(scope->calls + scope->open)},
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
    char(*paths)[LONGEST_KEY] = rm_arena_alloc(&plan->arena, count, sizeof *paths);
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
        scope_path(run, i, paths[added++]);
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

static resmon_status add_summary(struct rm_mlflow_plan *plan)
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

/* ---- series ----------------------------------------------------------------------------- */

/* `key` behind the name of the node; more than there is room for are left out. */
static resmon_status add_one_series(struct rm_mlflow_plan *plan, const char *key, size_t column,
                                    int32_t kind, double divisor)
{
    struct rm_mlflow_series *series = &plan->series[plan->series_count];
    char head[LONGEST_KEY + 64];
    if (plan->series_count == RM_MLFLOW_SERIES_KEYS) {
        return RESMON_OK;
    }
    series->head_length =
        (size_t)snprintf(head, sizeof head, "{\"key\":\"" SYSTEM "%s\",\"value\":", key);
    series->head = rm_arena_alloc(&plan->arena, series->head_length, 1);
    if (series->head == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for MLflow");
    }
    memcpy(series->head, head, series->head_length);
    series->values =
        rm_run_series(plan->run, column, rm_run_series_meant(&plan->run->columns[column], kind));
    series->divisor = divisor;
    plan->series_count++;
    return RESMON_OK;
}

/* The machine's memory is a fact of the run, also where the machine was not sampled. */
static double whole_of(const struct resmon_run *run, const struct rm_metric *whole,
                       const char *instance)
{
    return whole->id == RM_NODE_MEM_TOTAL ? rm_run_fact_number(run, "machine", "memory_bytes")
                                          : last_of(run, whole->id, instance);
}

/* NaN, or not above 0: there is nothing to show. */
static double divisor_of(const struct resmon_run *run, const struct rm_view_row *row,
                         const char *instance)
{
    return row->of != NULL ? whole_of(run, row->of, instance) / 100.0 : row->divisor;
}

/* `node` -1: of the run as a whole. */
static int64_t column_of(const struct resmon_run *run, uint32_t metric, int64_t node)
{
    int64_t column = rm_run_column_of(run, metric, NULL);
    return node >= 0 ? rm_run_node_column(run, column, (size_t)node) : column;
}

static resmon_status add_node_series(struct rm_mlflow_plan *plan, const char *name, int64_t node)
{
    resmon_status status = RESMON_OK;
    struct rm_view_row row;
    for (size_t at = 0; status == RESMON_OK && rm_view_next(RM_VIEW_MLFLOW, "node", &at, &row);) {
        int64_t column = column_of(plan->run, row.metric->id, node);
        double divisor = divisor_of(plan->run, &row, NULL);
        char key[LONGEST_KEY];
        if (column >= 0 && divisor > 0.0) {
            (void)snprintf(key, sizeof key, "%s/%s", name, row.label);
            status = add_one_series(plan, key, (size_t)column, row.series, divisor);
        }
    }
    return status;
}

/* Of all nodes, and of the first ones, as far as there is room. */
static resmon_status add_merged_series(struct rm_mlflow_plan *plan)
{
    char name[32] = "job";
    resmon_status status = add_node_series(plan, name, -1);
    for (size_t i = 0; i < plan->run->node_count && status == RESMON_OK &&
                       plan->series_count < RM_MLFLOW_SERIES_KEYS;
         i++) {
        (void)snprintf(name, sizeof name, "node_%zu", i);
        status = add_node_series(plan, name, (int64_t)i);
    }
    return status;
}

static resmon_status add_gpu_series(struct rm_mlflow_plan *plan, const char *node,
                                    const char *instance)
{
    resmon_status status = RESMON_OK;
    struct rm_view_row row;
    for (size_t at = 0; status == RESMON_OK && rm_view_next(RM_VIEW_MLFLOW, "gpu", &at, &row);) {
        int64_t column = rm_run_column_of(plan->run, row.metric->id, instance);
        double divisor = divisor_of(plan->run, &row, instance);
        char key[LONGEST_KEY];
        if (column >= 0 && plan->run->columns[column].n > 0 && divisor > 0.0) {
            (void)snprintf(key, sizeof key, "%s/gpu_%s_%s", node, instance, row.label);
            status = add_one_series(plan, key, (size_t)column, row.series, divisor);
        }
    }
    return status;
}

static resmon_status add_other_series(struct rm_mlflow_plan *plan, const char *node)
{
    const struct resmon_run *run = plan->run;
    resmon_status status = RESMON_OK;
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_MLFLOW, RM_VIEW_OTHER, &at, &row);) {
        for (size_t i = 0; i < run->column_count && status == RESMON_OK; i++) {
            char name[LONGEST_KEY], key[LONGEST_KEY];
            if (strcmp(run->columns[i].metric, rm_metric_name(row.metric)) == 0) {
                put_other_name(name, &run->columns[i]);
                (void)snprintf(key, sizeof key, "%.120s/%.128s", node, name);
                status = add_one_series(plan, key, i, row.series, row.divisor);
            }
        }
    }
    return status;
}

/* Slices ("2:0") have no name in MLflow. */
static bool is_whole_gpu(const resmon_column *column)
{
    return strcmp(column->metric, rm_metric_name(rm_metric_of(RM_GPU_UTIL))) == 0 &&
           strspn(column->instance, "0123456789") == strlen(column->instance);
}

static resmon_status add_series(struct rm_mlflow_plan *plan)
{
    char node[128];
    const struct resmon_run *run = plan->run;
    if (run->node_count > 0) {
        return add_merged_series(plan);
    }
    if (plan->config->node_id[0] != '\0') {
        rm_mlflow_clean_name(node, sizeof node, plan->config->node_id);
    } else {
        (void)snprintf(node, sizeof node, "node_%" PRId64, plan->place.node_index);
    }
    resmon_status status = add_node_series(plan, node, -1);
    for (size_t i = 0; i < run->column_count && status == RESMON_OK; i++) {
        if (is_whole_gpu(&run->columns[i])) {
            status = add_gpu_series(plan, node, run->columns[i].instance);
        }
    }
    return status == RESMON_OK ? add_other_series(plan, node) : status;
}

resmon_status rm_mlflow_plan_init(struct rm_mlflow_plan *plan,
                                  const struct rm_mlflow_config *config,
                                  const struct resmon_run *run, int64_t after_ns)
{
    memset(plan, 0, sizeof *plan); /* large: no copy of it on the stack */
    plan->config = config;
    plan->run = run;
    plan->last_stage = RM_MLFLOW_STAGE_END - 1;
    plan->place = rm_mlflow_place_of(config, run);
    (void)snprintf(plan->artifact, sizeof plan->artifact, "resmon/run.json");
    if (plan->place.node_index != 0) {
        (void)snprintf(plan->artifact, sizeof plan->artifact, "resmon/node_%" PRId64 ".json",
                       plan->place.node_index);
    }
    plan->row_end = run->row_count;
    while (plan->first_row < run->row_count && run->t_last[plan->first_row] <= after_ns) {
        plan->first_row++;
    }
    resmon_status status = add_summary(plan);
    if (status == RESMON_OK && (config->flags & RESMON_MLFLOW_SERIES) != 0) {
        status = add_series(plan);
    }
    if (status != RESMON_OK) {
        rm_mlflow_plan_free(plan);
    }
    return status;
}

void rm_mlflow_plan_free(struct rm_mlflow_plan *plan)
{
    rm_arena_free(&plan->arena);
}

/* ---- items ------------------------------------------------------------------------------ */

static void put_number(struct rm_buffer *body, int64_t number)
{
    char text[RM_NUMBER_BYTES];
    rm_buffer_add(body, text, rm_number_i64(text, number));
}

static const char *comma(const struct rm_buffer *body)
{
    return body->length > 0 && body->text[body->length - 1] == '[' ? "" : ",";
}

/* Keys are clean: nothing in them is to be escaped. */
static void put_metric(struct rm_buffer *body, const char *group, const char *key, double value,
                       int64_t t_ns, int64_t step)
{
    char text[RM_NUMBER_BYTES];
    rm_buffer_puts(body, comma(body));
    rm_buffer_puts(body, "{\"key\":\"");
    rm_buffer_puts(body, group);
    rm_buffer_puts(body, key);
    rm_buffer_puts(body, "\",\"value\":");
    rm_buffer_add(body, text, rm_number_double(text, value));
    rm_buffer_puts(body, ",\"timestamp\":");
    put_number(body, t_ns / RM_NS_PER_MS);
    rm_buffer_puts(body, ",\"step\":");
    put_number(body, step);
    rm_buffer_add(body, "}", 1);
}

/* A server refuses keys that come twice. */
static bool has_key(const struct rm_buffer *body, const char *clean_key)
{
    char start[LONGEST_KEY + 16];
    (void)snprintf(start, sizeof start, "{\"key\":\"%s\"", clean_key);
    return body->text != NULL && strstr(body->text, start) != NULL;
}

static void put_pair(struct rm_buffer *body, const char *key, const char *value)
{
    char clean_key[LONGEST_KEY + 1];
    char clean_value[VALUE_BYTES];
    if (value == NULL || value[0] == '\0') {
        return;
    }
    rm_mlflow_clean_name(clean_key, sizeof clean_key, key);
    if (has_key(body, clean_key)) {
        return;
    }
    (void)rm_text_set(clean_value, sizeof clean_value, value);
    rm_buffer_puts(body, comma(body));
    rm_buffer_puts(body, "{\"key\":");
    rm_buffer_json(body, clean_key);
    rm_buffer_puts(body, ",\"value\":");
    rm_buffer_json(body, clean_value);
    rm_buffer_puts(body, "}");
}

/* What is the same for all nodes. */
static void put_params(struct rm_buffer *body, const struct rm_mlflow_plan *plan)
{
    static const struct {
        const char *key, *group, *fact;
    } rows[] = {
        {"resmon.version", "run", "library"},
        {"resmon.interval_ms", "settings", "interval_ms"},
        {"resmon.scopes", "settings", "scopes"},
        {"resmon.job.system", "job", "system"},
        {"resmon.job.id", "job", "id"},
        {"resmon.job.nodes", "job", "node_count"},
        {"resmon.job.ranks", "job", "rank_count"},
        {"resmon.g_per_kwh", "energy", "g_per_kwh"},
        {"resmon.pue", "energy", "pue"},
        {"resmon.place", "energy", "place"},
    };
    rm_buffer_puts(body, "\"params\":[");
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        put_pair(body, rows[i].key, rm_run_fact_text(plan->run, rows[i].group, rows[i].fact));
    }
    rm_buffer_puts(body, "]");
}

static void put_node_tag(struct rm_buffer *body, int64_t node, const char *name, const char *value)
{
    char key[64];
    (void)snprintf(key, sizeof key, "resmon.node.%" PRId64 "%s%s", node, name[0] != '\0' ? "." : "",
                   name);
    put_pair(body, key, value);
}

/* What each node says of itself. */
static void put_own_tags(struct rm_buffer *body, const struct rm_mlflow_plan *plan)
{
    static const char *const facts[] = {"cpu_model", "cpus", "memory_bytes", "kernel", "os"};
    int64_t node = plan->place.node_index;
    put_node_tag(body, node, "", plan->place.node_name);
    for (size_t i = 0; i < RM_ARRAY_LEN(facts); i++) {
        put_node_tag(body, node, facts[i], rm_run_fact_text(plan->run, "machine", facts[i]));
    }
}

static void put_tags(struct rm_buffer *body, const struct rm_mlflow_plan *plan)
{
    const struct resmon_run *run = plan->run;
    rm_buffer_puts(body, "\"tags\":[");
    if (run->node_count == 0) {
        put_own_tags(body, plan);
    }
    for (size_t i = 0; i < run->node_count && i < MOST_NODE_TAGS; i++) {
        put_node_tag(body, (int64_t)i, "", run->nodes[i].name);
    }
    if (plan->scopes_left_out > 0) {
        char count[32];
        (void)snprintf(count, sizeof count, "%zu", plan->scopes_left_out);
        put_node_tag(body, plan->place.node_index, "scopes_left_out", count);
    }
    rm_buffer_puts(body, "]");
}

#define MOST_PAIRS (20 + MOST_NODE_TAGS) /* parameters and tags of ours in one request */

static bool make_summary(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                         size_t most, struct rm_buffer *body)
{
    const struct resmon_run *run = plan->run;
    size_t room = most > MOST_PAIRS ? most - MOST_PAIRS : 1;
    size_t end =
        plan->point_count - cursor->index > room ? cursor->index + room : plan->point_count;
    bool is_last = end == plan->point_count;
    bool is_of_model = (plan->config->flags & RESMON_MLFLOW_MODEL_METRICS) != 0;
    rm_buffer_puts(body, "\"metrics\":[");
    for (; cursor->index < end; cursor->index++) {
        const struct rm_mlflow_point *point = &plan->points[cursor->index];
        put_metric(body, is_of_model ? "" : SYSTEM, point->key, point->value,
                   rm_run_realtime_ns(run, run->info.duration_ns), point->step);
    }
    rm_buffer_puts(body, "]");
    if (is_last) {
        if (plan->is_made && plan->place.is_first) {
            rm_buffer_puts(body, ",");
            put_params(body, plan);
        }
        rm_buffer_puts(body, ",");
        put_tags(body, plan);
        *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_PARAMS};
    }
    rm_buffer_puts(body, "}");
    return true;
}

static bool make_params(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                        size_t most, struct rm_buffer *body)
{
    (void)most;
    *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_SERIES};
    if (plan->is_made || !plan->place.is_first) {
        return false;
    }
    put_params(body, plan);
    rm_buffer_puts(body, "}");
    return true;
}

/* What all points of a row end with. */
struct point_tail {
    char text[2 * RM_NUMBER_BYTES + 32];
    size_t length;
};

/* The step is the number of the row's last sample: it rises, also when rows merge between two
 * portions. */
static void make_tail(const struct resmon_run *run, size_t row, struct rm_mlflow_cursor *cursor,
                      struct point_tail *tail)
{
    for (; cursor->step_row <= row; cursor->step_row++) {
        uint64_t room = (uint64_t)(INT64_MAX - cursor->step);
        uint64_t samples = run->row_samples[cursor->step_row];
        cursor->step += (int64_t)(samples < room ? samples : room);
    }
    static const char before[] = ",\"timestamp\":";
    static const char between[] = ",\"step\":";
    int64_t t_ns = rm_run_realtime_ns(run, run->t_last[row]);
    char *at = tail->text;
    memcpy(at, before, sizeof before - 1);
    at += sizeof before - 1;
    at += rm_number_i64(at, t_ns / RM_NS_PER_MS);
    memcpy(at, between, sizeof between - 1);
    at += sizeof between - 1;
    at += rm_number_i64(at, cursor->step - 1);
    *at++ = '}';
    tail->length = (size_t)(at - tail->text);
}

static void put_point(struct rm_buffer *body, const struct rm_mlflow_series *series, double value,
                      const struct point_tail *tail, bool is_first)
{
    char *begin = rm_buffer_room(body, 1 + series->head_length + RM_NUMBER_BYTES + tail->length);
    if (begin == NULL) {
        return;
    }
    char *at = begin;
    *at = ',';
    at += is_first ? 0 : 1;
    memcpy(at, series->head, series->head_length);
    at += series->head_length;
    at += rm_number_double(at, value);
    memcpy(at, tail->text, tail->length);
    at += tail->length;
    rm_buffer_advance(body, (size_t)(at - begin));
}

/* Row by row, so that a batch is a stretch of time. */
static bool make_series(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                        size_t most, struct rm_buffer *body)
{
    size_t rows = plan->row_end - plan->first_row;
    size_t end = rows * plan->series_count;
    size_t count = 0;
    rm_buffer_puts(body, "\"metrics\":[");
    while (cursor->index < end && count < most) {
        struct point_tail tail;
        size_t row = plan->first_row + cursor->index / plan->series_count;
        make_tail(plan->run, row, cursor, &tail);
        for (size_t key = cursor->index % plan->series_count;
             key < plan->series_count && count < most; key++, cursor->index++) {
            const struct rm_mlflow_series *series = &plan->series[key];
            double value = series->values[row] / series->divisor;
            if (isfinite(value)) {
                put_point(body, series, value, &tail, count == 0);
                count++;
            }
        }
    }
    rm_buffer_puts(body, "]}");
    if (cursor->index >= end) {
        *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_ARTIFACT};
    }
    return count > 0;
}

static bool make_artifact(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                          size_t most, struct rm_buffer *body)
{
    (void)most;
    *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_PAGE};
    if ((plan->config->flags & RESMON_MLFLOW_NO_ARTIFACT) != 0) {
        return false;
    }
    resmon_status status = rm_document_print(plan->run, body);
    body->status = body->status == RESMON_OK ? status : body->status;
    return true;
}

static bool make_page(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                      size_t most, struct rm_buffer *body)
{
    (void)most;
    *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_NOTE};
    if (plan->page == NULL || (plan->config->flags & RESMON_MLFLOW_NO_ARTIFACT) != 0) {
        return false;
    }
    rm_buffer_add(body, plan->page->text, plan->page->length);
    return true;
}

static bool make_note(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                      size_t most, struct rm_buffer *body)
{
    (void)most;
    *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_UPDATE};
    if (plan->note == NULL || !plan->place.is_first) {
        return false;
    }
    rm_buffer_puts(body, "\"key\":\"" RM_MLFLOW_NOTE_TAG "\",\"value\":");
    rm_buffer_json(body, plan->note);
    rm_buffer_puts(body, "}");
    return true;
}

/* MLflow's "killed by user" is what an interrupt is, and what a program is that is gone. */
static const char *status_of(const struct resmon_run *run)
{
    const resmon_run_end end = rm_run_end(run);
    switch (end.reason) {
    case RESMON_END_FAILED:
        return "FAILED";
    case RESMON_END_UNKNOWN:
    case RESMON_END_INTERRUPTED:
    case RESMON_END_KILLED:
        return "KILLED";
    default:
        return "FINISHED";
    }
}

static bool make_update(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                        size_t most, struct rm_buffer *body)
{
    (void)most;
    *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_END};
    bool finishes = plan->is_made || (plan->config->flags & RESMON_MLFLOW_FINISH) != 0;
    if (!finishes || !plan->place.is_first) {
        return false;
    }
    rm_buffer_printf(body, "\"status\":\"%s\",\"end_time\":%" PRId64 "}", status_of(plan->run),
                     rm_run_realtime_ns(plan->run, plan->run->info.duration_ns) / RM_NS_PER_MS);
    return true;
}

static const struct {
    enum rm_mlflow_call call;
    bool (*make)(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor, size_t most,
                 struct rm_buffer *body);
} stages[RM_MLFLOW_STAGE_END] = {
    [RM_MLFLOW_STAGE_SUMMARY] = {RM_MLFLOW_LOG_BATCH, make_summary},
    [RM_MLFLOW_STAGE_PARAMS] = {RM_MLFLOW_PARAMS, make_params},
    [RM_MLFLOW_STAGE_SERIES] = {RM_MLFLOW_LOG_BATCH, make_series},
    [RM_MLFLOW_STAGE_ARTIFACT] = {RM_MLFLOW_ARTIFACT, make_artifact},
    [RM_MLFLOW_STAGE_PAGE] = {RM_MLFLOW_ARTIFACT, make_page},
    [RM_MLFLOW_STAGE_NOTE] = {RM_MLFLOW_NOTE, make_note},
    [RM_MLFLOW_STAGE_UPDATE] = {RM_MLFLOW_UPDATE, make_update},
};

resmon_status rm_mlflow_plan_next(const struct rm_mlflow_plan *plan,
                                  struct rm_mlflow_cursor *cursor, size_t most,
                                  struct rm_buffer *body, struct rm_mlflow_item *ret_item,
                                  bool *ret_has_item)
{
    *ret_has_item = false;
    while (cursor->stage <= plan->last_stage && !*ret_has_item) {
        enum rm_mlflow_stage stage = cursor->stage;
        rm_buffer_clear(body);
        *ret_has_item = stages[stage].make(plan, cursor, most, body);
        *ret_item = (struct rm_mlflow_item){
            .call = stages[stage].call,
            .path = stage == RM_MLFLOW_STAGE_PAGE ? "resmon/report.html" : plan->artifact,
            .body = body->text,
            .length = body->length};
        if (body->status != RESMON_OK) {
            return body->status;
        }
    }
    return RESMON_OK;
}

/* ---- making a run ----------------------------------------------------------------------- */

/* MLFLOW_RUN_CONTEXT: an object of texts. */
static void put_context(struct rm_buffer *body, const struct rm_mlflow_config *config)
{
    struct rm_json *json = NULL;
    if (config->context[0] == '\0' ||
        rm_json_parse(config->context, strlen(config->context), &json) != RESMON_OK) {
        return;
    }
    size_t count = 0;
    for (const struct rm_json *member = rm_json_first_member(json); member != NULL && count < 50;
         member = rm_json_next(member), count++) {
        put_pair(body, rm_json_key(member), rm_json_text(member));
    }
    rm_json_free(json);
}

resmon_status rm_mlflow_plan_create(const struct rm_mlflow_config *config,
                                    const struct resmon_run *run,
                                    const struct rm_mlflow_place *place, const char *uuid,
                                    struct rm_buffer *body)
{
    const char *program = rm_run_fact_text(run, "run", "program");
    const char *executable = rm_run_fact_text(run, "run", "executable");
    bool is_script = program[0] != '\0' && strcmp(program, rm_text_base_name(executable)) != 0;
    const char *name = config->run_name[0] != '\0' ? config->run_name : rm_run_title(run);
    char clean[VALUE_BYTES];
    (void)rm_text_set(clean, sizeof clean, name);
    rm_buffer_puts(body, "\"run_name\":");
    rm_buffer_json(body, clean);
    rm_buffer_printf(body, ",\"start_time\":%" PRId64 ",\"tags\":[",
                     run->info.start_realtime_ns / RM_NS_PER_MS);
    const struct {
        const char *key, *value;
    } tags[] = {
        {"mlflow.runName", clean},
        {"resmon.uuid", uuid},
        {"resmon.job", place->job},
        {NULL, NULL}, /* what is in MLFLOW_RUN_CONTEXT goes before the rest */
        {"mlflow.user", config->user},
        {"mlflow.source.name", is_script ? program : executable},
        {"mlflow.source.type", place->job[0] != '\0' ? "JOB" : "LOCAL"},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(tags); i++) {
        if (tags[i].key == NULL) {
            put_context(body, config);
        } else {
            put_pair(body, tags[i].key, tags[i].value);
        }
    }
    rm_buffer_puts(body, "]}");
    return body->status;
}

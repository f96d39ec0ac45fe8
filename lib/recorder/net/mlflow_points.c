/* SPDX-License-Identifier: MIT */
#include "net/mlflow_body.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "metric/view.h"
#include "run/energy.h"
#include "run/headline.h"

/* ---- names ---------------------------------------------------------------------------------- */

/* Bytes of a key that are reserved for the text around one part of it. */
#define OTHER_ROOM   19 /* "system/resmon/run/" */
#define FIGURE_ROOM  57 /* "system/resmon/scope/", the number and the value name of a scope */
#define COUNTER_ROOM 97 /* as FIGURE_ROOM, and the name of a performance counter */

static char allowed(char byte)
{
    static const char others[] = "_.- :";
    bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    bool is_digit = byte >= '0' && byte <= '9';
    return is_letter || is_digit || strchr(others, byte) != NULL ? byte : '_';
}

/* Whether a path segment is empty, or is a directory for the server ("." and ".."). */
static bool is_step(const char *part, size_t length)
{
    return length == 0 || (length <= 2 && part[0] == '.' && part[length - 1] == '.');
}

/* Removes segments for which is_step() is true, even if truncation makes them: "a/..b" to
 * "a/..". */
void rm_mlflow_clean_name(char *target, size_t room, const char *name)
{
    size_t out = 0;
    bool is_cut = false;
    for (const char *at = name; *at != '\0' && !is_cut;) {
        size_t length = strcspn(at, "/");
        size_t begin = out;
        if (out > 0 && out + 1 < room) {
            target[out++] = '/';
        }
        size_t left = room - 1 - out;
        size_t kept = length < left ? length : left;
        for (size_t i = 0; i < kept; i++) {
            target[out + i] = allowed(at[i]);
        }
        is_cut = kept < length;
        out = is_step(target + out, kept) ? begin : out + kept;
        at += length + (at[length] == '/' ? 1 : 0);
    }
    if (out == 0) {
        target[out++] = '_';
    }
    target[out] = '\0';
}

/* Adds "_2", "_3", ... to a name until it differs from the `count` others. */
static void make_unique(char *name, size_t room, const char *const *others, size_t count)
{
    size_t length = strlen(name);
    unsigned number = 1;
    for (size_t i = 0; i < count;) {
        if (strcmp(others[i], name) == 0) {
            (void)snprintf(name + length, room - length, "_%u", ++number);
            i = 0;
        } else {
            i++;
        }
    }
}

/* ---- building a plan ------------------------------------------------------------------------ */

static void lack_memory(struct rm_mlflow_plan *plan)
{
    plan->status = rm_error(RESMON_ENOMEM, "out of memory for MLflow");
}

/* NULL: out of memory. */
static void *take_memory(struct rm_mlflow_plan *plan, size_t count, size_t size)
{
    void *memory = rm_arena_alloc(&plan->arena, count, size);
    if (memory == NULL) {
        lack_memory(plan);
    }
    return memory;
}

static const char *text_of(struct rm_mlflow_plan *plan, const char *format, ...) RM_PRINTF(2, 3);

/* Formats a text that lives as long as the plan; NULL: out of memory. */
static const char *text_of(struct rm_mlflow_plan *plan, const char *format, ...)
{
    char text[RM_MLFLOW_LONGEST_KEY + 64];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *copy = rm_arena_text(&plan->arena, text, sizeof text);
    if (copy == NULL) {
        lack_memory(plan);
    }
    return copy;
}

/* Adds a point unless its value is unknown, or memory for its key was lacking. */
static void add_point(struct rm_mlflow_plan *plan, const char *key, double value, int64_t node)
{
    if (key != NULL && isfinite(value)) {
        plan->points[plan->point_count++] =
            (struct rm_mlflow_point){.key = key, .value = value, .step = node};
    }
}

static void add_own_point(struct rm_mlflow_plan *plan, const char *key, double value)
{
    add_point(plan, key, value, plan->place.node_index);
}

/* Adds a series, up to the bound of their number. */
static void add_series(struct rm_mlflow_plan *plan, const char *key, size_t column,
                       const struct rm_view_row *row, double divisor)
{
    if (plan->series_count == RM_MLFLOW_SERIES_KEYS) {
        return;
    }
    const char *head =
        text_of(plan, RM_MLFLOW_POINT_HEAD RM_MLFLOW_SYSTEM "%s%s" RM_MLFLOW_POINT_VALUE,
                plan->config->monitor, key);
    if (head != NULL) {
        int32_t kind = rm_run_series_meant(&plan->run->columns[column], row->series);
        plan->series[plan->series_count++] =
            (struct rm_mlflow_series){.head = head,
                                      .head_length = strlen(head),
                                      .values = rm_run_series(plan->run, column, kind),
                                      .divisor = divisor,
                                      .known_step = -1.0};
    }
}

/* ---- series --------------------------------------------------------------------------------- */

/* The total of which a metric is a part.  The machine's memory is a fact of the run even if the
 * machine was not sampled. */
static double whole_of(const struct resmon_run *run, const struct rm_metric *whole,
                       const char *instance)
{
    return whole->id == RM_NODE_MEM_TOTAL ? rm_run_fact_number(run, "machine", "memory_bytes")
                                          : rm_run_last_of(run, whole->id, instance);
}

/* Adds the rows of views.def in `group`, with `prefix` before their keys: of a GPU, by its
 * `instance`, or of the machine; of a node, or with `node` -1 of the whole run. */
static void add_group(struct rm_mlflow_plan *plan, const char *group, const char *instance,
                      int64_t node, const char *prefix)
{
    const struct resmon_run *run = plan->run;
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_MLFLOW, group, &at, &row);) {
        int64_t column = rm_run_column_of(run, row.metric->id, instance);
        column = node >= 0 ? rm_run_node_column(run, column, (size_t)node) : column;
        /* Without a positive divisor (NaN: unknown), nothing is shown. */
        double divisor = row.of != NULL ? whole_of(run, row.of, instance) / 100.0 : row.divisor;
        bool is_there = column >= 0 && (instance == NULL || run->columns[column].n > 0);
        if (is_there && divisor > 0.0) {
            char key[RM_MLFLOW_LONGEST_KEY];
            (void)snprintf(key, sizeof key, "%s%s", prefix, row.label);
            add_series(plan, key, (size_t)column, &row, divisor);
        }
    }
}

/* Adds the series of the whole job, and of the first nodes, up to the bound. */
static void add_merged_series(struct rm_mlflow_plan *plan)
{
    add_group(plan, "node", NULL, -1, "job/");
    for (size_t i = 0; i < plan->run->node_count && plan->series_count < RM_MLFLOW_SERIES_KEYS;
         i++) {
        char prefix[32];
        (void)snprintf(prefix, sizeof prefix, "node_%zu/", i);
        add_group(plan, "node", NULL, (int64_t)i, prefix);
    }
}

/* Slices of a GPU ("2:0") have no name in MLflow. */
static bool is_whole_gpu(const resmon_column *column)
{
    return strcmp(column->metric, rm_metric_name(rm_metric_of(RM_GPU_UTIL))) == 0 &&
           strspn(column->instance, "0123456789") == strlen(column->instance);
}

static void add_node_series(struct rm_mlflow_plan *plan, const char *node)
{
    const struct resmon_run *run = plan->run;
    char prefix[RM_MLFLOW_LONGEST_KEY];
    (void)snprintf(prefix, sizeof prefix, "%s/", node);
    add_group(plan, "node", NULL, -1, prefix);
    for (size_t i = 0; i < run->column_count; i++) {
        if (is_whole_gpu(&run->columns[i])) {
            (void)snprintf(prefix, sizeof prefix, "%s/gpu_%s_", node, run->columns[i].instance);
            add_group(plan, "gpu", run->columns[i].instance, -1, prefix);
        }
    }
}

/* ---- the summary ---------------------------------------------------------------------------- */

#define MOST_NODES    4096 /* of a merged run */
#define MOST_SCOPES   128
#define SCOPE_VALUES  8
#define ENERGY_POINTS 5
#define MEGA          1e6

/* The number of nodes of a merged run.  Each has its own values, as if it had sent them itself. */
static size_t nodes_of(const struct resmon_run *run)
{
    return run->node_count < MOST_NODES ? run->node_count : MOST_NODES;
}

static void add_node_points(struct rm_mlflow_plan *plan)
{
    for (size_t i = 0; i < RM_NODE_SUMMARY_KEYS; i++) {
        const char *key = rm_node_summary_key(i);
        if (plan->run->node_count == 0) {
            add_own_point(plan, key, rm_node_summary_value(plan->run, i));
        }
        for (size_t node = 0; node < nodes_of(plan->run); node++) {
            add_point(plan, key, rm_node_summary_value_of(plan->run, i, node), (int64_t)node);
        }
    }
}

static void add_run_points(struct rm_mlflow_plan *plan)
{
    struct rm_view_row row;
    add_own_point(plan, "resmon/run/wall_seconds", rm_run_headline(plan->run).wall_s);
    for (size_t at = 0; rm_view_next(RM_VIEW_MLFLOW, "run", &at, &row);) {
        add_own_point(plan, text_of(plan, "resmon/run/%s", row.label),
                      rm_run_last_of(plan->run, row.metric->id, NULL) / row.divisor);
    }
}

/* Adds a metric without a row in the table of views, with its instance ("node.fs.used_/home").
 * A point has the total of a counter or the mean of a gauge.  A series has the prefix `node` (NULL:
 * no series). */
static void add_other(struct rm_mlflow_plan *plan, const struct rm_view_row *row, size_t index,
                      const char *node)
{
    const resmon_column *column = &plan->run->columns[index];
    char text[RM_MLFLOW_LONGEST_KEY], name[RM_MLFLOW_LONGEST_KEY - OTHER_ROOM];
    (void)snprintf(text, sizeof text, "%s%s%.150s", column->metric,
                   column->instance[0] != '\0' ? "_" : "", column->instance);
    rm_mlflow_clean_name(name, sizeof name, text);
    if (column->n > 0) {
        bool is_total = row->series == RESMON_SERIES_LAST;
        add_own_point(plan, text_of(plan, "resmon/run/%s", name),
                      (is_total ? column->last : column->mean) / row->divisor);
    }
    if (node != NULL) {
        (void)snprintf(text, sizeof text, "%.120s/%.128s", node, name);
        add_series(plan, text, index, row, row->divisor);
    }
}

static void add_others(struct rm_mlflow_plan *plan, const char *node)
{
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_MLFLOW, RM_VIEW_OTHER, &at, &row);) {
        for (size_t i = 0; i < plan->run->column_count; i++) {
            if (strcmp(plan->run->columns[i].metric, rm_metric_name(row.metric)) == 0) {
                add_other(plan, &row, i, node);
            }
        }
    }
}

/* Unknown values are left out. */
static void add_energy_points(struct rm_mlflow_plan *plan)
{
    const resmon_energy energy = rm_run_energy(plan->run);
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
        add_own_point(plan, points[i].key, points[i].value);
    }
}

/* ---- scopes --------------------------------------------------------------------------------- */

static const char *const scope_values[SCOPE_VALUES] = {
    "wall_seconds",       "calls",          "cpu_seconds",     "thread_cpu_seconds",
    "rss_peak_megabytes", "read_megabytes", "write_megabytes", "energy_joules"};

/* Makes a name for MLflow: '/' in names of libpfm4 must not begin a path segment, and '-' is '_'
 * in MLflow's own names. */
static void counter_name(char target[RM_MLFLOW_COUNTER_BYTES], const resmon_run_counter *counter)
{
    char text[RM_MLFLOW_COUNTER_BYTES - sizeof "_999999"];
    const char *end = strcmp(counter->unit, "s") == 0 ? "_seconds" : "";
    (void)snprintf(text, sizeof text, "%.*s%s", (int)(sizeof text - 1 - strlen(end)), counter->name,
                   end);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '-' || *at == '/' ? '_' : *at;
    }
    rm_mlflow_clean_name(target, RM_MLFLOW_COUNTER_BYTES, text);
}

/* Names of the values of a scope, followed by those of the counters: "instructions",
 * "cache_misses".  A counter with a unit has it in its name: "task_clock_seconds".  All names
 * differ.  The name of a counter that was not counted is "". */
struct value_names {
    const char *names[SCOPE_VALUES + RM_SCOPE_COUNTERS];
    char counters[RM_SCOPE_COUNTERS][RM_MLFLOW_COUNTER_BYTES];
};

static void name_values(const struct resmon_run *run, struct value_names *ret_names)
{
    memcpy(ret_names->names, scope_values, sizeof scope_values);
    for (size_t i = 0; i < run->counter_count; i++) {
        char *name = ret_names->counters[i];
        name[0] = '\0';
        if (run->counters[i].status == RESMON_OK) {
            counter_name(name, &run->counters[i]);
            make_unique(name, RM_MLFLOW_COUNTER_BYTES, ret_names->names, SCOPE_VALUES + i);
        }
        ret_names->names[SCOPE_VALUES + i] = name;
    }
}

/* Writes the path of a scope, cleaned.  It is short enough for a key that ends with the name of
 * a value. */
static void scope_path(const struct rm_mlflow_plan *plan, size_t index,
                       char path[RM_MLFLOW_LONGEST_KEY])
{
    const struct resmon_run *run = plan->run;
    size_t end = run->counter_count > 0 ? COUNTER_ROOM : FIGURE_ROOM;
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
            *slash = '_'; /* a slash in a name does not separate scopes */
        }
        int added = snprintf(text + length, sizeof text - length, "%s%s", length > 0 ? "/" : "",
                             part[0] != '\0' ? part : "_");
        length += added > 0 && (size_t)added < sizeof text - length ? (size_t)added : 0;
    }
    rm_mlflow_clean_name(path, RM_MLFLOW_LONGEST_KEY - end - strlen(plan->config->monitor), text);
}

/* An estimate whose error may exceed its value is not shown. */
static double value_of(const resmon_estimate *estimate)
{
    return rm_estimate_is_vague(estimate) ? RM_NAN : estimate->value;
}

static void add_scope(struct rm_mlflow_plan *plan, const resmon_run_scope *scope, const char *path,
                      const struct value_names *names)
{
    double values[SCOPE_VALUES + RM_SCOPE_COUNTERS] = {
        scope->wall_ns / 1e9,
        (double)scope->calls,
        value_of(&scope->pcpu_ns) / 1e9,
        value_of(&scope->cpu_ns) / 1e9,
        scope->rss_peak_bytes / MEGA,
        value_of(&scope->io_read_bytes) / MEGA,
        value_of(&scope->io_write_bytes) / MEGA,
        scope->energy_j,
    };
    size_t count = SCOPE_VALUES;
    for (size_t i = 0; i < plan->run->counter_count && scope->counter_calls > 0; i++) {
        values[count++] = value_of(&scope->counters[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i]) && names->names[i][0] != '\0') {
            add_own_point(plan, text_of(plan, "resmon/scope/%s/%s", path, names->names[i]),
                          values[i]);
        }
    }
}

struct ranked_scope {
    double wall_ns;
    size_t index;
};

static int by_index(const void *a, const void *b)
{
    size_t first = ((const struct ranked_scope *)a)->index;
    size_t second = ((const struct ranked_scope *)b)->index;
    return first < second ? -1 : first > second ? 1 : 0;
}

static int longest_first(const void *a, const void *b)
{
    double first = ((const struct ranked_scope *)a)->wall_ns;
    double second = ((const struct ranked_scope *)b)->wall_ns;
    return first < second ? 1 : first > second ? -1 : by_index(a, b);
}

/* If there are too many scopes, the longest ones are taken, in the order of the run. */
static void add_scopes(struct rm_mlflow_plan *plan)
{
    const struct resmon_run *run = plan->run;
    size_t count = run->scope_count < MOST_SCOPES ? run->scope_count : MOST_SCOPES;
    struct value_names names;
    const char *taken[MOST_SCOPES];
    struct ranked_scope *ranked = take_memory(plan, run->scope_count, sizeof *ranked);
    char(*paths)[RM_MLFLOW_LONGEST_KEY] = take_memory(plan, count, sizeof *paths);
    if (ranked == NULL || paths == NULL) {
        return;
    }
    for (size_t i = 0; i < run->scope_count; i++) {
        double wall_ns = run->scopes[i].wall_ns;
        /* NaN cannot be sorted */
        ranked[i] = (struct ranked_scope){wall_ns > 0.0 ? wall_ns : 0.0, i};
    }
    qsort(ranked, run->scope_count, sizeof *ranked, longest_first);
    qsort(ranked, count, sizeof *ranked, by_index);
    name_values(run, &names);
    for (size_t i = 0; i < count; i++) {
        scope_path(plan, ranked[i].index, paths[i]);
        make_unique(paths[i], sizeof paths[i], taken, i);
        taken[i] = paths[i];
        add_scope(plan, &run->scopes[ranked[i].index], paths[i], &names);
    }
    plan->scopes_left_out = run->scope_count - count;
}

/* ---- plan ----------------------------------------------------------------------------------- */

struct rm_mlflow_place rm_mlflow_place_of(const struct rm_mlflow_config *config,
                                          const struct resmon_run *run)
{
    struct rm_mlflow_place place = {.node_index = config->node_index,
                                    .is_first = true,
                                    .is_reporter = rm_run_reports_host(run)};
    double index = rm_run_fact_number(run, "job", "node_index");
    double rank = rm_run_fact_number(run, "job", "rank");
    const char *job = rm_run_fact_text(run, "job", "key");
    if (place.node_index < 0) {
        place.node_index = index >= 0.0 && index < 1e9 ? (int64_t)index : 0;
    }
    (void)rm_text_set(place.node_name, sizeof place.node_name, rm_run_node_name(run));
    if (job[0] != '\0') {
        rm_mlflow_clean_name(place.job, sizeof place.job, job);
    }
    if (config->node_index < 0 && !(index >= 0.0) && rank >= 0.0) {
        place.node_index = (int64_t)fmin(rank, 1e9); /* the steps of nodes must differ */
    }
    bool is_shared = place.job[0] != '\0' || config->run_id[0] != '\0';
    if (is_shared && rank >= 0.0) {
        place.is_first = rank == 0.0;
    } else if (place.job[0] != '\0') {
        place.is_first = place.node_index == 0 && place.is_reporter;
    }
    return place;
}

void rm_mlflow_artifact_path(const struct rm_mlflow_config *config, int64_t node_index,
                             char path[RM_MLFLOW_ARTIFACT_BYTES])
{
    if (node_index == 0) {
        (void)snprintf(path, RM_MLFLOW_ARTIFACT_BYTES, "resmon/%srun.json", config->monitor);
    } else {
        (void)snprintf(path, RM_MLFLOW_ARTIFACT_BYTES, "resmon/%snode_%" PRId64 ".json",
                       config->monitor, node_index);
    }
}

/* Upper bound of the number of points: values of nodes, the wall time, rows of the table of
 * views, columns without a row there, energy, and scopes. */
static size_t most_points(const struct resmon_run *run)
{
    struct rm_view_row row;
    size_t count = RM_NODE_SUMMARY_KEYS * (1 + nodes_of(run)) + 1 + run->column_count +
                   ENERGY_POINTS + MOST_SCOPES * (SCOPE_VALUES + RM_SCOPE_COUNTERS);
    for (size_t at = 0; rm_view_next(RM_VIEW_MLFLOW, "run", &at, &row);) {
        count++;
    }
    return count;
}

static void add_all(struct rm_mlflow_plan *plan)
{
    char node[128];
    const char *series_of = NULL; /* metrics of the table of views come first */
    const struct rm_mlflow_config *config = plan->config;
    plan->points = take_memory(plan, most_points(plan->run), sizeof *plan->points);
    if (plan->points == NULL) {
        return;
    }
    if (config->node_id[0] != '\0') {
        rm_mlflow_clean_name(node, sizeof node, config->node_id);
    } else {
        (void)snprintf(node, sizeof node, "node_%" PRId64, plan->place.node_index);
    }
    if ((config->flags & RESMON_MLFLOW_SERIES) != 0 && plan->run->node_count > 0) {
        add_merged_series(plan);
    } else if ((config->flags & RESMON_MLFLOW_SERIES) != 0) {
        add_node_series(plan, node);
        series_of = node;
    }
    add_node_points(plan);
    add_run_points(plan);
    add_others(plan, series_of);
    add_energy_points(plan);
    add_scopes(plan);
}

resmon_status rm_mlflow_plan_init(struct rm_mlflow_plan *plan,
                                  const struct rm_mlflow_config *config,
                                  const struct resmon_run *run, int64_t after_ns)
{
    memset(plan, 0, sizeof *plan); /* no compound literal, which would be a large copy on the
                                      stack */
    plan->config = config;
    plan->run = run;
    plan->last_stage = RM_MLFLOW_STAGE_END - 1;
    plan->place = rm_mlflow_place_of(config, run);
    rm_mlflow_artifact_path(config, plan->place.node_index, plan->artifact);
    (void)snprintf(plan->page_path, sizeof plan->page_path, "resmon/%sreport.html",
                   config->monitor);
    plan->row_end = run->row_count;
    while (plan->first_row < run->row_count && run->t_last[plan->first_row] <= after_ns) {
        plan->first_row++;
    }
    add_all(plan);
    if (plan->status != RESMON_OK) {
        rm_mlflow_plan_free(plan);
    }
    return plan->status;
}

void rm_mlflow_plan_free(struct rm_mlflow_plan *plan)
{
    rm_arena_free(&plan->arena);
}

/* ---- points that MLflow already has -------------------------------------------------------- */

int64_t rm_mlflow_end_ms(const struct resmon_run *run)
{
    return rm_run_realtime_ns(run, run->info.duration_ns) / RM_NS_PER_MS;
}

void rm_mlflow_point_key(const struct rm_mlflow_plan *plan, const struct rm_mlflow_point *point,
                         char key[RM_MLFLOW_LONGEST_KEY + 1])
{
    bool is_of_model = (plan->config->flags & RESMON_MLFLOW_MODEL_METRICS) != 0;
    (void)snprintf(key, RM_MLFLOW_LONGEST_KEY + 1, "%s%s%s", is_of_model ? "" : RM_MLFLOW_SYSTEM,
                   plan->config->monitor, point->key);
}

void rm_mlflow_plan_skip_summary(struct rm_mlflow_plan *plan)
{
    for (size_t i = 0; i < plan->point_count; i++) {
        plan->points[i].is_known = true;
    }
}

/* Steps and times of a series rise.  So MLflow has all points up to the last one that it
 * reports. */
static void skip_series(struct rm_mlflow_plan *plan, const char *key, double step, double time_ms)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < plan->series_count; i++) {
        struct rm_mlflow_series *series = &plan->series[i];
        const char *own = series->head + strlen(RM_MLFLOW_POINT_HEAD);
        if (strncmp(own, key, length) == 0 && own[length] == '"') {
            series->known_step = step;
            series->known_ms = time_ms;
        }
    }
}

const struct rm_mlflow_point *rm_mlflow_plan_skip(struct rm_mlflow_plan *plan,
                                                  const struct rm_json *known)
{
    const struct rm_mlflow_point *behind = NULL;
    bool is_merged = plan->run->node_count > 0;
    for (const struct rm_json *at = rm_json_first(known); at != NULL; at = rm_json_next(at)) {
        const char *key = rm_json_text(rm_json_get(at, "key"));
        double step = rm_json_number(rm_json_get(at, "step"));
        double time_ms = rm_json_number(rm_json_get(at, "timestamp"));
        if (key == NULL) {
            continue;
        }
        skip_series(plan, key, step, time_ms);
        for (size_t i = 0; i < plan->point_count; i++) {
            char own[RM_MLFLOW_LONGEST_KEY + 1];
            struct rm_mlflow_point *point = &plan->points[i];
            rm_mlflow_point_key(plan, point, own);
            if (strcmp(own, key) != 0) {
                continue;
            }
            /* In a merged run, steps are nodes, which are sent in order; MLflow reports the last
             * one. */
            bool is_there = is_merged ? (double)point->step <= step : (double)point->step == step;
            bool is_of_run = (double)rm_mlflow_end_ms(plan->run) == time_ms;
            point->is_known = point->is_known || (is_there && is_of_run);
            behind = i + 1 == plan->point_count && step > (double)point->step ? point : behind;
        }
    }
    return behind;
}

/* SPDX-License-Identifier: MIT */
#include "format/prometheus.h"

#include <stdbool.h>
#include <string.h>

#include <resmon/metric.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "format/prometheus_writer.h"

#define LABEL_TEXT_BYTES ((size_t)128 << 10) /* more than the longest path of scopes, escaped */

/* ---- names of metrics ---------------------------------------------------------------------- */

struct unit {
    const char *symbol;
    const char *word;   /* at the end of the name */
    const char *spoken; /* what the dotted name may call it; goes */
    double divisor;
};

static const struct unit units[] = {
    {"1", "", "", 1.0},
    {"B", "bytes", "bytes", 1.0},
    {"s", "seconds", "seconds", 1.0},
    {"%", "ratio", "percent", 100.0},
    {"J", "joules", "joules", 1.0},
    {"W", "watts", "watts", 1.0},
    {"Hz", "hertz", "hertz", 1.0},
    {"C", "celsius", "celsius", 1.0},
    {"g", "grams", "grams", 1.0},
};

static const struct unit *unit_of(const char *symbol)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(units); i++) {
        if (strcmp(units[i].symbol, symbol) == 0) {
            return &units[i];
        }
    }
    return &units[0];
}

static bool is_word(const char *at, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(at, word, length) == 0;
}

/* Appends '_' and a word of the dotted name. */
static void add_word(struct rm_family *family, const char *word, size_t length)
{
    size_t used = strlen(family->name);
    used += rm_text_set(family->name + used, sizeof family->name - used, "_");
    (void)rm_text_copy(family->name + used, sizeof family->name - used, word, length);
}

void rm_family_of(const struct rm_metric *metric, struct rm_family *ret_family)
{
    const struct unit *unit = unit_of(rm_metric_unit(metric));
    *ret_family =
        (struct rm_family){.name = "resmon", .unit = unit->word, .divisor = unit->divisor};
    for (const char *at = rm_metric_name(metric); *at != '\0';) {
        size_t length = strcspn(at, "._");
        bool is_unit = is_word(at, length, unit->spoken) || is_word(at, length, unit->word);
        if (length > 0 && !is_unit) {
            add_word(ret_family, at, length);
        }
        at += length + (at[length] != '\0' ? 1 : 0);
    }
    if (unit->word[0] != '\0') {
        add_word(ret_family, unit->word, strlen(unit->word));
    }
}

/* The label for the instance of a column. */
static const char *instance_label(const struct rm_metric *metric)
{
    static const struct {
        const char *prefix;
        const char *label;
    } labels[] = {{"node.fs.", "mountpoint"}};
    for (size_t i = 0; i < RM_ARRAY_LEN(labels); i++) {
        if (strncmp(rm_metric_name(metric), labels[i].prefix, strlen(labels[i].prefix)) == 0) {
            return labels[i].label;
        }
    }
    return "device";
}

/* ---- labels ----------------------------------------------------------------------------- */

static const struct {
    const char *label;
    const char *group, *key; /* the fact; NULL: the name of the node */
    uint64_t unwanted;       /* flag */
} fact_labels[] = {
    {"node", NULL, NULL, RESMON_PROMETHEUS_NO_NODE},
    {"job_id", "job", "id", RESMON_PROMETHEUS_NO_JOB},
    {"rank", "job", "rank", RESMON_PROMETHEUS_NO_JOB},
    {"pid", "run", "pid", RESMON_PROMETHEUS_NO_PID},
};

static const char *fact_of(const struct resmon_run *run, size_t index)
{
    const char *value = rm_run_node_name(run);
    if (fact_labels[index].group != NULL) {
        value = rm_run_fact_text(run, fact_labels[index].group, fact_labels[index].key);
    }
    return value[0] != '\0' ? value : NULL;
}

const char *rm_prometheus_fact(const struct resmon_run *run, const char *label)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(fact_labels); i++) {
        if (strcmp(fact_labels[i].label, label) == 0) {
            return fact_of(run, i);
        }
    }
    return NULL;
}

static void set_common(struct rm_buffer *common, const struct resmon_run *run,
                       const struct rm_prometheus *how)
{
    static const struct rm_labels none;
    const struct rm_labels *labels = how->labels != NULL ? how->labels : &none;
    for (size_t i = 0; i < RM_ARRAY_LEN(fact_labels); i++) {
        const char *value = fact_of(run, i);
        if (value != NULL && (how->flags & fact_labels[i].unwanted) == 0 &&
            rm_labels_find(labels, fact_labels[i].label) == NULL) {
            rm_label_add(common, fact_labels[i].label, value);
        }
    }
    for (size_t i = 0; i < labels->count; i++) {
        rm_label_add(common, labels->items[i].name, labels->items[i].value);
    }
}

struct rm_buffer *rm_prometheus_clear(struct rm_prometheus_writer *writer)
{
    writer->own.length = 0;
    if (writer->own.text != NULL) {
        writer->own.text[0] = '\0';
    }
    return &writer->own;
}

void rm_prometheus_put(struct rm_prometheus_writer *writer, double value)
{
    if (writer->own.status == RESMON_OK) {
        rm_exposition_sample(&writer->exposition, writer->own.text != NULL ? writer->own.text : "",
                             value);
    }
}

/* ---- columns ---------------------------------------------------------------------------- */

/* Of two columns that look the same (in a document that somebody made) only the first counts. */
static bool is_repeated(const struct resmon_run *run, size_t index)
{
    const resmon_column *column = &run->columns[index];
    for (size_t i = 0; i < index; i++) {
        if (strcmp(run->columns[i].metric, column->metric) == 0 &&
            strcmp(run->columns[i].instance, column->instance) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_readable(const struct resmon_run *run, const char *source)
{
    for (size_t i = 0; i < run->source_count; i++) {
        if (strcmp(run->sources[i].name, source) == 0) {
            return run->sources[i].status == RESMON_OK;
        }
    }
    return true;
}

static void put_column(struct rm_prometheus_writer *writer, const struct rm_metric *metric,
                       size_t index, double divisor)
{
    const resmon_column *column = &writer->run->columns[index];
    bool is_counter = (metric->kind & RM_KIND_MASK) == RESMON_COUNTER;
    struct rm_buffer *own = rm_prometheus_clear(writer);
    if (strlen(column->instance) >= RM_LABEL_VALUE_BYTES || is_repeated(writer->run, index)) {
        return;
    }
    if (column->instance[0] != '\0') {
        rm_label_add(own, instance_label(metric), column->instance);
    }
    if (is_counter || is_readable(writer->run, column->source)) {
        rm_prometheus_put(writer, column->last / divisor);
    }
}

/* What the table says of a metric counts, not what a document says of a column. */
static void put_metric(struct rm_prometheus_writer *writer, const struct rm_metric *metric)
{
    struct rm_family family;
    rm_family_of(metric, &family);
    const struct rm_exposed_family exposed = {
        .name = family.name,
        .help = rm_metric_help(metric),
        .note = strcmp(rm_metric_unit(metric), "%") == 0 ? "; a ratio here: 1 is 100 %" : NULL,
        .kind =
            (metric->kind & RM_KIND_MASK) == RESMON_COUNTER ? RM_FAMILY_COUNTER : RM_FAMILY_GAUGE,
    };
    rm_exposition_family(&writer->exposition, &exposed);
    for (size_t i = 0; i < writer->run->column_count; i++) {
        if (strcmp(writer->run->columns[i].metric, rm_metric_name(metric)) == 0) {
            put_column(writer, metric, i, family.divisor);
        }
    }
}

/* Figures of the host come from one of its processes only: sums over processes stay right. */
static void put_metrics(struct rm_prometheus_writer *writer)
{
    const struct rm_metric *metric;
    bool has_host = rm_run_reports_host(writer->run);
    for (size_t i = 0; (metric = rm_metric_row(i)) != NULL; i++) {
        bool is_of_host =
            metric->level == RESMON_LEVEL_NODE || metric->level == RESMON_LEVEL_DEVICE;
        if (has_host || !is_of_host) {
            put_metric(writer, metric);
        }
    }
}

/* ---- putting it together ---------------------------------------------------------------- */

resmon_status rm_prometheus_write(const struct resmon_run *run, const struct rm_prometheus *how,
                                  struct rm_output output)
{
    struct rm_prometheus_writer writer = {.run = run,
                                          .is_running = strcmp(run->info.state, "running") == 0};
    rm_buffer_init(&writer.common, LABEL_TEXT_BYTES);
    rm_buffer_init(&writer.own, LABEL_TEXT_BYTES);
    set_common(&writer.common, run, how);
    resmon_status status = writer.common.status;
    if (status == RESMON_OK) {
        rm_exposition_begin(&writer.exposition,
                            writer.common.text != NULL ? writer.common.text : "", &output);
        put_metrics(&writer);
        rm_prometheus_put_scopes(&writer);
        rm_prometheus_put_run(&writer);
        status = rm_exposition_end(&writer.exposition);
    }
    status = status == RESMON_OK ? writer.own.status : status;
    rm_buffer_free(&writer.common);
    rm_buffer_free(&writer.own);
    return status;
}

resmon_status rm_prometheus_print(const struct resmon_run *run, const struct rm_prometheus *how,
                                  struct rm_buffer *buffer)
{
    return rm_prometheus_write(run, how, rm_buffer_output(buffer));
}

/* SPDX-License-Identifier: MIT */
#include "format/prometheus.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <resmon/metric.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"

#define LABEL_TEXT_BYTES ((size_t)128 << 10) /* above the longest path of scopes, escaped */

/* The state that all parts share while they write a run. */
struct writer {
    const struct resmon_run *run;
    bool is_running;
    struct rm_buffer common; /* labels of every sample */
    struct rm_buffer own;    /* labels of the current sample */
    struct rm_exposition exposition;
};

/* ---- names of metrics ---------------------------------------------------------------------- */

struct unit {
    const char *symbol;
    const char *word;   /* at the end of the name */
    const char *spoken; /* the same unit in the dotted name; removed from there */
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
    static const char of_file_systems[] = "node.fs.";
    bool is_mounted =
        strncmp(rm_metric_name(metric), of_file_systems, sizeof of_file_systems - 1) == 0;
    return is_mounted ? "mountpoint" : "device";
}

/* ---- labels ----------------------------------------------------------------------------- */

static const struct {
    const char *label;
    const char *group, *key; /* key of the fact; NULL: the label is the name of the node */
    uint64_t unwanted;       /* the flag that omits this label */
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

/* Whether a name is one of the library, or of a label that comes before. */
static bool is_taken(const struct rm_labels *labels, const char *name)
{
    bool is_own = rm_label_is_reserved(name) || rm_labels_find(labels, name) != NULL;
    for (size_t i = 0; i < RM_ARRAY_LEN(fact_labels); i++) {
        is_own = is_own || strcmp(fact_labels[i].label, name) == 0;
    }
    return is_own;
}

/* "team.name" as "team_name"; "label_node" for "node".  False: both are taken. */
static bool name_label(const struct rm_labels *labels, const char *key, char *name, size_t room)
{
    static const char *const fronts[] = {"", "label_"};
    bool is_good = false;
    for (size_t i = 0; i < RM_ARRAY_LEN(fronts) && !is_good; i++) {
        (void)snprintf(name, room, "%s%s", fronts[i], key);
        for (char *at = name; *at != '\0'; at++) {
            *at = *at == '.' ? '_' : *at;
        }
        is_good = rm_label_is_name(name) && !is_taken(labels, name);
    }
    return is_good;
}

/* The labels of the run; the first of two keys that become one name counts. */
static RM_COLD void add_run_labels(struct rm_buffer *common, const struct resmon_run *run,
                                   const struct rm_labels *labels)
{
    char names[RM_MAX_LABELS][RM_LABEL_NAME_BYTES];
    size_t count = 0;
    for (size_t i = 0; i < run->fact_count && count < RM_MAX_LABELS; i++) {
        const struct rm_fact *fact = &run->facts[i];
        if (strcmp(fact->group, RM_FACT_LABELS) != 0 ||
            !name_label(labels, fact->key, names[count], sizeof names[count])) {
            continue;
        }
        size_t same = 0;
        while (strcmp(names[same], names[count]) != 0) {
            same++;
        }
        if (same == count) {
            rm_label_add(common, names[count++], fact->value);
        }
    }
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
    add_run_labels(common, run, labels);
}

/* Clears the labels for a new sample. A failure of earlier labels is kept. */
static struct rm_buffer *clear_labels(struct writer *writer)
{
    writer->own.length = 0;
    if (writer->own.text != NULL) {
        writer->own.text[0] = '\0';
    }
    return &writer->own;
}

/* Writes a sample with the current labels. */
static void put_sample(struct writer *writer, double value)
{
    if (writer->own.status == RESMON_OK) {
        rm_exposition_sample(&writer->exposition, writer->own.text != NULL ? writer->own.text : "",
                             value);
    }
}

/* ---- columns ---------------------------------------------------------------------------- */

/* If two columns have the same metric and instance (in a document of another program), only the
 * first counts. */
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

static void put_column(struct writer *writer, const struct rm_metric *metric, size_t index,
                       double divisor)
{
    const resmon_column *column = &writer->run->columns[index];
    bool is_counter = (metric->kind & RM_KIND_MASK) == RESMON_COUNTER;
    struct rm_buffer *own = clear_labels(writer);
    if (strlen(column->instance) >= RM_LABEL_VALUE_BYTES || is_repeated(writer->run, index)) {
        return;
    }
    if (column->instance[0] != '\0') {
        rm_label_add(own, instance_label(metric), column->instance);
    }
    if (is_counter || is_readable(writer->run, column->source)) {
        put_sample(writer, column->last / divisor);
    }
}

/* The description of a metric is from the table, not from a document's column. */
static void put_metric(struct writer *writer, const struct rm_metric *metric)
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

/* One process alone reports the metrics of the host, so that sums over processes are right. */
static void put_metrics(struct writer *writer)
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

/* ---- scopes ---------------------------------------------------------------------------------- */

/* Adds a name as a part of a path, with '/' and '\' in the name escaped to distinguish them from
 * the separators. */
static void add_scope_name(struct rm_buffer *buffer, const char *name)
{
    char clean[RM_LABEL_VALUE_BYTES];
    rm_label_value_set(clean, name);
    for (const char *p = clean; *p != '\0'; p++) {
        char escaped[2];
        if (*p == '/' || *p == '\\') {
            rm_buffer_add(buffer, "\\\\", 2);
        }
        rm_buffer_add(buffer, escaped, rm_label_escape(escaped, *p, RM_LABEL_SPECIAL));
    }
}

static void set_scope(struct writer *writer, size_t index)
{
    const resmon_run_scope *scopes = writer->run->scopes;
    size_t path[RM_MAX_DEPTH + 1];
    size_t depth = 0;
    for (int64_t at = (int64_t)index; at >= 0 && depth < RM_ARRAY_LEN(path);) {
        int64_t parent = scopes[at].parent;
        path[depth++] = (size_t)at;
        at = parent < at ? parent : -1;
    }
    struct rm_buffer *own = clear_labels(writer);
    rm_buffer_puts(own, "scope=\"");
    while (depth > 0) {
        add_scope_name(own, scopes[path[--depth]].name);
        rm_buffer_puts(own, depth > 0 ? "/" : "\"");
    }
}

static const struct rm_exposed_family scope_families[] = {
    {"resmon_scope_calls", "finished instances of the scope", RM_FAMILY_COUNTER, NULL},
    {"resmon_scope_open", "instances of the scope that have not ended", RM_FAMILY_GAUGE, NULL},
    {"resmon_scope_wall_seconds", "wall time of finished instances, over all threads",
     RM_FAMILY_COUNTER, NULL},
    {"resmon_scope_cpu_seconds", "CPU time of the process and its descendants in the scope",
     RM_FAMILY_COUNTER, NULL},
    {"resmon_scope_thread_cpu_seconds", "CPU time of the threads in the scope", RM_FAMILY_COUNTER,
     NULL},
    {"resmon_scope_rss_peak_bytes", "highest RSS of the process in the scope", RM_FAMILY_GAUGE,
     NULL},
    {"resmon_scope_io_read_bytes", "read from storage by the process in the scope",
     RM_FAMILY_COUNTER, NULL},
    {"resmon_scope_io_write_bytes", "written to storage by the process in the scope",
     RM_FAMILY_COUNTER, NULL},
    {"resmon_scope_io_read_chars_bytes", "returned by read calls in the scope", RM_FAMILY_COUNTER,
     NULL},
    {"resmon_scope_io_write_chars_bytes", "passed to write calls in the scope", RM_FAMILY_COUNTER,
     NULL},
    {"resmon_scope_energy_joules", "energy of the process tree in the scope", RM_FAMILY_COUNTER,
     NULL},
};

#define SCOPE_FAMILIES RM_ARRAY_LEN(scope_families)

static bool is_measured(int32_t provenance)
{
    return provenance == RESMON_PROVENANCE_MEASURED;
}

/* The values of a scope in the order of scope_families; NaN: not known, or an estimate that could
 * go down while the program runs. */
static void set_values(const struct writer *writer, const resmon_run_scope *scope,
                       double values[SCOPE_FAMILIES])
{
    const bool is_over = !writer->is_running;
    bool has_pcpu = scope->pcpu_calls > 0 &&
                    (is_over || scope->pcpu_calls >= rm_scope_ended(scope)); /* by any method */
    bool has_cpu = scope->cpu_calls > 0 && (is_over || is_measured(scope->cpu_provenance));
    bool has_io = is_over || is_measured(scope->io_provenance);
    const double list[SCOPE_FAMILIES] = {
        (double)scope->calls,
        (double)scope->open,
        scope->wall_ns / 1e9,
        has_pcpu ? scope->pcpu_ns.value / 1e9 : RM_NAN,
        has_cpu ? scope->cpu_ns.value / 1e9 : RM_NAN,
        scope->rss_calls > 0 ? scope->rss_peak_bytes : RM_NAN,
        has_io ? scope->io_read_bytes.value : RM_NAN,
        has_io ? scope->io_write_bytes.value : RM_NAN,
        has_io ? scope->io_read_chars.value : RM_NAN,
        has_io ? scope->io_write_chars.value : RM_NAN,
        scope->energy_j,
    };
    memcpy(values, list, sizeof list);
}

/* Hashes of the paths in the order of the run; 0 for a repeated path. */
static void hash_scopes(struct writer *writer, uint64_t *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        set_scope(writer, i);
        uint64_t hash = writer->own.status == RESMON_OK
                            ? rm_hash_bytes(RM_HASH_START, writer->own.text, writer->own.length)
                            : 0;
        hashes[i] = hash;
        for (size_t k = 0; k < i && hashes[i] != 0; k++) {
            hashes[i] = hashes[k] == hash ? 0 : hash;
        }
    }
}

static void put_scope_values(struct writer *writer, const uint64_t *hashes, size_t count)
{
    for (size_t f = 0; f < SCOPE_FAMILIES; f++) {
        rm_exposition_family(&writer->exposition, &scope_families[f]);
        for (size_t i = 0; i < count; i++) {
            double values[SCOPE_FAMILIES];
            set_values(writer, &writer->run->scopes[i], values);
            if (hashes[i] != 0 && !isnan(values[f])) {
                set_scope(writer, i);
                put_sample(writer, values[f]);
            }
        }
    }
}

/* ---- performance counters --------------------------------------------------------------- */

static const struct {
    struct rm_exposed_family family;
    const char *unit; /* unit of the counters of this family */
} counter_families[] = {
    {{"resmon_scope_events", "what a performance counter counted in the scope", RM_FAMILY_COUNTER,
      NULL},
     "1"},
    {{"resmon_scope_event_seconds", "time that a performance counter counted in the scope",
      RM_FAMILY_COUNTER, NULL},
     "s"},
};

/* Whether an earlier counter has the same label: then only the earlier counter is written. */
static bool is_scope_repeated(const struct resmon_run *run, size_t counter)
{
    char name[RM_LABEL_VALUE_BYTES], other[RM_LABEL_VALUE_BYTES];
    rm_label_value_set(name, run->counters[counter].name);
    for (size_t i = 0; i < counter; i++) {
        rm_label_value_set(other, run->counters[i].name);
        if (strcmp(name, other) == 0) {
            return true;
        }
    }
    return false;
}

static void put_counter(struct writer *writer, size_t counter, const uint64_t *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const resmon_run_scope *scope = &writer->run->scopes[i];
        bool is_sure = !writer->is_running || is_measured(scope->counter_provenance);
        if (hashes[i] != 0 && scope->counter_calls > 0 && is_sure) {
            set_scope(writer, i);
            rm_label_add(&writer->own, "event", writer->run->counters[counter].name);
            put_sample(writer, scope->counters[counter].value);
        }
    }
}

static void put_counters(struct writer *writer, const uint64_t *hashes, size_t count)
{
    const struct resmon_run *run = writer->run;
    for (size_t f = 0; f < RM_ARRAY_LEN(counter_families); f++) {
        rm_exposition_family(&writer->exposition, &counter_families[f].family);
        for (size_t i = 0; i < run->counter_count; i++) {
            if (run->counters[i].status == RESMON_OK && !is_scope_repeated(run, i) &&
                strcmp(run->counters[i].unit, counter_families[f].unit) == 0) {
                put_counter(writer, i, hashes, count);
            }
        }
    }
}

static void put_scopes(struct writer *writer)
{
    static const struct rm_exposed_family omitted = {
        "resmon_scope_paths_omitted", "paths of scopes beyond those that are shown here",
        RM_FAMILY_GAUGE, NULL};
    size_t count = writer->run->scope_count;
    size_t shown = count < RM_PROMETHEUS_MOST_SCOPES ? count : RM_PROMETHEUS_MOST_SCOPES;
    if (shown > 0) {
        uint64_t *hashes = rm_alloc(shown, sizeof *hashes);
        if (hashes == NULL) {
            writer->own.status = rm_error(RESMON_ENOMEM, "out of memory for %zu scopes", shown);
            return;
        }
        hash_scopes(writer, hashes, shown);
        put_scope_values(writer, hashes, shown);
        put_counters(writer, hashes, shown);
        rm_free(hashes);
    }
    (void)clear_labels(writer);
    rm_exposition_family(&writer->exposition, &omitted);
    put_sample(writer, (double)(count - shown));
}

/* ---- the run, its bounds and its sources ----------------------------------------------------- */

static void put_values(struct writer *writer)
{
    static const struct rm_exposed_family build = {
        "resmon_build", "version of libresmon that recorded the run", RM_FAMILY_INFO, NULL};
    const resmon_run_info *info = &writer->run->info;
    const struct {
        struct rm_exposed_family family;
        double value;
    } rows[] = {
        {{"resmon_run_duration_seconds", "from the start of the run to its last sample",
          RM_FAMILY_GAUGE, NULL},
         (double)info->duration_ns / 1e9},
        {{"resmon_run_start_time_seconds", "start of the run, since 1970", RM_FAMILY_GAUGE, NULL},
         (double)info->start_realtime_ns / 1e9},
        {{"resmon_samples", "samples taken", RM_FAMILY_COUNTER, NULL}, (double)info->samples},
        {{"resmon_late_samples", "deadlines that had passed when the sampler woke",
          RM_FAMILY_COUNTER, NULL},
         (double)info->late_samples},
        {{"resmon_sampler_cpu_seconds", "CPU time of the sampling thread", RM_FAMILY_COUNTER, NULL},
         (double)info->sampler_cpu_ns / 1e9},
        {{"resmon_sampler_wall_seconds", "time spent taking samples", RM_FAMILY_COUNTER, NULL},
         (double)info->sampler_wall_ns / 1e9},
        {{"resmon_scopes_overhead_seconds", "estimated time that scopes added to the program",
          RM_FAMILY_GAUGE, NULL},
         info->scopes_ns / 1e9},
        {{"resmon_memory_bytes", "memory that the run is kept in", RM_FAMILY_GAUGE, NULL},
         (double)info->memory_bytes},
    };
    (void)clear_labels(writer);
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        rm_exposition_family(&writer->exposition, &rows[i].family);
        put_sample(writer, rows[i].value);
    }
    const struct rm_fact *version = rm_run_fact(writer->run, "run", "library");
    if (version != NULL) {
        rm_label_add(clear_labels(writer), "version", version->value);
        rm_exposition_family(&writer->exposition, &build);
        put_sample(writer, 1.0);
    }
}

static void put_dropped(struct writer *writer)
{
    static const struct rm_exposed_family family = {
        "resmon_dropped", "what did not fit into a bound of the recording", RM_FAMILY_COUNTER,
        NULL};
    const resmon_run_info *info = &writer->run->info;
    const struct {
        const char *what;
        uint64_t count;
    } counts[] = {
        {"rows", info->dropped_rows},       {"tags", info->dropped_tags},
        {"threads", info->dropped_threads}, {"scopes", rm_run_scopes_past_bounds(info)},
        {"paths", info->dropped_paths},     {"lines", info->dropped_lines},
        {"forks", info->dropped_forks},
    };
    rm_exposition_family(&writer->exposition, &family);
    for (size_t i = 0; i < RM_ARRAY_LEN(counts); i++) {
        rm_label_add(clear_labels(writer), "what", counts[i].what);
        put_sample(writer, (double)counts[i].count);
    }
}

static bool is_first_source(const struct resmon_run *run, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(run->sources[i].name, run->sources[index].name) == 0) {
            return false;
        }
    }
    return strlen(run->sources[index].name) < RM_LABEL_VALUE_BYTES;
}

static void put_sources(struct writer *writer)
{
    static const struct rm_exposed_family families[] = {
        {"resmon_source_up", "whether the source of numbers can be read", RM_FAMILY_GAUGE, NULL},
        {"resmon_source_failures", "readings of the source that failed", RM_FAMILY_COUNTER, NULL},
    };
    for (size_t f = 0; f < RM_ARRAY_LEN(families); f++) {
        rm_exposition_family(&writer->exposition, &families[f]);
        for (size_t i = 0; i < writer->run->source_count; i++) {
            const resmon_run_source *source = &writer->run->sources[i];
            const double values[] = {source->status == RESMON_OK ? 1.0 : 0.0,
                                     (double)source->failures};
            if (is_first_source(writer->run, i)) {
                rm_label_add(clear_labels(writer), "source", source->name);
                put_sample(writer, values[f]);
            }
        }
    }
}

/* ---- putting it together ---------------------------------------------------------------- */

resmon_status rm_prometheus_write(const struct resmon_run *run, const struct rm_prometheus *how,
                                  struct rm_output output)
{
    struct writer writer = {.run = run, .is_running = strcmp(run->info.state, "running") == 0};
    rm_buffer_init(&writer.common, LABEL_TEXT_BYTES);
    rm_buffer_init(&writer.own, LABEL_TEXT_BYTES);
    set_common(&writer.common, run, how);
    resmon_status status = writer.common.status;
    if (status == RESMON_OK) {
        rm_exposition_begin(&writer.exposition,
                            writer.common.text != NULL ? writer.common.text : "", &output);
        put_metrics(&writer);
        put_scopes(&writer);
        put_values(&writer);
        put_dropped(&writer);
        put_sources(&writer);
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

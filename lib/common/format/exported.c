/* SPDX-License-Identifier: MIT */
#include "format/exported.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/map.h"
#include "base/status.h"
#include "metric/metric.h"

#define PATH_BYTES ((size_t)128 << 10) /* above the longest path of scopes, escaped */

/* The state that all parts share while they pass the values of a run. */
struct exporting {
    const struct resmon_run *run;
    const struct rm_exporter *to;
    bool is_running;
    struct rm_buffer path; /* of the current scope */
};

static void pass_family(const struct exporting *exporting, const struct rm_exported_family *family)
{
    exporting->to->family(exporting->to->context, family);
}

/* Passes a value with the label `name`; NULL: without a label. */
static void pass(const struct exporting *exporting, const char *name, const char *text,
                 double value)
{
    const struct rm_exported_label label = {name, text};
    exporting->to->value(exporting->to->context, &label, name != NULL ? 1 : 0, value);
}

/* ---- columns ---------------------------------------------------------------------------- */

/* The label for the instance of a column. */
static const char *instance_label(const struct rm_metric *metric)
{
    static const char of_file_systems[] = "node.fs.";
    bool is_mounted =
        strncmp(rm_metric_name(metric), of_file_systems, sizeof of_file_systems - 1) == 0;
    return is_mounted ? "mountpoint" : "device";
}

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

static void pass_column(const struct exporting *exporting, const struct rm_metric *metric,
                        size_t index)
{
    const resmon_column *column = &exporting->run->columns[index];
    bool is_counter = (metric->kind & RM_KIND_MASK) == RESMON_COUNTER;
    if (strlen(column->instance) < RM_LABEL_VALUE_BYTES && !is_repeated(exporting->run, index) &&
        (is_counter || is_readable(exporting->run, column->source))) {
        const char *label = column->instance[0] != '\0' ? instance_label(metric) : NULL;
        pass(exporting, label, column->instance, column->last);
    }
}

/* The description of a metric is from the table, not from a document's column. */
static void pass_metric(const struct exporting *exporting, const struct rm_metric *metric)
{
    const struct rm_exported_family family = {
        .name = rm_metric_name(metric),
        .unit = rm_metric_unit(metric),
        .help = rm_metric_help(metric),
        .kind =
            (metric->kind & RM_KIND_MASK) == RESMON_COUNTER ? RM_FAMILY_COUNTER : RM_FAMILY_GAUGE,
    };
    pass_family(exporting, &family);
    for (size_t i = 0; i < exporting->run->column_count; i++) {
        if (strcmp(exporting->run->columns[i].metric, family.name) == 0) {
            pass_column(exporting, metric, i);
        }
    }
}

/* One process alone reports the metrics of the host, so that sums over processes are right. */
static void pass_metrics(const struct exporting *exporting)
{
    const struct rm_metric *metric;
    bool has_host = rm_run_reports_host(exporting->run);
    for (size_t i = 0; (metric = rm_metric_row(i)) != NULL; i++) {
        bool is_of_host =
            metric->level == RESMON_LEVEL_NODE || metric->level == RESMON_LEVEL_DEVICE;
        if (has_host || !is_of_host) {
            pass_metric(exporting, metric);
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
        rm_buffer_add(buffer, escaped, rm_label_escape(escaped, *p, "/\\"));
    }
}

/* Returns the path of a scope; a failure is kept in the buffer. */
static const char *path_of(struct exporting *exporting, size_t index)
{
    const resmon_run_scope *scopes = exporting->run->scopes;
    size_t path[RM_MAX_DEPTH + 1];
    size_t depth = 0;
    for (int64_t at = (int64_t)index; at >= 0 && depth < RM_ARRAY_LEN(path);) {
        int64_t parent = scopes[at].parent;
        path[depth++] = (size_t)at;
        at = parent < at ? parent : -1;
    }
    exporting->path.length = 0;
    while (depth > 0) {
        add_scope_name(&exporting->path, scopes[path[--depth]].name);
        rm_buffer_puts(&exporting->path, depth > 0 ? "/" : "");
    }
    return exporting->path.text != NULL ? exporting->path.text : "";
}

static const struct rm_exported_family scope_families[] = {
    {"scope.calls", "1", "finished instances of the scope", RM_FAMILY_COUNTER},
    {"scope.open", "1", "instances of the scope that have not ended", RM_FAMILY_GAUGE},
    {"scope.wall", "s", "wall time of finished instances, over all threads", RM_FAMILY_COUNTER},
    {"scope.cpu", "s", "CPU time of the process and its descendants in the scope",
     RM_FAMILY_COUNTER},
    {"scope.thread_cpu", "s", "CPU time of the threads in the scope", RM_FAMILY_COUNTER},
    {"scope.rss_peak", "B", "highest RSS of the process in the scope", RM_FAMILY_GAUGE},
    {"scope.io_read_bytes", "B", "read from storage by the process in the scope",
     RM_FAMILY_COUNTER},
    {"scope.io_write_bytes", "B", "written to storage by the process in the scope",
     RM_FAMILY_COUNTER},
    {"scope.io_read_chars", "B", "returned by read calls in the scope", RM_FAMILY_COUNTER},
    {"scope.io_write_chars", "B", "passed to write calls in the scope", RM_FAMILY_COUNTER},
    {"scope.energy", "J", "energy of the process tree in the scope", RM_FAMILY_COUNTER},
};

#define SCOPE_FAMILIES RM_ARRAY_LEN(scope_families)

static bool is_measured(int32_t provenance)
{
    return provenance == RESMON_PROVENANCE_MEASURED;
}

/* The values of a scope in the order of scope_families; NaN: not known, or an estimate that could
 * go down while the program runs. */
static void set_values(const struct exporting *exporting, const resmon_run_scope *scope,
                       double values[SCOPE_FAMILIES])
{
    const bool is_over = !exporting->is_running;
    bool has_pcpu = scope->pcpu_calls > 0 &&
                    (is_over || scope->pcpu_calls >= rm_scope_ended(scope)); /* by any method */
    bool has_cpu = scope->cpu_calls > 0 && (is_over || is_measured(scope->cpu_provenance));
    bool has_io = is_over || is_measured(scope->io_provenance);
    const double list[SCOPE_FAMILIES] = {
        scope->calls > scope->open ? (double)(scope->calls - scope->open) : 0.0,
        (double)scope->open,
        (scope->wall_ns - scope->open_ns) / 1e9,
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
static void hash_scopes(struct exporting *exporting, uint64_t *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)path_of(exporting, i);
        uint64_t hash =
            exporting->path.status == RESMON_OK
                ? rm_hash_bytes(RM_HASH_START, exporting->path.text, exporting->path.length)
                : 0;
        hashes[i] = hash;
        for (size_t k = 0; k < i && hashes[i] != 0; k++) {
            hashes[i] = hashes[k] == hash ? 0 : hash;
        }
    }
}

static void pass_whole_scopes(struct exporting *exporting, const uint64_t *hashes, size_t count)
{
    const struct rm_exporter *to = exporting->to;
    for (size_t i = 0; i < count && to->scope != NULL; i++) {
        if (hashes[i] != 0) {
            to->scope(to->context, path_of(exporting, i), &exporting->run->scopes[i]);
        }
    }
}

static void pass_scope_values(struct exporting *exporting, const uint64_t *hashes, size_t count)
{
    for (size_t f = 0; f < SCOPE_FAMILIES; f++) {
        pass_family(exporting, &scope_families[f]);
        for (size_t i = 0; i < count; i++) {
            double values[SCOPE_FAMILIES];
            set_values(exporting, &exporting->run->scopes[i], values);
            if (hashes[i] != 0 && !isnan(values[f])) {
                pass(exporting, "scope", path_of(exporting, i), values[f]);
            }
        }
    }
}

/* ---- performance counters --------------------------------------------------------------- */

/* Whether an earlier counter has the same label: then only the earlier counter is passed. */
static bool is_counter_repeated(const struct resmon_run *run, size_t counter)
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

static void pass_counter(struct exporting *exporting, size_t counter, const uint64_t *hashes,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const resmon_run_scope *scope = &exporting->run->scopes[i];
        bool is_sure = !exporting->is_running || is_measured(scope->counter_provenance);
        if (hashes[i] != 0 && scope->counter_calls > 0 && is_sure) {
            const struct rm_exported_label labels[] = {
                {"scope", path_of(exporting, i)},
                {"event", exporting->run->counters[counter].name},
            };
            exporting->to->value(exporting->to->context, labels, RM_ARRAY_LEN(labels),
                                 scope->counters[counter].value);
        }
    }
}

static void pass_counters(struct exporting *exporting, const uint64_t *hashes, size_t count)
{
    static const struct rm_exported_family families[] = {
        {"scope.events", "1", "what a performance counter counted in the scope", RM_FAMILY_COUNTER},
        {"scope.event", "s", "time that a performance counter counted in the scope",
         RM_FAMILY_COUNTER},
    };
    const struct resmon_run *run = exporting->run;
    for (size_t f = 0; f < RM_ARRAY_LEN(families); f++) {
        pass_family(exporting, &families[f]);
        for (size_t i = 0; i < run->counter_count; i++) {
            if (run->counters[i].status == RESMON_OK && !is_counter_repeated(run, i) &&
                strcmp(run->counters[i].unit, families[f].unit) == 0) {
                pass_counter(exporting, i, hashes, count);
            }
        }
    }
}

static resmon_status pass_scopes(struct exporting *exporting)
{
    static const struct rm_exported_family omitted = {
        "scope.paths_omitted", "1", "paths of scopes beyond those that are shown here",
        RM_FAMILY_GAUGE};
    size_t count = exporting->run->scope_count;
    size_t shown = count < RM_EXPORTED_MOST_SCOPES ? count : RM_EXPORTED_MOST_SCOPES;
    if (shown > 0) {
        uint64_t *hashes = rm_alloc(shown, sizeof *hashes);
        if (hashes == NULL) {
            return rm_error(RESMON_ENOMEM, "out of memory for %zu scopes", shown);
        }
        hash_scopes(exporting, hashes, shown);
        pass_whole_scopes(exporting, hashes, shown);
        pass_scope_values(exporting, hashes, shown);
        pass_counters(exporting, hashes, shown);
        rm_free(hashes);
    }
    pass_family(exporting, &omitted);
    pass(exporting, NULL, "", (double)(count - shown));
    return exporting->path.status;
}

/* ---- the run, its bounds and its sources ----------------------------------------------------- */

static void pass_run(const struct exporting *exporting)
{
    static const struct rm_exported_family build = {
        "build", "1", "version of libresmon that recorded the run", RM_FAMILY_INFO};
    const resmon_run_info *info = &exporting->run->info;
    const struct {
        struct rm_exported_family family;
        double value;
    } rows[] = {
        {{"run.duration", "s", "from the start of the run to its last sample", RM_FAMILY_GAUGE},
         (double)info->duration_ns / 1e9},
        {{"run.start_time", "s", "start of the run, since 1970", RM_FAMILY_GAUGE},
         (double)info->start_realtime_ns / 1e9},
        {{"samples", "1", "samples taken", RM_FAMILY_COUNTER}, (double)info->samples},
        {{"late_samples", "1", "deadlines that had passed when the sampler woke",
          RM_FAMILY_COUNTER},
         (double)info->late_samples},
        {{"sampler_cpu", "s", "CPU time of the sampling thread", RM_FAMILY_COUNTER},
         (double)info->sampler_cpu_ns / 1e9},
        {{"sampler_wall", "s", "time spent taking samples", RM_FAMILY_COUNTER},
         (double)info->sampler_wall_ns / 1e9},
        {{"scopes_overhead", "s", "estimated time that scopes added to the program",
          RM_FAMILY_GAUGE},
         info->scopes_ns / 1e9},
        {{"memory", "B", "memory that the run is kept in", RM_FAMILY_GAUGE},
         (double)info->memory_bytes},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        pass_family(exporting, &rows[i].family);
        pass(exporting, NULL, "", rows[i].value);
    }
    const struct rm_fact *version = rm_run_fact(exporting->run, "run", "library");
    if (version != NULL) {
        pass_family(exporting, &build);
        pass(exporting, "version", version->value, 1.0);
    }
}

static void pass_dropped(const struct exporting *exporting)
{
    static const struct rm_exported_family family = {
        "dropped", "1", "what did not fit into a bound of the recording", RM_FAMILY_COUNTER};
    const resmon_run_info *info = &exporting->run->info;
    const struct {
        const char *what;
        uint64_t count;
    } counts[] = {
        {"rows", info->dropped_rows},       {"tags", info->dropped_tags},
        {"threads", info->dropped_threads}, {"scopes", rm_run_scopes_past_bounds(info)},
        {"paths", info->dropped_paths},     {"lines", info->dropped_lines},
        {"forks", info->dropped_forks},
    };
    pass_family(exporting, &family);
    for (size_t i = 0; i < RM_ARRAY_LEN(counts); i++) {
        pass(exporting, "what", counts[i].what, (double)counts[i].count);
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

static void pass_sources(const struct exporting *exporting)
{
    static const struct rm_exported_family families[] = {
        {"source.up", "1", "whether the source of numbers can be read", RM_FAMILY_GAUGE},
        {"source.failures", "1", "readings of the source that failed", RM_FAMILY_COUNTER},
    };
    for (size_t f = 0; f < RM_ARRAY_LEN(families); f++) {
        pass_family(exporting, &families[f]);
        for (size_t i = 0; i < exporting->run->source_count; i++) {
            const resmon_run_source *source = &exporting->run->sources[i];
            const double values[] = {source->status == RESMON_OK ? 1.0 : 0.0,
                                     (double)source->failures};
            if (is_first_source(exporting->run, i)) {
                pass(exporting, "source", source->name, values[f]);
            }
        }
    }
}

/* ---- all values ----------------------------------------------------------------------------- */

const char *rm_exported_fact(const struct resmon_run *run, const char *label)
{
    static const struct {
        const char *label, *group, *key;
    } facts[] = {{"job_id", "job", "id"}, {"rank", "job", "rank"}, {"pid", "run", "pid"}};
    const char *value = strcmp(label, "node") == 0 ? rm_run_node_name(run) : "";
    for (size_t i = 0; i < RM_ARRAY_LEN(facts); i++) {
        if (strcmp(facts[i].label, label) == 0) {
            value = rm_run_fact_text(run, facts[i].group, facts[i].key);
        }
    }
    return value[0] != '\0' ? value : NULL;
}

resmon_status rm_export_values(const struct resmon_run *run, const struct rm_exporter *exporter)
{
    struct exporting exporting = {
        .run = run, .to = exporter, .is_running = strcmp(run->info.state, "running") == 0};
    rm_buffer_init(&exporting.path, PATH_BYTES);
    pass_metrics(&exporting);
    resmon_status status = pass_scopes(&exporting);
    pass_run(&exporting);
    pass_dropped(&exporting);
    pass_sources(&exporting);
    rm_buffer_free(&exporting.path);
    return status;
}

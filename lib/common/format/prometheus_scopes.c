/* SPDX-License-Identifier: MIT */
/* The scopes of a run, for format/prometheus.c. */
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "base/status.h"
#include "format/prometheus_writer.h"

/* As a label value, after '/' and '\' have been told from those between names. */
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

static void set_scope(struct rm_prometheus_writer *writer, size_t index)
{
    const resmon_run_scope *scopes = writer->run->scopes;
    size_t path[RM_MAX_DEPTH + 1];
    size_t depth = 0;
    for (int64_t at = (int64_t)index; at >= 0 && depth < RM_ARRAY_LEN(path);) {
        int64_t parent = scopes[at].parent;
        path[depth++] = (size_t)at;
        at = parent < at ? parent : -1;
    }
    struct rm_buffer *own = rm_prometheus_clear(writer);
    rm_buffer_puts(own, "scope=\"");
    while (depth > 0) {
        add_scope_name(own, scopes[path[--depth]].name);
        rm_buffer_puts(own, depth > 0 ? "/" : "\"");
    }
}

static double calls_of(const resmon_run_scope *scope)
{
    return (double)scope->calls;
}

static double open_of(const resmon_run_scope *scope)
{
    return (double)scope->open;
}

static double wall_of(const resmon_run_scope *scope)
{
    return scope->wall_ns / 1e9;
}

static double cpu_of(const resmon_run_scope *scope)
{
    return scope->cpu_calls > 0 ? scope->cpu_ns.value / 1e9 : RM_NAN;
}

static double pcpu_of(const resmon_run_scope *scope)
{
    return scope->pcpu_calls > 0 ? scope->pcpu_ns.value / 1e9 : RM_NAN;
}

static double peak_of(const resmon_run_scope *scope)
{
    return scope->rss_calls > 0 ? scope->rss_peak_bytes : RM_NAN;
}

static double read_bytes_of(const resmon_run_scope *scope)
{
    return scope->io_read_bytes.value;
}

static double write_bytes_of(const resmon_run_scope *scope)
{
    return scope->io_write_bytes.value;
}

static double read_chars_of(const resmon_run_scope *scope)
{
    return scope->io_read_chars.value;
}

static double write_chars_of(const resmon_run_scope *scope)
{
    return scope->io_write_chars.value;
}

static double energy_of(const resmon_run_scope *scope)
{
    return scope->energy_j;
}

static bool is_measured(int32_t provenance)
{
    return provenance == RESMON_PROVENANCE_MEASURED;
}

static bool is_sure(const resmon_run_scope *scope)
{
    (void)scope;
    return true;
}

static bool is_cpu_sure(const resmon_run_scope *scope)
{
    return is_measured(scope->cpu_provenance);
}

static bool is_pcpu_sure(const resmon_run_scope *scope)
{
    return scope->pcpu_calls >= rm_scope_ended(scope); /* sampled or not */
}

static bool is_io_sure(const resmon_run_scope *scope)
{
    return is_measured(scope->io_provenance);
}

static const struct {
    struct rm_exposed_family family;
    double (*value)(const resmon_run_scope *scope);
    bool (*is_sure)(const resmon_run_scope *scope); /* it cannot go down later */
} scope_figures[] = {
    {{"resmon_scope_calls", "finished instances of the scope", NULL, RM_FAMILY_COUNTER},
     calls_of,
     is_sure},
    {{"resmon_scope_open", "instances of the scope that have not ended", NULL, RM_FAMILY_GAUGE},
     open_of,
     is_sure},
    {{"resmon_scope_wall_seconds", "wall time of finished instances, over all threads", NULL,
      RM_FAMILY_COUNTER},
     wall_of,
     is_sure},
    {{"resmon_scope_cpu_seconds", "CPU time of the process and its descendants in the scope", NULL,
      RM_FAMILY_COUNTER},
     pcpu_of,
     is_pcpu_sure},
    {{"resmon_scope_thread_cpu_seconds", "CPU time of the threads in the scope", NULL,
      RM_FAMILY_COUNTER},
     cpu_of,
     is_cpu_sure},
    {{"resmon_scope_rss_peak_bytes", "highest RSS of the process in the scope", NULL,
      RM_FAMILY_GAUGE},
     peak_of,
     is_sure},
    {{"resmon_scope_io_read_bytes", "read from storage by the process in the scope", NULL,
      RM_FAMILY_COUNTER},
     read_bytes_of,
     is_io_sure},
    {{"resmon_scope_io_write_bytes", "written to storage by the process in the scope", NULL,
      RM_FAMILY_COUNTER},
     write_bytes_of,
     is_io_sure},
    {{"resmon_scope_io_read_chars_bytes", "returned by read calls in the scope", NULL,
      RM_FAMILY_COUNTER},
     read_chars_of,
     is_io_sure},
    {{"resmon_scope_io_write_chars_bytes", "passed to write calls in the scope", NULL,
      RM_FAMILY_COUNTER},
     write_chars_of,
     is_io_sure},
    {{"resmon_scope_energy_joules", "energy of the process tree in the scope", NULL,
      RM_FAMILY_COUNTER},
     energy_of,
     is_sure},
};

/* Hashes of the paths, 0 for one that was there already; in the order of the run. */
static void hash_scopes(struct rm_prometheus_writer *writer, uint64_t *hashes, size_t count)
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

static void put_scope_figures(struct rm_prometheus_writer *writer, const uint64_t *hashes,
                              size_t count)
{
    for (size_t f = 0; f < RM_ARRAY_LEN(scope_figures); f++) {
        rm_exposition_family(&writer->exposition, &scope_figures[f].family);
        for (size_t i = 0; i < count; i++) {
            const resmon_run_scope *scope = &writer->run->scopes[i];
            if (hashes[i] != 0 && (!writer->is_running || scope_figures[f].is_sure(scope))) {
                set_scope(writer, i);
                rm_prometheus_put(writer, scope_figures[f].value(scope));
            }
        }
    }
}

/* ---- performance counters --------------------------------------------------------------- */

static const struct {
    struct rm_exposed_family family;
    const char *unit; /* of the counters that it is for */
} counter_families[] = {
    {{"resmon_scope_events", "what a performance counter counted in the scope", NULL,
      RM_FAMILY_COUNTER},
     "1"},
    {{"resmon_scope_event_seconds", "time that a performance counter counted in the scope", NULL,
      RM_FAMILY_COUNTER},
     "s"},
};

/* Names that are the same as a label: the first has it. */
static bool is_repeated(const struct resmon_run *run, size_t counter)
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

static void put_counter(struct rm_prometheus_writer *writer, size_t counter, const uint64_t *hashes,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const resmon_run_scope *scope = &writer->run->scopes[i];
        bool is_sure = !writer->is_running || is_measured(scope->counter_provenance);
        if (hashes[i] != 0 && scope->counter_calls > 0 && is_sure) {
            set_scope(writer, i);
            rm_label_add(&writer->own, "event", writer->run->counters[counter].name);
            rm_prometheus_put(writer, scope->counters[counter].value);
        }
    }
}

static void put_counters(struct rm_prometheus_writer *writer, const uint64_t *hashes, size_t count)
{
    const struct resmon_run *run = writer->run;
    for (size_t f = 0; f < RM_ARRAY_LEN(counter_families); f++) {
        rm_exposition_family(&writer->exposition, &counter_families[f].family);
        for (size_t i = 0; i < run->counter_count; i++) {
            if (run->counters[i].status == RESMON_OK && !is_repeated(run, i) &&
                strcmp(run->counters[i].unit, counter_families[f].unit) == 0) {
                put_counter(writer, i, hashes, count);
            }
        }
    }
}

/* ---- together --------------------------------------------------------------------------- */

void rm_prometheus_put_scopes(struct rm_prometheus_writer *writer)
{
    static const struct rm_exposed_family omitted = {
        "resmon_scope_paths_omitted", "paths of scopes beyond those that are shown here", NULL,
        RM_FAMILY_GAUGE};
    size_t count = writer->run->scope_count;
    size_t shown = count < RM_PROMETHEUS_MOST_SCOPES ? count : RM_PROMETHEUS_MOST_SCOPES;
    if (shown > 0) {
        uint64_t *hashes = rm_alloc(shown, sizeof *hashes);
        if (hashes == NULL) {
            writer->own.status = rm_error(RESMON_ENOMEM, "out of memory for %zu scopes", shown);
            return;
        }
        hash_scopes(writer, hashes, shown);
        put_scope_figures(writer, hashes, shown);
        put_counters(writer, hashes, shown);
        rm_free(hashes);
    }
    (void)rm_prometheus_clear(writer);
    rm_exposition_family(&writer->exposition, &omitted);
    rm_prometheus_put(writer, (double)(count - shown));
}

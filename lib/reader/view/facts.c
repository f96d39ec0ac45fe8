/* SPDX-License-Identifier: MIT */
#include "view/builders.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/option.h"
#include "base/text.h"
#include "run/run.h"
#include "setup/options.h"
#include "store/run_records.h"
#include "view/columns.h"

#define MOST_ROWS 1000 /* usually there are tens */
#define MOST_TAGS 500

static size_t at_most(size_t rows)
{
    return rows < MOST_ROWS ? rows : MOST_ROWS;
}

static const char *seconds_text(struct rm_page *page, double ns)
{
    return rm_page_value(page, ns / 1e9, "s");
}

/* ---- tags, sources, facts as they are ------------------------------------------------------ */

struct rm_page_table *rm_tags_table(const struct rm_subject *subject, enum rm_column_detail detail,
                                    size_t most)
{
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    size_t count = run->tag_count;
    most = most > 0 ? most : MOST_TAGS;
    struct rm_page_table *table =
        count > 0 ? rm_columns_table(page, RM_TABLE_tags, detail,
                                     (struct rm_records){run->tags, count < most ? count : most,
                                                         sizeof *run->tags},
                                     "not known")
                  : NULL;
    if (count > most) {
        rm_page_note(table, rm_page_print(page, "%zu more are left out.", count - most));
    }
    return table;
}

struct rm_page_table *rm_sources_table(const struct rm_subject *subject,
                                       enum rm_column_detail detail, size_t most)
{
    (void)most;
    const struct resmon_run *run = subject->run;
    struct rm_page_table *table = rm_columns_table(
        subject->page, RM_TABLE_sources, detail,
        (struct rm_records){run->sources, run->source_count, sizeof *run->sources}, "not known");
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        if (run->sources[i].status != RESMON_OK) {
            rm_page_set(&rm_page_cells(table, i)[1], "absent");
        }
    }
    return table;
}

struct rm_page_table *rm_facts_all(const struct rm_subject *subject, enum rm_column_detail detail,
                                   size_t most)
{
    (void)most;
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    resmon_run_fact_entry *entries = rm_page_alloc(page, run->fact_count, sizeof *entries);
    for (size_t i = 0; entries != NULL && i < run->fact_count; i++) {
        entries[i] = (resmon_run_fact_entry){
            .group = run->facts[i].group, .key = run->facts[i].key, .value = run->facts[i].value};
    }
    return rm_columns_table(
        page, RM_TABLE_facts, detail,
        (struct rm_records){entries, entries != NULL ? run->fact_count : 0, sizeof *entries}, "");
}

/* ---- overhead ----------------------------------------------------------------------------- */

/* CPU time in ns, or a number of dropped items, with its label. */
struct cost {
    uint64_t amount;
    const char *what;
};

#define COST_THREADS 5
#define COST_DROPPED 10

static void cost_of_threads(const resmon_run_info *info, struct cost costs[COST_THREADS])
{
    const struct cost all[COST_THREADS] = {
        {info->sampler_cpu_ns, "sampling"},
        {info->delivery_cpu_ns, "delivery"},
        {info->gpus_cpu_ns, "GPUs"},
        {info->stacks_cpu_ns, "stacks"},
        {info->handlers_ns, "handlers of stacks"},
    };
    memcpy(costs, all, sizeof all);
}

static void find_dropped(const resmon_run_info *info, struct cost costs[COST_DROPPED])
{
    const struct cost all[COST_DROPPED] = {
        {info->dropped_tags, "tags overwritten by later ones (option tags)"},
        {info->dropped_threads, "threads without a slot for their scopes (option scope_threads)"},
        {info->dropped_paths, "scope instances without a free path (option scope_paths)"},
        {rm_run_scopes_past_bounds(info), "scope instances past a bound"},
        {info->stale_ends, "scopes ended twice, on another thread or too late"},
        {info->misordered_ends, "scopes closed by the end of an outer one or of their thread"},
        {info->dropped_events, "scope instances overwritten by later ones (option events)"},
        {info->dropped_lines, "places of RESMON_LINE() past the bound of a run"},
        {info->dropped_forks, "forked processes whose scopes are in no run"},
        {info->dropped_rows, "rows not delivered to sinks: they were too slow"},
    };
    memcpy(costs, all, sizeof all);
}

/* "sampling 1.2 ms, delivery 300 us". */
static const char *costs_text(struct rm_page *page, const resmon_run_info *info)
{
    struct cost costs[COST_THREADS];
    cost_of_threads(info, costs);
    const char *parts[RM_ARRAY_LEN(costs)] = {""};
    for (size_t i = 0; i < RM_ARRAY_LEN(costs); i++) {
        parts[i] = costs[i].amount > 0 ? rm_page_print(page, "%s %s", costs[i].what,
                                                       seconds_text(page, (double)costs[i].amount))
                                       : "";
    }
    return rm_page_join(page, ", ", parts, RM_ARRAY_LEN(parts));
}

static const char *dropped_text(struct rm_page *page, const resmon_run_info *info)
{
    struct cost losses[COST_DROPPED];
    find_dropped(info, losses);
    const char *parts[RM_ARRAY_LEN(losses)] = {""};
    for (size_t i = 0; i < RM_ARRAY_LEN(losses); i++) {
        parts[i] = losses[i].amount > 0
                       ? rm_page_print(page, "%s %s", rm_page_grouped(page, losses[i].amount),
                                       losses[i].what)
                       : "";
    }
    return rm_page_join(page, "; ", parts, RM_ARRAY_LEN(parts));
}

static const char *samples_text(struct rm_page *page, const resmon_run_info *info)
{
    const char *late =
        info->late_samples > 0
            ? rm_page_print(page, ", %s late", rm_page_grouped(page, info->late_samples))
            : ", none late";
    const char *skipped = info->skipped_samples > 0
                              ? rm_page_print(page, ", %s left out to stay below max_overhead",
                                              rm_page_grouped(page, info->skipped_samples))
                              : "";
    double each = info->samples > 0 ? (double)info->sampler_cpu_ns / (double)info->samples : RM_NAN;
    return rm_page_print(page, "%s of CPU time on average, %s at most; %s samples%s%s",
                         seconds_text(page, each),
                         seconds_text(page, (double)info->sampler_wall_max_ns),
                         rm_page_grouped(page, info->samples), late, skipped);
}

/* The memory of the library, and its part of the process's RSS and peaks. */
static const char *memory_text(struct rm_page *page, const resmon_run_info *info)
{
    const char *own = "", *more = "";
    if (isfinite(info->rss_bytes)) {
        own = rm_page_print(page, "; %s of the process's RSS",
                            rm_page_value(page, info->rss_bytes, "B"));
        more = info->work_rss_bytes > 0.0
                   ? rm_page_print(page, ", and at most %s more in peaks",
                                   rm_page_value(page, info->work_rss_bytes, "B"))
                   : "";
    }
    return rm_page_print(page, "%s, fixed at start%s%s",
                         rm_page_value(page, (double)info->memory_bytes, "B"), own, more);
}

/* The actual sampling interval, if it is longer than requested. */
static const char *pace_text(struct rm_page *page, const struct resmon_run *run)
{
    const struct rm_fact *bound = rm_run_fact(run, "settings", "max_overhead");
    const struct rm_fact *requested = rm_run_fact(run, "settings", "interval_ms");
    if (run->info.skipped_samples == 0 || run->info.samples < 2 || bound == NULL ||
        requested == NULL) {
        return "";
    }
    return rm_page_print(
        page,
        "requested every %s, taken every %s on average, to stay below %s of one CPU "
        "(max_overhead)",
        rm_page_value(page, rm_fact_number(requested) * 1e-3, "s"),
        seconds_text(page, (double)run->info.duration_ns / (double)(run->info.samples - 1)),
        rm_page_value(page, 100.0 * rm_fact_number(bound), "%"));
}

struct rm_page_table *rm_cost_table(const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    const resmon_run_info *info = &subject->run->info;
    double seconds = rm_subject_seconds(subject->run);
    struct rm_page_table *table = rm_page_pairs_new(page, "cost", "Cost of observing", 6);
    const char *dropped = dropped_text(page, info);
    if (info->memory_bytes == 0 && info->sampler_wall_ns == 0) {
        rm_page_add_pair(page, table, "not known", "the file does not have it");
        rm_page_add_pair(page, table, "dropped", dropped);
        return table;
    }
    const char *costs = costs_text(page, info);
    const char *per_cpu =
        seconds > 0.0
            ? rm_page_print(page, " (%s %% of one CPU)",
                            rm_page_fixed(page, (double)info->library_cpu_ns / 1e7 / seconds, 2))
            : "";
    rm_page_add_pair(page, table, "threads",
                     rm_page_print(page, "%s of CPU time%s%s%s",
                                   seconds_text(page, (double)info->library_cpu_ns), per_cpu,
                                   costs[0] != '\0' ? ": " : "", costs));
    rm_page_add_pair(page, table, "one sample", samples_text(page, info));
    rm_page_add_pair(page, table, "pace", pace_text(page, subject->run));
    if (subject->run->scope_count > 0) {
        rm_page_add_pair(page, table, "scopes",
                         rm_page_print(page, "about %s in all threads together",
                                       seconds_text(page, info->scopes_ns)));
    }
    rm_page_add_pair(page, table, "memory", memory_text(page, info));
    rm_page_add_pair(page, table, "dropped", dropped[0] != '\0' ? dropped : "nothing");
    return table;
}

/* ---- facts ------------------------------------------------------------------------------ */

/* "host_name" as "host name". */
static const char *in_words(struct rm_page *page, const char *key, size_t length)
{
    char *text = rm_page_alloc(page, length + 1, 1);
    for (size_t i = 0; text != NULL && i < length; i++) {
        text[i] = key[i] == '_' ? ' ' : key[i];
    }
    return text != NULL ? rm_page_shown(page, text) : "";
}

static const char *plain_number(struct rm_page *page, double value)
{
    char text[32];
    (void)snprintf(text, sizeof text, value == floor(value) && fabs(value) < 1e15 ? "%.0f" : "%g",
                   value);
    rm_text_point(text);
    return rm_page_print(page, "%s", text);
}

/* "scope_bytes 1048576" as "scope", "1.00 MiB". */
static void add_number(const struct rm_subject *subject, struct rm_page_table *table,
                       const char *key, double value)
{
    static const struct {
        const char *ending, *unit;
        double factor;
    } units[] = {{"_bytes", "B", 1.0}, {"_ms", "s", 1e-3}, {"_hz", "Hz", 1.0}};
    struct rm_page *page = subject->page;
    size_t length = strlen(key);
    for (size_t i = 0; i < RM_ARRAY_LEN(units); i++) {
        size_t ending = strlen(units[i].ending);
        if (length > ending && strcmp(key + length - ending, units[i].ending) == 0) {
            rm_page_add_pair(page, table, in_words(page, key, length - ending),
                             rm_page_value(page, value * units[i].factor, units[i].unit));
            return;
        }
    }
    rm_page_add_pair(page, table, in_words(page, key, length), plain_number(page, value));
}

/* "all", or "process, tree, energy". */
static const char *domains_text(struct rm_page *page, uint64_t domains)
{
    const struct rm_option *option = rm_option_find(&rm_monitor_options, "domains");
    const char *text = "";
    for (size_t i = 0; i < option->name_count; i++) {
        uint64_t bits = option->names[i].bits;
        bool is_one = (bits & (bits - 1)) == 0;
        if (bits == domains) {
            return option->names[i].name;
        }
        if (is_one && (bits & domains) != 0) {
            const char *both[] = {text, option->names[i].name};
            text = rm_page_join(page, ", ", both, RM_ARRAY_LEN(both));
        }
    }
    return text;
}

/* Facts without information: empty ones, no flags, and no pid. */
static bool is_empty(const struct rm_fact *fact)
{
    return fact->value[0] == '\0' ||
           (fact->kind == RM_FACT_NUMBER && rm_fact_number(fact) == 0.0 &&
            (strcmp(fact->key, "flags") == 0 || strcmp(fact->key, "pid") == 0));
}

static void add_fact(const struct rm_subject *subject, struct rm_page_table *table,
                     const struct rm_fact *fact)
{
    struct rm_page *page = subject->page;
    double value = fact->kind == RM_FACT_NUMBER ? rm_fact_number(fact) : RM_NAN;
    if (isnan(value)) {
        rm_page_add_pair(page, table, in_words(page, fact->key, strlen(fact->key)),
                         rm_page_shown(page, fact->value));
    } else if (strcmp(fact->key, "domains") == 0) {
        rm_page_add_pair(page, table, fact->key,
                         domains_text(page, value > 0.0 ? (uint64_t)value : 0));
    } else {
        add_number(subject, table, fact->key, value);
    }
}

size_t rm_facts_tables(const struct rm_subject *subject,
                       struct rm_page_table *tables[RM_FACT_TABLES])
{
    static const struct {
        const char *group, *title;
    } groups[RM_FACT_TABLES] = {
        {"run", "Run"}, {"job", "Job"}, {"machine", "Machine"}, {"settings", "Settings"}};
    const struct resmon_run *run = subject->run;
    size_t count = 0;
    for (size_t g = 0; g < RM_FACT_TABLES; g++) {
        struct rm_page_table *table = rm_page_pairs_new(subject->page, groups[g].group,
                                                        groups[g].title, at_most(run->fact_count));
        for (size_t i = 0; table != NULL && i < run->fact_count; i++) {
            if (strcmp(run->facts[i].group, groups[g].group) == 0 && !is_empty(&run->facts[i])) {
                add_fact(subject, table, &run->facts[i]);
            }
        }
        if (table != NULL && table->count > 0) {
            tables[count++] = table;
        }
    }
    return count;
}

/* ---- missing data ------------------------------------------------------------------------- */

/* Why scopes have no exact peaks; "": they have. */
static const char *why_no_peak(const struct resmon_run *run)
{
    const char *method = rm_run_fact_text(run, "settings", "rss_peak_method");
    return strncmp(method, "cannot", 6) == 0 ? method : "";
}

/* Whether a source is in the table: not for remarks on the method, which other tables show, nor for
 * absent hardware. */
static bool is_remark(const struct resmon_run *run, const resmon_run_source *source)
{
    bool is_sound = source->status == RESMON_OK && source->failures == 0;
    bool is_shown = source->provenance == RESMON_PROVENANCE_MODELLED ||
                    source->provenance == RESMON_PROVENANCE_SHARED ||
                    rm_metrics_are_of_limit(run, source);
    bool is_wanted = strncmp(source->name, "perf_", 5) == 0; /* requested counters */
    return (source->status != RESMON_ENODEV || is_wanted) &&
           !(is_sound && (is_shown || source->reason[0] == '\0'));
}

static void add_source(struct rm_page *page, struct rm_page_table *table,
                       const resmon_run_source *source)
{
    struct rm_page_cell *cells = rm_page_row(page, table);
    const char *failed = "";
    if (source->failures > 0 && source->reads > source->failures) {
        failed = rm_page_print(page, " (%s of %s readings failed)",
                               rm_page_grouped(page, source->failures),
                               rm_page_grouped(page, source->reads));
    }
    rm_page_set(&cells[0], rm_page_shown(page, source->name));
    rm_page_set(&cells[1], source->status == RESMON_OK ? "in part" : "no");
    rm_page_set(&cells[2],
                rm_page_print(page, "%s%s", rm_page_shown(page, source->reason), failed));
}

struct rm_page_table *rm_missing_table(const struct rm_subject *subject)
{
    static const char *const headers[] = {"source", "measured", "reason"};
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    struct rm_page_table *table =
        rm_page_table_new(page, "missing", "What was not measured, and why",
                          RM_HEADERS(headers, 3, 3), run->source_count + 1);
    for (size_t i = 0; i < run->source_count; i++) {
        if (is_remark(run, &run->sources[i])) {
            add_source(page, table, &run->sources[i]);
        }
    }
    if (why_no_peak(run)[0] != '\0') {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], "exact peak RSS");
        rm_page_set(&cells[1], "no");
        rm_page_set(&cells[2], rm_page_print(page, "%s; peaks are sampled",
                                             rm_page_shown(page, why_no_peak(run))));
    }
    if (table != NULL) {
        table->columns[2].is_wide = true;
    }
    return table != NULL && table->count > 0 ? table : NULL;
}

/* ---- missing data that were requested ----------------------------------------------------- */

static void say(struct rm_page *page, struct rm_page_list *list, const char *what,
                const char *reason)
{
    rm_page_say(page, list, "%s: %s", what, reason);
}

static void say_stacks(struct rm_page *page, const struct resmon_run *run,
                       struct rm_page_list *list)
{
    static const char *const names[RM_STACK_KINDS] = {
        [RESMON_STACK_CPU] = "stacks of CPU time",
        [RESMON_STACK_MEMORY] = "stacks of memory's growth",
        [RESMON_STACK_FILE] = "stacks of pages of files",
        [RESMON_STACK_RESIDENT] = "stacks of memory that is still there",
    };
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        const struct rm_run_stack_kind *known = &run->profile.kinds[kind];
        if (known->status != RESMON_OK && known->status != RESMON_ESTATE) {
            say(page, list, names[kind], known->reason);
        }
    }
}

/* Sources that the options request, and those of children.  The other sources of a machine have
 * rows of their own in the report. */
static void say_source(struct rm_page *page, const resmon_run_source *source,
                       struct rm_page_list *list)
{
    static const struct {
        const char *source, *name;
    } wanted[] = {
        {"perf_hardware", "counters"}, {"perf_groups", "groups of counters"},
        {"perf_events", "events"},     {"perf_software", "software events"},
        {"proc_smaps", "PSS and USS"}, {"tree_smaps", "PSS and USS of children"},
        {"tree", "children"},          {"gpu", "GPUs"},
    };
    /* A process that has ended has the values that were read before. */
    bool has_ended = source->status == RESMON_ESRCH && source->reads > source->failures;
    if (source->status == RESMON_OK || source->status == RESMON_ENODEV || has_ended) {
        return;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(wanted); i++) {
        if (strcmp(source->name, wanted[i].source) == 0) {
            say(page, list, wanted[i].name, source->reason);
            return;
        }
    }
    if (strncmp(source->name, "perf_", 5) == 0) {
        rm_page_say(page, list, "counters of %s: %s", source->name + 5, source->reason);
    }
}

void rm_missing_say(struct rm_page *page, const struct resmon_run *run, struct rm_page_list *list)
{
    const char *no_peak = why_no_peak(run);
    const char *no_processes = rm_run_fact_text(run, "settings", RM_FACT_NO_EACH);
    double columns = rm_run_fact_number(run, "settings", RM_FACT_MERGED_COLUMNS);
    say_stacks(page, run, list);
    if (columns > 0.0) {
        rm_page_say(
            page, list, "shorter rows: one has %s, as the job has %s columns",
            rm_page_value(page, rm_run_fact_number(run, "settings", RM_FACT_MERGED_INTERVAL) / 1e3,
                          "s"),
            rm_page_value(page, columns, ""));
    }
    if (no_peak[0] != '\0') {
        say(page, list, "exact peaks of scopes", no_peak);
    }
    if (no_processes[0] != '\0') {
        say(page, list, "rows of processes", no_processes);
    }
    for (size_t i = 0; i < run->source_count; i++) {
        say_source(page, &run->sources[i], list);
    }
}

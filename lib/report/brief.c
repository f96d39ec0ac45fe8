/* SPDX-License-Identifier: MIT */
#include "report/brief.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <resmon/report.h>

#include "base/columns.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/text.h"
#include "metric/view.h"
#include "report/advice.h"
#include "report/heading.h"
#include "report/hot.h"
#include "report/job.h"
#include "report/memory_limit.h"
#include "report/missing.h"
#include "report/phases.h"
#include "report/processes.h"
#include "report/rows.h"
#include "report/sampled_bytes.h"
#include "run/energy.h"
#include "run/headline.h"

#define NAME_COLUMNS  32
#define TITLE_COLUMNS 40
#define NAME_BYTES    160
#define END_BYTES     128

/* What is worth a word: */
#define BUSY_SHARE   0.25   /* of the machine's capacity, used by others */
#define STEAL_SHARE  0.02   /* of the machine's capacity, taken by the hypervisor */
#define HELD_SHARE   0.05   /* of the wall time, held back by a quota */
#define HEAT_SHARE   0.02   /* the same, slowed by heat */
#define SLOW_SHARE   0.05   /* of the run, in one phase itself */
#define HOT_SHARE    0.01   /* of the samples, in one function */
#define NOT_WAITED_S 0.01   /* of children, beyond rounding */
#define ALL_MODELLED 0.995  /* a share that is all, rounded to percent */
#define NEAR_PEAK    0.95   /* a scope that saw so much of the peak saw it */
#define LEAST_SHMEM  0x1p24 /* bytes, that files in tmpfs grew by */
#define SHMEM_SHARE  0.1    /* of the RSS beside it */
#define MOST_ERROR   0.125  /* of the peak, that the error of RSS counters is taken for at most */

/* What the rows are written of. */
struct page {
    struct rm_rows rows;
    const struct resmon_run *run;
    resmon_headline headline;
};

/* ---- figures of the run ----------------------------------------------------------------- */

static double mean_of(const struct resmon_run *run, uint32_t metric)
{
    const resmon_column *stats = rm_run_statistics_of(run, metric, NULL);
    return stats != NULL ? stats->mean : RM_NAN;
}

static const resmon_run_source *source_of(const struct resmon_run *run, const char *name)
{
    for (size_t i = 0; i < run->source_count; i++) {
        if (strcmp(run->sources[i].name, name) == 0) {
            return &run->sources[i];
        }
    }
    return NULL;
}

/* Why a source has no figures; "" when it has, or is not known. */
static const char *reason_of(const struct resmon_run *run, const char *name)
{
    const resmon_run_source *source = source_of(run, name);
    return source != NULL ? source->reason : "";
}

/* Begins the row of a figure; false where it is not known, which has a row if there is a reason. */
static bool begin_figure(struct page *page, const char *label, const char *value, bool is_known,
                         const char *source)
{
    const char *reason = is_known ? "" : reason_of(page->run, source);
    if (is_known || reason[0] != '\0') {
        rm_rows_begin(&page->rows, label, value);
    }
    if (!is_known && reason[0] != '\0') {
        rm_rows_clause(&page->rows, "not known: %s", reason);
        rm_rows_end(&page->rows);
    }
    return is_known;
}

static bool has_children(const struct resmon_run *run)
{
    const resmon_column *processes = rm_run_statistics_of(run, RM_TREE_PROCESSES, NULL);
    const resmon_column *exited = rm_run_statistics_of(run, RM_TREE_EXITED, NULL);
    return (processes != NULL && processes->max > 1.0) || (exited != NULL && exited->last > 0.0);
}

/* "took", "failed after", "was killed by SIGTERM after" */
static void describe_end(const struct resmon_run *run, char text[END_BYTES])
{
    const resmon_run_end end = rm_run_end(run);
    char said[64];
    rm_end_describe(run, said);
    if (end.reason == RESMON_END_RUNNING) {
        (void)rm_text_set(text, END_BYTES, "has run for");
    } else if (end.reason == RESMON_END_FINISHED) {
        (void)rm_text_set(text, END_BYTES, "took");
    } else if (end.reason == RESMON_END_UNKNOWN &&
               (strcmp(run->info.state, "stopped") == 0 ||
                rm_run_fact_text(run, "run", RM_FACT_OBSERVED)[0] != '\0')) {
        (void)rm_text_set(text, END_BYTES,
                          rm_run_has_one_sample(run) ? "was observed once" : "was observed for");
    } else {
        const char *after = rm_run_has_one_sample(run) ? "before its second sample" : "after";
        bool is_passive = end.reason == RESMON_END_INTERRUPTED || end.reason == RESMON_END_KILLED;
        (void)snprintf(text, END_BYTES, "%s%s %s", is_passive ? "was " : "",
                       end.reason == RESMON_END_UNKNOWN ? "ended in an unknown way" : said, after);
    }
}

static bool is_of_group(const struct resmon_run *run)
{
    return rm_run_fact_text(run, "run", "cgroup")[0] != '\0';
}

/* "gzip took 1.746 s, 1.095 s of CPU time, 4.39 MiB of memory, 4.91 J" */
static void write_answer(struct page *page)
{
    const resmon_headline *headline = &page->headline;
    double at_once = rm_run_memory_at_once(page->run, headline);
    bool is_modelled = rm_run_energy(page->run).provenance == RESMON_PROVENANCE_MODELLED;
    const struct {
        void (*print)(char text[RM_HUMAN_BYTES], double value);
        double value;
        const char *after, *before;
    } figures[] = {
        {rm_human_seconds, headline->cpu_s, " of CPU time", ""},
        {rm_human_bytes,
         is_of_group(page->run) ? headline->tree_rss_max_bytes
         : isnan(at_once)       ? headline->rss_peak_bytes
                                : at_once,
         " of memory", ""},
        {rm_human_joules, headline->energy_j, "", is_modelled ? "about " : ""},
    };
    char end[END_BYTES], text[RM_HUMAN_BYTES], title[NAME_BYTES];
    describe_end(page->run, end);
    rm_human_seconds(text, headline->wall_s);
    rm_columns_shorten(title, sizeof title, rm_run_title(page->run), TITLE_COLUMNS);
    bool is_known = !isnan(headline->wall_s);
    rm_buffer_printf(page->rows.buffer, "%s %s%s%s", title, end, is_known ? " " : "",
                     is_known ? text : "");
    for (size_t i = 0; i < RM_ARRAY_LEN(figures); i++) {
        if (!isnan(figures[i].value)) {
            figures[i].print(text, figures[i].value);
            rm_buffer_printf(page->rows.buffer, ", %s%s%s", figures[i].before, text,
                             figures[i].after);
        }
    }
    rm_buffer_puts(page->rows.buffer, "\n");
    rm_report_failure(page->rows.buffer, page->run);
    rm_buffer_puts(page->rows.buffer, "\n");
}

/* Since when, by the clock of whoever reads it (TZ), and where. */
static void write_wall(struct page *page)
{
    const struct resmon_run *run = page->run;
    char text[RM_HUMAN_BYTES], memory[RM_HUMAN_BYTES], cpus[RM_HUMAN_BYTES], since[48] = "";
    time_t start = (time_t)(run->info.start_realtime_ns / 1000000000);
    struct tm parts;
    rm_human_seconds(text, page->headline.wall_s);
    rm_rows_begin(&page->rows, "wall", text);
    if (run->info.start_realtime_ns > 0 && localtime_r(&start, &parts) != NULL &&
        strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S %Z", &parts) > 0) {
        rm_rows_clause(&page->rows, "since %s", since);
    }
    double known_cpus = rm_run_fact_number(run, "machine", "cpus");
    if (!isnan(known_cpus)) {
        const char *node = rm_run_node_name(run);
        double bytes = rm_run_fact_number(run, "machine", "memory_bytes");
        rm_human_count(cpus, known_cpus);
        rm_human_bytes(memory, bytes);
        rm_rows_clause(&page->rows, "on %s%s%s CPUs%s%s", node, node[0] != '\0' ? ": " : "", cpus,
                       isnan(bytes) ? "" : ", ", isnan(bytes) ? "" : memory);
    }
    if (run->info.label[0] != '\0') {
        rm_rows_clause(&page->rows, "label %s", run->info.label);
    }
    rm_rows_end(&page->rows);
}

/* "3.517 s user + 874.7 ms system, and 1.2 s of its children"; nothing where only the sum is known.
 */
static void add_cpu_parts(struct page *page)
{
    const resmon_headline *headline = &page->headline;
    double own = headline->cpu_user_s + headline->cpu_system_s;
    char user[RM_HUMAN_BYTES], system[RM_HUMAN_BYTES], children[RM_HUMAN_BYTES];
    rm_human_seconds(user, headline->cpu_user_s);
    rm_human_seconds(system, headline->cpu_system_s);
    rm_human_seconds(children, fmax(0.0, headline->cpu_s - own));
    if (!isnan(own) && has_children(page->run) && !rm_run_has_usage(page->run)) {
        rm_rows_clause(&page->rows, "%s user + %s system, and %s of its children", user, system,
                       children);
    } else if (!isnan(own) && headline->cpu_s - own > 0.02 * headline->cpu_s + NOT_WAITED_S) {
        rm_rows_clause(&page->rows, "%s user + %s system, and %s of processes not waited for", user,
                       system, children);
    } else if (!isnan(own)) {
        rm_rows_clause(&page->rows, "%s user + %s system", user, system);
    }
}

/* It ended between two samples, and nobody said what it had used by then. */
static bool has_ended_unseen(const struct resmon_run *run)
{
    const resmon_run_source *source = source_of(run, "proc_cpu");
    return source != NULL && source->status == RESMON_ESRCH && !rm_run_has_usage(run);
}

static void write_cpu(struct page *page)
{
    const resmon_headline *headline = &page->headline;
    bool is_partial = has_ended_unseen(page->run) && !isnan(headline->cpu_s);
    char text[RM_HUMAN_BYTES + 4] = "";
    (void)rm_text_set(text, sizeof text, is_partial ? ">= " : "");
    rm_human_seconds(text + strlen(text), headline->cpu_s);
    if (rm_run_has_one_sample(page->run) ||
        !begin_figure(page, "CPU", text, !isnan(headline->cpu_s), "proc_cpu")) {
        return;
    }
    add_cpu_parts(page);
    if (is_partial) {
        rm_rows_clause(&page->rows, "up to the last sample before its end");
    }
    if (headline->wall_s > 0.0) {
        rm_human_fixed(text, headline->cpu_s / headline->wall_s, 2);
        rm_rows_clause(&page->rows, "%s CPUs on average", text);
    }
    rm_rows_end(&page->rows);
}

/* By how much a scope's peak, of the kernel's marks, may be below what samples of the RSS saw. */
static double error_of_peak(const struct resmon_run *run, double peak)
{
    double bound = rm_run_fact_number(run, "machine", "rss_error_bound_bytes");
    return isnan(bound) ? 0.0 : fmin(bound, MOST_ERROR * peak);
}

/* The innermost scope that saw the most; NULL: none saw what the run did (it may have been outside
 * of them). */
static const char *scope_of_peak(const struct resmon_run *run, double peak)
{
    const resmon_run_scope *best = NULL;
    for (size_t i = 0; i < run->scope_count; i++) {
        const resmon_run_scope *scope = &run->scopes[i];
        if (scope->rss_peak_bytes > 0.0 &&
            (best == NULL || scope->rss_peak_bytes > best->rss_peak_bytes ||
             (scope->rss_peak_bytes >= best->rss_peak_bytes && scope->depth > best->depth))) {
            best = scope;
        }
    }
    double least = NEAR_PEAK * peak - error_of_peak(run, peak);
    return best != NULL && best->rss_peak_bytes >= least ? best->name : NULL;
}

static bool has_scope_peaks(const struct resmon_run *run)
{
    bool has = false;
    for (size_t i = 0; i < run->scope_count && !has; i++) {
        has = run->scopes[i].rss_peak_bytes > 0.0;
    }
    return has;
}

/* Of a control group: all processes together, and what the kernel charges to it. */
static void write_group_memory(struct page *page)
{
    const resmon_column *charged = rm_run_statistics_of(page->run, RM_CG_MEM_CURRENT, NULL);
    char text[RM_HUMAN_BYTES + 4] = ">= ", group[RM_HUMAN_BYTES];
    rm_human_bytes(text + strlen(text), page->headline.tree_rss_max_bytes);
    if (!begin_figure(page, "memory", text, true, "tree")) {
        return;
    }
    rm_rows_clause(&page->rows, "RSS of all processes, sampled");
    if (charged != NULL) {
        rm_human_bytes(group, charged->max);
        rm_rows_clause(&page->rows, "the cgroup holds %s, with page cache", group);
    }
    rm_rows_end(&page->rows);
}

/* Of several processes, what they had at once comes first, and then the largest. */
static bool begin_memory(struct page *page)
{
    const resmon_headline *headline = &page->headline;
    double at_once = rm_run_memory_at_once(page->run, headline);
    double peak = headline->rss_peak_bytes;
    bool is_exact = headline->rss_peak_provenance == RESMON_PROVENANCE_MEASURED;
    bool is_of_largest = rm_run_has_usage(page->run) && has_children(page->run);
    char text[RM_HUMAN_BYTES + 4] = "", largest[RM_HUMAN_BYTES + 4] = "";
    (void)rm_text_set(largest, sizeof largest, is_exact || isnan(peak) ? "" : ">= ");
    rm_human_bytes(largest + strlen(largest), peak);
    rm_human_bytes(text, at_once);
    if (!begin_figure(page, "memory", isnan(at_once) ? largest : text, !isnan(peak), "proc_mem")) {
        return false;
    }
    if (!isnan(at_once)) {
        rm_rows_clause(&page->rows, "all processes together, sampled");
        rm_rows_clause(&page->rows, "%s %s%s",
                       page->run->rank_count > 0 ? "largest rank"
                       : is_of_largest           ? "largest process"
                                                 : "this process",
                       largest, is_exact ? ", exact" : "");
    } else {
        rm_rows_clause(&page->rows, "peak RSS%s, %s",
                       page->run->rank_count > 0 ? " of the largest rank"
                       : is_of_largest           ? " of the largest process"
                                                 : "",
                       is_exact ? "exact" : "sampled");
    }
    return true;
}

/* Files in tmpfs are memory, too, and in nobody's RSS. */
static void add_shmem(struct page *page)
{
    const resmon_column *shmem = rm_run_statistics_of(page->run, RM_CG_MEM_SHMEM, NULL);
    double grown = shmem != NULL ? shmem->max - shmem->first : 0.0;
    if (grown > LEAST_SHMEM && grown > SHMEM_SHARE * page->headline.rss_peak_bytes) {
        char text[RM_HUMAN_BYTES];
        rm_human_bytes(text, grown);
        rm_rows_clause(&page->rows,
                       "files in tmpfs and shared memory of its cgroup grew by %s more", text);
    }
}

static void write_memory(struct page *page)
{
    const char *scope = scope_of_peak(page->run, page->headline.rss_peak_bytes);
    char name[NAME_BYTES];
    if (!begin_memory(page)) {
        return;
    }
    add_shmem(page);
    if (scope != NULL) {
        rm_columns_shorten(name, sizeof name, scope, NAME_COLUMNS);
        rm_rows_clause(&page->rows, "highest in %s", name);
    } else if (page->run->scope_count > 0 && !has_scope_peaks(page->run)) {
        rm_rows_clause(&page->rows, "by phase with scopes=wall+rss");
    }
    rm_rows_end(&page->rows);
}

/* The memory limit of the control group, where the run came near it. */
static void write_limit(struct page *page)
{
    char text[RM_ROWS_CLAUSE_BYTES];
    if (rm_report_memory_limit_clause(page->run, text, sizeof text)) {
        rm_rows_begin(&page->rows, "limit", NULL);
        rm_rows_clause(&page->rows, "of memory: %s", text);
        rm_rows_end(&page->rows);
    }
}

static void write_io_row(struct page *page, const char *label, double chars, double storage,
                         const char *direction)
{
    char text[RM_HUMAN_BYTES], of_storage[RM_HUMAN_BYTES];
    rm_human_bytes(text, chars);
    rm_human_bytes(of_storage, storage);
    if (isnan(chars) && !isnan(storage)) {
        rm_rows_begin(&page->rows, label, of_storage);
        rm_rows_clause(&page->rows, "%s storage", direction);
        rm_rows_clause(&page->rows, "else unavailable: %s", reason_of(page->run, "proc_io"));
        rm_rows_end(&page->rows);
        return;
    }
    if (!begin_figure(page, label, text, !isnan(chars), "proc_io")) {
        return;
    }
    if (!isnan(storage)) {
        rm_rows_clause(&page->rows, "%s %s storage", of_storage, direction);
    }
    rm_rows_end(&page->rows);
}

/* "measured", "by a model", "12 % by a model" */
static void describe_origin(const resmon_energy *energy, char text[RM_HUMAN_BYTES + 32])
{
    bool is_modelled = energy->provenance == RESMON_PROVENANCE_MODELLED;
    char percent[RM_HUMAN_BYTES];
    if (is_modelled && energy->modelled_share < ALL_MODELLED &&
        energy->modelled_share > 1.0 - ALL_MODELLED) {
        rm_human_fixed(percent, 100.0 * energy->modelled_share, 0);
        (void)snprintf(text, RM_HUMAN_BYTES + 32, "%s %% of it by a model", percent);
    } else {
        (void)rm_text_set(text, RM_HUMAN_BYTES + 32,
                          is_modelled && !(energy->modelled_share < ALL_MODELLED) ? "by a model"
                                                                                  : "measured");
    }
}

static void write_energy(struct page *page)
{
    const resmon_energy energy = rm_run_energy(page->run);
    char text[RM_HUMAN_BYTES], all[RM_HUMAN_BYTES], grams[RM_HUMAN_BYTES];
    char intensity[RM_HUMAN_BYTES], hours[RM_HUMAN_BYTES], origin[RM_HUMAN_BYTES + 32];
    if (!rm_run_has_energy(page->run) || (isnan(energy.tree_j) && isnan(energy.node_j))) {
        return;
    }
    rm_human_joules(text, energy.tree_j);
    rm_human_joules(all, energy.node_j);
    rm_human_grams(grams, energy.tree_gco2eq);
    rm_human_watt_hours(hours, energy.tree_j / 3600.0);
    rm_human_fixed(intensity, energy.g_per_kwh, energy.g_per_kwh < 10.0 ? 2 : 0);
    rm_rows_begin(&page->rows, "energy", text);
    describe_origin(&energy, origin);
    if (isnan(energy.node_j)) {
        rm_rows_clause(&page->rows, "%s", origin);
    } else {
        rm_rows_clause(&page->rows, "of the machine's %s, %s", all, origin);
    }
    if (isnan(energy.tree_j)) {
        rm_rows_end(&page->rows);
        return;
    }
    if (energy.place[0] != '\0') {
        rm_rows_clause(&page->rows, "%s CO2eq (%s)", grams, energy.place);
    } else {
        rm_rows_clause(&page->rows, "%s CO2eq", grams);
    }
    rm_rows_clause(&page->rows, "%s", hours);
    rm_rows_clause(&page->rows, "%s g/kWh", intensity);
    rm_rows_end(&page->rows);
}

static void write_gpus(struct page *page)
{
    const struct resmon_run *run = page->run;
    bool has_any = false;
    for (size_t i = 0; i < run->column_count; i++) {
        const resmon_column *use = &run->columns[i];
        bool is_of_all =
            use->level == RESMON_LEVEL_JOB; /* a merged run has one of each node, too */
        if (strcmp(use->metric, rm_metric_name(rm_metric_of(RM_GPU_UTIL))) != 0 || use->n == 0 ||
            is_of_all != (run->node_count > 0)) {
            continue;
        }
        const resmon_column *memory = rm_run_statistics_of(run, RM_GPU_MEM_USED, use->instance);
        char percent[RM_HUMAN_BYTES], bytes[RM_HUMAN_BYTES];
        rm_human_percent(percent, use->mean);
        rm_human_bytes(bytes, memory != NULL ? memory->max : RM_NAN);
        if (!has_any) {
            rm_rows_begin(&page->rows, "GPU", NULL);
            has_any = true;
        }
        rm_rows_clause(&page->rows, "%s%s%s in use on average, memory %s at most", use->instance,
                       is_of_all ? "" : ": ", percent, bytes);
    }
    if (has_any) {
        rm_rows_end(&page->rows);
    }
}

/* ---- where ------------------------------------------------------------------------------ */

static void write_slowest(struct page *page)
{
    const struct resmon_run *run = page->run;
    const resmon_run_scope *slowest = NULL;
    for (size_t i = 0; i < run->name_count; i++) {
        const resmon_run_scope *scope = &run->names[i];
        if (slowest == NULL || scope->self_ns > slowest->self_ns) {
            slowest = scope;
        }
    }
    double duration = (double)run->info.duration_ns;
    if (slowest == NULL || !(slowest->self_ns > SLOW_SHARE * duration)) {
        return;
    }
    char text[RM_HUMAN_BYTES], percent[RM_HUMAN_BYTES], name[NAME_BYTES];
    rm_columns_shorten(name, sizeof name, slowest->name, NAME_COLUMNS);
    rm_human_seconds(text, slowest->self_ns * 1e-9);
    rm_human_percent(percent, 100.0 * slowest->self_ns / duration);
    rm_rows_begin(&page->rows, "slowest", text);
    if (slowest->concurrent_ns > 0.0 || slowest->threads > 1) {
        rm_rows_clause(&page->rows, "self time of %s, summed over threads", name);
    } else if (slowest->self_ns > duration) { /* of a killed run: it ends with its last sample */
        rm_rows_clause(&page->rows, "in %s itself", name);
    } else {
        rm_rows_clause(&page->rows, "self time of %s, %s of the run", name, percent);
    }
    rm_rows_end(&page->rows);
}

static void write_hot(struct page *page, const struct rm_profile_sums *sums, int kind,
                      const char *label)
{
    struct rm_hot hot[RM_HOT_MOST];
    char text[RM_SAMPLED_BYTES_TEXT], where[16];
    double weight = sums->weight[kind];
    size_t count = sums->samples[kind] > 0 ? rm_hot_find(sums, kind, hot) : 0;
    if (count == 0) {
        return;
    }
    if (kind == RESMON_STACK_CPU) { /* samples times their interval: near the CPU time above */
        text[0] = '~';
        rm_human_seconds(text + 1, weight * 1e-9);
    } else {
        const struct rm_sampled_bytes all = {weight, sqrt(sums->square[kind]), RM_NAN};
        (void)rm_sampled_bytes_print(text, &all);
    }
    rm_rows_begin(&page->rows, label, text);
    for (size_t i = 0; i < count && hot[i].amount >= HOT_SHARE * weight; i++) {
        where[0] = '\0';
        if (hot[i].line > 0) {
            (void)snprintf(where, sizeof where, ":%u", hot[i].line);
        }
        rm_human_fixed(text, 100.0 * hot[i].amount / weight, 0);
        rm_rows_clause(&page->rows, "%s %% %.60s%s", text, hot[i].function, where);
    }
    rm_rows_end(&page->rows);
}

static void write_profile(struct page *page, const struct rm_source_lines *sources)
{
    struct rm_profile_sums sums;
    if (!rm_profile_is_there(&page->run->profile)) {
        return;
    }
    if (rm_profile_sum(page->run, sources, &sums) == RESMON_OK) {
        write_hot(page, &sums, RESMON_STACK_CPU, "hot");
        write_hot(page, &sums, RESMON_STACK_MEMORY, "grown");
    }
    rm_profile_sums_free(&sums);
}

/* ---- what to know of the figures -------------------------------------------------------- */

/* A line each, which may be broken, and is never cut. */
static void put_advice(const struct rm_sentences *sentences, const char *text)
{
    struct rm_rows *rows = sentences->context;
    if (rows->is_tabbed) {
        rm_rows_remark(rows, "advice", text);
    } else {
        rm_buffer_printf(rows->buffer, "  %-8s   %s\n", "advice", text);
    }
}

static void write_advice(struct page *page)
{
    const struct rm_sentences sentences = {put_advice, &page->rows};
    rm_advice_say(page->run, &sentences);
    rm_rows_end(&page->rows);
}

/* What made the run slower than it would be alone, or its figures less sure. */
static void write_remarks(struct page *page)
{
    const struct resmon_run *run = page->run;
    double cpus = rm_run_fact_number(run, "machine", "cpus");
    double wall = cpus > 0.0 && page->headline.wall_s > 0.0 ? page->headline.wall_s : RM_NAN;
    double others =
        mean_of(run, RM_NODE_CPU_PERCENT_EX_STEAL) / 100.0 - page->headline.cpu_s / (wall * cpus);
    double steal = rm_run_last_of(run, RM_NODE_CPU_STEAL, NULL) / (wall * cpus);
    double held = rm_run_last_of(run, RM_CG_CPU_THROTTLED_TIME, NULL); /* summed over CPUs */
    double heat = rm_run_last_of(run, RM_NODE_CPU_THROTTLED_TIME, NULL);
    double outlived = rm_run_has_usage(run) ? rm_run_last_of(run, RM_TREE_PROCESSES, NULL) : 0.0;
    double swapped = rm_run_last_of(run, RM_PROC_MEM_SWAP, NULL);
    const struct {
        double value, least, shown;
        void (*print)(char text[RM_HUMAN_BYTES], double value);
        const char *before, *after;
    } rows[] = {
        {others, BUSY_SHARE, 100.0 * others, rm_human_percent, "other processes used ",
         " of the CPU time"},
        {steal, STEAL_SHARE, 100.0 * steal, rm_human_percent, "",
         " of the CPU time went to other virtual machines (steal)"},
        {held, HELD_SHARE * wall, held, rm_human_seconds, "a CPU quota throttled its threads for ",
         ", summed over CPUs"},
        {heat, HEAT_SHARE * wall, heat, rm_human_seconds,
         "the processors were throttled because of heat for ", ""},
        {swapped, 0.0, swapped, rm_human_bytes, "", " of its memory was swapped out at the end"},
        {outlived, 0.0, outlived, rm_human_count, "",
         " of its processes outlived it: their later use is not counted"},
        {(double)run->info.dropped_scopes, 0.0, (double)run->info.dropped_scopes, rm_human_count,
         "", " scope instances were dropped: no room"},
        {(double)run->info.dropped_forks, 0.0, (double)run->info.dropped_forks, rm_human_count, "",
         " forked processes have scopes that are not counted (resmon run counts them)"},
        {(double)run->info.dropped_rows, 0.0, (double)run->info.dropped_rows, rm_human_count, "",
         " samples were dropped because sinks were too slow"},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        if (rows[i].value > rows[i].least) {
            char text[RM_HUMAN_BYTES], remark[160];
            rows[i].print(text, rows[i].shown);
            (void)snprintf(remark, sizeof remark, "%s%s%s", rows[i].before, text, rows[i].after);
            rm_rows_remark(&page->rows, "note", remark);
        }
    }
    rm_rows_end(&page->rows);
}

/* Processes that are in no figure. */
static void write_missing_processes(struct page *page)
{
    const resmon_run_source *tree = source_of(page->run, "tree");
    if (tree != NULL && tree->provenance == RESMON_PROVENANCE_SAMPLED) {
        rm_rows_remark(&page->rows, "note", tree->reason);
    }
}

static void write_missing(struct page *page)
{
    char reason[RM_ROWS_CLAUSE_BYTES];
    for (size_t at = 0; rm_report_next_missing(page->run, &at, reason, sizeof reason);) {
        rm_rows_remark(&page->rows, "missing", reason);
    }
    rm_rows_end(&page->rows);
}

static void write_cost(struct page *page)
{
    const resmon_run_info *info = &page->run->info;
    double share = (double)info->library_cpu_ns / (double)info->duration_ns;
    char text[RM_HUMAN_BYTES], part[RM_HUMAN_BYTES];
    rm_human_seconds(text, (double)info->library_cpu_ns * 1e-9);
    size_t ranks = page->run->rank_count;
    rm_human_fixed(part, 100.0 * share / (ranks > 0 ? (double)ranks : 1.0), 2);
    rm_rows_begin(&page->rows, "cost", text);
    if (info->duration_ns > 0) {
        rm_rows_clause(&page->rows, "of CPU time for observing, %s %% of one CPU%s", part,
                       ranks > 1 ? " for each rank" : "");
    } else {
        rm_rows_clause(&page->rows, "of CPU time for observing");
    }
    if (isfinite(info->rss_bytes)) {
        rm_human_bytes(part, info->rss_bytes);
        rm_rows_clause(&page->rows, "%s of the memory", part);
    }
    if (page->run->scope_count > 0) {
        rm_human_seconds(part, info->scopes_ns * 1e-9);
        rm_rows_clause(&page->rows, "%s added by scopes", part);
    }
    rm_rows_end(&page->rows);
}

static void write_more(struct page *page)
{
    bool is_of_command = rm_run_fact_number(page->run, "run", "pid") !=
                         rm_run_fact_number(page->run, "run", "observer_pid");
    rm_rows_begin(&page->rows, "more", NULL);
    rm_rows_clause(&page->rows, "full report: %s",
                   is_of_command ? "--summary=full" : "RESMON=summary=full");
    rm_rows_clause(&page->rows, "or of a file: resmon report --full FILE");
    if (!is_of_command) {
        rm_rows_clause(&page->rows, "in Python: summary.text(full=True)");
    }
    rm_rows_end(&page->rows);
}

static void write_figures(struct page *page)
{
    const resmon_headline *headline = &page->headline;
    write_wall(page);
    if (page->run->column_count > 0) {
        write_cpu(page);
        if (is_of_group(page->run) && !isnan(page->headline.tree_rss_max_bytes)) {
            write_group_memory(page);
        } else {
            write_memory(page);
        }
        write_limit(page);
        write_io_row(page, "read", headline->read_chars, headline->read_bytes, "from");
        write_io_row(page, "written", headline->write_chars, headline->write_bytes, "to");
        write_energy(page);
        write_gpus(page);
    }
}

void rm_report_brief(struct rm_buffer *buffer, const struct resmon_run *run,
                     const struct rm_report_terms *terms)
{
    struct page page = {.rows = {.buffer = buffer,
                                 .width = terms->width,
                                 .is_tabbed = terms->detail == RESMON_REPORT_ROWS},
                        .run = run,
                        .headline = rm_run_headline(run)};
    if (!page.rows.is_tabbed) {
        write_answer(&page);
    }
    write_figures(&page);
    write_slowest(&page);
    write_profile(&page, terms->sources);
    rm_report_job_rows(&page.rows, run);
    if (!page.rows.is_tabbed) {
        rm_report_phases_briefly(buffer, run, terms->width);
        rm_report_processes(buffer, run, terms->width);
        rm_buffer_puts(buffer, "\n");
        rm_report_job(buffer, run, terms->width, RM_REPORT_JOB_BRIEF);
    }
    write_advice(&page);
    write_remarks(&page);
    write_missing_processes(&page);
    write_missing(&page);
    write_cost(&page);
    if (!page.rows.is_tabbed) {
        write_more(&page);
    }
}

/* SPDX-License-Identifier: MIT */
#include "view/answers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "base/human.h"
#include "base/text.h"
#include "metric/metric.h"
#include "run/energy.h"
#include "run/headline.h"
#include "view/advice.h"
#include "view/facts.h"
#include "view/job.h"
#include "view/metrics.h"
#include "view/profile_sums.h"

#define NAME_COLUMNS    32
#define TITLE_COLUMNS   40
#define COMMAND_COLUMNS 200
#define NAME_BYTES      160
#define END_BYTES       128

/* What is worth a word: */
#define BUSY_SHARE   0.25   /* of the machine's capacity, used by others */
#define STEAL_SHARE  0.02   /* of the machine's capacity, taken by the hypervisor */
#define HELD_SHARE   0.05   /* of the wall time, held back by a quota */
#define HEAT_SHARE   0.02   /* of the wall time, slowed by heat */
#define SLOW_SHARE   0.05   /* of the run, in one phase itself */
#define HOT_SHARE    0.01   /* of the samples, in one function */
#define NOT_WAITED_S 0.01   /* of children, beyond rounding */
#define ALL_MODELLED 0.995  /* a share that is all, rounded to percent */
#define NEAR_PEAK    0.95   /* a scope that saw so much of the peak saw it */
#define LEAST_SHMEM  0x1p24 /* bytes, that files in tmpfs grew by */
#define SHMEM_SHARE  0.1    /* of the RSS beside it */
#define MOST_ERROR   0.125  /* of the peak, that the error of RSS counters is taken for at most */

/* Rows that are being made. */
struct answers {
    struct rm_page *page;
    struct rm_page_rows *rows;
    struct rm_page_row *row; /* that clauses go to */
    const struct resmon_run *run;
    const struct rm_profile_sums *sums;
    resmon_headline headline;
};

/* `value` NULL: the clauses begin where values do. */
static void begin(struct answers *answers, const char *label, const char *value)
{
    answers->row = rm_page_answer(answers->page, answers->rows, label, value);
}

#define clause(answers, ...) rm_page_clause((answers)->page, (answers)->row, __VA_ARGS__)

/* Of one label, behind each other. */
static void remark(struct answers *answers, const char *label, const char *text)
{
    if (answers->row == NULL || strcmp(answers->row->label, label) != 0) {
        begin(answers, label, NULL);
    }
    clause(answers, "%s", text);
}

/* ---- figures of the run ----------------------------------------------------------------- */

static double mean_of(const struct resmon_run *run, uint32_t metric)
{
    const resmon_column *stats = rm_run_statistics_of(run, metric, NULL);
    return stats != NULL ? stats->mean : RM_NAN;
}

/* Why a source has no figures; "" when it has, or is not known. */
static const char *reason_of(const struct resmon_run *run, const char *name)
{
    const resmon_run_source *source = rm_subject_source(run, name);
    return source != NULL ? source->reason : "";
}

/* Begins the row of a figure; false where it is not known, which has a row if there is a reason. */
static bool begin_figure(struct answers *answers, const char *label, const char *value,
                         bool is_known, const char *source)
{
    const char *reason = is_known ? "" : reason_of(answers->run, source);
    if (is_known || reason[0] != '\0') {
        begin(answers, label, value);
    }
    if (!is_known && reason[0] != '\0') {
        clause(answers, "not known: %s", reason);
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
const char *rm_answers_statement(const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    const resmon_headline *headline = &subject->headline;
    double at_once = rm_run_memory_at_once(run, headline);
    bool is_modelled = rm_run_energy(run).provenance == RESMON_PROVENANCE_MODELLED;
    const struct {
        const char *before;
        double value;
        const char *unit, *after;
    } figures[] = {
        {"", headline->cpu_s, "s", " of CPU time"},
        {"",
         is_of_group(run) ? headline->tree_rss_max_bytes
         : isnan(at_once) ? headline->rss_peak_bytes
                          : at_once,
         "B", " of memory"},
        {is_modelled ? "about " : "", headline->energy_j, "J", ""},
    };
    char end[END_BYTES];
    describe_end(run, end);
    bool is_known = !isnan(headline->wall_s);
    const char *text = rm_page_print(
        page, "%s %s%s%s", rm_page_shortened(page, rm_run_title(run), TITLE_COLUMNS), end,
        is_known ? " " : "", is_known ? rm_page_value(page, headline->wall_s, "s") : "");
    for (size_t i = 0; i < RM_ARRAY_LEN(figures); i++) {
        if (!isnan(figures[i].value)) {
            text = rm_page_print(page, "%s, %s%s%s", text, figures[i].before,
                                 rm_page_value(page, figures[i].value, figures[i].unit),
                                 figures[i].after);
        }
    }
    return text;
}

/* "failed: ValueError: no such column (exit status 1)" */
void rm_answers_failure(const struct rm_subject *subject, struct rm_page_list *list)
{
    const resmon_run_end end = rm_run_end(subject->run);
    const char *cut = rm_run_fact_text(subject->run, "run", RM_FACT_CUT);
    if (end.reason == RESMON_END_FAILED && end.text[0] != '\0' && end.exit_status != 0) {
        rm_page_say(subject->page, list, "failed: %s (exit status %d)", end.text, end.exit_status);
    } else if (end.reason == RESMON_END_FAILED && end.text[0] != '\0') {
        rm_page_say(subject->page, list, "failed: %s", end.text);
    } else if (end.reason == RESMON_END_FAILED && end.exit_status != 0) {
        rm_page_say(subject->page, list, "failed: exit status %d", end.exit_status);
    } else if (end.reason == RESMON_END_UNKNOWN && end.text[0] != '\0') {
        rm_page_say(subject->page, list, "%s", end.text);
    }
    if (cut[0] != '\0') {
        rm_page_say(subject->page, list, "the end of the recording is missing: there are %s", cut);
    }
}

/* What was run, and on which machine. */
void rm_answers_identity(const struct rm_subject *subject, struct rm_page_list *list)
{
    const struct resmon_run *run = subject->run;
    struct rm_page *page = subject->page;
    const char *command = rm_run_fact_text(run, "run", "command_line");
    const char *kernel = rm_run_fact_text(run, "machine", "kernel");
    double cpus = rm_run_fact_number(run, "machine", "cpus");
    double bytes = rm_run_fact_number(run, "machine", "memory_bytes");
    const char *const machine[] = {
        rm_run_fact_text(run, "machine", "host_name"),
        rm_run_fact_text(run, "machine", "os"),
        kernel[0] != '\0' ? rm_page_print(page, "Linux %s", kernel) : "",
        rm_run_fact_text(run, "machine", "cpu_model"),
        isnan(cpus) ? ""
                    : rm_page_print(page, "%s CPUs", rm_page_human(page, rm_human_count, cpus)),
        isnan(bytes) ? "" : rm_page_value(page, bytes, "B")};
    bool is_observed = rm_run_fact_text(run, "run", RM_FACT_OBSERVED)[0] != '\0';
    if (command[0] != '\0') {
        rm_page_say(page, list, "%s", rm_page_shown_at_most(page, command, COMMAND_COLUMNS));
    }
    const char *where = rm_page_join(page, ", ", machine, RM_ARRAY_LEN(machine));
    if (where[0] != '\0') {
        rm_page_say(page, list, "%s", where);
    }
    if (run->info.label[0] != '\0') {
        rm_page_say(page, list, "label: %s", run->info.label);
    }
    if (strcmp(run->info.state, "interrupted") == 0 && !is_observed) {
        rm_page_say(page, list,
                    "The program ended without stopping its monitor (killed, or out of memory); "
                    "this is what it had recorded.");
    }
}

/* Since when, by the clock of whoever reads it (TZ), and where. */
static void write_wall(struct answers *answers)
{
    const struct resmon_run *run = answers->run;
    char text[RM_HUMAN_BYTES], memory[RM_HUMAN_BYTES], cpus[RM_HUMAN_BYTES], since[48] = "";
    time_t start = (time_t)(run->info.start_realtime_ns / 1000000000);
    struct tm parts;
    rm_human_seconds(text, answers->headline.wall_s);
    begin(answers, "wall", text);
    if (run->info.start_realtime_ns > 0 && localtime_r(&start, &parts) != NULL &&
        strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S %Z", &parts) > 0) {
        clause(answers, "since %s", since);
    }
    double known_cpus = rm_run_fact_number(run, "machine", "cpus");
    if (!isnan(known_cpus)) {
        const char *node = rm_run_node_name(run);
        double bytes = rm_run_fact_number(run, "machine", "memory_bytes");
        rm_human_count(cpus, known_cpus);
        rm_human_bytes(memory, bytes);
        clause(answers, "on %s%s%s CPUs%s%s", node, node[0] != '\0' ? ": " : "", cpus,
               isnan(bytes) ? "" : ", ", isnan(bytes) ? "" : memory);
    }
    if (run->info.label[0] != '\0') {
        clause(answers, "label %s", run->info.label);
    }
}

/* "3.517 s user + 874.7 ms system, and 1.2 s of its children"; nothing where only the sum is known.
 */
static void add_cpu_parts(struct answers *answers)
{
    const resmon_headline *headline = &answers->headline;
    double own = headline->cpu_user_s + headline->cpu_system_s;
    char user[RM_HUMAN_BYTES], system[RM_HUMAN_BYTES], children[RM_HUMAN_BYTES];
    rm_human_seconds(user, headline->cpu_user_s);
    rm_human_seconds(system, headline->cpu_system_s);
    rm_human_seconds(children, fmax(0.0, headline->cpu_s - own));
    if (!isnan(own) && has_children(answers->run) && !rm_run_has_usage(answers->run)) {
        clause(answers, "%s user + %s system, and %s of its children", user, system, children);
    } else if (!isnan(own) && headline->cpu_s - own > 0.02 * headline->cpu_s + NOT_WAITED_S) {
        clause(answers, "%s user + %s system, and %s of processes not waited for", user, system,
               children);
    } else if (!isnan(own)) {
        clause(answers, "%s user + %s system", user, system);
    }
}

/* It ended between two samples, and nobody said what it had used by then. */
static bool has_ended_unseen(const struct resmon_run *run)
{
    const resmon_run_source *source = rm_subject_source(run, "proc_cpu");
    return source != NULL && source->status == RESMON_ESRCH && !rm_run_has_usage(run);
}

static void write_cpu(struct answers *answers)
{
    const resmon_headline *headline = &answers->headline;
    bool is_partial = has_ended_unseen(answers->run) && !isnan(headline->cpu_s);
    char text[RM_HUMAN_BYTES + 4] = "";
    (void)rm_text_set(text, sizeof text, is_partial ? ">= " : "");
    rm_human_seconds(text + strlen(text), headline->cpu_s);
    if (rm_run_has_one_sample(answers->run) ||
        !begin_figure(answers, "CPU", text, !isnan(headline->cpu_s), "proc_cpu")) {
        return;
    }
    add_cpu_parts(answers);
    if (is_partial) {
        clause(answers, "up to the last sample before its end");
    }
    if (headline->wall_s > 0.0) {
        rm_human_fixed(text, headline->cpu_s / headline->wall_s, 2);
        clause(answers, "%s CPUs on average", text);
    }
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
static void write_group_memory(struct answers *answers)
{
    const resmon_column *charged = rm_run_statistics_of(answers->run, RM_CG_MEM_CURRENT, NULL);
    char text[RM_HUMAN_BYTES + 4] = ">= ", group[RM_HUMAN_BYTES];
    rm_human_bytes(text + strlen(text), answers->headline.tree_rss_max_bytes);
    if (!begin_figure(answers, "memory", text, true, "tree")) {
        return;
    }
    clause(answers, "RSS of all processes, sampled");
    if (charged != NULL) {
        rm_human_bytes(group, charged->max);
        clause(answers, "the cgroup holds %s, with page cache", group);
    }
}

/* Of several processes, what they had at once comes first, and then the largest. */
static bool begin_memory(struct answers *answers)
{
    const resmon_headline *headline = &answers->headline;
    double at_once = rm_run_memory_at_once(answers->run, headline);
    double peak = headline->rss_peak_bytes;
    bool is_exact = headline->rss_peak_provenance == RESMON_PROVENANCE_MEASURED;
    bool is_of_largest = rm_run_has_usage(answers->run) && has_children(answers->run);
    char text[RM_HUMAN_BYTES + 4] = "", largest[RM_HUMAN_BYTES + 4] = "";
    (void)rm_text_set(largest, sizeof largest, is_exact || isnan(peak) ? "" : ">= ");
    rm_human_bytes(largest + strlen(largest), peak);
    rm_human_bytes(text, at_once);
    if (!begin_figure(answers, "memory", isnan(at_once) ? largest : text, !isnan(peak),
                      "proc_mem")) {
        return false;
    }
    if (!isnan(at_once)) {
        clause(answers, "all processes together, sampled");
        clause(answers, "%s %s%s",
               answers->run->rank_count > 0 ? "largest rank"
               : is_of_largest              ? "largest process"
                                            : "this process",
               largest, is_exact ? ", exact" : "");
    } else {
        clause(answers, "peak RSS%s, %s",
               answers->run->rank_count > 0 ? " of the largest rank"
               : is_of_largest              ? " of the largest process"
                                            : "",
               is_exact ? "exact" : "sampled");
    }
    return true;
}

/* Files in tmpfs are memory, too, and in nobody's RSS. */
static void add_shmem(struct answers *answers)
{
    const resmon_column *shmem = rm_run_statistics_of(answers->run, RM_CG_MEM_SHMEM, NULL);
    double grown = shmem != NULL ? shmem->max - shmem->first : 0.0;
    if (grown > LEAST_SHMEM && grown > SHMEM_SHARE * answers->headline.rss_peak_bytes) {
        char text[RM_HUMAN_BYTES];
        rm_human_bytes(text, grown);
        clause(answers, "files in tmpfs and shared memory of its cgroup grew by %s more", text);
    }
}

static void write_memory(struct answers *answers)
{
    const char *scope = scope_of_peak(answers->run, answers->headline.rss_peak_bytes);
    char name[NAME_BYTES];
    if (!begin_memory(answers)) {
        return;
    }
    add_shmem(answers);
    if (scope != NULL) {
        rm_columns_shorten(name, sizeof name, scope, NAME_COLUMNS);
        clause(answers, "highest in %s", name);
    } else if (answers->run->scope_count > 0 && !has_scope_peaks(answers->run)) {
        clause(answers, "by phase with scopes=wall+rss");
    }
}

/* The memory limit of the control group, where the run came near it. */
static void write_limit(struct answers *answers)
{
    const char *text = rm_memory_limit_text(answers->page, answers->run);
    if (text != NULL) {
        begin(answers, "limit", NULL);
        clause(answers, "of memory: %s", text);
    }
}

static void write_io_row(struct answers *answers, const char *label, double chars, double storage,
                         const char *direction)
{
    char text[RM_HUMAN_BYTES], of_storage[RM_HUMAN_BYTES];
    rm_human_bytes(text, chars);
    rm_human_bytes(of_storage, storage);
    if (isnan(chars) && !isnan(storage)) {
        begin(answers, label, of_storage);
        clause(answers, "%s storage", direction);
        clause(answers, "else unavailable: %s", reason_of(answers->run, "proc_io"));
        return;
    }
    if (!begin_figure(answers, label, text, !isnan(chars), "proc_io")) {
        return;
    }
    if (!isnan(storage)) {
        clause(answers, "%s %s storage", of_storage, direction);
    }
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

static void write_energy(struct answers *answers)
{
    const resmon_energy energy = rm_run_energy(answers->run);
    char text[RM_HUMAN_BYTES], all[RM_HUMAN_BYTES], grams[RM_HUMAN_BYTES];
    char intensity[RM_HUMAN_BYTES], hours[RM_HUMAN_BYTES], origin[RM_HUMAN_BYTES + 32];
    if (!rm_run_has_energy(answers->run) || (isnan(energy.tree_j) && isnan(energy.node_j))) {
        return;
    }
    rm_human_joules(text, energy.tree_j);
    rm_human_joules(all, energy.node_j);
    rm_human_grams(grams, energy.tree_gco2eq);
    rm_human_watt_hours(hours, energy.tree_j / 3600.0);
    rm_human_fixed(intensity, energy.g_per_kwh, energy.g_per_kwh < 10.0 ? 2 : 0);
    begin(answers, "energy", text);
    describe_origin(&energy, origin);
    if (isnan(energy.node_j)) {
        clause(answers, "%s", origin);
    } else {
        clause(answers, "of the machine's %s, %s", all, origin);
    }
    if (isnan(energy.tree_j)) {
        return;
    }
    if (energy.place[0] != '\0') {
        clause(answers, "%s CO2eq (%s)", grams, energy.place);
    } else {
        clause(answers, "%s CO2eq", grams);
    }
    clause(answers, "%s", hours);
    clause(answers, "%s g/kWh", intensity);
}

static void write_gpus(struct answers *answers)
{
    const struct resmon_run *run = answers->run;
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
            begin(answers, "GPU", NULL);
            has_any = true;
        }
        clause(answers, "%s%s%s in use on average, memory %s at most", use->instance,
               is_of_all ? "" : ": ", percent, bytes);
    }
}

/* ---- where ------------------------------------------------------------------------------ */

static void write_slowest(struct answers *answers)
{
    const struct resmon_run *run = answers->run;
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
    begin(answers, "slowest", text);
    if (slowest->concurrent_ns > 0.0 || slowest->threads > 1) {
        clause(answers, "self time of %s, summed over threads", name);
    } else if (slowest->self_ns > duration) { /* of a killed run: it ends with its last sample */
        clause(answers, "in %s itself", name);
    } else {
        clause(answers, "self time of %s, %s of the run", name, percent);
    }
}

static void write_hot(struct answers *answers, const struct rm_profile_sums *sums, int kind,
                      const char *label)
{
    struct rm_hot hot[RM_HOT_MOST];
    double weight = sums->weight[kind];
    size_t count = sums->samples[kind] > 0 ? rm_hot_find(sums, kind, hot) : 0;
    if (count == 0) {
        return;
    }
    /* Samples times their interval: near the CPU time above. */
    begin(
        answers, label,
        kind == RESMON_STACK_CPU
            ? rm_page_print(answers->page, "~%s", rm_page_value(answers->page, weight * 1e-9, "s"))
            : rm_sampled_text(answers->page, kind,
                              (struct rm_sampled){weight, sums->square[kind], RM_NAN}));
    for (size_t i = 0; i < count && hot[i].amount >= HOT_SHARE * weight; i++) {
        clause(answers, "%s %% %.60s%s",
               rm_page_fixed(answers->page, 100.0 * hot[i].amount / weight, 0), hot[i].function,
               hot[i].line > 0 ? rm_page_print(answers->page, ":%u", hot[i].line) : "");
    }
}

static void write_profile(struct answers *answers)
{
    if (answers->sums != NULL) {
        write_hot(answers, answers->sums, RESMON_STACK_CPU, "hot");
        write_hot(answers, answers->sums, RESMON_STACK_MEMORY, "grown");
    }
}

/* ---- what to know of the figures -------------------------------------------------------- */

/* A row each. */
static void write_advice(struct answers *answers)
{
    struct rm_page_list advice = {0};
    rm_advice_say(answers->page, answers->run, &advice);
    for (size_t i = 0; i < advice.count; i++) {
        begin(answers, "advice", NULL);
        clause(answers, "%s", advice.items[i]);
    }
}

/* What made the run slower than it would be alone, or its figures less sure. */
static void write_remarks(struct answers *answers)
{
    const struct resmon_run *run = answers->run;
    double cpus = rm_run_fact_number(run, "machine", "cpus");
    double wall = cpus > 0.0 && answers->headline.wall_s > 0.0 ? answers->headline.wall_s : RM_NAN;
    double others = mean_of(run, RM_NODE_CPU_PERCENT_EX_STEAL) / 100.0 -
                    answers->headline.cpu_s / (wall * cpus);
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
            char text[RM_HUMAN_BYTES];
            rows[i].print(text, rows[i].shown);
            remark(answers, "note",
                   rm_page_print(answers->page, "%s%s%s", rows[i].before, text, rows[i].after));
        }
    }
}

/* Processes that are in no figure. */
static void write_missing_processes(struct answers *answers)
{
    const resmon_run_source *tree = rm_subject_source(answers->run, "tree");
    if (tree != NULL && tree->provenance == RESMON_PROVENANCE_SAMPLED) {
        remark(answers, "note", tree->reason);
    }
}

static void write_missing(struct answers *answers)
{
    struct rm_page_list missing = {0};
    rm_missing_say(answers->page, answers->run, &missing);
    for (size_t i = 0; i < missing.count; i++) {
        remark(answers, "missing", missing.items[i]);
    }
}

static void write_cost(struct answers *answers)
{
    const resmon_run_info *info = &answers->run->info;
    double share = (double)info->library_cpu_ns / (double)info->duration_ns;
    char text[RM_HUMAN_BYTES], part[RM_HUMAN_BYTES];
    rm_human_seconds(text, (double)info->library_cpu_ns * 1e-9);
    size_t ranks = answers->run->rank_count;
    rm_human_fixed(part, 100.0 * share / (ranks > 0 ? (double)ranks : 1.0), 2);
    begin(answers, "cost", text);
    if (info->duration_ns > 0) {
        clause(answers, "of CPU time for observing, %s %% of one CPU%s", part,
               ranks > 1 ? " for each rank" : "");
    } else {
        clause(answers, "of CPU time for observing");
    }
    if (isfinite(info->rss_bytes)) {
        rm_human_bytes(part, info->rss_bytes);
        clause(answers, "%s of the memory", part);
    }
    if (answers->run->scope_count > 0) {
        rm_human_seconds(part, info->scopes_ns * 1e-9);
        clause(answers, "%s added by scopes", part);
    }
}

static void write_more(struct answers *answers)
{
    bool is_of_command = rm_run_fact_number(answers->run, "run", "pid") !=
                         rm_run_fact_number(answers->run, "run", "observer_pid");
    begin(answers, "more", NULL);
    clause(answers, "full report: %s", is_of_command ? "--summary=full" : "RESMON=summary=full");
    clause(answers, "or of a file: resmon report --full FILE");
    if (!is_of_command) {
        clause(answers, "in Python: summary.text(full=True)");
    }
}

static void write_figures(struct answers *answers)
{
    const resmon_headline *headline = &answers->headline;
    write_wall(answers);
    if (answers->run->column_count > 0) {
        write_cpu(answers);
        if (is_of_group(answers->run) && !isnan(answers->headline.tree_rss_max_bytes)) {
            write_group_memory(answers);
        } else {
            write_memory(answers);
        }
        write_limit(answers);
        write_io_row(answers, "read", headline->read_chars, headline->read_bytes, "from");
        write_io_row(answers, "written", headline->write_chars, headline->write_bytes, "to");
        write_energy(answers);
        write_gpus(answers);
    }
}

static struct answers answers_of(const struct rm_subject *subject, struct rm_page_rows *rows)
{
    return (struct answers){.page = subject->page,
                            .rows = rows,
                            .run = subject->run,
                            .sums = subject->sums,
                            .headline = subject->headline};
}

void rm_answers_figures(const struct rm_subject *subject, struct rm_page_rows *rows)
{
    struct answers answers = answers_of(subject, rows);
    write_figures(&answers);
    write_slowest(&answers);
    write_profile(&answers);
    rm_job_answers(subject, rows);
}

void rm_answers_remarks(const struct rm_subject *subject, struct rm_page_rows *rows, bool has_more)
{
    struct answers answers = answers_of(subject, rows);
    write_advice(&answers);
    write_remarks(&answers);
    write_missing_processes(&answers);
    write_missing(&answers);
    write_cost(&answers);
    if (has_more) {
        write_more(&answers);
    }
}

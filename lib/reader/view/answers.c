/* SPDX-License-Identifier: MIT */
#include "view/builders.h"
#include "view/profile.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "metric/metric.h"
#include "run/energy.h"
#include "run/headline.h"

#define NAME_COLUMNS 32

/* Thresholds from which on something is reported: */
#define BUSY_SHARE   0.25   /* of the machine's CPU time, used by other processes */
#define STEAL_SHARE  0.02   /* of the machine's CPU time, taken by the hypervisor */
#define HELD_SHARE   0.05   /* of the wall time, throttled by a quota */
#define HEAT_SHARE   0.02   /* of the wall time, throttled because of heat */
#define SLOW_SHARE   0.05   /* of the wall time, self time of one scope */
#define HOT_SHARE    0.01   /* of the samples, in one function */
#define NOT_WAITED_S 0.01   /* CPU time of children, more than rounding errors */
#define ALL_MODELLED 0.995  /* a share that is shown as 100 % */
#define NEAR_PEAK    0.95   /* of the peak: a scope with such a peak contains it */
#define LEAST_SHMEM  0x1p24 /* bytes by which files in tmpfs grew, */
#define SHMEM_SHARE  0.1    /* and relative to the RSS */
#define MOST_ERROR   0.125  /* of the peak: upper bound for the error of RSS counters */

/* Rows while they are built. */
struct answers {
    struct rm_page *page;
    struct rm_page_rows *rows;
    struct rm_page_row *row; /* the last one, to which clauses are added */
    const struct resmon_run *run;
    const struct rm_profile_sums *sums;
    resmon_headline headline;
};

/* `value` NULL: the clauses begin in its place. */
static void begin(struct answers *answers, const char *label, const char *value)
{
    answers->row = rm_page_answer(answers->page, answers->rows, label, value);
}

#define clause(answers, ...) rm_page_clause((answers)->page, (answers)->row, __VA_ARGS__)

/* Remarks with the same label share a row. */
static void remark(struct answers *answers, const char *label, const char *text)
{
    if (answers->row == NULL || strcmp(answers->row->label, label) != 0) {
        begin(answers, label, NULL);
    }
    clause(answers, "%s", text);
}

static const char *seconds(const struct answers *answers, double value)
{
    return rm_page_value(answers->page, value, "s");
}

static const char *bytes(const struct answers *answers, double value)
{
    return rm_page_value(answers->page, value, "B");
}

/* A lower bound, if it is not exact. */
static const char *at_least(const struct answers *answers, bool is_exact, const char *text)
{
    return is_exact ? text : rm_page_print(answers->page, ">= %s", text);
}

/* ---- values of the run -------------------------------------------------------------------- */

static double mean_of(const struct resmon_run *run, uint32_t metric)
{
    const resmon_column *stats = rm_run_statistics_of(run, metric, NULL);
    return stats != NULL ? stats->mean : RM_NAN;
}

/* Why a source has no values; "" if it has, or the reason is not known. */
static const char *reason_of(const struct resmon_run *run, const char *name)
{
    const resmon_run_source *source = rm_subject_source(run, name);
    return source != NULL ? source->reason : "";
}

/* Begins the row of a value.  false: it is not known; then there is a row only if there is a
 * reason. */
static bool begin_value(struct answers *answers, const char *label, const char *value,
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

/* The start by the time zone of the reader (TZ), and the machine. */
static void write_wall(struct answers *answers)
{
    const struct resmon_run *run = answers->run;
    char since[48] = "";
    time_t start = (time_t)(run->info.start_realtime_ns / 1000000000);
    struct tm parts;
    begin(answers, "wall", seconds(answers, answers->headline.wall_s));
    if (run->info.start_realtime_ns > 0 && localtime_r(&start, &parts) != NULL &&
        strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S %Z", &parts) > 0) {
        clause(answers, "since %s", since);
    }
    double cpus = rm_run_fact_number(run, "machine", "cpus");
    if (!isnan(cpus)) {
        const char *node = rm_run_node_name(run);
        double memory = rm_run_fact_number(run, "machine", "memory_bytes");
        clause(answers, "on %s%s%s CPUs%s%s", node, node[0] != '\0' ? ": " : "",
               rm_page_value(answers->page, cpus, ""), isnan(memory) ? "" : ", ",
               isnan(memory) ? "" : bytes(answers, memory));
    }
    if (run->info.label[0] != '\0') {
        clause(answers, "label %s", run->info.label);
    }
}

/* "3.517 s user + 874.7 ms system, and 1.2 s of its children"; nothing if only the sum is known. */
static void add_cpu_parts(struct answers *answers)
{
    const resmon_headline *headline = &answers->headline;
    double own = headline->cpu_user_s + headline->cpu_system_s;
    double rest = fmax(0.0, headline->cpu_s - own);
    const char *of_rest = "";
    if (isnan(own)) {
        return;
    }
    if (has_children(answers->run) && !rm_run_has_usage(answers->run)) {
        of_rest = "of its children";
    } else if (headline->cpu_s - own > 0.02 * headline->cpu_s + NOT_WAITED_S) {
        of_rest = "of processes not waited for";
    }
    bool has_rest = of_rest[0] != '\0';
    clause(answers, "%s user + %s system%s%s%s%s", seconds(answers, headline->cpu_user_s),
           seconds(answers, headline->cpu_system_s), has_rest ? ", and " : "",
           has_rest ? seconds(answers, rest) : "", has_rest ? " " : "", of_rest);
}

/* The process ended between two samples, and its parent did not report its CPU time. */
static bool has_ended_unseen(const struct resmon_run *run)
{
    const resmon_run_source *source = rm_subject_source(run, "proc_cpu");
    return source != NULL && source->status == RESMON_ESRCH && !rm_run_has_usage(run);
}

static void write_cpu(struct answers *answers)
{
    const resmon_headline *headline = &answers->headline;
    bool is_partial = has_ended_unseen(answers->run) && !isnan(headline->cpu_s);
    const char *text = at_least(answers, !is_partial, seconds(answers, headline->cpu_s));
    if (rm_run_has_one_sample(answers->run) ||
        !begin_value(answers, "CPU", text, !isnan(headline->cpu_s), "proc_cpu")) {
        return;
    }
    add_cpu_parts(answers);
    if (is_partial) {
        clause(answers, "up to the last sample before its end");
    }
    if (headline->wall_s > 0.0) {
        clause(answers, "%s CPUs on average",
               rm_page_fixed(answers->page, headline->cpu_s / headline->wall_s, 2));
    }
}

/* By how much the peak of a scope (the kernel's high-water mark) may be below the sampled RSS. */
static double error_of_peak(const struct resmon_run *run, double peak)
{
    double bound = rm_run_fact_number(run, "machine", "rss_error_bound_bytes");
    return isnan(bound) ? 0.0 : fmin(bound, MOST_ERROR * peak);
}

/* The innermost scope with the highest peak; NULL: no scope contains the peak of the run, which may
 * be outside of all scopes. */
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

/* The memory of a cgroup: the RSS of its processes, and what the kernel charges to it. */
static void write_group_memory(struct answers *answers)
{
    const resmon_column *charged = rm_run_statistics_of(answers->run, RM_CG_MEM_CURRENT, NULL);
    const char *text = bytes(answers, answers->headline.tree_rss_max_bytes);
    if (!begin_value(answers, "memory", at_least(answers, false, text), true, "tree")) {
        return;
    }
    clause(answers, "RSS of all processes, sampled");
    if (charged != NULL) {
        clause(answers, "the cgroup holds %s, with page cache", bytes(answers, charged->max));
    }
}

/* Of several processes, their RSS at the same time comes first, and then the largest process. */
static bool begin_memory(struct answers *answers)
{
    const resmon_headline *headline = &answers->headline;
    double at_once = rm_run_memory_at_once(answers->run, headline);
    double peak = headline->rss_peak_bytes;
    bool is_exact = headline->rss_peak_provenance == RESMON_PROVENANCE_MEASURED;
    bool is_of_largest = rm_run_has_usage(answers->run) && has_children(answers->run);
    const char *largest = at_least(answers, is_exact || isnan(peak), bytes(answers, peak));
    if (!begin_value(answers, "memory", isnan(at_once) ? largest : bytes(answers, at_once),
                     !isnan(peak), "proc_mem")) {
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

/* Files in tmpfs are memory, too, but not part of the RSS of a process. */
static void add_shmem(struct answers *answers)
{
    const resmon_column *shmem = rm_run_statistics_of(answers->run, RM_CG_MEM_SHMEM, NULL);
    double grown = shmem != NULL ? shmem->max - shmem->first : 0.0;
    if (grown > LEAST_SHMEM && grown > SHMEM_SHARE * answers->headline.rss_peak_bytes) {
        clause(answers, "files in tmpfs and shared memory of its cgroup grew by %s more",
               bytes(answers, grown));
    }
}

static void write_memory(struct answers *answers)
{
    const char *scope = scope_of_peak(answers->run, answers->headline.rss_peak_bytes);
    if (!begin_memory(answers)) {
        return;
    }
    add_shmem(answers);
    if (scope != NULL) {
        clause(answers, "highest in %s", rm_page_shortened(answers->page, scope, NAME_COLUMNS));
    } else if (answers->run->scope_count > 0 && !has_scope_peaks(answers->run)) {
        clause(answers, "by phase with scopes=wall+rss");
    }
}

static void write_limit(struct answers *answers)
{
    const char *text = rm_memory_limit_text(answers->page, answers->run);
    if (text != NULL) {
        begin(answers, "limit", NULL);
        clause(answers, "of memory: %s", text);
    }
}

static void write_labels(struct answers *answers)
{
    const char *labels = rm_subject_labels(answers->page, answers->run);
    if (labels[0] != '\0') {
        begin(answers, "labels", NULL);
        clause(answers, "%s", labels);
    }
}

static void write_io_row(struct answers *answers, const char *label, double chars, double storage,
                         const char *direction)
{
    const char *of_storage = bytes(answers, storage);
    if (isnan(chars) && !isnan(storage)) {
        begin(answers, label, of_storage);
        clause(answers, "%s storage", direction);
        clause(answers, "else unavailable: %s", reason_of(answers->run, "proc_io"));
    } else if (begin_value(answers, label, bytes(answers, chars), !isnan(chars), "proc_io") &&
               !isnan(storage)) {
        clause(answers, "%s %s storage", of_storage, direction);
    }
}

/* "measured", "by a model", "12 % of it by a model" */
static const char *origin_text(struct rm_page *page, const resmon_energy *energy)
{
    double share = energy->modelled_share;
    if (energy->provenance != RESMON_PROVENANCE_MODELLED) {
        return "measured";
    }
    if (share < ALL_MODELLED && share > 1.0 - ALL_MODELLED) {
        return rm_page_print(page, "%s %% of it by a model", rm_page_fixed(page, 100.0 * share, 0));
    }
    return share < ALL_MODELLED ? "measured" : "by a model";
}

static void write_energy(struct answers *answers)
{
    const resmon_energy energy = rm_run_energy(answers->run);
    struct rm_page *page = answers->page;
    if (!rm_run_has_energy(answers->run) || (isnan(energy.tree_j) && isnan(energy.node_j))) {
        return;
    }
    begin(answers, "energy", rm_page_value(page, energy.tree_j, "J"));
    if (isnan(energy.node_j)) {
        clause(answers, "%s", origin_text(page, &energy));
    } else {
        clause(answers, "of the machine's %s, %s", rm_page_value(page, energy.node_j, "J"),
               origin_text(page, &energy));
    }
    if (isnan(energy.tree_j)) {
        return;
    }
    const char *grams = rm_page_value(page, energy.tree_gco2eq, "g");
    if (energy.place[0] != '\0') {
        clause(answers, "%s CO2eq (%s)", grams, energy.place);
    } else {
        clause(answers, "%s CO2eq", grams);
    }
    clause(answers, "%s", rm_page_value(page, energy.tree_j / 3600.0, "Wh"));
    clause(answers, "%s g/kWh",
           rm_page_fixed(page, energy.g_per_kwh, energy.g_per_kwh < 10.0 ? 2 : 0));
}

static void write_gpus(struct answers *answers)
{
    const struct resmon_run *run = answers->run;
    bool has_any = false;
    for (size_t i = 0; i < run->column_count; i++) {
        const resmon_column *use = &run->columns[i];
        /* A merged run has a column of all GPUs, besides those of each node. */
        bool is_of_all = use->level == RESMON_LEVEL_JOB;
        if (strcmp(use->metric, rm_metric_name(rm_metric_of(RM_GPU_UTIL))) != 0 || use->n == 0 ||
            is_of_all != (run->node_count > 0)) {
            continue;
        }
        const resmon_column *memory = rm_run_statistics_of(run, RM_GPU_MEM_USED, use->instance);
        if (!has_any) {
            begin(answers, "GPU", NULL);
            has_any = true;
        }
        clause(answers, "%s%s%s in use on average, memory %s at most", use->instance,
               is_of_all ? "" : ": ", rm_page_value(answers->page, use->mean, "%"),
               bytes(answers, memory != NULL ? memory->max : RM_NAN));
    }
}

/* ---- scopes and functions ----------------------------------------------------------------- */

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
    const char *name = rm_page_shortened(answers->page, slowest->name, NAME_COLUMNS);
    begin(answers, "slowest", seconds(answers, slowest->self_ns * 1e-9));
    if (slowest->concurrent_ns > 0.0 || slowest->threads > 1) {
        clause(answers, "self time of %s, summed over threads", name);
    } else if (slowest->self_ns > duration) { /* of a killed run: it ends with its last sample */
        clause(answers, "in %s itself", name);
    } else {
        clause(answers, "self time of %s, %s of the run", name,
               rm_page_value(answers->page, 100.0 * slowest->self_ns / duration, "%"));
    }
}

static void write_hot(struct answers *answers, const struct rm_profile_sums *sums, int kind,
                      const char *label)
{
    struct rm_hot hot[RM_HOT_MOST];
    double weight = sums->weight[kind];
    size_t count = rm_profile_kind_is_shown(sums, kind) ? rm_hot_find(sums, kind, hot) : 0;
    if (count == 0) {
        return;
    }
    /* Samples times their interval: close to the CPU time of the row "CPU", not equal. */
    begin(answers, label,
          kind == RESMON_STACK_CPU
              ? rm_page_print(answers->page, "~%s", seconds(answers, weight * 1e-9))
              : rm_sampled_text(answers->page, kind,
                                (struct rm_sampled){weight, sums->square[kind], RM_NAN}));
    for (size_t i = 0; i < count && hot[i].amount >= HOT_SHARE * weight; i++) {
        clause(answers, "%s %% %.60s%s",
               rm_page_fixed(answers->page, 100.0 * hot[i].amount / weight, 0), hot[i].function,
               hot[i].line > 0 ? rm_page_print(answers->page, ":%u", hot[i].line) : "");
    }
}

/* Also that nothing is still there. */
static void write_kept(struct answers *answers, const struct rm_profile_sums *sums)
{
    bool is_known = answers->run->profile.kinds[RESMON_STACK_RESIDENT].status == RESMON_OK;
    if (is_known && sums->samples[RESMON_STACK_MEMORY] > 0 &&
        sums->samples[RESMON_STACK_RESIDENT] == 0) {
        begin(answers, "kept", "0 B");
    }
    write_hot(answers, sums, RESMON_STACK_RESIDENT, "kept");
}

static void write_profile(struct answers *answers)
{
    if (answers->sums != NULL) {
        write_hot(answers, answers->sums, RESMON_STACK_CPU, "hot");
        write_hot(answers, answers->sums, RESMON_STACK_MEMORY, "grown");
        write_kept(answers, answers->sums);
    }
}

/* ---- remarks ------------------------------------------------------------------------------ */

static void write_advice(struct answers *answers)
{
    struct rm_page_list advice = {0};
    rm_advice_say(answers->page, answers->run, &advice);
    for (size_t i = 0; i < advice.count; i++) {
        begin(answers, "advice", NULL);
        clause(answers, "%s", advice.items[i]);
    }
}

/* What slowed the run down, or makes its values less certain. */
static void write_disturbances(struct answers *answers)
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
        const char *unit, *before, *after;
    } rows[] = {
        {others, BUSY_SHARE, 100.0 * others, "%", "other processes used ", " of the CPU time"},
        {steal, STEAL_SHARE, 100.0 * steal, "%", "",
         " of the CPU time went to other virtual machines (steal)"},
        {held, HELD_SHARE * wall, held, "s", "a CPU quota throttled its threads for ",
         ", summed over CPUs"},
        {heat, HEAT_SHARE * wall, heat, "s", "the processors were throttled because of heat for ",
         ""},
        {swapped, 0.0, swapped, "B", "", " of its memory was swapped out at the end"},
        {outlived, 0.0, outlived, "", "",
         " of its processes outlived it: their later use is not counted"},
        {(double)run->info.dropped_scopes, 0.0, (double)run->info.dropped_scopes, "", "",
         " scope instances were dropped: no room"},
        {(double)run->info.dropped_forks, 0.0, (double)run->info.dropped_forks, "", "",
         " forked processes have scopes that are not counted (resmon run counts them)"},
        {(double)run->info.dropped_rows, 0.0, (double)run->info.dropped_rows, "", "",
         " samples were dropped because sinks were too slow"},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        if (rows[i].value > rows[i].least) {
            remark(answers, "note",
                   rm_page_print(answers->page, "%s%s%s", rows[i].before,
                                 rm_page_value(answers->page, rows[i].shown, rows[i].unit),
                                 rows[i].after));
        }
    }
}

/* Processes that no value includes. */
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
    size_t ranks = answers->run->rank_count;
    begin(answers, "cost", seconds(answers, (double)info->library_cpu_ns * 1e-9));
    if (info->duration_ns > 0) {
        clause(answers, "of CPU time for observing, %s %% of one CPU%s",
               rm_page_fixed(answers->page, 100.0 * share / (ranks > 0 ? (double)ranks : 1.0), 2),
               ranks > 1 ? " for each rank" : "");
    } else {
        clause(answers, "of CPU time for observing");
    }
    if (isfinite(info->rss_bytes)) {
        clause(answers, "%s of the memory", bytes(answers, info->rss_bytes));
    }
    if (answers->run->scope_count > 0) {
        clause(answers, "%s added by scopes", seconds(answers, info->scopes_ns * 1e-9));
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
    bool is_of_group = rm_run_is_of_group(answers->run);
    write_wall(answers);
    if (answers->run->column_count > 0) {
        write_cpu(answers);
        if (is_of_group && !isnan(headline->tree_rss_max_bytes)) {
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
    write_labels(answers);
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
    write_disturbances(&answers);
    write_missing_processes(&answers);
    write_missing(&answers);
    write_cost(&answers);
    if (has_more) {
        write_more(&answers);
    }
}

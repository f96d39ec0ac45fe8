/* SPDX-License-Identifier: MIT */
#include "view/builders.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "merge/job_use.h"
#include "metric/metric.h"
#include "run/scope_sums.h"
#include "view/view.h"

/* The limits of advice.def as constants. */
#define RM_ADVICE_LIMIT(name, value, help) static const double name = (value);
#include "view/advice.def"
#undef RM_ADVICE_LIMIT

struct situation {
    const struct resmon_run *run;
    struct rm_page *page;
    struct rm_page_list *advice;
    struct rm_job_use use;
};

#define advise(situation, ...) rm_page_say((situation)->page, (situation)->advice, __VA_ARGS__)

static const resmon_column *of_job(const struct resmon_run *run, uint32_t metric)
{
    return rm_run_statistics_of(run, metric, "");
}

static const char *seconds(const struct situation *situation, double value)
{
    return rm_page_value(situation->page, value, "s");
}

static const char *bytes(const struct situation *situation, double value)
{
    return rm_page_value(situation->page, value, "B");
}

static const char *count(const struct situation *situation, double value)
{
    return rm_page_value(situation->page, value, "");
}

/* A share in percent: "19", and "0.8" for a small one. */
static const char *percent(const struct situation *situation, double share)
{
    return rm_page_fixed(situation->page, 100.0 * share, share < 0.1 ? 1 : 0);
}

/* ---- rules of advice --------------------------------------------------------------------------
 */

static void judge_cpu(const struct situation *situation)
{
    double used = situation->use.cpu_s, all = situation->use.cpu_capacity_s;
    double busy = used / situation->use.seconds;
    if (!(used < CPU_LOW * all)) {
        return;
    }
    const char *busy_text = rm_page_fixed(situation->page, busy, 2);
    const char *cpus = count(situation, situation->use.cpus);
    if (situation->use.cpus > 1.0 && busy >= SERIAL_FROM && busy <= SERIAL_TO) {
        advise(situation,
               "CPU: %s of %s CPUs was busy on average: the program seems to be serial, and would "
               "take as long with one",
               busy_text, cpus);
        return;
    }
    advise(situation,
           "CPU: %s of the %s that %s CPUs had were used, %s %%%s: %s of them were busy on average",
           seconds(situation, used), seconds(situation, all), cpus, percent(situation, used / all),
           used < CPU_BAD * all ? ", which is little" : "", busy_text);
}

/* Judges the share of memory in use on the node that used most bytes. */
static void judge_memory(const struct situation *situation)
{
    if (!situation->use.has_fullest) {
        return;
    }
    const struct rm_node_use node = rm_node_use_of(situation->run, situation->use.fullest);
    double share = node.used_bytes / node.bytes;
    if (share < MEMORY_LOW || share > MEMORY_FULL) {
        advise(situation,
               "memory: at most %s of %s for a node were in use (on %.64s), %s %%: ask for %s next "
               "time, %.1f times as much as that",
               bytes(situation, node.used_bytes), bytes(situation, node.bytes),
               situation->run->nodes[situation->use.fullest].name, percent(situation, share),
               bytes(situation, MEMORY_ROOM * node.used_bytes), MEMORY_ROOM);
    }
}

static void judge_gpu(const struct situation *situation)
{
    const resmon_column *use = of_job(situation->run, RM_GPU_UTIL);
    if (use != NULL && use->mean < 100.0 * GPU_LOW) {
        advise(situation, "GPUs: the %s had work for %s %% of the time%s",
               count(situation, rm_run_fact_number(situation->run, "machine", "gpus")),
               percent(situation, use->mean / 100.0),
               use->mean < 100.0 * GPU_BAD ? ", which is little" : "");
    }
}

static void judge_time(const struct situation *situation)
{
    double limit = rm_run_fact_number(situation->run, "job", "time_limit_s");
    double used = situation->use.seconds, share = used / limit;
    if (share < TIME_LOW && situation->run->end.reason == RESMON_END_FINISHED) {
        advise(situation,
               "time: %s of %s were used, %s %%: with a limit of %s it may be started sooner%s",
               seconds(situation, used), seconds(situation, limit), percent(situation, share),
               seconds(situation, TIME_ROOM * used), share < TIME_BAD ? ", by much" : "");
    }
}

static void judge_io(const struct situation *situation)
{
    const resmon_column *waited = of_job(situation->run, RM_NODE_PSI_IO_SOME);
    if (waited != NULL && waited->mean > IO_WAIT) {
        advise(situation, "I/O: some task of a node waited for it in %s %% of the time",
               percent(situation, waited->mean));
    }
}

static void judge_imbalance(const struct situation *situation)
{
    const struct resmon_run *run = situation->run;
    resmon_scope_spread worst;
    char rank[RM_RANK_NAME_BYTES];
    double all_ns = situation->use.seconds * 1e9 * (double)run->rank_count;
    int64_t scope = rm_run_most_uneven(run, IMBALANCE, &worst);
    if (scope >= 0 && worst.lost_ns > LOST * all_ns) {
        rm_rank_describe(run, (size_t)worst.max_rank, rank);
        advise(situation,
               "imbalance: in %.64s %s took %s, the mean of %" PRIu64
               " is %s (%s more): if all wait for it, %s of the ranks' time are lost",
               run->scopes[scope].name, rank, seconds(situation, worst.max_ns * 1e-9), worst.ranks,
               seconds(situation, worst.mean_ns * 1e-9),
               rm_page_fixed(situation->page, worst.imbalance, 2),
               seconds(situation, worst.lost_ns * 1e-9));
    }
}

static void judge_swap(const struct situation *situation)
{
    for (size_t i = 0; i < situation->run->node_count; i++) {
        const resmon_column *swap = rm_run_node_statistics(situation->run, RM_NODE_SWAP_USED, i);
        if (swap != NULL && swap->max - swap->first > SWAP_BYTES) {
            advise(situation,
                   "swap: %s were moved out of memory on %.64s, which slows everything down",
                   bytes(situation, swap->max - swap->first), situation->run->nodes[i].name);
            return;
        }
    }
}

/* The node with the largest share of memory on remote NUMA nodes. */
static void judge_numa(const struct situation *situation)
{
    double most = NUMA;
    const char *name = NULL;
    for (size_t i = 0; i < situation->run->node_count; i++) {
        const resmon_column *local = rm_run_node_statistics(situation->run, RM_NODE_NUMA_LOCAL, i);
        const resmon_column *other = rm_run_node_statistics(situation->run, RM_NODE_NUMA_OTHER, i);
        if (local != NULL && other != NULL && other->last > most * (local->last + other->last)) {
            most = other->last / (local->last + other->last);
            name = situation->run->nodes[i].name;
        }
    }
    if (name != NULL) {
        advise(situation,
               "NUMA: %s %% of the memory that was allocated on %.64s is on another NUMA node than "
               "the CPU that asked for it: bind ranks to NUMA nodes (srun --cpu-bind=ldoms, mpirun "
               "--bind-to numa)",
               percent(situation, most), name);
    }
}

static void judge_heat(const struct situation *situation)
{
    for (size_t i = 0; i < situation->run->node_count; i++) {
        const resmon_run_node *node = &situation->run->nodes[i];
        const resmon_column *heat =
            rm_run_node_statistics(situation->run, RM_NODE_CPU_THROTTLED_TIME, i);
        double whole = (double)node->duration_ns * 1e-9;
        if (heat != NULL && heat->last > HEAT * whole) {
            advise(situation,
                   "heat: the processors of %.64s were slowed down for %s of %s: tell the "
                   "administrators to check its cooling",
                   node->name, seconds(situation, heat->last), seconds(situation, whole));
            return;
        }
    }
}

static void judge_throttling(const struct situation *situation)
{
    const resmon_column *held = of_job(situation->run, RM_CG_CPU_THROTTLED_TIME);
    if (held != NULL && held->last > THROTTLED * situation->use.cpu_s) {
        advise(
            situation,
            "quota: threads that could have run were throttled for %s, with %s of CPU time used: "
            "there are more threads than CPUs",
            seconds(situation, held->last), seconds(situation, situation->use.cpu_s));
    }
}

static void (*const rules[])(const struct situation *situation) = {
    judge_cpu,       judge_memory, judge_gpu,  judge_time, judge_io,
    judge_imbalance, judge_swap,   judge_numa, judge_heat, judge_throttling,
};

void rm_advice_say(struct rm_page *page, const struct resmon_run *run, struct rm_page_list *advice)
{
    const struct situation situation = {run, page, advice, rm_job_use_of(run)};
    if (run->node_count == 0 || situation.use.seconds < SHORT_S) {
        return;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(rules); i++) {
        rules[i](&situation);
    }
}

/* ---- seff ------------------------------------------------------------------------------------ */

#define GIGABYTE 1073741824.0

static void put_text(struct rm_buffer *buffer, const char *label, const char *text)
{
    if (text[0] != '\0') {
        rm_buffer_printf(buffer, "%s: %s\n", label, text);
    }
}

/* "1-02:03:04", Slurm's format of times. */
static void put_time(struct rm_buffer *buffer, double seconds)
{
    uint64_t whole = seconds < 1e15 ? (uint64_t)llround(seconds) : 0;
    if (whole >= 86400) {
        rm_buffer_printf(buffer, "%" PRIu64 "-", whole / 86400);
    }
    rm_buffer_printf(buffer, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, whole / 3600 % 24,
                     whole / 60 % 60, whole % 60);
}

/* With a point in every locale. */
static void put_fixed(struct rm_buffer *buffer, double value)
{
    uint64_t hundredths = value >= 0.0 && value < 1e15 ? (uint64_t)llround(value * 100.0) : 0;
    rm_buffer_printf(buffer, "%" PRIu64 ".%02" PRIu64, hundredths / 100, hundredths % 100);
}

static void put_gigabytes(struct rm_buffer *buffer, double bytes)
{
    put_fixed(buffer, bytes / GIGABYTE);
    rm_buffer_puts(buffer, " GB");
}

/* Whether the kernel killed a process of the job for lack of memory. */
static bool is_out_of_memory(const struct resmon_run *run)
{
    const resmon_column *kills = rm_run_statistics_of(run, RM_CG_MEM_EVENTS_OOM_KILL, "");
    return rm_end_is_out_of_memory(&run->end) || (kills != NULL && kills->last > 0.0);
}

/* Whether the job ran up to its time limit; one minute less is possible, as Slurm ends jobs within
 * a minute. */
static bool is_over_time(const struct resmon_run *run)
{
    double limit_s = rm_run_fact_number(run, "job", "time_limit_s");
    return (double)run->info.duration_ns * 1e-9 > limit_s - 60.0;
}

/* The sender of a signal is not known, so the state is an estimate. */
static const char *state_of_killed(const struct resmon_run *run)
{
    return is_out_of_memory(run) ? "OUT_OF_MEMORY" : is_over_time(run) ? "TIMEOUT" : "CANCELLED";
}

/* The states of sacct. */
static void put_state(struct rm_buffer *buffer, const struct resmon_run *run)
{
    static const char *const states[] = {
        [RESMON_END_RUNNING] = "RUNNING",
        [RESMON_END_FINISHED] = "COMPLETED",
        [RESMON_END_FAILED] = "FAILED",
        [RESMON_END_INTERRUPTED] = "CANCELLED",
    };
    const int32_t reason = rm_run_end(run).reason;
    bool is_known = reason >= 0 && (size_t)reason < RM_ARRAY_LEN(states);
    const char *state = reason == RESMON_END_KILLED               ? state_of_killed(run)
                        : is_known && states[reason] != NULL      ? states[reason]
                        : is_out_of_memory(run)                   ? "OUT_OF_MEMORY"
                        : strcmp(run->info.state, "stopped") != 0 ? "NODE_FAIL"
                                                                  : "UNKNOWN";
    rm_buffer_printf(buffer, "State: %s (exit code %d)\n", state, run->end.exit_status);
}

static void put_cpu(struct rm_buffer *buffer, const struct rm_job_use *use)
{
    if (isnan(use->cpu_s)) {
        return;
    }
    rm_buffer_puts(buffer, "CPU Utilized: ");
    put_time(buffer, use->cpu_s);
    rm_buffer_puts(buffer, "\n");
    if (use->cpu_capacity_s > 0.0) {
        rm_buffer_puts(buffer, "CPU Efficiency: ");
        put_fixed(buffer, 100.0 * use->cpu_s / use->cpu_capacity_s);
        rm_buffer_puts(buffer, "% of ");
        put_time(buffer, use->cpu_capacity_s);
        rm_buffer_puts(buffer, " core-walltime\n");
    }
}

static void put_memory(struct rm_buffer *buffer, const struct rm_job_use *use)
{
    if (use->used_bytes > 0.0) {
        rm_buffer_puts(buffer, "Memory Utilized: ");
        put_gigabytes(buffer, use->used_bytes);
        rm_buffer_puts(buffer, "\n");
    }
    if (use->used_bytes > 0.0 && use->bytes > 0.0) {
        rm_buffer_puts(buffer, "Memory Efficiency: ");
        put_fixed(buffer, 100.0 * use->used_bytes / use->bytes);
        rm_buffer_puts(buffer, "% of ");
        put_gigabytes(buffer, use->bytes);
        rm_buffer_puts(buffer, "\n");
    }
}

void rm_seff_write(struct rm_buffer *buffer, const struct resmon_run *run)
{
    const struct rm_job_use use = rm_job_use_of(run);
    put_text(buffer, "Job ID", rm_run_fact_text(run, "job", "id"));
    put_text(buffer, "Cluster", rm_run_fact_text(run, "job", "cluster"));
    put_state(buffer, run);
    rm_buffer_printf(buffer, "Nodes: %zu\n", run->node_count);
    if (use.cpus > 0.0) {
        rm_buffer_printf(buffer, "Cores per node: %.0f\n",
                         floor(use.cpus / (double)run->node_count));
    }
    put_cpu(buffer, &use);
    rm_buffer_puts(buffer, "Job Wall-clock time: ");
    put_time(buffer, use.seconds);
    rm_buffer_puts(buffer, "\n");
    put_memory(buffer, &use);
}

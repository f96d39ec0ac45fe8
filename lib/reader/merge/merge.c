/* SPDX-License-Identifier: MIT */
#include "merge/merge.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/monitor.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "merge/steps.h"
#include "run/headline.h"
#include "run/record.h"

/* ---- nodes: the facts that their runs have, and which runs measured the machine -------------- */

#define MISSING "missing"

const char *rm_merge_keep(struct rm_merge *merge, const char *text)
{
    return rm_arena_keep(&merge->strings, text, SIZE_MAX);
}

/* By a name as rm_merge_keep() has cleaned it; UINT32_MAX: not found. */
static uint32_t find_node(const struct rm_merge *merge, const char *name)
{
    for (size_t i = 0; i < merge->node_count; i++) {
        if (strcmp(merge->nodes[i].node.name, name) == 0) {
            return (uint32_t)i;
        }
    }
    return UINT32_MAX;
}

static bool new_node(struct rm_merge *merge, const resmon_run_node *from)
{
    struct rm_merge_node *node =
        rm_append(&merge->nodes, &merge->node_count, &merge->node_room, sizeof *node);
    if (node == NULL) {
        return false;
    }
    node->node = *from;
    node->node.name = rm_merge_keep(merge, from->name);
    node->node.state = rm_merge_keep(merge, from->state);
    node->node.cpu_model = rm_merge_keep(merge, from->cpu_model);
    node->node.gpu_model = rm_merge_keep(merge, from->gpu_model);
    node->node.kernel = rm_merge_keep(merge, from->kernel);
    return true;
}

static int badness(const char *state)
{
    static const char *const states[] = {MISSING, "stopped", "running", "interrupted"};
    int found = 0;
    for (int i = 0; i < (int)RM_ARRAY_LEN(states); i++) {
        found = strcmp(state, states[i]) == 0 ? i : found;
    }
    return found;
}

/* Drops the metrics of a node that the machine has, or all processes of the job: another run has
 * better ones. */
static void forget(struct rm_merge *merge, struct rm_merge_node *node, bool is_of_job)
{
    struct rm_merge_column *column;
    for (uint32_t i = node->column_1; i > 0; i = column->next_1) {
        column = &merge->columns[i - 1];
        const struct rm_merge_kind *kind = &merge->kinds[column->kind];
        if (kind->is_of_host && kind->is_of_job == is_of_job) {
            rm_free(column->cells);
            column->cells = NULL;
            column->parts = 0;
        }
    }
}

/* Of runs that measured a machine at the same time, the longest one counts; runs that measured it
 * one after the other all count.  False: this run does not count. */
static bool take_watch(struct rm_merge *merge, struct rm_merge_node *node,
                       const resmon_run_node *more)
{
    resmon_run_node *own = &node->node;
    const struct rm_merge_watch watch = {more->host_start_ns,
                                         more->host_start_ns + more->host_duration_ns};
    bool is_beside = node->watch_count == RM_MERGE_WATCHES;
    if (more->host_duration_ns < 0) {
        return false;
    }
    for (size_t i = 0; i < node->watch_count; i++) {
        is_beside |=
            node->watches[i].from_ns < watch.to_ns && watch.from_ns < node->watches[i].to_ns;
        is_beside |= node->watches[i].from_ns == watch.from_ns; /* of no time at all */
    }
    bool is_better = more->host_duration_ns != own->host_duration_ns
                         ? more->host_duration_ns > own->host_duration_ns
                         : more->host_start_ns < own->host_start_ns;
    if (is_beside && !is_better) {
        return false;
    }
    if (is_beside) {
        forget(merge, node, false);
        node->watch_count = 0;
    }
    int64_t end_ns = own->host_start_ns + own->host_duration_ns;
    bool is_first = node->watch_count == 0;
    own->host_start_ns =
        is_first || watch.from_ns < own->host_start_ns ? watch.from_ns : own->host_start_ns;
    own->host_duration_ns =
        (is_first || watch.to_ns > end_ns ? watch.to_ns : end_ns) - own->host_start_ns;
    node->watches[node->watch_count++] = watch;
    return true;
}

/* Of monitors that measured the job's processes at the same time, the longest one counts; of those
 * one after the other, all. */
static void take_job(struct rm_merge *merge, struct rm_merge_node *node,
                     struct rm_merge_place *place, const resmon_run_node *more, bool is_merged)
{
    const struct rm_merge_watch watch = {more->start_ns, more->start_ns + more->duration_ns};
    struct rm_merge_watch *own = &node->of_job;
    bool is_beside = node->has_job && own->from_ns < watch.to_ns && watch.from_ns < own->to_ns;
    bool is_better = watch.to_ns - watch.from_ns > own->to_ns - own->from_ns;
    if (more->has_job == 0 || (is_beside && !is_better)) {
        return;
    }
    if (is_beside) {
        forget(merge, node, true);
    }
    bool is_alone = is_beside || !node->has_job;
    place->is_job = true;
    place->job_order = is_alone ? 0 : watch.from_ns >= own->to_ns ? 1 : -1;
    own->from_ns = is_alone || watch.from_ns < own->from_ns ? watch.from_ns : own->from_ns;
    own->to_ns = is_alone || watch.to_ns > own->to_ns ? watch.to_ns : own->to_ns;
    node->has_job = true;
    node->is_settled |= is_merged;
}

static void take_span(resmon_run_node *node, const resmon_run_node *more)
{
    int64_t end_ns = more->start_ns + more->duration_ns;
    if (more->duration_ns < 0) {
        return;
    }
    if (node->duration_ns >= 0) {
        int64_t own_end_ns = node->start_ns + node->duration_ns;
        end_ns = end_ns > own_end_ns ? end_ns : own_end_ns;
        node->start_ns = node->start_ns < more->start_ns ? node->start_ns : more->start_ns;
    } else {
        node->start_ns = more->start_ns;
    }
    node->duration_ns = end_ns - node->start_ns;
}

static void take_known(double *number, double other)
{
    *number = isnan(*number) ? other : *number;
}

static void take_text(struct rm_merge *merge, const char **text, const char *other)
{
    if ((*text)[0] == '\0' && other[0] != '\0') {
        *text = rm_merge_keep(merge, other);
    }
}

/* Adds the facts that a run has of a node; not the machine's metrics. */
static void take_node(struct rm_merge *merge, resmon_run_node *node, const resmon_run_node *more)
{
    take_span(node, more);
    node->index = node->index < 0 ? more->index : node->index;
    node->ranks += more->ranks;
    node->clock_error_ns = fmax(node->clock_error_ns, more->clock_error_ns);
    take_known(&node->cpus, more->cpus);
    take_known(&node->memory_bytes, more->memory_bytes);
    take_known(&node->allotted_cpus, more->allotted_cpus);
    take_known(&node->allotted_bytes, more->allotted_bytes);
    take_known(&node->gpus, more->gpus);
    take_known(&node->sockets, more->sockets);
    take_known(&node->cores, more->cores);
    take_known(&node->numa_nodes, more->numa_nodes);
    if (badness(more->state) > badness(node->state)) {
        node->state = rm_merge_keep(merge, more->state);
    }
    take_text(merge, &node->cpu_model, more->cpu_model);
    take_text(merge, &node->gpu_model, more->gpu_model);
    take_text(merge, &node->kernel, more->kernel);
}

static resmon_run_node unknown_node(const char *name)
{
    resmon_run_node node;
    rm_record_clear(RM_RECORD_node, &node);
    node.name = name;
    node.state = MISSING;
    node.index = -1;
    node.duration_ns = -1;
    node.host_duration_ns = -1;
    return node;
}

/* The node of this name; a new one is missing until a run of it is added.  UINT32_MAX: no memory.
 */
static uint32_t node_named(struct rm_merge *merge, const char *name)
{
    const resmon_run_node node = unknown_node(rm_merge_keep(merge, name));
    uint32_t found = find_node(merge, node.name);
    bool is_new = !merge->strings.is_broken && found == UINT32_MAX && new_node(merge, &node);
    return is_new ? (uint32_t)merge->node_count - 1 : found;
}

resmon_status rm_merge_expect(struct rm_merge *merge, const char *name)
{
    return node_named(merge, name) != UINT32_MAX && !merge->strings.is_broken
               ? RESMON_OK
               : rm_error(RESMON_ENOMEM, "out of memory for the nodes of a job");
}

/* Order of the machine's metrics of a run relative to the merged ones: before (-1), after (1), or
 * between (0). */
static int order_of(const resmon_run_node *node, const resmon_run_node *more)
{
    if (more->host_start_ns >= node->host_start_ns + node->host_duration_ns) {
        return 1;
    }
    return more->host_start_ns + more->host_duration_ns <= node->host_start_ns ? -1 : 0;
}

/* Node `i` of the input becomes a node of the merge, or is added to one.  False: no memory. */
static bool add_node(struct rm_merge *merge, struct rm_merge_input *input, size_t i)
{
    resmon_run_node more = input->nodes[i];
    struct rm_merge_place *place = &input->places[i];
    place->node = node_named(merge, more.name);
    if (place->node == UINT32_MAX) {
        return false;
    }
    more.start_ns += input->start_ns;
    more.host_start_ns += input->start_ns;
    struct rm_merge_node *node = &merge->nodes[place->node];
    place->host_order = order_of(&node->node, &more);
    place->is_host = take_watch(merge, node, &more);
    take_job(merge, node, place, &more, input->is_merged);
    take_node(merge, &node->node, &more);
    return true;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for the runs of a job");
}

void rm_merge_begin(struct rm_merge *merge)
{
    *merge = (struct rm_merge){.width_ns = RM_MERGE_WIDTH};
    rm_record_clear(RM_RECORD_run, &merge->info);
    rm_record_clear(RM_RECORD_overhead, &merge->info);
    rm_record_clear(RM_RECORD_dropped, &merge->info);
    rm_record_clear(RM_RECORD_usage, &merge->usage);
}

void rm_merge_free(struct rm_merge *merge)
{
    for (size_t i = 0; i < merge->column_count; i++) {
        rm_free(merge->columns[i].cells);
    }
    rm_free(merge->columns);
    rm_free(merge->kinds);
    rm_map_free(&merge->column_map);
    rm_map_free(&merge->kind_map);
    rm_free(merge->nodes);
    rm_free(merge->ranks);
    rm_free(merge->walls);
    rm_free(merge->sources);
    rm_free(merge->machine.at);
    rm_free(merge->work);
    rm_free(merge->lowest.facts.at);
    rm_free(merge->lowest.tags);
    rm_run_paths_free(&merge->paths);
    rm_arena_free(&merge->strings);
    *merge = (struct rm_merge){.width_ns = 0};
}

/* ---- a run as input ------------------------------------------------------------------------- */

static double lesser_error(const struct resmon_run *run)
{
    return fmin(rm_run_fact_number(run, "run", RM_FACT_CLOCK_ERROR),
                rm_run_fact_number(run, "run", RM_FACT_END_CLOCK_ERROR));
}

/* Where the clock was corrected while the run lasted, the corrected clock gives the start. */
static int64_t start_of(const struct resmon_run *run)
{
    double step = rm_run_fact_number(run, "run", RM_FACT_CLOCK_STEP);
    bool is_better = rm_run_fact_number(run, "run", RM_FACT_END_CLOCK_ERROR) <
                     rm_run_fact_number(run, "run", RM_FACT_CLOCK_ERROR);
    int64_t start_ns = run->info.start_realtime_ns;
    return is_better && fabs(step) < 1e18 ? start_ns + (int64_t)step : start_ns;
}

static int64_t whole(double number)
{
    return number >= 0.0 && number < 0x1p62 ? (int64_t)number : -1;
}

/* A run of the machine without any process is no rank, nor is one of all processes of the job. */
static bool is_of_machine(const struct resmon_run *run)
{
    double domains = rm_run_fact_number(run, "settings", "domains");
    if (rm_run_is_of_job(run)) {
        return true;
    }
    return run->scope_count == 0 && domains > 0.0 && domains < 0x1p53 &&
           ((uint64_t)domains & (RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_TREE)) == 0;
}

/* A monitor of the job that saw a process of it: in a pid namespace of its own it sees none. */
static bool has_processes_of_job(const struct resmon_run *run)
{
    const resmon_column *processes = rm_run_statistics_of(run, RM_TREE_PROCESSES, NULL);
    return rm_run_is_of_job(run) && processes != NULL && processes->max > 0.0;
}

static resmon_run_node node_of_run(const struct resmon_run *run)
{
    bool is_of_host = rm_run_reports_host(run);
    const resmon_run_node node = {
        .struct_size = sizeof node,
        .name = rm_run_node_name(run),
        .state = run->info.state,
        .index = whole(rm_run_fact_number(run, "job", "node_index")),
        .duration_ns = run->info.duration_ns,
        .host_duration_ns = is_of_host ? run->info.duration_ns : -1,
        .clock_error_ns = lesser_error(run),
        .ranks = is_of_machine(run) ? 0 : 1,
        .has_job = has_processes_of_job(run),
        .cpus = rm_run_fact_number(run, "machine", "cpus"),
        .memory_bytes = rm_run_fact_number(run, "machine", "memory_bytes"),
        .allotted_cpus = rm_run_fact_number(run, "job", "node_cpus"),
        .allotted_bytes = rm_run_fact_number(run, "job", "node_memory_bytes"),
        .gpus = rm_run_fact_number(run, "machine", "gpus"),
        .cpu_model = rm_run_fact_text(run, "machine", "cpu_model"),
        .gpu_model = rm_run_fact_text(run, "machine", "gpu_model"),
        .kernel = rm_run_fact_text(run, "machine", "kernel"),
        .sockets = rm_run_fact_number(run, "machine", "sockets"),
        .cores = rm_run_fact_number(run, "machine", "cores"),
        .numa_nodes = rm_run_fact_number(run, "machine", "numa_nodes"),
    };
    return node;
}

static resmon_run_rank rank_of_run(const struct resmon_run *run)
{
    const resmon_headline headline = rm_run_headline(run);
    const resmon_run_end end = rm_run_end(run);
    const resmon_run_rank rank = {
        .struct_size = sizeof rank,
        .rank = whole(rm_run_fact_number(run, "job", "rank")),
        .local_rank = whole(rm_run_fact_number(run, "job", "local_rank")),
        .pid = rm_run_pid(run),
        .name = rm_run_title(run),
        .state = run->info.state,
        .duration_ns = run->info.duration_ns,
        .cpu_s = headline.cpu_s,
        .cpu_user_s = headline.cpu_user_s,
        .cpu_system_s = headline.cpu_system_s,
        .rss_peak_bytes = headline.rss_peak_bytes,
        .rss_peak_provenance = headline.rss_peak_provenance,
        .read_bytes = headline.read_bytes,
        .write_bytes = headline.write_bytes,
        .energy_j = headline.energy_j,
        .reason = end.reason,
        .exit_status = end.exit_status,
        .signal_number = end.signal_number,
        .text = end.text,
    };
    return rank;
}

/* ---- ranks and their scopes ----------------------------------------------------------------- */

/* Whether the merge has this rank of this node already; `node` is cleaned. */
static bool is_there(const struct rm_merge *merge, const struct rm_merge_input *input,
                     const resmon_run_rank *rank, const char *node)
{
    for (size_t i = 0; i < merge->rank_count; i++) {
        const resmon_run_rank *other = &merge->ranks[i];
        if (other->rank == rank->rank && other->pid == rank->pid &&
            other->start_ns == input->start_ns + rank->start_ns &&
            strcmp(merge->nodes[other->node].node.name, node) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_time(int64_t start_ns, int64_t duration_ns)
{
    return start_ns > -RM_MERGE_LONGEST && start_ns < RM_MERGE_LONGEST && duration_ns >= -1 &&
           duration_ns < RM_MERGE_LONGEST;
}

/* Bounds of arithmetic without overflow: the year 2116, and durations of 36 years. */
static resmon_status check_times(const struct rm_merge_input *input)
{
    bool is_well = input->start_ns >= 0 && input->start_ns < INT64_MAX / 2;
    for (size_t i = 0; i < input->node_count; i++) {
        const resmon_run_node *node = &input->nodes[i];
        is_well &= is_time(node->start_ns, node->duration_ns) &&
                   is_time(node->host_start_ns, node->host_duration_ns);
    }
    for (size_t i = 0; i < input->rank_count; i++) {
        is_well &= is_time(input->ranks[i].start_ns, input->ranks[i].duration_ns);
    }
    return is_well ? RESMON_OK : rm_error(RESMON_EFORMAT, "its times are not possible");
}

static resmon_status check_ranks(struct rm_merge *merge, const struct rm_merge_input *input)
{
    for (size_t i = 0; i < input->rank_count; i++) {
        const resmon_run_rank *rank = &input->ranks[i];
        if (rank->node < 0 || (size_t)rank->node >= input->node_count) {
            return rm_error(RESMON_EFORMAT, "a rank of the merged run is not on one of its nodes");
        }
        const char *node = rm_merge_keep(merge, input->nodes[rank->node].name);
        if (is_there(merge, input, rank, node)) {
            return rm_error(RESMON_EINVAL,
                            "process %" PRId64 " of %s (rank %" PRId64 ") is already in the merge",
                            rank->pid, node, rank->rank);
        }
    }
    return RESMON_OK;
}

static bool add_rank(struct rm_merge *merge, const struct rm_merge_input *input,
                     const resmon_run_rank *from)
{
    resmon_run_rank *rank =
        rm_append(&merge->ranks, &merge->rank_count, &merge->rank_room, sizeof *rank);
    if (rank == NULL) {
        return false;
    }
    *rank = *from;
    rank->node = input->places[from->node].node;
    rank->start_ns += input->start_ns;
    rank->name = rm_merge_keep(merge, from->name);
    rank->state = rm_merge_keep(merge, from->state);
    rank->text = rm_merge_keep(merge, from->text);
    return true;
}

static bool add_wall(struct rm_merge *merge, uint32_t path, size_t rank, double wall_ns)
{
    struct rm_merge_wall *wall =
        rm_append(&merge->walls, &merge->wall_count, &merge->wall_room, sizeof *wall);
    if (wall != NULL) {
        *wall = (struct rm_merge_wall){path, (uint32_t)rank, wall_ns};
    }
    return wall != NULL;
}

/* The ranks of the input were added last. */
static bool add_scopes(struct rm_merge *merge, const struct rm_merge_input *input)
{
    const struct resmon_run *run = input->run;
    size_t first = merge->rank_count - input->rank_count;
    if (!rm_run_paths_add(&merge->paths, run, input->ranks[0].rank)) {
        return false;
    }
    for (size_t s = 0; s < run->scope_count; s++) {
        const resmon_run_scope *scope = &run->scopes[s];
        double own = scope->wall_ns;
        const double *walls = input->is_merged ? rm_run_rank_walls(run, s) : &own;
        for (size_t r = 0; r < input->rank_count; r++) {
            if (!isnan(walls[r]) &&
                !add_wall(merge, merge->paths.path_of[s], first + r, walls[r])) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the whole merge ------------------------------------------------------------------------ */

/* Where no process was observed, the monitor of a machine may know how the job ended. */
static void take_end(struct rm_merge *merge, const struct resmon_run *run)
{
    if (rm_merge_is_worse(run->end.reason, merge->end.reason) &&
        run->end.reason > RESMON_END_UNKNOWN) {
        merge->end = run->end;
        merge->end.text = rm_merge_keep(merge, run->end.text);
    }
}

static bool add_input(struct rm_merge *merge, struct rm_merge_input *input)
{
    bool is_added = true;
    if (input->rank_count == 0) {
        take_end(merge, input->run);
    }
    for (size_t i = 0; i < input->node_count && is_added; i++) {
        is_added = add_node(merge, input, i);
    }
    is_added = is_added && rm_merge_cells_add(merge, input);
    for (size_t i = 0; i < input->rank_count && is_added; i++) {
        is_added = add_rank(merge, input, &input->ranks[i]);
    }
    return is_added && (input->rank_count == 0 || add_scopes(merge, input)) &&
           rm_merge_take_facts(merge, input) && !merge->strings.is_broken;
}

resmon_status rm_merge_add(struct rm_merge *merge, const struct resmon_run *run)
{
    const resmon_run_node node = node_of_run(run);
    const resmon_run_rank rank = rank_of_run(run);
    struct rm_merge_input input = {.run = run,
                                   .start_ns = start_of(run),
                                   .nodes = &node,
                                   .node_count = 1,
                                   .ranks = &rank,
                                   .rank_count = node.ranks,
                                   .is_merged = run->node_count > 0};
    if (input.is_merged) {
        input.nodes = run->nodes;
        input.node_count = run->node_count;
        input.ranks = run->ranks;
        input.rank_count = run->rank_count;
    }
    resmon_status status = rm_merge_check_job(merge, run);
    status = status == RESMON_OK ? check_times(&input) : status;
    status = status == RESMON_OK ? check_ranks(merge, &input) : status;
    if (status != RESMON_OK) {
        return status;
    }
    input.places = rm_alloc(input.node_count, sizeof *input.places);
    bool is_added = input.places != NULL && add_input(merge, &input);
    rm_free(input.places);
    return is_added ? RESMON_OK : out_of_memory();
}

#define SLACK_NS (2 * RM_NS_PER_S) /* between the start of a rank and that of the monitor */

/* Whether the monitor of the job observed all ranks of its node, from begin to end. */
static void judge_jobs(struct rm_merge *merge)
{
    for (size_t i = 0; i < merge->node_count; i++) {
        merge->nodes[i].node.has_job = merge->nodes[i].has_job;
    }
    for (size_t i = 0; i < merge->rank_count; i++) {
        const resmon_run_rank *rank = &merge->ranks[i];
        struct rm_merge_node *node = &merge->nodes[rank->node];
        bool is_inside = rank->start_ns >= node->of_job.from_ns - SLACK_NS &&
                         rank->start_ns + rank->duration_ns <= node->of_job.to_ns + SLACK_NS;
        if (!is_inside && !node->is_settled) {
            node->node.has_job = 0;
        }
    }
}

resmon_status rm_merge_make(struct rm_merge *merge, struct resmon_run **ret_run)
{
    if (merge->span.count == 0) {
        return rm_error(RESMON_ESTATE, "there is no run to merge");
    }
    rm_merge_cells_fit(merge);
    judge_jobs(merge);
    struct resmon_run *run = rm_run_new();
    if (run == NULL || !rm_merge_fill(merge, run)) {
        rm_run_free(run);
        return out_of_memory();
    }
    *ret_run = run;
    return RESMON_OK;
}

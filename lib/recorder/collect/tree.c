/* SPDX-License-Identifier: MIT */
/*
 * Collector tree: a process and all of its descendants, including ended ones (process_tree.h).
 */
#include "collect/collect.h"
#include "collect/delta.h"
#include "collect/process_tree.h"
#include "os/own_usage.h"

enum {
    PROCESSES,
    EXITED,
    UNCOUNTED,
    CPU_TIME,
    CPU_PERCENT,
    RSS,
    VMS,
    SHARED,
    THREADS,
    FDS,
    READ_BYTES,
    WRITE_BYTES,
    READ_CHARS,
    WRITE_CHARS,
    READ_COUNT,
    WRITE_COUNT,
    COUNT
};

static const uint16_t metrics[] = {
    [PROCESSES] = RM_TREE_PROCESSES,
    [EXITED] = RM_TREE_EXITED,
    [UNCOUNTED] = RM_TREE_UNCOUNTED,
    [CPU_TIME] = RM_TREE_CPU_TIME,
    [CPU_PERCENT] = RM_TREE_CPU_PERCENT,
    [RSS] = RM_TREE_MEM_RSS,
    [VMS] = RM_TREE_MEM_VMS,
    [SHARED] = RM_TREE_MEM_SHARED,
    [THREADS] = RM_TREE_THREADS,
    [FDS] = RM_TREE_FDS,
    [READ_BYTES] = RM_TREE_IO_READ_BYTES,
    [WRITE_BYTES] = RM_TREE_IO_WRITE_BYTES,
    [READ_CHARS] = RM_TREE_IO_READ_CHARS,
    [WRITE_CHARS] = RM_TREE_IO_WRITE_CHARS,
    [READ_COUNT] = RM_TREE_IO_READ_COUNT,
    [WRITE_COUNT] = RM_TREE_IO_WRITE_COUNT,
};

struct state {
    struct rm_process_tree tree;
    struct rm_file group_cpu; /* the observed cgroup's CPU time */
    double highest[COUNT]; /* highest value of each counter: a race between two files of /proc, or
                              rounding of ticks, must not make a counter fall */
    double first_cpu_s;    /* at the first sample; NaN: no sample yet */
    struct rm_rate rate;
};

static const unsigned io_slots[RM_TREE_IO_FIELDS] = {
    [RM_TREE_READ_CHARS] = READ_CHARS, [RM_TREE_WRITE_CHARS] = WRITE_CHARS,
    [RM_TREE_READ_COUNT] = READ_COUNT, [RM_TREE_WRITE_COUNT] = WRITE_COUNT,
    [RM_TREE_READ_BYTES] = READ_BYTES, [RM_TREE_WRITE_BYTES] = WRITE_BYTES,
};

static void add_member(double *values, const struct rm_tree_member *member)
{
    values[PROCESSES] += member->is_zombie ? 0.0 : 1.0;
    values[CPU_TIME] += member->own_s + member->waited_s;
    values[RSS] += member->rss;
    values[VMS] += member->vms;
    values[SHARED] += member->shared;
    values[THREADS] += member->is_zombie ? 0.0 : member->threads - member->own_threads;
    values[FDS] += member->fds;
    for (unsigned f = 0; f < RM_TREE_IO_FIELDS; f++) {
        values[io_slots[f]] += member->io[f];
    }
}

static void keep_rising(struct state *state, double *values)
{
    static const unsigned counters[] = {CPU_TIME,    READ_BYTES, WRITE_BYTES, READ_CHARS,
                                        WRITE_CHARS, READ_COUNT, WRITE_COUNT};
    for (size_t i = 0; i < RM_ARRAY_LEN(counters); i++) {
        double *highest = &state->highest[counters[i]];
        *highest = fmax(*highest, values[counters[i]]);
        values[counters[i]] = *highest;
    }
}

/* The sum of no values is unknown, not 0. */
static void hide_unknown(const struct rm_process_tree *tree, double *values)
{
    for (unsigned f = 0; f < RM_TREE_IO_FIELDS; f++) {
        if ((tree->io_found >> f & 1) == 0) {
            values[io_slots[f]] = RM_NAN;
        }
    }
    if (!tree->has_fds) {
        values[FDS] = RM_NAN;
    }
}

/* The process has ended: the kernel's account of it and of all its children replaces the sampled
 * values. */
static void settle_cpu(const struct state *state, const resmon_run_usage *usage, double *values)
{
    bool is_since_exec = usage->wall_s > 0.0; /* the first sample has the usage before exec */
    values[CPU_TIME] = usage->user_s + usage->system_s + (is_since_exec ? state->first_cpu_s : 0.0);
    for (size_t i = 1; i < state->tree.count; i++) {
        const struct rm_tree_member *member = &state->tree.members[i];
        values[CPU_TIME] += member->own_s + member->waited_s;
    }
}

/* The kernel's account of a cgroup includes all processes that were ever in it. */
static void take_group_cpu(struct rm_collect *collect, struct state *state, double *values)
{
    static const struct rm_key keys[] = {RM_KEY("usage_usec", 0)};
    struct rm_text text;
    uint64_t number;
    bool is_v2 = collect->cgroup.places[RM_CGROUP_CPUACCT].version == 2;
    if (!rm_file_is_open(&state->group_cpu) ||
        rm_collect_read(collect, &state->group_cpu, &text) != RESMON_OK) {
        return;
    }
    if (is_v2 ? rm_parse_keys(text, keys, 1, &number) != 0 : rm_parse_u64(&text, &number)) {
        values[CPU_TIME] = (double)number * (is_v2 ? 1e-6 : 1e-9);
    }
}

static uint64_t ns_of(double seconds)
{
    return seconds > 0.0 ? (uint64_t)(seconds * 1e9) : 0;
}

/* Publishes the members' clocks, which scopes read at any time. */
static void publish(const struct state *state)
{
    struct rm_descendant descendants[RM_DESCENDANTS];
    size_t count = 0;
    for (size_t i = 1; i < state->tree.count && count < RM_DESCENDANTS; i++) {
        const struct rm_tree_member *member = &state->tree.members[i];
        descendants[count++] = (struct rm_descendant){
            .pid = (int64_t)member->pid,
            .child = (int64_t)rm_tree_child_above(&state->tree, member),
            .own_ns = ns_of(member->own_s),
            .waited_ns = ns_of(member->waited_s),
        };
    }
    rm_tree_cpu_publish(state, descendants, count, ns_of(state->tree.carried_s));
}

static resmon_status read_tree(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    const struct rm_process_tree *tree = &state->tree;
    int64_t now_ns = rm_collect_moment(collect);
    resmon_status status = rm_tree_update(&state->tree, collect);
    if (status != RESMON_OK) {
        return status;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(metrics); i++) {
        values[i] = 0.0;
    }
    for (size_t i = 0; i < tree->count; i++) {
        add_member(values, &tree->members[i]);
    }
    values[EXITED] = tree->exited;
    values[UNCOUNTED] = tree->uncounted;
    values[CPU_TIME] += tree->carried_s + tree->orphans.waited_s;
    for (unsigned f = 0; f < RM_TREE_IO_FIELDS; f++) {
        values[io_slots[f]] += tree->carried_io[f] + tree->orphans.io[f];
    }
    if (collect->is_self && collect->root.is_live) {
        publish(state);
    }
    const resmon_run_usage *usage = RM_LOAD_ACQUIRE(&collect->usage);
    if (usage != NULL) {
        settle_cpu(state, usage, values);
    }
    take_group_cpu(collect, state, values);
    if (isnan(state->first_cpu_s)) {
        state->first_cpu_s = values[CPU_TIME];
    }
    keep_rising(state, values);
    hide_unknown(tree, values);
    values[CPU_PERCENT] = 100.0 * rm_rate_take(&state->rate, values[CPU_TIME], now_ns);
    collect->found.tree_cpu_s = values[CPU_TIME];
    collect->found.tree_rss = values[RSS];
    collect->found.tree_ns = now_ns;
    return RESMON_OK;
}

static resmon_status open_tree(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    state->first_cpu_s = RM_NAN;
    if (collect->begin != NULL) {
        state->first_cpu_s = rm_begin_cpu_s(collect->begin);
        state->rate = (struct rm_rate){state->first_cpu_s, collect->begin->at_ns};
    }
    if (collect->is_group) {
        bool is_v2 = collect->cgroup.places[RM_CGROUP_CPUACCT].version == 2;
        (void)rm_collect_open_cgroup(collect, &state->group_cpu, RM_CGROUP_CPUACCT,
                                     is_v2 ? "cpu.stat" : "cpuacct.usage");
    }
    resmon_status status = rm_tree_open(&state->tree, collect, true);
    bool has_orphans = collect->is_group || state->tree.reaper.pid != 0 ||
                       rm_births_are_reported(&state->tree.births);
    if (status == RESMON_OK && collect->root.is_live && !has_orphans) {
        rm_collect_remark(collect, RM_FORKS_UNTOLD ": processes are missing whose parent ended "
                                                   "between two samples");
    }
    return status;
}

static int64_t take_forks_of_tree(void *state)
{
    return rm_tree_take_forks(&((struct state *)state)->tree);
}

static void close_tree(void *state_)
{
    struct state *state = state_;
    rm_tree_cpu_withdraw(state);
    rm_tree_close(&state->tree);
    rm_file_close(&state->group_cpu);
}

const struct rm_collector rm_collect_tree = {
    .name = "tree",
    .domain = RESMON_DOMAIN_TREE,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_tree,
    .read = read_tree,
    .take_events = take_forks_of_tree,
    .close = close_tree,
};

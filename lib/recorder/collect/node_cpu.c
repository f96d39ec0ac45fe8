/* SPDX-License-Identifier: MIT */
/*
 * Collectors node_cpu and node_load: CPU time of the machine, the scheduler's counters
 * (/proc/stat) and load averages.  Shares follow psutil: iowait is idle, steal is busy, guest is
 * included in user. Negative differences are clamped to 0 for each field, since iowait may
 * decrease (proc(5)).
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "collect/collect.h"
#include "os/file.h"

enum {
    F_USER,
    F_NICE,
    F_SYSTEM,
    F_IDLE,
    F_IOWAIT,
    F_IRQ,
    F_SOFTIRQ,
    F_STEAL,
    F_GUEST,
    F_GUEST_NICE,
    FIELDS
};

enum {
    PERCENT,
    EX_STEAL,
    CORE_AVG,
    CORE_MIN,
    CORE_MAX,
    ONLINE,
    USER,
    NICE,
    SYSTEM,
    IDLE,
    IOWAIT,
    IRQ,
    SOFTIRQ,
    STEAL,
    GUEST,
    RUNNING,
    BLOCKED,
    CTX,
    FORKS
};

static const uint16_t metrics[] = {
    [PERCENT] = RM_NODE_CPU_PERCENT,   [EX_STEAL] = RM_NODE_CPU_PERCENT_EX_STEAL,
    [CORE_AVG] = RM_NODE_CPU_CORE_AVG, [CORE_MIN] = RM_NODE_CPU_CORE_MIN,
    [CORE_MAX] = RM_NODE_CPU_CORE_MAX, [ONLINE] = RM_NODE_CPU_ONLINE,
    [USER] = RM_NODE_CPU_USER,         [NICE] = RM_NODE_CPU_NICE,
    [SYSTEM] = RM_NODE_CPU_SYSTEM,     [IDLE] = RM_NODE_CPU_IDLE,
    [IOWAIT] = RM_NODE_CPU_IOWAIT,     [IRQ] = RM_NODE_CPU_IRQ,
    [SOFTIRQ] = RM_NODE_CPU_SOFTIRQ,   [STEAL] = RM_NODE_CPU_STEAL,
    [GUEST] = RM_NODE_CPU_GUEST,       [RUNNING] = RM_NODE_TASKS_RUNNING,
    [BLOCKED] = RM_NODE_TASKS_BLOCKED, [CTX] = RM_NODE_CTX,
    [FORKS] = RM_NODE_FORKS,
};

/* Counters of a line, in ticks.  is_known: the previous reading had the line. */
struct cpu {
    uint64_t ticks[FIELDS];
    bool is_known;
    bool is_seen; /* in this reading */
};

struct state {
    struct rm_file file;
    struct cpu counted; /* all CPUs, at the previous reading */
    struct cpu all;     /* all CPUs, when shares were last computed */
    struct cpu *cpus;   /* by number, when shares were last computed */
    size_t cpu_room;
    int64_t shares_ns;      /* time when shares were last computed */
    bool takes_shares;      /* this reading computes shares */
    double seconds[FIELDS]; /* totals, without decreases */
};

/* A tick is 10 ms: over a shorter interval, shares would be mostly rounding.  The last sample of a
 * run may follow another one that closely. */
#define LEAST_SHARES_NS (50 * RM_NS_PER_MS)

#define MAX_CPUS 16384U /* the kernel's NR_CPUS is at most 8192 */

struct share {
    double busy;
    double busy_ex_steal;
};

/* Takes a line's new counters.  Returns the shares since the last ones; NaN: no time has passed. */
static struct share advance(struct cpu *cpu, const uint64_t now[FIELDS], double ret_delta[FIELDS])
{
    double total = 0.0;
    for (int f = 0; f < FIELDS; f++) {
        ret_delta[f] =
            cpu->is_known && now[f] > cpu->ticks[f] ? (double)(now[f] - cpu->ticks[f]) : 0.0;
        total += ret_delta[f];
    }
    memcpy(cpu->ticks, now, sizeof cpu->ticks);
    total -= ret_delta[F_GUEST] + ret_delta[F_GUEST_NICE];
    double busy = total - ret_delta[F_IDLE] - ret_delta[F_IOWAIT];
    bool has_passed = cpu->is_known && total > 0.0;
    cpu->is_known = true;
    if (!has_passed) {
        return (struct share){RM_NAN, RM_NAN};
    }
    return (struct share){100.0 * fmax(busy, 0.0) / total,
                          100.0 * fmax(busy - ret_delta[F_STEAL], 0.0) / total};
}

/* The numbers of a "cpu" line; kernels before 2.6.33 have fewer. */
static bool parse_fields(struct rm_text line, uint64_t fields[FIELDS])
{
    memset(fields, 0, FIELDS * sizeof fields[0]);
    struct rm_text word;
    int count = 0;
    while (count < FIELDS && rm_parse_u64(&line, &fields[count])) {
        count++;
    }
    return count == FIELDS || (count > F_IDLE && !rm_parse_word(&line, &word));
}

/* The entry of CPU `number`: allocated at open(), and when a CPU appears. */
static struct cpu *cpu_at(struct state *state, uint64_t number)
{
    if (number >= MAX_CPUS) {
        return NULL;
    }
    if (number >= state->cpu_room) {
        size_t room = (size_t)number + 8;
        struct cpu *cpus = rm_realloc(state->cpus, room, sizeof *cpus);
        if (cpus == NULL) {
            return NULL;
        }
        memset(cpus + state->cpu_room, 0, (room - state->cpu_room) * sizeof *cpus);
        state->cpus = cpus;
        state->cpu_room = room;
    }
    return &state->cpus[number];
}

struct cores {
    double sum, min, max;
    size_t online, measured;
};

static void take_core(struct state *state, struct rm_text line, struct cores *cores)
{
    uint64_t number, fields[FIELDS];
    double delta[FIELDS];
    if (!rm_parse_u64(&line, &number) || !parse_fields(line, fields)) {
        return;
    }
    struct cpu *cpu = cpu_at(state, number);
    if (cpu == NULL) {
        return;
    }
    cores->online++;
    cpu->is_seen = true;
    if (!state->takes_shares) {
        return;
    }
    struct share share = advance(cpu, fields, delta);
    if (!isnan(share.busy)) {
        cores->sum += share.busy;
        cores->min = fmin(cores->min, share.busy);
        cores->max = fmax(cores->max, share.busy);
        cores->measured++;
    }
}

/* user and nice include guests. */
static void publish(struct rm_collect *collect, const double seconds[FIELDS])
{
    double all = 0.0;
    for (int f = 0; f <= F_STEAL; f++) {
        all += seconds[f];
    }
    collect->found.node_all_s = all;
    collect->found.node_busy_s = all - seconds[F_IDLE] - seconds[F_IOWAIT];
    collect->found.node_ns = collect->now_ns;
}

static bool take_all(struct rm_collect *collect, struct state *state, struct rm_text line,
                     double *values)
{
    uint64_t fields[FIELDS];
    double delta[FIELDS];
    if (!parse_fields(line, fields)) {
        return false;
    }
    if (state->takes_shares) {
        struct share share = advance(&state->all, fields, delta);
        values[PERCENT] = share.busy;
        values[EX_STEAL] = share.busy_ex_steal;
    }
    (void)advance(&state->counted, fields, delta);
    for (int f = 0; f < FIELDS; f++) {
        state->seconds[f] += delta[f] * collect->tick_s;
    }
    for (int f = 0; f <= F_STEAL; f++) {
        values[USER + f] = state->seconds[f];
    }
    values[GUEST] = state->seconds[F_GUEST] + state->seconds[F_GUEST_NICE];
    publish(collect, state->seconds);
    return true;
}

static const struct {
    const char *name;
    unsigned slot;
} extras[] = {
    {"ctxt ", CTX},
    {"processes ", FORKS},
    {"procs_running ", RUNNING},
    {"procs_blocked ", BLOCKED},
};

static void take_extra(struct rm_text line, double *values)
{
    uint64_t value;
    for (size_t i = 0; i < RM_ARRAY_LEN(extras); i++) {
        struct rm_text rest = line;
        if (rm_parse_literal(&rest, extras[i].name) && rm_parse_u64(&rest, &value)) {
            values[extras[i].slot] = (double)value;
            return;
        }
    }
}

/* A CPU that went offline is new when it returns. */
static void forget_unseen(struct state *state)
{
    for (size_t i = 0; i < state->cpu_room; i++) {
        state->cpus[i].is_known = state->cpus[i].is_known && state->cpus[i].is_seen;
        state->cpus[i].is_seen = false;
    }
}

static resmon_status read_stat(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    struct rm_text text, line;
    resmon_status status = rm_collect_read(collect, &state->file, &text);
    if (status != RESMON_OK) {
        return status;
    }
    struct cores cores = {.min = HUGE_VAL, .max = -HUGE_VAL};
    state->takes_shares = collect->now_ns - state->shares_ns >= LEAST_SHARES_NS;
    state->shares_ns = state->takes_shares ? collect->now_ns : state->shares_ns;
    bool has_all = false;
    while (rm_parse_line(&text, &line)) {
        if (!rm_parse_literal(&line, "cpu")) {
            take_extra(line, values);
        } else if (line.at < line.end && *line.at == ' ') {
            has_all = take_all(collect, state, line, values);
        } else {
            take_core(state, line, &cores);
        }
    }
    forget_unseen(state);
    if (!has_all) {
        return rm_collect_garbled(&state->file);
    }
    if (cores.online > 0) {
        values[ONLINE] = (double)cores.online;
        collect->capacity.host_cpus = (double)cores.online;
    }
    if (cores.measured > 0) {
        values[CORE_AVG] = cores.sum / (double)cores.measured;
        values[CORE_MIN] = cores.min;
        values[CORE_MAX] = cores.max;
    }
    return RESMON_OK;
}

/* In LXC containers, lxcfs provides /proc/stat, with the container's CPU time. */
static void look_for_lxcfs(struct rm_collect *collect)
{
    char path[PATH_MAX];
    const char *root = collect->root.is_live ? "" : collect->root.path;
    (void)snprintf(path, sizeof path, "%s/proc/stat", root);
    collect->found.is_of_container = rm_file_system_of(path).is_fuse;
    if (collect->found.is_of_container) {
        rm_collect_remark(collect, "of this container only: lxcfs provides /proc/stat");
    }
}

static resmon_status open_stat(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    double values[RM_ARRAY_LEN(metrics)];
    state->shares_ns = INT64_MIN / 2;
    resmon_status status = rm_file_open(&state->file, &collect->root, "proc/stat");
    if (status == RESMON_OK) {
        status = read_stat(collect, state, values); /* allocates entries for all CPUs */
    }
    if (status == RESMON_OK) {
        state->shares_ns = INT64_MIN / 2;
        state->counted = (struct cpu){0};
        state->all = (struct cpu){0};
        memset(state->seconds, 0, sizeof state->seconds);
        collect->found.node_ns = 0;
        look_for_lxcfs(collect);
        for (size_t i = 0; i < state->cpu_room; i++) {
            state->cpus[i] = (struct cpu){0};
        }
    }
    return status;
}

static void close_stat(void *state_)
{
    struct state *state = state_;
    rm_file_close(&state->file);
    rm_free(state->cpus);
}

const struct rm_collector rm_collect_node_cpu = {
    .name = "node_cpu",
    .domain = RESMON_DOMAIN_CPU,
    /* twice LEAST_SHARES_NS, so that an early sample has shares, too */
    .min_interval_ns = 100 * RM_NS_PER_MS,
    .comes_when_asked = true,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_stat,
    .read = read_stat,
    .close = close_stat,
};

/* ---- collector node_load -------------------------------------------------------------------- */

static const uint16_t load_metrics[] = {RM_NODE_LOAD_1, RM_NODE_LOAD_5, RM_NODE_LOAD_15};

static resmon_status read_load(struct rm_collect *collect, void *file, double *values)
{
    struct rm_text text;
    resmon_status status = rm_collect_read(collect, file, &text);
    if (status != RESMON_OK) {
        return status;
    }
    double load[RM_ARRAY_LEN(load_metrics)];
    for (size_t i = 0; i < RM_ARRAY_LEN(load_metrics); i++) {
        if (!rm_parse_decimal(&text, &load[i])) {
            return rm_collect_garbled(file);
        }
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(load_metrics); i++) {
        values[i] = load[i];
    }
    return RESMON_OK;
}

static resmon_status open_load(struct rm_collect *collect, void *file)
{
    return rm_file_open(file, &collect->root, "proc/loadavg");
}

const struct rm_collector rm_collect_node_load = {
    .name = "node_load",
    .domain = RESMON_DOMAIN_CPU,
    .min_interval_ns = RM_NS_PER_S, /* the kernel updates it every 5 s */
    RM_METRICS(load_metrics),
    .state_bytes = sizeof(struct rm_file),
    .open = open_load,
    .read = read_load,
    .close = rm_collect_close_file,
};

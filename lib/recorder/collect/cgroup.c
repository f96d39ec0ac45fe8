/* SPDX-License-Identifier: MIT */
/*
 * Collectors cgroup_cpu, cgroup_io and cgroup_pids: CPU time, block-device I/O and tasks of the
 * cgroup. Its memory: cgroup_mem.c.
 */
#include "collect/collect.h"
#include "collect/delta.h"

/* ---- collector cgroup_cpu ------------------------------------------------------------------- */

/*
 * CPU time, quota and throttling.  Version 2: cpu.stat; version 1: cpuacct.usage, .usage_user,
 * .usage_sys and the cpu controller's cpu.stat.
 */

enum { TIME, USER, SYSTEM, QUOTA, PERCENT, THROTTLED_TIME, THROTTLED, PERIODS };

static const uint16_t cpu_metrics[] = {
    [TIME] = RM_CG_CPU_TIME,           [USER] = RM_CG_CPU_USER,
    [SYSTEM] = RM_CG_CPU_SYSTEM,       [QUOTA] = RM_CG_CPU_QUOTA,
    [PERCENT] = RM_CG_CPU_PERCENT,     [THROTTLED_TIME] = RM_CG_CPU_THROTTLED_TIME,
    [THROTTLED] = RM_CG_CPU_THROTTLED, [PERIODS] = RM_CG_CPU_PERIODS,
};

static const struct rm_key v2_stat[] = {
    RM_KEY("usage_usec", TIME),        RM_KEY("user_usec", USER),
    RM_KEY("system_usec", SYSTEM),     RM_KEY("nr_periods", PERIODS),
    RM_KEY("nr_throttled", THROTTLED), RM_KEY("throttled_usec", THROTTLED_TIME),
};
static const struct rm_key v1_stat[] = {
    RM_KEY("nr_periods", PERIODS),
    RM_KEY("nr_throttled", THROTTLED),
    RM_KEY("throttled_time", THROTTLED_TIME),
};

/* Files of version 1, each with one number. */
static const struct {
    const char *name;
    enum rm_cgroup_controller controller;
    unsigned slot;
} v1_cpu_files[] = {
    {"cpuacct.usage", RM_CGROUP_CPUACCT, TIME},
    {"cpuacct.usage_user", RM_CGROUP_CPUACCT, USER},
    {"cpuacct.usage_sys", RM_CGROUP_CPUACCT, SYSTEM},
};

#define V1_NUMBERS RM_ARRAY_LEN(v1_cpu_files)

struct cpu_state {
    int version;
    struct rm_file stat;
    struct rm_file numbers[V1_NUMBERS];
    struct rm_rate rate;
};

static resmon_status read_v1(struct rm_collect *collect, struct cpu_state *state, uint64_t *numbers,
                             uint64_t *found)
{
    struct rm_text text;
    for (size_t i = 0; i < V1_NUMBERS; i++) {
        if (!rm_file_is_open(&state->numbers[i])) {
            continue;
        }
        resmon_status status = rm_collect_read(collect, &state->numbers[i], &text);
        if (status != RESMON_OK) {
            return status;
        }
        if (!rm_parse_u64(&text, &numbers[v1_cpu_files[i].slot])) {
            return rm_collect_garbled(&state->numbers[i]);
        }
        *found |= UINT64_C(1) << v1_cpu_files[i].slot;
    }
    return RESMON_OK;
}

static resmon_status read_numbers(struct rm_collect *collect, struct cpu_state *state,
                                  uint64_t *numbers, uint64_t *found)
{
    struct rm_text text;
    bool is_v2 = state->version == 2;
    if (!is_v2) {
        resmon_status status = read_v1(collect, state, numbers, found);
        if (status != RESMON_OK || !rm_file_is_open(&state->stat)) {
            return status;
        }
    }
    resmon_status status = rm_collect_read(collect, &state->stat, &text);
    if (status == RESMON_OK) {
        *found |= rm_parse_keys(text, is_v2 ? v2_stat : v1_stat,
                                is_v2 ? RM_ARRAY_LEN(v2_stat) : RM_ARRAY_LEN(v1_stat), numbers);
    }
    return status;
}

static resmon_status read_cpu(struct rm_collect *collect, void *state_, double *values)
{
    struct cpu_state *state = state_;
    uint64_t numbers[RM_ARRAY_LEN(cpu_metrics)] = {0};
    uint64_t found = 0;
    resmon_status status = read_numbers(collect, state, numbers, &found);
    if (status != RESMON_OK) {
        return status;
    }
    double scale = state->version == 2 ? 1e-6 : 1e-9;
    values[TIME] = rm_found(found, numbers, TIME) * scale;
    values[USER] = rm_found(found, numbers, USER) * scale;
    values[SYSTEM] = rm_found(found, numbers, SYSTEM) * scale;
    values[THROTTLED_TIME] = rm_found(found, numbers, THROTTLED_TIME) * scale;
    values[THROTTLED] = rm_found(found, numbers, THROTTLED);
    values[PERIODS] = rm_found(found, numbers, PERIODS);
    values[QUOTA] = collect->capacity.cgroup_cpus;
    double cpus = rm_rate_take(&state->rate, values[TIME], rm_collect_moment(collect));
    values[PERCENT] = 100.0 * cpus / collect->capacity.cgroup_cpus;
    return RESMON_OK;
}

static resmon_status open_cpu(struct rm_collect *collect, void *state_)
{
    struct cpu_state *state = state_;
    state->version = collect->cgroup.places[RM_CGROUP_CPUACCT].version;
    if (state->version == 0) {
        return rm_error(RESMON_ENOENT, "no cpu controller is mounted");
    }
    if (isnan(collect->capacity.cgroup_cpus)) {
        rm_collect_remark(collect, "no quota is set: cg.cpu.quota and cg.cpu.percent are absent");
    }
    resmon_status status = rm_collect_open_cgroup(collect, &state->stat, RM_CGROUP_CPU, "cpu.stat");
    if (state->version == 2) {
        return status;
    }
    for (size_t i = 0; i < V1_NUMBERS; i++) {
        status = rm_collect_open_cgroup(collect, &state->numbers[i], v1_cpu_files[i].controller,
                                        v1_cpu_files[i].name);
        if (status != RESMON_OK && v1_cpu_files[i].slot == TIME) {
            return status;
        }
    }
    return RESMON_OK;
}

static void close_cpu(void *state_)
{
    struct cpu_state *state = state_;
    rm_file_close(&state->stat);
    for (size_t i = 0; i < V1_NUMBERS; i++) {
        rm_file_close(&state->numbers[i]);
    }
}

const struct rm_collector rm_collect_cgroup_cpu = {
    .name = "cgroup_cpu",
    .domain = RESMON_DOMAIN_CGROUP,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(cpu_metrics),
    .state_bytes = sizeof(struct cpu_state),
    .open = open_cpu,
    .read = read_cpu,
    .close = close_cpu,
};

/* ---- collector cgroup_io -------------------------------------------------------------------- */

/*
 * Version 2: io.stat; version 1: blkio.throttle.io_service_bytes and .io_serviced, with
 * descendants where the kernel has it.
 */

enum { READ_BYTES, WRITE_BYTES, READS, WRITES };

static const uint16_t io_metrics[] = {
    [READ_BYTES] = RM_CG_IO_READ_BYTES,
    [WRITE_BYTES] = RM_CG_IO_WRITE_BYTES,
    [READS] = RM_CG_IO_READS,
    [WRITES] = RM_CG_IO_WRITES,
};

/* "254:0 rbytes=123 wbytes=..." (version 2), "254:0 Read 123" (version 1) */
struct word {
    const char *name;
    unsigned slot;
};

static const struct word v2_words[] = {
    {"rbytes=", READ_BYTES}, {"wbytes=", WRITE_BYTES}, {"rios=", READS}, {"wios=", WRITES}};

/* In order of preference: the second pair lacks the cgroup's descendants. */
static const struct {
    const char *name;
    unsigned read_slot, write_slot;
} v1_io_files[2][2] = {
    {{"blkio.throttle.io_service_bytes_recursive", READ_BYTES, WRITE_BYTES},
     {"blkio.throttle.io_serviced_recursive", READS, WRITES}},
    {{"blkio.throttle.io_service_bytes", READ_BYTES, WRITE_BYTES},
     {"blkio.throttle.io_serviced", READS, WRITES}},
};

struct io_state {
    int version;
    size_t generation; /* index into v1_io_files */
    struct rm_file files[2];
};

static void add_word(struct rm_text word, double *values)
{
    uint64_t value;
    for (size_t i = 0; i < RM_ARRAY_LEN(v2_words); i++) {
        if (rm_parse_literal(&word, v2_words[i].name) && rm_parse_u64(&word, &value)) {
            values[v2_words[i].slot] += (double)value;
        }
    }
}

static void add_v2(struct rm_text text, double *values)
{
    struct rm_text line, word;
    while (rm_parse_line(&text, &line)) {
        while (rm_parse_word(&line, &word)) {
            add_word(word, values);
        }
    }
}

static void add_v1(struct rm_text text, unsigned read_slot, unsigned write_slot, double *values)
{
    struct rm_text line, device, operation;
    uint64_t value;
    while (rm_parse_line(&text, &line)) {
        if (!rm_parse_word(&line, &device) || !rm_parse_word(&line, &operation) ||
            !rm_parse_u64(&line, &value)) {
            continue; /* such as "Total 123" */
        }
        if (rm_text_equals(&operation, "Read")) {
            values[read_slot] += (double)value;
        } else if (rm_text_equals(&operation, "Write")) {
            values[write_slot] += (double)value;
        }
    }
}

static resmon_status read_io(struct rm_collect *collect, void *state_, double *values)
{
    struct io_state *state = state_;
    double sums[RM_ARRAY_LEN(io_metrics)] = {0};
    for (size_t i = 0; i < 2 && rm_file_is_open(&state->files[i]); i++) {
        struct rm_text text;
        resmon_status status = rm_collect_read(collect, &state->files[i], &text);
        if (status == RESMON_EFORMAT) {
            continue; /* empty until the cgroup's first I/O */
        }
        if (status != RESMON_OK) {
            return status;
        }
        if (state->version == 2) {
            add_v2(text, sums);
        } else {
            add_v1(text, v1_io_files[state->generation][i].read_slot,
                   v1_io_files[state->generation][i].write_slot, sums);
        }
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(io_metrics); i++) {
        values[i] = sums[i];
    }
    return RESMON_OK;
}

static resmon_status open_io(struct rm_collect *collect, void *state_)
{
    struct io_state *state = state_;
    state->version = collect->cgroup.places[RM_CGROUP_IO].version;
    if (state->version == 0) {
        return rm_error(RESMON_ENOENT, "no io controller is mounted");
    }
    if (state->version == 2) {
        return rm_collect_open_cgroup(collect, &state->files[0], RM_CGROUP_IO, "io.stat");
    }
    resmon_status status = RESMON_ENOENT;
    for (state->generation = 0; state->generation < 2; state->generation++) {
        status = rm_collect_open_cgroup(collect, &state->files[0], RM_CGROUP_IO,
                                        v1_io_files[state->generation][0].name);
        if (status == RESMON_OK) {
            return rm_collect_open_cgroup(collect, &state->files[1], RM_CGROUP_IO,
                                          v1_io_files[state->generation][1].name);
        }
    }
    return status;
}

static void close_io(void *state_)
{
    struct io_state *state = state_;
    rm_file_close(&state->files[0]);
    rm_file_close(&state->files[1]);
}

const struct rm_collector rm_collect_cgroup_io = {
    .name = "cgroup_io",
    .domain = RESMON_DOMAIN_CGROUP,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(io_metrics),
    .state_bytes = sizeof(struct io_state),
    .open = open_io,
    .read = read_io,
    .close = close_io,
};

/* ---- collector cgroup_pids ------------------------------------------------------------------ */

/*
 * Processes and threads: pids.current, in both versions; the root cgroup has no such file.
 */

static const uint16_t pids_metrics[] = {RM_CG_PIDS};

static resmon_status open_pids(struct rm_collect *collect, void *file)
{
    return rm_collect_open_cgroup(collect, file, RM_CGROUP_PIDS, "pids.current");
}

static resmon_status read_pids(struct rm_collect *collect, void *file, double *values)
{
    struct rm_text text;
    uint64_t count;
    resmon_status status = rm_collect_read(collect, file, &text);
    if (status != RESMON_OK) {
        return status;
    }
    if (!rm_parse_u64(&text, &count)) {
        return rm_collect_garbled(file);
    }
    values[0] = (double)count;
    return RESMON_OK;
}

const struct rm_collector rm_collect_cgroup_pids = {
    .name = "cgroup_pids",
    .domain = RESMON_DOMAIN_CGROUP,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(pids_metrics),
    .state_bytes = sizeof(struct rm_file),
    .open = open_pids,
    .read = read_pids,
    .close = rm_collect_close_file,
};

/* SPDX-License-Identifier: MIT */
/*
 * Collector cgroup_io: block-device I/O of the control group.  Version 2: io.stat; version 1:
 * blkio.throttle.io_service_bytes and .io_serviced, with descendants where the kernel has it.
 */
#include "collect/collect.h"

enum { READ_BYTES, WRITE_BYTES, READS, WRITES };

static const uint16_t metrics[] = {
    [READ_BYTES] = RM_CG_IO_READ_BYTES,
    [WRITE_BYTES] = RM_CG_IO_WRITE_BYTES,
    [READS] = RM_CG_IO_READS,
    [WRITES] = RM_CG_IO_WRITES,
};

/* "254:0 rbytes=123 wbytes=..." (2), "254:0 Read 123" (1) */
struct word {
    const char *name;
    unsigned slot;
};

static const struct word v2_words[] = {
    {"rbytes=", READ_BYTES}, {"wbytes=", WRITE_BYTES}, {"rios=", READS}, {"wios=", WRITES}};

/* Candidates in order of preference; the second pair lacks the group's descendants. */
static const struct {
    const char *name;
    unsigned read_slot, write_slot;
} v1_files[2][2] = {
    {{"blkio.throttle.io_service_bytes_recursive", READ_BYTES, WRITE_BYTES},
     {"blkio.throttle.io_serviced_recursive", READS, WRITES}},
    {{"blkio.throttle.io_service_bytes", READ_BYTES, WRITE_BYTES},
     {"blkio.throttle.io_serviced", READS, WRITES}},
};

struct state {
    int version;
    size_t generation; /* of v1_files */
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
            continue; /* "Total 123" */
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
    struct state *state = state_;
    double sums[RM_ARRAY_LEN(metrics)] = {0};
    for (size_t i = 0; i < 2 && rm_file_is_open(&state->files[i]); i++) {
        struct rm_text text;
        resmon_status status = rm_collect_read(collect, &state->files[i], &text);
        if (status == RESMON_EFORMAT) {
            continue; /* empty until the group's first I/O */
        }
        if (status != RESMON_OK) {
            return status;
        }
        if (state->version == 2) {
            add_v2(text, sums);
        } else {
            add_v1(text, v1_files[state->generation][i].read_slot,
                   v1_files[state->generation][i].write_slot, sums);
        }
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(metrics); i++) {
        values[i] = sums[i];
    }
    return RESMON_OK;
}

static resmon_status open_io(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
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
                                        v1_files[state->generation][0].name);
        if (status == RESMON_OK) {
            return rm_collect_open_cgroup(collect, &state->files[1], RM_CGROUP_IO,
                                          v1_files[state->generation][1].name);
        }
    }
    return status;
}

static void close_io(void *state_)
{
    struct state *state = state_;
    rm_file_close(&state->files[0]);
    rm_file_close(&state->files[1]);
}

const struct rm_collector rm_collect_cgroup_io = {
    .name = "cgroup_io",
    .domain = RESMON_DOMAIN_CGROUP,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_io,
    .read = read_io,
    .close = close_io,
};

/* SPDX-License-Identifier: MIT */
/*
 * Collector proc_io: what one process read and wrote.  /proc/PID/io, which only the same user may
 * read, and nobody else's of a process that is not dumpable.  Of our own process, less what the
 * library itself did.
 */
#include "collect/collect.h"

enum { READ_CHARS, WRITE_CHARS, READ_COUNT, WRITE_COUNT, READ_BYTES, WRITE_BYTES, CANCELLED };

static const uint16_t metrics[] = {
    [READ_CHARS] = RM_PROC_IO_READ_CHARS,           [WRITE_CHARS] = RM_PROC_IO_WRITE_CHARS,
    [READ_COUNT] = RM_PROC_IO_READ_COUNT,           [WRITE_COUNT] = RM_PROC_IO_WRITE_COUNT,
    [READ_BYTES] = RM_PROC_IO_READ_BYTES,           [WRITE_BYTES] = RM_PROC_IO_WRITE_BYTES,
    [CANCELLED] = RM_PROC_IO_CANCELLED_WRITE_BYTES,
};

static const struct rm_key keys[] = {
    RM_KEY("rchar:", READ_CHARS),
    RM_KEY("wchar:", WRITE_CHARS),
    RM_KEY("syscr:", READ_COUNT),
    RM_KEY("syscw:", WRITE_COUNT),
    RM_KEY("read_bytes:", READ_BYTES),
    RM_KEY("write_bytes:", WRITE_BYTES),
    RM_KEY("cancelled_write_bytes:", CANCELLED),
};

static const enum rm_io_field own_fields[] = {
    [READ_CHARS] = RM_IO_READ_CHARS, [WRITE_CHARS] = RM_IO_WRITE_CHARS,
    [READ_COUNT] = RM_IO_READ_CALLS, [WRITE_COUNT] = RM_IO_WRITE_CALLS,
    [READ_BYTES] = RM_IO_READ_BYTES, [WRITE_BYTES] = RM_IO_WRITE_BYTES,
};

struct state {
    struct rm_file file;
    uint64_t highest[RM_ARRAY_LEN(own_fields)]; /* so far: a call that only one side has counted
                                                   must not make a counter fall */
};

static void take_ours_out(struct state *state, const struct rm_own_io *ours, double *values)
{
    for (size_t slot = 0; slot < RM_ARRAY_LEN(own_fields); slot++) {
        if (!isnan(values[slot])) {
            state->highest[slot] = rm_own_io_rest(ours, own_fields[slot], (uint64_t)values[slot],
                                                  state->highest[slot]);
            values[slot] = (double)state->highest[slot];
        }
    }
}

static resmon_status read_io(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    struct rm_text text;
    uint64_t numbers[RM_ARRAY_LEN(metrics)] = {0};
    if (collect->is_self) {
        rm_own_io_before(&collect->own_io);
    }
    resmon_status status = rm_collect_read(collect, &state->file, &text);
    rm_own_io_after(&collect->own_io);
    if (status != RESMON_OK) {
        return status;
    }
    rm_collect_leave(collect, RM_OWN_IO, &text);
    uint64_t found = rm_parse_keys(text, keys, RM_ARRAY_LEN(keys), numbers);
    for (unsigned slot = 0; slot < RM_ARRAY_LEN(metrics); slot++) {
        values[slot] = rm_found(found, numbers, slot);
    }
    if (collect->is_self) {
        take_ours_out(state, &collect->own_io, values);
    }
    return found != 0 ? RESMON_OK : rm_collect_garbled(&state->file);
}

/* The permission is checked at reading, not at opening. */
static resmon_status open_io(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    double values[RM_ARRAY_LEN(metrics)];
    resmon_status status = rm_collect_open_proc(collect, &state->file, "io");
    return status == RESMON_OK ? read_io(collect, state, values) : status;
}

static void close_io(void *state)
{
    rm_file_close(&((struct state *)state)->file);
}

const struct rm_collector rm_collect_proc_io = {
    .name = "proc_io",
    .domain = RESMON_DOMAIN_PROCESS,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_io,
    .read = read_io,
    .close = close_io,
};

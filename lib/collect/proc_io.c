/* SPDX-License-Identifier: MIT */
/*
 * Collector proc_io: what one process read and wrote.  /proc/PID/io, which only the same user may
 * read, and nobody else's of a process that is not dumpable.
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

static resmon_status read_io(struct rm_collect *collect, void *state, double *values)
{
    struct rm_text text;
    uint64_t numbers[RM_ARRAY_LEN(metrics)] = {0};
    resmon_status status = rm_collect_read(collect, state, &text);
    if (status != RESMON_OK) {
        return status;
    }
    uint64_t found = rm_parse_keys(text, keys, RM_ARRAY_LEN(keys), numbers);
    for (unsigned slot = 0; slot < RM_ARRAY_LEN(metrics); slot++) {
        values[slot] = rm_found(found, numbers, slot);
    }
    return found != 0 ? RESMON_OK : rm_collect_garbled(state);
}

/* The permission is checked at reading, not at opening. */
static resmon_status open_io(struct rm_collect *collect, void *state)
{
    double values[RM_ARRAY_LEN(metrics)];
    resmon_status status = rm_collect_open_proc(collect, state, "io");
    return status == RESMON_OK ? read_io(collect, state, values) : status;
}

static void close_io(void *state)
{
    rm_file_close(state);
}

const struct rm_collector rm_collect_proc_io = {
    .name = "proc_io",
    .domain = RESMON_DOMAIN_PROCESS,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct rm_file),
    .open = open_io,
    .read = read_io,
    .close = close_io,
};

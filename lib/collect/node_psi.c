/* SPDX-License-Identifier: MIT */
/*
 * Collector node_psi: time that tasks of the machine waited for CPU, memory and I/O.
 * /proc/pressure, in kernels with CONFIG_PSI that were not booted with psi=0.
 */
#include "collect/collect.h"
#include "collect/pressure.h"

enum { CPU_SOME, MEM_SOME, MEM_FULL, IO_SOME, IO_FULL };

static const uint16_t metrics[] = {
    [CPU_SOME] = RM_NODE_PSI_CPU_SOME, [MEM_SOME] = RM_NODE_PSI_MEM_SOME,
    [MEM_FULL] = RM_NODE_PSI_MEM_FULL, [IO_SOME] = RM_NODE_PSI_IO_SOME,
    [IO_FULL] = RM_NODE_PSI_IO_FULL,
};

#define NO_FULL SIZE_MAX /* of the whole machine, "cpu full" is not defined */

static const struct {
    const char *path;
    size_t some, full;
} files[] = {
    {"proc/pressure/cpu", CPU_SOME, NO_FULL},
    {"proc/pressure/memory", MEM_SOME, MEM_FULL},
    {"proc/pressure/io", IO_SOME, IO_FULL},
};

struct state {
    struct rm_file files[RM_ARRAY_LEN(files)];
};

static resmon_status read_pressure(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    for (size_t i = 0; i < RM_ARRAY_LEN(files); i++) {
        struct rm_text text;
        double some, full;
        resmon_status status = rm_collect_read(collect, &state->files[i], &text);
        if (status != RESMON_OK) {
            return status;
        }
        if (!rm_pressure_parse(text, &some, &full)) {
            return rm_collect_garbled(&state->files[i]);
        }
        values[files[i].some] = some;
        if (files[i].full != NO_FULL) {
            values[files[i].full] = full;
        }
    }
    return RESMON_OK;
}

/* With psi=0 the files exist, and reading them fails: so try. */
static resmon_status open_pressure(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    double values[RM_ARRAY_LEN(metrics)];
    for (size_t i = 0; i < RM_ARRAY_LEN(files); i++) {
        resmon_status status = rm_file_open(&state->files[i], &collect->root, files[i].path);
        if (status != RESMON_OK) {
            return status;
        }
    }
    return read_pressure(collect, state, values);
}

static void close_pressure(void *state_)
{
    struct state *state = state_;
    for (size_t i = 0; i < RM_ARRAY_LEN(files); i++) {
        rm_file_close(&state->files[i]);
    }
}

const struct rm_collector rm_collect_node_psi = {
    .name = "node_psi",
    .domain = RESMON_DOMAIN_PSI,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_pressure,
    .read = read_pressure,
    .close = close_pressure,
};

/* SPDX-License-Identifier: MIT */
/*
 * Collector cgroup_psi: time that tasks of the control group waited.  cpu.pressure,
 * memory.pressure and io.pressure, which only version 2 has.
 */
#include "collect/collect.h"
#include "collect/pressure.h"

enum { CPU_SOME, MEM_SOME, MEM_FULL, IO_SOME, IO_FULL };

static const uint16_t metrics[] = {
    [CPU_SOME] = RM_CG_PSI_CPU_SOME, [MEM_SOME] = RM_CG_PSI_MEM_SOME,
    [MEM_FULL] = RM_CG_PSI_MEM_FULL, [IO_SOME] = RM_CG_PSI_IO_SOME,
    [IO_FULL] = RM_CG_PSI_IO_FULL,
};

#define NOT_KEPT SIZE_MAX

static const struct {
    const char *name;
    enum rm_cgroup_controller controller;
    size_t some, full;
} files[] = {
    {"cpu.pressure", RM_CGROUP_CPU, CPU_SOME, NOT_KEPT},
    {"memory.pressure", RM_CGROUP_MEMORY, MEM_SOME, MEM_FULL},
    {"io.pressure", RM_CGROUP_IO, IO_SOME, IO_FULL},
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
        if (files[i].full != NOT_KEPT) {
            values[files[i].full] = full;
        }
    }
    return RESMON_OK;
}

static resmon_status open_pressure(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    double values[RM_ARRAY_LEN(metrics)];
    for (size_t i = 0; i < RM_ARRAY_LEN(files); i++) {
        const struct rm_cgroup_place *place = &collect->cgroup.places[files[i].controller];
        if (place->version == 1) {
            return rm_error(RESMON_ENOTSUP, "control groups of version 1 have no pressure files");
        }
        resmon_status status =
            rm_collect_open_cgroup(collect, &state->files[i], files[i].controller, files[i].name);
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

const struct rm_collector rm_collect_cgroup_psi = {
    .name = "cgroup_psi",
    .domain = RESMON_DOMAIN_CGROUP,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_pressure,
    .read = read_pressure,
    .close = close_pressure,
};

/* SPDX-License-Identifier: MIT */
/*
 * Collector cgroup_psi: time that tasks of the cgroup waited.  cpu.pressure,
 * memory.pressure and io.pressure, which only version 2 has.
 */
#include "collect/collect.h"
#include "collect/pressure.h"

static const uint16_t metrics[] = {
    [RM_CPU_SOME] = RM_CG_PSI_CPU_SOME, [RM_MEM_SOME] = RM_CG_PSI_MEM_SOME,
    [RM_MEM_FULL] = RM_CG_PSI_MEM_FULL, [RM_IO_SOME] = RM_CG_PSI_IO_SOME,
    [RM_IO_FULL] = RM_CG_PSI_IO_FULL,
};

static const struct {
    const char *name;
    enum rm_cgroup_controller controller;
} files[RM_PRESSURE_FILES] = {
    {"cpu.pressure", RM_CGROUP_CPU},
    {"memory.pressure", RM_CGROUP_MEMORY},
    {"io.pressure", RM_CGROUP_IO},
};

static resmon_status open_pressure(struct rm_collect *collect, void *state)
{
    struct rm_pressure *pressure = state;
    double values[RM_PRESSURES];
    for (size_t i = 0; i < RM_PRESSURE_FILES; i++) {
        const struct rm_cgroup_place *place = &collect->cgroup.places[files[i].controller];
        if (place->version == 1) {
            return rm_error(RESMON_ENOTSUP, "cgroups of version 1 have no pressure files");
        }
        resmon_status status = rm_collect_open_cgroup(collect, &pressure->files[i],
                                                      files[i].controller, files[i].name);
        if (status != RESMON_OK) {
            return status;
        }
    }
    return rm_pressure_read(collect, state, values);
}

const struct rm_collector rm_collect_cgroup_psi = {
    .name = "cgroup_psi",
    .domain = RESMON_DOMAIN_CGROUP,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct rm_pressure),
    .open = open_pressure,
    .read = rm_pressure_read,
    .close = rm_pressure_close,
    .most_rate = 1.0, /* a second in a second; readings come a little after their sample's stamp */
};

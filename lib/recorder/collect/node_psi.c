/* SPDX-License-Identifier: MIT */
/*
 * Collector node_psi: time that tasks of the machine waited for CPU, memory and I/O.
 * /proc/pressure, in kernels with CONFIG_PSI that were not booted with psi=0.
 */
#include "collect/collect.h"
#include "collect/pressure.h"

static const uint16_t metrics[] = {
    [RM_CPU_SOME] = RM_NODE_PSI_CPU_SOME, [RM_MEM_SOME] = RM_NODE_PSI_MEM_SOME,
    [RM_MEM_FULL] = RM_NODE_PSI_MEM_FULL, [RM_IO_SOME] = RM_NODE_PSI_IO_SOME,
    [RM_IO_FULL] = RM_NODE_PSI_IO_FULL,
};

static const char *const paths[RM_PRESSURE_FILES] = {
    "proc/pressure/cpu",
    "proc/pressure/memory",
    "proc/pressure/io",
};

/* With psi=0 the files exist, and reading them fails: so try. */
static resmon_status open_pressure(struct rm_collect *collect, void *state)
{
    struct rm_pressure *pressure = state;
    double values[RM_PRESSURES];
    for (size_t i = 0; i < RM_PRESSURE_FILES; i++) {
        resmon_status status = rm_file_open(&pressure->files[i], &collect->root, paths[i]);
        if (status != RESMON_OK) {
            return status;
        }
    }
    return rm_pressure_read(collect, state, values);
}

const struct rm_collector rm_collect_node_psi = {
    .name = "node_psi",
    .domain = RESMON_DOMAIN_PSI,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct rm_pressure),
    .open = open_pressure,
    .read = rm_pressure_read,
    .close = rm_pressure_close,
    .most_rate = 1.0, /* a second in a second; readings come a little after their sample's stamp */
};

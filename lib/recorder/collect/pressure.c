/* SPDX-License-Identifier: MIT */
/*
 * Collectors node_psi and cgroup_psi: pressure stall information, the time that tasks waited for
 * CPU, memory and I/O.  The files have the same form for the machine and for cgroups: some
 * avg10=0.00 avg60=0.00 avg300=0.00 total=2337693 full ...
 */
#include "collect/pressure.h"

#include "base/compiler.h"
#include "collect/collect.h"

/* The metrics of a collector; "cpu full" is not defined for the whole machine. */
enum { CPU_SOME, MEM_SOME, MEM_FULL, IO_SOME, IO_FULL, PRESSURES };

#define PRESSURE_FILES 3 /* cpu, memory, io */

struct pressure {
    struct rm_file files[PRESSURE_FILES];
};

/* A stall takes at most a second per second.  Readings come a little after their sample's stamp. */
#define MOST_RATE 1.0

static bool parse_total(struct rm_text line, double *ret_s)
{
    struct rm_text word;
    uint64_t us;
    while (rm_parse_word(&line, &word)) {
        if (rm_parse_literal(&word, "total=") && rm_parse_u64(&word, &us)) {
            *ret_s = (double)us * 1e-6;
            return true;
        }
    }
    return false;
}

bool rm_pressure_parse(struct rm_text text, double *ret_some_s, double *ret_full_s)
{
    struct rm_text line;
    bool has_any = false;
    *ret_some_s = RM_NAN;
    *ret_full_s = RM_NAN;
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, "some ")) {
            has_any |= parse_total(line, ret_some_s);
        } else if (rm_parse_literal(&line, "full ")) {
            has_any |= parse_total(line, ret_full_s);
        }
    }
    return has_any;
}

/* As rm_collector.read and .close; the state is a struct pressure. */
static resmon_status read_pressure(struct rm_collect *collect, void *state, double *values)
{
    static const size_t some_of[PRESSURE_FILES] = {CPU_SOME, MEM_SOME, IO_SOME};
    struct pressure *pressure = state;
    for (size_t i = 0; i < PRESSURE_FILES; i++) {
        struct rm_text text;
        double some, full;
        resmon_status status = rm_collect_read(collect, &pressure->files[i], &text);
        if (status != RESMON_OK) {
            return status;
        }
        if (!rm_pressure_parse(text, &some, &full)) {
            return rm_collect_garbled(&pressure->files[i]);
        }
        values[some_of[i]] = some;
        if (some_of[i] != CPU_SOME) {
            values[some_of[i] + 1] = full;
        }
    }
    return RESMON_OK;
}

static void close_pressure(void *state)
{
    struct pressure *pressure = state;
    for (size_t i = 0; i < PRESSURE_FILES; i++) {
        rm_file_close(&pressure->files[i]);
    }
}

/* ---- collector node_psi --------------------------------------------------------------------- */

/* /proc/pressure, in kernels with CONFIG_PSI that were not booted with psi=0. */

static const uint16_t node_metrics[] = {
    [CPU_SOME] = RM_NODE_PSI_CPU_SOME, [MEM_SOME] = RM_NODE_PSI_MEM_SOME,
    [MEM_FULL] = RM_NODE_PSI_MEM_FULL, [IO_SOME] = RM_NODE_PSI_IO_SOME,
    [IO_FULL] = RM_NODE_PSI_IO_FULL,
};

static const char *const paths[PRESSURE_FILES] = {
    "proc/pressure/cpu",
    "proc/pressure/memory",
    "proc/pressure/io",
};

/* With psi=0 the files exist but cannot be read, so that open() reads them once. */
static resmon_status open_node(struct rm_collect *collect, void *state)
{
    struct pressure *pressure = state;
    double values[PRESSURES];
    for (size_t i = 0; i < PRESSURE_FILES; i++) {
        resmon_status status = rm_file_open(&pressure->files[i], &collect->root, paths[i]);
        if (status != RESMON_OK) {
            return status;
        }
    }
    return read_pressure(collect, state, values);
}

const struct rm_collector rm_collect_node_psi = {
    .name = "node_psi",
    .domain = RESMON_DOMAIN_PSI,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(node_metrics),
    .state_bytes = sizeof(struct pressure),
    .open = open_node,
    .read = read_pressure,
    .close = close_pressure,
    .most_rate = MOST_RATE,
};

/* ---- collector cgroup_psi ------------------------------------------------------------------- */

/* cpu.pressure, memory.pressure and io.pressure, in cgroups of version 2. */

static const uint16_t cgroup_metrics[] = {
    [CPU_SOME] = RM_CG_PSI_CPU_SOME, [MEM_SOME] = RM_CG_PSI_MEM_SOME,
    [MEM_FULL] = RM_CG_PSI_MEM_FULL, [IO_SOME] = RM_CG_PSI_IO_SOME,
    [IO_FULL] = RM_CG_PSI_IO_FULL,
};

static const struct {
    const char *name;
    enum rm_cgroup_controller controller;
} files[PRESSURE_FILES] = {
    {"cpu.pressure", RM_CGROUP_CPU},
    {"memory.pressure", RM_CGROUP_MEMORY},
    {"io.pressure", RM_CGROUP_IO},
};

static resmon_status open_cgroup(struct rm_collect *collect, void *state)
{
    struct pressure *pressure = state;
    double values[PRESSURES];
    for (size_t i = 0; i < PRESSURE_FILES; i++) {
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
    return read_pressure(collect, state, values);
}

const struct rm_collector rm_collect_cgroup_psi = {
    .name = "cgroup_psi",
    .domain = RESMON_DOMAIN_CGROUP,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(cgroup_metrics),
    .state_bytes = sizeof(struct pressure),
    .open = open_cgroup,
    .read = read_pressure,
    .close = close_pressure,
    .most_rate = MOST_RATE,
};

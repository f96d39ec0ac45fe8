/* SPDX-License-Identifier: MIT */
/*
 * Collector node_frequency: how fast the machine's CPUs run.  /sys/devices/system/cpu/cpuN/cpufreq;
 * of more than 64 CPUs, 64 are read.
 *
 * The frequency is what the kernel measured over the last tick where it can (x86 from 5.18 on),
 * else what it asked for last; that of an idle CPU says little, so that the highest is the best
 * figure of a program that has few threads.
 */
#include "collect/collect.h"
#include "collect/cpu_files.h"

enum { AVG, MIN, MAX };

static const uint16_t metrics[] = {
    [AVG] = RM_NODE_CPU_FREQUENCY_AVG,
    [MIN] = RM_NODE_CPU_FREQUENCY_MIN,
    [MAX] = RM_NODE_CPU_FREQUENCY_MAX,
};

#define KILO     1e3
#define LIMIT_HZ 2e10 /* more is no frequency of a CPU */

struct version {
    uint64_t major, minor;
};

static bool is_before(struct version version, struct version other)
{
    return version.major != other.major ? version.major < other.major : version.minor < other.minor;
}

/* "5.14.0-427.el9.x86_64" */
static bool read_version(struct rm_collect *collect, struct version *ret_version)
{
    struct rm_text text;
    return rm_file_read_once(&collect->root, "proc/sys/kernel/osrelease", &collect->scratch,
                             &text) == RESMON_OK &&
           rm_parse_u64(&text, &ret_version->major) && rm_parse_literal(&text, ".") &&
           rm_parse_u64(&text, &ret_version->minor);
}

/* From 4.13 to 5.17 the kernel interrupts each CPU of x86, idle ones too, and waits for 10 ms
 * (arch/x86/kernel/cpu/aperfmperf.c; changed by 7d84c1ebf9dd). */
static resmon_status check_cost(struct rm_collect *collect)
{
    struct version version;
    if (!collect->cpu.is_arm && read_version(collect, &version) &&
        is_before(version, (struct version){5, 18}) &&
        !is_before(version, (struct version){4, 13})) {
        return rm_error(RESMON_ENOTSUP,
                        "not read: before Linux 5.18, each CPU's frequency takes 10 ms");
    }
    return RESMON_OK;
}

static resmon_status open_frequency(struct rm_collect *collect, void *files)
{
    resmon_status status = rm_cpu_files_open(files, &collect->root, "cpufreq/scaling_cur_freq");
    return status == RESMON_OK ? check_cost(collect) : status;
}

static resmon_status read_frequency(struct rm_collect *collect, void *state, double *values)
{
    struct rm_cpu_files *files = state;
    double sum = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < files->count; i++) {
        uint64_t khz;
        if (!rm_cpu_files_read(files, i, &collect->scratch, &khz)) {
            continue;
        }
        double hz = KILO * (double)khz;
        if (hz > 0.0 && hz <= LIMIT_HZ) {
            sum += hz;
            count++;
            values[MIN] = count == 1 ? hz : fmin(values[MIN], hz);
            values[MAX] = count == 1 ? hz : fmax(values[MAX], hz);
        }
    }
    values[AVG] = count > 0 ? sum / (double)count : RM_NAN;
    return count > 0 ? RESMON_OK : rm_collect_garbled(&files->files[0]);
}

static void close_frequency(void *files)
{
    rm_cpu_files_close(files);
}

const struct rm_collector rm_collect_node_frequency = {
    .name = "node_frequency",
    .domain = RESMON_DOMAIN_CPU,
    .min_interval_ns = RM_NS_PER_S,
    .comes_when_asked = true,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct rm_cpu_files),
    .open = open_frequency,
    .read = read_frequency,
    .close = close_frequency,
};

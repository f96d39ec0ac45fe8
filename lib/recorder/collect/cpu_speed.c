/* SPDX-License-Identifier: MIT */
/*
 * Collectors node_frequency and node_throttle: frequency and thermal throttling of the machine's
 * CPUs.  Both read a file that sysfs has for each logical CPU; of more than 64 CPUs, 64 are read.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/status.h"
#include "collect/collect.h"
#include "os/file.h"

/* With more CPUs, this many are read, evenly spread over all. */
#define MOST_CPU_FILES 64

/* Zeroed: no file. */
struct cpu_files {
    const char *name; /* path below the CPU's directory */
    struct rm_file *files;
    size_t count;
};

#define CPUS "sys/devices/system/cpu"

#define MOST_CPUS 16384U /* the kernel's NR_CPUS is at most 8192 */

/* Search for the CPUs that have the file. */
struct search {
    const struct rm_root *root;
    const char *name;
    uint16_t *cpus;
    size_t count, room;
    bool is_out_of_memory;
};

static void path_of_cpu(char path[RM_FILE_PATH_BYTES], unsigned cpu, const char *name)
{
    (void)snprintf(path, RM_FILE_PATH_BYTES, CPUS "/cpu%u/%s", cpu, name);
}

static bool add_cpu(struct search *search, uint16_t cpu)
{
    if (search->count == search->room) {
        size_t room = 2 * search->room + 8;
        uint16_t *cpus = rm_realloc(search->cpus, room, sizeof *cpus);
        if (cpus == NULL) {
            search->is_out_of_memory = true;
            return false;
        }
        search->cpus = cpus;
        search->room = room;
    }
    search->cpus[search->count++] = cpu;
    return true;
}

/* Accepts "cpu12", not "cpufreq". */
static bool visit_cpu(void *context, const char *entry)
{
    struct search *search = context;
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text = rm_text_of(entry, strlen(entry));
    uint64_t cpu;
    if (!rm_parse_literal(&text, "cpu") || !rm_parse_u64(&text, &cpu) || rm_text_left(&text) > 0 ||
        cpu >= MOST_CPUS) {
        return true;
    }
    path_of_cpu(path, (unsigned)cpu, search->name);
    return !rm_file_exists(search->root, path) || add_cpu(search, (uint16_t)cpu);
}

static int compare_cpus(const void *left, const void *right)
{
    const uint16_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Opens the files of at most MOST_CPU_FILES of the CPUs found. */
static resmon_status open_found(struct cpu_files *files, const struct search *search)
{
    char path[RM_FILE_PATH_BYTES];
    size_t count = search->count < MOST_CPU_FILES ? search->count : MOST_CPU_FILES;
    resmon_status status = RESMON_OK;
    files->files = rm_alloc(count, sizeof *files->files);
    if (files->files == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the files of CPUs");
    }
    qsort(search->cpus, search->count, sizeof *search->cpus, compare_cpus);
    while (files->count < count && status == RESMON_OK) {
        path_of_cpu(path, search->cpus[files->count * search->count / count], files->name);
        status = rm_file_open(&files->files[files->count++], search->root, path);
    }
    return status;
}

/* Opens "cpuN/`name`" of the CPUs that are online and have it.  RESMON_ENODEV: no CPU has it. */
static resmon_status open_cpu_files(struct cpu_files *files, const struct rm_root *root,
                                    const char *name)
{
    struct search search = {.root = root, .name = name};
    files->name = name;
    (void)rm_dir_visit(root, CPUS, visit_cpu, &search);
    resmon_status status = RESMON_OK;
    if (search.is_out_of_memory) {
        status = rm_error(RESMON_ENOMEM, "out of memory for the files of CPUs");
    } else if (search.count == 0) {
        status = rm_error(RESMON_ENODEV, "no CPU has a file /" CPUS "/cpuN/%s", name);
    } else {
        status = open_found(files, &search);
    }
    rm_free(search.cpus);
    return status;
}

/* The number in a file, which is opened again for a CPU that went offline and came back.  False: it
 * cannot be read now. */
static bool read_cpu_file(struct cpu_files *files, size_t index, struct rm_scratch *scratch,
                          uint64_t *ret_number)
{
    struct rm_file *file = &files->files[index];
    struct rm_text text;
    if (rm_file_read(file, scratch, &text) != RESMON_OK &&
        (rm_file_reopen(file) != RESMON_OK || rm_file_read(file, scratch, &text) != RESMON_OK)) {
        return false;
    }
    return rm_parse_u64(&text, ret_number);
}

static void close_cpu_files(struct cpu_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        rm_file_close(&files->files[i]);
    }
    rm_free(files->files);
    *files = (struct cpu_files){.count = 0};
}

/* ---- collector node_frequency --------------------------------------------------------------- */

/*
 * /sys/devices/system/cpu/cpuN/cpufreq.  Where it can (x86 since 5.18), the kernel shows the
 * frequency that it measured over the last tick, else the frequency that it requested last.  An
 * idle CPU's frequency means little: for a program with few threads, the maximum is the best value.
 */

enum { AVG, MIN, MAX };

static const uint16_t frequency_metrics[] = {
    [AVG] = RM_NODE_CPU_FREQUENCY_AVG,
    [MIN] = RM_NODE_CPU_FREQUENCY_MIN,
    [MAX] = RM_NODE_CPU_FREQUENCY_MAX,
};

#define KILO     1e3
#define LIMIT_HZ 2e10 /* a higher value is not a frequency of a CPU */

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
    resmon_status status = open_cpu_files(files, &collect->root, "cpufreq/scaling_cur_freq");
    return status == RESMON_OK ? check_cost(collect) : status;
}

static resmon_status read_frequency(struct rm_collect *collect, void *state, double *values)
{
    struct cpu_files *files = state;
    double sum = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < files->count; i++) {
        uint64_t khz;
        if (!read_cpu_file(files, i, &collect->scratch, &khz)) {
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
    close_cpu_files(files);
}

const struct rm_collector rm_collect_node_frequency = {
    .name = "node_frequency",
    .domain = RESMON_DOMAIN_CPU,
    .min_interval_ns = RM_NS_PER_S,
    .comes_when_asked = true,
    RM_METRICS(frequency_metrics),
    .state_bytes = sizeof(struct cpu_files),
    .open = open_frequency,
    .read = read_frequency,
    .close = close_frequency,
};

/* ---- collector node_throttle ---------------------------------------------------------------- */

/*
 * Time in which processors were slowed down by heat: /sys/devices/system/cpu/cpuN/thermal_throttle
 * (Intel).  Each CPU shows the time of its package, which grows when the package has cooled down.
 */

static const uint16_t throttle_metrics[] = {RM_NODE_CPU_THROTTLED_TIME};

#define MILLI 1e-3

struct throttled_cpu {
    uint64_t last_ms;
    bool is_known; /* `last_ms` is of an earlier reading */
};

struct throttle_state {
    struct cpu_files files;
    struct throttled_cpu *cpus; /* one per file */
    double total_s;             /* since the start of the monitor, mean over CPUs */
};

static resmon_status open_throttle(struct rm_collect *collect, void *state_)
{
    struct throttle_state *state = state_;
    resmon_status status = open_cpu_files(&state->files, &collect->root,
                                          "thermal_throttle/package_throttle_total_time_ms");
    if (status != RESMON_OK) {
        return status;
    }
    state->cpus = rm_alloc(state->files.count, sizeof *state->cpus);
    return state->cpus != NULL ? RESMON_OK
                               : rm_error(RESMON_ENOMEM, "out of memory for the files of CPUs");
}

/* Growth of a CPU's throttled time, in s. */
static double advance(struct throttled_cpu *cpu, uint64_t now_ms)
{
    double growth_ms =
        cpu->is_known && now_ms > cpu->last_ms ? (double)(now_ms - cpu->last_ms) : 0.0;
    *cpu = (struct throttled_cpu){now_ms, true};
    return MILLI * growth_ms;
}

static resmon_status read_throttle(struct rm_collect *collect, void *state_, double *values)
{
    struct throttle_state *state = state_;
    double sum_s = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < state->files.count; i++) {
        uint64_t now_ms;
        if (read_cpu_file(&state->files, i, &collect->scratch, &now_ms)) {
            sum_s += advance(&state->cpus[i], now_ms);
            count++;
        }
    }
    if (count == 0) {
        return rm_collect_garbled(&state->files.files[0]);
    }
    state->total_s += sum_s / (double)count;
    values[0] = state->total_s;
    return RESMON_OK;
}

static void close_throttle(void *state_)
{
    struct throttle_state *state = state_;
    close_cpu_files(&state->files);
    rm_free(state->cpus);
}

const struct rm_collector rm_collect_node_throttle = {
    .name = "node_throttle",
    .domain = RESMON_DOMAIN_CPU,
    .min_interval_ns = RM_NS_PER_S,
    .comes_when_asked = true,
    RM_METRICS(throttle_metrics),
    .state_bytes = sizeof(struct throttle_state),
    .open = open_throttle,
    .read = read_throttle,
    .close = close_throttle,
};

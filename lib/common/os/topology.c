/* SPDX-License-Identifier: MIT */
#include "os/topology.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/text.h"

struct reading {
    const struct rm_root *root;
    struct rm_scratch *scratch;
};

static bool RM_PRINTF(3, 4)
    read_file(const struct reading *reading, struct rm_text *ret_text, const char *format, ...)
{
    char path[128];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    struct rm_text text;
    return rm_file_read_once(reading->root, path, reading->scratch, &text) == RESMON_OK &&
           rm_parse_line(&text, ret_text);
}

/* ---- sets of numbers ---------------------------------------------------------------------- */

bool rm_number_set_parse(struct rm_text list, struct rm_number_set *ret_set)
{
    uint64_t low, high;
    *ret_set = (struct rm_number_set){{0}};
    do {
        if (!rm_parse_u64(&list, &low)) {
            return false;
        }
        high = low;
        if (rm_parse_literal(&list, "-") && !rm_parse_u64(&list, &high)) {
            return false;
        }
        if (high < low || high >= RM_MOST_NUMBERS) {
            return false;
        }
        for (uint64_t number = low; number <= high; number++) {
            ret_set->bits[number / 64] |= UINT64_C(1) << (number % 64);
        }
    } while (rm_parse_literal(&list, ","));
    return true;
}

unsigned rm_number_set_count(const struct rm_number_set *set)
{
    unsigned sum = 0;
    for (size_t i = 0; i < RM_ARRAY_LEN(set->bits); i++) {
        sum += (unsigned)__builtin_popcountll(set->bits[i]);
    }
    return sum;
}

/* The lowest number of the set; RM_MOST_NUMBERS if it is empty. */
static unsigned first(const struct rm_number_set *set)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(set->bits); i++) {
        if (set->bits[i] != 0) {
            return (unsigned)(i * 64) + (unsigned)__builtin_ctzll(set->bits[i]);
        }
    }
    return RM_MOST_NUMBERS;
}

static bool has(const struct rm_number_set *set, unsigned number)
{
    return (set->bits[number / 64] >> (number % 64) & 1) != 0;
}

static void remove_all(struct rm_number_set *set, const struct rm_number_set *other)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(set->bits); i++) {
        set->bits[i] &= ~other->bits[i];
    }
}

/* ---- sockets and cores ------------------------------------------------------------------ */

/* The CPUs that share something with `cpu`, by the file's name since Linux 5.2 or the older one. */
static bool read_siblings(const struct reading *reading, unsigned cpu, const char *name,
                          const char *old_name, struct rm_number_set *ret_set)
{
    struct rm_text text;
    const char *const names[] = {name, old_name};
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        if (read_file(reading, &text, "sys/devices/system/cpu/cpu%u/topology/%s", cpu, names[i])) {
            return rm_number_set_parse(text, ret_set) && has(ret_set, cpu);
        }
    }
    return false;
}

struct cores {
    unsigned count, fewest, most; /* cores; threads of a core */
};

static bool count_cores(const struct reading *reading, struct rm_number_set left,
                        struct cores *cores)
{
    struct rm_number_set siblings;
    for (unsigned cpu = first(&left); cpu < RM_MOST_NUMBERS; cpu = first(&left)) {
        if (!read_siblings(reading, cpu, "core_cpus_list", "thread_siblings_list", &siblings)) {
            return false;
        }
        unsigned threads = rm_number_set_count(&siblings);
        cores->count++;
        cores->fewest = threads < cores->fewest ? threads : cores->fewest;
        cores->most = threads > cores->most ? threads : cores->most;
        remove_all(&left, &siblings);
    }
    return true;
}

static void read_cores(struct rm_topology *topology, const struct reading *reading)
{
    struct rm_text text;
    struct rm_number_set left, package;
    struct cores cores = {0, RM_MOST_NUMBERS, 0};
    unsigned sockets = 0, cpus_of_first = 0, cores_of_first = 0;
    if (!read_file(reading, &text, "sys/devices/system/cpu/online") ||
        !rm_number_set_parse(text, &left)) {
        return;
    }
    for (unsigned cpu = first(&left); cpu < RM_MOST_NUMBERS; cpu = first(&left)) {
        if (!read_siblings(reading, cpu, "package_cpus_list", "core_siblings_list", &package)) {
            return;
        }
        if (sockets++ == 0 || rm_number_set_count(&package) != cpus_of_first) {
            if (!count_cores(reading, package, &cores)) {
                return;
            }
        } else {
            cores.count += cores_of_first;
        }
        if (sockets == 1) {
            cpus_of_first = rm_number_set_count(&package);
            cores_of_first = cores.count;
        }
        remove_all(&left, &package);
    }
    topology->sockets = sockets;
    topology->cores = cores.count;
    topology->threads_per_core = cores.fewest == cores.most ? cores.most : RM_NAN;
}

/* ---- caches, frequencies, NUMA nodes ---------------------------------------------------- */

static bool read_of_cache(const struct reading *reading, unsigned index, const char *name,
                          struct rm_text *ret_text)
{
    return read_file(reading, ret_text, "sys/devices/system/cpu/cpu0/cache/index%u/%s", index,
                     name);
}

/* "d" of "Data", "i" of "Instruction"; "" of "Unified". */
static const char *kind_of(const struct reading *reading, unsigned index)
{
    struct rm_text type;
    if (!read_of_cache(reading, index, "type", &type)) {
        return "";
    }
    return rm_text_equals(&type, "Data") ? "d" : rm_text_equals(&type, "Instruction") ? "i" : "";
}

/* Caches of level 1 are split by kind, those of the last level are shared: only this is read. */
static bool read_cache(const struct reading *reading, unsigned index, struct rm_cpu_cache *cache)
{
    struct rm_text text;
    struct rm_number_set shared;
    uint64_t level, kib;
    if (!read_of_cache(reading, index, "level", &text) || !rm_parse_u64(&text, &level) ||
        level > 9 || !read_of_cache(reading, index, "size", &text) || !rm_parse_u64(&text, &kib) ||
        !rm_parse_literal(&text, "K")) {
        return false;
    }
    (void)snprintf(cache->name, sizeof cache->name, "l%u%s", (unsigned)level,
                   level == 1 ? kind_of(reading, index) : "");
    cache->bytes = (double)kib * 1024.0;
    cache->cpu_number = level >= 3 && read_of_cache(reading, index, "shared_cpu_list", &text) &&
                                rm_number_set_parse(text, &shared)
                            ? rm_number_set_count(&shared)
                            : RM_NAN;
    return true;
}

static double read_khz(const struct reading *reading, const char *name)
{
    struct rm_text text;
    uint64_t khz;
    return read_file(reading, &text, "sys/devices/system/cpu/cpu0/cpufreq/%s", name) &&
                   rm_parse_u64(&text, &khz) && khz > 0
               ? (double)khz * 1e3
               : RM_NAN;
}

/* "Node 0 MemTotal:       24684084 kB", the first line. */
double rm_numa_memory(const struct rm_root *root, struct rm_scratch *scratch, unsigned number)
{
    const struct reading reading = {root, scratch};
    struct rm_text text;
    uint64_t node, kib;
    return read_file(&reading, &text, "sys/devices/system/node/node%u/meminfo", number) &&
                   rm_parse_literal(&text, "Node ") && rm_parse_u64(&text, &node) &&
                   rm_parse_literal(&text, " MemTotal:") && rm_parse_u64(&text, &kib)
               ? (double)kib * 1024.0
               : RM_NAN;
}

bool rm_numa_online(const struct rm_root *root, struct rm_scratch *scratch,
                    struct rm_number_set *ret_nodes)
{
    const struct reading reading = {root, scratch};
    struct rm_text text;
    return read_file(&reading, &text, "sys/devices/system/node/online") &&
           rm_number_set_parse(text, ret_nodes);
}

static void read_nodes(struct rm_topology *topology, const struct reading *reading)
{
    struct rm_text text;
    struct rm_number_set nodes;
    if (!rm_numa_online(reading->root, reading->scratch, &nodes)) {
        return;
    }
    topology->numa_count = rm_number_set_count(&nodes);
    unsigned number = topology->numa_count > 1 ? first(&nodes) : RM_MOST_NUMBERS;
    for (size_t i = 0; number < RM_MOST_NUMBERS && i < RM_MOST_NUMA_NODES; i++) {
        struct rm_numa_node *node = &topology->numa[i];
        node->number = number;
        node->memory_bytes = rm_numa_memory(reading->root, reading->scratch, number);
        if (read_file(reading, &text, "sys/devices/system/node/node%u/cpulist", number) &&
            rm_text_left(&text) < sizeof node->cpus) {
            (void)rm_text_copy(node->cpus, sizeof node->cpus, text.at, rm_text_left(&text));
        }
        nodes.bits[number / 64] &= ~(UINT64_C(1) << (number % 64));
        number = first(&nodes);
    }
}

void rm_topology_read(struct rm_topology *topology, const struct rm_root *root,
                      struct rm_scratch *scratch)
{
    const struct reading reading = {root, scratch};
    *topology =
        (struct rm_topology){.sockets = RM_NAN, .cores = RM_NAN, .threads_per_core = RM_NAN};
    read_cores(topology, &reading);
    topology->min_hz = read_khz(&reading, "cpuinfo_min_freq");
    topology->max_hz = read_khz(&reading, "cpuinfo_max_freq");
    while (topology->cache_count < RM_MOST_CACHES &&
           read_cache(&reading, (unsigned)topology->cache_count,
                      &topology->caches[topology->cache_count])) {
        topology->cache_count++;
    }
    read_nodes(topology, &reading);
}

/* SPDX-License-Identifier: MIT */
/*
 * Owns what sysfs reports of the machine's processors and memory: sockets, cores, caches,
 * frequencies, NUMA nodes; and lists of numbers as the kernel prints them.  Called by collect, and
 * once in a run for its facts.
 */
#ifndef RM_OS_TOPOLOGY_H
#define RM_OS_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "os/file.h"

/* ---- lists of CPUs and nodes ---------------------------------------------------------------- */

#define RM_MOST_NUMBERS 8192 /* of CPUs in a kernel (CONFIG_NR_CPUS); of nodes 1024 */

struct rm_number_set {
    uint64_t bits[RM_MOST_NUMBERS / 64];
};

/** Parses "0-31,64-95".  False: garbled, or a number is RM_MOST_NUMBERS or more. */
bool rm_number_set_parse(struct rm_text list, struct rm_number_set *ret_set);

unsigned rm_number_set_count(const struct rm_number_set *set);

/** The online NUMA nodes.  False: a kernel without NUMA. */
bool rm_numa_online(const struct rm_root *root, struct rm_scratch *scratch,
                    struct rm_number_set *ret_nodes);

/** Memory of a NUMA node in bytes; NaN: unknown. */
double rm_numa_memory(const struct rm_root *root, struct rm_scratch *scratch, unsigned number);

/* ---- topology ------------------------------------------------------------------------------- */

#define RM_MOST_CACHES     8
#define RM_MOST_NUMA_NODES 16

struct rm_cpu_cache {
    char name[8];      /* "l1d", "l1i", "l2", "l3" */
    double bytes;      /* of one such cache */
    double cpu_number; /* logical CPUs that share one; read from level 3 on, else NaN */
};

struct rm_numa_node {
    unsigned number;
    char cpus[128]; /* "0-31,64-95"; "" for a node of memory alone, or if the list is longer */
    double memory_bytes;
};

/** NaN, and 0 of a count: unknown. */
struct rm_topology {
    double sockets;          /* with an online CPU */
    double cores;            /* physical, with an online CPU */
    double threads_per_core; /* NaN, too, if cores differ, as in hybrid processors */
    double min_hz, max_hz;   /* limits of CPU 0's frequency, by the hardware */
    size_t cache_count;      /* of CPU 0 */
    struct rm_cpu_cache caches[RM_MOST_CACHES];
    size_t numa_count; /* online nodes; more than one: `numa` has the first RM_MOST_NUMA_NODES */
    struct rm_numa_node numa[RM_MOST_NUMA_NODES];
};

/**
 * Reads the topology below `root`.  Sockets with as many CPUs as the first are taken to have as
 * many cores, so the cost is a file for each core of one socket.
 */
RM_SHARED void rm_topology_read(struct rm_topology *topology, const struct rm_root *root,
                                struct rm_scratch *scratch);

#endif

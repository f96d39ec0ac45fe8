/* SPDX-License-Identifier: MIT */
/*
 * Owns the names that a process gives to code that it makes at run time: its file /tmp/perf-PID.map
 * (tools/perf/Documentation/jit-interface.txt of Linux), as Python (-X perf), Node.js, Java agents
 * and others write it.
 */
#ifndef RM_STACK_PERF_MAP_H
#define RM_STACK_PERF_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "os/file.h"

struct rm_perf_map;

/* A piece of code that has a name. */
struct rm_perf_map_entry {
    uint64_t start, bytes;
    const char *name; /* the map's, until it is free */
};

/** Of a process; nothing is read yet.  NULL: no memory. */
struct rm_perf_map *rm_perf_map_new(uint32_t pid);

/** The piece that an address is in.  The file grows: it is read on where it has what was not there
 * before.  false: there is none. */
bool rm_perf_map_find(struct rm_perf_map *map, uint64_t address, const struct rm_root *root,
                      struct rm_perf_map_entry *ret_entry);

void rm_perf_map_free(struct rm_perf_map *map);

#endif

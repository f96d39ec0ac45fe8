/* SPDX-License-Identifier: MIT */
/*
 * Owns the names that a process gives to code that it generates at run time: its file
 * /tmp/perf-PID.map (tools/perf/Documentation/jit-interface.txt of Linux), written by Python (-X
 * perf), Node.js, Java agents and others.
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
    const char *name; /* owned by the map */
};

/** Creates the map of a process; the file is not read yet.  NULL: out of memory. */
struct rm_perf_map *rm_perf_map_new(uint32_t pid);

/** Finds the piece of code at an address.  If the piece is not known, reads what the process has
 * appended to the file.  False: not found. */
bool rm_perf_map_find(struct rm_perf_map *map, uint64_t address, const struct rm_root *root,
                      struct rm_perf_map_entry *ret_entry);

void rm_perf_map_free(struct rm_perf_map *map);

#endif

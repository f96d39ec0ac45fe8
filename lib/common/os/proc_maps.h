/* SPDX-License-Identifier: MIT */
/*
 * Owns reading of the lines of /proc/PID/maps (proc(5)).
 */
#ifndef RM_OS_PROC_MAPS_H
#define RM_OS_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/parse.h"

struct rm_proc_map {
    uint64_t start, end, offset;
    uint64_t device; /* its major number << 32 | its minor one */
    uint64_t inode;  /* 0: no file */
    bool is_code, is_private;
    struct rm_text path; /* what stands there: a path, "[stack]", nothing */
};

/** false: it is no such line. */
bool rm_proc_map_parse(struct rm_text line, struct rm_proc_map *ret_map);

#endif

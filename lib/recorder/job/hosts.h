/* SPDX-License-Identifier: MIT */
/*
 * Owns lists of host names: bounded in number and bytes, in the order in which they were added,
 * with or without repeats.
 * Filled by job/hostlist.
 */
#ifndef RM_JOB_HOSTS_H
#define RM_JOB_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/compiler.h"
#include "base/map.h"
#include "base/parse.h"

#define RM_MAX_HOSTS       65536U
#define RM_MAX_HOSTS_BYTES ((size_t)4 << 20) /* of all names with their ends */
#define RM_HOST_NAME_BYTES 256               /* of one, with its end: a DNS name has 253 */

struct rm_hosts {
    struct rm_buffer names; /* each ends in '\0' */
    uint32_t *starts;       /* of the names in `names` */
    struct rm_map map;      /* of a unique list: indexes by name */
    size_t count, room;     /* of `starts` */
    uint64_t added;         /* names that were added, repeats too */
    bool is_unique;
};

/** An empty list; one that `is_unique` skips the names that it has. */
RM_SHARED void rm_hosts_init(struct rm_hosts *hosts, bool is_unique);
RM_SHARED void rm_hosts_free(struct rm_hosts *hosts);

/**
 * Adds a name.  RESMON_EFORMAT: it is empty, too long or has control characters; RESMON_ERANGE: the
 * list is full; RESMON_ENOMEM.  The list stays as it was.
 */
resmon_status rm_hosts_add(struct rm_hosts *hosts, struct rm_text name);

/** Name `index`, which is below the count. */
RM_SHARED const char *rm_hosts_name(const struct rm_hosts *hosts, size_t index);

/**
 * Index of `name` in a unique list; where it is not there, of the one host whose name is the same
 * up to its first dot.  -1: none, or several.
 */
int64_t rm_hosts_find(const struct rm_hosts *hosts, const char *name);

/** Where host `index` of a unique list would stand if the list were sorted by bytes. */
int64_t rm_hosts_sorted_position(const struct rm_hosts *hosts, size_t index);

#endif

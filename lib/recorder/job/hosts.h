/* SPDX-License-Identifier: MIT */
/*
 * Owns lists of host names: bounded in number and bytes, in the order in which they were added,
 * with or without duplicates; and the parsers of batch systems' host lists.  These are untrusted
 * input: each is checked before it is expanded.
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
#define RM_MAX_HOSTS_BYTES ((size_t)4 << 20) /* bound of all names, with '\0' */
#define RM_HOST_NAME_BYTES 256               /* bound of one name, with '\0': a DNS name has 253 */

struct rm_hosts {
    struct rm_buffer names; /* each ends in '\0' */
    uint32_t *starts;       /* of the names in `names` */
    struct rm_map map;      /* of a unique list: index by name */
    size_t count, room;     /* of `starts` */
    uint64_t added;         /* number of names added, with duplicates */
    bool is_unique;
};

/** Initializes an empty list; with `is_unique`, duplicates are skipped. */
RM_SHARED void rm_hosts_init(struct rm_hosts *hosts, bool is_unique);
RM_SHARED void rm_hosts_free(struct rm_hosts *hosts);

/** Name `index`, which is below the count. */
RM_SHARED const char *rm_hosts_name(const struct rm_hosts *hosts, size_t index);

/**
 * Index of `name` in a unique list; if it is not found, of the only host with the same name up
 * to the first dot.  -1: none, or several.
 */
int64_t rm_hosts_find(const struct rm_hosts *hosts, const char *name);

/** Position of host `index` of a unique list if the list were sorted by bytes. */
int64_t rm_hosts_sorted_position(const struct rm_hosts *hosts, size_t index);

/**
 * Adds Slurm's "n[001-003,7],login1", "rack[0-1]node[08-11]", as `scontrol show hostnames` does,
 * but stricter: an open bracket or range is an error.  RESMON_EFORMAT, RESMON_ERANGE (see
 * <resmon/job.h>), RESMON_ENOMEM; some names may be in the list then.
 */
RM_SHARED resmon_status rm_hostlist_add_slurm(struct rm_hosts *hosts, struct rm_text text);

/** Writes names as a host list: neighbours that differ in a number become a bracket.  Appended to
 * the buffer, whose status has a failure. */
void rm_hostlist_fold(const struct rm_hosts *hosts, struct rm_buffer *buffer);

/** Adds LSF's LSB_MCPU_HOSTS, names and slots: "h1 4 h2 4". */
resmon_status rm_hostlist_add_pairs(struct rm_hosts *hosts, struct rm_text text);

/** Adds LSF's LSB_HOSTS, one name per slot: "h1 h1 h2 h2". */
resmon_status rm_hostlist_add_words(struct rm_hosts *hosts, struct rm_text text);

/** Adds a node file with one line per slot (PBS_NODEFILE, OAR_NODEFILE, LSB_DJOB_HOSTFILE): the
 * first word of each line; empty lines are skipped. */
resmon_status rm_hostlist_add_lines(struct rm_hosts *hosts, struct rm_text text);

/**
 * Adds the node file `path` below the directory `root` (NULL: "/").  RESMON_ENOENT,
 * RESMON_EACCES, RESMON_EIO; RESMON_EFORMAT: not a regular file, empty, too large or not a list
 * of hosts; RESMON_ERANGE: too many; RESMON_ENOMEM.
 */
resmon_status rm_hostlist_add_file(struct rm_hosts *hosts, const char *root, const char *path);

/** Entry `index` of Slurm's "2(x3),1", which is 2, 2, 2, 1; -1: none. */
int64_t rm_hostlist_tasks_of_node(struct rm_text text, int64_t index);

#endif

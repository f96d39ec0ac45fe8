/* SPDX-License-Identifier: MIT */
/*
 * Owns the limits of memory that hold for a process: its control group's and those of all groups
 * above it, each with what is charged there.  The one that leaves the least is the one that kills.
 * Called by collect, engine/sampler and stack/memory_watch.
 */
#ifndef RM_OS_CGROUP_LIMIT_H
#define RM_OS_CGROUP_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "os/cgroup.h"

/* Deeper nests are cut: the outermost groups are left out. */
#define RM_CGROUP_MOST_LEVELS 16U

/* Version 1 says "no limit" with a huge number, the largest multiple of the page size. */
#define RM_CGROUP_UNLIMITED (UINT64_C(1) << 60)

struct rm_cgroup_level {
    char path[RM_CGROUP_PATH_BYTES]; /* relative to the root directory */
    uint64_t limit;                  /* UINT64_MAX: none */
    struct rm_file used;
    bool is_hidden; /* a group that is not mounted here: nothing but its limit is known */
};

struct rm_cgroup_limits {
    const struct rm_root *root;
    int version;
    struct rm_cgroup_level *levels; /* the process's own group first */
    size_t count;
    int64_t read_ns; /* when the limits were read; they are changed while programs run */
};

/* The limit that leaves the least. */
struct rm_cgroup_headroom {
    size_t level;
    uint64_t limit; /* UINT64_MAX: there is none; `level` is the process's own group */
    uint64_t used;  /* at that level, file cache included */
    uint64_t left;
};

/** Finds the groups and their limits; the root stays where it is until close. */
resmon_status rm_cgroup_limits_open(struct rm_cgroup_limits *limits,
                                    const struct rm_cgroup_place *place, const struct rm_root *root,
                                    struct rm_scratch *scratch, int64_t now_ns);
void rm_cgroup_limits_close(struct rm_cgroup_limits *limits);

/** Reads what is charged at each level with a limit; the limits again every 10 s.  What a group
 * does not tell is at least what is charged in the one below it. */
struct rm_cgroup_headroom rm_cgroup_limits_look(struct rm_cgroup_limits *limits,
                                                struct rm_scratch *scratch, int64_t now_ns);

/** Reads the limits again, if they were read 10 s ago or before. */
void rm_cgroup_limits_refresh(struct rm_cgroup_limits *limits, struct rm_scratch *scratch,
                              int64_t now_ns);

/** The tightest limit of all levels in bytes; NaN: there is none. */
double rm_cgroup_limits_tightest(const struct rm_cgroup_limits *limits);

/** The tightest limit of a group and those above it, looked up for this once; NaN: there is none.
 */
double rm_cgroup_tightest_limit(const struct rm_cgroup_place *place, const struct rm_root *root,
                                struct rm_scratch *scratch);

#endif

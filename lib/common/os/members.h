/* SPDX-License-Identifier: MIT */
/*
 * Owns the list of processes that are observed together without being one tree: those of a cgroup
 * and of the cgroups below it; or, where a batch system makes no cgroup for a job, those of the
 * job.
 *
 * A process is of a job if an entry that names the job is in the environment that it was started
 * with (/proc/PID/environ, which the kernel shows to its user and to root); or if its parent is of
 * the job, or the leader of its session.  It stays until it ends.  A process gets another
 * environment when it executes a program: so processes without an entry are looked at again, first
 * after 50 ms, then each time after twice as long, up to 8 s: a process that got its pid from one
 * of these is found as late.  The process that looks and what it starts are left out.
 */
#ifndef RM_OS_MEMBERS_H
#define RM_OS_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/cgroup.h"
#include "os/file.h"

/* What is observed. */
struct rm_group {
    struct rm_cgroup cgroup;
    /* Of a job, instead of a cgroup: "NAME=ID", each with its '\0', then an empty one.  "NAME=ID."
     * followed by anything matches, too.  NULL: a cgroup. */
    const char *entries;
};

struct rm_candidate;

struct rm_members {
    uint64_t *pids;
    size_t count, room;
    /* Of a job: */
    struct rm_candidate *candidates; /* all processes, by pid */
    size_t candidate_count, candidate_room;
    int64_t next_ns;      /* when a process must be looked at again */
    size_t hidden;        /* processes whose environment may not be read */
    uint64_t changes;     /* how often the list changed */
    uint64_t hash;        /* of the list */
    const char *by_entry; /* the entry that was found; NULL: none */
};

/** Reads the list again; overwrites the scratch.  RESMON_ENOENT: the cgroup no longer exists; other
 * errors: the list is incomplete. */
resmon_status rm_members_read(struct rm_members *members, const struct rm_group *group,
                              const struct rm_root *root, struct rm_scratch *scratch,
                              int64_t now_ns);

/** Whether the list may change though no process began or ended. */
bool rm_members_are_due(const struct rm_members *members, int64_t now_ns);

bool rm_members_has(const struct rm_members *members, uint64_t pid);

void rm_members_free(struct rm_members *members);

#endif

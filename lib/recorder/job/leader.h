/* SPDX-License-Identifier: MIT */
/*
 * Owns the choice of the process of a job that reports the values of its host, so that they are
 * not counted once per rank.  Local rank 0 leads; its children and the programs that it starts have
 * this rank, too.  Among these, and if local ranks are not known, the process that holds a lock
 * file leads.  Without a job, each process is its own leader.  A lock may be
 * impossible: no id to name it, a foreign file at its path, or a directory that is not writable.
 * Then, if local ranks are not known, no process leads, and `reason` has the cause.  Missing values
 * with a reason are better than values counted once per rank.  All monitors of a process lead
 * together.
 *
 * The lock works among processes that see the same directory: ranks with a private /tmp each
 * lead.  A forked child does not lead; but while it lives, it keeps the lock of a parent that
 * was killed.
 */
#ifndef RM_JOB_LEADER_H
#define RM_JOB_LEADER_H

#include <stdbool.h>
#include <sys/types.h>

#include "job/detect.h"

#define RM_LEADER_REASON_BYTES 256
#define RM_LEADER_PATH_BYTES   1024

struct rm_leader_lock;

struct rm_leader {
    bool is_leader;              /* when it was requested; see rm_leader_leads() */
    struct rm_leader_lock *lock; /* shared by the leaders of a process; NULL: no lock */
    pid_t pid;
    char reason[RM_LEADER_REASON_BYTES]; /* why it does not lead; "" if it leads */
    char path[RM_LEADER_PATH_BYTES];
};

/**
 * Decides; the leadership lasts until rm_leader_free().  `directory`: of the lock file; NULL:
 * TMPDIR, or "/tmp".  Never fails: a problem is the reason, and a line in the log.
 */
void rm_leader_take(struct rm_leader *leader, const struct resmon_job *job, const char *directory);

/** Whether this process leads; false in a forked child of the leader. */
bool rm_leader_leads(const struct rm_leader *leader);

/** Gives the leadership up, and removes the lock file; a forked child only frees its memory. */
void rm_leader_free(struct rm_leader *leader);

#endif

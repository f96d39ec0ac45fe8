/* SPDX-License-Identifier: MIT */
/*
 * Owns the question which process of a job reports the figures of its host, so that they are not
 * counted once per rank: the one of local rank 0, and among its children and the programs that it
 * starts, or where local ranks are not known, the one that holds a lock file.  Without a job each
 * process is its own leader.
 *
 * Where it cannot be told (no id to name a lock by, a file planted in the lock's place, a directory
 * that cannot be written) nobody leads, and `reason` says why: figures of a host that are absent
 * with a reason are better than figures that are there once per rank.
 *
 * All monitors of a process lead together.
 *
 * The lock is of the processes that see the same directory: ranks with a /tmp of their own each
 * lead.  The child of a fork does not lead; but while it lives, it keeps the lock of a parent that
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
    bool is_leader;              /* when it was asked for; see rm_leader_leads() */
    struct rm_leader_lock *lock; /* shared by the leaders of a process; NULL: none */
    pid_t pid;
    char reason[RM_LEADER_REASON_BYTES]; /* why it does not lead; "" if it does */
    char path[RM_LEADER_PATH_BYTES];
};

/**
 * Decides; the leadership lasts until rm_leader_free().  `directory` of the lock file: NULL for
 * TMPDIR, or "/tmp".  Never fails: what is in the way is the reason, and a line in the log.
 */
void rm_leader_take(struct rm_leader *leader, const struct resmon_job *job, const char *directory);

/** Whether this process leads: false in a fork's child of the leader. */
bool rm_leader_leads(const struct rm_leader *leader);

/** Gives the leadership up, and removes the lock file; in a fork's child it only lets go. */
void rm_leader_free(struct rm_leader *leader);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the CPU time of our own process and of its descendants, as scopes read it at any moment and
 * on any thread: without a file and without a lock.
 *
 * It is the process's clock; what children had used that were waited for, with all that these had
 * waited for (getrusage); and the clocks of descendants that live.  These are known by what
 * somebody who looks at the process tree has published last (collect/tree.c): a descendant that is
 * younger than this is missed until the next look, or until it is waited for.  What a descendant's
 * own children had used that it has waited for is as old as the last look, too.
 */
#ifndef RM_OS_TREE_CPU_H
#define RM_OS_TREE_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RM_DESCENDANTS 64 /* that are followed by their own clocks */

/* One that lived at the last look, and what it had used then. */
struct rm_descendant {
    int64_t pid;
    int64_t child; /* of ours, that it descends from or is; 0: none, an orphan.  When that has been
                      waited for, getrusage has its time and that of what it had waited for */
    uint64_t own_ns;
    uint64_t waited_ns; /* of children that it has waited for */
};

/**
 * Publishes who lives, at most RM_DESCENDANTS; and `rest_ns`, what others had used that getrusage
 * does not have: those who ended without having been waited for.  Of several owners the first is
 * heard until it withdraws.  One thread at a time per owner.
 */
void rm_tree_cpu_publish(const void *owner, const struct rm_descendant *descendants, size_t count,
                         uint64_t rest_ns);
void rm_tree_cpu_withdraw(const void *owner);

struct rm_tree_cpu {
    uint64_t process_ns;     /* all of its threads */
    uint64_t descendants_ns; /* never falls */
    bool has_descendants;    /* some live, whether or not they are known */
};

/* The process's own clock is read last at the beginning of a stretch, and first at its end, so that
 * the stretch does not count the rest. */
struct rm_tree_cpu rm_tree_cpu_at_begin(void);
struct rm_tree_cpu rm_tree_cpu_at_end(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the software events of a process and of all that it starts (perf_event_open(2), inherited):
 * what becomes of the processes and what they map as code, samples of their CPU time, and samples
 * of their page faults.  For each CPU there is a ring for each of the three, and all are read in
 * one order of time.  Nothing is done in the processes, and nobody traces them. Opened, read and
 * closed on one thread.
 */
#ifndef RM_OS_PERF_TREE_H
#define RM_OS_PERF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "os/perf_ring.h"

enum rm_tree_record_kind {
    RM_TREE_NOTHING, /* of no interest */
    RM_TREE_FORK,    /* `pid` began, a process of `parent` */
    RM_TREE_THREAD,  /* it began a thread */
    RM_TREE_NAME,    /* the process has a new name */
    RM_TREE_EXEC,    /* another program begins in it: what was mapped is gone */
    RM_TREE_MAP,     /* it mapped a file as code */
    RM_TREE_USED,    /* a thread of it ended, after `count` ns on one CPU: one for each CPU */
    RM_TREE_EXIT,    /* a thread of it ended */
    RM_TREE_CPU,     /* a sample of CPU time */
    RM_TREE_FAULT,   /* a sample of page faults */
    RM_TREE_LOST,    /* `count` records found a ring full */
};

#define RM_TREE_TEXT_BYTES 256

struct rm_tree_record {
    enum rm_tree_record_kind kind;
    uint32_t pid, tid, parent;
    int64_t t_ns; /* CLOCK_MONOTONIC */
    uint64_t count;
    bool is_first_cpu;                  /* of RM_TREE_USED: one of all that a thread has */
    bool is_of_processes;               /* of RM_TREE_LOST: what became of some is not told */
    uint64_t device, inode, generation; /* of the file that was mapped */
    uint64_t start, bytes, offset;      /* of what was mapped: in memory and in the file */
    char text[RM_TREE_TEXT_BYTES];      /* the name, or the path of what was mapped; cut */
    struct rm_perf_record sample; /* its stack is in the ring until the next record is asked for */
};

struct rm_perf_tree_terms {
    int64_t cpu_ns;        /* CPU time between samples; 0: it is counted, not sampled */
    uint64_t fault_period; /* minor page faults between samples; 0: none are taken */
    bool is_prompt;        /* each process that comes or goes ends a wait */
};

struct rm_perf_tree;

/** Nothing is observed yet.  RESMON_ENOMEM. */
resmon_status rm_perf_tree_new(const struct rm_perf_tree_terms *terms,
                               struct rm_perf_tree **ret_tree);

/** Observes a thread, and all that it starts from now on.  RESMON_EACCES, RESMON_ENOTSUP,
 * RESMON_ESRCH, ...: with the reason in words; what cannot be sampled, but counted, is no failure
 * (rm_perf_tree_refusal()). */
resmon_status rm_perf_tree_add(struct rm_perf_tree *tree, uint32_t thread);

/** Why there are no samples of a kind (RM_TREE_CPU, RM_TREE_FAULT); NULL: there are. */
const char *rm_perf_tree_refusal(const struct rm_perf_tree *tree, enum rm_tree_record_kind kind);

/** Whether samples of a kind come from system calls, too. */
bool rm_perf_tree_sees_kernel(const struct rm_perf_tree *tree, enum rm_tree_record_kind kind);

/** Whether faults tell the size of their page. */
bool rm_perf_tree_sees_pages(const struct rm_perf_tree *tree);

void rm_perf_tree_free(struct rm_perf_tree *tree);

/** Takes note of what waits. */
void rm_perf_tree_look(struct rm_perf_tree *tree);

/** The earliest record of those that waited when it was looked last, unless it is later than
 * `until_ns`: of another ring an earlier one may come yet.  false: there is none. */
bool rm_perf_tree_next(struct rm_perf_tree *tree, int64_t until_ns,
                       struct rm_tree_record *ret_record);

/** CPU time of all that was observed, until now; ns. */
uint64_t rm_perf_tree_cpu_ns(const struct rm_perf_tree *tree);

/** Waits until a ring is half full, but no longer than `most_ns`.  false: all that was observed has
 * ended, and this returned at once. */
bool rm_perf_tree_wait(struct rm_perf_tree *tree, int64_t most_ns);

/** Memory of the rings. */
uint64_t rm_perf_tree_bytes(const struct rm_perf_tree *tree);

#endif

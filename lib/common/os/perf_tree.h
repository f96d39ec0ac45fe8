/* SPDX-License-Identifier: MIT */
/*
 * Owns the inherited software events of a process and of all its descendants (perf_event_open(2)).
 * There are three kinds: events of processes and their code mappings, samples of CPU time, and
 * samples of page faults.  Each CPU has one ring for each kind.  All records are merged in the
 * order of time.  No code runs in the processes, and they are not traced.  Opened, read and closed
 * on one thread.
 */
#ifndef RM_OS_PERF_TREE_H
#define RM_OS_PERF_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "os/perf_ring.h"

enum rm_tree_record_kind {
    RM_TREE_NOTHING, /* ignored */
    RM_TREE_FORK,    /* process `pid` began, a child of `parent` */
    RM_TREE_THREAD,  /* the process started a thread */
    RM_TREE_NAME,    /* the process has a new name */
    RM_TREE_EXEC,    /* exec: all mappings of the process end */
    RM_TREE_MAP,     /* the process mapped a file as code */
    RM_TREE_USED,    /* a thread ended, after `count` ns on one CPU; one record per CPU */
    RM_TREE_EXIT,    /* a thread of the process ended */
    RM_TREE_CPU,     /* a sample of CPU time */
    RM_TREE_FAULT,   /* a sample of page faults */
    RM_TREE_LOST,    /* `count` records were lost because a ring was full */
};

#define RM_TREE_TEXT_BYTES 256

struct rm_tree_record {
    enum rm_tree_record_kind kind;
    uint32_t pid, tid, parent;
    int64_t t_ns; /* CLOCK_MONOTONIC */
    uint64_t count;
    bool is_first_cpu;    /* of RM_TREE_USED: true in exactly one record of each thread */
    bool is_of_processes; /* of RM_TREE_LOST: lost records of process events */
    bool is_of_cpu;       /* of RM_TREE_LOST: lost samples of CPU time, or records of its use */
    uint64_t device, inode, generation; /* of the mapped file */
    uint64_t start, bytes, offset;      /* of the mapping: in memory and in the file */
    char text[RM_TREE_TEXT_BYTES];      /* the name, or the path of the mapped file; may be cut */
    struct rm_perf_record sample;       /* its stack is valid until the next record is read */
};

struct rm_perf_tree_terms {
    int64_t cpu_ns;        /* CPU time between samples; 0: counted without samples */
    uint64_t fault_period; /* minor page faults between samples; 0: no samples */
    uint32_t fault_wakeup; /* samples of page faults between wake-ups, which cost the faulting
                              thread some microseconds each in a virtual machine */
    bool is_prompt;        /* the start or end of a process ends a wait */
};

struct rm_perf_tree;

/** Makes a tree that does not observe a thread yet.  RESMON_ENOMEM. */
resmon_status rm_perf_tree_new(const struct rm_perf_tree_terms *terms,
                               struct rm_perf_tree **ret_tree);

/** Observes a thread, and all threads and processes that it starts from now on.  RESMON_EACCES,
 * RESMON_ENOTSUP, RESMON_ESRCH, ...: the error text has the reason.  Counting without samples is
 * no failure (rm_perf_tree_refusal()). */
resmon_status rm_perf_tree_add(struct rm_perf_tree *tree, uint32_t thread);

/** The reason for missing samples of a kind (RM_TREE_CPU, RM_TREE_FAULT); NULL: samples are taken.
 */
const char *rm_perf_tree_refusal(const struct rm_perf_tree *tree, enum rm_tree_record_kind kind);

/** Whether samples of a kind include system calls. */
bool rm_perf_tree_sees_kernel(const struct rm_perf_tree *tree, enum rm_tree_record_kind kind);

/** Whether samples of faults have the page size. */
bool rm_perf_tree_sees_pages(const struct rm_perf_tree *tree);

void rm_perf_tree_free(struct rm_perf_tree *tree);

/** Updates all rings to the waiting records. */
void rm_perf_tree_look(struct rm_perf_tree *tree);

/** The earliest record that was waiting at the last look, if it is not later than `until_ns`.
 * Before a later record, an earlier one may still come from another ring.  False: no record. */
bool rm_perf_tree_next(struct rm_perf_tree *tree, int64_t until_ns,
                       struct rm_tree_record *ret_record);

/** CPU time of all observed threads until now; ns. */
uint64_t rm_perf_tree_cpu_ns(const struct rm_perf_tree *tree);

/** Waits until there are samples, or a ring of other records is half full, at most `most_ns`; with
 * rm_perf_tree_open_fresh(), until rm_perf_fresh_nudge() is called.  False: all observed threads
 * have ended; returns at once. */
bool rm_perf_tree_wait(struct rm_perf_tree *tree, int64_t most_ns);

/** Bytes of memory of all rings. */
uint64_t rm_perf_tree_bytes(const struct rm_perf_tree *tree);

/* ---- fresh samples ----------------------------------------------------------------------- */

/*
 * Samples as they come, of one CPU, for a thread that looks at the sampled thread at once, beside
 * the thread that reads the tree.  If it runs on that CPU, it takes the place of the sampled
 * thread, which does not go on before it waits again.
 */

struct rm_perf_fresh {
    const struct rm_perf_tree *tree;
    int cpu;
    struct rm_perf_fresh_ring {
        int fd; /* -1: no more samples */
        struct rm_perf_buffer buffer;
        uint64_t position; /* after the last sample that was returned */
    } cpu_time, faults;
};

/** Number of CPUs, as far as they may have rings. */
size_t rm_perf_tree_cpu_count(const struct rm_perf_tree *tree);

/** Opens the fresh samples of a CPU.  From the first one on, rm_perf_tree_wait() does not wait for
 * samples.  False: the CPU has no rings, or there is no descriptor.  Call on the tree's thread. */
bool rm_perf_tree_open_fresh(struct rm_perf_tree *tree, size_t index,
                             struct rm_perf_fresh *ret_fresh);

/** Ends all waits for fresh samples from now on. */
void rm_perf_tree_stop_fresh(struct rm_perf_tree *tree);

/** Waits for a fresh sample; false: stopped. */
bool rm_perf_fresh_wait(struct rm_perf_fresh *fresh);

/** The next fresh sample of a ring, whose stack is not valid; false: none. */
bool rm_perf_fresh_next(const struct rm_perf_fresh *fresh, struct rm_perf_fresh_ring *ring,
                        struct rm_tree_record *ret_record);

/** Ends a wait of the tree's thread if a ring is a quarter full. */
void rm_perf_fresh_nudge(const struct rm_perf_fresh *fresh);

#endif

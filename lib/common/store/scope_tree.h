/* SPDX-License-Identifier: MIT */
/*
 * Owns the scope trees as data in the block: nodes, threads with their open frames, and the move of
 * an ended thread's tree into the tree of retired threads.
 *
 * Each node has one writer, the thread that owns the tree; scope/ writes, with the accessors of
 * this file. A record that may be read at any time has two copies (store/published.h).
 */
#ifndef RM_STORE_SCOPE_TREE_H
#define RM_STORE_SCOPE_TREE_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/wide.h"
#include "store/block.h"

/* ---- nodes and threads ------------------------------------------------------------------ */

#define RM_SITE_NAME_BYTES     64
#define RM_SITE_FILE_BYTES     72
#define RM_SITE_FUNCTION_BYTES 48

/* The place of a scope in the program. Index = the site's process-wide id; slot 0 is unused. */
struct rm_site_record {
    char name[RM_SITE_NAME_BYTES]; /* rm_site_name_set() */
    char file[RM_SITE_FILE_BYTES];
    char function[RM_SITE_FUNCTION_BYTES];
    uint32_t line;
    uint32_t is_set; /* release, after the texts */
};

/** Stores a name. A longer name becomes its first 54 bytes, '~' and eight digits of its hash, so
 * that two names with the same beginning stay different. */
void rm_site_name_set(char name[RM_SITE_NAME_BYTES], const char *text);

/* The sums that each instance changes. Two copies fill a cache line. */
struct rm_wall_sums {
    uint64_t calls;         /* outermost instances */
    uint64_t total;         /* ticks */
    struct rm_wide squares; /* sum of the squared durations, in ticks */
};

/* Wall time, in ticks. */
struct rm_scope_wall {
    struct rm_wall_sums sums;
    uint64_t min; /* UINT64_MAX if there are no calls */
    uint64_t max;
};

/* The results of the meter of peaks, with its own number of metered instances; the number of
 * threads merged into this node; and other counts that the node's owner changes as seldom. The
 * summing meters have their own records (store/scope_records.h). */
struct rm_scope_meters {
    uint64_t threads;
    uint64_t rss_calls;
    uint64_t rss_peak;    /* B, the highest of all instances */
    uint64_t rss_sampled; /* instances whose peak is only the maximum of samples */
    uint64_t cost_ticks;  /* spent in this meter */
    uint64_t away;        /* ticks of its instances that belong to scopes hung elsewhere */
    uint64_t tasks_open;  /* tasks begun minus tasks ended here; over all threads: open tasks */
    uint64_t task_starts; /* sum of the starts (ticks) of tasks begun, minus tasks ended */
    uint64_t failed;      /* instances that ended by an error, or will */
    uint64_t folded;      /* direct recursions, inside of an outermost instance */
    uint64_t resumed;     /* instances that continue a suspended instance: not calls */
};

/* The relation of the instances of a node to the instances of its parent. */
#define RM_NODE_PLAIN       0U /* inside of a parent instance, in the same thread */
#define RM_NODE_HUNG        1U /* beside the parent: the parent mostly is of another thread */
#define RM_NODE_TASK        2U /* beside the parent, and without a frame */
#define RM_NODE_TASK_INSIDE 3U /* inside of a parent instance, and without a frame */
#define RM_NODE_HUNG_INSIDE 4U /* inside of a parent instance that has no frame */

/* A reference to a node: its byte offset in the section. 0: no node (slot 0 is never used). */
typedef uint32_t rm_node_ref;

struct rm_scope_node {
    /* Links: written once under the session lock, and published by the link that points to this
     * node. */
    uint32_t site;           /* 0: the root of a thread */
    uint32_t kind;           /* RM_NODE_* */
    rm_node_ref parent;      /* for the writers; 0: a root */
    rm_node_ref first_child; /* release */
    rm_node_ref next;        /* release */
    rm_node_ref last_child;  /* the owner's cache: the plain child visited last; 0: none yet */
    uint32_t wall_version;   /* of `sums` */
    uint32_t meter_version;
    uint64_t min, max;      /* ticks of an instance; may already include the next one */
    uint64_t spent;         /* cost of the meter of peaks, in ticks; for the owner alone */
    uint64_t ended_at_exit; /* instances that the end of the program ended */
    struct rm_wall_sums sums[2];
    struct rm_scope_meters meters[2];
    rm_node_ref newest_child; /* last child; used only to link children, as is child_count */
    uint32_t child_count;
} __attribute__((aligned(64)));

/* One open scope. */
struct rm_scope_frame {
    uint64_t token; /* release, after the rest; 0: free, as are all frames behind it */
    uint64_t start; /* ticks */
    rm_node_ref node;
    uint32_t folds;        /* open direct recursions, plus bits of RM_FRAME_MARKS */
    uint64_t folded_total; /* all direct recursions of this instance */
};

/* Bits of `folds`. The node is hung, and there is a frame below, whose scope loses the time to this
 * scope meanwhile. */
#define RM_FRAME_ASIDE   0x80000000U
#define RM_FRAME_FAILED  0x40000000U /* the instance is counted as failed */
#define RM_FRAME_RESUMED 0x10000000U /* the instance continues another instance */
#define RM_FRAME_FOLDED  0x20000000U /* `folded_total` is not 0 */
#define RM_FRAME_MARKS   (RM_FRAME_ASIDE | RM_FRAME_FAILED | RM_FRAME_RESUMED | RM_FRAME_FOLDED)

/* Frame 0 represents the thread itself. No scope has its token. */
#define RM_ROOT_TOKEN UINT64_MAX

#define RM_THREAD_FREE  0U
#define RM_THREAD_LIVE  1U
#define RM_THREAD_ENDED 2U /* its tree did not fit into the retired tree, and stays here */

struct rm_scope_thread_record {
    uint32_t state; /* release */
    rm_node_ref root;
    int64_t cpu_clock;              /* clockid_t of the thread's CPU time, valid in this process */
    int64_t cpu_start_ns;           /* reading of cpu_clock when the thread was attached */
    struct rm_scope_frame frames[]; /* depth + 1 */
};

/** The record of a slot; NULL if this slot and all slots behind it were never used. */
const struct rm_scope_thread_record *rm_scope_thread_at(const struct rm_block *block,
                                                        uint64_t slot);

static inline struct rm_scope_node *rm_node_at(const struct rm_block *block, rm_node_ref ref)
{
    return (struct rm_scope_node *)(void *)(block->base +
                                            block->header->sections[RM_SECTION_NODES].offset + ref);
}

static inline rm_node_ref rm_node_ref_of(uint64_t index)
{
    return (rm_node_ref)(index * sizeof(struct rm_scope_node));
}

static inline rm_node_ref rm_node_ref_to(const struct rm_block *block,
                                         const struct rm_scope_node *node)
{
    return (rm_node_ref)((const unsigned char *)node - (const unsigned char *)rm_node_at(block, 0));
}

/** The record of a site. Trusts nothing in the block. */
const struct rm_site_record *rm_site_at(const struct rm_block *block, uint32_t site);

/** Counts one more instance that failed, or that continues another instance; the node's owner only.
 */
void rm_node_count_failure(struct rm_scope_node *node);
void rm_node_count_resumed(struct rm_scope_node *node);

/** Consistent copies of the published wall and meter records of a node. */
struct rm_scope_wall rm_node_wall(const struct rm_scope_node *node);
struct rm_scope_meters rm_node_meters(const struct rm_scope_node *node);

/** The latest sums, for the node's owner. */
static inline const struct rm_wall_sums *rm_node_own_sums(const struct rm_scope_node *node)
{
    return &node->sums[RM_LOAD(&node->wall_version) & 1];
}

/** Publish new wall times, or meter totals; the node's owner only. */
void rm_node_publish_wall(struct rm_scope_node *node, const struct rm_scope_wall *wall);
void rm_node_publish_meters(struct rm_scope_node *node, const struct rm_scope_meters *totals);

/** The member `away` of the published meter record. */
uint64_t rm_node_away(const struct rm_scope_node *node);

/** Whether a thread has entered the node itself, and not only nodes below it. Only such a node has
 * wall times. Their version is in the cache line that a look-up reads anyway. */
static inline int rm_node_is_visited(const struct rm_scope_node *node)
{
    return node->wall_version != 0 || node->meters[node->meter_version & 1].threads != 0;
}

/** For instances without a frame: adds a finished instance; opens an instance that began at
 * `start`, or closes it. The node's owner only. */
void rm_node_add_instance(struct rm_scope_node *node, uint64_t ticks);
void rm_node_open_task(struct rm_scope_node *node, uint64_t start);
void rm_node_close_task(struct rm_scope_node *node, uint64_t start);

/** Whether instances of the node run beside the instances of its parent, and are no part of their
 * time. */
static inline int rm_node_is_beside(const struct rm_scope_node *node)
{
    return node->kind == RM_NODE_HUNG || node->kind == RM_NODE_TASK;
}

static inline int rm_node_is_task(const struct rm_scope_node *node)
{
    return node->kind == RM_NODE_TASK || node->kind == RM_NODE_TASK_INSIDE;
}

/** The variance of the durations, in ticks^2; NaN if there are fewer than two. */
double rm_scope_wall_variance(const struct rm_scope_wall *wall);

struct rm_scope_wall rm_scope_wall_merge(const struct rm_scope_wall *a,
                                         const struct rm_scope_wall *b);
struct rm_scope_meters rm_scope_meters_merge(const struct rm_scope_meters *a,
                                             const struct rm_scope_meters *b);

/* ---- the end of open scopes ------------------------------------------------------------- */

/*
 * The end of scopes that are open at the end of a recording: a killed program records no end.
 */

/**
 * The latest moment, in ticks, of any recorded event. Events are the last sample, the begin or end
 * of any scope that is kept by itself, and the known ends inside of an open scope. An open scope
 * cannot end before the scopes inside of it. So no scope is longer than the scope around it. Trusts
 * nothing in the block.
 */
uint64_t rm_scope_end_ticks(const struct rm_block *block);

#endif

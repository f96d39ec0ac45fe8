/* SPDX-License-Identifier: MIT */
/*
 * Owns the scope trees as data in the block: nodes, threads with their open frames, and how the
 * tree of a thread that ended moves into the tree of the retired.
 *
 * Each node has one writer, the thread whose tree it is in; scope/ writes, with the accessors of
 * this file.  A record that may be read at any time comes in two copies (store/published.h).
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

/* Where a scope stands in the program.  Index = the site's process-wide id; slot 0 is unused. */
struct rm_site_record {
    char name[RM_SITE_NAME_BYTES]; /* rm_site_name_set() */
    char file[RM_SITE_FILE_BYTES];
    char function[RM_SITE_FUNCTION_BYTES];
    uint32_t line;
    uint32_t is_set; /* release, after the texts */
};

/** Of a longer name its first 54 bytes, '~', and eight digits of its hash: two that begin alike
 * stay two. */
void rm_site_name_set(char name[RM_SITE_NAME_BYTES], const char *text);

/* What each instance adds to: two copies are a cache line. */
struct rm_wall_sums {
    uint64_t calls;         /* outermost instances */
    uint64_t total;         /* ticks */
    struct rm_wide squares; /* of durations in ticks, added up */
};

/* Wall time, in ticks. */
struct rm_scope_wall {
    struct rm_wall_sums sums;
    uint64_t min; /* UINT64_MAX without calls */
    uint64_t max;
};

/* What the meter of peaks found, with its own number of metered instances (those that sum have
 * records of their own, store/scope_records.h); how many threads have come
 * together here; and what the node's owner writes as seldom as that. */
struct rm_scope_meters {
    uint64_t threads;
    uint64_t rss_calls;
    uint64_t rss_peak;    /* B, highest of all instances */
    uint64_t rss_sampled; /* instances whose peak is only the sampler's maximum */
    uint64_t cost_ticks;  /* spent in this meter */
    uint64_t away;        /* ticks in its instances that went to scopes hung elsewhere */
    uint64_t tasks_open;  /* begun here, less ended here: of all threads together, those open */
    uint64_t task_starts; /* the sum of their starts in ticks, in the same way */
    uint64_t failed;      /* instances that an error ended, or will end */
    uint64_t folded;      /* direct recursions, which are inside of an outermost instance */
    uint64_t resumed;     /* instances that go on with one that was suspended: no calls */
};

/* How the instances of a node lie to those of the node above. */
#define RM_NODE_PLAIN       0U /* inside of one, in the same thread */
#define RM_NODE_HUNG        1U /* beside it: mostly it is of another thread */
#define RM_NODE_TASK        2U /* beside it, and without a frame */
#define RM_NODE_TASK_INSIDE 3U /* inside of one, and without a frame */
#define RM_NODE_HUNG_INSIDE 4U /* inside of one that has no frame */

/* A reference to a node: its byte offset in the section; 0: none (slot 0 is never used). */
typedef uint32_t rm_node_ref;

struct rm_scope_node {
    /* Links: written once under the session lock, released by the link that points here. */
    uint32_t site;           /* 0: the root of a thread */
    uint32_t kind;           /* RM_NODE_* */
    rm_node_ref parent;      /* for the writers; 0: a root */
    rm_node_ref first_child; /* release */
    rm_node_ref next;        /* release */
    rm_node_ref last_child;  /* the owner's cache of the plain child visited last; 0: none yet */
    uint32_t wall_version;   /* of `sums` */
    uint32_t meter_version;
    uint64_t min, max;      /* ticks of an instance: those in `sums`, or of the next one already */
    uint64_t spent;         /* ticks that the meter of peaks has cost here; the owner's alone */
    uint64_t ended_at_exit; /* instances that the end of the program ended */
    struct rm_wall_sums sums[2];
    struct rm_scope_meters meters[2];
    rm_node_ref newest_child; /* behind which the next is linked; of whoever links, as */
    uint32_t child_count;
} __attribute__((aligned(64)));

/* One open scope. */
struct rm_scope_frame {
    uint64_t token; /* release, after the rest; 0: free, and so are all frames behind it */
    uint64_t start; /* ticks */
    rm_node_ref node;
    uint32_t folds;        /* direct recursions now open; with RM_FRAME_MARKS */
    uint64_t folded_total; /* and ever, in this instance */
};

/* In `folds`: its node is hung, and there is a frame below, whose time goes there meanwhile. */
#define RM_FRAME_ASIDE   0x80000000U
#define RM_FRAME_FAILED  0x40000000U /* it is counted among those that failed, */
#define RM_FRAME_RESUMED 0x10000000U /* or that go on with another */
#define RM_FRAME_FOLDED  0x20000000U /* `folded_total` is not 0 */
#define RM_FRAME_MARKS   (RM_FRAME_ASIDE | RM_FRAME_FAILED | RM_FRAME_RESUMED | RM_FRAME_FOLDED)

/* Frame 0 stands for the thread itself, with a token that no scope has. */
#define RM_ROOT_TOKEN UINT64_MAX

#define RM_THREAD_FREE  0U
#define RM_THREAD_LIVE  1U
#define RM_THREAD_ENDED 2U /* its tree found no room among the retired, and stays here */

struct rm_scope_thread_record {
    uint32_t state; /* release */
    rm_node_ref root;
    int64_t cpu_clock;              /* a clockid_t of this process: the thread's CPU time */
    int64_t cpu_start_ns;           /* by it, when the thread came */
    struct rm_scope_frame frames[]; /* depth + 1 */
};

/** The record of a slot; NULL: it was never used, nor were those behind it. */
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

/** What is known of a site; trusts nothing in the block. */
const struct rm_site_record *rm_site_at(const struct rm_block *block, uint32_t site);

/** One more instance of the node failed, or goes on with another; its owner only. */
void rm_node_count_failure(struct rm_scope_node *node);
void rm_node_count_resumed(struct rm_scope_node *node);

/** The published wall and meter records of a node, copied consistently. */
struct rm_scope_wall rm_node_wall(const struct rm_scope_node *node);
struct rm_scope_meters rm_node_meters(const struct rm_scope_node *node);

/** Of the latest sums, for the node's owner. */
static inline const struct rm_wall_sums *rm_node_own_sums(const struct rm_scope_node *node)
{
    return &node->sums[RM_LOAD(&node->wall_version) & 1];
}

void rm_node_publish_meters(struct rm_scope_node *node, const struct rm_scope_meters *totals);

/** What is `away` in the published meter record. */
uint64_t rm_node_away(const struct rm_scope_node *node);

/** Whether a thread has been in it, and not only on the way to what is below.  Only such a node has
 * wall times, and their version lies in the cache line that a look-up reads anyway. */
static inline int rm_node_is_visited(const struct rm_scope_node *node)
{
    return node->wall_version != 0 || node->meters[node->meter_version & 1].threads != 0;
}

/** For instances without a frame: adds a finished one; opens one that began at `start`, or closes
 * it.  The node's owner only. */
void rm_node_add_instance(struct rm_scope_node *node, uint64_t ticks);
void rm_node_open_task(struct rm_scope_node *node, uint64_t start);
void rm_node_close_task(struct rm_scope_node *node, uint64_t start);

/** Whether instances of the node run beside those of the node above, and are no part of their time.
 */
static inline int rm_node_is_beside(const struct rm_scope_node *node)
{
    return node->kind == RM_NODE_HUNG || node->kind == RM_NODE_TASK;
}

static inline int rm_node_is_task(const struct rm_scope_node *node)
{
    return node->kind == RM_NODE_TASK || node->kind == RM_NODE_TASK_INSIDE;
}

/** The variance of the durations, in ticks^2; NaN of fewer than two. */
double rm_scope_wall_variance(const struct rm_scope_wall *wall);

struct rm_scope_wall rm_scope_wall_merge(const struct rm_scope_wall *a,
                                         const struct rm_scope_wall *b);
struct rm_scope_meters rm_scope_meters_merge(const struct rm_scope_meters *a,
                                             const struct rm_scope_meters *b);

/**
 * Adds the counts of `source` to `target` and leaves `source` empty, so that at every instant the
 * two together hold each count once (the header's journal tells a reader in between).
 */
void rm_node_move(struct rm_block *block, rm_node_ref source, rm_node_ref target);

/* What lies beside a node (store/scope_records.h). */
enum rm_facet_kind { RM_FACET_ENERGY, RM_FACET_COUNTS, RM_FACET_TALLIES };

_Static_assert(RM_FACET_TALLIES + 1 == RM_FACETS, "the journal has a version for each");

/* Which records of a node are already in the target of an unfinished rm_node_move(). */
struct rm_node_moved {
    int wall;
    int meters;
    int facets[RM_FACETS];
};

struct rm_node_moved rm_node_moved_of(const struct rm_block *block, rm_node_ref ref);

/* ---- the end of open scopes ------------------------------------------------------------- */

/*
 * The question until when scopes of a recording last that are open in it: nobody wrote down when
 * the program was killed.
 */

/**
 * The latest moment, in ticks, at which something is known to have happened: the last sample, the
 * begin or end of any scope that is kept by itself, and the ends of those inside of an open scope,
 * which cannot have ended before them.  So no scope is longer than the one around it.  Trusts
 * nothing in the block.
 */
uint64_t rm_scope_end_ticks(const struct rm_block *block);

#endif

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

#include "base/io_field.h"
#include "store/block.h"

#define RM_SITE_NAME_BYTES     64
#define RM_SITE_FILE_BYTES     72
#define RM_SITE_FUNCTION_BYTES 48

/* Where a scope stands in the program.  Index = the site's process-wide id; slot 0 is unused. */
struct rm_site_record {
    char name[RM_SITE_NAME_BYTES];
    char file[RM_SITE_FILE_BYTES];
    char function[RM_SITE_FUNCTION_BYTES];
    uint32_t line;
    uint32_t is_set; /* release, after the texts */
};

/* Wall time, in ticks. */
struct rm_scope_wall {
    uint64_t calls;  /* outermost instances */
    uint64_t folded; /* direct recursions, which are inside an outermost one */
    uint64_t total;
    uint64_t min;
    uint64_t max;
    double square_sum; /* of (duration - first duration of the node)^2 */
};

/* What the meters other than wall found, each with its own number of metered instances; and how
 * many threads have come together in the node. */
struct rm_scope_meters {
    uint64_t threads;
    uint64_t cpu_calls;
    uint64_t cpu_wall; /* ticks that the metered instances lasted */
    uint64_t cpu_ns;
    uint64_t io_calls;
    uint64_t io_wall;
    uint64_t io[RM_IO_FIELDS];
    uint64_t rss_calls;
    uint64_t rss_peak;    /* B, highest of all instances */
    uint64_t rss_sampled; /* instances whose peak is only the sampler's maximum */
    uint64_t cost_ticks;  /* spent in these meters */
};

#define RM_METERS 4 /* besides wall */

/* A reference to a node: its byte offset in the section; 0: none (slot 0 is never used). */
typedef uint32_t rm_node_ref;

struct rm_scope_node {
    /* Links: written once under the session lock, released by the link that points here. */
    uint32_t site;           /* 0: the root of a thread */
    rm_node_ref first_child; /* release */
    rm_node_ref next;        /* release */
    rm_node_ref last_child;  /* the owner's cache of the child visited last; 0: none yet */
    uint32_t wall_version;
    uint32_t meter_version;
    uint64_t first_ticks;      /* duration of the first instance: the variance is taken about it */
    uint64_t spent[RM_METERS]; /* ticks that each meter has cost here; the owner's alone */
    struct rm_scope_wall wall[2];
    struct rm_scope_meters meters[2];
} __attribute__((aligned(64)));

/* One open scope. */
struct rm_scope_frame {
    uint64_t token; /* release, after the rest; 0: free, and so are all frames behind it */
    uint64_t start; /* ticks */
    rm_node_ref node;
    uint32_t folds;        /* direct recursions now open */
    uint64_t folded_total; /* and ever, in this instance */
};

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

/** The published wall and meter records of a node, copied consistently. */
struct rm_scope_wall rm_node_wall(const struct rm_scope_node *node);
struct rm_scope_meters rm_node_meters(const struct rm_scope_node *node);

/** Publishes new meter totals; the node's owner only. */
void rm_node_publish_meters(struct rm_scope_node *node, const struct rm_scope_meters *totals);

/** Sum of (duration - point): small, and exact where doubles of the two totals would not be. */
static inline double rm_scope_wall_sum(const struct rm_scope_wall *wall, uint64_t point)
{
    return (double)(int64_t)(wall->total - wall->calls * point);
}

/** `a` and `b`, about their first durations, as one about `about`. */
struct rm_scope_wall rm_scope_wall_merge(const struct rm_scope_wall *a, uint64_t a_first,
                                         const struct rm_scope_wall *b, uint64_t b_first,
                                         uint64_t about);
struct rm_scope_meters rm_scope_meters_merge(const struct rm_scope_meters *a,
                                             const struct rm_scope_meters *b);

/**
 * Adds the counts of `source` to `target` and leaves `source` empty, so that at every instant the
 * two together hold each count once (the header's journal tells a reader in between).
 */
void rm_node_move(struct rm_block *block, rm_node_ref source, rm_node_ref target);

/* Which records of a node are already in the target of an unfinished rm_node_move(). */
struct rm_node_moved {
    int wall;
    int meters;
    int energy;
    int counts;
};

struct rm_node_moved rm_node_moved_of(const struct rm_block *block, rm_node_ref ref);

#endif

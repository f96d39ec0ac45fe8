/* SPDX-License-Identifier: MIT */
/*
 * Owns the stacks of a run as data in the block: a prefix tree of scopes and code addresses, and
 * for each stack that was seen the node where it ends and what was sampled there; the modules that
 * the addresses are in; and the stacks of all threads at the peak.
 *
 * One thread writes (engine/stacks, through store/stack_writer).  Records are published by the
 * counts in struct rm_stack_record; weights change in place, one word at a time.
 */
#ifndef RM_STORE_STACK_RECORD_H
#define RM_STORE_STACK_RECORD_H

#include <stdint.h>

#include "store/block.h"
#include "store/stack_kind.h"

#define RM_STACK_DEPTH        128U /* frames of a stack at most */
#define RM_STACK_SITES        32U  /* open scopes of a stack at most: the outermost */
#define RM_MAX_STACKS         65536U
#define RM_STACK_NODES_EACH   8U /* nodes of the tree for each stack: most of a path is shared */
#define RM_STACK_MODULES      1024U
#define RM_STACK_PEAK_THREADS 256U

#define RM_MODULE_PATH_BYTES 256
#define RM_BUILD_ID_BYTES    24

/* In place of a code address: a name that is known when the stack is taken, of a process or of code
 * that was made at run time.  The rest is where its text begins: "function", or "function\tfile".
 */
#define RM_STACK_NAME (UINT64_C(1) << 63)

/* Node 0 is the root of all. */
struct rm_stack_node {
    uint64_t value; /* a code address, RM_STACK_NAME, or of a scope the number of its site */
    uint32_t parent;
    uint32_t is_scope;
};

#define RM_STACK_IS_CUT 1U

struct rm_stack_entry {
    uint32_t node; /* where it ends: the innermost frame */
    uint32_t flags;
    uint64_t samples[RM_STACK_KINDS];
    uint64_t weight[RM_STACK_KINDS]; /* ns, B, B */
    double square[RM_STACK_KINDS];   /* of the weight's standard error */
};

struct rm_module_entry {
    char path[RM_MODULE_PATH_BYTES];
    unsigned char build_id[RM_BUILD_ID_BYTES];
    uint64_t build_id_length;
    uint64_t start, end, bias;
};

struct rm_peak_entry {
    uint64_t thread;
    char name[16];
    uint32_t node;
    uint32_t flags;
};

/* What is said of a kind: published.h. */
struct rm_stack_kind_state {
    int64_t status;
    char reason[512];
};

struct rm_stack_kind_entry {
    uint32_t version; /* of the states */
    uint32_t has_total;
    uint64_t period;
    uint64_t total;
    uint64_t first, last; /* of what it is growth of, when sampling began, and now; B */
    uint64_t has_levels;
    struct rm_stack_kind_state states[2];
};

/* The stacks of one peak; of two, that of the version counts. */
struct rm_peak_head {
    uint64_t t_ns;
    uint64_t rss_bytes;
    uint64_t headroom_bytes; /* UINT64_MAX: not limited */
    uint64_t count;
};

struct rm_stack_record {
    struct rm_stack_kind_entry kinds[RM_STACK_KINDS];
    uint64_t lost[RM_LOSS_COUNT];
    uint64_t node_count;   /* release */
    uint64_t stack_count;  /* release */
    uint64_t module_count; /* release */
    uint64_t text_bytes;   /* release */
    uint64_t peak_version; /* release; 0: none; peaks[version & 1] and that half of the section */
    struct rm_peak_head peaks[2];
    uint64_t highest_rss, highest_t_ns; /* that the watch for peaks saw; 0: none */
};

#endif

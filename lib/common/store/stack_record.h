/* SPDX-License-Identifier: MIT */
/*
 * Owns stacks as data in the block, their kinds, and the reasons why samples are missing.
 */
#ifndef RM_STORE_STACK_RECORD_H
#define RM_STORE_STACK_RECORD_H

#include <resmon/stack.h>
#include <stdint.h>

#include "base/compiler.h"
#include "store/block.h"

/* ---- kinds of stacks and of losses ------------------------------------------------------ */

#define RM_STACK_KINDS 4 /* RESMON_STACK_CPU ... RESIDENT */

/* Reasons why samples, or parts of samples, are missing. Each reason has a count. */
enum rm_stack_loss {
    RM_LOSS_RING,    /* the thread's ring was full */
    RM_LOSS_ROOM,    /* the run's capacity for stacks was exhausted */
    RM_LOSS_DEPTH,   /* stacks that were cut because they are deeper than the bound */
    RM_LOSS_UNWIND,  /* stacks that end early: a frame could not be unwound */
    RM_LOSS_BLOCKED, /* samples of threads that had blocked the signal */
    RM_LOSS_THREADS, /* threads without a slot, or whose counter could not be opened */
    RM_LOSS_MODULES, /* modules beyond the run's capacity, most at one time */
    RM_LOSS_COUNT
};

/** The name of each loss in documents ("ring_full"), and its text for users. */
extern const char *const rm_stack_loss_names[RM_LOSS_COUNT];
RM_SHARED extern const char *const rm_stack_loss_texts[RM_LOSS_COUNT];
/** "cpu", "memory", "file", "resident". */
RM_SHARED extern const char *const rm_stack_kind_names[RM_STACK_KINDS];

/* ---- records ---------------------------------------------------------------------------- */

/*
 * The stacks of a run as data in the block. A prefix tree of scopes and code addresses; for each
 * distinct stack, the node where it ends and its samples; the modules of the addresses; and the
 * stacks of all threads at the peak.
 *
 * One thread writes (engine/stacks, through store/stack_writer). The counts in struct
 * rm_stack_record publish the records. Weights change in place, one word at a time.
 */

#define RM_STACK_DEPTH        128U /* highest number of frames in a stack */
#define RM_STACK_SITES        32U  /* most open scopes in a stack; the outermost are kept */
#define RM_MAX_STACKS         65536U
#define RM_STACK_NODES_EACH   8U /* nodes of the tree for each stack; most of a path is shared */
#define RM_STACK_MODULES      1024U
#define RM_STACK_PEAK_THREADS 256U

#define RM_MODULE_PATH_BYTES 256
#define RM_BUILD_ID_BYTES    24

/* Flag of a value that is a name instead of a code address: the name of a process, or of code made
 * at run time, known when the stack is taken. The lower half is the offset of its text:
 * "function", or "function\tfile"; the other bits are the line, 0: not known. */
#define RM_STACK_NAME (UINT64_C(1) << 63)

/** The value of a line of a named function. */
static inline uint64_t rm_stack_name_at(uint64_t name, uint32_t line)
{
    return name | (uint64_t)(line & 0x7fffffffU) << 32;
}

/* Node 0 is the root of all. */
struct rm_stack_node {
    uint64_t value; /* a code address, a name (RM_STACK_NAME), or the site number of a scope */
    uint32_t parent;
    uint32_t is_scope;
};

#define RM_STACK_IS_CUT 1U

struct rm_stack_entry {
    uint32_t node; /* where the stack ends: the innermost frame */
    uint32_t flags;
    uint64_t samples[RM_STACK_KINDS];
    uint64_t weight[RM_STACK_KINDS]; /* ns, B */
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

/* The published state of a kind of stacks; see published.h. */
struct rm_stack_kind_state {
    int64_t status;
    char reason[512];
};

struct rm_stack_kind_entry {
    uint32_t version; /* of the states */
    uint32_t has_total;
    uint64_t period;
    uint64_t total;
    uint64_t first, last; /* level of the growing quantity when sampling began, and now; B */
    uint64_t has_levels;
    struct rm_stack_kind_state states[2];
};

/* The stacks of one peak. There are two copies; the version names the current copy. */
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
    uint64_t peak_version; /* release; 0: no peak; current: peaks[version & 1] and this half */
    struct rm_peak_head peaks[2];
    uint64_t highest_rss, highest_t_ns; /* highest RSS that the watch for peaks has read; 0: none */
};

#endif

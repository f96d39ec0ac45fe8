/* SPDX-License-Identifier: MIT */
/*
 * Owns the layout of the run block: everything that a run records, in one contiguous, pointer-free
 * piece of memory of a size fixed at start.  The same bytes serve in memory and as the file of
 * `record=FILE`; a file left behind by a killed program is read by the same code.
 *
 * Written by scope/ (sites, nodes, threads, events), by the engine (facts at start, the label,
 * samples on its sampling thread) and by tags from any thread.  Read by run/decode.c and
 * run_*.c. No I/O here: os/mapping provides the memory.
 */
#ifndef RM_STORE_BLOCK_H
#define RM_STORE_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "base/clock.h"
#include "store/end.h"

#define RM_BLOCK_MAGIC        "RESMONBK"
#define RM_BLOCK_PART_MAGIC   "RESMONPT" /* in its place, while a copy is written */
#define RM_BLOCK_MAGIC_COMMON 6          /* bytes that both begin with */
#define RM_BLOCK_VERSION      1U
#define RM_BLOCK_BYTE_ORDER   0x01020304U

/* How many records each section has; chosen at start. */
struct rm_block_sizes {
    uint64_t columns;
    uint64_t rows;
    uint64_t sources;
    uint64_t tags;
    uint64_t sites;
    uint64_t nodes;
    uint64_t threads;
    uint64_t depth;
    uint64_t fact_bytes;
    uint64_t events;         /* of each thread slot; 0: none are kept */
    uint64_t scope_energy;   /* 1: each node has a record of its energy */
    uint64_t stacks;         /* different ones; 0: none are taken */
    uint64_t lines;          /* with checkpoints */
    uint64_t scope_counters; /* of performance; 0: none are kept */
    uint64_t scope_tallies;  /* 1: each node has a record of what meters sum */
    uint64_t processes;      /* rows of processes that come and go; 0: none are kept */
    uint64_t stack_texts;    /* bytes of names that stacks come with; 0: they have none */
};

#define RM_MAX_COLUMNS    4096U
#define RM_MAX_ROWS       1048576U
#define RM_MAX_SOURCES    256U
#define RM_MAX_TAGS       1048576U
#define RM_MAX_SITES      65536U
#define RM_MAX_NODES      1048576U
#define RM_MAX_THREADS    65536U
#define RM_MAX_DEPTH      256U /* so that a document's nesting stays below JSON readers' limits */
#define RM_MAX_FACT_BYTES 1048576U
#define RM_MAX_EVENTS     1048576U
#define RM_MAX_TEXTS      67108864U

/* The most bytes of a block, and of a file that is loaded as one. */
#define RM_MAX_RUN_BYTES ((uint64_t)1 << 30)

enum rm_section_id {
    RM_SECTION_COLUMNS = 0,
    RM_SECTION_RECENT = 1, /* quantities of samples that are not in the sketches yet */
    RM_SECTION_STATES = 2, /* two copies of a commit and its column states */
    RM_SECTION_ROWS = 3,   /* rows, and one spare used while halving */
    RM_SECTION_SKETCHES = 4,
    RM_SECTION_SOURCES = 5,
    RM_SECTION_TAGS = 6,
    RM_SECTION_FACTS = 7,
    RM_SECTION_SITES = 8,
    RM_SECTION_NODES = 9,
    RM_SECTION_THREADS = 10,
    RM_SECTION_EVENTS = 11, /* a ring for each thread slot; none where events are not kept */
    RM_SECTION_SCOPE_ENERGY = 12,
    RM_SECTION_STACK_RECORD = 13, /* store/stack_record.h; these five are there or not together */
    RM_SECTION_STACK_NODES = 14,
    RM_SECTION_STACKS = 15,
    RM_SECTION_MODULES = 16,
    RM_SECTION_PEAK_STACKS = 17, /* two halves */
    RM_SECTION_LINES = 18,
    RM_SECTION_COUNTERS = 19,       /* what the counters of scopes are */
    RM_SECTION_SCOPE_COUNTERS = 20, /* a record for each node */
    RM_SECTION_SCOPE_TALLIES = 21,
    RM_SECTION_STACK_TEXTS = 22,
    RM_SECTION_PROCESSES = 23,
    RM_SECTION_COUNT = 24
};

struct rm_section {
    uint64_t offset;
    uint64_t record_bytes;
    uint64_t count;
};

#define RM_PHASE_STARTING 0U
#define RM_PHASE_RUNNING  1U
#define RM_PHASE_STOPPED  2U

#define RM_LABEL_BYTES 128

#define RM_BLOCK_MEMORY_BYTES 160
#define RM_BLOCK_RECORD_BYTES 1024

#define RM_FACETS 3 /* records beside each node of the scope trees: store/scope_records.h */

struct rm_block_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint64_t total_bytes;
    struct rm_block_sizes sizes;
    struct rm_section sections[RM_SECTION_COUNT];

    /* Who writes it: os/identity. */
    uint64_t writer_pid, writer_start_ticks, writer_boot_hash, writer_stack, writer_image;

    /* The moment of start, by each clock. */
    struct rm_clock_pair start;
    int64_t start_realtime_ns;
    int64_t stop_ns; /* since start; valid in RM_PHASE_STOPPED */
    uint32_t phase;  /* stored with release */
    uint32_t has_scopes;

    /* Sampler: number of the last commit (release); the state used is states[commit & 1]. */
    uint64_t commit;
    /* Sampler, while halving: (halvings + 1) << 32 | merged pairs (release).  See series.c. */
    uint64_t merge_progress;

    uint64_t tag_count;   /* fetch-add by any thread; tags beyond the ring overwrite the oldest */
    uint64_t fact_length; /* release */

    /* Scopes: written under the scope session's lock, except the counters of
     * instances (fetch-add). */
    uint64_t node_count;
    uint64_t retired_root;     /* tree of the threads that have ended */
    uint64_t retirements;      /* odd while a thread's tree moves there (release) */
    uint64_t dropped_threads;  /* threads without a slot */
    uint64_t dropped_scopes;   /* instances deeper than the bound, or of threads without a slot */
    uint64_t dropped_paths;    /* instances whose path found no free node */
    uint64_t stale_ends;       /* ended twice, on another thread, or after stop */
    uint64_t misordered_ends;  /* scopes closed by the end of an outer one */
    uint64_t scope_cost_ticks; /* of one empty scope, measured at start */
    uint64_t energy_divisions; /* of energy among scopes, with that which begins it (release) */
    struct {
        uint64_t source, target;
        uint64_t meter_version, facet_versions[RM_FACETS];
        uint64_t wall_version; /* release; plus 2^32, so that 0 is: no move under way */
    } journal;

    uint64_t line_count;    /* records of lines; release, under the scope session's lock */
    uint64_t dropped_lines; /* places of checkpoints without a record; under that lock */

    uint64_t process_count;     /* release */
    uint64_t dropped_processes; /* those without a row */

    uint64_t label_version; /* release; labels[label_version & 1] is the one that counts */
    char labels[2][RM_LABEL_BYTES];

    /* Resident memory of the library's own, in bytes, and 1; 0: not known.  Atomic. */
    uint64_t own_rss_1;      /* by which the RSS grew in the start, and the block did since */
    uint64_t own_stacks_rss; /* of what is kept for the stacks of each thread; not in that */
    uint64_t own_work_rss_1; /* by which it rose at most while snapshots were made */

    /* How the program ends: as the label; and a signal that ends it, 0: none. */
    uint64_t end_version;
    struct rm_end_record ends[2];
    uint32_t end_signal;
    uint32_t has_usage;     /* release */
    resmon_run_usage usage; /* as store/end.h has it */

    /* Of a block in a memory file that is copied out (record/record_file): */
    uint32_t dropped_forks;                  /* children with scopes that are in no run */
    uint64_t image;                          /* number of a copy; 0: this is no copy */
    char memory_name[RM_BLOCK_MEMORY_BYTES]; /* of the memory file; "": there is none */
    char record_path[RM_BLOCK_RECORD_BYTES]; /* of the file that it is copied to, absolute */
};

/* Where a block is in this process. */
struct rm_block {
    unsigned char *base;
    struct rm_block_header *header;
};

/** Bytes that a block of these sizes needs; RESMON_ERANGE says which size, or that their product,
 * is out of bounds. */
resmon_status rm_block_measure(const struct rm_block_sizes *sizes, uint64_t *ret_bytes);

/** Formats zeroed memory of rm_block_measure() bytes. */
void rm_block_format(struct rm_block *block, void *memory, const struct rm_block_sizes *sizes);

/**
 * Views `bytes` bytes of outside origin as a block: RESMON_EFORMAT unless everything that later
 * code relies on (magic, sizes, sections) holds, RESMON_EVERSION for another version.
 */
resmon_status rm_block_attach(struct rm_block *block, void *memory, uint64_t bytes);

/** Of a block whose end is missing, with zeroes in its place: takes back what is promised there and
 * was not in the first `bytes`.  Columns and their statistics stand in front: RESMON_EFORMAT, not
 * even these are whole.  For a copy. */
resmon_status rm_block_clip(const struct rm_block *block, uint64_t bytes);

/** How many of the block's `bytes` end with the states, which come first; a header of outside
 * origin may say anything. */
uint64_t rm_block_front(const struct rm_block_header *header, uint64_t bytes);

/** Record `index` of a section; the caller keeps index below its count. */
static inline void *rm_block_record(const struct rm_block *block, enum rm_section_id id,
                                    uint64_t index)
{
    const struct rm_section *section = &block->header->sections[id];
    return block->base + section->offset + index * section->record_bytes;
}

#endif

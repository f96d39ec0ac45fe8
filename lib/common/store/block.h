/* SPDX-License-Identifier: MIT */
/*
 * Owns the layout of the run block: all records of a run, in one contiguous, pointer-free piece of
 * memory. Its size is fixed at start. The same bytes serve in memory and as the file of
 * `record=FILE`. The same code reads the file that a killed program leaves behind.
 *
 * Written by scope/ (sites, nodes, threads, events), by the engine (facts at start, the label,
 * samples on its sampling thread) and by tags from any thread. Read by run/decode.c and run_*.c. No
 * I/O here: os/mapping provides the memory.
 */
#ifndef RM_STORE_BLOCK_H
#define RM_STORE_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/end.h>

#include "base/clock.h"

#define RM_BLOCK_MAGIC        "RESMONBK"
#define RM_BLOCK_PART_MAGIC   "RESMONPT" /* instead of RM_BLOCK_MAGIC while a copy is written */
#define RM_BLOCK_MAGIC_COMMON 6          /* both magics begin with the same bytes */
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
    uint64_t events;         /* of each thread slot; 0: events are not kept */
    uint64_t scope_energy;   /* 1: each node has a record of its energy */
    uint64_t stacks;         /* distinct stacks; 0: no stacks are taken */
    uint64_t lines;          /* source lines with a checkpoint */
    uint64_t scope_counters; /* performance counters; 0: none are kept */
    uint64_t scope_tallies;  /* 1: each node has a record of the summing meters */
    uint64_t processes;      /* rows of processes that come and go; 0: none are kept */
    uint64_t stack_texts;    /* bytes of the names in stacks; 0: stacks have addresses only */
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

/* Highest size of a block, and of a file that is loaded as a block. */
#define RM_MAX_RUN_BYTES ((uint64_t)1 << 30)

enum rm_section_id {
    RM_SECTION_COLUMNS = 0,
    RM_SECTION_RECENT = 1, /* quantities of the newest samples, not yet in the sketches */
    RM_SECTION_STATES = 2, /* two copies of a commit and its column states */
    RM_SECTION_ROWS = 3,   /* rows, and one spare used while halving */
    RM_SECTION_SKETCHES = 4,
    RM_SECTION_SOURCES = 5,
    RM_SECTION_TAGS = 6,
    RM_SECTION_FACTS = 7,
    RM_SECTION_SITES = 8,
    RM_SECTION_NODES = 9,
    RM_SECTION_THREADS = 10,
    RM_SECTION_EVENTS = 11, /* a ring for each thread slot; empty if events are not kept */
    RM_SECTION_SCOPE_ENERGY = 12,
    RM_SECTION_STACK_RECORD = 13, /* store/stack_record.h; all five or none */
    RM_SECTION_STACK_NODES = 14,
    RM_SECTION_STACKS = 15,
    RM_SECTION_MODULES = 16,
    RM_SECTION_PEAK_STACKS = 17, /* two halves */
    RM_SECTION_LINES = 18,
    RM_SECTION_COUNTERS = 19,       /* descriptions of the performance counters */
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

#define RM_FACETS 3 /* kinds of records beside each node: see store/scope_records.h */

/* How the program ended (store/end.h). */
#define RM_END_TEXT_BYTES 256

struct rm_end_record {
    int32_t reason; /* UNKNOWN: not recorded yet */
    int32_t exit_status;
    int32_t signal_number;
    int32_t reserved;
    char text[RM_END_TEXT_BYTES];
};

struct rm_block_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint64_t total_bytes;
    struct rm_block_sizes sizes;
    struct rm_section sections[RM_SECTION_COUNT];

    /* The process that writes the block: os/identity. */
    uint64_t writer_pid, writer_start_ticks, writer_boot_hash, writer_stack, writer_image;

    /* The start of the run, by each clock. */
    struct rm_clock_pair start;
    int64_t start_realtime_ns;
    int64_t stop_ns; /* since start; valid in RM_PHASE_STOPPED */
    uint32_t phase;  /* stored with release */
    uint32_t has_scopes;

    /* Sampler: number of the last commit (release). The current state is states[commit & 1]. */
    uint64_t commit;
    /* Written by the sampler while it halves the rows: (halvings + 1) << 32 | merged pairs
     * (release). See series.c. */
    uint64_t merge_progress;

    uint64_t tag_count;   /* fetch-add by any thread; a tag beyond the ring overwrites the oldest */
    uint64_t fact_length; /* release */

    /* Scopes: written under the scope session's lock, except the counters of
     * instances (fetch-add). */
    uint64_t node_count;
    uint64_t retired_root;     /* root of the tree of retired threads */
    uint64_t retirements;      /* odd while a thread's tree moves into the retired tree */
    uint64_t dropped_threads;  /* threads without a slot */
    uint64_t dropped_scopes;   /* instances deeper than the bound, or of threads without a slot */
    uint64_t dropped_paths;    /* instances whose path found no free node */
    uint64_t stale_ends;       /* ends of scopes that had ended, of another thread, or after stop */
    uint64_t misordered_ends;  /* scopes closed by the end of an outer one */
    uint64_t scope_cost_ticks; /* cost of one empty scope, measured at start */
    uint64_t energy_divisions; /* divisions of energy, the first (empty) one included (release) */
    struct {
        uint64_t source, target;
        uint64_t meter_version, facet_versions[RM_FACETS];
        uint64_t wall_version; /* release; the version plus 2^32; 0: no move under way */
    } journal;

    uint64_t line_count;    /* used records of lines; release, under the scope session's lock */
    uint64_t dropped_lines; /* checkpoints without a record; under the scope session's lock */

    uint64_t process_count;     /* release */
    uint64_t dropped_processes; /* processes without a row */

    uint64_t label_version; /* release; labels[label_version & 1] is the current one */
    char labels[2][RM_LABEL_BYTES];

    /* Resident memory of the library itself. Fields named *_1 hold bytes plus 1; 0: not known.
     * Atomic. */
    uint64_t own_rss_1;      /* RSS growth during the start, plus growth of the block since then */
    uint64_t own_stacks_rss; /* memory for the threads' stacks, in bytes; not part of own_rss_1 */
    uint64_t own_work_rss_1; /* largest growth of the RSS while a snapshot was made */

    /* How the program ends: two copies and a version, like the label. And the signal that ends it;
     * 0: none. */
    uint64_t end_version;
    struct rm_end_record ends[2];
    uint32_t end_signal;
    uint32_t has_usage;     /* release */
    resmon_run_usage usage; /* see store/end.h */

    /* Used by a block in a memory file that is copied out (record/record_file): */
    uint32_t dropped_forks;                  /* forked children whose scopes no run contains */
    uint64_t image;                          /* number of this copy; 0: this block is not a copy */
    char memory_name[RM_BLOCK_MEMORY_BYTES]; /* name of the memory file; "": none */
    char record_path[RM_BLOCK_RECORD_BYTES]; /* absolute path of the copy */
};

/* The location of a block in this process. */
struct rm_block {
    unsigned char *base;
    struct rm_block_header *header;
};

/** Record `index` of a section; the caller keeps index below its count. */
static inline void *rm_block_record(const struct rm_block *block, enum rm_section_id id,
                                    uint64_t index)
{
    const struct rm_section *section = &block->header->sections[id];
    return block->base + section->offset + index * section->record_bytes;
}

#endif

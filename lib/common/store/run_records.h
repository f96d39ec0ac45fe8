/* SPDX-License-Identifier: MIT */
/*
 * Owns the records of the run as a whole in the block: tags, facts, checkpoints of lines, observed
 * processes, and sources of metrics.
 */
#ifndef RM_STORE_RUN_RECORDS_H
#define RM_STORE_RUN_RECORDS_H

#include <resmon/status.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "store/block.h"

/* ---- tags ------------------------------------------------------------------------------- */

/*
 * The ring of tags in the block. Any thread and any signal handler may write, lock-free. The newest
 * tags are kept; overwritten tags are counted.
 */

#define RM_TAG_LABEL_BYTES 112

struct rm_tag {
    uint64_t sequence; /* 1 + number of the tag; 0 while being written */
    int64_t t_ns;      /* since start */
    char label[RM_TAG_LABEL_BYTES];
};

/** Writes a tag.  Async-signal-safe. */
void rm_tags_add(struct rm_block *block, int64_t t_ns, const char *label);

/** Number of tags written; and the number of the oldest tag that is still in the ring. */
uint64_t rm_tags_count(const struct rm_block *block);
uint64_t rm_tags_oldest(const struct rm_block *block);

/** Copies tag `number`; false if the tag is overwritten or was never completed. */
bool rm_tags_get(const struct rm_block *block, uint64_t number, struct rm_tag *ret_tag);

/* ---- facts of the run ------------------------------------------------------------------- */

/*
 * The facts of a run in the block: short texts and numbers that do not change while it lasts
 * (machine, settings, run), as (group, key, value) in a bounded arena.
 */

#define RM_FACT_TEXT   's'
#define RM_FACT_NUMBER 'n' /* the text of a JSON number */

struct rm_fact {
    const char *group;
    const char *key;
    const char *value;
    char kind;
};

/* A fact that does not fit is dropped. The arena is large enough for all facts that the library
 * writes. */
void rm_facts_add_text(struct rm_block *block, const char *group, const char *key,
                       const char *value);
void rm_facts_add_number(struct rm_block *block, const char *group, const char *key, double value);

#define RM_FACT_NUMBER_BYTES 40
#define RM_FACT_LABELS       "labels" /* group of the labels that users give a run */
#define RM_FACT_VALUE_BYTES  512      /* longer values are cut */

#define RM_FACT_CUT      "cut"      /* of "run": how much of the recording there is */
#define RM_FACT_OBSERVED "observed" /* of "run": the observed process, by rm_identity_print() */
#define RM_FACT_OBSERVED_JOB \
    "observed_job"                  /* of "run": id of the job whose processes are observed */
#define RM_FACT_OBSERVER "observer" /* of "run": the writing process, by rm_identity_print() */

#define RM_FACT_NO_EACH "each_lack" /* of "settings": why there are no rows of processes */

/* Of "run": the error bound of the machine's clock in ns, at the start and at the end of the run
 * (adjtimex(2)); and by how much the clock was set during the run. */
#define RM_FACT_CLOCK_ERROR     "clock_error_ns"
#define RM_FACT_END_CLOCK_ERROR "end_clock_error_ns"
#define RM_FACT_CLOCK_STEP      "clock_step_ns"

/* Of "job": the nodes of the job, in Slurm's notation. Of "settings": the width of the rows of a
 * merged run. */
#define RM_FACT_JOB_HOSTS       "hosts"
#define RM_FACT_MERGED_INTERVAL "merged_interval_ms"
#define RM_FACT_MERGED_COLUMNS  "merged_columns" /* for which it has fewer rows than others */

#define RM_FACT_NUMBER_LIMIT 9e15 /* beyond this limit, doubles skip whole numbers */

/** The text of a number below RM_FACT_NUMBER_LIMIT, as stored in a fact. */
RM_SHARED void rm_facts_print_number(double value, char text[RM_FACT_NUMBER_BYTES]);

/** The number of an RM_FACT_NUMBER; NaN if the text is not a number. */
RM_SHARED double rm_fact_number(const struct rm_fact *fact);

/** Returns the fact at `*position` (start with 0) and advances; false at the end or at invalid
 * data. */
bool rm_facts_next(const struct rm_block *block, uint64_t *position, struct rm_fact *ret_fact);

/* ---- checkpoints of lines --------------------------------------------------------------- */

/*
 * The checkpoints of lines as data in the block: one record for each RESMON_LINE() that was passed.
 * Any thread may add to a record. Records are published by header->line_count.
 */

#define RM_LINE_FILE_BYTES     192
#define RM_LINE_FUNCTION_BYTES 64
#define RM_LINES               256U /* number of records if scopes are kept */

struct rm_line_record {
    char file[RM_LINE_FILE_BYTES];
    char function[RM_LINE_FUNCTION_BYTES];
    uint64_t line;
    uint64_t hits;        /* stretches that ended here; all fields: atomic additions */
    uint64_t ticks;       /* total duration of these stretches */
    uint64_t rss_hits;    /* number of these stretches whose RSS is known at both ends */
    uint64_t rss_bytes;   /* growth of the RSS in these; two's complement, may be negative */
    uint64_t rss_highest; /* highest RSS of the process when the line was passed; 0: not known */
};

/* ---- processes -------------------------------------------------------------------------- */

/*
 * The rows of the observed processes, as data in the block.  One thread writes
 * (engine/stacks, through stack/each); published by header->process_count.
 */

#define RM_PROCESS_ROWS 16384U

/* Flags of the members that are known. */
#define RM_PROCESS_HAS_CPU        1U
#define RM_PROCESS_HAS_STATUS     2U
#define RM_PROCESS_HAS_PEAK       4U
#define RM_PROCESS_PEAK_IS_EXACT  8U
#define RM_PROCESS_HAS_ENDED      16U
#define RM_PROCESS_CPU_IS_SAMPLED 32U

struct rm_process_row {
    uint64_t pid, parent; /* 0: not known */
    char name[16];
    int64_t start_ns, end_ns; /* since the start of the run */
    uint64_t cpu_ns;
    uint64_t rss_peak;
    uint32_t wait_status; /* as from wait(2) */
    uint32_t known;       /* atomic: RM_PROCESS_* */
};

/** Adds a row; NULL if the table is full. Rows that do not fit are counted. */
struct rm_process_row *rm_process_row_add(const struct rm_block *block,
                                          const struct rm_process_row *row);

/** Marks members as known. */
void rm_process_row_know(struct rm_process_row *row, uint32_t what);

/** Marks members as no longer known. */
void rm_process_row_forget(struct rm_process_row *row, uint32_t what);

/* ---- sources of numbers ----------------------------------------------------------------- */

/*
 * The record of a source of metrics in the block: whether the source could be read, or the reason
 * why not; the quality of its values; and its cost. Written by the sampler only.
 */

#define RM_SOURCE_NAME_BYTES   32
#define RM_SOURCE_REASON_BYTES 192

struct rm_source_record {
    char name[RM_SOURCE_NAME_BYTES];
    int32_t status;     /* RESMON_OK: available; else the error */
    int32_t provenance; /* RESMON_PROVENANCE_* */
    uint64_t reads;
    uint64_t failures;
    uint64_t cost_ns; /* time spent reading it */
    uint64_t cost_max_ns;
    uint64_t every; /* the source is now read at each `every`-th sample */
    char reason[RM_SOURCE_REASON_BYTES];
};

#endif

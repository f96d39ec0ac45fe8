/* SPDX-License-Identifier: MIT */
/*
 * Owns lists of a run document that stand side by side: a column for each member of records that
 * come by the thousand (events, frames, stacks), one entry of each list for each record.  Numbers
 * that others follow as indexes must be right, or everybody would have to look twice: a document in
 * which they are not is refused.  And what else the files that write and read run documents share;
 * only they and format/record_json.c include it.
 */
#ifndef RM_FORMAT_DOCUMENT_COLUMNS_H
#define RM_FORMAT_DOCUMENT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/json.h"
#include "format/json_writer.h"
#include "format/record_json.h"
#include "run/run.h"

#define RM_DOCUMENT_EXACT    0x1p53 /* counts are below */
#define RM_DOCUMENT_HEAVIEST 0x1p62 /* weights, times */

struct rm_column_of {
    const char *key;
    uint16_t offset; /* in the record */
    uint8_t bytes;   /* of the member: 2, 4, 8 */
    bool is_real;    /* a double; else a whole number, signed where `low` is below 0 */
    double low;      /* 0, or -1: none */
    double bound;    /* numbers are below */
};

/* Records that stand one after the other. */
struct rm_rows_of {
    void *first;
    size_t count, stride;
};

/** Puts a list into the object that is open.  A recording may say anything: what is out of bounds
 * becomes `low`. */
void rm_column_put(struct rm_json_writer *writer, const struct rm_column_of *column,
                   struct rm_rows_of rows);

/** Reads a list of `rows.count` numbers; RESMON_EFORMAT says which of `part` ("events.") is wrong.
 */
resmon_status rm_column_read(const struct rm_json *object, const char *part,
                             const struct rm_column_of *column, struct rm_rows_of rows);

/** A whole number from 0 up to below `bound`; false: it is something else. */
bool rm_document_whole(const struct rm_json *element, double bound, uint64_t *ret_number);

#define RM_DOCUMENT_DEPTH 4096U /* frames of a stack, with inlined functions: more are cut */

#define RM_EVENT_COLUMNS 6

/** The columns of events; indexes are bounded by what the run has. */
void rm_document_event_columns(const struct resmon_run *run,
                               struct rm_column_of columns[RM_EVENT_COLUMNS]);

/* A stack, and what a frame of one is, in columns. */
enum { RM_STACK_COLUMNS = 2, RM_PLACE_COLUMNS = 5 };

/* A place as it stands in a document. */
struct rm_place_row {
    uint32_t function, file; /* indexes of texts */
    uint32_t line, is_inlined;
    int64_t module; /* index; -1: none */
};

void rm_document_stack_columns(const struct resmon_run *run,
                               struct rm_column_of columns[RM_STACK_COLUMNS]);
void rm_document_place_columns(size_t texts, size_t modules,
                               struct rm_column_of columns[RM_PLACE_COLUMNS]);

/* What each kind of stacks has a column of: "samples", "weight", "error". */
enum { RM_WEIGHT_COLUMNS = 3 };
struct rm_weight_column {
    const char *key;
    struct rm_column_of of; /* of the first kind; the others follow, 8 bytes each */
};
extern const struct rm_weight_column rm_document_weights[RM_WEIGHT_COLUMNS];

/** Puts "profile", or nothing for a run without stacks; RESMON_ENOMEM. */
resmon_status rm_document_put_profile(struct rm_json_writer *writer, const struct resmon_run *run);

/** Reads "profile", after the scopes. */
resmon_status rm_document_read_profile(struct resmon_run *run, const struct rm_json *document);

/** Reads the records of a list into `*ret_list`, in the run's memory. */
resmon_status rm_document_read_records(struct resmon_run *run, const struct rm_json *array,
                                       enum rm_record_name name, size_t bytes, void *ret_list,
                                       size_t *ret_count);

#endif

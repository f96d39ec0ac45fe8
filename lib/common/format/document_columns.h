/* SPDX-License-Identifier: MIT */
/*
 * Owns parallel lists of a run document, for records that come by the thousand (events, frames,
 * stacks). There is a list (column) for each member, with one entry for each record. Numbers used
 * as indexes must be valid, so that their users need no check: a document with an invalid index is
 * refused. Also owns what else the files that write and read run documents share. Only these files
 * and format/record_json.c include it.
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

#define RM_DOCUMENT_HEAVIEST 0x1p62 /* weights and times are below this */

struct rm_column_of {
    const char *key;
    uint16_t offset; /* offset in the record */
    uint8_t bytes;   /* size of the member: 2, 4, 8 */
    bool is_real;    /* a double; else an integer, signed if `low` is below 0 */
    double low;      /* lowest value: 0; or -1, which means "none" */
    double bound;    /* numbers are below this */
};

/* Consecutive records. */
struct rm_rows_of {
    void *first;
    size_t count, stride;
};

/** Writes a list into the open object. A recording may be damaged: values out of bounds become
 * `low`. */
void rm_column_put(struct rm_json_writer *writer, const struct rm_column_of *column,
                   struct rm_rows_of rows);

/** Reads a list of `rows.count` numbers. RESMON_EFORMAT, with the name of the invalid list of
 * `part` ("events."). */
resmon_status rm_column_read(const struct rm_json *object, const char *part,
                             const struct rm_column_of *column, struct rm_rows_of rows);

#define RM_DOCUMENT_DEPTH 4096U /* frames of a stack, with inlined functions; more are cut */

#define RM_EVENT_COLUMNS 6

/** The columns of events; indexes are bounded by the counts of the run. */
void rm_document_event_columns(const struct resmon_run *run,
                               struct rm_column_of columns[RM_EVENT_COLUMNS]);

/* Number of columns of a stack, and of the place of a frame. */
enum { RM_STACK_COLUMNS = 2, RM_PLACE_COLUMNS = 5 };

/* A place as stored in a document. */
struct rm_place_row {
    uint32_t function, file; /* indexes of texts */
    uint32_t line, is_inlined;
    int64_t module; /* index; -1: none */
};

void rm_document_stack_columns(const struct resmon_run *run,
                               struct rm_column_of columns[RM_STACK_COLUMNS]);
void rm_document_place_columns(size_t texts, size_t modules,
                               struct rm_column_of columns[RM_PLACE_COLUMNS]);

/* The columns of each kind of stacks: "samples", "weight", "error". */
enum { RM_WEIGHT_COLUMNS = 3 };
struct rm_weight_column {
    const char *key;
    struct rm_column_of of; /* the member of the first kind; the other kinds follow, 8 bytes each */
};
extern const struct rm_weight_column rm_document_weights[RM_WEIGHT_COLUMNS];

/** Writes "profile", or nothing for a run without stacks; RESMON_ENOMEM. */
resmon_status rm_document_put_profile(struct rm_json_writer *writer, const struct resmon_run *run);

/** Reads "profile", after the scopes. */
resmon_status rm_document_read_profile(struct resmon_run *run, const struct rm_json *document);

/** Reads the records of a list into `*ret_list`, in the run's memory. */
resmon_status rm_document_read_records(struct resmon_run *run, const struct rm_json *array,
                                       enum rm_record_name name, size_t bytes, void *ret_list,
                                       size_t *ret_count);

#endif

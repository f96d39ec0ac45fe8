/* SPDX-License-Identifier: MIT */
/*
 * What the files that write and read run documents share; nobody else includes it.
 */
#ifndef RM_FORMAT_DOCUMENT_PARTS_H
#define RM_FORMAT_DOCUMENT_PARTS_H

#include "format/document_columns.h"
#include "format/record_json.h"
#include "run/run.h"

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

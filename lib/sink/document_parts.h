/* SPDX-License-Identifier: MIT */
/*
 * What the files that write and read run documents share; nobody else includes it.
 */
#ifndef RM_SINK_DOCUMENT_PARTS_H
#define RM_SINK_DOCUMENT_PARTS_H

#include "base/output.h"
#include "sink/json.h"
#include "store/run.h"

/* Bounds of what is sampled: more is refused when it is read, and cut when it is written. */
#define RM_DOCUMENT_DEPTH    4096U  /* frames of a stack, with inlined functions */
#define RM_DOCUMENT_EXACT    0x1p53 /* counts */
#define RM_DOCUMENT_HEAVIEST 0x1p62 /* weights, times */

/** Prints a value, and frees it; RESMON_ENOMEM unless `is_whole`. */
resmon_status rm_document_put(const struct rm_output *output, struct rm_json *value, bool is_whole);

/** Puts a text, cleaned: its first 4095 bytes. */
void rm_document_put_clean(struct rm_json *object, const char *key, const char *text,
                           bool *is_whole);

/** A text, cleaned, in the run's memory; "" where there is none.  Sets `status` when there is no
 * memory. */
const char *rm_document_text(struct resmon_run *run, const struct rm_json *text,
                             resmon_status *status);

/** The code that "status" names; RESMON_EFORMAT when it names none. */
int32_t rm_document_status(const struct rm_json *object);

/** A whole number from 0 up to below `bound`; false: it is something else. */
bool rm_document_whole(const struct rm_json *element, double bound, uint64_t *ret_number);

/** ',"lines":[...]', or nothing for a run without checkpoints of lines. */
resmon_status rm_document_put_lines(const struct rm_output *output, const struct resmon_run *run);

/** Reads "lines". */
resmon_status rm_document_read_lines(struct resmon_run *run, const struct rm_json *document);

/** ',"profile":{...}', or nothing for a run without stacks. */
resmon_status rm_document_put_profile(const struct rm_output *output, const struct resmon_run *run);

/** Reads "profile", after the scopes. */
resmon_status rm_document_read_profile(struct resmon_run *run, const struct rm_json *document);

#endif

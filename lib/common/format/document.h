/* SPDX-License-Identifier: MIT */
/*
 * Owns the run document: a run as JSON (format "resmon-run", described by resmon-run.schema.json).
 * It is written atomically, in pieces so that memory use stays small, and read back into an equal
 * run.
 */
#ifndef RM_FORMAT_DOCUMENT_H
#define RM_FORMAT_DOCUMENT_H

#include "base/buffer.h"
#include "run/run.h"

#define RM_DOCUMENT_FORMAT  "resmon-run"
#define RM_DOCUMENT_VERSION 1

/** Writes `run` to `path` (expanded by the caller). */
resmon_status rm_document_save(const struct resmon_run *run, const char *path);

/** Writes the document of `run` to `path` with mode 0600, for its owner alone. */
resmon_status rm_document_save_private(const struct resmon_run *run, const char *path);

/** Adds the document of `run` to a buffer. */
resmon_status rm_document_print(const struct resmon_run *run, struct rm_buffer *buffer);

/** Reads a document of `length` bytes; trusts nothing in it. */
resmon_status rm_document_parse(const char *text, size_t length, struct resmon_run **ret_run);

/** Reads a document like rm_document_parse() and frees its text (of rm_alloc), also on failure: a
 * large text is freed before the run is made. */
resmon_status rm_document_take(char *text, size_t length, struct resmon_run **ret_run);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the run document: a run as JSON (format "resmon-run", described by resmon-run.schema.json),
 * written in pieces so that memory stays small, atomically; and read back into an equal run.
 */
#ifndef RM_SINK_DOCUMENT_H
#define RM_SINK_DOCUMENT_H

#include "base/buffer.h"
#include "sink/sink.h"
#include "store/run.h"

#define RM_DOCUMENT_FORMAT  "resmon-run"
#define RM_DOCUMENT_VERSION 1

/** RESMON_ENOTSUP with its text when the library was built without JSON (sink/document_none.c). */
resmon_status rm_document_check(void);

/** Writes `run` to `path` (expanded by the caller). */
resmon_status rm_document_save(const struct resmon_run *run, const char *path);

/** Adds the document of `run` to a buffer. */
resmon_status rm_document_print(const struct resmon_run *run, struct rm_buffer *buffer);

/** A sink that writes documents: now and then, and at the end. */
resmon_status rm_json_sink_new(const resmon_json_options *options, struct rm_sink *ret_sink);

/** Reads a document of `length` bytes; trusts nothing in it. */
resmon_status rm_document_parse(const char *text, size_t length, struct resmon_run **ret_run);

/* Words that both directions share; index = the code. */
extern const char *const rm_provenance_names[5];
extern const char *const rm_level_names[6];
extern const char *const rm_io_names[RM_IO_FIELDS];

#endif

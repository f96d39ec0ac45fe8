/* SPDX-License-Identifier: MIT */
/*
 * Owns the access of the recorder to the reader, which makes the output of a run: reports, pages,
 * traces, profiles, names of stacks.  The reader is linked into the program, or loaded at its first
 * use from the directory of this library.
 */
#ifndef RM_OS_READER_H
#define RM_OS_READER_H

#include <stddef.h>

#include <resmon/report.h>
#include <resmon/version.h>

#include "base/buffer.h"
#include "base/compiler.h"

#define RM_READER_TEXT_(x) #x
#define RM_READER_TEXT(x)  RM_READER_TEXT_(x)
#define RM_READER_FILE     "libresmon-reader.so." RM_READER_TEXT(RESMON_VERSION_MAJOR)
#define RM_READER_VERSION                \
    RM_READER_TEXT(RESMON_VERSION_MAJOR) \
    "." RM_READER_TEXT(RESMON_VERSION_MINOR) "." RM_READER_TEXT(RESMON_VERSION_PATCH)

struct rm_naming;

enum rm_reader_form {
    RM_READER_BRIEF, /* text */
    RM_READER_HTML,
    RM_READER_MARKDOWN,
    RM_READER_TRACE,
    RM_READER_PPROF,
    RM_READER_FOLDED_CPU,
    RM_READER_FOLDED_MEMORY,
    RM_READER_FOLDED_FILE,
    RM_READER_FOLDED_RESIDENT,
};

/* The functions of the reader. */
struct rm_reader {
    const char *version; /* RM_READER_VERSION; must be equal in both */
    size_t bytes;        /* of this structure */
    resmon_status (*report_text)(const resmon_run *run, const resmon_report_options *options,
                                 char **ret_text);
    resmon_status (*report_lines)(const resmon_run *run, const char *function, char **ret_text);
    /* To `path` (expanded by the caller), atomically. */
    resmon_status (*save)(const resmon_run *run, enum rm_reader_form form, const char *path);
    /* Appends a text, an HTML page or Markdown. */
    resmon_status (*write)(struct rm_buffer *out, const resmon_run *run, enum rm_reader_form form,
                           size_t width);
    /* Symbolizes the stacks of a run; the run's reasons explain missing names.  With `naming` NULL,
     * no state is kept.  Otherwise it keeps the latest reply for the same run, one thread at a
     * time. */
    void (*name)(struct rm_naming **naming, resmon_run *run);
    void (*free_naming)(struct rm_naming *naming);
};

/** The reader.  NULL: the last error has the reason, with RESMON_ENOTSUP.  Any thread. */
const struct rm_reader *rm_reader(void);

/** Whether the reader is installed, without loading it; RESMON_ENOTSUP: it is not. */
resmon_status rm_reader_check(void);

/* Defined if the reader is a part of the program, or of a library that it has loaded. */
RM_SHARED extern const struct rm_reader rm_reader_functions;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the text format of Prometheus, 0.0.4, without timestamps. It does not depend on runs. Text
 * is written in pieces, so that memory use stays small. A failure is remembered, and
 * rm_exposition_end() returns it.
 *
 * Also owns the labels that users give to their series. They are checked when they are taken, so
 * that no name or value can inject text into an exposition or a URL.
 */
#ifndef RM_FORMAT_EXPOSITION_H
#define RM_FORMAT_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/prometheus.h>
#include <resmon/status.h>

#include "base/buffer.h"
#include "base/compiler.h"
#include "format/pen.h"

#define RM_MAX_LABELS        32
#define RM_LABEL_NAME_BYTES  64
#define RM_LABEL_VALUE_BYTES 1024

struct rm_label {
    char name[RM_LABEL_NAME_BYTES];
    char value[RM_LABEL_VALUE_BYTES]; /* valid UTF-8 without control characters but '\n' */
};

struct rm_labels {
    struct rm_label *items;
    size_t count;
};

/**
 * Copies `count` labels. RESMON_EINVAL: a name is not allowed, is a name of the library, or comes
 * twice. RESMON_ERANGE: a text is too long, or there are too many labels. RESMON_ENOMEM.
 */
resmon_status rm_labels_take(const resmon_label *given, size_t count, struct rm_labels *ret_labels);
void rm_labels_free(struct rm_labels *labels);

/** Whether a name is well-formed; whether the library uses it on some series. */
bool rm_label_is_name(const char *name);
bool rm_label_is_reserved(const char *name);

/** The value of the label called `name`, or NULL. */
const char *rm_labels_find(const struct rm_labels *labels, const char *name);

/** Copies a value. Bytes that are not valid UTF-8 or not printable become '?', except '\n'. */
void rm_label_value_set(char target[RM_LABEL_VALUE_BYTES], const char *value);

/** Adds `name="value"`, with a ',' before it unless the buffer is empty. */
void rm_label_add(struct rm_buffer *buffer, const char *name, const char *value);

/** Adds a value as a string of an exposition or of PromQL, with its quotes. */
RM_SHARED void rm_label_quote(struct rm_buffer *buffer, const char *value);

#define RM_LABEL_SPECIAL "\\\"\n"

/** Escapes `byte` for such a text: a backslash before each byte of `special`, and `\n` for a line
 * end. Returns the length, 1 or 2. */
size_t rm_label_escape(char escaped[2], char byte, const char *special);

enum rm_family_kind { RM_FAMILY_GAUGE, RM_FAMILY_COUNTER, RM_FAMILY_INFO };

/* Names must be valid; `help` may be any text. */
struct rm_exposed_family {
    const char *name; /* without "_total", "_info" */
    const char *help;
    enum rm_family_kind kind;
    const char *note; /* appended to the help; may be NULL */
};

struct rm_exposition {
    const char *common; /* labels of every sample: `a="b",c="d"` or "" */
    const struct rm_exposed_family *family;
    bool is_announced; /* the family's head has been written */
    struct rm_pen pen;
};

void rm_exposition_begin(struct rm_exposition *exposition, const char *common,
                         const struct rm_output *output);

/** The samples that follow are of `family`, which must live until the next call. */
void rm_exposition_family(struct rm_exposition *exposition, const struct rm_exposed_family *family);

/**
 * Writes one sample, with additional `labels` (format as in `common`). Writes nothing if `value` is
 * NaN, or not a valid value for a counter.
 */
void rm_exposition_sample(struct rm_exposition *exposition, const char *labels, double value);

/** Ends the text; returns the first failure. */
resmon_status rm_exposition_end(struct rm_exposition *exposition);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns bounded parsing of kernel text.  A cursor is a pair of pointers; nothing reads past the
 * end, nothing needs a terminator, every number is checked for overflow.
 * Called by os, collect and job for all outside text in plain form.
 */
#ifndef RM_BASE_PARSE_H
#define RM_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* The I/O counters of a process, in the order of /proc/PID/io (proc(5)). */
enum rm_io_field {
    RM_IO_READ_CHARS,  /* rchar: bytes of read calls, from wherever */
    RM_IO_WRITE_CHARS, /* wchar */
    RM_IO_READ_CALLS,  /* syscr */
    RM_IO_WRITE_CALLS, /* syscw */
    RM_IO_READ_BYTES,  /* read_bytes: from storage */
    RM_IO_WRITE_BYTES, /* write_bytes: to storage */
    RM_IO_FIELDS
};

struct rm_text {
    const char *at;
    const char *end;
};

static inline struct rm_text rm_text_of(const char *bytes, size_t length)
{
    return (struct rm_text){bytes, bytes + length};
}

static inline size_t rm_text_left(const struct rm_text *text)
{
    return (size_t)(text->end - text->at);
}

/** Takes the next line, without its '\n'; false at the end. */
RM_SHARED bool rm_parse_line(struct rm_text *text, struct rm_text *ret_line);

/** Takes the next run of bytes that are neither space nor tab; false: no such byte is left. */
bool rm_parse_word(struct rm_text *text, struct rm_text *ret_word);

/** Skips spaces, then takes a decimal number; false on anything else, and on overflow. */
RM_SHARED bool rm_parse_u64(struct rm_text *text, uint64_t *ret_value);

/** Skips spaces, then takes a decimal number that may have a '-'; false on anything else, and on
 * overflow. */
RM_SHARED bool rm_parse_i64(struct rm_text *text, int64_t *ret_value);

/** Takes "0x1f" or "1f", in lower case; false on anything else, and on overflow. */
bool rm_parse_hex(struct rm_text *text, uint64_t *ret_value);

/** Skips spaces, then takes "12" or "12.34" (at most 18 digits after the point). */
bool rm_parse_decimal(struct rm_text *text, double *ret_value);

/** Takes `literal` if the text starts with it. */
bool rm_parse_literal(struct rm_text *text, const char *literal);

/** Takes everything up to and including the first `mark`; the part before it in `ret_head`. */
bool rm_parse_until(struct rm_text *text, char mark, struct rm_text *ret_head);

bool rm_text_equals(const struct rm_text *text, const char *literal);

/**
 * "Key: value" or "key value" files (/proc/meminfo, /proc/pid/status, memory.stat, ...) by a table
 * of keys in the order in which the kernel usually prints them.  Lines that no key wants are
 * skipped; keys that no line has stay untouched.  With keys in file order each line costs one
 * comparison.
 */
struct rm_key {
    const char *name; /* with its colon, if the file has one: "MemTotal:" */
    uint32_t length;
    uint32_t slot; /* where in `ret_values` the number goes */
};

#define RM_KEY(text, slot_)             \
    {                                   \
        text, sizeof(text) - 1, (slot_) \
    }

/** Fills `ret_values[slot]` and sets bit `slot` of the result for each key found (slot < 64). */
uint64_t rm_parse_keys(struct rm_text text, const struct rm_key *keys, size_t count,
                       uint64_t *ret_values);

#endif

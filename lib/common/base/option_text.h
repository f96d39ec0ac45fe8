/* SPDX-License-Identifier: MIT */
/*
 * Owns how options are written: "key=value,key,key=\"a, b\"".  A value ends at a comma, unless it
 * stands in double quotes; in these, \" and \\ are a quote and a backslash.  A part whose beginning
 * is no word (of letters, digits, '_' and '.') is a value alone.
 */
#ifndef RM_BASE_OPTION_TEXT_H
#define RM_BASE_OPTION_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "base/buffer.h"
#include "base/nearest.h"

/* A text of options that is being read. */
struct rm_option_text {
    const char *rest; /* of what was given */
    char *room;       /* where keys and values are put: strlen(rest) + 1 bytes are enough */
    resmon_status status;
    bool had_secret; /* for its reader to set: what follows may be a piece of it, after a comma */
};

/* A part of it. */
struct rm_option_part {
    const char *from;  /* where it stands in what was given */
    size_t length;     /* there */
    const char *key;   /* "": it is a value alone */
    const char *value; /* NULL: it is a key alone */
    bool is_quoted;    /* the value may be empty then */
    bool is_hidden;    /* no message shows it: it may be a piece of a password with a comma */
};

/** Takes the next part; empty ones are skipped.  false at the end, and for a quoted value without
 * an end, or with more behind it: `status` says so. */
bool rm_option_next(struct rm_option_text *text, struct rm_option_part *ret_part);

/** Goes on behind a value that rm_option_next() refused, at the next comma; false: nothing was, or
 * nothing follows.  What follows is hidden, as it may be a part of that value. */
bool rm_option_resume(struct rm_option_text *text);

/** Adds `text` as a value in quotes. */
void rm_option_quote(struct rm_buffer *buffer, const char *text);

/** RESMON_EINVAL about a part that is no option of `whose` ("": of anybody): the name that was
 * meant, and `advice`. */
resmon_status rm_option_unknown(const char *whose, const struct rm_option_part *part,
                                const struct rm_nearest *nearest, const char *advice);

#define RM_OPTION_SHOWN_BYTES 84

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the texts of options: how they are written, what is said about them, and which name was
 * meant by a word that is none.
 */
#ifndef RM_BASE_OPTION_TEXT_H
#define RM_BASE_OPTION_TEXT_H

#include <resmon/status.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* ---- did you mean ----------------------------------------------------------------------- */

/*
 * The question "did you mean": which of several names somebody had in mind who wrote another word.
 * Pure.
 */

#define RM_NEAREST_LONGEST 40 /* longer words are nobody's misspelling */

struct rm_nearest {
    const char *word; /* as it was written */
    size_t length;
    size_t distance;  /* of `name`: letters to add, drop or change; at most 2 */
    const char *name; /* NULL: none comes near */
};

struct rm_nearest rm_nearest_new(const char *word, size_t length);

/**
 * Looks at one more name, which must outlive the answer.  Near is a name that at most 2 letters and
 * half of the word turn the word into, or one that begins with the word ("prom", "prometheus").
 * Capitals do not count.  Of two that are as near, the first stays.
 */
void rm_nearest_try(struct rm_nearest *nearest, const char *name);

/* ---- how options are written ------------------------------------------------------------ */

/*
 * How options are written: "key=value,key,key=\"a, b\"".  A value ends at a comma, unless it stands
 * in double quotes; in these, \" and \\ are a quote and a backslash.  A part whose beginning is no
 * word (of letters, digits, '_' and '.') is a value alone.
 */

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

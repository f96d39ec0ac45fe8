/* SPDX-License-Identifier: MIT */
/*
 * Owns the texts of options: their syntax, messages about them, and suggestions for misspelled
 * names.
 */
#ifndef RM_BASE_OPTION_TEXT_H
#define RM_BASE_OPTION_TEXT_H

#include <resmon/status.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/compiler.h"

/* ---- did you mean ----------------------------------------------------------------------- */

/*
 * The question "did you mean": finds the nearest of several names to a misspelled word.  Pure.
 */

#define RM_NEAREST_LONGEST 40 /* longer words get no suggestion */

struct rm_nearest {
    const char *word; /* as it was written */
    size_t length;
    size_t distance;  /* of `name`: letters to add, drop or change; at most 2 */
    const char *name; /* NULL: no name is near */
};

RM_SHARED struct rm_nearest rm_nearest_new(const char *word, size_t length);

/**
 * Tries one more name, which must outlive the answer.  A name is near if it begins with the word
 * ("prom", "prometheus").  It is also near if few letters of the word are added, dropped or changed
 * to get the name: at most 2, and at most half of the word.  Case is ignored.  Of two equally near
 * names, the first one is kept.
 */
RM_SHARED void rm_nearest_try(struct rm_nearest *nearest, const char *name);

/* ---- how options are written ------------------------------------------------------------ */

/*
 * The syntax of options: "key=value,key,key=\"a, b\"".  A value ends at a comma, unless it is in
 * double quotes; inside of these, \" and \\ are a quote and a backslash.  A part that does not
 * begin with a word (letters, digits, '_' and '.') is a value without a key.
 */

/* A text of options during parsing. */
struct rm_option_text {
    const char *rest; /* the unread rest of the given text */
    char *room;       /* buffer for keys and values: strlen(rest) + 1 bytes are enough */
    resmon_status status;
    bool had_secret; /* set by the caller: the rest may be a part of a secret, after a comma */
};

/* A part of a text of options. */
struct rm_option_part {
    const char *from;  /* its position in the given text */
    size_t length;     /* of the part in the given text */
    const char *key;   /* "": the part is a value without a key */
    const char *value; /* NULL: the part is a key without a value */
    bool is_quoted;    /* the value is in quotes, and may be empty */
    bool is_hidden;    /* never shown in messages: may be part of a password with a comma */
};

/** Takes the next part; empty parts are skipped.  False at the end, and on an error in `status`: a
 * quoted value without an end, or with text after its end. */
bool rm_option_next(struct rm_option_text *text, struct rm_option_part *ret_part);

/** Continues at the next comma after a value that rm_option_next() refused.  False: no value was
 * refused, or the text has ended.  Later parts are hidden, because they may belong to that value.
 */
bool rm_option_resume(struct rm_option_text *text);

/** Appends `text` as a quoted value. */
void rm_option_quote(struct rm_buffer *buffer, const char *text);

/** RESMON_EINVAL for a part that is not an option of `whose` ("": of any owner); the error text has
 * the suggestion and `advice`. */
resmon_status rm_option_unknown(const char *whose, const struct rm_option_part *part,
                                const struct rm_nearest *nearest, const char *advice);

#define RM_OPTION_SHOWN_BYTES 84

#endif

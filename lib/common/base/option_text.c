/* SPDX-License-Identifier: MIT */
#include "base/option_text.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"

/* ---- did you mean ----------------------------------------------------------------------- */

#define MOST         2 /* letters that may differ */
#define LEAST_PREFIX 3

static size_t least_of(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance: one row of his table at a time, of the name up to each of its letters. */
static size_t distance_of(const char *word, size_t length, const char *name)
{
    size_t row[RM_NEAREST_LONGEST + 1];
    size_t name_length = strlen(name);
    if (name_length > RM_NEAREST_LONGEST) {
        return RM_NEAREST_LONGEST;
    }
    for (size_t j = 0; j <= name_length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= name_length; j++) {
            size_t changed =
                diagonal + (rm_text_compare(&word[i - 1], &name[j - 1], 1) != 0 ? 1 : 0);
            diagonal = row[j];
            row[j] = least_of(row[j] + 1, row[j - 1] + 1, changed);
        }
    }
    return row[name_length];
}

struct rm_nearest rm_nearest_new(const char *word, size_t length)
{
    return (struct rm_nearest){.word = word, .length = length, .distance = MOST + 1};
}

void rm_nearest_try(struct rm_nearest *nearest, const char *name)
{
    size_t length = nearest->length;
    if (length == 0 || length > RM_NEAREST_LONGEST) {
        return;
    }
    size_t distance = distance_of(nearest->word, length, name);
    bool is_beginning = length >= LEAST_PREFIX && rm_text_compare(nearest->word, name, length) == 0;
    bool is_near = distance <= MOST && distance * 2 <= length;
    if (is_beginning && !is_near) {
        distance = MOST;
    }
    if ((is_near || is_beginning) && distance < nearest->distance) {
        nearest->distance = distance;
        nearest->name = name;
    }
}

/* ---- how options are written ------------------------------------------------------------ */

#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_."

/* Copies to the buffer, with a final '\0'. */
static const char *put(struct rm_option_text *text, const char *bytes, size_t length)
{
    char *copy = text->room;
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    text->room += length + 1;
    return copy;
}

/* Takes a quoted value; false: the value has no end, or text follows it. */
static bool take_quoted(struct rm_option_text *text, const char **ret_value)
{
    char *copy = text->room;
    const char *p = text->rest + 1;
    size_t length = 0;
    while (*p != '"' && *p != '\0') {
        bool is_escaped = *p == '\\' && (p[1] == '"' || p[1] == '\\');
        p += is_escaped ? 1 : 0;
        copy[length++] = *p++;
    }
    if (*p == '\0' || (p[1] != ',' && p[1] != '\0')) {
        return false;
    }
    copy[length] = '\0';
    text->room += length + 1;
    text->rest = p + 1;
    *ret_value = copy;
    return true;
}

static bool take_value(struct rm_option_text *text, struct rm_option_part *part)
{
    part->is_quoted = *text->rest == '"';
    if (!part->is_quoted) {
        size_t length = strcspn(text->rest, ",");
        part->value = put(text, text->rest, length);
        text->rest += length;
        return true;
    }
    if (take_quoted(text, &part->value)) {
        return true;
    }
    text->status = rm_error(RESMON_EINVAL,
                            "%s%s: a quoted value must end with a quote, followed by a comma or "
                            "the end; inside it, write \\\" for a quote and \\\\ for a backslash",
                            part->key, part->key[0] != '\0' ? "=" : "options");
    return false;
}

bool rm_option_next(struct rm_option_text *text, struct rm_option_part *ret_part)
{
    text->rest += strspn(text->rest, ",");
    if (*text->rest == '\0' || text->status != RESMON_OK) {
        return false;
    }
    struct rm_option_part part = {
        .from = text->rest,
        .key = "",
        .is_hidden = text->had_secret || strchr(text->rest, '@') != NULL, /* "user:a,b@host" */
    };
    size_t word = strspn(text->rest, WORD);
    char mark = text->rest[word];
    bool is_word = word > 0 && (mark == '=' || mark == ',' || mark == '\0');
    bool is_taken = true;
    if (is_word) {
        part.key = put(text, text->rest, word);
        text->rest += word + (mark == '=' ? 1 : 0);
    }
    if (!is_word || mark == '=') {
        is_taken = take_value(text, &part);
    }
    part.length = (size_t)(text->rest - part.from);
    *ret_part = part;
    return is_taken;
}

bool rm_option_resume(struct rm_option_text *text)
{
    if (text->status == RESMON_OK) {
        return false;
    }
    const char *closing = strchr(text->rest + 1, '"'); /* NULL: there is no closing quote */
    text->rest = closing != NULL ? closing + 1 : text->rest;
    text->rest += strcspn(text->rest, ",");
    text->status = RESMON_OK;
    text->had_secret = true; /* the rest may be a part of a secret */
    return *text->rest != '\0';
}

void rm_option_quote(struct rm_buffer *buffer, const char *text)
{
    rm_buffer_add(buffer, "\"", 1);
    for (const char *p = text; *p != '\0'; p++) {
        rm_buffer_add(buffer, "\\", *p == '"' || *p == '\\' ? 1 : 0);
        rm_buffer_add(buffer, p, 1);
    }
    rm_buffer_add(buffer, "\"", 1);
}

static void show(const struct rm_option_part *part, char shown[RM_OPTION_SHOWN_BYTES])
{
    bool has_key = part->key[0] != '\0'; /* the value of a key may be a secret */
    const char *text = part->is_hidden ? "..." : has_key ? part->key : part->from;
    (void)rm_text_copy(shown, RM_OPTION_SHOWN_BYTES, text,
                       part->is_hidden || has_key ? strlen(text) : part->length);
}

resmon_status rm_option_unknown(const char *whose, const struct rm_option_part *part,
                                const struct rm_nearest *nearest, const char *advice)
{
    char shown[RM_OPTION_SHOWN_BYTES];
    bool has_guess = nearest->name != NULL && !part->is_hidden;
    show(part, shown);
    return rm_error(RESMON_EINVAL, "%s%s'%s' is not known%s%s%s%s", whose,
                    whose[0] != '\0' ? ": " : "", shown, has_guess ? ": did you mean '" : "",
                    has_guess ? nearest->name : "", has_guess ? "'?  " : "; ", advice);
}

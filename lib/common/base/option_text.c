/* SPDX-License-Identifier: MIT */
#include "base/option_text.h"

#include <string.h>

#include "base/status.h"
#include "base/text.h"

#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_."

/* Copies to the room, with an end. */
static const char *put(struct rm_option_text *text, const char *bytes, size_t length)
{
    char *copy = text->room;
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    text->room += length + 1;
    return copy;
}

/* Takes a value in quotes; false: it has no end, or more stands behind it. */
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
    const char *closing = strchr(text->rest + 1, '"'); /* NULL: it was never closed */
    text->rest = closing != NULL ? closing + 1 : text->rest;
    text->rest += strcspn(text->rest, ",");
    text->status = RESMON_OK;
    text->had_secret = true; /* what stands there may be a part of one */
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
    bool has_key = part->key[0] != '\0'; /* whose value may be a secret */
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

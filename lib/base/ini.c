/* SPDX-License-Identifier: MIT */
#include "base/ini.h"

#include <string.h>

#include "base/text.h"

#define DEEPEST  10  /* values within values, as in configparser */
#define MOST_ASK 100 /* of them in all: each value may name many */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct rm_text rm_ini_trim(struct rm_text text)
{
    while (text.at < text.end && is_blank(*text.at)) {
        text.at++;
    }
    while (text.at < text.end && is_blank(text.end[-1])) {
        text.end--;
    }
    return text;
}

static bool is_comment(struct rm_text line)
{
    return line.at == line.end || *line.at == '#' || *line.at == ';';
}

/* "[name]", and whatever stands behind the last bracket. */
static bool take_section(struct rm_ini *ini, struct rm_text line)
{
    const char *end = line.end;
    while (end > line.at && end[-1] != ']') {
        end--;
    }
    if (line.at[0] != '[' || end - line.at < 3) {
        return false;
    }
    ini->section = (struct rm_text){line.at + 1, end - 1};
    return true;
}

/* Lines of the value that begins `indent` bytes from the left; true: there are some. */
static bool skip_more(struct rm_ini *ini, ptrdiff_t indent)
{
    struct rm_ini ahead = *ini;
    bool has_more = false;
    for (struct rm_text line; ini->goes_on && rm_parse_line(&ahead.rest, &line);) {
        const struct rm_text inner = rm_ini_trim(line);
        ahead.line++;
        if (is_comment(inner)) {
            continue;
        }
        if (inner.at - line.at <= indent) {
            break;
        }
        has_more = true;
        *ini = ahead;
    }
    return has_more;
}

bool rm_ini_next(struct rm_ini *ini, struct rm_ini_entry *ret_entry)
{
    struct rm_text line;
    while (rm_parse_line(&ini->rest, &line)) {
        const struct rm_text whole = rm_ini_trim(line);
        ini->line++;
        if (is_comment(whole) || take_section(ini, whole)) {
            continue;
        }
        const char *mark = whole.at;
        while (mark < whole.end && *mark != '=' && *mark != ':') {
            mark++;
        }
        const char *value = mark < whole.end ? mark + 1 : mark;
        *ret_entry = (struct rm_ini_entry){
            .section = ini->section,
            .whole = whole,
            .name = rm_ini_trim((struct rm_text){whole.at, mark < whole.end ? mark : whole.at}),
            .value = rm_ini_trim((struct rm_text){value, whole.end}),
            .line = ini->line,
        };
        ret_entry->has_more =
            rm_text_left(&ret_entry->name) > 0 && skip_more(ini, whole.at - line.at);
        return true;
    }
    return false;
}

/* ---- one value -------------------------------------------------------------------------- */

/* A question, and the answer as far as it was written. */
struct asked {
    struct rm_text text;
    const char *section;
    char *at;
    size_t room;
    unsigned names; /* that were looked up */
};

static bool put(struct asked *asked, char byte)
{
    if (asked->room <= 1) {
        return false;
    }
    *asked->at++ = byte;
    asked->room--;
    return true;
}

static bool is_name(struct rm_text one, struct rm_text other)
{
    return rm_text_left(&one) == rm_text_left(&other) &&
           rm_text_compare(one.at, other.at, rm_text_left(&one)) == 0;
}

static bool find(const struct asked *asked, struct rm_text name, struct rm_ini_entry *ret_entry)
{
    const char *const sections[] = {asked->section, "DEFAULT"};
    bool is_there = false;
    for (int i = 0; i < 2 && !is_there; i++) {
        struct rm_ini ini = {.rest = asked->text, .goes_on = true};
        for (struct rm_ini_entry entry; rm_ini_next(&ini, &entry);) {
            if (rm_text_equals(&entry.section, sections[i]) && is_name(entry.name, name)) {
                *ret_entry = entry;
                is_there = true;
            }
        }
    }
    return is_there;
}

/* The name in "%(name)s"; false: this is none. */
static bool take_reference(struct rm_text *rest, struct rm_text *ret_name)
{
    struct rm_text inner = *rest;
    if (!rm_parse_literal(&inner, "%(") || !rm_parse_until(&inner, ')', ret_name) ||
        !rm_parse_literal(&inner, "s")) {
        return false;
    }
    *rest = inner;
    return true;
}

static bool answer(struct asked *asked, struct rm_text name, int depth)
{
    struct rm_ini_entry entry;
    struct rm_text other;
    if (depth > DEEPEST || asked->names++ == MOST_ASK || !find(asked, name, &entry) ||
        entry.has_more) {
        return false;
    }
    while (entry.value.at < entry.value.end) {
        if (take_reference(&entry.value, &other)) {
            if (!answer(asked, other, depth + 1)) {
                return false;
            }
            continue;
        }
        bool is_percent = rm_parse_literal(&entry.value, "%%");
        if (!put(asked, is_percent ? '%' : *entry.value.at++)) {
            return false;
        }
    }
    return true;
}

bool rm_ini_get(struct rm_text text, const char *section, const char *name, char *target,
                size_t room)
{
    struct asked asked = {text, section, target, room, 0};
    bool is_whole = answer(&asked, rm_text_of(name, strlen(name)), 1);
    memset(is_whole ? asked.at : target, 0, is_whole ? 1 : room);
    return is_whole;
}

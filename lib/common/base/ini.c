/* SPDX-License-Identifier: MIT */
#include "base/ini.h"

#include <string.h>

#include "base/text.h"

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

static bool is_name(struct rm_text one, struct rm_text other)
{
    return rm_text_left(&one) == rm_text_left(&other) &&
           rm_text_compare(one.at, other.at, rm_text_left(&one)) == 0;
}

/* The last one of the section, else of [DEFAULT]. */
static bool find(struct rm_text text, const char *section, struct rm_text name,
                 struct rm_ini_entry *ret_entry)
{
    const char *const sections[] = {section, "DEFAULT"};
    bool is_there = false;
    for (int i = 0; i < 2 && !is_there; i++) {
        struct rm_ini ini = {.rest = text, .goes_on = true};
        for (struct rm_ini_entry entry; rm_ini_next(&ini, &entry);) {
            if (rm_text_equals(&entry.section, sections[i]) && is_name(entry.name, name)) {
                *ret_entry = entry;
                is_there = true;
            }
        }
    }
    return is_there;
}

/* "%(name)s". */
static bool is_reference(struct rm_text rest)
{
    struct rm_text name;
    return rm_parse_literal(&rest, "%(") && rm_parse_until(&rest, ')', &name) &&
           rm_parse_literal(&rest, "s");
}

bool rm_ini_get(struct rm_text text, const char *section, const char *name, char *target,
                size_t room)
{
    struct rm_ini_entry entry;
    size_t length = 0;
    bool is_whole = find(text, section, rm_text_of(name, strlen(name)), &entry) && !entry.has_more;
    while (is_whole && entry.value.at < entry.value.end) {
        is_whole = length + 1 < room && !is_reference(entry.value);
        bool is_percent = rm_parse_literal(&entry.value, "%%");
        char byte = is_percent ? '%' : *entry.value.at++;
        target[length] = is_whole ? byte : '\0';
        length += is_whole ? 1 : 0;
    }
    memset(is_whole ? target + length : target, 0, is_whole ? 1 : room);
    return is_whole;
}

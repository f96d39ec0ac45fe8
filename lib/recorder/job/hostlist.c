/* SPDX-License-Identifier: MIT */
#include "job/hostlist.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "os/infile.h"
#include "os/outfile.h"

#define MAX_BRACKETS 8
#define SHOWN(text)  (int)(rm_text_left(&(text)) < 80 ? rm_text_left(&(text)) : 80), (text).at

static resmon_status invalid(struct rm_text text, const char *why)
{
    return rm_error(RESMON_EFORMAT, "Invalid hostlist '%.*s': %s", SHOWN(text), why);
}

static resmon_status too_many(struct rm_text text)
{
    return rm_error(RESMON_ERANGE, "Invalid hostlist '%.*s': more than %u hosts", SHOWN(text),
                    RM_MAX_HOSTS);
}

/* ---- Slurm: one bracket ----------------------------------------------------------------- */

/* "001-003,7", with the text before it, and where an expansion is in it. */
struct bracket {
    struct rm_text literal;
    struct rm_text ranges;
    struct rm_text rest; /* ranges after this one */
    uint64_t value, last;
    int width; /* of the first number of the range, zeros included */
};

/* Digits alone: no blank, no sign. */
static bool take_number(struct rm_text *text, uint64_t *ret_value)
{
    return text->at < text->end && *text->at >= '0' && *text->at <= '9' &&
           rm_parse_u64(text, ret_value);
}

/* Takes "7" or "001-003" and the comma after it. */
static bool take_range(struct bracket *bracket)
{
    struct rm_text *rest = &bracket->rest;
    const char *start = rest->at;
    if (!take_number(rest, &bracket->value)) {
        return false;
    }
    bracket->width =
        (int)(rest->at - start < RM_HOST_NAME_BYTES ? rest->at - start : RM_HOST_NAME_BYTES);
    bracket->last = bracket->value;
    if (rm_parse_literal(rest, "-") && !take_number(rest, &bracket->last)) {
        return false;
    }
    bool has_more = rm_parse_literal(rest, ",");
    return has_more ? rest->at < rest->end : rest->at == rest->end;
}

static bool rewind_bracket(struct bracket *bracket)
{
    bracket->rest = bracket->ranges;
    return take_range(bracket);
}

/* Moves on to the next number; false after the last, with the first again. */
static bool advance(struct bracket *bracket)
{
    if (bracket->value < bracket->last) {
        bracket->value++;
        return true;
    }
    if (bracket->rest.at < bracket->rest.end) {
        return take_range(bracket);
    }
    (void)rewind_bracket(bracket);
    return false;
}

/* Checks all ranges; how many numbers they have goes into `ret_count`. */
static resmon_status measure(struct bracket *bracket, struct rm_text token, uint64_t *ret_count)
{
    uint64_t count = 0;
    bracket->rest = bracket->ranges;
    do {
        if (!take_range(bracket)) {
            return invalid(token, "brackets hold numbers and ranges such as 1-3, with commas "
                                  "between");
        }
        if (bracket->last < bracket->value) {
            return invalid(token, "a range that ends before it starts");
        }
        if (bracket->last - bracket->value >= RM_MAX_HOSTS) {
            return too_many(token);
        }
        count += bracket->last - bracket->value + 1;
        if (count > RM_MAX_HOSTS) {
            return too_many(token);
        }
    } while (bracket->rest.at < bracket->rest.end);
    (void)rewind_bracket(bracket);
    *ret_count = count;
    return RESMON_OK;
}

/* ---- Slurm: a name with brackets -------------------------------------------------------- */

/* "rack[0-1]node[08-11]" into its brackets. */
static resmon_status split(struct rm_text token, struct bracket *brackets, size_t *ret_count)
{
    size_t count = 0;
    struct rm_text rest = token;
    while (rest.at < rest.end) {
        struct rm_text literal, ranges;
        if (!rm_parse_until(&rest, '[', &literal)) {
            return invalid(token, "text after the last bracket");
        }
        if (memchr(literal.at, ']', rm_text_left(&literal)) != NULL) {
            return invalid(token, "a closing bracket without an opening one");
        }
        if (!rm_parse_until(&rest, ']', &ranges)) {
            return invalid(token, "a bracket that is not closed");
        }
        if (count == MAX_BRACKETS) {
            return invalid(token, "more than 8 brackets");
        }
        brackets[count++] = (struct bracket){.literal = literal, .ranges = ranges};
    }
    *ret_count = count;
    return RESMON_OK;
}

static resmon_status add_current(struct rm_hosts *hosts, const struct bracket *brackets,
                                 size_t count, struct rm_text token)
{
    char name[RM_HOST_NAME_BYTES];
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        const struct bracket *b = &brackets[i];
        size_t room = sizeof name - length;
        size_t literal = rm_text_left(&b->literal);
        int printed = literal < room
                          ? snprintf(name + length, room, "%.*s%0*llu", (int)literal, b->literal.at,
                                     b->width, (unsigned long long)b->value)
                          : -1;
        if (printed < 0 || (size_t)printed >= room) {
            return invalid(token, "a name of more than 255 bytes");
        }
        length += (size_t)printed;
    }
    return rm_hosts_add(hosts, rm_text_of(name, length));
}

/*
 * The next combination.  As in Slurm 22.05 (_push_range_list): the last bracket runs fastest, then
 * the first, the second and so on.
 */
static bool advance_all(struct bracket *brackets, size_t count)
{
    if (advance(&brackets[count - 1])) {
        return true;
    }
    for (size_t i = 0; i + 1 < count; i++) {
        if (advance(&brackets[i])) {
            return true;
        }
    }
    return false;
}

static resmon_status add_bracketed(struct rm_hosts *hosts, struct rm_text token)
{
    struct bracket brackets[MAX_BRACKETS] = {0};
    size_t count = 0;
    uint64_t names = 1;
    resmon_status status = split(token, brackets, &count);
    for (size_t i = 0; i < count && status == RESMON_OK; i++) {
        uint64_t own = 0;
        status = measure(&brackets[i], token, &own);
        names *= own; /* both are at most 65536 */
        if (status == RESMON_OK && names > RM_MAX_HOSTS) {
            return too_many(token);
        }
    }
    for (uint64_t i = 0; i < names && status == RESMON_OK; i++) {
        status = add_current(hosts, brackets, count, token);
        (void)advance_all(brackets, count);
    }
    return status;
}

static bool is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\n';
}

/* The next name, up to a separator outside of brackets; false at the end. */
static bool take_token(struct rm_text *text, struct rm_text *ret_token)
{
    while (text->at < text->end && is_separator(*text->at)) {
        text->at++;
    }
    const char *start = text->at;
    bool is_inside = false;
    for (; text->at < text->end && (is_inside || !is_separator(*text->at)); text->at++) {
        is_inside = *text->at == '[' || (is_inside && *text->at != ']');
    }
    *ret_token = (struct rm_text){start, text->at};
    return text->at > start;
}

resmon_status rm_hostlist_add_slurm(struct rm_hosts *hosts, struct rm_text text)
{
    struct rm_text token;
    resmon_status status = RESMON_OK;
    while (status == RESMON_OK && take_token(&text, &token)) {
        if (memchr(token.at, '[', rm_text_left(&token)) != NULL) {
            status = add_bracketed(hosts, token);
        } else if (memchr(token.at, ']', rm_text_left(&token)) != NULL) {
            status = invalid(token, "a closing bracket without an opening one");
        } else {
            status = rm_hosts_add(hosts, token);
        }
    }
    return status;
}

int64_t rm_hostlist_tasks_of_node(struct rm_text text, int64_t index)
{
    uint64_t first = 0;
    while (index >= 0 && text.at < text.end) {
        uint64_t tasks;
        uint64_t repeats = 1;
        if (!take_number(&text, &tasks) || tasks > INT64_MAX ||
            (rm_parse_literal(&text, "(x") &&
             (!take_number(&text, &repeats) || !rm_parse_literal(&text, ")"))) ||
            repeats > RM_MAX_HOSTS || (!rm_parse_literal(&text, ",") && text.at < text.end)) {
            return -1;
        }
        if ((uint64_t)index < first + repeats) {
            return (int64_t)tasks;
        }
        first += repeats;
    }
    return -1;
}

/* ---- the other forms -------------------------------------------------------------------- */

resmon_status rm_hostlist_add_pairs(struct rm_hosts *hosts, struct rm_text text)
{
    struct rm_text name, slots;
    uint64_t number;
    resmon_status status = RESMON_OK;
    while (status == RESMON_OK && rm_parse_word(&text, &name)) {
        if (!rm_parse_word(&text, &slots) || !take_number(&slots, &number) ||
            slots.at != slots.end) {
            return rm_error(RESMON_EFORMAT, "after the host '%.*s' the number of slots is missing",
                            SHOWN(name));
        }
        status = rm_hosts_add(hosts, name);
    }
    return status;
}

resmon_status rm_hostlist_add_words(struct rm_hosts *hosts, struct rm_text text)
{
    struct rm_text name;
    resmon_status status = RESMON_OK;
    while (status == RESMON_OK && rm_parse_word(&text, &name)) {
        status = rm_hosts_add(hosts, name);
    }
    return status;
}

resmon_status rm_hostlist_add_lines(struct rm_hosts *hosts, struct rm_text text)
{
    struct rm_text line, name;
    resmon_status status = RESMON_OK;
    while (status == RESMON_OK && rm_parse_line(&text, &line)) {
        if (line.end > line.at && line.end[-1] == '\r') {
            line.end--;
        }
        if (rm_parse_word(&line, &name)) {
            status = rm_hosts_add(hosts, name);
        }
    }
    return status;
}

/* ---- node files --------------------------------------------------------------------------- */

#define MAX_NODE_FILE_BYTES ((uint64_t)8 << 20)

static resmon_status add_all(struct rm_hosts *hosts, const struct rm_infile *file)
{
    char *text;
    resmon_status status = rm_infile_read_all(file, &text);
    if (status == RESMON_OK) {
        status = rm_hostlist_add_lines(hosts, rm_text_of(text, file->bytes));
    }
    rm_free(text);
    return status;
}

resmon_status rm_hostlist_add_file(struct rm_hosts *hosts, const char *root, const char *path)
{
    char below[RM_PATH_BYTES];
    struct rm_infile file;
    int length = snprintf(below, sizeof below, "%s%s%s", root != NULL ? root : "",
                          root != NULL ? "/" : "", path);
    if (length < 0 || (size_t)length >= sizeof below) {
        return rm_error(RESMON_EFORMAT, "the path of a node file has more than %d bytes",
                        RM_PATH_BYTES - 1);
    }
    resmon_status status = rm_infile_open(&file, below, MAX_NODE_FILE_BYTES);
    if (status == RESMON_OK) {
        status = add_all(hosts, &file);
        rm_infile_close(&file);
    }
    return status;
}

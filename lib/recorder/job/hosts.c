/* SPDX-License-Identifier: MIT */
#include "job/hosts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/status.h"
#include "os/file.h"
#include "os/outfile.h"

/* ---- lists ---------------------------------------------------------------------------------- */

void rm_hosts_init(struct rm_hosts *hosts, bool is_unique)
{
    *hosts = (struct rm_hosts){.is_unique = is_unique};
    rm_buffer_init(&hosts->names, RM_MAX_HOSTS_BYTES + 1);
}

void rm_hosts_free(struct rm_hosts *hosts)
{
    rm_buffer_free(&hosts->names);
    rm_free(hosts->starts);
    rm_map_free(&hosts->map);
    rm_hosts_init(hosts, hosts->is_unique);
}

const char *rm_hosts_name(const struct rm_hosts *hosts, size_t index)
{
    return hosts->names.text + hosts->starts[index];
}

/* ---- the map of a unique list ------------------------------------------------------------ */

static uint64_t hash_of(struct rm_text name)
{
    return rm_hash_bytes(RM_HASH_START, name.at, rm_text_left(&name));
}

static bool has_name(const struct rm_hosts *hosts, struct rm_text name)
{
    size_t length = rm_text_left(&name);
    struct rm_map_search search = {.hash = hash_of(name)};
    for (uint32_t index; rm_map_next(&hosts->map, &search, &index);) {
        const char *other = rm_hosts_name(hosts, index);
        if (strlen(other) == length && memcmp(other, name.at, length) == 0) {
            return true;
        }
    }
    return false;
}

static resmon_status make_room(struct rm_hosts *hosts)
{
    uint32_t *starts = rm_grow(hosts->starts, hosts->count, &hosts->room, sizeof *starts);
    if (starts != NULL) {
        hosts->starts = starts;
    }
    if (starts == NULL || (hosts->is_unique && !rm_map_reserve(&hosts->map, hosts->count + 1))) {
        return rm_error(RESMON_ENOMEM, "out of memory for %zu host names", hosts->count + 1);
    }
    return RESMON_OK;
}

/* ---- adding ----------------------------------------------------------------------------- */

static resmon_status check_name(struct rm_text name)
{
    size_t length = rm_text_left(&name);
    if (length == 0 || length >= RM_HOST_NAME_BYTES) {
        return rm_error(RESMON_EFORMAT, "a host name of %zu bytes: it may have 1 to %d", length,
                        RM_HOST_NAME_BYTES - 1);
    }
    for (const char *p = name.at; p < name.end; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            return rm_error(RESMON_EFORMAT, "a host name with a control character (byte 0x%02x)",
                            (unsigned)(unsigned char)*p);
        }
    }
    return RESMON_OK;
}

static resmon_status check_room(const struct rm_hosts *hosts, size_t length)
{
    if (hosts->count >= RM_MAX_HOSTS) {
        return rm_error(RESMON_ERANGE, "more than %u hosts", RM_MAX_HOSTS);
    }
    if (hosts->names.length + length + 1 > RM_MAX_HOSTS_BYTES) {
        return rm_error(RESMON_ERANGE, "host names of more than %zu bytes together",
                        RM_MAX_HOSTS_BYTES);
    }
    return RESMON_OK;
}

static resmon_status append(struct rm_hosts *hosts, struct rm_text name)
{
    size_t length = rm_text_left(&name);
    size_t start = hosts->names.length;
    resmon_status status = check_room(hosts, length);
    if (status == RESMON_OK) {
        status = make_room(hosts);
    }
    if (status != RESMON_OK) {
        return status;
    }
    char terminated[RM_HOST_NAME_BYTES] = "";
    memcpy(terminated, name.at, length);
    rm_buffer_add(&hosts->names, terminated, length + 1);
    if (hosts->names.status != RESMON_OK) {
        status = hosts->names.status;
        hosts->names.status = RESMON_OK; /* the text is unchanged */
        return status;
    }
    if (hosts->is_unique) {
        rm_map_add(&hosts->map, hash_of(name), (uint32_t)hosts->count);
    }
    hosts->starts[hosts->count++] = (uint32_t)start;
    return RESMON_OK;
}

/*
 * Adds a name.  RESMON_EFORMAT: it is empty, too long or has control characters; RESMON_ERANGE:
 * the list is full; RESMON_ENOMEM.  On failure, the list is unchanged.
 */
static resmon_status rm_hosts_add(struct rm_hosts *hosts, struct rm_text name)
{
    resmon_status status = check_name(name);
    if (status == RESMON_OK && !has_name(hosts, name)) {
        status = append(hosts, name);
    }
    hosts->added += status == RESMON_OK ? 1 : 0;
    return status;
}

/* ---- finding ---------------------------------------------------------------------------- */

/* The name up to its first dot, except for an IPv4 address. */
static struct rm_text short_name(const char *name)
{
    size_t length = strcspn(name, ".");
    bool is_number = length > 0 && strspn(name, "0123456789") == length;
    return rm_text_of(name, is_number ? strlen(name) : length);
}

int64_t rm_hosts_find(const struct rm_hosts *hosts, const char *name)
{
    int64_t found = -1;
    struct rm_text wanted = short_name(name);
    for (size_t i = 0; i < hosts->count; i++) {
        if (strcmp(rm_hosts_name(hosts, i), name) == 0) {
            return (int64_t)i;
        }
    }
    for (size_t i = 0; i < hosts->count && rm_text_left(&wanted) > 0; i++) {
        struct rm_text other = short_name(rm_hosts_name(hosts, i));
        if (rm_text_left(&other) == rm_text_left(&wanted) &&
            memcmp(other.at, wanted.at, rm_text_left(&wanted)) == 0) {
            if (found >= 0) {
                return -1;
            }
            found = (int64_t)i;
        }
    }
    return found;
}

int64_t rm_hosts_sorted_position(const struct rm_hosts *hosts, size_t index)
{
    int64_t before = 0;
    for (size_t i = 0; i < hosts->count; i++) {
        before += strcmp(rm_hosts_name(hosts, i), rm_hosts_name(hosts, index)) < 0 ? 1 : 0;
    }
    return before;
}

/* ---- texts of batch systems ----------------------------------------------------------------- */

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

/* "001-003,7", with the text before it, and the position of an expansion. */
struct bracket {
    struct rm_text literal;
    struct rm_text ranges;
    struct rm_text rest; /* ranges after this one */
    uint64_t value, last;
    int width; /* digits of the range's first number, with leading zeros */
};

/* Takes digits only: no blank, no sign. */
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

/* Advances to the next number; false: after the last one, and back at the first. */
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

/* Checks all ranges; `ret_count`: how many numbers they have. */
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

/* Splits "rack[0-1]node[08-11]" into its brackets. */
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
 * Advances to the next combination, in the order of Slurm 22.05 (_push_range_list): the last
 * bracket is fastest, then the first, the second and so on.
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

/* Takes the next name, up to a separator outside of brackets; false: at the end. */
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

/* ---- names -> "n[001-003,007],login1" ------------------------------------------------------- */

#define MOST_DIGITS 18

/* A name as a prefix and its last digits; no text may follow a bracket. */
struct numbered {
    const char *name;
    size_t prefix, digits;
};

static struct numbered parse(const char *name)
{
    size_t end = strlen(name), begin = end;
    while (begin > 0 && end - begin < MOST_DIGITS && name[begin - 1] >= '0' &&
           name[begin - 1] <= '9') {
        begin--;
    }
    return (struct numbered){name, begin, end - begin};
}

static bool is_alike(const struct numbered *one, const struct numbered *other)
{
    return one->digits > 0 && other->digits > 0 && one->prefix == other->prefix &&
           memcmp(one->name, other->name, one->prefix) == 0;
}

/* Whether `other` has the number after `last`, as a range with this number of digits would print
 * it. */
static bool is_next(const struct numbered *first, const struct numbered *last,
                    const struct numbered *other)
{
    char text[MOST_DIGITS + 4];
    uint64_t number = strtoull(last->name + last->prefix, NULL, 10);
    int length = snprintf(text, sizeof text, "%0*" PRIu64, (int)first->digits, number + 1);
    return length > 0 && (size_t)length == other->digits &&
           memcmp(text, other->name + other->prefix, other->digits) == 0;
}

static void add_digits(struct rm_buffer *buffer, const struct numbered *one)
{
    rm_buffer_add(buffer, one->name + one->prefix, one->digits);
}

/* Writes the range that begins at `index`; returns the index after it. */
static size_t add_range(const struct rm_hosts *hosts, size_t index, struct rm_buffer *buffer)
{
    const struct numbered first = parse(rm_hosts_name(hosts, index));
    struct numbered last = first;
    for (index++; index < hosts->count; index++) {
        const struct numbered next = parse(rm_hosts_name(hosts, index));
        if (!is_alike(&first, &next) || !is_next(&first, &last, &next)) {
            break;
        }
        last = next;
    }
    add_digits(buffer, &first);
    if (last.name != first.name) {
        rm_buffer_puts(buffer, "-");
        add_digits(buffer, &last);
    }
    return index;
}

void rm_hostlist_fold(const struct rm_hosts *hosts, struct rm_buffer *buffer)
{
    for (size_t i = 0; i < hosts->count;) {
        const struct numbered first = parse(rm_hosts_name(hosts, i));
        const struct numbered next =
            i + 1 < hosts->count ? parse(rm_hosts_name(hosts, i + 1)) : (struct numbered){"", 0, 0};
        rm_buffer_puts(buffer, i > 0 ? "," : "");
        if (!is_alike(&first, &next)) {
            rm_buffer_puts(buffer, first.name);
            i++;
            continue;
        }
        rm_buffer_add(buffer, first.name, first.prefix);
        rm_buffer_puts(buffer, "[");
        for (bool is_first = true; i < hosts->count; is_first = false) {
            const struct numbered one = parse(rm_hosts_name(hosts, i));
            if (!is_alike(&first, &one)) {
                break;
            }
            rm_buffer_puts(buffer, is_first ? "" : ",");
            i = add_range(hosts, i, buffer);
        }
        rm_buffer_puts(buffer, "]");
    }
}

/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* timegm */
#include "format/record_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/status.h"

#define LONGEST_KEY 64

/* ---- writing ---------------------------------------------------------------------------- */

/* RFC 3339 with nanoseconds, so that the start is read back exactly. No time is before 1970. */
void rm_record_put_time(struct rm_json_writer *writer, const char *key, int64_t realtime_ns)
{
    char text[64];
    realtime_ns = realtime_ns > 0 ? realtime_ns : 0;
    struct tm parts;
    time_t seconds = (time_t)(realtime_ns / RM_NS_PER_S);
    size_t length = gmtime_r(&seconds, &parts) != NULL
                        ? strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)
                        : 0;
    (void)snprintf(text + length, sizeof text - length, ".%09lldZ",
                   (long long)(realtime_ns % RM_NS_PER_S));
    rm_json_put_text(writer, key, text);
}

/* A recording may have any value, but its document must be readable. */
static void put_count(struct rm_json_writer *writer, const char *key, uint64_t count)
{
    const uint64_t largest = (uint64_t)RM_DOCUMENT_EXACT - 1;
    rm_json_put_u64(writer, key, count < largest ? count : largest);
}

void rm_record_put_address(struct rm_json_writer *writer, const char *key, uint64_t address)
{
    char text[32];
    (void)snprintf(text, sizeof text, "0x%" PRIx64, address);
    rm_json_put_text(writer, key, text);
}

/* "counters_low" */
static const char *end_key(char key[LONGEST_KEY], const char *stem, const char *end)
{
    (void)snprintf(key, LONGEST_KEY, "%s%s", stem, end);
    return key;
}

static void put_estimate(struct rm_json_writer *writer, const char *key,
                         const resmon_estimate *figure)
{
    char name[LONGEST_KEY];
    rm_json_put_double(writer, key, figure->value);
    if (!isnan(figure->value) && (figure->low != figure->value || figure->high != figure->value)) {
        rm_json_put_double(writer, end_key(name, key, "_low"), figure->low);
        rm_json_put_double(writer, end_key(name, key, "_high"), figure->high);
    }
}

/* Writes the values of a list, or one end of each interval. */
static void put_numbers(struct rm_json_writer *writer, const char *key, const char *first,
                        size_t count, size_t stride)
{
    rm_json_open_array(writer, key);
    for (size_t i = 0; i < count; i++) {
        double number;
        memcpy(&number, first + i * stride, sizeof number);
        rm_json_put_double(writer, NULL, number);
    }
    rm_json_close_array(writer);
}

static bool is_exact(const resmon_estimate *figures, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool is_known = !isnan(figures[i].value);
        if (is_known &&
            (figures[i].low != figures[i].value || figures[i].high != figures[i].value)) {
            return false;
        }
    }
    return true;
}

static void put_estimates(struct rm_json_writer *writer, const char *key,
                          const resmon_estimate *figures, size_t count)
{
    char name[LONGEST_KEY];
    count = figures != NULL ? count : 0;
    const char *bytes = (const char *)figures;
    const size_t stride = sizeof *figures;
    put_numbers(writer, key, bytes, count, stride);
    if (!is_exact(figures, count)) {
        put_numbers(writer, end_key(name, key, "_low"), bytes + offsetof(resmon_estimate, low),
                    count, stride);
        put_numbers(writer, end_key(name, key, "_high"), bytes + offsetof(resmon_estimate, high),
                    count, stride);
    }
}

/* A member's value, as its type has it. */
union value {
    const char *text;
    uint64_t count;
    int64_t integer;
    int32_t code;
    double number;
    resmon_estimate estimate;
    const resmon_estimate *estimates;
};

static void put_code(struct rm_json_writer *writer, const struct rm_member *member, int32_t code)
{
    const char *word = member->type == RM_TYPE_STATUS
                           ? resmon_status_name(code)
                           : rm_word_of((enum rm_member_type)member->type, code);
    rm_json_put_text(writer, rm_member_key(member), word);
}

static void put_member(struct rm_json_writer *writer, const struct rm_member *member,
                       const char *at, const struct resmon_run *run)
{
    union value value = {.count = 0};
    bool is_code = member->type >= RM_TYPE_STATUS || member->type == RM_TYPE_SMALL;
    memcpy(&value, at,
           is_code                            ? sizeof value.code
           : member->type == RM_TYPE_ESTIMATE ? sizeof value.estimate
                                              : sizeof value.count);
    switch (member->type) {
    case RM_TYPE_TEXT:
        rm_json_put_text(writer, rm_member_key(member), value.text);
        break;
    case RM_TYPE_COUNT:
    case RM_TYPE_CALLS:
        put_count(writer, rm_member_key(member), value.count);
        break;
    case RM_TYPE_FLAG:
        rm_json_put_u64(writer, rm_member_key(member), value.count != 0);
        break;
    case RM_TYPE_INTEGER:
        rm_json_put_i64(writer, rm_member_key(member), value.integer);
        break;
    case RM_TYPE_SMALL:
        rm_json_put_i64(writer, rm_member_key(member), value.code);
        break;
    case RM_TYPE_NUMBER:
        rm_json_put_double(writer, rm_member_key(member), value.number);
        break;
    case RM_TYPE_NUMBERS4:
        put_numbers(writer, rm_member_key(member), at, 4, sizeof(double));
        break;
    case RM_TYPE_ESTIMATE:
        put_estimate(writer, rm_member_key(member), &value.estimate);
        break;
    case RM_TYPE_ESTIMATES:
        put_estimates(writer, rm_member_key(member), value.estimates, run->counter_count);
        break;
    case RM_TYPE_TIME:
        rm_record_put_time(writer, rm_member_key(member), value.integer);
        break;
    case RM_TYPE_ADDRESS:
        rm_record_put_address(writer, rm_member_key(member), value.count);
        break;
    default:
        put_code(writer, member, value.code);
        break;
    }
}

void rm_record_put(struct rm_json_writer *writer, enum rm_record_name name, const void *record,
                   const struct resmon_run *run)
{
    const struct rm_record of = rm_record_of(name);
    for (size_t i = 0; i < of.count; i++) {
        const struct rm_member *member = &of.members[i];
        if (rm_member_key(member)[0] != '\0' && rm_record_has(member, record)) {
            put_member(writer, member, (const char *)record + member->offset, run);
        }
    }
}

void rm_record_put_object(struct rm_json_writer *writer, const char *key, enum rm_record_name name,
                          const void *record, const struct resmon_run *run)
{
    rm_json_open_object(writer, key);
    rm_record_put(writer, name, record, run);
    rm_json_close_object(writer);
}

void rm_record_put_list(struct rm_json_writer *writer, const char *key, enum rm_record_name name,
                        struct rm_record_list list, const struct resmon_run *run)
{
    rm_json_open_array(writer, key);
    for (size_t i = 0; i < list.count; i++) {
        rm_record_put_object(writer, NULL, name, (const char *)list.first + i * list.stride, run);
    }
    rm_json_close_array(writer);
}

/* ---- reading ---------------------------------------------------------------------------- */

int64_t rm_record_read_time(const struct rm_json *value)
{
    const char *text = rm_json_text(value);
    static const char marks[] = "--T::.Z";
    struct rm_text rest = rm_text_of(text != NULL ? text : "", text != NULL ? strlen(text) : 0);
    uint64_t parts[7] = {0};
    for (size_t i = 0; i < RM_ARRAY_LEN(parts); i++) {
        const char mark[2] = {marks[i], '\0'};
        if (!rm_parse_u64(&rest, &parts[i]) || !rm_parse_literal(&rest, mark)) {
            return 0;
        }
    }
    if (parts[0] < 1970 || parts[0] > 2261 || parts[6] >= (uint64_t)RM_NS_PER_S) {
        return 0;
    }
    struct tm time = {
        .tm_year = (int)parts[0] - 1900,
        .tm_mon = (int)(parts[1] & 0xff) - 1,
        .tm_mday = (int)(parts[2] & 0xff),
        .tm_hour = (int)(parts[3] & 0xff),
        .tm_min = (int)(parts[4] & 0xff),
        .tm_sec = (int)(parts[5] & 0xff),
    };
    int64_t seconds = (int64_t)timegm(&time);
    bool is_possible = seconds >= 0 && seconds < INT64_MAX / RM_NS_PER_S;
    return is_possible ? seconds * RM_NS_PER_S + (int64_t)parts[6] : 0;
}

/* The pinned codes are few, so a linear search by name is enough. */
static int32_t status_of(const char *text)
{
    for (int32_t code = 0; text != NULL && code > -64; code--) {
        if (strcmp(resmon_status_name(code), text) == 0) {
            return code;
        }
    }
    return RESMON_EFORMAT;
}

static double number_of(const struct rm_json *value)
{
    double number = rm_json_number(value);
    return isfinite(number) ? number : RM_NAN;
}

bool rm_document_whole(double number, double bound, uint64_t *ret_number)
{
    bool is_whole = number >= 0.0 && number < bound && number == floor(number);
    *ret_number = is_whole ? (uint64_t)number : 0;
    return is_whole;
}

/* A value that is not a valid count becomes 0. */
static uint64_t count_of(const struct rm_json *value, double bound)
{
    uint64_t count;
    (void)rm_document_whole(rm_json_number(value), bound, &count);
    return count;
}

static int64_t integer_of(const struct rm_json *value)
{
    double number = rm_json_number(value);
    return number > -0x1p62 && number < 0x1p62 ? (int64_t)number : 0;
}

static void read_text(const struct rm_json *value, char *at, struct resmon_run *run)
{
    const char *text = rm_json_text(value);
    const char *copy = rm_arena_keep(&run->strings, text != NULL ? text : "", SIZE_MAX);
    memcpy(at, &copy, sizeof copy);
}

bool rm_record_read_address(const struct rm_json *value, uint64_t *ret_address)
{
    const char *text = rm_json_text(value);
    struct rm_text rest = rm_text_of(text != NULL ? text : "", text != NULL ? strlen(text) : 0);
    return rm_parse_hex(&rest, ret_address) && rest.at == rest.end;
}

static void read_numbers(const struct rm_json *array, char *first, size_t count, size_t stride)
{
    size_t known;
    const double *numbers = rm_json_numbers(array, &known);
    for (size_t i = 0; i < count; i++) {
        double number = i < known && isfinite(numbers[i]) ? numbers[i] : RM_NAN;
        memcpy(first + i * stride, &number, sizeof number);
    }
}

/* The meaning of a key in a document: the member itself, or an end of its interval. */
enum part { PART_ALL, PART_LOW, PART_HIGH };

static const char *const endings[] = {"", "_low", "_high"};

/* A measured value is both ends of its own interval. Separate ends, if any, are read later. */
static void read_estimate(const struct rm_json *value, char *at, enum part part)
{
    static const size_t places[] = {0, offsetof(resmon_estimate, low),
                                    offsetof(resmon_estimate, high)};
    double number = number_of(value);
    if (part == PART_ALL) {
        const resmon_estimate measured = {number, number, number};
        memcpy(at, &measured, sizeof measured);
    } else {
        memcpy(at + places[part], &number, sizeof number);
    }
}

static resmon_status read_estimates(const struct rm_json *value, char *at, enum part part,
                                    struct resmon_run *run)
{
    const size_t stride = sizeof(resmon_estimate);
    char *figures;
    memcpy(&figures, at, sizeof figures);
    if (figures == NULL) {
        figures = rm_arena_alloc(&run->strings, run->counter_count, stride);
        if (figures == NULL) {
            return rm_run_out_of_memory();
        }
        memcpy(at, &figures, sizeof figures);
        read_numbers(NULL, figures, run->counter_count * stride / sizeof(double), sizeof(double));
    }
    for (int end = PART_ALL; end <= (int)PART_HIGH; end++) {
        if (part == PART_ALL || end == (int)part) {
            read_numbers(value, figures + (size_t)end * sizeof(double), run->counter_count, stride);
        }
    }
    return RESMON_OK;
}

static void read_code(const struct rm_member *member, const struct rm_json *value, char *at)
{
    const char *text = rm_json_text(value);
    int32_t code = member->type == RM_TYPE_STATUS  ? status_of(text)
                   : member->type == RM_TYPE_SMALL ? (int32_t)count_of(value, 0x1p31)
                   : member->type == RM_TYPE_KIND
                       ? rm_word_code(RM_TYPE_KIND, text, RESMON_GAUGE)
                       : rm_word_code((enum rm_member_type)member->type, text, 0);
    memcpy(at, &code, sizeof code);
}

static resmon_status read_member(const struct rm_member *member, enum part part,
                                 const struct rm_json *value, char *at, struct resmon_run *run)
{
    union value read = {.count = 0};
    switch (member->type) {
    case RM_TYPE_TEXT:
        read_text(value, at, run);
        return RESMON_OK;
    case RM_TYPE_ADDRESS:
        if (!rm_record_read_address(value, &read.count)) {
            return rm_error(RESMON_EFORMAT,
                            "an address in the run document is not a hexadecimal number");
        }
        break;
    case RM_TYPE_ESTIMATES:
        return read_estimates(value, at, part, run);
    case RM_TYPE_ESTIMATE:
        read_estimate(value, at, part);
        return RESMON_OK;
    case RM_TYPE_NUMBERS4:
        read_numbers(value, at, 4, sizeof(double));
        return RESMON_OK;
    case RM_TYPE_COUNT:
    case RM_TYPE_CALLS:
        read.count = count_of(value, RM_DOCUMENT_EXACT);
        break;
    case RM_TYPE_FLAG:
        read.count = count_of(value, 2.0);
        break;
    case RM_TYPE_INTEGER:
        read.integer = integer_of(value);
        break;
    case RM_TYPE_NUMBER:
        read.number = number_of(value);
        break;
    case RM_TYPE_TIME:
        read.integer = rm_record_read_time(value);
        break;
    default:
        read_code(member, value, at);
        return RESMON_OK;
    }
    memcpy(at, &read, sizeof read.count);
    return RESMON_OK;
}

static bool is_estimate(const struct rm_member *member)
{
    return member->type == RM_TYPE_ESTIMATE || member->type == RM_TYPE_ESTIMATES;
}

/* Whether a key names a member, and which part of it. */
static bool is_named(const struct rm_member *member, const char *key, enum part *ret_part)
{
    const char *own = rm_member_key(member);
    size_t length = strlen(own);
    if (length == 0 || strncmp(key, own, length) != 0) {
        return false;
    }
    for (size_t i = 0; i < (is_estimate(member) ? RM_ARRAY_LEN(endings) : 1); i++) {
        if (strcmp(key + length, endings[i]) == 0) {
            *ret_part = (enum part)i;
            return true;
        }
    }
    return false;
}

/* Members mostly come in the order of the table, so the search begins after the last found member.
 */
static const struct rm_member *find_member(const struct rm_record *of, const char *key, size_t *at,
                                           enum part *ret_part)
{
    for (size_t i = 0; i < of->count; i++) {
        size_t place = (*at + i) % of->count;
        if (is_named(&of->members[place], key, ret_part)) {
            *at = place;
            return &of->members[place];
        }
    }
    return NULL;
}

/* Interval ends are read in a second pass, because each value first sets both ends. So the order of
 * the keys does not matter. */
static resmon_status read_members(const struct rm_json *object, struct rm_record of, bool of_ends,
                                  char *record, struct resmon_run *run)
{
    resmon_status status = RESMON_OK;
    size_t at = 0;
    for (const struct rm_json *value = rm_json_first_member(object);
         value != NULL && status == RESMON_OK; value = rm_json_next(value)) {
        enum part part;
        const struct rm_member *member = find_member(&of, rm_json_key(value), &at, &part);
        if (member != NULL && (part != PART_ALL) == of_ends) {
            status = read_member(member, part, value, record + member->offset, run);
        }
    }
    return status;
}

static bool has_ends(struct rm_record of)
{
    for (size_t i = 0; i < of.count; i++) {
        if (is_estimate(&of.members[i])) {
            return true;
        }
    }
    return false;
}

resmon_status rm_record_read(const struct rm_json *object, enum rm_record_name name, void *record,
                             struct resmon_run *run)
{
    const struct rm_record of = rm_record_of(name);
    rm_record_clear(name, record);
    resmon_status status = read_members(object, of, false, record, run);
    return status == RESMON_OK && has_ends(of) ? read_members(object, of, true, record, run)
                                               : status;
}

bool rm_record_has_key(enum rm_record_name name, const char *key)
{
    const struct rm_record of = rm_record_of(name);
    enum part part;
    size_t at = 0;
    return find_member(&of, key, &at, &part) != NULL;
}

/* SPDX-License-Identifier: MIT */
#include "counter/group.h"

#include <ctype.h>
#include <string.h>

#include "base/compiler.h"
#include "base/option_text.h"
#include "base/status.h"
#include "base/text.h"

static const struct rm_counter_code codes[] = {
#define RM_COUNTER_EVENT(alias, archs, name, code) {#alias, (archs), (name), (code), 0},
#define RM_COUNTER_OFFCORE(alias, archs, name, code, mask) \
    {#alias, (archs), (name), (code), (mask)},
#include "counter/events.def"
#undef RM_COUNTER_EVENT
#undef RM_COUNTER_OFFCORE
};

static const struct rm_counter_row rows[] = {
#define RM_COUNTER_ROW(group, metric, archs, formula, note) \
    {group, metric, (archs), (formula), (note)},
#include "counter/groups.def"
#undef RM_COUNTER_ROW
};

const struct rm_counter_row *rm_counter_row_at(size_t index)
{
    return index < RM_ARRAY_LEN(rows) ? &rows[index] : NULL;
}

const struct rm_counter_code *rm_counter_code_at(size_t index)
{
    return index < RM_ARRAY_LEN(codes) ? &codes[index] : NULL;
}

const struct rm_counter_row *rm_counter_row_of(const char *metric, uint32_t arch)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        if ((rows[i].archs & arch) != 0 && strcmp(rows[i].metric, metric) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

bool rm_counter_event(const char *alias, uint32_t arch, struct rm_perf_event *ret_event)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(codes); i++) {
        if ((codes[i].archs & arch) != 0 && strcmp(codes[i].alias, alias) == 0) {
            *ret_event = (struct rm_perf_event){
                .type = RM_EVENT_RAW, .config = codes[i].code, .config1 = codes[i].config1};
            (void)rm_text_set(ret_event->name, sizeof ret_event->name, alias);
            return true;
        }
    }
    return rm_perf_event_generic(alias, ret_event);
}

/* ---- names of a formula ------------------------------------------------------------------- */

struct names {
    char (*names)[RM_EVENT_NAME_BYTES];
    size_t count;
};

static bool add_name(void *context, struct rm_text name, double *ret_value)
{
    struct names *names = context;
    *ret_value = 1.0;
    for (size_t i = 0; i < names->count; i++) {
        if (rm_text_equals(&name, names->names[i])) {
            return true;
        }
    }
    if (names->count == RM_FORMULA_EVENTS || rm_text_left(&name) >= RM_EVENT_NAME_BYTES) {
        return false;
    }
    (void)rm_text_copy(names->names[names->count++], RM_EVENT_NAME_BYTES, name.at,
                       rm_text_left(&name));
    return true;
}

resmon_status rm_counter_names(const char *formula,
                               char ret_names[RM_FORMULA_EVENTS][RM_EVENT_NAME_BYTES],
                               size_t *ret_count)
{
    struct names names = {ret_names, 0};
    double unused;
    resmon_status status = rm_formula_evaluate(formula, add_name, &names, &unused);
    if (status == RESMON_OK) {
        *ret_count = names.count;
    }
    return status;
}

resmon_status rm_counter_row_find(const char *metric, uint32_t arch,
                                  const struct rm_counter_row **ret_row,
                                  struct rm_perf_event ret_events[RM_FORMULA_EVENTS],
                                  size_t *ret_count)
{
    const struct rm_counter_row *row = rm_counter_row_of(metric, arch);
    char names[RM_FORMULA_EVENTS][RM_EVENT_NAME_BYTES];
    size_t count = 0;
    *ret_row = row;
    if (row == NULL || row->formula == NULL) {
        return rm_error(RESMON_ENOTSUP, "%s: %s (%s)", metric, row != NULL ? row->note : "",
                        rm_arch_name(arch));
    }
    resmon_status status = rm_counter_names(row->formula, names, &count);
    for (size_t i = 0; i < count && status == RESMON_OK; i++) {
        if (!rm_counter_event(names[i], arch, &ret_events[i])) {
            status = rm_error(RESMON_EINVAL, "%s has no event %s", rm_arch_name(arch), names[i]);
        }
    }
    *ret_count = count;
    return status;
}

/* ---- requested counters ------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t bit;
} groups[] = {
    {"default", RM_COUNTERS_DEFAULT}, {"l2", RM_COUNTERS_L2},
    {"l3", RM_COUNTERS_L3},           {"flops", RM_COUNTERS_FLOPS},
    {"memory", RM_COUNTERS_MEMORY},   {"l2cache", RM_COUNTERS_L2CACHE},
    {"l3cache", RM_COUNTERS_L3CACHE},
};

const char *rm_counters_group(size_t index, uint32_t *ret_bit)
{
    if (index >= RM_ARRAY_LEN(groups)) {
        return NULL;
    }
    *ret_bit = groups[index].bit;
    return groups[index].name;
}

const char *rm_counters_nearest(const char *name)
{
    struct rm_nearest nearest = rm_nearest_new(name, strlen(name));
    for (size_t i = 0; i < RM_ARRAY_LEN(groups); i++) {
        rm_nearest_try(&nearest, groups[i].name);
    }
    rm_perf_events_try(&nearest);
    return nearest.name;
}

static resmon_status add_event(struct rm_counters_wanted *wanted, struct rm_text part, size_t most)
{
    struct rm_perf_event event;
    resmon_status status = rm_perf_event_parse(part, &event);
    if (status != RESMON_OK) {
        return status;
    }
    for (size_t i = 0; i < wanted->event_count; i++) {
        if (strcmp(wanted->events[i].name, event.name) == 0) {
            return rm_error(RESMON_EINVAL, "the event %s is given twice", event.name);
        }
    }
    if (wanted->event_count >= most || wanted->event_count >= RM_WANTED_EVENTS) {
        return rm_error(RESMON_EINVAL, "%s is one event too many: at most %zu are allowed",
                        event.name, most < RM_WANTED_EVENTS ? most : (size_t)RM_WANTED_EVENTS);
    }
    wanted->groups |= RM_COUNTERS_EVENTS;
    wanted->events[wanted->event_count++] = event;
    return RESMON_OK;
}

static bool add_group(struct rm_counters_wanted *wanted, struct rm_text part)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(groups); i++) {
        if (rm_text_equals(&part, groups[i].name)) {
            wanted->groups |= groups[i].bit;
            return true;
        }
    }
    return false;
}

resmon_status rm_counters_parse(const char *text, size_t most,
                                struct rm_counters_wanted *ret_wanted)
{
    struct rm_counters_wanted wanted = {.groups = 0};
    struct rm_text rest = rm_text_of(text, strlen(text));
    bool has_more = true;
    while (has_more) {
        struct rm_text part;
        has_more = rm_parse_until(&rest, '+', &part);
        if (!has_more) {
            part = rest;
        }
        resmon_status status =
            add_group(&wanted, part) ? RESMON_OK : add_event(&wanted, part, most);
        if (status != RESMON_OK) {
            return status;
        }
    }
    *ret_wanted = wanted;
    return RESMON_OK;
}

/* ---- formulas ------------------------------------------------------------------------------- */

#define DEEPEST 32

struct reader {
    struct rm_text rest;
    rm_formula_value_fn value;
    void *context;
    int depth;
    bool is_wrong;
};

static double read_sum(struct reader *reader);

static void skip_spaces(struct rm_text *text)
{
    while (text->at < text->end && *text->at == ' ') {
        text->at++;
    }
}

static bool take_char(struct reader *reader, char wanted)
{
    skip_spaces(&reader->rest);
    bool is_there = reader->rest.at < reader->rest.end && *reader->rest.at == wanted;
    reader->rest.at += is_there ? 1 : 0;
    return is_there;
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_';
}

static double refuse(struct reader *reader)
{
    reader->is_wrong = true;
    return RM_NAN;
}

static double read_name(struct reader *reader)
{
    struct rm_text name = {reader->rest.at, reader->rest.at};
    while (name.end < reader->rest.end && is_of_name(*name.end)) {
        name.end++;
    }
    double value = RM_NAN;
    reader->rest.at = name.end;
    bool is_known = rm_text_left(&name) > 0 && reader->value(reader->context, name, &value);
    return is_known ? value : refuse(reader);
}

/* A number, a name, or a sum in parentheses, with or without a sign. */
static double read_factor(struct reader *reader)
{
    double value;
    if (reader->is_wrong || reader->depth >= DEEPEST) {
        return refuse(reader);
    }
    reader->depth++;
    if (take_char(reader, '-')) {
        value = -read_factor(reader);
    } else if (take_char(reader, '(')) {
        value = read_sum(reader);
        value = take_char(reader, ')') ? value : refuse(reader);
    } else if (!rm_parse_decimal(&reader->rest, &value)) {
        skip_spaces(&reader->rest);
        value = read_name(reader);
    }
    reader->depth--;
    return value;
}

static double read_product(struct reader *reader)
{
    double value = read_factor(reader);
    for (;;) {
        if (take_char(reader, '*')) {
            value *= read_factor(reader);
        } else if (take_char(reader, '/')) {
            double divisor = read_factor(reader);
            value = divisor > 0.0 || divisor < 0.0 ? value / divisor : RM_NAN;
        } else {
            return value;
        }
    }
}

static double read_sum(struct reader *reader)
{
    double value = read_product(reader);
    for (;;) {
        if (take_char(reader, '+')) {
            value += read_product(reader);
        } else if (take_char(reader, '-')) {
            value -= read_product(reader);
        } else {
            return value;
        }
    }
}

resmon_status rm_formula_evaluate(const char *text, rm_formula_value_fn value, void *context,
                                  double *ret_value)
{
    struct reader reader = {
        .rest = rm_text_of(text, strlen(text)), .value = value, .context = context};
    double result = read_sum(&reader);
    skip_spaces(&reader.rest);
    if (reader.is_wrong || rm_text_left(&reader.rest) > 0) {
        return rm_error(RESMON_EINVAL, "'%.100s' is not a formula over the events that there are",
                        text);
    }
    *ret_value = result;
    return RESMON_OK;
}

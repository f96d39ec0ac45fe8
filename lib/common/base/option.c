/* SPDX-License-Identifier: MIT */
#include "base/option.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text.h"

const struct rm_option_time rm_option_times[RM_OPTION_TIMES] = {
    {"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1}};

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts of both types are read alike");

/* ---- members ---------------------------------------------------------------------------- */

static uint64_t bits_at(const void *options, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)options + offset, sizeof value);
    return value;
}

static double number_at(const void *options, size_t offset)
{
    double value;
    memcpy(&value, (const char *)options + offset, sizeof value);
    return value;
}

static void put_at(void *options, size_t offset, const void *value)
{
    memcpy((char *)options + offset, value, sizeof(uint64_t));
}

static void set_flags(const struct rm_option_set *set, void *options, uint64_t off, uint64_t on)
{
    uint64_t flags = (bits_at(options, set->flags_offset) & ~off) | on;
    put_at(options, set->flags_offset, &flags);
}

static bool is_real(const struct rm_option *option)
{
    return option->type == RM_OPTION_SHARE || option->type == RM_OPTION_NUMBER;
}

/* ---- one value -------------------------------------------------------------------------- */

/* Writes the allowed values, and the default. */
static void write_bounds(const struct rm_option *option, char *text, size_t room)
{
    char low[RM_OPTION_VALUE_BYTES], high[RM_OPTION_VALUE_BYTES], value[RM_OPTION_VALUE_BYTES];
    rm_option_low(option, low);
    rm_option_high(option, high);
    rm_option_default(option, value);
    (void)snprintf(text, room, "%s to %s%s%s", low, high, value[0] != '\0' ? "; default " : "",
                   value);
}

static resmon_status refuse_value(resmon_status status, const struct rm_option_set *set,
                                  const struct rm_option *option, const char *shown,
                                  const char *what)
{
    char name[RM_OPTION_VALUE_BYTES], bounds[4 * RM_OPTION_VALUE_BYTES];
    rm_option_full_name(set, option, name);
    write_bounds(option, bounds, sizeof bounds);
    return rm_error(status, "%s%s: %s%s", name, shown, what, bounds);
}

/* Whether the value is in bounds; a share must be above 0. */
static bool is_in_bounds(const struct rm_option *option, double value)
{
    bool is_above = option->type != RM_OPTION_SHARE || value > 0.0;
    return is_above && value >= option->low && value <= option->high;
}

static bool parse_duration(struct rm_text *text, double *ret_ms)
{
    if (!rm_parse_decimal(text, ret_ms)) {
        return false;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(rm_option_times); i++) {
        if (rm_text_equals(text, rm_option_times[i].name)) {
            *ret_ms *= (double)rm_option_times[i].ms;
            text->at = text->end;
        }
    }
    *ret_ms = floor(*ret_ms + 0.5);
    return true;
}

static bool parse_number(const struct rm_option *option, const char *value, double *ret_number)
{
    struct rm_text text = rm_text_of(value, strlen(value));
    uint64_t whole = 0;
    bool is_read = option->type == RM_OPTION_DURATION ? parse_duration(&text, ret_number)
                   : is_real(option)                  ? rm_parse_decimal(&text, ret_number)
                                                      : rm_parse_u64(&text, &whole);
    if (option->type == RM_OPTION_COUNT) {
        *ret_number = (double)whole;
    }
    return is_read && rm_text_left(&text) == 0;
}

static void put_number(const struct rm_option_set *set, const struct rm_option *option,
                       double number, void *options)
{
    uint64_t whole = (uint64_t)number;
    put_at(options, option->offset, is_real(option) ? (const void *)&number : &whole);
    if (option->zero_flag != 0) {
        set_flags(set, options, option->zero_flag, number == 0.0 ? option->zero_flag : 0);
    }
}

static resmon_status set_number(const struct rm_option_set *set, const struct rm_option *option,
                                const struct rm_option_part *part, void *options)
{
    double number = 0.0;
    char shown[RM_OPTION_SHOWN_BYTES + 1] = "";
    bool is_number = parse_number(option, part->value, &number);
    if (!is_number || !is_in_bounds(option, number)) {
        bool is_hidden = part->is_hidden;
        (void)rm_text_set(shown, sizeof shown, is_hidden ? "=..." : "=");
        (void)rm_text_set(shown + 1, sizeof shown - 1, is_hidden ? "..." : part->value);
    }
    if (!is_number) {
        return refuse_value(RESMON_EINVAL, set, option, shown,
                            option->type == RM_OPTION_DURATION
                                ? "a number with ms, s, min or h, such as 100ms, is wanted, "
                            : is_real(option) ? "a number is wanted, "
                                              : "a whole number is wanted, ");
    }
    if (!is_in_bounds(option, number)) {
        return refuse_value(RESMON_ERANGE, set, option, shown, "it may be ");
    }
    put_number(set, option, number, options);
    return RESMON_OK;
}

/* ---- names ------------------------------------------------------------------------------ */

static const struct rm_option_name *find_name(const struct rm_option *option,
                                              const struct rm_text *word)
{
    for (size_t i = 0; i < option->name_count; i++) {
        if (rm_text_equals(word, option->names[i].name)) {
            return &option->names[i];
        }
    }
    return NULL;
}

/* "there is no 'wal': did you mean 'wall'?  There are wall, cpu ..." */
static resmon_status refuse_name(const char *name, const char *shown,
                                 const struct rm_option *option, const struct rm_text *word)
{
    char known[2 * RM_OPTION_VALUE_BYTES], given[RM_OPTION_SHOWN_BYTES];
    struct rm_nearest nearest = rm_nearest_new(word->at, rm_text_left(word));
    bool is_hidden = shown == NULL;
    for (size_t i = 0; i < option->name_count && !is_hidden; i++) {
        rm_nearest_try(&nearest, option->names[i].name);
    }
    rm_option_list_names(option, known, sizeof known);
    (void)rm_text_copy(given, sizeof given, is_hidden ? "..." : word->at,
                       is_hidden ? 3 : rm_text_left(word));
    return rm_error(RESMON_EINVAL, "%s=%s: '%s' is not one of %s%s%s%s", name,
                    is_hidden ? "..." : shown, given, known,
                    nearest.name != NULL ? "; did you mean '" : "",
                    nearest.name != NULL ? nearest.name : "", nearest.name != NULL ? "'?" : "");
}

/* `name` and `shown` are for messages; `shown` is NULL if the value must not be shown. */
static resmon_status read_names(const struct rm_option *option, const char *name, const char *value,
                                const char *shown, const struct rm_option_name **ret_alone,
                                uint64_t *ret_bits)
{
    struct rm_text rest = rm_text_of(value, strlen(value));
    uint64_t bits = 0;
    bool has_more = true;
    *ret_alone = NULL;
    while (has_more) {
        struct rm_text word = rest;
        bool is_first = rest.at == value;
        has_more = rm_parse_until(&rest, '+', &word);
        const struct rm_option_name *found = find_name(option, &word);
        bool is_only = is_first && !has_more && option->type != RM_OPTION_FLAG;
        if (found == NULL || (found->use != RM_NAME_JOINED && !is_only) ||
            (option->type == RM_OPTION_CHOICE && !is_only)) {
            return refuse_name(name, shown, option, &word);
        }
        *ret_alone = found->use != RM_NAME_JOINED ? found : NULL;
        bits |= found->bits;
    }
    *ret_bits = bits;
    return RESMON_OK;
}

/* The flags that the names of the option set, or the flags of the option. */
static uint64_t flags_of(const struct rm_option *option)
{
    uint64_t flags = option->type == RM_OPTION_FLAG ? option->bits : option->zero_flag;
    for (size_t i = 0; i < option->name_count; i++) {
        bool is_flag = option->type == RM_OPTION_CHOICE || option->names[i].use == RM_NAME_FLAG;
        flags |= is_flag ? option->names[i].bits : 0;
    }
    return flags;
}

static resmon_status set_names(const struct rm_option_set *set, const struct rm_option *option,
                               const struct rm_option_part *part, const char *value, void *options)
{
    char name[RM_OPTION_VALUE_BYTES], shown[RM_OPTION_SHOWN_BYTES];
    const struct rm_option_name *alone;
    uint64_t bits = 0;
    bool is_hidden = part->is_hidden;
    rm_option_full_name(set, option, name);
    (void)rm_text_set(shown, sizeof shown, value);
    resmon_status status = read_names(option, name, value, is_hidden ? NULL : shown, &alone, &bits);
    if (status != RESMON_OK) {
        return status;
    }
    bool is_flag =
        option->type == RM_OPTION_CHOICE || (alone != NULL && alone->use == RM_NAME_FLAG);
    if (flags_of(option) != 0) {
        set_flags(set, options, flags_of(option), is_flag ? bits : 0);
    }
    if (option->type == RM_OPTION_NAMES) {
        bits = is_flag ? 0 : bits;
        put_at(options, option->offset, &bits);
    }
    return RESMON_OK;
}

resmon_status rm_option_bits(const struct rm_option *option, const char *text, uint64_t *ret_bits)
{
    const struct rm_option_name *alone;
    char shown[RM_OPTION_SHOWN_BYTES];
    (void)rm_text_set(shown, sizeof shown, text);
    uint64_t bits = 0;
    resmon_status status = read_names(option, option->key, text, shown, &alone, &bits);
    if (status == RESMON_OK && alone != NULL && alone->use == RM_NAME_FLAG) {
        return rm_error(RESMON_EINVAL, "%s=%s has no bits of its own", option->key, shown);
    }
    *ret_bits = status == RESMON_OK ? bits : *ret_bits;
    return status;
}

/* ---- texts and labels ------------------------------------------------------------------- */

static resmon_status set_label(const struct rm_option_set *set, const struct rm_option *option,
                               const struct rm_option_part *part,
                               const struct rm_option_target *target)
{
    size_t count;
    memcpy(&count, (const char *)target->options + option->count_offset, sizeof count);
    if (target->labels == NULL || count == RM_OPTION_LABELS_MOST) {
        return rm_error(RESMON_ERANGE, "%s%smore than %d labels", set->name,
                        set->name[0] != '\0' ? ": " : "", RM_OPTION_LABELS_MOST);
    }
    target->labels[count++] =
        (resmon_label){.name = strchr(part->key, '.') + 1, .value = part->value};
    const void *labels = target->labels;
    memcpy((char *)target->options + option->offset, &labels, sizeof labels);
    memcpy((char *)target->options + option->count_offset, &count, sizeof count);
    return RESMON_OK;
}

static void set_text(const struct rm_option *option, const char *value, void *options)
{
    memcpy((char *)options + option->offset, &value, sizeof value);
}

/* ---- options ---------------------------------------------------------------------------- */

const struct rm_option *rm_option_find(const struct rm_option_set *set, const char *key)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct rm_option *option = &set->options[i];
        size_t length = strlen(option->key);
        bool is_label = option->type == RM_OPTION_LABELS &&
                        strncmp(key, option->key, length) == 0 && key[length] == '.';
        if (is_label || (option->type != RM_OPTION_LABELS && strcmp(key, option->key) == 0)) {
            return option;
        }
    }
    return NULL;
}

void rm_option_near(const struct rm_option_set *set, struct rm_nearest *nearest)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->options[i].type != RM_OPTION_LABELS) { /* its name is "label.NAME" */
            rm_nearest_try(nearest, set->options[i].key);
        }
    }
}

static resmon_status check_has_value(const struct rm_option_set *set,
                                     const struct rm_option *option,
                                     const struct rm_option_part *part)
{
    char name[RM_OPTION_VALUE_BYTES];
    bool is_empty = part->value != NULL && part->value[0] == '\0' && !part->is_quoted;
    rm_option_full_name(set, option, name);
    if (option->type == RM_OPTION_FLAG && part->value != NULL) {
        return rm_error(RESMON_EINVAL, "'%s' takes no value", name);
    }
    if (part->value == NULL && option->bare == NULL) {
        return rm_error(RESMON_EINVAL, "'%s' takes a value, after '='", name);
    }
    if (is_empty && option->type != RM_OPTION_LABELS) {
        return rm_error(RESMON_EINVAL, "%s=: a value is wanted after '='", name);
    }
    return RESMON_OK;
}

resmon_status rm_option_set(const struct rm_option_set *set, const struct rm_option *option,
                            const struct rm_option_part *part,
                            const struct rm_option_target *target)
{
    resmon_status status = check_has_value(set, option, part);
    const char *value = part->value != NULL ? part->value : option->bare;
    if (status != RESMON_OK) {
        return status;
    }
    switch (option->type) {
    case RM_OPTION_DURATION:
    case RM_OPTION_COUNT:
    case RM_OPTION_SHARE:
    case RM_OPTION_NUMBER:
        return set_number(set, option, part, target->options);
    case RM_OPTION_NAMES:
    case RM_OPTION_CHOICE:
        return set_names(set, option, part, value, target->options);
    case RM_OPTION_FLAG:
        set_flags(set, target->options, 0, option->bits);
        return RESMON_OK;
    case RM_OPTION_LABELS:
        return set_label(set, option, part, target);
    case RM_OPTION_TEXT:
    case RM_OPTION_PATH:
    case RM_OPTION_SECRET:
        break;
    }
    set_text(option, value, target->options);
    return RESMON_OK;
}

resmon_status rm_option_refuse(const struct rm_option_set *set, const struct rm_option_part *part)
{
    char keys[4 * RM_OPTION_VALUE_BYTES], advice[4 * RM_OPTION_VALUE_BYTES + 32];
    struct rm_nearest nearest = rm_nearest_new(part->key, strlen(part->key));
    rm_option_near(set, &nearest);
    rm_option_list_keys(set, keys, sizeof keys);
    (void)snprintf(advice, sizeof advice, "it has %s", keys);
    return rm_option_unknown(set->name, part, &nearest, advice);
}

/* Whether the part is a value of the main option: it has no key, or a single word that is not a
 * key. */
static bool is_main(const struct rm_option_set *set, const struct rm_option_part *part)
{
    return set->main != NULL && (part->key[0] == '\0' ||
                                 (part->value == NULL && rm_option_find(set, part->key) == NULL));
}

resmon_status rm_options_parse(const struct rm_option_set *set, const char *text, char *room,
                               const struct rm_option_target *target)
{
    struct rm_option_text options = {.rest = text, .room = room};
    struct rm_option_part part;
    bool is_first = true;
    while (rm_option_next(&options, &part)) {
        if (is_first && is_main(set, &part)) {
            part.value = part.value != NULL ? part.value : part.key;
            part.key = set->main;
        }
        const struct rm_option *option = rm_option_find(set, part.key);
        resmon_status status = option != NULL ? rm_option_set(set, option, &part, target)
                                              : rm_option_refuse(set, &part);
        options.had_secret |= option != NULL && option->type == RM_OPTION_SECRET;
        if (status != RESMON_OK) {
            return status;
        }
        is_first = false;
    }
    return options.status;
}

/* ---- structs ---------------------------------------------------------------------------- */

static resmon_status complete_number(const struct rm_option_set *set,
                                     const struct rm_option *option, void *options)
{
    char shown[RM_OPTION_SHOWN_BYTES], value[RM_OPTION_VALUE_BYTES];
    uint64_t whole = bits_at(options, option->offset);
    double number = is_real(option)     ? number_at(options, option->offset)
                    : option->is_signed ? (double)(int64_t)whole
                                        : (double)whole;
    if (number == 0.0) { /* 0 is not set or intended; nothing to fill in if default_value is 0 */
        if (option->default_value != 0.0) {
            put_number(set, option, option->default_value, options);
        }
        return RESMON_OK;
    }
    if (is_in_bounds(option, number)) {
        return RESMON_OK;
    }
    if (isfinite(number)) {
        rm_option_write(option, number, true, value);
    } else {
        (void)rm_text_set(value, sizeof value, isnan(number) ? "not a number" : "infinite");
    }
    (void)snprintf(shown, sizeof shown, " is %.76s", value);
    return refuse_value(RESMON_ERANGE, set, option, shown, "it may be ");
}

static resmon_status complete_bits(const struct rm_option_set *set, const struct rm_option *option,
                                   void *options)
{
    char name[RM_OPTION_VALUE_BYTES];
    uint64_t known = 0;
    uint64_t bits = bits_at(options, option->offset);
    for (size_t i = 0; i < option->name_count; i++) {
        known |= option->names[i].use != RM_NAME_FLAG ? option->names[i].bits : 0;
    }
    rm_option_full_name(set, option, name);
    if ((bits & ~known) != 0) {
        return rm_error(RESMON_EINVAL, "%s has unknown bits: 0x%llx", name,
                        (unsigned long long)(bits & ~known));
    }
    put_at(options, option->offset, bits != 0 ? &bits : &option->bits);
    return RESMON_OK;
}

static resmon_status check_choice(const struct rm_option_set *set, const struct rm_option *option,
                                  const void *options)
{
    char name[RM_OPTION_VALUE_BYTES], known[2 * RM_OPTION_VALUE_BYTES];
    uint64_t chosen = bits_at(options, set->flags_offset) & flags_of(option);
    for (size_t i = 0; i < option->name_count; i++) {
        if (chosen == option->names[i].bits) {
            return RESMON_OK;
        }
    }
    rm_option_full_name(set, option, name);
    rm_option_list_names(option, known, sizeof known);
    return rm_error(RESMON_EINVAL, "%s: the flags 0x%llx combine several of %s; choose one", name,
                    (unsigned long long)chosen, known);
}

static resmon_status check_text(const struct rm_option_set *set, const struct rm_option *option,
                                const void *options)
{
    const char *text;
    char name[RM_OPTION_VALUE_BYTES];
    memcpy(&text, (const char *)options + option->offset, sizeof text);
    if (!option->is_needed || (text != NULL && text[0] != '\0')) {
        return RESMON_OK;
    }
    rm_option_full_name(set, option, name);
    return rm_error(RESMON_EINVAL, "%s is missing: %s", name, option->help);
}

static resmon_status check_flags(const struct rm_option_set *set, const void *options)
{
    uint64_t known = 0;
    if (set->flags_offset == SIZE_MAX) {
        return RESMON_OK;
    }
    for (size_t i = 0; i < set->count; i++) {
        known |= flags_of(&set->options[i]);
    }
    uint64_t unknown = bits_at(options, set->flags_offset) & ~known;
    return unknown == 0 ? RESMON_OK
                        : rm_error(RESMON_EINVAL, "%s%sflags has unknown bits: 0x%llx", set->name,
                                   set->name[0] != '\0' ? "." : "", (unsigned long long)unknown);
}

resmon_status rm_options_complete(const struct rm_option_set *set, void *options)
{
    resmon_status status = check_flags(set, options);
    for (size_t i = 0; i < set->count && status == RESMON_OK; i++) {
        const struct rm_option *option = &set->options[i];
        if (option->type <= RM_OPTION_NUMBER) {
            status = complete_number(set, option, options);
        } else if (option->type == RM_OPTION_NAMES) {
            status = complete_bits(set, option, options);
        } else if (option->type == RM_OPTION_CHOICE) {
            status = check_choice(set, option, options);
        } else if (option->type >= RM_OPTION_TEXT && option->type <= RM_OPTION_SECRET) {
            status = check_text(set, option, options);
        }
    }
    return status;
}

/* ---- what has no effect ----------------------------------------------------------------- */

/* Members are 8 bytes each, and flags bits of one. */
static bool is_said(const struct rm_option_set *set, const struct rm_option *option,
                    const void *options)
{
    bool is_flag = option->type == RM_OPTION_FLAG || option->type == RM_OPTION_CHOICE;
    return is_flag ? (bits_at(options, set->flags_offset) & flags_of(option)) != 0
                   : bits_at(options, option->offset) != 0;
}

void rm_options_remark(const struct rm_option_set *set, const void *given, const void *completed,
                       char *text, size_t room)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < set->count; i++) {
        const struct rm_option *option = &set->options[i];
        if (option->with == NULL || !is_said(set, option, given)) {
            continue;
        }
        bool has_any = (bits_at(completed, option->with_offset) & option->with_bits) != 0;
        for (size_t k = 0; k < RM_ARRAY_LEN(option->or_offsets); k++) {
            size_t other = option->or_offsets[k];
            has_any = has_any || (other != 0 && bits_at(completed, other) != 0);
        }
        if (has_any == option->is_without && length < room) {
            int added = snprintf(text + length, room - length, "%s%s has no effect %s %s",
                                 length > 0 ? "\n" : "", option->key,
                                 option->is_without ? "with" : "without", option->with);
            length += added > 0 ? (size_t)added : 0;
        }
    }
}

const struct rm_option *rm_options_forget(const struct rm_option_set *set, void *options,
                                          const char *failure)
{
    static const uint64_t none;
    for (size_t i = 0; i < set->count; i++) {
        const struct rm_option *option = &set->options[i];
        size_t length = strlen(option->key);
        bool is_named = strncmp(failure, option->key, length) == 0 &&
                        (failure[length] == ':' || failure[length] == ' ');
        if (is_named && is_said(set, option, options) && option->type != RM_OPTION_FLAG &&
            option->type != RM_OPTION_CHOICE) {
            put_at(options, option->offset, &none);
            return option;
        }
    }
    return NULL;
}

/* ---- texts about options ---------------------------------------------------------------- */

#define LONGEST 1e15 /* ms: whole numbers that a double holds */

const char *rm_option_type_name(enum rm_option_type type)
{
    static const char *const names[] = {"duration", "count", "share", "number", "names", "choice",
                                        "flag",     "text",  "path",  "secret", "labels"};
    return names[type];
}

void rm_option_full_name(const struct rm_option_set *set, const struct rm_option *option,
                         char name[RM_OPTION_VALUE_BYTES])
{
    (void)snprintf(name, RM_OPTION_VALUE_BYTES, "%s%s%s", set->name,
                   set->name[0] != '\0' ? "." : "", option->key);
}

/* Uses the longest unit that divides the value. */
static void write_duration(double value, char text[RM_OPTION_VALUE_BYTES])
{
    uint64_t ms = (uint64_t)value;
    size_t i = 0;
    while (ms % rm_option_times[i].ms != 0) {
        i++;
    }
    (void)snprintf(text, RM_OPTION_VALUE_BYTES, "%llu %s",
                   (unsigned long long)(ms / rm_option_times[i].ms), rm_option_times[i].name);
}

void rm_option_write(const struct rm_option *option, double value, bool with_unit,
                     char text[RM_OPTION_VALUE_BYTES])
{
    char number[RM_NUMBER_BYTES];
    bool has_unit = with_unit && option->unit != NULL;
    if (option->type == RM_OPTION_DURATION && value >= 1.0 && value < LONGEST) {
        write_duration(value, text);
        return;
    }
    (void)rm_number_double(number, value);
    (void)snprintf(text, RM_OPTION_VALUE_BYTES, "%s%s%s", number, has_unit ? " " : "",
                   has_unit ? option->unit : "");
}

static bool has_bounds(const struct rm_option *option)
{
    return option->type <= RM_OPTION_NUMBER;
}

void rm_option_low(const struct rm_option *option, char text[RM_OPTION_VALUE_BYTES])
{
    text[0] = '\0';
    if (option->type == RM_OPTION_SHARE) {
        (void)rm_text_set(text, RM_OPTION_VALUE_BYTES, "above 0");
    } else if (has_bounds(option)) {
        rm_option_write(option, option->low, false, text);
    }
}

void rm_option_high(const struct rm_option *option, char text[RM_OPTION_VALUE_BYTES])
{
    text[0] = '\0';
    if (has_bounds(option)) {
        rm_option_write(option, option->high, true, text);
    }
}

void rm_option_default(const struct rm_option *option, char text[RM_OPTION_VALUE_BYTES])
{
    text[0] = '\0';
    if (option->default_text != NULL) {
        (void)rm_text_set(text, RM_OPTION_VALUE_BYTES, option->default_text);
    } else if (has_bounds(option)) {
        rm_option_write(option, option->default_value, true, text);
    }
}

static size_t join(char *text, size_t room, size_t length, const char *more)
{
    length += rm_text_set(text + length, room - length, length > 0 ? ", " : "");
    return length + rm_text_set(text + length, room - length, more);
}

void rm_option_list_names(const struct rm_option *option, char *text, size_t room)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < option->name_count; i++) {
        length = join(text, room, length, option->names[i].name);
    }
}

void rm_option_list_keys(const struct rm_option_set *set, char *text, size_t room)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < set->count; i++) {
        bool is_labels = set->options[i].type == RM_OPTION_LABELS;
        length = join(text, room, length, is_labels ? "label.NAME" : set->options[i].key);
    }
}

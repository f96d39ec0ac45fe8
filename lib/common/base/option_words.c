/* SPDX-License-Identifier: MIT */
/* Texts about options: base/option.h. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/option.h"
#include "base/text.h"

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

/* In the longest unit that divides it. */
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

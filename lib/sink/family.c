/* SPDX-License-Identifier: MIT */
#include "sink/family.h"

#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text.h"

struct unit {
    const char *symbol;
    const char *word;   /* at the end of the name */
    const char *spoken; /* what the dotted name may call it; goes */
    double divisor;
};

static const struct unit units[] = {
    {"1", "", "", 1.0},
    {"B", "bytes", "bytes", 1.0},
    {"s", "seconds", "seconds", 1.0},
    {"%", "ratio", "percent", 100.0},
    {"J", "joules", "joules", 1.0},
    {"W", "watts", "watts", 1.0},
    {"Hz", "hertz", "hertz", 1.0},
    {"C", "celsius", "celsius", 1.0},
    {"g", "grams", "grams", 1.0},
};

static const struct unit *unit_of(const char *symbol)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(units); i++) {
        if (strcmp(units[i].symbol, symbol) == 0) {
            return &units[i];
        }
    }
    return &units[0];
}

/* Appends '_' and a word of the dotted name. */
static void add_word(struct rm_family *family, const char *word, size_t length)
{
    size_t used = strlen(family->name);
    used += rm_text_set(family->name + used, sizeof family->name - used, "_");
    (void)rm_text_copy(family->name + used, sizeof family->name - used, word, length);
}

void rm_family_of(const struct rm_metric *metric, struct rm_family *ret_family)
{
    const struct unit *unit = unit_of(metric->unit);
    *ret_family =
        (struct rm_family){.name = "resmon", .unit = unit->word, .divisor = unit->divisor};
    for (const char *at = metric->name; *at != '\0';) {
        size_t length = strcspn(at, "._");
        bool is_unit = length == strlen(unit->spoken) && memcmp(at, unit->spoken, length) == 0;
        if (length > 0 && !is_unit) {
            add_word(ret_family, at, length);
        }
        at += length + (at[length] != '\0' ? 1 : 0);
    }
    if (unit->word[0] != '\0') {
        add_word(ret_family, unit->word, strlen(unit->word));
    }
}

const char *rm_family_instance_label(const struct rm_metric *metric)
{
    static const struct {
        const char *prefix;
        const char *label;
    } labels[] = {{"node.fs.", "mountpoint"}};
    for (size_t i = 0; i < RM_ARRAY_LEN(labels); i++) {
        if (strncmp(metric->name, labels[i].prefix, strlen(labels[i].prefix)) == 0) {
            return labels[i].label;
        }
    }
    return "device";
}

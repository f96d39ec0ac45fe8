/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

#define MOST         2 /* letters that may differ */
#define LEAST_PREFIX 3

static size_t least_of(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance: one row of his table at a time, of the name up to each of its letters. */
static size_t distance_of(const char *word, size_t length, const char *name)
{
    size_t row[RM_NEAREST_LONGEST + 1];
    size_t name_length = strlen(name);
    if (name_length > RM_NEAREST_LONGEST) {
        return RM_NEAREST_LONGEST;
    }
    for (size_t j = 0; j <= name_length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= name_length; j++) {
            size_t changed =
                diagonal + (rm_text_compare(&word[i - 1], &name[j - 1], 1) != 0 ? 1 : 0);
            diagonal = row[j];
            row[j] = least_of(row[j] + 1, row[j - 1] + 1, changed);
        }
    }
    return row[name_length];
}

struct rm_nearest rm_nearest_new(const char *word, size_t length)
{
    return (struct rm_nearest){.word = word, .length = length, .distance = MOST + 1};
}

void rm_nearest_try(struct rm_nearest *nearest, const char *name)
{
    size_t length = nearest->length;
    if (length == 0 || length > RM_NEAREST_LONGEST) {
        return;
    }
    size_t distance = distance_of(nearest->word, length, name);
    bool is_beginning = length >= LEAST_PREFIX && rm_text_compare(nearest->word, name, length) == 0;
    bool is_near = distance <= MOST && distance * 2 <= length;
    if (is_beginning && !is_near) {
        distance = MOST;
    }
    if ((is_near || is_beginning) && distance < nearest->distance) {
        nearest->distance = distance;
        nearest->name = name;
    }
}

/* SPDX-License-Identifier: MIT */
#include "stack/ranges.h"

#include <stdlib.h>

#include "base/alloc.h"

bool rm_ranges_add(struct rm_ranges *ranges, struct rm_range range)
{
    if (range.low >= range.high) {
        return true;
    }
    struct rm_range *items =
        rm_grow(ranges->items, ranges->count, &ranges->capacity, sizeof *items);
    if (items == NULL) {
        return false;
    }
    ranges->items = items;
    ranges->items[ranges->count++] = range;
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct rm_range *a = left, *b = right;
    if (a->low != b->low) {
        return a->low < b->low ? -1 : 1;
    }
    if (a->high != b->high) {
        return a->high > b->high ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

/* A walk upwards; `open` are the ranges around where it is, by falling ends. */
struct walk {
    struct rm_range *flat, *open;
    size_t flat_count, open_count;
    uint64_t at;
};

static void emit(struct walk *walk, uint64_t high)
{
    const struct rm_range *top = &walk->open[walk->open_count - 1];
    if (walk->at < high) {
        struct rm_range *last = walk->flat_count > 0 ? &walk->flat[walk->flat_count - 1] : NULL;
        if (last != NULL && last->high == walk->at && last->value == top->value) {
            last->high = high;
        } else {
            walk->flat[walk->flat_count++] =
                (struct rm_range){.low = walk->at, .high = high, .value = top->value};
        }
        walk->at = high;
    }
}

static void enter(struct walk *walk, const struct rm_range *range)
{
    while (walk->open_count > 0 && walk->open[walk->open_count - 1].high <= range->low) {
        emit(walk, walk->open[walk->open_count - 1].high);
        walk->open_count--;
    }
    if (walk->open_count > 0) {
        emit(walk, range->low);
    }
    walk->at = range->low;
    while (walk->open_count > 0 && walk->open[walk->open_count - 1].high <= range->high) {
        walk->open_count--; /* nothing of it is seen any more */
    }
    walk->open[walk->open_count++] = *range;
}

bool rm_ranges_flatten(struct rm_ranges *ranges)
{
    if (ranges->count == 0) {
        return true;
    }
    struct walk walk = {
        /* Each range begins one piece, and lets the one around it begin again. */
        .flat = rm_alloc(2 * ranges->count, sizeof *walk.flat),
        .open = rm_alloc(ranges->count, sizeof *walk.open),
    };
    if (walk.flat == NULL || walk.open == NULL) {
        rm_free(walk.flat);
        rm_free(walk.open);
        return false;
    }
    qsort(ranges->items, ranges->count, sizeof *ranges->items, compare);
    for (size_t i = 0; i < ranges->count; i++) {
        enter(&walk, &ranges->items[i]);
    }
    while (walk.open_count > 0) {
        emit(&walk, walk.open[walk.open_count - 1].high);
        walk.open_count--;
    }
    rm_free(walk.open);
    rm_free(ranges->items);
    *ranges = (struct rm_ranges){walk.flat, walk.flat_count, 2 * ranges->count};
    return true;
}

bool rm_ranges_find(const struct rm_ranges *ranges, uint64_t address, uint32_t *ret_value)
{
    size_t first = 0, past = ranges->count;
    while (first < past) {
        size_t middle = first + (past - first) / 2;
        const struct rm_range *range = &ranges->items[middle];
        if (address >= range->low && address < range->high) {
            *ret_value = range->value;
            return true;
        }
        if (address < range->low) {
            past = middle;
        } else {
            first = middle + 1;
        }
    }
    return false;
}

void rm_ranges_free(struct rm_ranges *ranges)
{
    rm_free(ranges->items);
    *ranges = (struct rm_ranges){0};
}

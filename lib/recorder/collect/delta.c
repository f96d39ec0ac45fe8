/* SPDX-License-Identifier: MIT */
#include "collect/delta.h"

#include <string.h>

#include "base/alloc.h"

void rm_delta_free(struct rm_delta_table *table)
{
    rm_free(table->things);
    *table = (struct rm_delta_table){0};
}

void rm_delta_begin(struct rm_delta_table *table)
{
    table->next = 0;
}

static struct rm_delta_thing *add_thing(struct rm_delta_table *table, struct rm_text name)
{
    struct rm_delta_thing *things =
        table->count < RM_DELTA_MAX_THINGS
            ? rm_grow(table->things, table->count, &table->room, sizeof *things)
            : NULL;
    if (things == NULL) {
        return NULL;
    }
    table->things = things;
    struct rm_delta_thing *thing = &table->things[table->count++];
    *thing = (struct rm_delta_thing){0};
    memcpy(thing->name, name.at, rm_text_left(&name));
    return thing;
}

struct rm_delta_thing *rm_delta_find(struct rm_delta_table *table, struct rm_text name,
                                     uint32_t (*classify)(void *context, const char *name),
                                     void *context)
{
    if (rm_text_left(&name) == 0 || rm_text_left(&name) >= RM_DELTA_NAME_BYTES) {
        return NULL;
    }
    for (size_t tried = 0; tried < table->count; tried++) {
        size_t index = (table->next + tried) % table->count;
        if (rm_text_equals(&name, table->things[index].name)) {
            table->next = index + 1;
            return &table->things[index];
        }
    }
    struct rm_delta_thing *thing = add_thing(table, name);
    if (thing != NULL) {
        thing->class = classify(context, thing->name);
        table->next = table->count;
    }
    return thing;
}

static double growth(uint64_t last, uint64_t now, uint64_t wrap)
{
    if (now >= last) {
        return (double)(now - last);
    }
    bool has_wrapped = wrap != 0 && last <= wrap && last > wrap / 2 && now < wrap / 2;
    return has_wrapped ? (double)(now + (wrap - last) + 1) : 0.0;
}

void rm_delta_take(struct rm_delta_thing *thing, const uint64_t *now, const uint64_t *wrap,
                   size_t fields, double *ret_growth)
{
    for (size_t f = 0; f < fields; f++) {
        uint64_t limit = wrap != NULL ? wrap[f] : 0;
        ret_growth[f] = thing->is_known ? growth(thing->last[f], now[f], limit) : 0.0;
        thing->last[f] = now[f];
    }
    thing->is_known = true;
    thing->is_seen = true;
}

void rm_delta_end(struct rm_delta_table *table)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (table->things[i].is_seen) {
            table->things[i].is_seen = false;
            table->things[kept++] = table->things[i];
        }
    }
    table->count = kept;
}

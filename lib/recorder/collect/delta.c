/* SPDX-License-Identifier: MIT */
#include "collect/delta.h"

#include <string.h>

#include "base/alloc.h"

/* ---- things that come and go ---------------------------------------------------------------- */

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

/* ---- energy counters ------------------------------------------------------------------------ */

/* Counters are updated about every millisecond, and readings may be closer together. */
#define SLACK_S 0.01

static bool is_plausible(const struct rm_energy_counter *counter, uint64_t growth, int64_t now_ns)
{
    double elapsed_s = (double)(now_ns - counter->last_ns) * 1e-9 + SLACK_S;
    return counter->limit_w <= 0.0 ||
           (double)growth * counter->unit_j <= counter->limit_w * elapsed_s;
}

/* Factor of the first growth, which is extended to the time since the begin. */
static double scale_of(const struct rm_energy_counter *counter, int64_t now_ns)
{
    int64_t before_ns = counter->first_ns - counter->begin_ns;
    bool is_first = counter->joules <= 0.0 && counter->begin_ns != 0 && before_ns > 0;
    return is_first && now_ns > counter->first_ns
               ? 1.0 + (double)before_ns / (double)(now_ns - counter->first_ns)
               : 1.0;
}

enum rm_energy_event rm_energy_take(struct rm_energy_counter *counter, uint64_t count,
                                    int64_t now_ns)
{
    enum rm_energy_event event = RM_ENERGY_OK;
    if (counter->max > 0 && count > counter->max) {
        counter->discarded++;
        return RM_ENERGY_DISCARDED; /* not a valid count: the last one is kept */
    }
    if (!counter->has_last) {
        counter->has_last = true;
        counter->last = count;
        counter->first_ns = now_ns;
        counter->last_ns = now_ns;
        return RM_ENERGY_OK;
    }
    counter->has_moved |= count != counter->last;
    uint64_t growth = count - counter->last;
    if (count < counter->last) {
        event = counter->max > 0 ? RM_ENERGY_WRAPPED : RM_ENERGY_DISCARDED;
        growth = counter->max > 0 ? counter->max - counter->last + count : 0;
    }
    if (!is_plausible(counter, growth, now_ns)) {
        event = RM_ENERGY_DISCARDED;
    }
    double growth_j =
        growth > 0 ? (double)growth * counter->unit_j * scale_of(counter, now_ns) : 0.0;
    counter->last = count;
    counter->last_ns = now_ns;
    counter->wraps += event == RM_ENERGY_WRAPPED ? 1 : 0;
    counter->discarded += event == RM_ENERGY_DISCARDED ? 1 : 0;
    counter->joules += event != RM_ENERGY_DISCARDED ? growth_j : 0.0;
    return event;
}

enum rm_energy_event rm_energy_miss(struct rm_energy_counter *counter)
{
    counter->gaps++;
    return RM_ENERGY_GAP;
}

void rm_energy_restart(struct rm_energy_counter *counter)
{
    counter->last = 0;
    counter->discarded += counter->has_last ? 1 : 0;
}

int64_t rm_energy_poll_ns(const struct rm_energy_counter *counter)
{
    double range_j = (double)counter->max * counter->unit_j;
    return counter->max > 0 && counter->limit_w > 0.0
               ? (int64_t)(range_j / counter->limit_w / 2.0 * (double)RM_NS_PER_S)
               : 0;
}

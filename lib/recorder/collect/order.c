/* SPDX-License-Identifier: MIT */
#include "collect/order.h"

#include <string.h>

static bool has(const struct rm_collector *const *collectors, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(collectors[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The list, and what of it has its place. */
struct placing {
    const struct rm_collector *const *collectors;
    size_t count;
    bool is_placed[RM_MOST_COLLECTORS];
    const struct rm_collector **placed;
    size_t placed_count;
};

/* Whether all that it comes after are among those that are placed. */
static bool is_ready(const struct placing *placing, const struct rm_collector *collector)
{
    for (size_t i = 0; collector->after != NULL && collector->after[i] != NULL; i++) {
        if (!has(placing->placed, placing->placed_count, collector->after[i])) {
            return false;
        }
    }
    return true;
}

static resmon_status check_names(const struct rm_collector *const *collectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *const *after = collectors[i]->after;
        for (size_t k = 0; after != NULL && after[k] != NULL; k++) {
            if (!has(collectors, count, after[k])) {
                return rm_error(RESMON_EINVAL,
                                "collector %s must come after %s, which does not exist",
                                collectors[i]->name, after[k]);
            }
        }
    }
    return RESMON_OK;
}

/* The first in the order of domains, and of the list within one, that waits for none; `count`: all
 * that are left wait. */
static size_t next_of(const struct placing *placing)
{
    size_t next = placing->count;
    for (size_t i = 0; i < placing->count; i++) {
        const struct rm_collector *one = placing->collectors[i];
        bool is_before = next == placing->count || one->domain < placing->collectors[next]->domain;
        if (!placing->is_placed[i] && is_before && is_ready(placing, one)) {
            next = i;
        }
    }
    return next;
}

static const char *first_left(const struct placing *placing)
{
    size_t i = 0;
    while (placing->is_placed[i]) {
        i++;
    }
    return placing->collectors[i]->name;
}

resmon_status rm_collect_order(const struct rm_collector *const *collectors, size_t count,
                               const struct rm_collector **ret_order)
{
    struct placing placing = {.collectors = collectors, .count = count, .placed = ret_order};
    resmon_status status = check_names(collectors, count);
    while (status == RESMON_OK && placing.placed_count < count) {
        size_t next = next_of(&placing);
        if (next == count) {
            return rm_error(RESMON_EINVAL,
                            "collector %s depends on itself through other collectors",
                            first_left(&placing));
        }
        placing.is_placed[next] = true;
        ret_order[placing.placed_count++] = collectors[next];
    }
    return status;
}

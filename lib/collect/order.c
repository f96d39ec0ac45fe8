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

static bool is_placed(const struct rm_collector *one, const struct rm_collector *const *placed,
                      size_t count)
{
    size_t i = 0;
    while (i < count && placed[i] != one) {
        i++;
    }
    return i < count;
}

/* Whether all that it comes after are among those that are placed. */
static bool is_ready(const struct rm_collector *collector, const struct rm_collector *const *placed,
                     size_t count)
{
    for (size_t i = 0; collector->after != NULL && collector->after[i] != NULL; i++) {
        if (!has(placed, count, collector->after[i])) {
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
                return rm_error(RESMON_EINVAL, "collector %s comes after %s, which there is not",
                                collectors[i]->name, after[k]);
            }
        }
    }
    return RESMON_OK;
}

/* The first in the order of domains, and of the list within one, that waits for none. */
static const struct rm_collector *next_of(const struct rm_collector *const *collectors,
                                          size_t count, const struct rm_collector *const *placed,
                                          size_t placed_count)
{
    const struct rm_collector *next = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct rm_collector *one = collectors[i];
        if ((next == NULL || one->domain < next->domain) && !is_placed(one, placed, placed_count) &&
            is_ready(one, placed, placed_count)) {
            next = one;
        }
    }
    return next;
}

static const char *first_left(const struct rm_collector *const *collectors, size_t count,
                              const struct rm_collector *const *placed, size_t placed_count)
{
    size_t i = 0;
    while (i + 1 < count && is_placed(collectors[i], placed, placed_count)) {
        i++;
    }
    return collectors[i]->name;
}

resmon_status rm_collect_order(const struct rm_collector *const *collectors, size_t count,
                               const struct rm_collector **ret_order)
{
    resmon_status status = check_names(collectors, count);
    for (size_t placed = 0; placed < count && status == RESMON_OK; placed++) {
        ret_order[placed] = next_of(collectors, count, ret_order, placed);
        if (ret_order[placed] == NULL) {
            status = rm_error(RESMON_EINVAL,
                              "collector %s waits, directly or not, for one that waits for it",
                              first_left(collectors, count, ret_order, placed));
        }
    }
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "stack/fault_weights.h"

#include "base/compiler.h"

/* Bytes around a fault in a file's mapping that are mapped with it, where nobody changed that
 * (fault_around_bytes in the kernel's debugfs). */
#define FAULT_AROUND UINT64_C(65536)

/* Memory that rises by so much more than samples of small pages tell comes in huge ones. */
#define MUCH_RISEN UINT64_C(8388608)

/* What a sample may weigh at least and at most. */
struct bounds {
    double least, most;
};

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void rm_fault_weights_begin(struct rm_fault_weights *weights, uint64_t page_bytes, uint64_t period,
                            const uint64_t rss[RM_RSS_PARTS])
{
    *weights = (struct rm_fault_weights){
        .page_bytes = page_bytes, .period = period, .is_known = rss != NULL};
    for (size_t part = 0; part < RM_RSS_PARTS && rss != NULL; part++) {
        weights->rises[part].first = rss[part];
        weights->rises[part].last = rss[part];
    }
}

void rm_fault_weights_count(struct rm_fault_weights *weights, uint64_t bytes)
{
    weights->small_bytes += bytes;
}

bool rm_fault_weights_hold(struct rm_fault_weights *weights, enum rm_rss_part part,
                           const struct rm_held_fault *held)
{
    if (weights->held_count[part] == RM_HELD_FAULTS) {
        return false;
    }
    weights->held[part][weights->held_count[part]++] = *held;
    return true;
}

/* ---- what there is to divide ------------------------------------------------------------ */

/* What was given back need not be explained any more. */
static void look(struct rm_rss_rises *rises, uint64_t rss)
{
    uint64_t fallen = rss < rises->last ? rises->last - rss : 0;
    rises->fresh = rss > rises->last ? rss - rises->last : 0;
    rises->risen += rises->fresh;
    rises->open += rises->fresh;
    rises->open -= lesser(rises->open, fallen);
    rises->last = rss;
}

static bool is_huge(const struct rm_fault_weights *weights, const struct rm_held_fault *held)
{
    return held->page_bytes > weights->page_bytes;
}

/* Small pages of a file come sixteen or so with a fault.  What rose before this look while no
 * sample was taken may be theirs as far as one period of such faults goes: much more than that came
 * otherwise, as by mmap(MAP_POPULATE), or in huge pages, of which a sample would have to tell. */
static uint64_t at_hand(const struct rm_fault_weights *weights, enum rm_rss_part part)
{
    const struct rm_rss_rises *rises = &weights->rises[part];
    for (size_t i = 0; i < weights->held_count[part]; i++) {
        if (is_huge(weights, &weights->held[part][i])) {
            return rises->open;
        }
    }
    return lesser(rises->open, rises->fresh + weights->period * FAULT_AROUND);
}

/* A huge page was seen to come; all other faults that the sample stands for may have been of
 * others. One fault in a file's mapping fills a page of the page table at most. */
static struct bounds bounds_of(const struct rm_fault_weights *weights, enum rm_rss_part part,
                               const struct rm_held_fault *held)
{
    uint64_t reach = weights->page_bytes / sizeof(uint64_t) * weights->page_bytes;
    uint64_t most_each = held->page_bytes > reach ? held->page_bytes : reach;
    double faults = (double)held->faults; /* 0: another sample stands for this one */
    return part == RM_RSS_ANON ? (struct bounds){held->faults > 0 ? (double)held->page_bytes : 0.0,
                                                 faults * (double)held->page_bytes}
                               : (struct bounds){0.0, faults * (double)most_each};
}

/* Faults behind the last sample have none yet: fewer than lie between two. */
static double behind_the_last(const struct rm_fault_weights *weights, enum rm_rss_part part)
{
    double most = 0.0;
    for (size_t i = 0; i < weights->held_count[part]; i++) {
        const struct rm_held_fault *held = &weights->held[part][i];
        uint64_t between = held->count > 0 ? held->faults / held->count : held->faults;
        double bytes = between > 0 ? (double)(between - 1) * (double)held->page_bytes : 0.0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* ---- dividing --------------------------------------------------------------------------- */

/* A sample of one in k faults: the variance of its weight w is estimated by w^2 (1 - 1/k), that of
 * Horvitz and Thompson's estimator where each fault is drawn by itself. */
static void weigh(struct rm_fault_weights *weights, enum rm_rss_part part,
                  const struct rm_held_fault *held, double weight)
{
    rm_stack_entry_weigh(held->entry, part == RM_RSS_ANON ? RESMON_STACK_MEMORY : RESMON_STACK_FILE,
                         (uint64_t)weight, rm_stack_square((uint64_t)weight, held->faults));
    weights->huge_bytes += part == RM_RSS_ANON ? (uint64_t)weight : 0;
}

static void divide(struct rm_fault_weights *weights, enum rm_rss_part part)
{
    struct bounds all = {0.0, 0.0};
    for (size_t i = 0; i < weights->held_count[part]; i++) {
        struct bounds bounds = bounds_of(weights, part, &weights->held[part][i]);
        all.least += bounds.least;
        all.most += bounds.most;
    }
    double most = all.most + behind_the_last(weights, part);
    double whole = (double)at_hand(weights, part);
    whole = whole < all.least ? all.least : whole > most ? most : whole;
    for (size_t i = 0; i < weights->held_count[part]; i++) {
        const struct rm_held_fault *held = &weights->held[part][i];
        struct bounds bounds = bounds_of(weights, part, held);
        double share = all.most > all.least ? (bounds.most - bounds.least) / (all.most - all.least)
                       : all.most > 0.0     ? bounds.most / all.most
                                            : 0.0;
        weigh(weights, part, held, bounds.least + (whole - all.least) * share);
    }
    struct rm_rss_rises *rises = &weights->rises[part];
    rises->open -= lesser(rises->open, (uint64_t)whole);
    weights->held_count[part] = 0;
}

bool rm_fault_weights_settle(struct rm_fault_weights *weights, const uint64_t rss[RM_RSS_PARTS])
{
    struct rm_rss_rises *memory = &weights->rises[RM_RSS_ANON];
    for (size_t part = 0; part < RM_RSS_PARTS; part++) {
        struct rm_rss_rises *rises = &weights->rises[part];
        look(rises, rss != NULL ? rss[part] : rises->last);
    }
    bool has_much = memory->fresh >= MUCH_RISEN && memory->fresh / 4 > weights->small_bytes;
    memory->open -= lesser(memory->open, weights->small_bytes);
    weights->small_bytes = 0;
    for (size_t part = 0; part < RM_RSS_PARTS; part++) {
        if (weights->held_count[part] > 0) {
            divide(weights, (enum rm_rss_part)part);
        }
    }
    return has_much;
}

/* SPDX-License-Identifier: MIT */
/*
 * Owns the addition of stacks to a run block: finds the path of a stack in the tree, creates
 * missing nodes, and counts. One thread at a time.
 */
#ifndef RM_STORE_STACK_WRITER_H
#define RM_STORE_STACK_WRITER_H

#include "base/map.h"
#include "store/stack_record.h"

struct rm_stack_writer {
    struct rm_block block;
    struct rm_stack_record *record;
    struct rm_map nodes;   /* keys: parent and value */
    struct rm_map entries; /* keys: node and flags; like `nodes`, fixed in size */
    struct rm_map names;   /* keys: text */
};

/* A stack as it was taken. Scopes begin with the outermost, addresses with the innermost. */
struct rm_stack_sample {
    const uint32_t *sites;
    const uint64_t *addresses;
    uint32_t site_count;
    uint32_t depth;
    uint32_t is_cut;
    int32_t kind;
    uint64_t count;  /* number of samples that this entry counts for */
    uint64_t weight; /* ns, B */
    double square;   /* of the weight's standard error */
};

/** The estimated variance of the weight of a sample that represents `events`, if each event is
 * drawn independently (Horvitz and Thompson). */
static inline double rm_stack_square(uint64_t weight, uint64_t events)
{
    double each = events > 0 ? 1.0 / (double)events : 0.0;
    return (double)weight * (double)weight * (1.0 - each);
}

/** Opens the writer; RESMON_ENOMEM. The block must have sections for stacks. */
resmon_status rm_stack_writer_open(struct rm_stack_writer *writer, const struct rm_block *block);
void rm_stack_writer_close(struct rm_stack_writer *writer);

/** Counts a sample. Returns NULL if the capacity is exhausted; then the sample is counted as lost.
 */
struct rm_stack_entry *rm_stack_writer_add(struct rm_stack_writer *writer,
                                           const struct rm_stack_sample *sample);

/** The value that represents a name in a stack's addresses. Equal texts have equal values. 0 if the
 * capacity for names is exhausted. */
uint64_t rm_stack_writer_name(struct rm_stack_writer *writer, const char *text);

/** Adds to the weight of an entry, and to the square of its standard error. */
void rm_stack_entry_weigh(struct rm_stack_entry *entry, int32_t kind, uint64_t weight,
                          double square);

/** Adds to the number of samples of an entry. */
void rm_stack_entry_count(struct rm_stack_entry *entry, int32_t kind, uint64_t more);

void rm_stack_writer_lose(struct rm_stack_writer *writer, enum rm_stack_loss loss, uint64_t count);

/** Publishes the state of a kind of stacks. */
void rm_stack_writer_set_kind(struct rm_stack_writer *writer, int32_t kind, resmon_status status,
                              const char *reason);
void rm_stack_writer_set_period(struct rm_stack_writer *writer, int32_t kind, uint64_t period);
void rm_stack_writer_set_total(struct rm_stack_writer *writer, int32_t kind, uint64_t total);
void rm_stack_writer_set_levels(struct rm_stack_writer *writer, int32_t kind, uint64_t first,
                                uint64_t last);

/** Adds a module unless it is present. False if the capacity for modules is exhausted. */
bool rm_stack_writer_add_module(struct rm_stack_writer *writer,
                                const struct rm_module_entry *module);

/** Begins the stacks of a new peak. They replace the stacks of the previous peak when they are
 * published. */
void rm_stack_writer_begin_peak(struct rm_stack_writer *writer, const struct rm_peak_head *head);
void rm_stack_writer_add_peak(struct rm_stack_writer *writer, const struct rm_stack_sample *sample,
                              uint64_t thread, const char name[16]);
void rm_stack_writer_publish_peak(struct rm_stack_writer *writer);

/** Stores the highest RSS that was read, whether or not it was a peak. */
void rm_stack_writer_set_highest(struct rm_stack_writer *writer, uint64_t rss, uint64_t t_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the adding of stacks to a run block: finds the path of a stack in the tree, makes what is
 * new, and counts.  One thread at a time.
 */
#ifndef RM_STORE_STACK_WRITER_H
#define RM_STORE_STACK_WRITER_H

#include "store/stack_record.h"

struct rm_stack_writer {
    struct rm_block block;
    struct rm_stack_record *record;
    uint32_t *nodes;   /* hash tables of numbers, 0: free */
    uint32_t *entries; /* the number of an entry plus 1, by its node */
    uint64_t node_mask, entry_mask;
};

/* A stack as it was taken: scopes from the outermost, addresses from the innermost. */
struct rm_stack_sample {
    const uint32_t *sites;
    const uint64_t *addresses;
    uint32_t site_count;
    uint32_t depth;
    uint32_t is_cut;
    int32_t kind;
    uint64_t count;  /* samples that it stands for */
    uint64_t weight; /* ns, B */
};

/** RESMON_ENOMEM.  The block has room for stacks. */
resmon_status rm_stack_writer_open(struct rm_stack_writer *writer, const struct rm_block *block);
void rm_stack_writer_close(struct rm_stack_writer *writer);

/** Counts a sample; one that finds no room is counted as lost. */
void rm_stack_writer_add(struct rm_stack_writer *writer, const struct rm_stack_sample *sample);

void rm_stack_writer_lose(struct rm_stack_writer *writer, enum rm_stack_loss loss, uint64_t count);

/** What is known about a kind. */
void rm_stack_writer_set_kind(struct rm_stack_writer *writer, int32_t kind, resmon_status status,
                              const char *reason);
void rm_stack_writer_set_period(struct rm_stack_writer *writer, int32_t kind, uint64_t period);
void rm_stack_writer_set_total(struct rm_stack_writer *writer, int32_t kind, uint64_t total);

/** Adds a module, unless it is there already.  False: there is no room for it. */
bool rm_stack_writer_add_module(struct rm_stack_writer *writer,
                                const struct rm_module_entry *module);

/** Begins the stacks of a peak, in place of those before it once it is published. */
void rm_stack_writer_begin_peak(struct rm_stack_writer *writer, const struct rm_peak_head *head);
void rm_stack_writer_add_peak(struct rm_stack_writer *writer, const struct rm_stack_sample *sample,
                              uint64_t thread, const char name[16]);
void rm_stack_writer_publish_peak(struct rm_stack_writer *writer);

#endif

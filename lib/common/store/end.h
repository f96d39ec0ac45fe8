/* SPDX-License-Identifier: MIT */
/*
 * Owns how a program ended, as a part of the run block that a signal handler can write.
 */
#ifndef RM_STORE_END_H
#define RM_STORE_END_H

#include <stdint.h>

#include <resmon/end.h>

struct rm_block;
struct rm_block_header;

#define RM_END_TEXT_BYTES 256

/* In a block. */
struct rm_end_record {
    int32_t reason; /* UNKNOWN: nobody has said it yet */
    int32_t exit_status;
    int32_t signal_number;
    int32_t reserved;
    char text[RM_END_TEXT_BYTES];
};

/** Whoever calls holds a lock against others who do. */
void rm_end_store(struct rm_block_header *header, const resmon_run_end *end);

/** A signal came that ends the program: this goes before what was or will be said otherwise.
 * Async-signal-safe. */
void rm_end_note_signal(struct rm_block_header *header, int signal_number);

/** What is said in the block; UNKNOWN: nothing. */
void rm_end_load(const struct rm_block_header *header, struct rm_end_record *ret_record);

/** Of a status as wait(2) has it. */
resmon_run_end rm_end_of_status(int status);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns how a program ended, in a form that a signal handler can write, and what the kernel had
 * accounted to the process by then: parts of the run block.
 */
#ifndef RM_STORE_END_H
#define RM_STORE_END_H

#include <resmon/end.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- how the program ended -------------------------------------------------------------- */

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

/* ---- what it used ----------------------------------------------------------------------- */

struct rm_block_header;

/** Once: later calls change nothing, and return false.  Whoever calls holds a lock against others
 * who do. */
bool rm_usage_store(struct rm_block_header *header, const resmon_run_usage *usage);

/** False: nothing is said, and `ret_usage` is as it was. */
bool rm_usage_load(const struct rm_block_header *header, resmon_run_usage *ret_usage);

#endif

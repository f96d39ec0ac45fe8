/* SPDX-License-Identifier: MIT */
/*
 * Owns what a dead writer left in memory (os/memory_file) of a run that was copied out to a file:
 * finding it from the file, and putting it in there ("folding"), after which the memory is given
 * back.
 * Called by recording.c and recorder.c.
 */
#ifndef RM_RECORD_LEFTOVER_H
#define RM_RECORD_LEFTOVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "os/file.h"
#include "os/mapping.h"
#include "store/block.h"

/** Opens the memory that `header` names: false unless it is there, of `owner` and of that very run.
 * Its writer may live. */
bool rm_leftover_open(struct rm_memory_file *memory, const struct rm_block_header *header,
                      uid_t owner);

/** What a dead writer left in `memory` goes into `record`, its recording.  Where the writer may
 * live, somebody else is at it, or this user cannot write the file, both stay as they are.  Into a
 * copy of a recording that is still where it was made, it goes as well, and stays for that one. */
void rm_leftover_fold(const struct rm_memory_file *memory, const struct rm_infile *record);

/** Folds what was left of the recording at `path`, if anything was. */
void rm_leftover_fold_one(const char *path);

/** The recording at `path` is about to be replaced: what was left of it is removed. */
void rm_leftover_drop(const char *path);

/** Whether dead programs of this user may have left recordings; and folding all in.  Those whose
 * file cannot be found (it was moved or removed, or is of another mount namespace) wait for a day,
 * the newest 8 of them. */
bool rm_leftover_is_there(void);
void rm_leftover_fold_all(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the memory files (os/memory_file) that dead writers left, of runs that were copied to a
 * recording.  It finds the memory file of a recording, writes its content to the recording
 * ("folding"), and removes the memory file.
 *
 * Called by recording.c and recorder.c.
 */
#ifndef RM_RECORD_LEFTOVER_H
#define RM_RECORD_LEFTOVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "os/file.h"
#include "os/mapping.h"
#include "store/block.h"

/** Opens the memory file that `header` names.  False: it does not exist, does not belong to
 * `owner`, or has another run.  Its writer may be alive. */
bool rm_leftover_open(struct rm_memory_file *memory, const struct rm_block_header *header,
                      uid_t owner);

/** Writes the content of `memory`, which a dead writer left, to its recording `record`.  Both files
 * are unchanged if the writer may be alive, another process folds the memory, or this user cannot
 * write the recording.  If `record` is a copy, and the original recording still exists, the copy is
 * completed, and the memory is kept for the original. */
void rm_leftover_fold(const struct rm_memory_file *memory, const struct rm_infile *record);

/** Folds the memory of the recording at `path`, if there is any. */
void rm_leftover_fold_one(const char *path);

/** Removes the memory of the recording at `path`, which will be replaced. */
void rm_leftover_drop(const char *path);

/** Whether dead programs of this user may have left memory files; and folding all of them.  A
 * recording may not be found: it was moved or removed, or is in another mount namespace.  Then its
 * memory is kept for a day, for the newest 8 of such runs. */
bool rm_leftover_is_there(void);
void rm_leftover_fold_all(void);

#endif

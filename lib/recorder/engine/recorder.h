/* SPDX-License-Identifier: MIT */
/*
 * Owns a recording whose block is in a memory file, so that no scope ever waits for a disk or a
 * server.  It owns the file that users name, and the thread rm-record.  The thread creates both
 * files, and copies the block to the user's file at intervals and at the end.  It keeps both files
 * open, independent of changes of the program's root directory, user, or file names.
 *
 * A killed program leaves the memory file.  Loading the recording finds the memory file by its name
 * in the header, and merges both files (record/leftover).
 *
 * Called by memory.c, for the file, and by monitor.c.
 */
#ifndef RM_ENGINE_RECORDER_H
#define RM_ENGINE_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "os/mapping.h"
#include "store/block.h"

struct rm_recorder;
struct rm_scope_session;

/** Intervals between copies: `remote_ns` to another machine, to which a whole cluster may write;
 * `hurried_ns` if less than `short_bytes` of memory are left (os/memory_room.h), which is checked
 * at that interval.  The thread uses at most `share` of a CPU for copies.  Tests have their own
 * intervals. */
struct rm_recorder_pace {
    int64_t usual_ns, remote_ns, hurried_ns;
    uint64_t short_bytes;
    double share;
};
extern struct rm_recorder_pace rm_recorder_pace;

/**
 * Starts the thread, which creates the file (`path`, absolute) and the memory for a block.
 * `is_remote`: the file is on another machine.  RESMON_ENOTSUP: no memory file or thread is
 * possible, and the error text has the reason.  Then the caller maps the file itself.
 */
resmon_status rm_recorder_make(const char *path, uint64_t bytes, bool is_remote,
                               struct rm_mapping *ret_mapping, struct rm_recorder **ret_recorder);

/** Writes the places of both files into the block's header. */
void rm_recorder_mark(const struct rm_recorder *recorder, struct rm_block_header *header);

/** Makes the first copy, and gives the file its name; further copies follow.  `session` (NULL:
 * none): of the block's scopes; its reference is released after the last copy. */
resmon_status rm_recorder_publish(struct rm_recorder *recorder, struct rm_scope_session *session);

/** CPU time of the thread so far.  Any thread. */
uint64_t rm_recorder_cpu_ns(const struct rm_recorder *recorder);

/** Requests the last copy, of a block that does not change any more. */
void rm_recorder_end(struct rm_recorder *recorder);

/** Waits for the last copy.  RESMON_ETIMEDOUT: the thread is abandoned, and the memory file is left
 * for loading. */
resmon_status rm_recorder_wait(struct rm_recorder *recorder, int64_t deadline_ns);

/** NULL is fine.  A file that was not published is removed.  `is_inherited`: in a forked child,
 * where only memory is freed. */
void rm_recorder_free(struct rm_recorder *recorder, bool is_inherited);

#endif

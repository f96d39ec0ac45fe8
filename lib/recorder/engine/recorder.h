/* SPDX-License-Identifier: MIT */
/*
 * Owns a recording whose block is in a memory file, so that no scope ever waits for a disk or a
 * server: the file that users name, and the thread rm-record, which makes both and copies the block
 * out now and then and at the end.  It has them open all the while: what the program does to its
 * root, its user or the file's name does not matter.  A program that dies leaves the memory file;
 * who loads the recording finds it by the name in the header and puts the two together
 * (record/leftover).
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

/** How often the block is copied out: `remote_ns` to another machine, to which a whole cluster may
 * write; `hurried_ns` where less than `short_bytes` of memory are left
 * (os/memory_room.h), which is looked at that often; and that the thread takes no more than `share`
 * of a CPU by it.  Tests have their own. */
struct rm_recorder_pace {
    int64_t usual_ns, remote_ns, hurried_ns;
    uint64_t short_bytes;
    double share;
};
extern struct rm_recorder_pace rm_recorder_pace;

/**
 * Starts the thread, which reserves the file (`path`, absolute) and the memory for a block.
 * `is_remote`: the file is on another machine.
 * RESMON_ENOTSUP: there is no memory for it, or no thread, and the text says why: the file has to
 * be mapped itself.
 */
resmon_status rm_recorder_make(const char *path, uint64_t bytes, bool is_remote,
                               struct rm_mapping *ret_mapping, struct rm_recorder **ret_recorder);

/** Notes in the block's header where the two are. */
void rm_recorder_mark(const struct rm_recorder *recorder, struct rm_block_header *header);

/** The first copy: the file gets its name, and copies follow.  `session` (NULL: none) has the
 * scopes; its reference is given back when nothing is copied any more. */
resmon_status rm_recorder_publish(struct rm_recorder *recorder, struct rm_scope_session *session);

/** CPU time of the thread so far.  Any thread. */
uint64_t rm_recorder_cpu_ns(const struct rm_recorder *recorder);

/** Asks for the last copy, of a block that does not change any more. */
void rm_recorder_end(struct rm_recorder *recorder);

/** Waits for that; RESMON_ETIMEDOUT: it is left behind, and the memory file stays for who loads the
 * recording. */
resmon_status rm_recorder_wait(struct rm_recorder *recorder, int64_t deadline_ns);

/** NULL is fine.  What was never published is removed.  `is_inherited`: in the child of a fork,
 * which has nothing to do with it. */
void rm_recorder_free(struct rm_recorder *recorder, bool is_inherited);

#endif

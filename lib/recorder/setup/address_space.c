/* SPDX-License-Identifier: MIT */
#include "setup/address_space.h"

#include <malloc.h>

#include "base/human.h"
#include "base/status.h"
#include "os/memory_room.h"

#define MIB (UINT64_C(1) << 20)

/* glibc gives each thread that allocates a heap of its own, for which it reserves 64 MiB. */
#define TIGHT_BYTES (512 * MIB)

/* Four threads with their stacks, their buffers, and a run while it is written. */
#define OWN_BYTES (10 * MIB)

/* A thread with a stack of the usual 8 MiB, and as much again. */
#define PROGRAM_BYTES (16 * MIB)

void rm_address_space_save(void)
{
#ifdef M_ARENA_MAX
    struct rm_memory_room room;
    rm_memory_room_of_process(NULL, &room);
    if (room.bytes < TIGHT_BYTES) {
        (void)mallopt(M_ARENA_MAX, 1);
    }
#endif
}

resmon_status rm_address_space_decide(const struct rm_memory_room *room, uint64_t block_bytes)
{
    uint64_t own = block_bytes + OWN_BYTES;
    if (room->bytes >= own + PROGRAM_BYTES) {
        return RESMON_OK;
    }
    char left[RM_HUMAN_BYTES], needed[RM_HUMAN_BYTES], programs[RM_HUMAN_BYTES];
    rm_human_bytes(left, (double)room->bytes);
    rm_human_bytes(needed, (double)own);
    rm_human_bytes(programs, (double)PROGRAM_BYTES);
    return rm_error(RESMON_ENOMEM,
                    "only %s of memory are left of %s: observing needs about %s, which leaves the "
                    "program less than %s",
                    left, room->limit, needed, programs);
}

resmon_status rm_address_space_check(uint64_t block_bytes)
{
    struct rm_memory_room room;
    rm_memory_room_of_process(NULL, &room);
    return rm_address_space_decide(&room, block_bytes);
}

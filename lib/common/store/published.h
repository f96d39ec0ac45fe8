/* SPDX-License-Identifier: MIT */
/*
 * Owns records that one writer changes while others read: two copies, and a version that names the
 * current copy (version & 1). The writer fills the other copy and publishes it by the version
 * (release). So no reader ever sees half an update, neither in another thread nor in the file of a
 * killed program.
 *
 * All fields of such a record are 8 bytes. They are copied as words, so that TSan and the C memory
 * model agree with what the hardware does.
 */
#ifndef RM_STORE_PUBLISHED_H
#define RM_STORE_PUBLISHED_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

static inline void rm_published_copy(void *target, const void *source, size_t bytes)
{
    uint64_t *to = target;
    const uint64_t *from = source;
    for (size_t i = 0; i < bytes / 8; i++) {
        RM_STORE(&to[i], RM_LOAD(&from[i]));
    }
}

/* The copy that the version names does not change as long as the version does not change. */
static inline void rm_published_read(void *target, const void *copies, size_t bytes,
                                     const uint32_t *version)
{
    for (int tries = 0; tries < 1000; tries++) {
        uint32_t before = RM_LOAD_ACQUIRE(version);
        rm_published_copy(target, (const unsigned char *)copies + (before & 1) * bytes, bytes);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (RM_LOAD(version) == before) {
            return;
        }
    }
}

static inline void rm_published_write(void *copies, const void *source, size_t bytes,
                                      uint32_t *version)
{
    uint32_t next = RM_LOAD(version) + 1;
    RM_FENCE_BEFORE_REFILL();
    rm_published_copy((unsigned char *)copies + (next & 1) * bytes, source, bytes);
    RM_STORE_RELEASE(version, next);
}

#endif

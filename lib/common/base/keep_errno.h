/* SPDX-License-Identifier: MIT */
/*
 * Owns the rule that no public function changes errno: a program asks for that of its own last
 * call, wherever a scope ends.  A guard at the head of what may make system calls; the fast path of
 * scopes makes none, and pays nothing.
 */
#ifndef RM_BASE_KEEP_ERRNO_H
#define RM_BASE_KEEP_ERRNO_H

#include <errno.h>

static inline void rm_restore_errno(const int *kept)
{
    errno = *kept;
}

/** Until the end of the block, however that is left. */
#define RM_KEEP_ERRNO \
    const int rm_kept_errno __attribute__((cleanup(rm_restore_errno), unused)) = errno

#endif

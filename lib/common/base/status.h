/* SPDX-License-Identifier: MIT */
/*
 * Owns the results that functions leave behind: statuses with the text of the last error of each
 * thread, the errno of the program, and the log callback.
 * Every layer returns a failure by rm_error(): the code, with a sentence.
 */
#ifndef RM_BASE_STATUS_H
#define RM_BASE_STATUS_H

#include <errno.h>
#include <stdbool.h>

#include <resmon/status.h>

#include "base/compiler.h"

#define RM_ERROR_TEXT_BYTES 512

/** Records the sentence and returns `status`: `return rm_error(RESMON_EINVAL, "...", ...)`. */
RM_SHARED resmon_status rm_error(resmon_status status, const char *format, ...) RM_PRINTF(2, 3);

/** Puts "`what`: " before the last sentence, and returns `status`. */
RM_SHARED resmon_status rm_error_within(resmon_status status, const char *what);

/** Records a sentence about a system call that failed with `error`, adds the text of the errno, and
 * returns its status. */
RM_SHARED resmon_status rm_error_errno(int error, const char *format, ...) RM_PRINTF(2, 3);

/** errno as a status: the one place where it is translated. */
resmon_status rm_status_from_errno(int error);

/* ---- errno ------------------------------------------------------------------------------- */

/*
 * No public function changes errno: a program may read the errno of its own last call wherever a
 * scope ends.  RM_KEEP_ERRNO is at the begin of what may make system calls; the fast path of scopes
 * makes none, and pays nothing.
 */

static inline void rm_restore_errno(const int *kept)
{
    errno = *kept;
}

/** Restores errno at the end of the block, however that is left. */
#define RM_KEEP_ERRNO \
    const int rm_kept_errno __attribute__((cleanup(rm_restore_errno), unused)) = errno

/* ---- the log ----------------------------------------------------------------------------- */

/* The log callback (none by default), and the guard against a callback that logs. */

/** Whether there is a callback for lines of `level`: to be checked before a text is made. */
bool rm_log_wants(int32_t level);

/** Sends one line, cut at 511 bytes.  Never call it under a lock. */
void rm_log(int32_t level, const char *format, ...) RM_PRINTF(2, 3);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the text of the last error of each thread.
 * rm_error() is how every layer returns a failure: the code, with a sentence behind it.
 */
#ifndef RM_BASE_STATUS_H
#define RM_BASE_STATUS_H

#include <resmon/status.h>

#include "base/compiler.h"

#define RM_ERROR_TEXT_BYTES 512

/** Records the sentence and returns `status`: `return rm_error(RESMON_EINVAL, "...", ...)`. */
RM_SHARED resmon_status rm_error(resmon_status status, const char *format, ...) RM_PRINTF(2, 3);

/** Puts "`what`: " before the last sentence, and returns `status`. */
RM_SHARED resmon_status rm_error_within(resmon_status status, const char *what);

/** Records a sentence about a system call that failed with `error`, adds the text of the errno, and
 * returns the status that it stands for. */
RM_SHARED resmon_status rm_error_errno(int error, const char *format, ...) RM_PRINTF(2, 3);

/** errno as a status: the one place where it is translated. */
resmon_status rm_status_from_errno(int error);

#endif

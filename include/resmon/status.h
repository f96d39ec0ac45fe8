/* SPDX-License-Identifier: MIT */
/*
 * resmon/status.h - how libresmon reports failure.
 *
 * Every fallible function returns a resmon_status: RESMON_OK (0) or one of the negative codes
 * below.  The codes are pinned: a number never changes its meaning and is never used again.  On
 * failure the output parameters stay as they were, and resmon_last_error() gives a sentence that
 * says what failed, where, and what to do.
 *
 * No function changes errno: what a program's own call left there is there after a scope has ended,
 * or a run was loaded.
 *
 * The library never prints, exits, aborts, or changes signal handlers, the locale or the umask.
 */
#ifndef RESMON_STATUS_H
#define RESMON_STATUS_H

#include <stdint.h>

#include <resmon/export.h>

RESMON_BEGIN_DECLS

/** 0, or a negative code.  Since 0.1. */
typedef int32_t resmon_status;

#define RESMON_OK     0    /**< done */
#define RESMON_EINVAL (-1) /**< an argument, option or text is not valid */
#define RESMON_ESTATE \
    (-2) /**< not in this state: started twice, used after stop, or in a fork's child */
#define RESMON_ENOMEM    (-3) /**< out of memory */
#define RESMON_ENOENT    (-4) /**< a file, metric or column that does not exist */
#define RESMON_EACCES    (-5) /**< no permission */
#define RESMON_EFORMAT   (-6) /**< text or a file that is garbled, truncated or hostile */
#define RESMON_EIO       (-7) /**< reading or writing failed */
#define RESMON_ENOSPC    (-8) /**< the disk, or a bounded table of the library, is full */
#define RESMON_EBUSY     (-9) /**< somebody else has it: scopes owned by another monitor, for one */
#define RESMON_ENOTSUP   (-10) /**< this kernel, machine or build cannot; the text says which */
#define RESMON_ERANGE    (-11) /**< a number outside its documented bounds */
#define RESMON_ESRCH     (-12) /**< the process does not exist any more */
#define RESMON_EVERSION  (-13) /**< made by a version of libresmon that this one cannot read */
#define RESMON_ETIMEDOUT (-14) /**< not done within its time */
#define RESMON_ENET                                                                               \
    (-15) /**< a server cannot be reached, breaks off or cannot be trusted: name, connection, TLS \
           */
#define RESMON_EREMOTE (-16) /**< a server answered that it will not; the text has its words */
#define RESMON_ENODEV  (-17) /**< this machine has no hardware of the kind */

/**
 * The name of a code ("RESMON_ENOENT"), or "RESMON_UNKNOWN".
 * Static string.  Thread class: any thread, async-signal-safe.  Since 0.1.
 */
RESMON_API const char *resmon_status_name(resmon_status status);

/**
 * What a code means, in a few English words.
 * Static string.  Thread class: any thread, async-signal-safe.  Since 0.1.
 */
RESMON_API const char *resmon_strerror(resmon_status status);

/**
 * The text of the last failure in the calling thread, or "" when none failed yet: to be asked after
 * a call that failed (one that succeeds may have met failures inside).  Valid until the next
 * failing call of libresmon in this thread. Thread class: any thread.  Since 0.1.
 */
RESMON_API const char *resmon_last_error(void);

#define RESMON_LOG_WARNING 1 /**< something will be missing from the result, and why */
#define RESMON_LOG_INFO    2 /**< what the wrappers RESMON_TIMED and RESMON_PEAK_RSS found */
#define RESMON_LOG_DEBUG   3 /**< for people who look into libresmon itself */

/**
 * A receiver of log lines.  `line` has no newline and lives until the callback returns.
 * It may be called from any thread that uses the library and from the library's own; it may
 * call the library, but a line logged while the callback runs in the same thread is dropped.
 */
typedef void (*resmon_log_fn)(void *context, int32_t level, const char *line);

/**
 * Chooses who receives log lines of at most `level`; NULL (the default) turns them off.
 * `context` is passed through and must outlive the last line.
 * Thread class: any thread, but not while other threads use the library.  Since 0.1.
 */
RESMON_API void resmon_set_log(resmon_log_fn function, void *context, int32_t level);

RESMON_END_DECLS

#endif

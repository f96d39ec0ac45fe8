/* SPDX-License-Identifier: MIT */
/*
 * resmon/status.h - how libresmon reports failures.
 *
 *     resmon_run *run;
 *     if (resmon_run_load("run.json", &run) != RESMON_OK) {
 *         fprintf(stderr, "%s\n", resmon_last_error());
 *         return 1;
 *     }
 *
 * Every function that can fail returns a resmon_status: RESMON_OK (0) or one of the negative codes
 * below.  The meaning of a code never changes, and numbers are not reused.  On failure the output
 * parameters do not change, and resmon_last_error() returns a text: what failed, where, and what to
 * do.
 *
 * No function changes errno.
 *
 * The library does not print, exit or abort, nor change signal handlers, the locale or the umask.
 * Exceptions: the variable RESMON and resmon_monitor_stop_at_exit() may print on stderr.  The key
 * `signals`, resmon_program_end_on_signals() and stacks (<resmon/stack.h>) handle signals.
 */
#ifndef RESMON_STATUS_H
#define RESMON_STATUS_H

#include <stdint.h>

#include <resmon/export.h>

RESMON_BEGIN_DECLS

/** 0, or a negative code.  Since 0.1. */
typedef int32_t resmon_status;

#define RESMON_OK     0    /**< success */
#define RESMON_EINVAL (-1) /**< an argument, option or text is not valid */
#define RESMON_ESTATE \
    (-2) /**< not possible in this state: started twice, used after stop, in a forked child */
#define RESMON_ENOMEM    (-3)  /**< out of memory */
#define RESMON_ENOENT    (-4)  /**< a file, metric or column does not exist */
#define RESMON_EACCES    (-5)  /**< no permission */
#define RESMON_EFORMAT   (-6)  /**< a text or file is malformed, truncated or hostile */
#define RESMON_EIO       (-7)  /**< reading or writing failed */
#define RESMON_ENOSPC    (-8)  /**< the disk, or a bounded table of the library, is full */
#define RESMON_EBUSY     (-9)  /**< in use, for example scopes owned by another monitor */
#define RESMON_ENOTSUP   (-10) /**< unsupported by the kernel, machine or build; see the text */
#define RESMON_ERANGE    (-11) /**< a number is outside its documented bounds */
#define RESMON_ESRCH     (-12) /**< the process does not exist */
#define RESMON_EVERSION  (-13) /**< made by an incompatible version of libresmon */
#define RESMON_ETIMEDOUT (-14) /**< not finished within the time limit */
#define RESMON_ENET                                                                               \
    (-15) /**< a server cannot be reached, closes the connection or cannot be trusted (name, TLS) \
           */
#define RESMON_EREMOTE (-16) /**< a server refused the request; the text has its answer */
#define RESMON_ENODEV  (-17) /**< the machine has no such hardware */

/**
 * Returns the name of a code ("RESMON_ENOENT"), or "RESMON_UNKNOWN".
 * Static string.  Thread class: any thread, async-signal-safe.  Since 0.1.
 */
RESMON_API const char *resmon_status_name(resmon_status status);

/**
 * Returns the meaning of a code in a few English words.
 * Static string.  Thread class: any thread, async-signal-safe.  Since 0.1.
 */
RESMON_API const char *resmon_strerror(resmon_status status);

/**
 * Returns the text of the last failure in this thread; "" if there was none.
 * Use it only after a call that failed: a call that succeeds may set it, too.  Valid until the next
 * call of libresmon in this thread.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API const char *resmon_last_error(void);

#define RESMON_LOG_WARNING 1 /**< a part of the result will be missing, and the reason */
#define RESMON_LOG_INFO    2 /**< results of RESMON_TIMED() and RESMON_PEAK_RSS() */
#define RESMON_LOG_DEBUG   3 /**< for developers of libresmon */

/**
 * A function that receives log lines.  `line` has no newline, and is valid until the function
 * returns.  Threads of the program and of the library call it.  It may call the library; a line
 * that the same thread logs meanwhile is dropped.  Since 0.1.
 */
typedef void (*resmon_log_fn)(void *context, int32_t level, const char *line);

/**
 * Sets the function that receives log lines of at most `level`; NULL (the default): no log.
 * `context` is passed to each call, and must be valid until the last one.
 * Thread class: any thread, but not while other threads use the library.  Since 0.1.
 */
RESMON_API void resmon_set_log(resmon_log_fn function, void *context, int32_t level);

RESMON_END_DECLS

#endif

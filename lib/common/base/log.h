/* SPDX-License-Identifier: MIT */
/*
 * Owns the log callback (none by default) and the guard against a callback that logs.
 */
#ifndef RM_BASE_LOG_H
#define RM_BASE_LOG_H

#include <stdbool.h>

#include <resmon/status.h>

#include "base/compiler.h"

/** Whether anybody listens to lines of `level`: asked before text is built. */
bool rm_log_wants(int32_t level);

/** Sends one line, cut at 511 bytes.  Never call it under a lock. */
void rm_log(int32_t level, const char *format, ...) RM_PRINTF(2, 3);

#endif

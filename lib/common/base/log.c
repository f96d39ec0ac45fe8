/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/text.h"

/* Written only by resmon_set_log, which the user calls while nothing else runs. */
static resmon_log_fn log_function;
static void *log_context;
static int32_t log_level;

static _Thread_local bool is_logging;

void resmon_set_log(resmon_log_fn function, void *context, int32_t level)
{
    log_function = function;
    log_context = context;
    log_level = level;
}

bool rm_log_wants(int32_t level)
{
    return log_function != NULL && level <= log_level && !is_logging;
}

void rm_log(int32_t level, const char *format, ...)
{
    if (!rm_log_wants(level)) {
        return;
    }
    char line[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    rm_text_clean(line);
    is_logging = true;
    log_function(log_context, level, line);
    is_logging = false;
}

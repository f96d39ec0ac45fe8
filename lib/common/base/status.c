/* SPDX-License-Identifier: MIT */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

struct status_row {
    resmon_status status;
    const char *name;
    const char *text;
};

static const struct status_row status_table[] = {
    {RESMON_OK, "RESMON_OK", "done"},
    {RESMON_EINVAL, "RESMON_EINVAL", "invalid argument"},
    {RESMON_ESTATE, "RESMON_ESTATE", "not possible in this state"},
    {RESMON_ENOMEM, "RESMON_ENOMEM", "out of memory"},
    {RESMON_ENOENT, "RESMON_ENOENT", "does not exist"},
    {RESMON_EACCES, "RESMON_EACCES", "permission denied"},
    {RESMON_EFORMAT, "RESMON_EFORMAT", "garbled or truncated content"},
    {RESMON_EIO, "RESMON_EIO", "input or output failed"},
    {RESMON_ENOSPC, "RESMON_ENOSPC", "no space left"},
    {RESMON_EBUSY, "RESMON_EBUSY", "in use"},
    {RESMON_ENOTSUP, "RESMON_ENOTSUP", "not supported here"},
    {RESMON_ERANGE, "RESMON_ERANGE", "out of range"},
    {RESMON_ESRCH, "RESMON_ESRCH", "the process does not exist"},
    {RESMON_EVERSION, "RESMON_EVERSION", "made by an incompatible version"},
    {RESMON_ETIMEDOUT, "RESMON_ETIMEDOUT", "not done in time"},
    {RESMON_ENET, "RESMON_ENET", "the network or the server's identity failed"},
    {RESMON_EREMOTE, "RESMON_EREMOTE", "refused by the server"},
    {RESMON_ENODEV, "RESMON_ENODEV", "no such hardware"},
};

struct errno_row {
    int error;
    resmon_status status;
};

static const struct errno_row errno_table[] = {
    {ENOENT, RESMON_ENOENT},       {ENOTDIR, RESMON_ENOENT},      {ENODEV, RESMON_ENOENT},
    {ENXIO, RESMON_ENOENT},        {EACCES, RESMON_EACCES},       {EPERM, RESMON_EACCES},
    {EROFS, RESMON_EACCES},        {ENOMEM, RESMON_ENOMEM},       {ENOSPC, RESMON_ENOSPC},
    {EDQUOT, RESMON_ENOSPC},       {EFBIG, RESMON_ENOSPC},        {EBUSY, RESMON_EBUSY},
    {EAGAIN, RESMON_EBUSY},        {ESRCH, RESMON_ESRCH},         {EINVAL, RESMON_EINVAL},
    {ENAMETOOLONG, RESMON_EINVAL}, {EOPNOTSUPP, RESMON_ENOTSUP},  {ENOSYS, RESMON_ENOTSUP},
    {ERANGE, RESMON_ERANGE},       {ETIMEDOUT, RESMON_ETIMEDOUT},
};

static _Thread_local char last_error[RM_ERROR_TEXT_BYTES];

static const struct status_row *find_status(resmon_status status)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(status_table); i++) {
        if (status_table[i].status == status) {
            return &status_table[i];
        }
    }
    return NULL;
}

resmon_status rm_error(resmon_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    rm_text_clean(last_error); /* names of files and texts of servers may contain control characters
                                  for terminals */
    return status;
}

resmon_status rm_error_within(resmon_status status, const char *what)
{
    char text[RM_ERROR_TEXT_BYTES];
    (void)rm_text_set(text, sizeof text, last_error);
    return rm_error(status, "%s: %s", what, text);
}

resmon_status rm_error_errno(int error, const char *format, ...)
{
    char reason[96];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < sizeof last_error) {
        /* The XSI strerror_r: the build asks for POSIX, not for GNU. */
        if (strerror_r(error, reason, sizeof reason) != 0) {
            (void)snprintf(reason, sizeof reason, "errno %d", error);
        }
        (void)snprintf(last_error + length, sizeof last_error - (size_t)length, ": %s", reason);
    }
    rm_text_clean(last_error);
    return rm_status_from_errno(error);
}

resmon_status rm_status_from_errno(int error)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(errno_table); i++) {
        if (errno_table[i].error == error) {
            return errno_table[i].status;
        }
    }
    return RESMON_EIO;
}

const char *resmon_status_name(resmon_status status)
{
    const struct status_row *row = find_status(status);
    return row != NULL ? row->name : "RESMON_UNKNOWN";
}

const char *resmon_strerror(resmon_status status)
{
    const struct status_row *row = find_status(status);
    return row != NULL ? row->text : "unknown status";
}

const char *resmon_last_error(void)
{
    return last_error;
}

/* ---- the log ------------------------------------------------------------------------------ */

/* Written only by resmon_set_log(), which the program calls while nothing else runs. */
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

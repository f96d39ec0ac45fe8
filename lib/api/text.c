/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <resmon/metric.h>
#include <resmon/report.h>
#include <resmon/version.h>

#include "base/alloc.h"
#include "base/human.h"
#include "base/keep_errno.h"
#include "base/status.h"

#define STRING(x)  STRING_(x)
#define STRING_(x) #x

void resmon_text_free(char *text)
{
    RM_KEEP_ERRNO;
    rm_free(text);
}

const char *resmon_version(void)
{
    return STRING(RESMON_VERSION_MAJOR) "." STRING(RESMON_VERSION_MINOR) "." STRING(
        RESMON_VERSION_PATCH);
}

_Static_assert(RESMON_VALUE_BYTES == RM_HUMAN_BYTES, "one bound");

resmon_status resmon_format_value(const char *unit, double value, char *buffer, size_t bytes)
{
    RM_KEEP_ERRNO;
    char text[RM_HUMAN_BYTES];
    if (unit == NULL || buffer == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_format_value: unit or buffer is NULL");
    }
    rm_human_value(text, value, unit, false);
    if (strlen(text) >= bytes) {
        return rm_error(RESMON_ERANGE, "%zu bytes are too few for '%s'", bytes, text);
    }
    memcpy(buffer, text, strlen(text) + 1);
    return RESMON_OK;
}

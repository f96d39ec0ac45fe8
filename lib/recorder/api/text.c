/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <resmon/metric.h>
#include <resmon/report.h>
#include <resmon/version.h>

#include "base/alloc.h"
#include "base/human.h"
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

resmon_status resmon_parse_value(const char *unit, const char *text, double *ret_value)
{
    char units[128];
    if (unit == NULL || text == NULL || ret_value == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_parse_value: an argument is NULL");
    }
    const char *at = text + strspn(text, " \t");
    double number = 0.0, factor = 1.0;
    bool is_right = rm_amount_take_number(&at, &number);
    at += strspn(at, " \t");
    size_t length = strcspn(at, " \t");
    if (length > 0) {
        factor = rm_amount_factor(at, length, unit);
    }
    if (!is_right || isnan(factor) || at[length + strspn(at + length, " \t")] != '\0') {
        rm_amount_list(unit, units, sizeof units);
        return rm_error(RESMON_EINVAL, "'%.64s' is not an amount: write a number and one of %s",
                        text, units[0] != '\0' ? units : unit);
    }
    *ret_value = number * factor;
    return RESMON_OK;
}

resmon_status resmon_format_value(const char *unit, double value, char *buffer, size_t bytes)
{
    RM_KEEP_ERRNO;
    char text[RM_HUMAN_BYTES];
    if (unit == NULL || buffer == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_format_value: unit or buffer is NULL");
    }
    rm_human_value(text, value, unit, false);
    if (strlen(text) >= bytes) {
        return rm_error(RESMON_ERANGE, "a buffer of %zu bytes is too small for '%s'", bytes, text);
    }
    memcpy(buffer, text, strlen(text) + 1);
    return RESMON_OK;
}

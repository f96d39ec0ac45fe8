/* SPDX-License-Identifier: MIT */
/*
 * Owns reading settings that other programs' clients have in environment variables: MLflow's and
 * OpenTelemetry's.  Programs with more rights than their user do not read them.
 *
 * After a failure in `status`, or if a variable is not set or is empty, the target keeps its value.
 * Failures name the variable.
 */
#ifndef RM_NET_VARIABLES_H
#define RM_NET_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

/** Takes the option, or the variable if the option is NULL; each may be NULL.  Texts are neither
 * cut nor cleaned.  RESMON_EINVAL: too long. */
void rm_variable_text(resmon_status *status, const char *option, const char *variable, char *target,
                      size_t room);

/** The same for the path of a file.  RESMON_EINVAL: it cannot be read. */
void rm_variable_file(resmon_status *status, const char *option, const char *variable, char *path,
                      size_t room);

/** true, false, 1 or 0.  RESMON_EINVAL: something else. */
void rm_variable_switch(resmon_status *status, const char *variable, bool *is_on);

/** RESMON_EINVAL: not a number from `low` to `high`. */
void rm_variable_number(resmon_status *status, const char *variable, double low, double high,
                        double *number);

/** NULL for a text that was not set. */
static inline const char *rm_variable_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the check of the end of a program that a caller sets.
 */
#ifndef RM_API_END_H
#define RM_API_END_H

#include <resmon/end.h>

#include "store/end.h"

/** Checks and copies an end.  RESMON_EINVAL: an unknown reason, RUNNING, or an invalid number.
 * `ret_end->text` points to the caller's text. */
resmon_status rm_end_take(const resmon_run_end *given, resmon_run_end *ret_end);

#endif

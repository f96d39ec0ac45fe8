/* SPDX-License-Identifier: MIT */
/*
 * Owns the check of how a program is said to end.
 */
#ifndef RM_API_END_H
#define RM_API_END_H

#include <resmon/end.h>

#include "store/end.h"

/** RESMON_EINVAL: no such reason, or RUNNING, or a number that cannot be.  `ret_end->text` is the
 * given one. */
resmon_status rm_end_take(const resmon_run_end *given, resmon_run_end *ret_end);

#endif

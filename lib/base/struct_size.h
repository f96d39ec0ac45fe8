/* SPDX-License-Identifier: MIT */
/*
 * Owns the check of structs that users pass in: they start with their size, and may be longer than
 * this version knows as long as the rest is zero.
 */
#ifndef RM_BASE_STRUCT_SIZE_H
#define RM_BASE_STRUCT_SIZE_H

#include <stddef.h>

#include <resmon/status.h>

/** RESMON_EINVAL for NULL, for less than `known` bytes, and for a tail that is not zero. */
resmon_status rm_struct_check(const void *given, size_t known, const char *type);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns how structs cross the interface.  They start with their size.  A program may have been built
 * with an older header (the struct is shorter) or a newer one (longer): what the program does not
 * know is left alone, and what this library does not know must be zero.
 */
#ifndef RM_BASE_STRUCT_SIZE_H
#define RM_BASE_STRUCT_SIZE_H

#include <stddef.h>

#include <resmon/status.h>

#include "base/compiler.h"

/* The size of a type as the library knows it, and in the first version that had it.  When the first
 * member is appended to a type, its `first` becomes the offset of that member, for good. */
struct rm_struct_size {
    size_t known, first;
    const char *type;
};

#define RM_STRUCT_SIZE(type)              \
    (struct rm_struct_size)               \
    {                                     \
        sizeof(type), sizeof(type), #type \
    }

/**
 * Copies a struct that the user passed in to `ret_copy` (`known` bytes), zero where it is shorter.
 * RESMON_EINVAL for NULL, for less than the first size, and for a longer one whose tail is not
 * zero.
 */
RM_SHARED resmon_status rm_struct_take(const void *given, struct rm_struct_size size,
                                       void *ret_copy);

/**
 * Copies `value` (`known` bytes) to the user's struct, as far as that goes; its struct_size stays.
 * RESMON_EINVAL for NULL and for less than the first size.
 */
RM_SHARED resmon_status rm_struct_give(const void *value, struct rm_struct_size size,
                                       void *ret_struct);

#endif

/* SPDX-License-Identifier: MIT */
#include "base/struct_size.h"

#include <string.h>

#include <resmon/version.h>

#include "base/status.h"

/* No version of a struct will be longer: a larger number is an uninitialized struct_size. */
#define LONGEST_STRUCT 4096

static resmon_status read_size(const void *given, struct rm_struct_size size, size_t *ret_bytes)
{
    size_t bytes = 0;
    if (given == NULL) {
        return rm_error(RESMON_EINVAL, "%s: NULL", size.type);
    }
    memcpy(&bytes, given, sizeof bytes);
    if (bytes < size.first || bytes > LONGEST_STRUCT) {
        return rm_error(RESMON_EINVAL, "%s: struct_size is %zu; set it to sizeof(%s)", size.type,
                        bytes, size.type);
    }
    *ret_bytes = bytes;
    return RESMON_OK;
}

resmon_status rm_struct_take(const void *given, struct rm_struct_size size, void *ret_copy)
{
    size_t bytes = 0;
    resmon_status status = read_size(given, size, &bytes);
    if (status != RESMON_OK) {
        return status;
    }
    for (size_t i = size.known; i < bytes; i++) {
        if (((const unsigned char *)given)[i] != 0) {
            return rm_error(RESMON_EINVAL,
                            "%s: byte %zu is set, which belongs to a later version than this "
                            "library's %d.%d",
                            size.type, i, RESMON_VERSION_MAJOR, RESMON_VERSION_MINOR);
        }
    }
    memset(ret_copy, 0, size.known);
    memcpy(ret_copy, given, bytes < size.known ? bytes : size.known);
    return RESMON_OK;
}

resmon_status rm_struct_give(const void *value, struct rm_struct_size size, void *ret_struct)
{
    size_t bytes = 0;
    resmon_status status = read_size(ret_struct, size, &bytes);
    if (status != RESMON_OK) {
        return status;
    }
    size_t shared = bytes < size.known ? bytes : size.known;
    memcpy((char *)ret_struct + sizeof bytes, (const char *)value + sizeof bytes,
           shared - sizeof bytes);
    memset((char *)ret_struct + shared, 0, bytes - shared);
    return RESMON_OK;
}

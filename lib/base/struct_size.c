/* SPDX-License-Identifier: MIT */
#include "base/struct_size.h"

#include <string.h>

#include "base/status.h"

/* No version of a struct will be longer: a larger number is an uninitialized struct_size. */
#define LONGEST_STRUCT 4096

resmon_status rm_struct_check(const void *given, size_t known, const char *type)
{
    size_t size = 0;
    if (given != NULL) {
        memcpy(&size, given, sizeof size);
    }
    if (size < known || size > LONGEST_STRUCT) {
        return rm_error(RESMON_EINVAL, "%s: struct_size is %zu; set it to sizeof(%s)", type, size,
                        type);
    }
    const unsigned char *bytes = given;
    for (size_t i = known; i < size; i++) {
        if (bytes[i] != 0) {
            return rm_error(RESMON_EINVAL,
                            "%s: byte %zu is set, which belongs to a later version than this "
                            "library's %d.%d",
                            type, i, RESMON_VERSION_MAJOR, RESMON_VERSION_MINOR);
        }
    }
    return RESMON_OK;
}

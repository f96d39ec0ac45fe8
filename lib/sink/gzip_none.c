/* SPDX-License-Identifier: MIT */
/* Built in place of gzip.c where there is no zlib. */
#include "sink/gzip.h"

resmon_status rm_gzip(const struct rm_output *output, const void *bytes, size_t length)
{
    return rm_gzip_store(output, bytes, length);
}

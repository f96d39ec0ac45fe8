/* SPDX-License-Identifier: MIT */
/* Built in place of gzip.c where there is no zlib. */
#include "os/gzip.h"

#include "base/feature.h"

resmon_status rm_gzip(const struct rm_output *output, const void *bytes, size_t length)
{
    (void)output, (void)bytes, (void)length;
    return rm_feature_need(RM_FEATURE_ZLIB);
}

bool rm_gzip_can_unpack(void)
{
    return false;
}

resmon_status rm_gzip_unpack(const void *bytes, size_t length, void *unpacked, size_t room)
{
    (void)bytes, (void)length, (void)unpacked, (void)room;
    return rm_feature_need(RM_FEATURE_ZLIB);
}

/* SPDX-License-Identifier: MIT */
/* In place of format/folded.c, speedscope.c and pprof.c when the library is built without stacks.
 */
#include "base/feature.h"
#include "format/folded.h"
#include "format/pprof.h"
#include "format/speedscope.h"

resmon_status rm_folded_save(const struct resmon_run *run, int32_t kind, const char *path)
{
    (void)run, (void)kind, (void)path;
    return rm_feature_need(RM_FEATURE_STACKS);
}

resmon_status rm_speedscope_save(const struct resmon_run *run, const char *path)
{
    (void)run, (void)path;
    return rm_feature_need(RM_FEATURE_STACKS);
}

resmon_status rm_pprof_save(const struct resmon_run *run, const char *path)
{
    (void)run, (void)path;
    return rm_feature_need(RM_FEATURE_STACKS);
}

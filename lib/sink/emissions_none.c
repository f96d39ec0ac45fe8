/* SPDX-License-Identifier: MIT */
/* In place of sink/emissions.c when the library is built without energy. */
#include "sink/emissions.h"

#include "base/feature.h"
#include "sink/sinks.h"

resmon_status rm_emissions_sink_new(const resmon_emissions_options *options,
                                    struct rm_sink *ret_sink)
{
    (void)options, (void)ret_sink;
    return rm_feature_need(RM_FEATURE_ENERGY);
}

resmon_status rm_emissions_append(const struct resmon_run *run, uint64_t flags, const char *path)
{
    (void)run, (void)flags, (void)path;
    return rm_feature_need(RM_FEATURE_ENERGY);
}

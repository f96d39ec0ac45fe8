/* SPDX-License-Identifier: MIT */
/* In place of sink/pushgateway.c when the library is built without the network. */
#include "base/feature.h"
#include "sink/sinks.h"

resmon_status rm_pushgateway_sink_new(const resmon_pushgateway_options *options,
                                      struct rm_sink *ret_sink)
{
    (void)options, (void)ret_sink;
    return rm_feature_need(RM_FEATURE_NET);
}

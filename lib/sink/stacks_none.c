/* SPDX-License-Identifier: MIT */
/* In place of sink/stacks.c when the library is built without stacks. */
#include "base/feature.h"
#include "sink/sinks.h"

#define REFUSE(name)                                                                              \
    resmon_status rm_##name##_sink_new(const resmon_stacks_options *options, struct rm_sink *ret) \
    {                                                                                             \
        (void)options, (void)ret;                                                                 \
        return rm_feature_need(RM_FEATURE_STACKS);                                                \
    }

REFUSE(folded)
REFUSE(folded_memory)
REFUSE(folded_file)
REFUSE(speedscope)
REFUSE(pprof)

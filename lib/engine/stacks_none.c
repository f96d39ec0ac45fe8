/* SPDX-License-Identifier: MIT */
/* In place of engine/stacks.c when the library is built without stacks: the run says so. */
#include "base/feature.h"
#include "engine/stacks.h"
#include "store/facts.h"
#include "store/stack_writer.h"

resmon_status rm_stacks_start(const struct rm_block *block, const struct rm_options *options,
                              const struct rm_collect *others, struct rm_stacks_cost *cost,
                              struct rm_stacks **ret_stacks)
{
    /* A peak is no kind: its reason stands at that of CPU time. */
    static const uint64_t bits[RM_STACK_KINDS] = {
        [RESMON_STACK_CPU] = RESMON_STACKS_CPU | RESMON_STACKS_PEAK,
        [RESMON_STACK_MEMORY] = RESMON_STACKS_MEMORY,
        [RESMON_STACK_FILE] = RESMON_STACKS_MEMORY,
    };
    struct rm_stack_writer writer;
    (void)others, (void)cost, (void)ret_stacks;
    resmon_status status = rm_stack_writer_open(&writer, block);
    if (status != RESMON_OK) {
        return status;
    }
    resmon_status lack = rm_feature_need(RM_FEATURE_STACKS);
    if (block->header->sizes.processes > 0) {
        struct rm_block same = *block;
        rm_facts_add_text(&same, "settings", RM_FACT_NO_EACH, resmon_last_error());
    }
    for (int32_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        bool is_wanted = (options->values.stacks & bits[kind]) != 0;
        rm_stack_writer_set_kind(&writer, kind, is_wanted ? lack : RESMON_ESTATE,
                                 is_wanted ? resmon_last_error() : "");
    }
    rm_stack_writer_close(&writer);
    return RESMON_OK;
}

void rm_stacks_stop(struct rm_stacks *stacks)
{
    (void)stacks;
}

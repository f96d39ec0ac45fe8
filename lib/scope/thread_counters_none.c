/* SPDX-License-Identifier: MIT */
/* In place of scope/thread_counters.c when the library is built without performance counters: what
 * was to be counted is one counter of the run, absent with this reason. */
#include "scope/thread_counters.h"

#include "base/feature.h"
#include "base/text.h"

size_t rm_counter_plan_room(const struct rm_counter_wish *wish)
{
    return wish->is_default || wish->event_count > 0 ? 1 : 0;
}

void rm_counter_plan_make(struct rm_counter_plan *plan, const struct rm_counter_wish *wish,
                          const struct rm_block *block, uint64_t trust_ticks)
{
    (void)wish;
    *plan = (struct rm_counter_plan){.trust_ticks = trust_ticks};
    if (block->header->sizes.scope_counters == 0) {
        return;
    }
    struct rm_counter_record *record = rm_scope_counter_at(block, 0);
    *record =
        (struct rm_counter_record){.status = rm_feature_need(RM_FEATURE_COUNTERS), .scale = 1.0};
    (void)rm_text_set(record->name, sizeof record->name, "counters");
    (void)rm_text_set(record->unit, sizeof record->unit, "1");
    (void)rm_text_set(record->reason, sizeof record->reason, resmon_last_error());
}

bool rm_thread_counters_read(struct rm_thread_counters *counters,
                             const struct rm_counter_plan *plan, uint64_t now,
                             struct rm_perf_group *ret_group)
{
    (void)counters, (void)plan, (void)now, (void)ret_group;
    return false;
}

void rm_thread_counters_time(const struct rm_perf_group *begin, const struct rm_perf_group *end,
                             struct rm_counted_call *ret_call)
{
    (void)begin, (void)end, (void)ret_call;
}

void rm_thread_counters_note(struct rm_thread_counters *counters)
{
    (void)counters;
}

void rm_thread_counters_close(struct rm_thread_counters *counters)
{
    (void)counters;
}

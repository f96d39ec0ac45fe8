/* SPDX-License-Identifier: MIT */
#include "engine/delivery.h"

#include "base/clock.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "os/outfile.h"

/* Thread names; the index is the lane. */
enum { LANE_LOCAL, LANE_REMOTE };
static const char *const thread_names[RM_LANES] = {"rm-send", "rm-remote"};

resmon_status rm_delivery_add(struct rm_delivery *delivery, const resmon_sink_ops *ops,
                              void *context)
{
    resmon_sink_ops known;
    resmon_status status = rm_struct_take(ops, RM_STRUCT_SIZE(resmon_sink_ops), &known);
    if (status != RESMON_OK) {
        return status;
    }
    if ((known.flags & ~RESMON_SINK_REMOTE) != 0) {
        return rm_error(RESMON_EINVAL, "flags of a sink: unknown bits 0x%llx",
                        (unsigned long long)known.flags);
    }
    if ((known.parts & ~RESMON_PART_ALL) != 0) {
        return rm_error(RESMON_EINVAL, "parts of a sink: unknown bits 0x%llx",
                        (unsigned long long)(known.parts & ~RESMON_PART_ALL));
    }
    if (delivery->sink_count == RM_MAX_SINKS) {
        return rm_error(RESMON_ENOSPC, "a monitor has at most %d sinks", RM_MAX_SINKS);
    }
    size_t which = (known.flags & RESMON_SINK_REMOTE) != 0 ? LANE_REMOTE : LANE_LOCAL;
    if (delivery->lanes[which] == NULL) {
        delivery->lanes[which] = rm_lane_new(thread_names[which]);
    }
    struct rm_lane *lane = delivery->lanes[which];
    if (lane == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a sink");
    }
    delivery->sinks[delivery->sink_count].lane = lane;
    delivery->sinks[delivery->sink_count].index = rm_lane_add(lane, &known, context);
    delivery->sink_count++;
    return RESMON_OK;
}

void rm_delivery_own(struct rm_delivery *delivery, const struct rm_own_sink *own)
{
    size_t last = delivery->sink_count - 1;
    rm_lane_own(delivery->sinks[last].lane, delivery->sinks[last].index, own);
    delivery->sinks[last].name = own->name;
    delivery->sinks[last].file = own->file;
}

const char *rm_delivery_writer(const struct rm_delivery *delivery, const char *path)
{
    for (size_t i = 0; i < delivery->sink_count; i++) {
        const char *file = delivery->sinks[i].file;
        if (file != NULL && rm_outfile_is_same(file, path)) {
            return delivery->sinks[i].name;
        }
    }
    return NULL;
}

resmon_status rm_delivery_start(struct rm_delivery *delivery, const struct rm_lane_terms *terms)
{
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < RM_LANES && status == RESMON_OK; i++) {
        if (delivery->lanes[i] != NULL) {
            status = rm_lane_start(delivery->lanes[i], terms);
        }
    }
    return status;
}

bool rm_delivery_wants_rows(const struct rm_delivery *delivery)
{
    bool wants = false;
    for (size_t i = 0; i < RM_LANES; i++) {
        wants = wants || (delivery->lanes[i] != NULL && rm_lane_wants_rows(delivery->lanes[i]));
    }
    return wants;
}

void rm_delivery_row(void *context, int64_t t_ns, const double *values)
{
    struct rm_delivery *delivery = context;
    for (size_t i = 0; i < RM_LANES; i++) {
        if (delivery->lanes[i] != NULL) {
            rm_lane_row(delivery->lanes[i], t_ns, values);
        }
    }
}

void rm_delivery_tag(void *context, int64_t t_ns, const char *label)
{
    struct rm_delivery *delivery = context;
    for (size_t i = 0; i < RM_LANES; i++) {
        if (delivery->lanes[i] != NULL) {
            rm_lane_tag(delivery->lanes[i], t_ns, label);
        }
    }
}

uint64_t rm_delivery_dropped(void *context)
{
    const struct rm_delivery *delivery = context;
    uint64_t dropped = 0;
    for (size_t i = 0; i < RM_LANES; i++) {
        dropped += delivery->lanes[i] != NULL ? rm_lane_dropped(delivery->lanes[i]) : 0;
    }
    return dropped;
}

uint64_t rm_delivery_parts(const struct rm_delivery *delivery)
{
    uint64_t parts = 0;
    for (size_t i = 0; i < RM_LANES; i++) {
        parts |= delivery->lanes[i] != NULL ? rm_lane_parts(delivery->lanes[i]) : 0;
    }
    return parts;
}

uint64_t rm_delivery_draft_parts(const struct rm_delivery *delivery)
{
    uint64_t parts = 0;
    for (size_t i = 0; i < RM_LANES; i++) {
        parts |= delivery->lanes[i] != NULL ? rm_lane_draft_parts(delivery->lanes[i]) : 0;
    }
    return parts;
}

uint64_t rm_delivery_draft(struct rm_delivery *delivery, resmon_run *run, uint64_t timeout_ms)
{
    int64_t begin_ns = rm_clock_monotonic_ns();
    int64_t until_ns = begin_ns + (int64_t)timeout_ms * RM_NS_PER_MS / 4;
    for (size_t i = 0; i < RM_LANES; i++) {
        if (delivery->lanes[i] != NULL && rm_lane_draft_parts(delivery->lanes[i]) != 0) {
            rm_lane_draft(delivery->lanes[i], run, until_ns);
        }
    }
    uint64_t took_ms = (uint64_t)((rm_clock_monotonic_ns() - begin_ns) / RM_NS_PER_MS);
    return took_ms < timeout_ms ? timeout_ms - took_ms : 0;
}

uint64_t rm_delivery_cpu_ns(void *context)
{
    const struct rm_delivery *delivery = context;
    uint64_t cpu_ns = 0;
    for (size_t i = 0; i < RM_LANES; i++) {
        cpu_ns += delivery->lanes[i] != NULL ? rm_lane_cpu_ns(delivery->lanes[i]) : 0;
    }
    return cpu_ns;
}

/* Sinks have a little less time than the caller, so that the library can free what was not
 * delivered. */
static int64_t sinks_deadline(int64_t now_ns, int64_t timeout_ns)
{
    return now_ns + timeout_ns - timeout_ns / 8;
}

resmon_status rm_delivery_stop(struct rm_delivery *delivery, resmon_run *run, uint64_t timeout_ms)
{
    int64_t now_ns = rm_clock_monotonic_ns();
    int64_t timeout_ns = (int64_t)timeout_ms * RM_NS_PER_MS;
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < RM_LANES; i++) {
        if (delivery->lanes[i] != NULL) {
            rm_lane_finish(delivery->lanes[i], run, sinks_deadline(now_ns, timeout_ns));
        }
    }
    for (size_t i = 0; i < RM_LANES; i++) {
        if (delivery->lanes[i] != NULL) {
            resmon_status ended = rm_lane_wait(delivery->lanes[i], now_ns + timeout_ns);
            status = status == RESMON_OK ? ended : status;
        }
    }
    return status;
}

bool rm_delivery_is_this_thread(const struct rm_delivery *delivery)
{
    bool is_one = false;
    for (size_t i = 0; i < RM_LANES; i++) {
        is_one =
            is_one || (delivery->lanes[i] != NULL && rm_lane_is_this_thread(delivery->lanes[i]));
    }
    return is_one;
}

resmon_status rm_delivery_get(struct rm_delivery *delivery, size_t index,
                              resmon_sink_info *ret_info)
{
    if (index >= delivery->sink_count) {
        return rm_error(RESMON_ENOENT, "there is no sink %zu: the monitor has %zu", index,
                        delivery->sink_count);
    }
    rm_lane_get(delivery->sinks[index].lane, delivery->sinks[index].index, ret_info);
    return RESMON_OK;
}

void rm_delivery_close(struct rm_delivery *delivery, bool is_inherited)
{
    for (size_t i = 0; i < RM_LANES; i++) {
        if (is_inherited) {
            rm_lane_forget(delivery->lanes[i]);
        } else {
            rm_lane_free(delivery->lanes[i]);
        }
        delivery->lanes[i] = NULL;
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * Owns the delivery of samples to a monitor's sinks, on two lanes: for sinks on this machine,
 * and for sinks that wait for servers.
 */
#ifndef RM_ENGINE_DELIVERY_H
#define RM_ENGINE_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/sink.h>

#include "engine/lane.h"

#define RM_LANES 2

struct rm_delivery {
    struct rm_lane *lanes[RM_LANES]; /* NULL: no sink on the lane */
    struct {
        struct rm_lane *lane;
        size_t index;
        const char *name, *file; /* of the library's own sinks; file NULL: none */
    } sinks[RM_MAX_SINKS];
    size_t sink_count;
};

/** Adds a sink.  RESMON_EINVAL: a short or unknown table, RESMON_ENOSPC: past RM_MAX_SINKS;
 * RESMON_ENOMEM. */
resmon_status rm_delivery_add(struct rm_delivery *delivery, const resmon_sink_ops *ops,
                              void *context);

/** Marks the last added sink as the library's own. */
void rm_delivery_own(struct rm_delivery *delivery, const struct rm_own_sink *own);

/** The name of the sink that writes the file `path`; NULL: none. */
const char *rm_delivery_writer(const struct rm_delivery *delivery, const char *path);

resmon_status rm_delivery_start(struct rm_delivery *delivery, const struct rm_lane_terms *terms);

/** Whether a sink wants rows. */
bool rm_delivery_wants_rows(const struct rm_delivery *delivery);

/** On the sampling thread: queues a row or a tag. */
void rm_delivery_row(void *delivery, int64_t t_ns, const double *values);
void rm_delivery_tag(void *delivery, int64_t t_ns, const char *label);
uint64_t rm_delivery_dropped(void *delivery);

/** CPU time of the lanes' threads so far.  Any thread. */
uint64_t rm_delivery_cpu_ns(void *delivery);

/** Parts of the finished run that the sinks read (RESMON_PART_*); and parts of a draft, the
 * finished run before symbolization; 0: no sink wants one. */
uint64_t rm_delivery_parts(const struct rm_delivery *delivery);
uint64_t rm_delivery_draft_parts(const struct rm_delivery *delivery);

/**
 * After the last sample: passes a draft of the finished run to the sinks that want one, and
 * waits for at most a quarter of the time; slower sinks go on.  Returns the remaining time.
 */
uint64_t rm_delivery_draft(struct rm_delivery *delivery, resmon_run *run, uint64_t timeout_ms);

/**
 * After the last sample: passes the finished run (NULL: none) to the sinks, and waits for them.
 * Returns the status of the first sink that failed at the end, or RESMON_ETIMEDOUT.
 */
resmon_status rm_delivery_stop(struct rm_delivery *delivery, resmon_run *run, uint64_t timeout_ms);

/** Whether this is the thread of a sink. */
bool rm_delivery_is_this_thread(const struct rm_delivery *delivery);

/** The state of a sink.  RESMON_ENOENT: past the end. */
resmon_status rm_delivery_get(struct rm_delivery *delivery, size_t index,
                              resmon_sink_info *ret_info);

/** Closes the sinks (except in a forked child) and frees. */
void rm_delivery_close(struct rm_delivery *delivery, bool is_inherited);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the way from samples to the sinks of a monitor: which sink is on which of two lanes, the
 * one for sinks of this machine and the one for those that wait for servers.
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
    struct rm_lane *lanes[RM_LANES]; /* NULL: it has no sink */
    struct {
        struct rm_lane *lane;
        size_t index;
        const char *name, *file; /* of the library's own; file NULL: it has none */
    } sinks[RM_MAX_SINKS];
    size_t sink_count;
};

/** RESMON_EINVAL for a short or foreign table, RESMON_ENOSPC past RM_MAX_SINKS; RESMON_ENOMEM. */
resmon_status rm_delivery_add(struct rm_delivery *delivery, const resmon_sink_ops *ops,
                              void *context);

/** The sink that was added last is the library's own. */
void rm_delivery_own(struct rm_delivery *delivery, const struct rm_own_sink *own);

/** The name of the sink that writes the file `path`; NULL: none does. */
const char *rm_delivery_writer(const struct rm_delivery *delivery, const char *path);

resmon_status rm_delivery_start(struct rm_delivery *delivery, const struct rm_lane_terms *terms);

/** Whether rm_delivery_row() does anything. */
bool rm_delivery_wants_rows(const struct rm_delivery *delivery);

/** On the sampling thread: puts a row or a tag into the queues. */
void rm_delivery_row(void *delivery, int64_t t_ns, const double *values);
void rm_delivery_tag(void *delivery, int64_t t_ns, const char *label);
uint64_t rm_delivery_dropped(void *delivery);

/** CPU time of its threads so far.  Any thread. */
uint64_t rm_delivery_cpu_ns(void *delivery);

/** Parts of the finished run that the sinks look at (RESMON_PART_*); and those of a draft, which is
 * the finished run without names: 0: no sink wants one. */
uint64_t rm_delivery_parts(const struct rm_delivery *delivery);
uint64_t rm_delivery_draft_parts(const struct rm_delivery *delivery);

/**
 * After the last sample: shows the finished run, which is not whole yet, to the sinks that want a
 * draft, and waits for them: a quarter of the time at most.  One that takes longer goes on.  The
 * time that is left.
 */
uint64_t rm_delivery_draft(struct rm_delivery *delivery, resmon_run *run, uint64_t timeout_ms);

/**
 * After the last sample: shows the sinks the finished run (NULL: none), and waits for them.  The
 * code of the first that failed at the end, or RESMON_ETIMEDOUT.
 */
resmon_status rm_delivery_stop(struct rm_delivery *delivery, resmon_run *run, uint64_t timeout_ms);

/** Whether this is the thread of a sink. */
bool rm_delivery_is_this_thread(const struct rm_delivery *delivery);

/** RESMON_ENOENT past the end. */
resmon_status rm_delivery_get(struct rm_delivery *delivery, size_t index,
                              resmon_sink_info *ret_info);

/** Closes the sinks (not in the child of a fork) and frees. */
void rm_delivery_close(struct rm_delivery *delivery, bool is_inherited);

#endif

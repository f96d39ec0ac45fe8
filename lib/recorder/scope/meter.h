/* SPDX-License-Identifier: MIT */
/*
 * Owns what scopes measure besides wall time: a table of meters, each read at both ends of a
 * scope. Expensive meters are read for a part of the instances only.  Meters that sum (CPU
 * times, I/O, counters) sample instances at random (store/pace.h); peaks are measured where they
 * are affordable.
 */
#ifndef RM_SCOPE_METER_H
#define RM_SCOPE_METER_H

#include <stdint.h>

#include <resmon/monitor.h>

#include "os/kept.h"
#include "os/own_usage.h"
#include "scope/peak.h"
#include "scope/thread_counters.h"
#include "store/pace.h"
#include "store/scope_records.h"
#include "store/scope_tree.h"

#define RM_METERS (RM_TALLIES + 2) /* the meters that sum, peaks and counters */

/* The last checkpoint of a line in an open scope. */
struct rm_line_mark {
    uint64_t token; /* instance that the checkpoint is in */
    uint64_t ticks;
    uint64_t rss; /* B; 0: not known */
};

/* State of the meters of an open scope, from its begin. */
struct rm_meter_frame {
    uint32_t taken; /* RESMON_METER_* that measure this instance */
    uint32_t forced;
    uint32_t without;         /* RESMON_METER_* that never measure here; set once */
    uint64_t cost[RM_METERS]; /* ticks taken by the begin */
    double chance[RM_METERS]; /* sampling probability of the instance, for sampled meters */
    uint64_t now;             /* time when the current meter began its work */
    rm_node_ref node;
    struct rm_thread_counters *counters; /* of the thread; set once */
    struct rm_perf_group counts;
    uint64_t begun[RM_FIELDS]; /* of the meters that sum */
    struct rm_tree_cpu tree;   /* of PCPU */
    struct rm_peak_watch watch;
    uint64_t rss_peak; /* of the instance, after its end */
    struct rm_line_mark line;
};

/* What the scopes of a session share. */
struct rm_metering {
    uint32_t meters;   /* RESMON_METER_* except wall */
    struct rm_kept io; /* I/O counters of the process */
    /* number of tallies up to the last one in use, for copying at an end */
    size_t last_tally;
    uint64_t process_cost_ns; /* as cpu_cost_ns, for the process's clock */
    /* CPU time that an empty instance would show: the cost of reading the clock */
    uint64_t cpu_cost_ns;
    struct rm_pace_terms terms;  /* upper bounds of the cost of each meter at a node */
    struct rm_block block;       /* block that has the values */
    struct rm_counter_plan plan; /* used with RESMON_METER_PERF */
};

/** Prepares `meters`.  Meters that are not possible, or for which the block lacks capacity, are
 * removed. */
void rm_metering_open(struct rm_metering *metering, uint64_t meters, double max_share,
                      const struct rm_block *block);

/** Prepares counters, for which the block has capacity. */
void rm_metering_count(struct rm_metering *metering, const struct rm_counter_wish *wish);
void rm_metering_close(struct rm_metering *metering);

/** Begins the meters that are due at this node, and the `forced` ones.  Returns the time in ticks
 * when that was done; 0: there was nothing to do. */
uint64_t rm_meters_begin(const struct rm_metering *metering, struct rm_scope_node *node,
                         struct rm_meter_frame *frame, uint32_t forced);

/** Ends the meters and adds the differences to the node; the instance lasted `ticks`. */
void rm_meters_end(const struct rm_metering *metering, struct rm_scope_node *node,
                   struct rm_meter_frame *frame, uint64_t ticks);

/** Abandons an open frame without counting it. */
void rm_meters_abandon(struct rm_meter_frame *frame);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns what scopes measure besides wall time: a table of meters, each taken at the ends of a scope,
 * and takes an expensive one at some of the instances only: what is summed (CPU times, I/O,
 * counters) at instances that are drawn at random (store/pace.h), peaks where they are affordable.
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

#define RM_METERS (RM_TALLIES + 2) /* and of peaks, and of counters */

/* The latest checkpoint of a line in one open scope. */
struct rm_line_mark {
    uint64_t token; /* of the instance that it was in */
    uint64_t ticks;
    uint64_t rss; /* B; 0: not known */
};

/* What the meters of one open scope remember from its beginning. */
struct rm_meter_frame {
    uint32_t taken; /* RESMON_METER_* */
    uint32_t forced;
    uint32_t without;         /* RESMON_METER_* that are never taken here; set once */
    uint64_t cost[RM_METERS]; /* ticks that the beginning took */
    double chance[RM_METERS]; /* with which it was drawn, of meters that are */
    uint64_t now;             /* when the meter at work began its work */
    rm_node_ref node;
    struct rm_thread_counters *counters; /* of the thread; set once */
    struct rm_perf_group counts;
    uint64_t begun[RM_FIELDS]; /* of the meters that sum, */
    struct rm_tree_cpu tree;   /* but of PCPU */
    struct rm_peak_watch watch;
    uint64_t rss_peak; /* of the instance, after its end */
    struct rm_line_mark line;
};

/* What all scopes of a session have in common. */
struct rm_metering {
    uint32_t meters;             /* RESMON_METER_*, wall left out */
    struct rm_kept io;           /* the process's I/O counters */
    size_t last_tally;           /* of the meters that sum, for what is copied at an end */
    uint64_t process_cost_ns;    /* as cpu_cost_ns, of the process's clock */
    uint64_t cpu_cost_ns;        /* what an empty instance would find, for reading the clock */
    struct rm_pace_terms terms;  /* what each meter may cost at a node */
    struct rm_block block;       /* where figures go */
    struct rm_counter_plan plan; /* with RESMON_METER_PERF */
};

/** Makes ready for `meters`; those that cannot be, or for which the block has no room, are taken
 * off. */
void rm_metering_open(struct rm_metering *metering, uint64_t meters, double max_share,
                      const struct rm_block *block);

/** Makes ready for counters, for which the block has room. */
void rm_metering_count(struct rm_metering *metering, const struct rm_counter_wish *wish);
void rm_metering_close(struct rm_metering *metering);

/** Takes the meters that are due at this node, and those `forced`; when it was done, in ticks, or
 * 0: there was nothing to do. */
uint64_t rm_meters_begin(const struct rm_metering *metering, struct rm_scope_node *node,
                         struct rm_meter_frame *frame, uint32_t forced);

/** Takes them again and adds the differences to the node; the instance lasted `ticks`. */
void rm_meters_end(const struct rm_metering *metering, struct rm_scope_node *node,
                   struct rm_meter_frame *frame, uint64_t ticks);

/** Gives up on an open frame without counting it. */
void rm_meters_abandon(struct rm_meter_frame *frame);

#endif

/* SPDX-License-Identifier: MIT */
#include "scope/meter.h"

#include <string.h>
#include <unistd.h>

#include <resmon/monitor.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "sys/own_io.h"

_Static_assert(RM_OWN_IO_FIELDS == RM_SCOPE_IO_FIELDS, "the I/O of a scope is that of the process");

struct meter {
    const char *name;
    uint32_t bit;
    void (*begin)(const struct rm_metering *metering, struct rm_meter_frame *frame);
    void (*end)(const struct rm_metering *metering, struct rm_meter_frame *frame,
                struct rm_scope_meters *totals);
};

static void begin_cpu(const struct rm_metering *metering, struct rm_meter_frame *frame)
{
    (void)metering;
    frame->cpu_ns = (uint64_t)rm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void end_cpu(const struct rm_metering *metering, struct rm_meter_frame *frame,
                    struct rm_scope_meters *totals)
{
    (void)metering;
    uint64_t now = (uint64_t)rm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    totals->cpu_ns += now > frame->cpu_ns ? now - frame->cpu_ns : 0;
    totals->cpu_calls++;
}

static void begin_rss(const struct rm_metering *metering, struct rm_meter_frame *frame)
{
    (void)metering;
    rm_peak_begin(&frame->watch);
}

static void end_rss(const struct rm_metering *metering, struct rm_meter_frame *frame,
                    struct rm_scope_meters *totals)
{
    (void)metering;
    frame->rss_peak = rm_peak_end(&frame->watch);
    totals->rss_peak = frame->rss_peak > totals->rss_peak ? frame->rss_peak : totals->rss_peak;
    totals->rss_sampled += rm_peak_is_exact() ? 0 : 1;
    totals->rss_calls++;
}

static void begin_io(const struct rm_metering *metering, struct rm_meter_frame *frame)
{
    if (!rm_own_io_read(&metering->io, frame->io)) {
        frame->taken &= ~(uint32_t)RESMON_METER_IO;
    }
}

static void end_io(const struct rm_metering *metering, struct rm_meter_frame *frame,
                   struct rm_scope_meters *totals)
{
    uint64_t now[RM_SCOPE_IO_FIELDS];
    if (!rm_own_io_read(&metering->io, now)) {
        return;
    }
    for (size_t i = 0; i < RM_SCOPE_IO_FIELDS; i++) {
        totals->io[i] += now[i] > frame->io[i] ? now[i] - frame->io[i] : 0;
    }
    totals->io_calls++;
}

/* Begun in this order and ended in the reverse one: CPU time is taken innermost, so that it does
 * not count the others. */
static const struct meter meters[RM_METERS] = {
    {"rss", (uint32_t)RESMON_METER_RSS, begin_rss, end_rss},
    {"io", (uint32_t)RESMON_METER_IO, begin_io, end_io},
    {"cpu", (uint32_t)RESMON_METER_CPU, begin_cpu, end_cpu},
};

void rm_metering_open(struct rm_metering *metering, uint64_t wanted, double max_share)
{
    *metering = (struct rm_metering){
        .meters = (uint32_t)(wanted & ~RESMON_METER_WALL),
        .max_share = max_share,
    };
    if ((wanted & RESMON_METER_IO) != 0) {
        if (!rm_own_io_open(&metering->io)) {
            metering->meters &= ~(uint32_t)RESMON_METER_IO;
        }
    }
    if ((wanted & RESMON_METER_RSS) != 0) {
        rm_peak_open();
    }
}

void rm_metering_close(struct rm_metering *metering)
{
    rm_kept_close(&metering->io);
}

static bool is_due(struct rm_meter_pace *pace)
{
    if (pace->left > 0) {
        pace->left--;
        return false;
    }
    return true;
}

void rm_meters_begin(const struct rm_metering *metering, struct rm_scope_node *node,
                     struct rm_meter_frame *frame, uint32_t forced)
{
    frame->taken = 0;
    frame->forced = forced;
    for (size_t i = 0; i < RM_METERS; i++) {
        uint32_t bit = meters[i].bit;
        if (((metering->meters & bit) != 0 && is_due(&node->pace[i])) || (forced & bit) != 0) {
            uint64_t before = rm_clock_ticks();
            frame->taken |= bit;
            meters[i].begin(metering, frame);
            frame->cost[i] = rm_clock_ticks() - before;
        }
    }
}

/* A meter may cost `max_share` of its scope's mean time; beyond that it is taken 1 in k. */
static void pace_meter(const struct rm_metering *metering, const struct rm_scope_wall *wall,
                       struct rm_meter_pace *pace, uint64_t cost)
{
    uint64_t bounded = cost < UINT32_MAX ? cost : UINT32_MAX;
    pace->cost =
        pace->cost == 0 ? (uint32_t)bounded : (uint32_t)(((uint64_t)pace->cost * 7 + bounded) / 8);
    double mean = wall->calls > 0 ? (double)wall->total / (double)wall->calls : 0.0;
    double allowed = metering->max_share * mean;
    double every = allowed > 0.0 ? (double)pace->cost / allowed : 1.0;
    pace->every = every > 65535.0 ? UINT16_MAX : every > 1.0 ? (uint16_t)(every + 0.999) : 1;
    pace->left = (uint16_t)(pace->every - 1);
}

void rm_meters_end(const struct rm_metering *metering, struct rm_scope_node *node,
                   struct rm_meter_frame *frame)
{
    if (frame->taken == 0) {
        return;
    }
    const struct rm_scope_wall *wall = &node->wall[node->wall_version & 1];
    struct rm_scope_meters totals = rm_node_meters(node);
    for (size_t i = RM_METERS; i-- > 0;) {
        if ((frame->taken & meters[i].bit) != 0) {
            uint64_t before = rm_clock_ticks();
            meters[i].end(metering, frame, &totals);
            uint64_t cost = frame->cost[i] + rm_clock_ticks() - before;
            totals.cost_ticks += cost;
            if ((frame->forced & meters[i].bit) == 0) {
                pace_meter(metering, wall, &node->pace[i], cost);
            }
        }
    }
    rm_node_publish_meters(node, &totals);
    frame->taken = 0;
}

void rm_meters_abandon(struct rm_meter_frame *frame)
{
    if ((frame->taken & RESMON_METER_RSS) != 0) {
        rm_peak_abandon(&frame->watch);
    }
    frame->taken = 0;
}

const char *rm_meter_name(size_t index, uint64_t *ret_bit)
{
    static const struct {
        const char *name;
        uint64_t bit;
    } names[] = {{"wall", RESMON_METER_WALL},
                 {"cpu", RESMON_METER_CPU},
                 {"rss", RESMON_METER_RSS},
                 {"io", RESMON_METER_IO}};
    if (index >= RM_ARRAY_LEN(names)) {
        return NULL;
    }
    *ret_bit = names[index].bit;
    return names[index].name;
}

uint64_t rm_meter_by_name(const char *name, size_t length)
{
    uint64_t bit;
    const char *known;
    for (size_t i = 0; (known = rm_meter_name(i, &bit)) != NULL; i++) {
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            return bit;
        }
    }
    return 0;
}

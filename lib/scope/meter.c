/* SPDX-License-Identifier: MIT */
#include "scope/meter.h"

#include <string.h>
#include <unistd.h>

#include <resmon/monitor.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "sys/own_io.h"

/* A meter's first instances at a node are free of its share of time: short ones that come first
 * must not keep it from the long ones after them. */
#define FREE_NS 100000.0

#define PERF       2 /* its place among the meters */
#define NOTE_CALLS 64

struct meter {
    uint32_t bit;
    void (*begin)(const struct rm_metering *metering, struct rm_meter_frame *frame);
    void (*end)(const struct rm_metering *metering, struct rm_meter_frame *frame, uint64_t ticks,
                struct rm_scope_meters *totals);
};

static void begin_cpu(const struct rm_metering *metering, struct rm_meter_frame *frame)
{
    (void)metering;
    frame->cpu_ns = (uint64_t)rm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    frame->taken &= frame->cpu_ns != 0 ? ~UINT32_C(0) : ~(uint32_t)RESMON_METER_CPU;
}

static void end_cpu(const struct rm_metering *metering, struct rm_meter_frame *frame,
                    uint64_t ticks, struct rm_scope_meters *totals)
{
    uint64_t begin = frame->cpu_ns + metering->cpu_cost_ns;
    uint64_t now = (uint64_t)rm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    totals->cpu_ns += now > begin ? now - begin : 0;
    totals->cpu_wall += ticks;
    totals->cpu_calls++;
}

static void begin_rss(const struct rm_metering *metering, struct rm_meter_frame *frame)
{
    (void)metering;
    rm_peak_begin(&frame->watch);
}

static void end_rss(const struct rm_metering *metering, struct rm_meter_frame *frame,
                    uint64_t ticks, struct rm_scope_meters *totals)
{
    (void)metering;
    (void)ticks;
    frame->rss_peak = rm_peak_end(&frame->watch);
    totals->rss_peak = frame->rss_peak > totals->rss_peak ? frame->rss_peak : totals->rss_peak;
    totals->rss_sampled += rm_peak_is_exact() ? 0 : 1;
    totals->rss_calls += frame->rss_peak != 0 ? 1 : 0; /* else it cannot be read here */
}

static void begin_io(const struct rm_metering *metering, struct rm_meter_frame *frame)
{
    if (!rm_own_io_read(&metering->io, frame->io)) {
        frame->taken &= ~(uint32_t)RESMON_METER_IO;
    }
}

static void end_io(const struct rm_metering *metering, struct rm_meter_frame *frame, uint64_t ticks,
                   struct rm_scope_meters *totals)
{
    uint64_t now[RM_IO_FIELDS];
    if (!rm_own_io_read(&metering->io, now)) {
        return;
    }
    for (size_t i = 0; i < RM_IO_FIELDS; i++) {
        totals->io[i] += now[i] > frame->io[i] ? now[i] - frame->io[i] : 0;
    }
    totals->io_wall += ticks;
    totals->io_calls++;
}

static void begin_perf(const struct rm_metering *metering, struct rm_meter_frame *frame)
{
    if (!rm_thread_counters_read(frame->counters, &metering->plan, frame->now, &frame->counts)) {
        frame->taken &= ~(uint32_t)RESMON_METER_PERF;
    }
}

/* Its own record, beside the node's. */
static void end_perf(const struct rm_metering *metering, struct rm_meter_frame *frame,
                     uint64_t ticks, struct rm_scope_meters *totals)
{
    const struct rm_counter_plan *plan = &metering->plan;
    struct rm_perf_group now;
    (void)totals;
    /* At once where I/O is looked at, else now and then. */
    if ((metering->meters & RESMON_METER_IO) != 0 || frame->counters->calls >= NOTE_CALLS) {
        rm_thread_counters_note(frame->counters);
    }
    if (!rm_thread_counters_read(frame->counters, plan, frame->now, &now)) {
        return;
    }
    struct rm_scope_counts instance = {
        .calls = 1, .wall = ticks, .cost_ticks = 2 * frame->cost[PERF]};
    rm_thread_counters_time(&frame->counts, &now, &instance);
    for (size_t i = 0; i < plan->count; i++) {
        instance.values[plan->places[i]] = now.values[i] - frame->counts.values[i];
    }
    rm_scope_counts_add(&metering->block, frame->node, &instance);
}

/* Begun in this order and ended in the reverse one: CPU time is taken innermost, so that it does
 * not count the others. */
static const struct meter meters[RM_METERS] = {
    {(uint32_t)RESMON_METER_RSS, begin_rss, end_rss},
    {(uint32_t)RESMON_METER_IO, begin_io, end_io},
    [PERF] = {(uint32_t)RESMON_METER_PERF, begin_perf, end_perf},
    {(uint32_t)RESMON_METER_CPU, begin_cpu, end_cpu},
};

static uint64_t measure_cpu_cost(void)
{
    int64_t lowest = INT64_MAX;
    for (int i = 0; i < 16; i++) {
        int64_t before = rm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        int64_t cost = rm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
        lowest = cost < lowest ? cost : lowest;
    }
    return (uint64_t)lowest;
}

static uint64_t ticks_of_ns(double ns)
{
    struct rm_clock_pair from = rm_clock_read_pair();
    struct rm_clock_pair to = from;
    while (to.ns - from.ns < 20000) {
        to = rm_clock_read_pair();
    }
    return (uint64_t)(ns / rm_clock_ns_per_tick(from, to));
}

void rm_metering_open(struct rm_metering *metering, uint64_t wanted, double max_share)
{
    *metering = (struct rm_metering){
        .meters = (uint32_t)(wanted & ~(RESMON_METER_WALL | RESMON_METER_PERF)),
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
    if ((wanted & RESMON_METER_CPU) != 0) {
        metering->cpu_cost_ns = measure_cpu_cost();
    }
    if (wanted != RESMON_METER_WALL) {
        metering->free_ticks = ticks_of_ns(FREE_NS);
    }
}

void rm_metering_count(struct rm_metering *metering, const struct rm_counter_wish *wish,
                       const struct rm_block *block)
{
    metering->block = *block;
    rm_counter_plan_make(&metering->plan, wish, block, metering->free_ticks);
    metering->meters |= metering->plan.count > 0 ? (uint32_t)RESMON_METER_PERF : 0;
}

void rm_metering_close(struct rm_metering *metering)
{
    rm_kept_close(&metering->io);
}

/* At each node a meter may cost `max_share` of the time that was spent there so far. */
static bool is_due(const struct rm_metering *metering, const struct rm_scope_node *node,
                   size_t meter)
{
    const struct rm_scope_wall *wall = &node->wall[node->wall_version & 1];
    return (double)node->spent[meter] <=
           (double)metering->free_ticks + metering->max_share * (double)wall->total;
}

uint64_t rm_meters_begin(const struct rm_metering *metering, struct rm_scope_node *node,
                         struct rm_meter_frame *frame, uint32_t forced)
{
    uint64_t now = 0;
    frame->taken = 0;
    frame->forced = forced;
    if ((metering->meters & RESMON_METER_PERF) != 0) {
        frame->node = rm_node_ref_to(&metering->block, node);
    }
    for (size_t i = 0; i < RM_METERS; i++) {
        uint32_t bit = meters[i].bit;
        if (((metering->meters & bit) != 0 && is_due(metering, node, i)) || (forced & bit) != 0) {
            now = now != 0 ? now : rm_clock_ticks();
            frame->taken |= bit;
            frame->now = now;
            meters[i].begin(metering, frame);
            now = rm_clock_ticks();
            frame->cost[i] = now - frame->now;
        }
    }
    return now;
}

void rm_meters_end(const struct rm_metering *metering, struct rm_scope_node *node,
                   struct rm_meter_frame *frame, uint64_t ticks)
{
    if (frame->taken == 0) {
        return;
    }
    bool has_totals = (frame->taken & ~(uint32_t)RESMON_METER_PERF) != 0; /* it has its own */
    struct rm_scope_meters totals = {0};
    if (has_totals) {
        totals = rm_node_meters(node);
    }
    frame->now = rm_clock_ticks();
    for (size_t i = RM_METERS; i-- > 0;) {
        if ((frame->taken & meters[i].bit) != 0) {
            meters[i].end(metering, frame, ticks, &totals);
            uint64_t now = rm_clock_ticks();
            uint64_t cost = frame->cost[i] + now - frame->now;
            frame->now = now;
            totals.cost_ticks += i != PERF ? cost : 0;
            node->spent[i] += (frame->forced & meters[i].bit) == 0 ? cost : 0;
        }
    }
    if (has_totals) {
        rm_node_publish_meters(node, &totals);
    }
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
                 {"io", RESMON_METER_IO},
                 {"perf", RESMON_METER_PERF}};
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

/* SPDX-License-Identifier: MIT */
#include "scope/meter.h"

#include <string.h>
#include <unistd.h>

#include <resmon/monitor.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "os/own_io.h"
#include "store/scope_records.h"

/* The first instances of a meter at a node are not limited, so that short ones at the begin do not
 * exclude long ones later. */
#define FREE_NS 100000.0

#define PERF       2 /* index among the meters */
#define NOTE_CALLS 64

/* Results at the end of an instance. */
struct ending {
    uint64_t ticks;                /* duration of the instance */
    struct rm_scope_meters totals; /* of the peak meter, including this instance */
    uint64_t amounts[RM_FIELDS];   /* of the meters that sum */
    uint32_t summed;               /* which of them have values */
    bool had_descendants;          /* descendants were alive at either end */
};

/* Where a meter's results go: the node, its tallies, or its counts. */
enum target { NODE, TALLIES, COUNTS };

struct meter {
    uint32_t bit;
    enum target target;
    size_t tally; /* RM_TALLY_*, for TALLIES */
    void (*begin)(const struct rm_metering *metering, struct rm_meter_frame *frame);
    void (*end)(const struct rm_metering *metering, struct rm_meter_frame *frame,
                struct ending *ending);
};

static void begin_cpu(const struct rm_metering *metering, struct rm_meter_frame *frame)
{
    (void)metering;
    frame->begun[RM_FIELD_CPU_NS] = (uint64_t)rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    frame->taken &= frame->begun[RM_FIELD_CPU_NS] != 0 ? ~UINT32_C(0) : ~(uint32_t)RESMON_METER_CPU;
}

static void end_cpu(const struct rm_metering *metering, struct rm_meter_frame *frame,
                    struct ending *ending)
{
    uint64_t begin = frame->begun[RM_FIELD_CPU_NS] + metering->cpu_cost_ns;
    uint64_t now = (uint64_t)rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    ending->amounts[RM_FIELD_CPU_NS] = now > begin ? now - begin : 0;
    ending->summed |= (uint32_t)RESMON_METER_CPU;
}

static void begin_pcpu(const struct rm_metering *metering, struct rm_meter_frame *frame)
{
    (void)metering;
    frame->tree = rm_tree_cpu_at_begin();
    frame->taken &= frame->tree.process_ns != 0 ? ~UINT32_C(0) : ~(uint32_t)RESMON_METER_PCPU;
}

/* If the thread's CPU time is measured, its reads were in between. */
static void end_pcpu(const struct rm_metering *metering, struct rm_meter_frame *frame,
                     struct ending *ending)
{
    const struct rm_tree_cpu now = rm_tree_cpu_at_end();
    bool has_cpu = (frame->taken & RESMON_METER_CPU) != 0;
    uint64_t cost = metering->process_cost_ns + (has_cpu ? 2 * metering->cpu_cost_ns : 0);
    uint64_t begin = frame->tree.process_ns + cost;
    uint64_t process = now.process_ns > begin ? now.process_ns - begin : 0;
    uint64_t before = frame->tree.descendants_ns;
    ending->amounts[RM_FIELD_PROCESS_NS] = process;
    ending->amounts[RM_FIELD_TREE_NS] =
        process + (now.descendants_ns > before ? now.descendants_ns - before : 0);
    ending->had_descendants = frame->tree.has_descendants || now.has_descendants;
    ending->summed |= (uint32_t)RESMON_METER_PCPU;
}

static void begin_rss(const struct rm_metering *metering, struct rm_meter_frame *frame)
{
    (void)metering;
    rm_peak_begin(&frame->watch);
}

static void end_rss(const struct rm_metering *metering, struct rm_meter_frame *frame,
                    struct ending *ending)
{
    struct rm_scope_meters *totals = &ending->totals;
    (void)metering;
    frame->rss_peak = rm_peak_end(&frame->watch);
    totals->rss_peak = frame->rss_peak > totals->rss_peak ? frame->rss_peak : totals->rss_peak;
    totals->rss_sampled += rm_peak_is_exact() ? 0 : 1;
    totals->rss_calls += frame->rss_peak != 0 ? 1 : 0; /* else it cannot be read here */
}

static void begin_io(const struct rm_metering *metering, struct rm_meter_frame *frame)
{
    if (!rm_own_io_read(&metering->io, &frame->begun[RM_FIELD_IO])) {
        frame->taken &= ~(uint32_t)RESMON_METER_IO;
    }
}

static void end_io(const struct rm_metering *metering, struct rm_meter_frame *frame,
                   struct ending *ending)
{
    uint64_t now[RM_IO_FIELDS];
    if (!rm_own_io_read(&metering->io, now)) {
        return;
    }
    for (size_t i = 0; i < RM_IO_FIELDS; i++) {
        uint64_t before = frame->begun[RM_FIELD_IO + i];
        ending->amounts[RM_FIELD_IO + i] = now[i] > before ? now[i] - before : 0;
    }
    ending->summed |= (uint32_t)RESMON_METER_IO;
}

static struct rm_tally_call call_of(const struct rm_scope_node *node,
                                    const struct rm_meter_frame *frame, size_t meter,
                                    uint64_t ticks)
{
    const struct rm_wall_sums *wall = rm_node_own_sums(node);
    return (struct rm_tally_call){
        .chance = frame->chance[meter], .ticks = ticks, .all = {wall->calls, wall->total}};
}

static void begin_perf(const struct rm_metering *metering, struct rm_meter_frame *frame)
{
    if (!rm_thread_counters_read(frame->counters, &metering->plan, frame->now, &frame->counts)) {
        frame->taken &= ~(uint32_t)RESMON_METER_PERF;
    }
}

/* Counters have their own record beside the node's. */
static void end_perf(const struct rm_metering *metering, struct rm_meter_frame *frame,
                     struct ending *ending)
{
    const struct rm_counter_plan *plan = &metering->plan;
    struct rm_perf_group now;
    /* Immediately where I/O is measured, else now and then. */
    if ((metering->meters & RESMON_METER_IO) != 0 || frame->counters->calls >= NOTE_CALLS) {
        rm_thread_counters_note(frame->counters);
    }
    if (!rm_thread_counters_read(frame->counters, plan, frame->now, &now)) {
        return;
    }
    const struct rm_scope_node *node = rm_node_at(&metering->block, frame->node);
    struct rm_counted_call call = {
        .call = call_of(node, frame, PERF, ending->ticks),
        .cost_ticks = 2 * frame->cost[PERF],
    };
    rm_thread_counters_time(&frame->counts, &now, &call);
    for (size_t i = 0; i < plan->count; i++) {
        call.values[plan->places[i]] = now.values[i] - frame->counts.values[i];
    }
    rm_scope_counts_add(&metering->block, frame->node, &call);
}

/* Begun in this order and ended in the reverse one: CPU time is innermost, so that it excludes the
 * other meters. */
static const struct meter meters[RM_METERS] = {
    {(uint32_t)RESMON_METER_RSS, NODE, 0, begin_rss, end_rss},
    {(uint32_t)RESMON_METER_IO, TALLIES, RM_TALLY_IO, begin_io, end_io},
    [PERF] = {(uint32_t)RESMON_METER_PERF, COUNTS, 0, begin_perf, end_perf},
    {(uint32_t)RESMON_METER_PCPU, TALLIES, RM_TALLY_PCPU, begin_pcpu, end_pcpu},
    {(uint32_t)RESMON_METER_CPU, TALLIES, RM_TALLY_CPU, begin_cpu, end_cpu},
};

static uint64_t measure_cost(clockid_t clock)
{
    int64_t lowest = INT64_MAX;
    for (int i = 0; i < 16; i++) {
        int64_t before = rm_clock_cpu_ns(clock);
        int64_t cost = rm_clock_cpu_ns(clock) - before;
        lowest = cost < lowest ? cost : lowest;
    }
    return (uint64_t)lowest;
}

static uint64_t ticks_of_ns(double ns)
{
    struct rm_clock_pair from = rm_clock_read_pair();
    struct rm_clock_pair to = from;
    while (rm_clock_ticks_by_counter() && to.ns - from.ns < 20000) {
        to = rm_clock_read_pair();
    }
    return (uint64_t)(ns / rm_clock_ns_per_tick(from, to));
}

void rm_metering_open(struct rm_metering *metering, uint64_t wanted, double max_share,
                      const struct rm_block *block)
{
    *metering = (struct rm_metering){
        .meters = (uint32_t)(wanted & ~(RESMON_METER_WALL | RESMON_METER_PERF)),
        .terms = {.share = max_share},
        .block = *block,
    };
    if (block->header->sizes.scope_tallies == 0) {
        metering->meters &= ~(uint32_t)RM_SUMMING_METERS;
    }
    if ((metering->meters & RESMON_METER_IO) != 0) {
        if (!rm_own_io_open(&metering->io)) {
            metering->meters &= ~(uint32_t)RESMON_METER_IO;
        }
    }
    if ((wanted & RESMON_METER_RSS) != 0) {
        rm_peak_open();
    }
    if ((metering->meters & RESMON_METER_CPU) != 0) {
        metering->cpu_cost_ns = measure_cost(CLOCK_THREAD_CPUTIME_ID);
    }
    if ((metering->meters & RESMON_METER_PCPU) != 0) {
        metering->process_cost_ns = measure_cost(CLOCK_PROCESS_CPUTIME_ID);
    }
    for (size_t i = 0; i < RM_METERS; i++) {
        if ((metering->meters & meters[i].bit) != 0 && meters[i].tally > metering->last_tally) {
            metering->last_tally = meters[i].tally;
        }
    }
    if (wanted != RESMON_METER_WALL) {
        metering->terms.free_ticks = ticks_of_ns(FREE_NS);
    }
}

void rm_metering_count(struct rm_metering *metering, const struct rm_counter_wish *wish)
{
    rm_counter_plan_make(&metering->plan, wish, &metering->block, metering->terms.free_ticks);
    metering->meters |= metering->plan.count > 0 ? (uint32_t)RESMON_METER_PERF : 0;
}

void rm_metering_close(struct rm_metering *metering)
{
    rm_kept_close(&metering->io);
}

/* At each node, the peak meter may use `share` of the time spent there so far.  Instances without
 * it are not estimated: where there are some, the peak is a lower bound. */
static bool is_affordable(const struct rm_metering *metering, const struct rm_scope_node *node)
{
    const struct rm_wall_sums *wall = rm_node_own_sums(node);
    return (double)node->spent <=
           (double)metering->terms.free_ticks + metering->terms.share * (double)wall->total;
}

/* The sampling state of a meter at a node; NULL: not sampled. */
static struct rm_pace *pace_of(const struct rm_metering *metering, rm_node_ref ref, size_t meter)
{
    switch (meters[meter].target) {
    case TALLIES:
        return &rm_scope_tallies_record(&metering->block, ref)->paces[meters[meter].tally];
    case COUNTS:
        return &rm_scope_counts_record(&metering->block, ref)->pace;
    case NODE:
    default:
        return NULL;
    }
}

/* Each node samples on its own, and each run of the same program samples different calls. */
static bool is_drawn(const struct rm_metering *metering, const struct rm_scope_node *node,
                     struct rm_meter_frame *frame, size_t meter, struct rm_pace *pace)
{
    const struct rm_wall_sums *wall = rm_node_own_sums(node);
    if (pace->random == 0) {
        rm_pace_seed(pace, rm_clock_ticks() + ((uint64_t)frame->node << 24) + meter);
    }
    bool is_due = rm_pace_is_due(pace, &metering->terms, wall->calls, wall->total);
    frame->chance[meter] = pace->chance;
    return is_due;
}

static bool is_due(const struct rm_metering *metering, const struct rm_scope_node *node,
                   struct rm_meter_frame *frame, size_t meter)
{
    if ((metering->meters & meters[meter].bit) == 0) {
        return false;
    }
    struct rm_pace *pace = pace_of(metering, frame->node, meter);
    return pace != NULL ? is_drawn(metering, node, frame, meter, pace)
                        : is_affordable(metering, node);
}

uint64_t rm_meters_begin(const struct rm_metering *metering, struct rm_scope_node *node,
                         struct rm_meter_frame *frame, uint32_t forced)
{
    uint64_t now = 0;
    frame->taken = 0;
    frame->forced = forced;
    frame->node = rm_node_ref_to(&metering->block, node);
    for (size_t i = 0; i < RM_METERS; i++) {
        uint32_t bit = meters[i].bit;
        if (((frame->without & bit) == 0 && is_due(metering, node, frame, i)) ||
            (forced & bit) != 0) {
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

/* Adds the cost of meter `index` in this instance to its cost at the node, and that of peaks to the
 * run's overhead. */
static void account(const struct rm_metering *metering, struct rm_scope_node *node,
                    const struct rm_meter_frame *frame, size_t index, uint64_t cost,
                    struct ending *ending)
{
    struct rm_pace *pace = pace_of(metering, frame->node, index);
    if (pace != NULL) {
        rm_pace_spend(pace, cost);
        return;
    }
    ending->totals.cost_ticks += cost;
    node->spent += (frame->forced & meters[index].bit) == 0 ? cost : 0;
}

/* Adds `cost` to all meters that sum. */
static void add_tallies(const struct rm_metering *metering, const struct rm_scope_node *node,
                        const struct rm_meter_frame *frame, const struct ending *ending,
                        uint64_t cost)
{
    struct rm_tallies_record *record = rm_scope_tallies_record(&metering->block, frame->node);
    struct rm_tallies tallies;
    rm_scope_tallies_own(record, metering->last_tally, &tallies);
    for (size_t i = 0; i < RM_METERS; i++) {
        if ((ending->summed & meters[i].bit) != 0) {
            const struct rm_tally_call call = call_of(node, frame, i, ending->ticks);
            rm_tally_add(rm_tallies_at(&tallies, meters[i].tally), &call,
                         &ending->amounts[rm_tally_first_field(meters[i].tally)]);
        }
    }
    tallies.cost_ticks += cost;
    tallies.with_descendants += ending->had_descendants ? 1 : 0;
    rm_scope_tallies_publish(record, &tallies, metering->last_tally);
}

void rm_meters_end(const struct rm_metering *metering, struct rm_scope_node *node,
                   struct rm_meter_frame *frame, uint64_t ticks)
{
    if (frame->taken == 0) {
        return;
    }
    frame->node = rm_node_ref_to(&metering->block, node); /* a task may end in another thread */
    struct ending ending = {.ticks = ticks};
    bool has_peak = (frame->taken & RESMON_METER_RSS) != 0;
    uint64_t cost_of_sums = 0;
    if (has_peak) {
        ending.totals = rm_node_meters(node);
    }
    frame->now = rm_clock_ticks();
    for (size_t i = RM_METERS; i-- > 0;) {
        if ((frame->taken & meters[i].bit) != 0) {
            meters[i].end(metering, frame, &ending);
            uint64_t now = rm_clock_ticks();
            uint64_t cost = frame->cost[i] + now - frame->now;
            frame->now = now;
            cost_of_sums += meters[i].target == TALLIES ? cost : 0;
            account(metering, node, frame, i, cost, &ending);
        }
    }
    if (has_peak) {
        rm_node_publish_meters(node, &ending.totals);
    }
    if ((frame->taken & RM_SUMMING_METERS) != 0) {
        add_tallies(metering, node, frame, &ending, cost_of_sums);
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

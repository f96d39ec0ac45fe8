/* SPDX-License-Identifier: MIT */
#include "stack/faults.h"

#include <string.h>

#include "scope/scope.h"
#include "stack/code.h"
#include "stack/follow.h"

/* Of a thread's stack, from its pointer on, in a sample.  The kernel's copy of 8 KiB costs as much
 * as all the rest, and few threads need it. */
#define LITTLE_STACK  2048U
#define MUCH_STACK    8192U
#define LEAST_CHECKED 16U /* samples, before more of the stack is asked for */

/* Huge pages come with so many fewer faults, and take so much longer, that samples may be this much
 * closer. */
#define FINER 16U
#define HUGE  (UINT64_C(1) << 20) /* from here on, a page is huge */

/* What the one thread works in. */
static struct {
    struct rm_follower follower;
    struct {
        struct rm_slot_sample sample;
        unsigned char parts[RM_SLOT_PARTS_BYTES];
    } latest;
} work;

/* ---- one sample ------------------------------------------------------------------------- */

/* What is drained just now. */
struct draining {
    struct rm_faults *faults;
    struct rm_fault_source *source;
    uint32_t thread;
    const struct rm_block *block;
    const struct rm_faults_taker *taker;
    uint64_t count, huge_count; /* samples */
};

/* Samples that found the ring full came from the same thread a moment later than the last one that
 * did not, or a moment earlier than this one: they are charged to it. */
static void hand_over(struct draining *draining, struct rm_slot_sample *sample)
{
    struct rm_faults *faults = draining->faults;
    sample->count = 1;
    if (sample->faults >= 2 * faults->period) {
        sample->count = sample->faults / faults->period;
        faults->full += sample->count - 1;
    }
    draining->taker->take(draining->taker->context, sample);
}

/* The scopes are those that are open still: the sample is a few milliseconds old. */
static void take_fault(struct draining *draining, const struct rm_perf_record *fault)
{
    uint64_t accounted = draining->source->accounted;
    struct rm_faults *faults = draining->faults;
    struct rm_slot_sample *sample = &work.latest.sample;
    const struct rm_code *code = rm_code_now();
    work.follower.unwind.code = code;
    const struct rm_followed *followed = rm_follow(&work.follower, fault, code->number, NULL);
    *sample = (struct rm_slot_sample){
        .cause = RM_SAMPLE_FAULT,
        .depth = followed->unwound.depth,
        .is_cut = followed->unwound.is_cut,
        .is_broken = followed->unwound.is_broken,
        /* One that was on its way when faults were counted is charged already. */
        .faults = fault->faults > accounted ? fault->faults - accounted : 0,
        .address = fault->address,
        .page_bytes = fault->page_bytes,
    };
    sample->site_count = rm_scope_sites_then(draining->block, draining->thread, fault->t_ns,
                                             rm_slot_sites(sample), RM_STACK_SITES);
    memcpy(rm_slot_addresses(sample), followed->addresses, sample->depth * sizeof(uint64_t));
    sample->bytes = rm_slot_bytes_of(sample);
    draining->source->accounted = accounted + sample->faults;
    draining->count++;
    draining->huge_count += fault->page_bytes >= HUGE ? 1 : 0;
    faults->samples++;
    faults->short_samples += followed->is_short ? 1 : 0;
    hand_over(draining, sample);
}

static void drain_source(struct draining *draining, struct rm_fault_source *source)
{
    struct rm_slot_sample *sample = &work.latest.sample;
    struct rm_perf_record record;
    draining->count = 0;
    if (!rm_perf_ring_look(&source->ring)) {
        return;
    }
    /* All samples of the faults that are counted here are in the ring when it is looked at again.
     */
    uint64_t all = rm_perf_ring_count(&source->ring);
    (void)rm_perf_ring_look(&source->ring);
    draining->source = source;
    draining->huge_count = 0;
    while (rm_perf_ring_peek(&source->ring, &record)) {
        if (record.new_thread != 0) {
            draining->taker->take_thread(draining->taker->context, record.new_thread);
        } else {
            take_fault(draining, &record);
        }
        rm_perf_ring_release(&source->ring, &record);
    }
    if (draining->count > 0 && all >= source->accounted + draining->faults->period) {
        sample->faults = all - source->accounted;
        source->accounted = all;
        draining->faults->full++; /* none of these samples was taken */
        hand_over(draining, sample);
    }
}

/* ---- how closely to look ---------------------------------------------------------------- */

static uint64_t finer_period(const struct rm_faults *faults)
{
    uint64_t finer = faults->period / FINER;
    return finer > 0 ? finer : 1;
}

static resmon_status open_minor(struct rm_faults *faults, uint32_t thread, uint32_t stack_bytes,
                                struct rm_perf_ring *ring)
{
    const struct rm_perf_ring_terms terms = {
        .kind = RM_RING_MINOR,
        .thread = thread,
        .stack_bytes = stack_bytes,
        .period = faults->is_fine ? finer_period(faults) : faults->period,
    };
    return rm_perf_ring_open(ring, &terms);
}

/* The kernel goes by the old period once more after the first change: so there are two. */
static void look_closely(struct rm_faults *faults, bool is_fine)
{
    if (faults->is_fine != is_fine) {
        faults->is_fine = is_fine;
        faults->changes = 2;
    }
    if (faults->changes > 0) {
        faults->changes--;
        rm_perf_ring_set_period(&faults->minor.ring,
                                is_fine ? finer_period(faults) : faults->period);
    }
}

/* Where there is no room for a ring as large, what there is goes on. */
static void take_more_stack(struct rm_faults *faults, struct draining *draining)
{
    struct rm_perf_ring wider;
    if (open_minor(faults, draining->thread, MUCH_STACK, &wider) != RESMON_OK) {
        return;
    }
    if (wider.buffer.mask < faults->minor.ring.buffer.mask) {
        rm_perf_ring_close(&wider);
        return;
    }
    drain_source(draining, &faults->minor);
    rm_perf_ring_close(&faults->minor.ring);
    faults->minor = (struct rm_fault_source){.ring = wider};
}

static void check_stack_sizes(struct rm_faults *faults, struct draining *draining)
{
    if (faults->samples >= LEAST_CHECKED && !faults->has_full_stacks) {
        if (4 * faults->short_samples >= faults->samples) {
            take_more_stack(faults, draining);
            faults->has_full_stacks = true;
        }
        faults->samples = 0;
        faults->short_samples = 0;
    }
}

/* ---- all of a thread -------------------------------------------------------------------- */

void rm_faults_init(struct rm_faults *faults)
{
    *faults = (struct rm_faults){.period = 0};
    faults->minor.ring.fd = -1;
    faults->major.ring.fd = -1;
}

/* Major faults take long: all may be sampled closely. */
static void open_others(struct rm_faults *faults, uint32_t thread)
{
    const struct rm_perf_ring_terms terms = {
        .kind = faults->period > 0 ? RM_RING_MAJOR : RM_RING_NEW_THREADS,
        .thread = thread,
        .stack_bytes = LITTLE_STACK,
        .period = finer_period(faults),
    };
    (void)rm_perf_ring_open(&faults->major.ring, &terms);
}

resmon_status rm_faults_open(struct rm_faults *faults, uint32_t thread, uint64_t period,
                             bool is_fine)
{
    uint64_t full = faults->full;
    rm_faults_init(faults);
    faults->full = full;
    faults->period = period;
    faults->is_fine = is_fine;
    if (period > 0) {
        resmon_status status = open_minor(faults, thread, LITTLE_STACK, &faults->minor.ring);
        if (status != RESMON_OK) {
            return status;
        }
    }
    open_others(faults, thread);
    return RESMON_OK;
}

void rm_faults_look_closely(struct rm_faults *faults)
{
    if (faults->period > 0) {
        look_closely(faults, true);
    }
}

void rm_faults_check(struct rm_faults *faults)
{
    rm_perf_ring_check(&faults->minor.ring);
    rm_perf_ring_check(&faults->major.ring);
}

void rm_faults_close(struct rm_faults *faults)
{
    rm_perf_ring_close(&faults->minor.ring);
    rm_perf_ring_close(&faults->major.ring);
}

void rm_faults_drain(struct rm_faults *faults, uint32_t thread, const struct rm_block *block,
                     const struct rm_faults_taker *taker)
{
    struct draining draining = {.faults = faults, .thread = thread, .block = block, .taker = taker};
    drain_source(&draining, &faults->major);
    drain_source(&draining, &faults->minor);
    if (draining.count > 0) {
        look_closely(faults, draining.huge_count == draining.count);
        check_stack_sizes(faults, &draining);
    }
}

/* SPDX-License-Identifier: MIT */
#include "stack/faults.h"

#include <string.h>

#include "scope/session.h"
#include "stack/code.h"
#include "stack/unwind.h"

/* Of a thread's stack, from its pointer on, in a sample.  The kernel's copy of 8 KiB costs as much
 * as all the rest, and few threads need it. */
#define LITTLE_STACK 2048U
#define MUCH_STACK   8192U
#define LEAST_JUDGED 16U /* samples, before more of the stack is asked for */

/* Huge pages come with so many fewer faults, and take so much longer, that samples may be this much
 * closer.  So are the first ones of a thread, of which nothing is known yet. */
#define FINER 16U
#define HUGE  (UINT64_C(1) << 20) /* from here on, a page is huge */

/* The latest stacks, by where the thread was.  A loop that touches memory has the same again. */
#define FOLLOWED 8U

struct followed {
    uint64_t code; /* number of struct rm_code; 0: nothing */
    struct rm_view_log log;
    struct rm_unwound unwound;
    uint64_t addresses[RM_STACK_DEPTH];
};

/* What the one thread works in. */
static struct {
    struct rm_unwind unwind;
    struct followed followed[FOLLOWED];
    struct {
        struct rm_slot_sample sample;
        unsigned char parts[RM_SLOT_PARTS_BYTES];
    } latest;
} work;

/* ---- one sample ------------------------------------------------------------------------- */

static const struct followed *follow(const struct rm_perf_sample *fault, const struct rm_code *code)
{
    struct followed *followed = &work.followed[rm_view_place(fault) % FOLLOWED];
    if (followed->code == code->number && rm_view_repeats(&followed->log, fault)) {
        return followed;
    }
    const struct rm_view_start start = {.sample = fault, .log = &followed->log};
    work.unwind.code = code;
    followed->unwound = rm_unwind_follow(&work.unwind, &start, followed->addresses, RM_STACK_DEPTH);
    followed->code = code->number;
    return followed;
}

/* The scopes are those that are open still: the sample is a few milliseconds old. */
static void make_sample(struct rm_faults *faults, uint32_t thread, const struct rm_block *block,
                        const struct rm_perf_sample *fault)
{
    struct rm_slot_sample *sample = &work.latest.sample;
    const struct followed *followed = follow(fault, rm_code_now());
    *sample = (struct rm_slot_sample){
        .cause = RM_SAMPLE_FAULT,
        .depth = followed->unwound.depth,
        .is_cut = followed->unwound.is_cut,
        .is_broken = followed->unwound.is_broken,
        .count = 1,
        .faults = fault->faults - faults->accounted,
        .address = fault->address,
        .page_bytes = fault->page_bytes,
    };
    sample->site_count =
        rm_scope_sites_then(block, thread, fault->t_ns, rm_slot_sites(sample), RM_STACK_SITES);
    memcpy(rm_slot_addresses(sample), followed->addresses, sample->depth * sizeof(uint64_t));
    sample->bytes = rm_slot_bytes_of(sample);
    faults->accounted = fault->faults;
    faults->samples++;
    faults->short_samples += !followed->log.is_whole && work.unwind.view.is_short ? 1 : 0;
}

/* Samples that found the ring full came from the same thread a moment later than the last one that
 * did not, or a moment earlier than this one: they are charged to it. */
static void charge(struct rm_faults *faults, struct rm_slot_sample *sample)
{
    if (sample->faults >= 2 * faults->period) {
        sample->count = sample->faults / faults->period;
        faults->full += sample->count - 1;
    }
}

/* ---- how closely to look ---------------------------------------------------------------- */

static uint64_t period_of(const struct rm_faults *faults)
{
    uint64_t finer = faults->period / FINER;
    return !faults->is_fine ? faults->period : finer > 0 ? finer : 1;
}

static void look_closely(struct rm_faults *faults, bool is_fine)
{
    if (faults->is_fine != is_fine) {
        faults->is_fine = is_fine;
        rm_perf_ring_set_period(&faults->ring, period_of(faults));
    }
}

/* Where it fails, what there is goes on. */
static void take_more_stack(struct rm_faults *faults, uint32_t thread)
{
    struct rm_perf_ring wider;
    if (faults->ring.stack_bytes == MUCH_STACK || faults->samples < LEAST_JUDGED) {
        return;
    }
    if (4 * faults->short_samples >= faults->samples &&
        rm_perf_ring_open(&wider, thread, period_of(faults), MUCH_STACK) == RESMON_OK) {
        rm_perf_ring_close(&faults->ring);
        faults->ring = wider;
        faults->accounted = 0;
    }
    faults->samples = 0;
    faults->short_samples = 0;
}

/* ---- all of a thread -------------------------------------------------------------------- */

resmon_status rm_faults_open(struct rm_faults *faults, uint32_t thread, uint64_t period)
{
    *faults = (struct rm_faults){.period = period, .is_fine = true};
    faults->ring.fd = -1;
    faults->ring.major_fd = -1;
    return rm_perf_ring_open(&faults->ring, thread, period_of(faults), LITTLE_STACK);
}

void rm_faults_close(struct rm_faults *faults)
{
    rm_perf_ring_close(&faults->ring);
}

void rm_faults_drain(struct rm_faults *faults, uint32_t thread, const struct rm_block *block,
                     rm_fault_take_fn take, void *context)
{
    struct rm_slot_sample *sample = &work.latest.sample;
    struct rm_perf_sample fault;
    uint64_t huge_count = 0;
    uint64_t count = 0;
    uint64_t all = rm_perf_ring_count(&faults->ring); /* first: what comes meanwhile is in none */
    while (rm_perf_ring_peek(&faults->ring, &fault)) {
        make_sample(faults, thread, block, &fault);
        rm_perf_ring_release(&faults->ring, &fault);
        charge(faults, sample);
        take(context, sample);
        huge_count += sample->page_bytes >= HUGE ? 1 : 0;
        count++;
    }
    if (count == 0) {
        return;
    }
    if (all >= faults->accounted + 2 * faults->period) {
        sample->faults = all - faults->accounted;
        faults->accounted = all;
        charge(faults, sample);
        faults->full++; /* the sample itself was taken before */
        take(context, sample);
    }
    look_closely(faults, huge_count == count);
    take_more_stack(faults, thread);
}

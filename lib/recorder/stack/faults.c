/* SPDX-License-Identifier: MIT */
#include "stack/faults.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/parse.h"
#include "os/proc_pid.h"
#include "scope/scope.h"
#include "stack/code.h"
#include "stack/follow.h"

/* ---- weights -------------------------------------------------------------------------------- */

/* Bytes around a fault in a file mapping that are mapped with it, by default (fault_around_bytes in
 * the kernel's debugfs). */
#define FAULT_AROUND UINT64_C(65536)

/* Growth beyond the samples of small pages from which huge pages are assumed. */
#define MUCH_RISEN UINT64_C(8388608)

/* Bounds of a sample's weight. */
struct bounds {
    double least, most;
};

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void rm_fault_weights_begin(struct rm_fault_weights *weights, uint64_t page_bytes, uint64_t period,
                            const uint64_t rss[RM_RSS_PARTS])
{
    *weights = (struct rm_fault_weights){
        .page_bytes = page_bytes, .period = period, .is_known = rss != NULL};
    for (size_t part = 0; part < RM_RSS_PARTS && rss != NULL; part++) {
        weights->rises[part].first = rss[part];
        weights->rises[part].last = rss[part];
    }
}

void rm_fault_weights_count(struct rm_fault_weights *weights, uint64_t bytes)
{
    weights->small_bytes += bytes;
}

bool rm_fault_weights_hold(struct rm_fault_weights *weights, enum rm_rss_part part,
                           const struct rm_held_fault *held)
{
    if (weights->held_count[part] == RM_HELD_FAULTS) {
        return false;
    }
    weights->held[part][weights->held_count[part]++] = *held;
    return true;
}

/* ---- growth to divide ------------------------------------------------------------------- */

/* Takes a reading of the RSS.  Growth that was freed again needs no sample. */
static void look(struct rm_rss_rises *rises, uint64_t rss)
{
    uint64_t fallen = rss < rises->last ? rises->last - rss : 0;
    rises->fresh = rss > rises->last ? rss - rises->last : 0;
    rises->risen += rises->fresh;
    rises->open += rises->fresh;
    rises->open -= lesser(rises->open, fallen);
    rises->last = rss;
}

static bool is_huge(const struct rm_fault_weights *weights, const struct rm_held_fault *held)
{
    return held->page_bytes > weights->page_bytes;
}

/* Bytes of pages that faults may have mapped.  A fault in a file mapping maps about sixteen
 * small pages.  Growth before this reading may belong to faults without a sample, up to one period
 * of them.  Much more growth has another cause: mmap(MAP_POPULATE), or huge pages, whose faults
 * would have a sample. */
static uint64_t at_hand(const struct rm_fault_weights *weights, enum rm_rss_part part)
{
    const struct rm_rss_rises *rises = &weights->rises[part];
    for (size_t i = 0; i < weights->held_count[part]; i++) {
        if (is_huge(weights, &weights->held[part][i])) {
            return rises->open;
        }
    }
    return lesser(rises->open, rises->fresh + weights->period * FAULT_AROUND);
}

/* A sampled huge page counts itself; the other faults that the sample represents may be of small
 * pages.  A fault in a file mapping fills at most one page of the page table. */
static struct bounds bounds_of(const struct rm_fault_weights *weights, enum rm_rss_part part,
                               const struct rm_held_fault *held)
{
    uint64_t reach = weights->page_bytes / sizeof(uint64_t) * weights->page_bytes;
    uint64_t most_each = held->page_bytes > reach ? held->page_bytes : reach;
    double faults = (double)held->faults; /* 0: another sample represents this one */
    return part == RM_RSS_ANON ? (struct bounds){held->faults > 0 ? (double)held->page_bytes : 0.0,
                                                 faults * (double)held->page_bytes}
                               : (struct bounds){0.0, faults * (double)most_each};
}

/* Faults after the last sample, fewer than a period, have no sample yet. */
static double behind_the_last(const struct rm_fault_weights *weights, enum rm_rss_part part)
{
    double most = 0.0;
    for (size_t i = 0; i < weights->held_count[part]; i++) {
        const struct rm_held_fault *held = &weights->held[part][i];
        uint64_t between = held->count > 0 ? held->faults / held->count : held->faults;
        double bytes = between > 0 ? (double)(between - 1) * (double)held->page_bytes : 0.0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* ---- dividing --------------------------------------------------------------------------- */

/* For a sample of one in k faults, the variance of its weight w is estimated by w^2 (1 - 1/k): the
 * Horvitz-Thompson estimator with independent sampling of each fault. */
static void weigh(struct rm_fault_weights *weights, enum rm_rss_part part,
                  const struct rm_held_fault *held, double weight)
{
    rm_stack_entry_weigh(held->entry, part == RM_RSS_ANON ? RESMON_STACK_MEMORY : RESMON_STACK_FILE,
                         (uint64_t)weight, rm_stack_square((uint64_t)weight, held->faults));
    weights->huge_bytes += part == RM_RSS_ANON ? (uint64_t)weight : 0;
    const struct rm_resident_sample page = {.entry = held->entry,
                                            .address = held->address,
                                            .bytes = (uint64_t)weight,
                                            .faults = held->faults};
    if (part == RM_RSS_ANON && weights->resident != NULL) {
        rm_resident_add(weights->resident, &page);
    }
}

static void divide(struct rm_fault_weights *weights, enum rm_rss_part part)
{
    struct bounds all = {0.0, 0.0};
    for (size_t i = 0; i < weights->held_count[part]; i++) {
        struct bounds bounds = bounds_of(weights, part, &weights->held[part][i]);
        all.least += bounds.least;
        all.most += bounds.most;
    }
    double most = all.most + behind_the_last(weights, part);
    double whole = (double)at_hand(weights, part);
    whole = whole < all.least ? all.least : whole > most ? most : whole;
    for (size_t i = 0; i < weights->held_count[part]; i++) {
        const struct rm_held_fault *held = &weights->held[part][i];
        struct bounds bounds = bounds_of(weights, part, held);
        double share = all.most > all.least ? (bounds.most - bounds.least) / (all.most - all.least)
                       : all.most > 0.0     ? bounds.most / all.most
                                            : 0.0;
        weigh(weights, part, held, bounds.least + (whole - all.least) * share);
    }
    struct rm_rss_rises *rises = &weights->rises[part];
    rises->open -= lesser(rises->open, (uint64_t)whole);
    weights->held_count[part] = 0;
}

bool rm_fault_weights_settle(struct rm_fault_weights *weights, const uint64_t rss[RM_RSS_PARTS])
{
    struct rm_rss_rises *memory = &weights->rises[RM_RSS_ANON];
    for (size_t part = 0; part < RM_RSS_PARTS; part++) {
        struct rm_rss_rises *rises = &weights->rises[part];
        look(rises, rss != NULL ? rss[part] : rises->last);
    }
    bool has_much = memory->fresh >= MUCH_RISEN && memory->fresh / 4 > weights->small_bytes;
    memory->open -= lesser(memory->open, weights->small_bytes);
    weights->small_bytes = 0;
    for (size_t part = 0; part < RM_RSS_PARTS; part++) {
        if (weights->held_count[part] > 0) {
            divide(weights, (enum rm_rss_part)part);
        }
    }
    return has_much;
}

/* ---- remarks -------------------------------------------------------------------------------- */

enum rm_huge_pages rm_huge_pages_parse(struct rm_text text)
{
    struct rm_text before;
    if (!rm_parse_until(&text, '[', &before)) {
        return RM_HUGE_PAGES_NONE;
    }
    return rm_parse_literal(&text, "always]")    ? RM_HUGE_PAGES_ALL
           : rm_parse_literal(&text, "madvise]") ? RM_HUGE_PAGES_ASKED
                                                 : RM_HUGE_PAGES_NONE;
}

static void add(char text[RM_FAULT_REMARKS_BYTES], const char *remark)
{
    size_t length = strlen(text);
    (void)snprintf(text + length, RM_FAULT_REMARKS_BYTES - length, "%s%s", length > 0 ? "; " : "",
                   remark);
}

void rm_fault_remarks_text(const struct rm_fault_remarks *remarks,
                           char text[RM_FAULT_REMARKS_BYTES])
{
    static const char *const without_pages[] = {
        [RM_HUGE_PAGES_ASKED] =
            "this kernel does not report huge pages (Linux 5.11 does), which are on for memory "
            "that requests them: 2 MiB that come with one fault count as one small page",
        [RM_HUGE_PAGES_ALL] =
            "this kernel does not report huge pages (Linux 5.11 does), which are on for all "
            "memory: 2 MiB that come with one fault count as one small page",
    };
    text[0] = '\0';
    if (remarks->missing[0] != '\0') {
        add(text, remarks->missing);
    }
    if (remarks->lacks_kernel) {
        add(text, "page faults in system calls (read() into fresh memory) are not sampled: this "
                  "process may not observe the kernel (kernel.perf_event_paranoid 2)");
    }
    if (remarks->lacks_pages && remarks->huge_pages != RM_HUGE_PAGES_NONE) {
        add(text, without_pages[remarks->huge_pages]);
    }
    if (remarks->huge_bytes > 0) {
        char remark[96], bytes[RM_HUMAN_BYTES];
        rm_human_bytes(bytes, (double)remarks->huge_bytes);
        (void)snprintf(remark, sizeof remark, "about %s of it came in huge pages", bytes);
        add(text, remark);
    }
}

/* ---- rings ---------------------------------------------------------------------------------- */

/* Bytes of a thread's stack, from its pointer on, in a sample.  A copy of 8 KiB by the kernel costs
 * as much as the rest of a sample, and few threads need it. */
#define LITTLE_STACK  2048U
#define MUCH_STACK    8192U
#define LEAST_CHECKED 16U /* samples before more of the stack is copied */

/* Factor of the shorter period: huge pages come with fewer faults, which take longer. */
#define FINER 16U
#define HUGE  (UINT64_C(1) << 20) /* size from which on a page is huge */

/* Working memory of the one thread. */
static struct {
    struct rm_follower follower;
    struct {
        struct rm_slot_sample sample;
        unsigned char parts[RM_SLOT_PARTS_BYTES];
    } latest;
} work;

/* ---- one sample ------------------------------------------------------------------------- */

/* State of draining. */
struct draining {
    struct rm_faults *faults;
    struct rm_fault_source *source;
    uint32_t thread;
    const struct rm_block *block;
    const struct rm_faults_taker *taker;
    uint64_t count, huge_count; /* numbers of samples */
};

/* The longest period that samples may have. */
static uint64_t most_period(const struct rm_faults *faults)
{
    uint32_t before = faults->doublings_before;
    return faults->period << (before > faults->doublings ? before : faults->doublings);
}

/* Samples lost in a full ring are of the same thread, between the last sample taken and this one:
 * they are added to this one. */
static void pass_sample(struct draining *draining, struct rm_slot_sample *sample)
{
    struct rm_faults *faults = draining->faults;
    sample->count = 1;
    uint64_t period = most_period(faults);
    if (sample->faults >= 2 * period) {
        sample->count = sample->faults / period;
        faults->full += sample->count - 1;
    }
    draining->taker->take(draining->taker->context, sample);
}

/* The scopes that are still open are noted: the sample is a few milliseconds old. */
static void take_fault(struct draining *draining, const struct rm_perf_record *fault)
{
    uint64_t accounted = draining->source->accounted;
    struct rm_faults *faults = draining->faults;
    struct rm_slot_sample *sample = &work.latest.sample;
    const struct rm_code *code = rm_code_now();
    work.follower.unwind.code = code;
    work.follower.wants_registers = draining->source->ring.signal != 0;
    const struct rm_followed *followed = rm_follow(&work.follower, fault, code->number, NULL);
    *sample = (struct rm_slot_sample){
        .cause = RM_SAMPLE_FAULT,
        .depth = followed->unwound.depth,
        .is_cut = followed->unwound.is_cut,
        .is_broken = followed->unwound.is_broken,
        /* a sample recorded before faults were counted is already accounted */
        .faults = fault->faults > accounted ? fault->faults - accounted : 0,
        .address = fault->address,
        .page_bytes = fault->page_bytes,
        .has_stacks = followed->has_registers && draining->source->ring.signal != 0,
        .t_ns = fault->t_ns,
        .stack = rm_view_stack(fault),
        .instruction = followed->addresses[0],
    };
    sample->site_count = rm_scope_sites_then(draining->block, draining->thread, fault->t_ns,
                                             rm_slot_sites(sample), RM_STACK_SITES);
    memcpy(rm_slot_addresses(sample), followed->addresses, sample->depth * sizeof(uint64_t));
    if (sample->has_stacks != 0) {
        memcpy(rm_slot_stacks(sample), followed->stacks, sample->depth * sizeof(uint64_t));
    }
    sample->bytes = rm_slot_bytes_of(sample);
    draining->source->accounted = accounted + sample->faults;
    draining->count++;
    draining->huge_count += fault->page_bytes >= HUGE ? 1 : 0;
    faults->samples++;
    faults->short_samples += followed->is_short ? 1 : 0;
    pass_sample(draining, sample);
}

static void drain_source(struct draining *draining, struct rm_fault_source *source)
{
    struct rm_slot_sample *sample = &work.latest.sample;
    struct rm_perf_record record;
    draining->count = 0;
    if (!rm_perf_ring_look(&source->ring)) {
        return;
    }
    /* When the ring is read again, it has all samples of the faults counted here. */
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
    if (draining->count > 0 && all >= source->accounted + most_period(draining->faults)) {
        sample->faults = all - source->accounted;
        source->accounted = all;
        draining->faults->full++; /* none of these faults has a sample */
        pass_sample(draining, sample);
    }
}

/* ---- how closely to look ---------------------------------------------------------------- */

static uint64_t finer_period(const struct rm_faults *faults)
{
    uint64_t finer = faults->period / FINER;
    return finer > 0 ? finer : 1;
}

static uint64_t period_now(const struct rm_faults *faults)
{
    return faults->is_fine ? finer_period(faults) : faults->period << faults->doublings;
}

static resmon_status open_minor(struct rm_faults *faults, uint32_t thread, uint32_t stack_bytes,
                                struct rm_perf_ring *ring)
{
    const struct rm_perf_ring_terms terms = {
        .kind = RM_RING_MINOR,
        .thread = thread,
        .stack_bytes = stack_bytes,
        .period = period_now(faults),
        .signal = faults->signal,
    };
    return rm_perf_ring_open(ring, &terms);
}

/* The kernel uses the old period once more after the first change, so it is changed twice. */
static void change_period(struct rm_faults *faults)
{
    if (faults->changes > 0) {
        faults->changes--;
        rm_perf_ring_set_period(&faults->minor.ring, period_now(faults));
    }
}

static void look_closely(struct rm_faults *faults, bool is_fine)
{
    if (faults->is_fine != is_fine) {
        faults->is_fine = is_fine;
        faults->changes = 2;
    }
    change_period(faults);
}

/* A program that touches fresh memory all the time has a fault each 0.1 to 3 us, and a signal takes
 * 20 to 40 us: they are at most some hundredths of the time. */
#define PACE_NS        (4 * RM_NS_PER_MS)
#define MOST_A_SECOND  1000U
#define MOST_DOUBLINGS 6U

static void pace(struct rm_faults *faults, uint64_t samples)
{
    int64_t now_ns = rm_clock_monotonic_ns();
    faults->paced += samples;
    if (faults->signal == 0 || now_ns - faults->paced_ns < PACE_NS) {
        return;
    }
    uint64_t rate = faults->paced * (uint64_t)RM_NS_PER_S / (uint64_t)(now_ns - faults->paced_ns);
    uint32_t doublings = faults->doublings;
    for (; rate > MOST_A_SECOND && doublings < MOST_DOUBLINGS; rate /= 2) {
        doublings++;
    }
    if (rate < MOST_A_SECOND / 4 && doublings > 0) {
        doublings--;
    }
    faults->doublings_before = faults->doublings;
    faults->changes = doublings != faults->doublings ? 2 : faults->changes;
    faults->doublings = doublings;
    faults->paced_ns = now_ns;
    faults->paced = 0;
    change_period(faults);
}

/* If a larger ring is impossible, the current one is kept. */
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

/* Major faults take long, so each may be sampled. */
static void open_others(struct rm_faults *faults, uint32_t thread)
{
    const struct rm_perf_ring_terms terms = {
        .kind = faults->period > 0 ? RM_RING_MAJOR : RM_RING_NEW_THREADS,
        .thread = thread,
        .stack_bytes = LITTLE_STACK,
        .period = finer_period(faults),
        .signal = faults->period > 0 ? faults->signal : 0,
    };
    (void)rm_perf_ring_open(&faults->major.ring, &terms);
}

resmon_status rm_faults_open(struct rm_faults *faults, const struct rm_fault_terms *terms)
{
    uint64_t full = faults->full;
    rm_faults_init(faults);
    faults->full = full;
    faults->period = terms->period;
    faults->is_fine = terms->is_fine;
    faults->signal = terms->signal;
    if (terms->period > 0) {
        resmon_status status = open_minor(faults, terms->thread, LITTLE_STACK, &faults->minor.ring);
        if (status != RESMON_OK) {
            return status;
        }
    }
    open_others(faults, terms->thread);
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
    pace(faults, draining.count);
}

/* ---- peaks of memory ------------------------------------------------------------------------ */

/* A peak is higher than the last one by a tenth and by 16 MiB; or by a hundredth and a MiB, if the
 * last one was a second ago.  A program that grows for hours has some hundred peaks, and one whose
 * memory goes up and down has no more. */
#define LEAST_GROWTH      UINT64_C(16777216)
#define LEAST_SLOW_GROWTH UINT64_C(1048576)
#define SLOW_NS           RM_NS_PER_S

static void open_group(struct rm_memory_watch *watch, const struct rm_root *root,
                       struct rm_scratch *scratch)
{
    struct rm_cgroup cgroup;
    if (rm_cgroup_find(&cgroup, root, scratch, "proc/self") == RESMON_OK) {
        (void)rm_cgroup_limits_open(&watch->limits, &cgroup.places[RM_CGROUP_MEMORY], root, scratch,
                                    rm_clock_monotonic_ns());
    }
}

void rm_memory_watch_open(struct rm_memory_watch *watch, const struct rm_root *root,
                          struct rm_scratch *scratch)
{
    *watch = (struct rm_memory_watch){.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    /* The process's own file is empty when the main thread has ended. */
    (void)rm_file_open(&watch->statm, root, "proc/thread-self/statm");
    open_group(watch, root, scratch);
    watch->next_headroom = rm_cgroup_limits_look(&watch->limits, scratch, 0).limit / 10;
    struct rm_peak_head head;
    (void)rm_memory_watch_look(watch, scratch, &head); /* memory in use at the begin is no growth */
}

void rm_memory_watch_close(struct rm_memory_watch *watch)
{
    rm_file_close(&watch->statm);
    rm_cgroup_limits_close(&watch->limits);
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

bool rm_memory_watch_decide(struct rm_memory_watch *watch, const struct rm_seen_rss *rss,
                            uint64_t headroom)
{
    uint64_t next_slowly = watch->taken_rss + greater(watch->taken_rss / 100, LEAST_SLOW_GROWTH);
    bool is_slow = rss->bytes >= next_slowly && rss->at_ns - watch->taken_ns >= SLOW_NS;
    bool is_high = rss->bytes >= watch->next_rss || is_slow;
    bool is_tight = headroom < watch->next_headroom;
    if (rss->bytes > watch->highest.bytes) {
        watch->highest = *rss;
    }
    if (is_high) {
        watch->next_rss = rss->bytes + greater(rss->bytes / 10, LEAST_GROWTH);
    }
    if (is_high || is_tight) {
        watch->taken_rss = greater(watch->taken_rss, rss->bytes);
        watch->taken_ns = rss->at_ns;
    }
    if (is_tight) {
        watch->next_headroom = headroom / 2;
    }
    return is_high || is_tight;
}

static bool read_rss(struct rm_memory_watch *watch, struct rm_scratch *scratch, uint64_t *ret_rss)
{
    struct rm_text text;
    struct rm_pid_statm statm;
    if (!rm_file_is_open(&watch->statm) ||
        rm_file_read(&watch->statm, scratch, &text) != RESMON_OK ||
        !rm_pid_statm_parse(text, &statm)) {
        return false;
    }
    *ret_rss = statm.resident * watch->page_bytes;
    return true;
}

bool rm_memory_watch_look(struct rm_memory_watch *watch, struct rm_scratch *scratch,
                          struct rm_peak_head *ret_head)
{
    struct rm_seen_rss rss = {.at_ns = rm_clock_monotonic_ns()};
    if (!read_rss(watch, scratch, &rss.bytes)) {
        return false;
    }
    *ret_head = (struct rm_peak_head){
        .rss_bytes = rss.bytes,
        .headroom_bytes = rm_cgroup_limits_look(&watch->limits, scratch, rss.at_ns).left,
    };
    return rm_memory_watch_decide(watch, &rss, ret_head->headroom_bytes);
}

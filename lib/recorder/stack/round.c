/* SPDX-License-Identifier: MIT */
#include "stack/round.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/text.h"
#include "base/thread.h"
#include "os/proc_pid.h"
#include "os/program.h"
#include "stack/code.h"
#include "stack/handler.h"
#include "stack/interpreter.h"
#include "stack/slot.h"

/* ---- the status of a kind of stacks ------------------------------------------------------ */

static const struct {
    int32_t kind;
    uint64_t bit;
} kinds[] = {
    {RESMON_STACK_CPU, RESMON_STACKS_CPU},
    {RESMON_STACK_MEMORY, RESMON_STACKS_MEMORY},
    {RESMON_STACK_FILE, RESMON_STACKS_MEMORY},
    {RESMON_STACK_RESIDENT, RESMON_STACKS_MEMORY},
};

void rm_stack_round_set_kinds(struct rm_stack_round *round, uint64_t bits, resmon_status status,
                              const char *reason)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(kinds); i++) {
        bool is_absent = (kinds[i].kind == RESMON_STACK_FILE && round->lacks_rss) ||
                         (kinds[i].kind == RESMON_STACK_RESIDENT && round->lacks_pagemap);
        if ((round->wanted & bits & kinds[i].bit) != 0 && !(is_absent && status == RESMON_OK)) {
            rm_stack_writer_set_kind(&round->writer, kinds[i].kind, status, reason);
        }
    }
}

/* Sets the status and remarks of page faults, which are sampled. */
static void set_fault_status(struct rm_stack_round *round)
{
    char text[RM_FAULT_REMARKS_BYTES];
    struct rm_fault_remarks of_files = round->remarks;
    of_files.huge_bytes = 0;
    rm_fault_remarks_text(&of_files, text);
    rm_stack_round_set_kinds(round, RESMON_STACKS_MEMORY, RESMON_OK, text);
    if (round->remarks.huge_bytes > 0) {
        rm_fault_remarks_text(&round->remarks, text);
        rm_stack_writer_set_kind(&round->writer, RESMON_STACK_MEMORY, RESMON_OK, text);
    }
}

/* ---- threads -------------------------------------------------------------------------------- */

/* New threads between two rounds, which take about 0.1 ms each. */
#define MOST_EARLY_THREADS 16U

/* If a kind works for no thread, the failure is the kind's.  If other threads are sampled, it is a
 * remark on this thread; returns true. */
static bool set_kind_status(struct rm_stack_round *round, uint64_t bits, resmon_status status,
                            const char *error)
{
    char text[RM_STACK_ERROR_BYTES + 32];
    if (status == RESMON_OK) {
        round->sampled |= bits;
        return false;
    }
    bool is_of_others = (round->sampled & bits) != 0;
    (void)snprintf(text, sizeof text, "%s%s", is_of_others ? "not of all threads: " : "", error);
    rm_stack_round_set_kinds(round, bits, is_of_others ? RESMON_OK : status, text);
    return is_of_others;
}

static void note_faults(struct rm_stack_round *round, const struct rm_stack_attached *attached)
{
    struct rm_fault_remarks *remarks = &round->remarks;
    if (attached->faults != RESMON_OK) {
        (void)snprintf(remarks->missing, sizeof remarks->missing, "not of all threads: %s",
                       attached->faults_error);
    } else {
        remarks->lacks_kernel |= attached->lacks_kernel;
        remarks->lacks_pages |= attached->lacks_pages;
    }
    if ((round->sampled & RESMON_STACKS_MEMORY) != 0) {
        set_fault_status(round);
    }
}

static void set_statuses(struct rm_stack_round *round, const struct rm_stack_attached *attached)
{
    if (attached->has_ended) {
        return;
    }
    bool is_missing =
        set_kind_status(round, RESMON_STACKS_MEMORY, attached->faults, attached->faults_error);
    is_missing |= set_kind_status(round, RESMON_STACKS_CPU, attached->timer, attached->timer_error);
    if (is_missing) {
        rm_stack_writer_lose(&round->writer, RM_LOSS_THREADS, 1);
    }
    note_faults(round, attached);
}

static void attach(struct rm_stack_round *round, uint32_t thread)
{
    struct rm_stack_attached attached;
    if (!rm_stack_sampler_attach(thread, &attached)) {
        return;
    }
    if (attached.has_slot) {
        set_statuses(round, &attached);
    } else {
        round->slotless++;
    }
}

/* A thread without a slot is seen in every round: the highest number at a time is counted. */
static void count_slotless(struct rm_stack_round *round)
{
    if (round->slotless > round->slotless_most) {
        rm_stack_writer_lose(&round->writer, RM_LOSS_THREADS,
                             round->slotless - round->slotless_most);
        round->slotless_most = round->slotless;
    }
    round->slotless = 0;
}

static void sample_thread(struct rm_stack_round *round, uint32_t thread)
{
    if (!rm_thread_may_be_ours(thread)) {
        attach(round, thread);
    }
}

static bool visit_thread(void *context, const char *name)
{
    struct rm_text text = rm_text_of(name, strlen(name));
    uint64_t thread;
    if (rm_parse_u64(&text, &thread) && thread <= UINT32_MAX) {
        sample_thread(context, (uint32_t)thread);
    }
    return true;
}

/* Whether the thread blocks the signal: "SigBlk:\t0000000000400000", bit 0 is signal 1. */
static bool is_blocked(struct rm_stack_round *round, uint32_t thread)
{
    char path[64];
    struct rm_text text;
    struct rm_text line;
    uint64_t mask = 0;
    (void)snprintf(path, sizeof path, "proc/self/task/%u/status", thread);
    if (rm_file_read_once(&round->root, path, &round->scratch, &text) != RESMON_OK) {
        return false;
    }
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, "SigBlk:\t") && rm_parse_hex(&line, &mask)) {
            return (mask >> (rm_handler_signal() - 1) & 1) != 0;
        }
    }
    return false;
}

/* CPU time of a thread with the signal blocked, as a number of missed samples.  A thread with
 * samples since the last round is not counted: it may be in our handler. */
static void count_blocked(struct rm_stack_round *round, struct rm_stack_slot *slot)
{
    uint64_t now_ns = (uint64_t)rm_clock_cpu_ns(rm_thread_cpu_clock_of(slot->thread));
    uint64_t head = RM_LOAD_ACQUIRE(&slot->head);
    bool is_silent = head == slot->seen_head;
    slot->seen_head = head;
    if (slot->thread == 0 || round->terms.cpu_ns == 0 || !is_silent ||
        !is_blocked(round, slot->thread)) {
        slot->seen_ns = now_ns;
        return;
    }
    uint64_t every = (uint64_t)round->terms.cpu_ns;
    if (now_ns > slot->seen_ns) {
        uint64_t count = (now_ns - slot->seen_ns) / every;
        rm_stack_writer_lose(&round->writer, RM_LOSS_BLOCKED, count);
        slot->blocked += count;
        slot->seen_ns += count * every;
    }
}

/* Whether /proc lists the threads of this process by our pids; another namespace's are different.
 */
static bool rm_stack_threads_are_listed(struct rm_stack_round *round)
{
    char path[64];
    struct rm_text text;
    (void)snprintf(path, sizeof path, "proc/self/task/%u/comm", rm_thread_id());
    return rm_pid_view_find(&round->root, &round->scratch, (int64_t)getpid()).kind ==
               RM_PID_VIEW_SAME &&
           rm_file_read_once(&round->root, path, &round->scratch, &text) == RESMON_OK;
}

/* Without the list, the kernel still reports new threads. */
static void ignore_list(struct rm_stack_round *round)
{
    rm_stack_round_set_kinds(
        round, RESMON_STACKS_ALL, RESMON_OK,
        "the list of threads cannot be read (another namespace's /proc, "
        "or none): threads that already ran, except the first, are not sampled");
    sample_thread(round, (uint32_t)getpid());
}

/* Samples new threads of the list. */
static void rm_stack_threads_find(struct rm_stack_round *round)
{
    round->early_threads = 0;
    if (round->has_list) {
        (void)rm_dir_visit(&round->root, "proc/self/task", visit_thread, round);
    } else if (round->number == 0) {
        ignore_list(round);
    }
    count_slotless(round);
}

bool rm_stack_threads_may_sample_new(const struct rm_stack_round *round)
{
    return round->early_threads < MOST_EARLY_THREADS || !round->has_list;
}

/* Samples new threads that the kernel reported. */
static void rm_stack_threads_sample_new(struct rm_stack_round *round)
{
    for (uint32_t thread; (thread = rm_stack_sampler_take_new_thread()) != 0;) {
        if (rm_stack_threads_may_sample_new(round)) {
            round->early_threads++;
            sample_thread(round, thread);
        }
    }
}

/* Counts missed samples of threads that block the signal. */
static void rm_stack_threads_count_blocked(struct rm_stack_round *round)
{
    for (uint32_t i = 0; i < rm_slots_count(); i++) {
        count_blocked(round, rm_slots_at(i));
    }
}

/* ---- rounds --------------------------------------------------------------------------------- */

#define SLOW_ROUNDS 50                   /* rounds between checks of what changes rarely */
#define MAPPINGS_NS (100 * RM_NS_PER_MS) /* highest age of the mappings */
#define LATE_NS     (200 * RM_NS_PER_MS) /* of CPU time: the signal was blocked meanwhile */
#define PEAK_ROUNDS 100 /* bound, of a millisecond each, for the stacks of a peak */

/* ---- totals ---- */

static int64_t cpu_ns_of(const struct rusage *usage)
{
    return ((int64_t)usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * RM_NS_PER_S +
           ((int64_t)usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

/* A fault maps 512 small pages. */
static void set_huge_page_remarks(struct rm_stack_round *round)
{
    if (round->weights.huge_bytes > round->remarks.huge_bytes) {
        round->remarks.huge_bytes = round->weights.huge_bytes;
        set_fault_status(round);
    }
}

static void set_rises(struct rm_stack_round *round, int32_t kind, const struct rm_rss_rises *rises)
{
    rm_stack_writer_set_total(&round->writer, kind, rises->risen);
    rm_stack_writer_set_levels(&round->writer, kind, rises->first, rises->last);
}

/* Sets the totals by the kernel's account: CPU time without this thread's, and the growth of RSS by
 * any cause. */
static void set_totals(struct rm_stack_round *round)
{
    struct rusage now;
    (void)getrusage(RUSAGE_SELF, &now);
    int64_t cpu_ns = cpu_ns_of(&now) - cpu_ns_of(&round->before);
    int64_t own_ns = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    if (round->terms.cpu_ns > 0) {
        rm_stack_writer_set_total(&round->writer, RESMON_STACK_CPU,
                                  cpu_ns > own_ns ? (uint64_t)(cpu_ns - own_ns) : 0);
    }
    if (round->weights.is_known) {
        set_rises(round, RESMON_STACK_MEMORY, &round->weights.rises[RM_RSS_ANON]);
        set_rises(round, RESMON_STACK_FILE, &round->weights.rises[RM_RSS_FILE]);
        const struct rm_rss_rises *own = &round->weights.rises[RM_RSS_ANON];
        rm_stack_writer_set_total(&round->writer, RESMON_STACK_RESIDENT,
                                  own->last > own->first ? own->last - own->first : 0);
        set_huge_page_remarks(round);
    }
}

/* ---- samples ---------------------------------------------------------------------------- */

static int32_t kind_of_fault(struct rm_stack_round *round, uint64_t address)
{
    int64_t now_ns = rm_clock_monotonic_ns();
    const struct rm_mapped_range *range = rm_file_mappings_find(&round->mappings, address);
    if (range == NULL || now_ns - round->mappings_ns > MAPPINGS_NS) {
        if (now_ns - round->mappings_ns > MAPPINGS_NS / 10) {
            rm_file_mappings_read(&round->mappings, "proc/thread-self/maps", &round->root,
                                  &round->scratch);
            round->mappings_ns = now_ns;
        }
        range = rm_file_mappings_find(&round->mappings, address);
    }
    bool is_file = range != NULL && range->is_file &&
                   !(range->is_private && rm_own_pages_is_own(&round->pages, address));
    return is_file ? RESMON_STACK_FILE : RESMON_STACK_MEMORY;
}

static void weigh_cpu(struct rm_stack_round *round, struct rm_stack_sample *sample,
                      struct rm_stack_slot *slot)
{
    uint64_t every = (uint64_t)round->terms.cpu_ns;
    sample->kind = RESMON_STACK_CPU;
    if (sample->count * every > (uint64_t)LATE_NS && sample->count > 1) {
        uint64_t late = sample->count - 1;
        uint64_t known = slot->blocked < late ? slot->blocked : late;
        rm_stack_writer_lose(&round->writer, RM_LOSS_BLOCKED, late - known);
        slot->blocked = 0;
        sample->count = 1; /* its stack in the meantime is not known */
    }
    sample->weight = sample->count * every;
    sample->square = rm_stack_square(sample->weight, UINT64_MAX);
}

/* Gives held samples their weights. */
static void settle_faults(struct rm_stack_round *round)
{
    uint64_t rss[RM_RSS_PARTS];
    if (!round->weights.is_known) {
        return;
    }
    bool is_read =
        rm_own_pages_rss(&round->pages, &round->scratch, &rss[RM_RSS_ANON], &rss[RM_RSS_FILE]);
    if (rm_fault_weights_settle(&round->weights, is_read ? rss : NULL)) {
        rm_stack_sampler_look_closely();
    }
}

/* Notes a small page of memory, and what its sample represents. */
static void note_page(struct rm_stack_round *round, const struct rm_stack_sample *sample,
                      struct rm_stack_entry *entry, const struct rm_slot_sample *taken)
{
    const struct rm_resident_sample page = {
        .entry = entry,
        .address = taken->address,
        .bytes = sample->weight,
        .faults = taken->faults,
    };
    if (entry != NULL && !round->lacks_pagemap) {
        rm_resident_add(&round->resident, &page);
    }
}

static void lose_pagemap(struct rm_stack_round *round, const char *why)
{
    round->lacks_pagemap = true;
    round->weights.resident = NULL;
    rm_resident_withdraw(&round->resident);
    rm_stack_writer_set_kind(&round->writer, RESMON_STACK_RESIDENT, RESMON_ENOTSUP, why);
}

static void look_at_pages(struct rm_stack_round *round)
{
    if (round->lacks_pagemap || round->terms.fault_period == 0) {
        return;
    }
    resmon_status status = rm_resident_look(&round->resident, &round->root,
                                            "proc/thread-self/pagemap", round->page_bytes);
    rm_stack_writer_lose(&round->writer, RM_LOSS_ROOM, rm_resident_take_left_out(&round->resident));
    if (status != RESMON_OK && status != RESMON_ENOMEM) {
        lose_pagemap(round, resmon_last_error());
    }
}

static void hold(struct rm_stack_round *round, const struct rm_stack_sample *sample,
                 const struct rm_slot_sample *taken)
{
    enum rm_rss_part part = sample->kind == RESMON_STACK_FILE ? RM_RSS_FILE : RM_RSS_ANON;
    const struct rm_held_fault held = {
        .entry = rm_stack_writer_add(&round->writer, sample),
        .address = taken->address,
        .faults = taken->faults,
        .count = taken->count,
        .page_bytes = taken->page_bytes,
    };
    if (held.entry != NULL && !rm_fault_weights_hold(&round->weights, part, &held)) {
        settle_faults(round);
        (void)rm_fault_weights_hold(&round->weights, part, &held);
    }
}

/* A fault in memory maps one small page.  For files, only the RSS shows the number. */
static void take_faults(struct rm_stack_round *round, struct rm_stack_sample *sample,
                        const struct rm_slot_sample *taken)
{
    bool is_huge = taken->page_bytes > round->page_bytes;
    round->has_faults = true;
    sample->kind = kind_of_fault(round, taken->address);
    if (round->weights.is_known && (is_huge || sample->kind == RESMON_STACK_FILE)) {
        hold(round, sample, taken);
    } else if (sample->kind == RESMON_STACK_MEMORY) {
        sample->weight = taken->faults * (is_huge ? taken->page_bytes : round->page_bytes);
        sample->square = rm_stack_square(sample->weight, taken->faults);
        rm_fault_weights_count(&round->weights, is_huge ? 0 : sample->weight);
        note_page(round, sample, rm_stack_writer_add(&round->writer, sample), taken);
    }
}

static void read_name(struct rm_stack_round *round, uint32_t thread, char name[16])
{
    char path[64];
    struct rm_text text;
    (void)snprintf(path, sizeof path, "proc/self/task/%u/comm", thread);
    memset(name, 0, 16);
    if (rm_file_read_once(&round->root, path, &round->scratch, &text) == RESMON_OK) {
        struct rm_text line;
        if (rm_parse_line(&text, &line)) {
            (void)rm_text_copy(name, 16, line.at, rm_text_left(&line));
        }
    }
}

static void take(void *context, const struct rm_slot_sample *taken,
                 const struct rm_slot_sample *python, struct rm_stack_slot *slot)
{
    struct rm_stack_round *round = context;
    struct rm_slot_sample *parts = (struct rm_slot_sample *)(uintptr_t)taken; // NOLINT
    uint64_t values[RM_STACK_DEPTH];
    struct rm_stack_sample sample = {
        .sites = rm_slot_sites(parts),
        .addresses = rm_slot_addresses(parts),
        .site_count = taken->site_count,
        .depth = taken->depth,
        .is_cut = taken->is_cut != 0 || taken->is_broken != 0,
        .count = taken->count,
    };
    uint32_t joined = rm_python_inside_join(&round->writer, taken, python, values, &sample.is_cut);
    if (joined > 0) {
        sample.addresses = values;
        sample.depth = joined;
    }
    rm_stack_writer_lose(&round->writer, RM_LOSS_DEPTH, taken->is_cut);
    rm_stack_writer_lose(&round->writer, RM_LOSS_UNWIND, taken->is_broken);
    if (taken->cause == RM_SAMPLE_PEAK && !round->is_at_peak) {
        return; /* too late for the peak */
    }
    if (taken->cause == RM_SAMPLE_PEAK) {
        char name[16];
        read_name(round, slot->thread, name);
        rm_stack_writer_add_peak(&round->writer, &sample, slot->thread, name);
        round->peak_arrived++;
        return;
    }
    if (taken->cause == RM_SAMPLE_CPU) {
        weigh_cpu(round, &sample, slot);
        (void)rm_stack_writer_add(&round->writer, &sample);
    } else {
        take_faults(round, &sample, taken);
    }
}

/* Checked in every round: the program's handler would get every signal sent meanwhile. */
static void look_at_signal(struct rm_stack_round *round)
{
    if (round->terms.wants_signal && !round->is_lost && !rm_claimed_signal_is_ours()) {
        round->is_lost = true;
        rm_stack_sampler_give_up();
        rm_stack_round_set_kinds(
            round, RESMON_STACKS_CPU, RESMON_EBUSY,
            "the program installed its own handler for the signal that stacks need");
    }
}

/* Whether threads are sampled. */
static bool has_work(const struct rm_stack_round *round)
{
    return !round->is_lost || round->terms.fault_period > 0;
}

/* ---- rounds ----------------------------------------------------------------------------- */

/* Without room for names, Python was not in the process when the block was made. */
static void look_for_python(struct rm_stack_round *round)
{
    char text[RM_STACK_ERROR_BYTES + 64];
    const char *why = NULL;
    if (round->terms.block.header->sizes.stack_texts > 0) {
        why = rm_stack_sampler_find_python();
        why = why == NULL && !round->terms.wants_signal ? "the program uses the signal" : why;
    } else if (rm_interpreter_is_here()) {
        why = "it was loaded after the monitor had started";
    }
    if (why != NULL) {
        (void)snprintf(text, sizeof text, "Python's functions are not read: %s", why);
        rm_stack_round_set_kinds(round, RESMON_STACKS_ALL, RESMON_OK, text);
    }
}

static void see_modules(struct rm_stack_round *round)
{
    uint64_t left_out = 0;
    (void)rm_stack_sampler_refresh();
    const struct rm_modules *modules = rm_code_now()->modules;
    if (round->has_seen_modules && modules->adds == round->seen_adds) {
        return; /* unloaded modules stay in the run */
    }
    round->has_seen_modules = true;
    round->seen_adds = modules->adds;
    look_for_python(round);
    for (size_t i = 0; i < modules->count; i++) {
        left_out += rm_stack_writer_add_module(&round->writer, &modules->rows[i].entry) ? 0 : 1;
    }
    if (left_out > round->left_out_most) {
        rm_stack_writer_lose(&round->writer, RM_LOSS_MODULES, left_out - round->left_out_most);
        round->left_out_most = left_out;
    }
}

void rm_stack_round_drain(struct rm_stack_round *round)
{
    round->has_faults = false;
    rm_stack_sampler_drain(take, round);
    settle_faults(round);
    rm_stack_writer_lose(&round->writer, RM_LOSS_RING, rm_stack_sampler_full());
    if (has_work(round)) {
        rm_stack_threads_sample_new(round);
    }
}

/* Published even if some thread did not respond: at a peak, the program may be killed soon.  If
 * none did, the last peak is kept. */
static void take_peak(struct rm_stack_round *round, struct rm_peak_head *head)
{
    const struct timespec pause = {.tv_nsec = RM_NS_PER_MS};
    head->t_ns = (uint64_t)(rm_clock_monotonic_ns() - round->terms.block.header->start.ns);
    rm_stack_round_drain(round);
    rm_stack_writer_begin_peak(&round->writer, head);
    round->peak_arrived = 0;
    round->is_at_peak = true;
    uint32_t requested = rm_stack_sampler_request_all();
    for (int i = 0; i < PEAK_ROUNDS && round->peak_arrived < requested; i++) {
        (void)nanosleep(&pause, NULL);
        rm_stack_round_drain(round);
    }
    round->is_at_peak = false;
    if (round->peak_arrived > 0) {
        rm_stack_writer_publish_peak(&round->writer);
    }
}

/* A value that is no peak may still be the highest. */
static bool look_for_peak(struct rm_stack_round *round, struct rm_peak_head *head)
{
    bool is_peak = rm_memory_watch_look(&round->watch, &round->scratch, head);
    const struct rm_seen_rss *highest = &round->watch.highest;
    int64_t start_ns = round->terms.block.header->start.ns;
    if (highest->bytes > 0) {
        rm_stack_writer_set_highest(
            &round->writer, highest->bytes,
            highest->at_ns > start_ns ? (uint64_t)(highest->at_ns - start_ns) : 0);
    }
    return is_peak;
}

void rm_stack_round_make(struct rm_stack_round *round)
{
    struct rm_peak_head head;
    rm_root_revive(&round->root);
    see_modules(round);
    look_at_signal(round);
    if (has_work(round)) {
        rm_stack_threads_find(round);
    }
    rm_stack_round_drain(round);
    rm_stack_sampler_forget_ended();
    if ((round->wanted & RESMON_STACKS_PEAK) != 0 && look_for_peak(round, &head) &&
        !round->is_lost) {
        take_peak(round, &head);
    }
    if (round->number++ % SLOW_ROUNDS == 0 && !round->is_lost) {
        rm_stack_threads_count_blocked(round);
    }
    if (rm_resident_turn_begin(&round->resident_turn, rm_clock_monotonic_ns(),
                               rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID))) {
        look_at_pages(round);
        rm_resident_turn_end(&round->resident_turn, rm_clock_monotonic_ns(),
                             rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
    }
    set_totals(round);
    RM_STORE(&round->terms.block.header->own_stacks_rss,
             rm_stack_sampler_bytes() + rm_resident_bytes(&round->resident));
}

void rm_stack_round_finish(struct rm_stack_round *round)
{
    see_modules(round);
    rm_stack_round_drain(round);
    look_at_pages(round);
    set_totals(round);
}

static enum rm_huge_pages find_huge_pages(struct rm_stack_round *round)
{
    struct rm_text text;
    return rm_file_read_once(&round->root, "sys/kernel/mm/transparent_hugepage/enabled",
                             &round->scratch, &text) == RESMON_OK
               ? rm_huge_pages_parse(text)
               : RM_HUGE_PAGES_NONE;
}

/* Without /proc, the pages mapped by a fault in a file mapping are not known. */
static void open_pages(struct rm_stack_round *round)
{
    uint64_t rss[RM_RSS_PARTS];
    if (round->terms.fault_period == 0) {
        return;
    }
    rm_own_pages_open(&round->pages, &round->root, round->page_bytes);
    bool is_read =
        rm_own_pages_rss(&round->pages, &round->scratch, &rss[RM_RSS_ANON], &rss[RM_RSS_FILE]);
    rm_fault_weights_begin(&round->weights, round->page_bytes, round->terms.fault_period,
                           is_read ? rss : NULL);
    round->lacks_rss = !is_read;
    round->weights.resident = &round->resident;
    if (!rm_file_is_open(&round->pages.pagemap)) {
        lose_pagemap(round, "the pages of the process cannot be read here (/proc/self/pagemap)");
    }
    if (!is_read) {
        rm_stack_writer_set_kind(&round->writer, RESMON_STACK_FILE, RESMON_ENOTSUP,
                                 "the kernel maps pages of files in groups of any size, and the "
                                 "growth of RssFile cannot be read here (/proc/self/statm)");
    }
}

resmon_status rm_stack_round_open(struct rm_stack_round *round)
{
    resmon_status status = rm_root_open(&round->root, NULL);
    if (status != RESMON_OK) {
        return status;
    }
    status = rm_scratch_init(&round->scratch);
    if (status != RESMON_OK) {
        rm_root_close(&round->root);
        return status;
    }
    if ((round->wanted & RESMON_STACKS_PEAK) != 0) {
        rm_memory_watch_open(&round->watch, &round->root, &round->scratch);
    }
    open_pages(round);
    rm_handler_set_drainer(rm_thread_id());
    round->has_list = rm_stack_threads_are_listed(round);
    round->remarks.huge_pages = find_huge_pages(round);
    rm_stack_sampler_expect_huge_pages(round->remarks.huge_pages == RM_HUGE_PAGES_ALL);
    return RESMON_OK;
}

void rm_stack_round_close(struct rm_stack_round *round)
{
    if ((round->wanted & RESMON_STACKS_PEAK) != 0) {
        rm_memory_watch_close(&round->watch);
    }
    if (round->terms.fault_period > 0) {
        rm_own_pages_close(&round->pages);
        rm_resident_free(&round->resident);
    }
    rm_file_mappings_free(&round->mappings);
    rm_scratch_free(&round->scratch);
    rm_root_close(&round->root);
}

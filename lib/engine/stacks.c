/* SPDX-License-Identifier: MIT */
#include "engine/stacks.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "engine/memory_watch.h"
#include "stack/sampler.h"
#include "store/stack_writer.h"
#include "sys/claimed_signal.h"
#include "sys/dir.h"
#include "sys/file_mappings.h"
#include "sys/kept.h"

#define ROUND_NS    (20 * RM_NS_PER_MS)
#define SHORT_NS    (4 * RM_NS_PER_MS)   /* while page faults come: their scopes are still open */
#define SLOW_ROUNDS 50                   /* between looks at what changes rarely */
#define MAPPINGS_NS (100 * RM_NS_PER_MS) /* the list of them is as old as this at most */
#define LATE_NS     (200 * RM_NS_PER_MS) /* of CPU time: the signal was blocked meanwhile */
#define PEAK_ROUNDS 100                  /* of a millisecond that the stacks of a peak have */
#define TEXT_BYTES  160

struct rm_stacks {
    struct rm_stack_terms terms;
    struct rm_stack_writer writer;
    uint64_t wanted; /* RESMON_STACKS_* */
    pthread_t thread;

    /* The thread's alone: */
    struct rm_root root;
    struct rm_scratch scratch;
    struct rm_file_mappings mappings;
    int64_t mappings_ns;
    struct rm_memory_watch watch;
    uint64_t page_bytes;
    uint64_t rounds;
    uint64_t slotless, slotless_most; /* threads without a slot, in this round and in any */
    struct rusage before;
    bool is_at_peak;
    uint32_t peak_arrived;
    bool is_lost; /* the program took the signal away */
    bool has_remarked;

    bool has_faults; /* came in the latest round: the next one is soon */

    bool is_stopping;     /* atomic */
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t answered;
    bool has_begun;
    uint32_t number; /* the kernel's, of the thread */
};

/* ---- what is known about a kind ---------------------------------------------------------- */

static const struct {
    int32_t kind;
    uint64_t bit;
} kinds[] = {
    {RESMON_STACK_CPU, RESMON_STACKS_CPU},
    {RESMON_STACK_MEMORY, RESMON_STACKS_MEMORY},
    {RESMON_STACK_FILE, RESMON_STACKS_MEMORY},
};

static void set_kinds(struct rm_stacks *stacks, uint64_t bits, resmon_status status,
                      const char *reason)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(kinds); i++) {
        if ((stacks->wanted & bits & kinds[i].bit) != 0) {
            rm_stack_writer_set_kind(&stacks->writer, kinds[i].kind, status, reason);
        }
    }
}

static int64_t cpu_ns_of(const struct rusage *usage)
{
    return ((int64_t)usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * RM_NS_PER_S +
           ((int64_t)usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

/* What there was to see, by the kernel's account: CPU time without that of this thread, and all
 * faults, also those of the kernel on the program's behalf, which are not sampled. */
static void set_totals(struct rm_stacks *stacks)
{
    struct rusage now;
    (void)getrusage(RUSAGE_SELF, &now);
    int64_t cpu_ns = cpu_ns_of(&now) - cpu_ns_of(&stacks->before);
    int64_t own_ns = rm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    long faults =
        now.ru_minflt - stacks->before.ru_minflt + now.ru_majflt - stacks->before.ru_majflt;
    if (stacks->terms.cpu_ns > 0) {
        rm_stack_writer_set_total(&stacks->writer, RESMON_STACK_CPU,
                                  cpu_ns > own_ns ? (uint64_t)(cpu_ns - own_ns) : 0);
    }
    if (stacks->terms.fault_period > 0) {
        rm_stack_writer_set_total(&stacks->writer, RESMON_STACK_MEMORY,
                                  (uint64_t)faults * stacks->page_bytes);
    }
}

/* ---- samples ---------------------------------------------------------------------------- */

static int32_t kind_of_fault(struct rm_stacks *stacks, uint64_t address)
{
    int64_t now_ns = rm_clock_monotonic_ns();
    const struct rm_mapped_range *range = rm_file_mappings_find(&stacks->mappings, address);
    if (range == NULL || now_ns - stacks->mappings_ns > MAPPINGS_NS) {
        if (now_ns - stacks->mappings_ns > MAPPINGS_NS / 10) {
            rm_file_mappings_read(&stacks->mappings, &stacks->root, &stacks->scratch);
            stacks->mappings_ns = now_ns;
        }
        range = rm_file_mappings_find(&stacks->mappings, address);
    }
    return range != NULL && range->is_file ? RESMON_STACK_FILE : RESMON_STACK_MEMORY;
}

static void weigh_cpu(struct rm_stacks *stacks, struct rm_stack_sample *sample,
                      struct rm_stack_slot *slot)
{
    uint64_t every = (uint64_t)stacks->terms.cpu_ns;
    sample->kind = RESMON_STACK_CPU;
    if (sample->count * every > (uint64_t)LATE_NS && sample->count > 1) {
        uint64_t late = sample->count - 1;
        uint64_t known = slot->blocked < late ? slot->blocked : late;
        rm_stack_writer_lose(&stacks->writer, RM_LOSS_BLOCKED, late - known);
        slot->blocked = 0;
        sample->count = 1; /* where it was meanwhile, nobody knows */
    }
    sample->weight = sample->count * every;
}

static void read_name(struct rm_stacks *stacks, uint32_t thread, char name[16])
{
    char path[64];
    struct rm_text text;
    (void)snprintf(path, sizeof path, "proc/self/task/%u/comm", thread);
    memset(name, 0, 16);
    if (rm_file_read_once(&stacks->root, path, &stacks->scratch, &text) == RESMON_OK) {
        struct rm_text line;
        if (rm_parse_line(&text, &line)) {
            (void)rm_text_copy(name, 16, line.at, rm_text_left(&line));
        }
    }
}

static void take(void *context, const struct rm_slot_sample *taken, struct rm_stack_slot *slot)
{
    struct rm_stacks *stacks = context;
    struct rm_slot_sample *parts = (struct rm_slot_sample *)(uintptr_t)taken; // NOLINT
    struct rm_stack_sample sample = {
        .sites = rm_slot_sites(parts),
        .addresses = rm_slot_addresses(parts),
        .site_count = taken->site_count,
        .depth = taken->depth,
        .is_cut = taken->is_cut != 0 || taken->is_broken != 0,
        .count = taken->count,
    };
    rm_stack_writer_lose(&stacks->writer, RM_LOSS_DEPTH, taken->is_cut);
    rm_stack_writer_lose(&stacks->writer, RM_LOSS_UNWIND, taken->is_broken);
    if (taken->cause == RM_SAMPLE_PEAK && !stacks->is_at_peak) {
        return; /* too late */
    }
    if (taken->cause == RM_SAMPLE_PEAK) {
        char name[16];
        read_name(stacks, slot->thread, name);
        rm_stack_writer_add_peak(&stacks->writer, &sample, slot->thread, name);
        stacks->peak_arrived++;
        return;
    }
    if (taken->cause == RM_SAMPLE_CPU) {
        weigh_cpu(stacks, &sample, slot);
    } else {
        stacks->has_faults = true;
        sample.kind = kind_of_fault(stacks, taken->address);
        sample.weight = sample.count * stacks->terms.fault_period * stacks->page_bytes;
    }
    rm_stack_writer_add(&stacks->writer, &sample);
}

/* ---- threads ---------------------------------------------------------------------------- */

static void attach(struct rm_stacks *stacks, uint32_t thread)
{
    struct rm_stack_attached attached;
    if (!rm_stack_sampler_attach(thread, &attached)) {
        return;
    }
    if (!attached.has_slot) {
        stacks->slotless++;
        return;
    }
    if (attached.faults != RESMON_OK) {
        set_kinds(stacks, RESMON_STACKS_MEMORY, attached.faults, attached.faults_error);
    }
    if (attached.lacks_kernel && !stacks->has_remarked) {
        stacks->has_remarked = true;
        set_kinds(stacks, RESMON_STACKS_MEMORY, RESMON_OK,
                  "page faults in system calls (read() into fresh memory) are not sampled: this "
                  "process may not watch the kernel (kernel.perf_event_paranoid 2)");
    }
    if (attached.timer != RESMON_OK) {
        set_kinds(stacks, RESMON_STACKS_CPU, attached.timer, attached.timer_error);
    }
    if (attached.faults != RESMON_OK || attached.timer != RESMON_OK) {
        rm_stack_writer_lose(&stacks->writer, RM_LOSS_THREADS, 1);
    }
}

/* A thread that finds no slot is met in every round: counted are as many as there were at once. */
static void count_slotless(struct rm_stacks *stacks)
{
    if (stacks->slotless > stacks->slotless_most) {
        rm_stack_writer_lose(&stacks->writer, RM_LOSS_THREADS,
                             stacks->slotless - stacks->slotless_most);
        stacks->slotless_most = stacks->slotless;
    }
    stacks->slotless = 0;
}

static bool visit_thread(void *context, const char *name)
{
    struct rm_text text = rm_text_of(name, strlen(name));
    uint64_t thread;
    if (rm_parse_u64(&text, &thread) && thread <= UINT32_MAX &&
        !rm_thread_is_ours((uint32_t)thread)) {
        attach(context, (uint32_t)thread);
    }
    return true;
}

/* Whether the thread has the signal blocked: "SigBlk:\t0000000000400000", bit 0 is signal 1. */
static bool is_blocked(struct rm_stacks *stacks, uint32_t thread)
{
    char path[64];
    struct rm_text text;
    struct rm_text line;
    uint64_t mask = 0;
    (void)snprintf(path, sizeof path, "proc/self/task/%u/status", thread);
    if (rm_file_read_once(&stacks->root, path, &stacks->scratch, &text) != RESMON_OK) {
        return false;
    }
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, "SigBlk:\t") && rm_parse_hex(&line, &mask)) {
            return (mask >> (rm_stack_sampler_signal() - 1) & 1) != 0;
        }
    }
    return false;
}

/* CPU time that a thread spent with the signal blocked, in samples that it should have been.  One
 * that gave samples meanwhile has it blocked just now: in our handler, perhaps. */
static void count_blocked(struct rm_stacks *stacks, struct rm_stack_slot *slot)
{
    uint64_t now_ns = (uint64_t)rm_clock_ns(rm_thread_cpu_clock_of(slot->thread));
    uint64_t head = RM_LOAD_ACQUIRE(&slot->head);
    bool is_silent = head == slot->seen_head;
    slot->seen_head = head;
    if (slot->thread == 0 || stacks->terms.cpu_ns == 0 || !is_silent ||
        !is_blocked(stacks, slot->thread)) {
        slot->seen_ns = now_ns;
        return;
    }
    uint64_t every = (uint64_t)stacks->terms.cpu_ns;
    if (now_ns > slot->seen_ns) {
        uint64_t count = (now_ns - slot->seen_ns) / every;
        rm_stack_writer_lose(&stacks->writer, RM_LOSS_BLOCKED, count);
        slot->blocked += count;
        slot->seen_ns += count * every;
    }
}

static void look_slowly(struct rm_stacks *stacks)
{
    struct rm_stack_slot *slot;
    for (uint32_t i = 0; rm_stack_sampler_thread(i, &slot); i++) {
        count_blocked(stacks, slot);
    }
}

/* In every round: the program's handler would get every signal that is sent meanwhile. */
static void look_at_signal(struct rm_stacks *stacks)
{
    if (stacks->terms.wants_signal && !stacks->is_lost && !rm_claimed_signal_is_ours()) {
        stacks->is_lost = true;
        rm_stack_sampler_give_up();
        set_kinds(stacks, RESMON_STACKS_CPU, RESMON_EBUSY,
                  "the program took the signal for itself while stacks were taken");
    }
}

/* ---- rounds ----------------------------------------------------------------------------- */

static void see_modules(struct rm_stacks *stacks)
{
    (void)rm_stack_sampler_refresh();
    const struct rm_modules *modules = rm_stack_sampler_modules();
    for (size_t i = 0; i < modules->count; i++) {
        rm_stack_writer_add_module(&stacks->writer, &modules->rows[i].entry);
    }
}

static void drain(struct rm_stacks *stacks)
{
    stacks->has_faults = false;
    rm_stack_sampler_drain(take, stacks);
    rm_stack_writer_lose(&stacks->writer, RM_LOSS_RING, rm_stack_sampler_full());
}

/* Published even when some thread did not answer: at a peak, the program may not have long to live.
 * What was published before stays if none did. */
static void take_peak(struct rm_stacks *stacks, struct rm_peak_head *head)
{
    const struct timespec pause = {.tv_nsec = RM_NS_PER_MS};
    head->t_ns = (uint64_t)(rm_clock_monotonic_ns() - stacks->terms.block.header->start.ns);
    drain(stacks);
    rm_stack_writer_begin_peak(&stacks->writer, head);
    stacks->peak_arrived = 0;
    stacks->is_at_peak = true;
    uint32_t asked = rm_stack_sampler_ask_all();
    for (int i = 0; i < PEAK_ROUNDS && stacks->peak_arrived < asked; i++) {
        (void)nanosleep(&pause, NULL);
        drain(stacks);
    }
    stacks->is_at_peak = false;
    if (stacks->peak_arrived > 0) {
        rm_stack_writer_publish_peak(&stacks->writer);
    }
}

static void do_round(struct rm_stacks *stacks)
{
    struct rm_peak_head head;
    see_modules(stacks);
    look_at_signal(stacks);
    if (!stacks->is_lost || stacks->terms.fault_period > 0) {
        (void)rm_dir_visit(&stacks->root, "proc/self/task", visit_thread, stacks);
        count_slotless(stacks);
    }
    drain(stacks);
    rm_stack_sampler_forget_ended();
    if ((stacks->wanted & RESMON_STACKS_PEAK) != 0 && !stacks->is_lost &&
        rm_memory_watch_look(&stacks->watch, &stacks->scratch, &head)) {
        take_peak(stacks, &head);
    }
    if (stacks->rounds++ % SLOW_ROUNDS == 0 && !stacks->is_lost) {
        look_slowly(stacks);
    }
    set_totals(stacks);
}

/* Huge pages come with one fault for 512 ordinary ones. */
static void remark_huge_pages(struct rm_stacks *stacks)
{
    struct rm_text text;
    struct rm_text before;
    if (rm_file_read_once(&stacks->root, "sys/kernel/mm/transparent_hugepage/enabled",
                          &stacks->scratch, &text) == RESMON_OK &&
        rm_parse_until(&text, '[', &before) && rm_parse_literal(&text, "always]")) {
        set_kinds(
            stacks, RESMON_STACKS_MEMORY, RESMON_OK,
            "transparent huge pages are on for all memory, and one fault brings 2 MiB: growth "
            "by them counts as one small page");
    }
}

static resmon_status open_files(struct rm_stacks *stacks)
{
    resmon_status status = rm_root_open(&stacks->root, NULL);
    if (status != RESMON_OK) {
        return status;
    }
    status = rm_scratch_init(&stacks->scratch);
    if (status != RESMON_OK) {
        rm_root_close(&stacks->root);
        return status;
    }
    if ((stacks->wanted & RESMON_STACKS_PEAK) != 0) {
        rm_memory_watch_open(&stacks->watch, &stacks->root, &stacks->scratch);
    }
    return RESMON_OK;
}

static void close_files(struct rm_stacks *stacks)
{
    if ((stacks->wanted & RESMON_STACKS_PEAK) != 0) {
        rm_memory_watch_close(&stacks->watch);
    }
    rm_file_mappings_free(&stacks->mappings);
    rm_scratch_free(&stacks->scratch);
    rm_root_close(&stacks->root);
}

/* ---- the thread ------------------------------------------------------------------------- */

static void tell_begun(struct rm_stacks *stacks)
{
    (void)pthread_mutex_lock(&stacks->lock);
    stacks->has_begun = true;
    stacks->number = rm_thread_id();
    (void)pthread_cond_signal(&stacks->answered);
    (void)pthread_mutex_unlock(&stacks->lock);
}

static void *run_thread(void *context)
{
    struct rm_stacks *stacks = context;
    rm_kept_isolate_thread();
    resmon_status status = open_files(stacks);
    bool is_open = status == RESMON_OK;
    int64_t until_ns = rm_clock_monotonic_ns();
    if (!is_open) {
        set_kinds(stacks, RESMON_STACKS_ALL, status, resmon_last_error());
    } else {
        remark_huge_pages(stacks);
        do_round(stacks);
    }
    tell_begun(stacks);
    while (!__atomic_load_n(&stacks->is_stopping, __ATOMIC_SEQ_CST)) {
        rm_stack_sampler_wait(stacks->has_faults ? SHORT_NS : ROUND_NS);
        int64_t now_ns = rm_clock_monotonic_ns();
        if (is_open && now_ns >= until_ns) {
            do_round(stacks);
            until_ns = now_ns + ROUND_NS;
        } else if (is_open) {
            drain(stacks);
        }
    }
    if (is_open) {
        drain(stacks); /* page faults: their rings go with the stop */
    }
    rm_stack_sampler_stop();
    if (is_open) {
        see_modules(stacks);
        drain(stacks);
        set_totals(stacks);
        close_files(stacks);
    }
    rm_stack_sampler_close();
    return NULL;
}

/* ---- start and stop --------------------------------------------------------------------- */

static void free_stacks(struct rm_stacks *stacks)
{
    rm_stack_writer_close(&stacks->writer);
    (void)pthread_mutex_destroy(&stacks->lock);
    (void)pthread_cond_destroy(&stacks->answered);
    rm_free(stacks);
}

static struct rm_stacks *make(const struct rm_block *block, const struct rm_options *options)
{
    struct rm_stacks *stacks = rm_alloc(1, sizeof *stacks);
    if (stacks == NULL) {
        return NULL;
    }
    stacks->wanted = options->stacks;
    stacks->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    stacks->terms.block = *block;
    if ((options->stacks & RESMON_STACKS_CPU) != 0) {
        stacks->terms.cpu_ns = RM_NS_PER_S / (int64_t)options->stack_hz;
    }
    if ((options->stacks & RESMON_STACKS_MEMORY) != 0) {
        stacks->terms.fault_period = options->fault_period;
    }
    stacks->terms.wants_signal = (options->stacks & (RESMON_STACKS_CPU | RESMON_STACKS_PEAK)) != 0;
    (void)getrusage(RUSAGE_SELF, &stacks->before);
    (void)pthread_mutex_init(&stacks->lock, NULL);
    (void)pthread_cond_init(&stacks->answered, NULL);
    return stacks;
}

static void set_first_kinds(struct rm_stacks *stacks)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(kinds); i++) {
        rm_stack_writer_set_kind(&stacks->writer, kinds[i].kind, RESMON_ESTATE, "");
    }
    set_kinds(stacks, RESMON_STACKS_ALL, RESMON_OK, "");
    rm_stack_writer_set_period(&stacks->writer, RESMON_STACK_CPU, (uint64_t)stacks->terms.cpu_ns);
    rm_stack_writer_set_period(&stacks->writer, RESMON_STACK_MEMORY, stacks->terms.fault_period);
    rm_stack_writer_set_period(&stacks->writer, RESMON_STACK_FILE, stacks->terms.fault_period);
}

static resmon_status start_thread(struct rm_stacks *stacks)
{
    const struct rm_thread_work work = {"rm-stack", RM_STACK_OF_PROGRAM, run_thread, stacks};
    resmon_status status = rm_thread_start(&stacks->thread, &work);
    if (status != RESMON_OK) {
        rm_stack_sampler_stop();
        rm_stack_sampler_close();
        return status;
    }
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)pthread_mutex_lock(&stacks->lock);
    while (!stacks->has_begun) {
        (void)pthread_cond_wait(&stacks->answered, &stacks->lock);
    }
    (void)pthread_mutex_unlock(&stacks->lock);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return RESMON_OK;
}

static void say_failure(struct rm_stacks *stacks, uint64_t bits, resmon_status status)
{
    char text[TEXT_BYTES];
    (void)rm_text_set(text, sizeof text, resmon_last_error());
    set_kinds(stacks, bits, status, text);
    if (stacks->wanted ==
        RESMON_STACKS_PEAK) { /* which is no kind: its reason must stand somewhere */
        rm_stack_writer_set_kind(&stacks->writer, RESMON_STACK_CPU, status, text);
    }
}

/* Growth of memory needs no signal, if there is none to be had. */
static resmon_status open_sampler(struct rm_stacks *stacks)
{
    resmon_status status = rm_stack_sampler_open(&stacks->terms);
    if (status == RESMON_EBUSY && stacks->terms.wants_signal && stacks->terms.fault_period > 0) {
        say_failure(stacks, RESMON_STACKS_CPU, status);
        stacks->wanted &= RESMON_STACKS_MEMORY;
        stacks->terms.wants_signal = false;
        stacks->terms.cpu_ns = 0;
        status = rm_stack_sampler_open(&stacks->terms);
    }
    return status;
}

resmon_status rm_stacks_start(const struct rm_block *block, const struct rm_options *options,
                              bool is_self, struct rm_stacks **ret_stacks)
{
    struct rm_stacks *stacks = make(block, options);
    if (stacks == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for stacks");
    }
    resmon_status status = rm_stack_writer_open(&stacks->writer, block);
    if (status != RESMON_OK) {
        free_stacks(stacks);
        return status;
    }
    set_first_kinds(stacks);
    status = is_self ? open_sampler(stacks)
                     : rm_error(RESMON_ENOTSUP, "stacks are of this process only");
    if (status != RESMON_OK) {
        say_failure(stacks, RESMON_STACKS_ALL, status);
        free_stacks(stacks);
        return RESMON_OK;
    }
    status = start_thread(stacks);
    if (status != RESMON_OK) {
        free_stacks(stacks);
        return status;
    }
    *ret_stacks = stacks;
    return RESMON_OK;
}

void rm_stacks_stop(struct rm_stacks *stacks)
{
    if (stacks == NULL) {
        return;
    }
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    __atomic_store_n(&stacks->is_stopping, true, __ATOMIC_SEQ_CST);
    rm_stack_sampler_wake(stacks->number);
    (void)pthread_join(stacks->thread, NULL);
    (void)pthread_setcancelstate(cancel_state, NULL);
    free_stacks(stacks);
}

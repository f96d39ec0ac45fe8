/* SPDX-License-Identifier: MIT */
#include "stack/threads.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/text.h"
#include "base/thread.h"
#include "os/proc_pid.h"
#include "stack/handler.h"
#include "stack/slots.h"

/* Of new threads between two rounds, which take some 0.1 ms each; those that live find theirs. */
#define MOST_EARLY_THREADS 16U

/* As long as it works for no thread, it is the kind's failure; where others are sampled, a remark,
 * and true: this thread is missing. */
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
        rm_stack_round_tell_faults(round);
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

/* A thread that finds no slot is met in every round: counted are as many as there were at once. */
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

/* Whether the thread has the signal blocked: "SigBlk:\t0000000000400000", bit 0 is signal 1. */
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

/* CPU time that a thread spent with the signal blocked, in samples that it should have been.  One
 * that gave samples meanwhile has it blocked just now: in our handler, perhaps. */
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

/* Another namespace's has other numbers. */
bool rm_stack_threads_are_listed(struct rm_stack_round *round)
{
    char path[64];
    struct rm_text text;
    (void)snprintf(path, sizeof path, "proc/self/task/%u/comm", rm_thread_id());
    return rm_pid_view_find(&round->root, &round->scratch, (int64_t)getpid()).kind ==
               RM_PID_VIEW_SAME &&
           rm_file_read_once(&round->root, path, &round->scratch, &text) == RESMON_OK;
}

/* Without the list, the kernel tells of new threads still. */
static void do_without_list(struct rm_stack_round *round)
{
    rm_stack_round_set_kinds(
        round, RESMON_STACKS_ALL, RESMON_OK,
        "the list of threads cannot be read (another namespace's /proc, "
        "or none): threads that already ran, except the first, are not sampled");
    sample_thread(round, (uint32_t)getpid());
}

void rm_stack_threads_find(struct rm_stack_round *round)
{
    round->early_threads = 0;
    if (round->has_list) {
        (void)rm_dir_visit(&round->root, "proc/self/task", visit_thread, round);
    } else if (round->number == 0) {
        do_without_list(round);
    }
    count_slotless(round);
}

bool rm_stack_threads_may_sample_new(const struct rm_stack_round *round)
{
    return round->early_threads < MOST_EARLY_THREADS || !round->has_list;
}

void rm_stack_threads_sample_new(struct rm_stack_round *round)
{
    for (uint32_t thread; (thread = rm_stack_sampler_take_new_thread()) != 0;) {
        if (rm_stack_threads_may_sample_new(round)) {
            round->early_threads++;
            sample_thread(round, thread);
        }
    }
}

void rm_stack_threads_count_blocked(struct rm_stack_round *round)
{
    for (uint32_t i = 0; i < rm_slots_count(); i++) {
        count_blocked(round, rm_slots_at(i));
    }
}

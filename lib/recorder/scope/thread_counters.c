/* SPDX-License-Identifier: MIT */
#include "scope/thread_counters.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/status.h"
#include "base/text.h"
#include "os/own_io.h"
#include "os/perf.h"
#include "os/pfm.h"

/* The threads' open descriptors, one bit each, so that the child of a fork can close them. */
#define MOST_FDS 4096
static uint64_t open_fds[MOST_FDS / 64]; /* atomic */

static void note_open(int fd)
{
    (void)__atomic_fetch_or(&open_fds[fd / 64], UINT64_C(1) << (fd % 64), __ATOMIC_RELAXED);
}

static void note_closed(int fd)
{
    (void)__atomic_fetch_and(&open_fds[fd / 64], ~(UINT64_C(1) << (fd % 64)), __ATOMIC_RELAXED);
}

/* In the child of a fork: closes the inherited descriptors of all threads. */
static void after_fork(void)
{
    for (int word = 0; word < MOST_FDS / 64; word++) {
        uint64_t bits = RM_LOAD(&open_fds[word]);
        RM_STORE(&open_fds[word], 0);
        for (; bits != 0; bits &= bits - 1) {
            rm_perf_close(word * 64 + __builtin_ctzll(bits));
        }
    }
}

static const struct rm_fork_part at_fork = {.in_child = after_fork};

static int open_event(const struct rm_perf_event *event, int leader, bool skips_kernel)
{
    const struct rm_perf_request request = {
        .type = event->type,
        .config = event->config,
        .config1 = event->config1,
        .config2 = event->config2,
        .leader = leader,
        .skips_user = event->skips_user,
        .skips_kernel = skips_kernel || event->skips_kernel,
        .reads_as_group = true,
        .waits = leader < 0,
    };
    int fd = rm_perf_open_task(&request);
    if (fd >= MOST_FDS) {
        rm_perf_close(fd);
        errno = EMFILE;
        return -1;
    }
    return fd;
}

/* ---- the plan ----------------------------------------------------------------------------- */

#define DEFAULTS 4

/* The requested event, and its replacement on machines that lack it. */
static const char *const defaults[DEFAULTS][2] = {
    {"instructions", "page-faults"},
    {"cycles", "context-switches"},
    {"cache-misses", "task-clock"},
    {"branch-misses", "migrations"},
};

size_t rm_counter_plan_room(const struct rm_counter_wish *wish)
{
    size_t count = (wish->is_default ? DEFAULTS : 0) + wish->event_count;
    return count < RM_SCOPE_COUNTERS ? count : RM_SCOPE_COUNTERS;
}

static resmon_status encode(struct rm_perf_event *event)
{
    struct rm_pfm_code code;
    resmon_status status = event->is_named ? rm_pfm_encode(event->name, &code) : RESMON_OK;
    if (event->is_named && status == RESMON_OK) {
        rm_perf_event_encode(event, code.type, code.config);
        event->skips_user = code.skips_user;
        event->skips_kernel = code.skips_kernel;
    }
    return status;
}

/* Opens further events in the same group, so that they are counted at the same time. */
struct trial {
    struct rm_counter_plan *plan;
    int fds[RM_SCOPE_COUNTERS];
    bool has_pmu;
};

static resmon_status try_event(struct trial *trial, struct rm_perf_event *event)
{
    struct rm_counter_plan *plan = trial->plan;
    resmon_status status = encode(event);
    if (status == RESMON_OK && (event->is_of_kernel || event->skips_user) && plan->skips_kernel) {
        status = rm_perf_refuse(EACCES, event->name, true);
    }
    if (status != RESMON_OK) {
        return status;
    }
    int leader = plan->count > 0 ? trial->fds[0] : -1;
    int fd = open_event(event, leader, plan->skips_kernel);
    if (fd < 0) {
        bool has_room = errno != EINVAL || leader < 0;
        return rm_perf_refuse(has_room ? errno : ENOSPC, event->name, trial->has_pmu);
    }
    trial->has_pmu = trial->has_pmu || event->type != RM_EVENT_SOFTWARE;
    trial->fds[plan->count] = fd;
    plan->events[plan->count++] = *event;
    return RESMON_OK;
}

static void describe(struct rm_counter_record *record, const struct rm_perf_event *event,
                     resmon_status status)
{
    bool is_time =
        rm_perf_event_is_software(event) && event->config <= 1; /* cpu-clock, task-clock */
    *record = (struct rm_counter_record){.status = status, .scale = is_time ? 1e-9 : 1.0};
    (void)rm_text_set(record->name, sizeof record->name, event->name);
    (void)rm_text_set(record->unit, sizeof record->unit, is_time ? "s" : "1");
    if (status != RESMON_OK) {
        (void)rm_text_set(record->reason, sizeof record->reason, resmon_last_error());
    }
}

static void take_event(struct trial *trial, const struct rm_block *block, size_t place,
                       const struct rm_perf_event *wanted)
{
    struct rm_perf_event event = *wanted;
    resmon_status status = try_event(trial, &event);
    describe(rm_scope_counter_at(block, place), &event, status);
    if (status == RESMON_OK) {
        trial->plan->places[trial->plan->count - 1] = (uint8_t)place;
    }
}

/* The note of a replacement names the event that it replaces. */
static void take_default(struct trial *trial, const struct rm_block *block, size_t index)
{
    struct rm_perf_event event;
    char why[sizeof((struct rm_counter_record *)0)->reason];
    struct rm_counter_record *record = rm_scope_counter_at(block, index);
    (void)rm_perf_event_generic(defaults[index][0], &event);
    take_event(trial, block, index, &event);
    if (record->status == RESMON_OK) {
        return;
    }
    memcpy(why, record->reason, sizeof why);
    (void)rm_perf_event_generic(defaults[index][1], &event);
    take_event(trial, block, index, &event);
    if (record->status == RESMON_OK) {
        size_t length = rm_text_set(record->reason, sizeof record->reason, "in place of ");
        length += rm_text_set(record->reason + length, sizeof record->reason - length,
                              defaults[index][0]);
        length += rm_text_set(record->reason + length, sizeof record->reason - length, ": ");
        (void)rm_text_set(record->reason + length, sizeof record->reason - length, why);
    }
}

void rm_counter_plan_make(struct rm_counter_plan *plan, const struct rm_counter_wish *wish,
                          const struct rm_block *block, uint64_t trust_ticks)
{
    *plan = (struct rm_counter_plan){.skips_kernel = !rm_perf_sees_kernel(),
                                     .trust_ticks = trust_ticks};
    struct trial trial = {.plan = plan};
    size_t room = (size_t)block->header->sizes.scope_counters;
    size_t place = 0;
    for (; wish->is_default && place < DEFAULTS && place < room; place++) {
        take_default(&trial, block, place);
    }
    for (size_t i = 0; i < wish->event_count && place < room; i++, place++) {
        take_event(&trial, block, place, &wish->events[i]);
    }
    for (size_t i = plan->count; i-- > 0;) {
        rm_perf_close(trial.fds[i]);
    }
}

/* ---- a thread ----------------------------------------------------------------------------- */

void rm_thread_counters_note(struct rm_thread_counters *counters)
{
    rm_own_io_note_reads((uint64_t)counters->calls * (3 + counters->count) * sizeof(uint64_t),
                         counters->calls);
    counters->calls = 0;
}

static void map_pages(struct rm_thread_counters *counters, const struct rm_counter_plan *plan)
{
    counters->has_pages = true;
    for (size_t i = 0; i < counters->count; i++) {
        bool is_hardware = plan->events[i].type != RM_EVENT_SOFTWARE;
        counters->pages[i] = is_hardware ? rm_perf_page_map(counters->fds[i]) : NULL;
        counters->has_pages = counters->has_pages && counters->pages[i] != NULL;
    }
}

static RM_COLD void open_group(struct rm_thread_counters *counters,
                               const struct rm_counter_plan *plan)
{
    counters->is_tried = true;
    for (size_t i = 0; i < plan->count; i++) {
        int fd = open_event(&plan->events[i], i > 0 ? counters->fds[0] : -1, plan->skips_kernel);
        if (fd < 0) {
            rm_thread_counters_close(counters);
            counters->is_tried = true;
            return; /* a partial group would count at other times */
        }
        rm_fork_take_part(RM_FORK_COUNTERS, &at_fork);
        note_open(fd);
        counters->fds[i] = fd;
        counters->ids[i] = rm_perf_id(fd);
        counters->count++;
    }
    counters->is_open = counters->count > 0 && rm_perf_start(counters->fds[0]);
    counters->checked_ticks = rm_clock_ticks();
    map_pages(counters, plan);
}

/* A group is counted as a whole: the leader's times are valid for all. */
static bool read_pages(const struct rm_thread_counters *counters, struct rm_perf_group *group)
{
    for (size_t i = 0; i < counters->count; i++) {
        struct rm_perf_count count;
        if (!rm_perf_page_read(counters->pages[i], i == 0, &count)) {
            return false;
        }
        group->values[i] = count.value;
        if (i == 0) {
            group->enabled = count.enabled;
            group->running = count.running;
        }
    }
    return true;
}

/* Another thread's counters may have got the descriptor's number. */
static bool is_own(const struct rm_thread_counters *counters, size_t index)
{
    return rm_perf_is_event(counters->fds[index], counters->ids[index]);
}

/* Programs close descriptors that they do not know, and open others.  That takes longer than
 * trust_ticks, since our numbers are not the lowest ones. */
static bool is_still_ours(struct rm_thread_counters *counters, uint64_t trust_ticks, uint64_t now)
{
    if (now - counters->checked_ticks > trust_ticks) {
        counters->checked_ticks = now;
        counters->is_open = is_own(counters, 0);
    }
    return counters->is_open;
}

bool rm_thread_counters_read(struct rm_thread_counters *counters,
                             const struct rm_counter_plan *plan, uint64_t now,
                             struct rm_perf_group *ret_group)
{
    if (RM_UNLIKELY(!counters->is_tried)) {
        open_group(counters, plan);
    }
    if (!counters->is_open) {
        return false;
    }
    if (counters->has_pages && read_pages(counters, ret_group)) {
        return true;
    }
    counters->calls++;
    return is_still_ours(counters, plan->trust_ticks, now) &&
           rm_perf_read_group(counters->fds[0], counters->count, ret_group);
}

void rm_thread_counters_time(const struct rm_perf_group *begin, const struct rm_perf_group *end,
                             struct rm_counted_call *ret_call)
{
    bool is_later = end->enabled > begin->enabled;
    ret_call->enabled = is_later ? end->enabled - begin->enabled : 0;
    ret_call->running = is_later ? end->running - begin->running : 0;
}

void rm_thread_counters_close(struct rm_thread_counters *counters)
{
    rm_thread_counters_note(counters);
    for (size_t i = counters->count; i-- > 0;) {
        rm_perf_page_unmap(counters->pages[i]);
        if (is_own(counters, i)) {
            note_closed(counters->fds[i]);
            rm_perf_close(counters->fds[i]);
        }
    }
    *counters = (struct rm_thread_counters){.is_tried = false};
}

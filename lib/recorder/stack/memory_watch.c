/* SPDX-License-Identifier: MIT */
#include "stack/memory_watch.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "os/proc_pid.h"

/* A peak is one when it is higher than the one before by a tenth, and by 16 MiB; or by a hundredth,
 * and a MiB, if that was a second ago.  A program that grows for hours has some hundred of them,
 * and one that goes up and down has no more. */
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
    /* The process's own has nothing any more when the main thread has ended. */
    (void)rm_file_open(&watch->statm, root, "proc/thread-self/statm");
    open_group(watch, root, scratch);
    watch->next_headroom = rm_cgroup_limits_look(&watch->limits, scratch, 0).limit / 10;
    struct rm_peak_head head;
    (void)rm_memory_watch_look(watch, scratch, &head); /* what there is already is no growth */
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

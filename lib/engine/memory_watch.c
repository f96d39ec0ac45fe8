/* SPDX-License-Identifier: MIT */
#include "engine/memory_watch.h"

#include <unistd.h>

#include "base/parse.h"
#include "sys/cgroup.h"

/* A peak is one when it is higher than the one before by a tenth, and by 16 MiB: a program that
 * grows for hours has some hundred of them, and one that goes up and down has no more. */
#define LEAST_GROWTH UINT64_C(16777216)

/* What version 1 calls no limit is a little less than 2^63. */
#define UNLIMITED (UINT64_C(1) << 60)

static void open_group(struct rm_memory_watch *watch, const struct rm_root *root,
                       struct rm_scratch *scratch)
{
    struct rm_cgroup cgroup;
    char path[RM_FILE_PATH_BYTES];
    if (rm_cgroup_find(&cgroup, root, scratch, "proc/self") != RESMON_OK) {
        return;
    }
    const struct rm_cgroup_place *place = &cgroup.places[RM_CGROUP_MEMORY];
    bool is_two = place->version == 2;
    watch->limit =
        rm_cgroup_tightest(place, root, scratch, is_two ? "memory.max" : "memory.limit_in_bytes");
    watch->limit = watch->limit < UNLIMITED ? watch->limit : UINT64_MAX;
    if (watch->limit != UINT64_MAX &&
        rm_cgroup_file(place, is_two ? "memory.current" : "memory.usage_in_bytes", path) ==
            RESMON_OK) {
        (void)rm_file_open(&watch->files.used, root, path);
    }
}

void rm_memory_watch_open(struct rm_memory_watch *watch, const struct rm_root *root,
                          struct rm_scratch *scratch)
{
    *watch = (struct rm_memory_watch){
        .limit = UINT64_MAX,
        .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
    };
    /* The process's own has nothing any more when the main thread has ended. */
    (void)rm_file_open(&watch->files.statm, root, "proc/thread-self/statm");
    open_group(watch, root, scratch);
    watch->next_headroom = watch->limit / 10;
    struct rm_peak_head head;
    (void)rm_memory_watch_look(watch, scratch, &head); /* what there is already is no growth */
}

void rm_memory_watch_close(struct rm_memory_watch *watch)
{
    rm_file_close(&watch->files.statm);
    rm_file_close(&watch->files.used);
}

bool rm_memory_watch_decide(struct rm_memory_watch *watch, uint64_t rss, uint64_t headroom)
{
    bool is_high = rss >= watch->next_rss;
    bool is_tight = headroom < watch->next_headroom;
    if (is_high) {
        uint64_t tenth = rss / 10;
        watch->next_rss = rss + (tenth > LEAST_GROWTH ? tenth : LEAST_GROWTH);
    }
    if (is_tight) {
        watch->next_headroom = headroom / 2;
    }
    return is_high || is_tight;
}

static bool read_rss(struct rm_memory_watch *watch, struct rm_scratch *scratch, uint64_t *ret_rss)
{
    struct rm_text text;
    uint64_t pages;
    if (!rm_file_is_open(&watch->files.statm) ||
        rm_file_read(&watch->files.statm, scratch, &text) != RESMON_OK ||
        !rm_parse_u64(&text, &pages) || !rm_parse_u64(&text, &pages)) {
        return false;
    }
    *ret_rss = pages * watch->page_bytes;
    return true;
}

static uint64_t read_headroom(struct rm_memory_watch *watch, struct rm_scratch *scratch)
{
    struct rm_text text;
    uint64_t used;
    if (!rm_file_is_open(&watch->files.used) ||
        rm_file_read(&watch->files.used, scratch, &text) != RESMON_OK ||
        !rm_parse_u64(&text, &used)) {
        return UINT64_MAX;
    }
    return used < watch->limit ? watch->limit - used : 0;
}

bool rm_memory_watch_look(struct rm_memory_watch *watch, struct rm_scratch *scratch,
                          struct rm_peak_head *ret_head)
{
    uint64_t rss;
    if (!read_rss(watch, scratch, &rss)) {
        return false;
    }
    *ret_head = (struct rm_peak_head){
        .rss_bytes = rss,
        .headroom_bytes = read_headroom(watch, scratch),
    };
    return rm_memory_watch_decide(watch, rss, ret_head->headroom_bytes);
}

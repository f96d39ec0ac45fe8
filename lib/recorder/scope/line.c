/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints of lines (RESMON_LINE).  Each run from one checkpoint to the next in one call of a
 * function counts in the record of the second one's line.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <resmon/scope.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "os/own_usage.h"
#include "scope/scope.h"
#include "store/block.h"
#include "store/run_records.h"

#define NO_RECORD UINT32_MAX /* no capacity for a record */

static bool is_line(const struct rm_line_record *record, const resmon_line_site *site)
{
    return record->line == site->line &&
           strncmp(record->file, site->file, sizeof record->file - 1) == 0 &&
           strncmp(record->function, site->function, sizeof record->function - 1) == 0;
}

/* Called with the session's lock.  A line may have several sites, as in inlined functions. */
static uint32_t find_or_add_line(struct rm_scope_session *session, const resmon_line_site *site)
{
    struct rm_block_header *header = session->block.header;
    for (uint64_t i = 0; i < header->line_count; i++) {
        if (is_line(rm_block_record(&session->block, RM_SECTION_LINES, i), site)) {
            return (uint32_t)i;
        }
    }
    if (header->line_count >= header->sections[RM_SECTION_LINES].count) {
        RM_STORE(&header->dropped_lines, header->dropped_lines + 1);
        return NO_RECORD;
    }
    struct rm_line_record *record =
        rm_block_record(&session->block, RM_SECTION_LINES, header->line_count);
    (void)rm_text_set(record->file, sizeof record->file, site->file);
    (void)rm_text_set(record->function, sizeof record->function, site->function);
    record->line = site->line;
    RM_STORE_RELEASE(&header->line_count, header->line_count + 1);
    return (uint32_t)header->line_count - 1;
}

static RM_COLD void enter_site(struct rm_scope_session *session, resmon_line_site *site)
{
    rm_session_lock(session);
    if (!session->has_rss) {
        session->has_rss = rm_own_rss_open(&session->rss);
    }
    if (RM_LOAD(&site->session) != session->number) { /* else another thread was first */
        RM_STORE(&site->record, find_or_add_line(session, site));
        RM_STORE_RELEASE(&site->session, session->number);
    }
    rm_session_unlock(session);
}

static void keep_highest(uint64_t *highest, uint64_t value)
{
    uint64_t known = RM_LOAD(highest);
    while (known < value && !__atomic_compare_exchange_n(highest, &known, value, true,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void add_stretch(struct rm_line_record *record, const struct rm_line_mark *since,
                        uint64_t now, uint64_t rss)
{
    keep_highest(&record->rss_highest, rss);
    if (since->ticks == 0) {
        return;
    }
    (void)RM_FETCH_ADD(&record->ticks, now - since->ticks);
    if (rss != 0 && since->rss != 0) {
        (void)RM_FETCH_ADD(&record->rss_bytes, rss - since->rss);
        (void)RM_FETCH_ADD(&record->rss_hits, 1);
    }
    (void)RM_FETCH_ADD(&record->hits, 1);
}

/* The cost of a checkpoint is in no interval: its time is read first, and the next interval's begin
 * last. */
void resmon_line(resmon_line_site *site)
{
    uint64_t now = rm_clock_ticks();
    struct rm_line_place place;
    RM_KEEP_ERRNO;
    if (!rm_scope_line_place(&place)) {
        return;
    }
    if (RM_UNLIKELY(RM_LOAD_ACQUIRE(&site->session) != place.session->number)) {
        enter_site(place.session, site);
    }
    uint64_t rss = 0;
    (void)rm_own_rss_read(&place.session->rss, &rss);
    uint32_t number = RM_LOAD(&site->record);
    const struct rm_line_mark start = {.ticks = place.start};
    if (number != NO_RECORD) {
        add_stretch(rm_block_record(&place.session->block, RM_SECTION_LINES, number),
                    place.mark->token == place.token ? place.mark : &start, now, rss);
    }
    place.mark->token = place.token;
    place.mark->rss = rss;
    place.mark->ticks = rm_clock_ticks();
}

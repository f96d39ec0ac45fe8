/* SPDX-License-Identifier: MIT */
/*
 * Owns the chart of scopes over time: the longest instances of scopes, by thread.
 */
#ifndef RM_PAGE_TIMELINE_H
#define RM_PAGE_TIMELINE_H

#include "base/buffer.h"
#include "page/subject.h"

/* An instance: indexes of its name and thread, and where it lies. */
struct rm_timeline_row {
    uint32_t name, thread, depth;
    double start_s, duration_s;
};

struct rm_timeline {
    const char **names, **threads; /* as they are first met */
    size_t name_count, thread_count;
    struct rm_timeline_row *rows; /* by start, outer ones first */
    size_t count;
    size_t left_out; /* shorter ones */
};

/** No rows: the run keeps no instances. */
struct rm_timeline rm_timeline_of(const struct rm_subject *subject);

/** What it shows, in words. */
const char *rm_timeline_note(struct rm_page *page, const struct rm_timeline *timeline);
const char *rm_timeline_alternative(struct rm_page *page, const struct rm_timeline *timeline);

/** Appends it as JSON for the script of the page. */
void rm_timeline_write(struct rm_buffer *out, const struct rm_timeline *timeline,
                       const char *place);

#endif

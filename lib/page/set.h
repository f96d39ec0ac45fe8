/* SPDX-License-Identifier: MIT */
/*
 * Owns the runs of a page while it is written in one of its forms: HTML, Markdown, data.
 */
#ifndef RM_PAGE_SET_H
#define RM_PAGE_SET_H

#include "base/buffer.h"
#include "page/subject.h"

/* What the caller says. */
struct rm_page_terms {
    const struct resmon_run *const *runs;
    size_t count;
    const char *title;                     /* NULL: what was run, and where */
    uint64_t parts;                        /* of the data: RESMON_PAGE_*; 0: all */
    const struct rm_source_lines *sources; /* set by page/form.c; NULL: lines without their text */
};

struct rm_page_set {
    struct rm_page *page;
    const struct rm_page_terms *terms;
    struct rm_subject *subjects;
    size_t count;
    const char *title;
};

/** Looks at the runs, with about `most_points` for each line of a chart, and has `put` append the
 * page.  RESMON_ENOMEM. */
resmon_status rm_page_set_write(struct rm_buffer *out, const struct rm_page_terms *terms,
                                size_t most_points,
                                void (*put)(struct rm_buffer *out, struct rm_page_set *set));

#endif

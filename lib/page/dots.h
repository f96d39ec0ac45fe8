/* SPDX-License-Identifier: MIT */
/*
 * Owns strip plots as HTML: a dot for each run, the median and where it lies.  They need no script.
 */
#ifndef RM_PAGE_DOTS_H
#define RM_PAGE_DOTS_H

#include "base/buffer.h"
#include "compare/group.h"
#include "compare/shift.h"
#include "page/page.h"

struct rm_dots_row {
    const char *label;
    const struct rm_group_row *row; /* NULL: none is known */
    int colour;
};

/** A figure of several groups on one axis; nothing where no run knows it.  RESMON_ENOMEM. */
resmon_status rm_dots_put(struct rm_buffer *out, struct rm_page *page, const char *title,
                          const char *unit, const struct rm_dots_row *rows, size_t count);

#endif

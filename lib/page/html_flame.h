/* SPDX-License-Identifier: MIT */
/*
 * Owns flame graphs as HTML: boxes that need no script (one makes them wider by a click).
 */
#ifndef RM_PAGE_HTML_FLAME_H
#define RM_PAGE_HTML_FLAME_H

#include "base/buffer.h"
#include "page/flame.h"

/** Nothing without boxes. */
void rm_html_flame(struct rm_buffer *out, struct rm_page *page, const struct rm_boxes *boxes,
                   size_t kind);

/**
 * Those of two runs: red where there is more in the second one, blue where there is less; grey
 * where they differ by no more than samples do by chance, twice the root of their number.
 */
void rm_html_flame_of_two(struct rm_buffer *out, struct rm_page *page, const struct rm_boxes *boxes,
                          size_t kind);

#endif

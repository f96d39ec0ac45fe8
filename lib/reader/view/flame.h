/* SPDX-License-Identifier: MIT */
/*
 * Owns flame graphs as boxes: what stacks have in common is one box, as wide as its share of the
 * samples; and their HTML.  The outermost function is at depth 1, what it called below.
 * In the graph of two runs a box is as wide as both together take there.
 */
#ifndef RM_VIEW_FLAME_H
#define RM_VIEW_FLAME_H

#include "view/subject.h"

#define RM_FLAME_SIDES 2

enum rm_box_kind { RM_BOX_ALL, RM_BOX_SCOPE, RM_BOX_PROGRAM, RM_BOX_LIBRARY, RM_BOX_UNNAMED };

/* A function at a place in the graph, with what it called. */
struct rm_box {
    const char *name;
    enum rm_box_kind kind;
    uint32_t depth;
    double weight[RM_FLAME_SIDES]; /* by run */
    uint64_t samples[RM_FLAME_SIDES];
    double start, share; /* where it lies, 0 ... 1 */
};

struct rm_boxes {
    struct rm_box *items; /* by depth, and from left to right; the first is all of it */
    size_t count;
};

struct rm_flame {
    struct rm_page *page;
    size_t kind;
    struct rm_boxes boxes;
    bool is_of_two;
};

/** The flame graph of one kind of stacks.  Boxes narrower than a thousandth are left out, and where
 * there are more than `most`, the narrowest and innermost: a box is never there without the one
 * that it is in.  NULL without samples. */
const struct rm_flame *rm_flame_of(const struct rm_subject *subject, size_t kind, size_t most);

/** The flame graph of two runs, by what changed.  NULL unless both have samples. */
const struct rm_flame *rm_flame_of_two(const struct rm_subject *before,
                                       const struct rm_subject *after, size_t kind, size_t most);

/** Draws one (a struct rm_flame) as HTML that needs no script; the page's makes boxes wider by a
 * click. */
void rm_flame_draw(struct rm_buffer *out, const struct rm_page_block *block);

#endif

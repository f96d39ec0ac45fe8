/* SPDX-License-Identifier: MIT */
#include "page/html_flame.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "page/html_parts.h"
#include "page/numbers.h"
#include "page/profile.h"

#define LABELLED 0.02 /* of the page: a box that is narrower has no room for its name */

/* How boxes of a kind look: shades, of which the name picks one, and what the legend says. */
static const struct {
    const char *shades[3];
    size_t count;
    const char *key;
} looks[] = {
    [RM_BOX_ALL] = {{"fa"}, 1, NULL},
    [RM_BOX_SCOPE] = {{"fs"}, 1, "scopes"},
    [RM_BOX_PROGRAM] = {{"fp0", "fp1", "fp2"}, 3, "program"},
    [RM_BOX_LIBRARY] = {{"fl0", "fl1", "fl2"}, 3, "libraries"},
    [RM_BOX_UNNAMED] = {{"fu"}, 1, "without symbols"},
};

struct drawing {
    struct rm_buffer *out;
    struct rm_page *page;
    size_t kind;
    void (*put_look)(const struct drawing *drawing, const struct rm_box *box); /* class, style */
    void (*put_amount)(const struct drawing *drawing, const struct rm_box *box);
};

/* ---- boxes -------------------------------------------------------------------------------- */

static void put_box(const struct drawing *drawing, const struct rm_box *box)
{
    struct rm_buffer *out = drawing->out;
    rm_buffer_puts(out, "<b class=");
    drawing->put_look(drawing, box);
    rm_buffer_puts(out, "left:");
    rm_html_number(out, box->start * 100.0, 3);
    rm_buffer_puts(out, "%;width:");
    rm_html_number(out, box->share * 100.0, 3);
    rm_html_element(out, "%\" title=\"", rm_page_shown_at_most(drawing->page, box->name, 300),
                    "\n");
    drawing->put_amount(drawing, box);
    rm_buffer_puts(out, "\">");
    if (box->share >= LABELLED) {
        rm_html_text(out, rm_page_shown_at_most(drawing->page, box->name, 120));
    }
    rm_buffer_puts(out, "</b>");
}

/* The graph itself, below its caption. */
static void put_graph(const struct drawing *drawing, const struct rm_boxes *boxes,
                      const char *class_names)
{
    struct rm_buffer *out = drawing->out;
    rm_buffer_printf(out,
                     "<div class=%s role=img tabindex=0 aria-label=\"Flame graph of %s: %s "
                     "boxes, %u deep; the table of hot functions has the sums\">",
                     class_names, rm_profile_kind_title(drawing->kind),
                     rm_page_grouped(drawing->page, boxes->count),
                     boxes->items[boxes->count - 1].depth);
    for (size_t i = 0; i < boxes->count; i++) {
        bool begins = i == 0 || boxes->items[i].depth != boxes->items[i - 1].depth;
        bool ends = i + 1 == boxes->count || boxes->items[i].depth != boxes->items[i + 1].depth;
        rm_buffer_puts(out, begins ? "<div>" : "");
        put_box(drawing, &boxes->items[i]);
        rm_buffer_puts(out, ends ? "</div>" : "");
    }
    rm_buffer_puts(out, "</div></figure>");
}

static const char *amount(const struct drawing *drawing, double weight)
{
    return rm_profile_amount(drawing->page, drawing->kind, weight);
}

/* ---- of one run --------------------------------------------------------------------------- */

static void put_look(const struct drawing *drawing, const struct rm_box *box)
{
    uint64_t hash = rm_hash_bytes(RM_HASH_START, box->name, strlen(box->name));
    rm_buffer_printf(drawing->out, "%s style=\"",
                     looks[box->kind].shades[hash % looks[box->kind].count]);
}

static void put_amount(const struct drawing *drawing, const struct rm_box *box)
{
    rm_html_element(drawing->out, "", amount(drawing, box->weight[0]), ", ");
    rm_buffer_printf(drawing->out, "%s %%, %s samples",
                     rm_page_fixed(drawing->page, box->share * 100.0, 1),
                     rm_page_grouped(drawing->page, box->samples[0]));
}

static void put_legend(struct rm_buffer *out, const struct rm_boxes *boxes)
{
    static const enum rm_box_kind order[] = {RM_BOX_PROGRAM, RM_BOX_LIBRARY, RM_BOX_UNNAMED,
                                             RM_BOX_SCOPE};
    for (size_t k = 0; k < RM_ARRAY_LEN(order); k++) {
        bool is_there = false;
        for (size_t i = 0; i < boxes->count; i++) {
            is_there |= boxes->items[i].kind == order[k];
        }
        if (is_there) {
            rm_buffer_printf(out, "<i class=%s></i>%s", looks[order[k]].shades[0],
                             looks[order[k]].key);
        }
    }
}

void rm_html_flame(struct rm_buffer *out, struct rm_page *page, const struct rm_boxes *boxes,
                   size_t kind)
{
    const struct drawing drawing = {out, page, kind, put_look, put_amount};
    if (boxes->count == 0) {
        return;
    }
    rm_buffer_printf(out,
                     "<figure><figcaption><b>Flame graph: %s</b> <small>width: share; called "
                     "functions are below <span class=kinds>",
                     rm_profile_kind_title(kind));
    put_legend(out, boxes);
    rm_buffer_puts(out, "</span></small></figcaption>");
    put_graph(&drawing, boxes, "flame");
}

/* ---- of two runs -------------------------------------------------------------------------- */

/* From -1, only in the first run, to 1, only in the second; 0: no more than by chance. */
static double change_of(const struct rm_box *box)
{
    double before = box->weight[0], after = box->weight[1];
    double apart = fabs((double)box->samples[1] - (double)box->samples[0]);
    double chance = 2.0 * sqrt((double)(box->samples[0] + box->samples[1]));
    return apart > chance ? (after - before) / fmax(before, after) : 0.0;
}

static void put_look_of_two(const struct drawing *drawing, const struct rm_box *box)
{
    double change = change_of(box);
    rm_buffer_printf(drawing->out, "%s style=\"--d:",
                     change > 0.0   ? "more"
                     : change < 0.0 ? "less"
                                    : "same");
    rm_html_number(drawing->out, 0.15 + 0.65 * fmin(fabs(change), 1.0), 2);
    rm_buffer_puts(drawing->out, ";");
}

static void put_amount_of_two(const struct drawing *drawing, const struct rm_box *box)
{
    double more = box->weight[1] - box->weight[0];
    rm_html_element(drawing->out, "before ", amount(drawing, box->weight[0]), ", ");
    rm_html_element(drawing->out, "after ", amount(drawing, box->weight[1]), ": ");
    rm_html_element(drawing->out, more < 0.0 ? "-" : "+", amount(drawing, fabs(more)), "");
    if (box->weight[0] > 0.0) {
        rm_buffer_printf(drawing->out, " (%s%s %%)", more < 0.0 ? "-" : "+",
                         rm_page_fixed(drawing->page, fabs(more) / box->weight[0] * 100.0, 1));
    }
    rm_buffer_printf(drawing->out, ", %s and %s samples",
                     rm_page_grouped(drawing->page, box->samples[0]),
                     rm_page_grouped(drawing->page, box->samples[1]));
}

void rm_html_flame_of_two(struct rm_buffer *out, struct rm_page *page, const struct rm_boxes *boxes,
                          size_t kind)
{
    const struct drawing drawing = {out, page, kind, put_look_of_two, put_amount_of_two};
    if (boxes->count == 0) {
        return;
    }
    rm_buffer_printf(out,
                     "<figure><figcaption><b>Flame graph of the difference: %s</b> <small>width: "
                     "both runs together; called functions are below <span class=kinds>"
                     "<i class=more></i>more now<i class=less></i>less now<i class=same></i>the "
                     "difference may be chance</span></small></figcaption>",
                     rm_profile_kind_title(kind));
    put_graph(&drawing, boxes, "\"flame delta\"");
}

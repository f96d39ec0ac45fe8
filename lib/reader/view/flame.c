/* SPDX-License-Identifier: MIT */
#include "view/plots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/map.h"
#include "base/text.h"
#include "view/builders.h"
#include "view/html.h"
#include "view/profile.h"

#define LEAST_SHARE 0.001
#define MOST_DEPTH  1024 /* of names of a stack */

/* The name of a frame; frames with equal names share a box. */
struct named {
    const char *name;
    enum rm_box_kind kind;
};

/* A node of the graph: a call path. */
struct node {
    struct named named;
    double weight[RM_FLAME_SIDES];
    uint64_t samples[RM_FLAME_SIDES];
    uint32_t first, next; /* its first child, its next sibling; 0: none */
};

/* A run, with the numbers of the names of its places and scopes. */
struct side {
    const struct resmon_run *run;
    uint32_t *of_place, *of_scope;
};

struct graph {
    struct rm_page *page;
    struct side sides[RM_FLAME_SIDES];
    size_t side_count;
    struct rm_intern names; /* of frames and scopes; keys: kind, name */
    struct named *named;    /* by number of the name */
    struct rm_intern edges; /* keys: node, name */
    struct node *nodes;     /* [0]: the root; rm_free() */
    size_t room;
};

/* ---- names ------------------------------------------------------------------------------ */

static uint32_t number_of(struct graph *graph, const char *name, enum rm_box_kind kind)
{
    char key[RM_PLACE_NAME_BYTES + 64];
    key[0] = (char)('0' + kind);
    size_t length = 1 + rm_text_set(key + 1, sizeof key - 1, name);
    uint32_t before = graph->names.count;
    uint32_t number = rm_intern(&graph->names, key, length);
    if (number == before && !graph->names.is_broken) {
        graph->named[number] = (struct named){rm_page_print(graph->page, "%s", key + 1), kind};
    }
    return number;
}

/* Of a module: whether it is the program.  Of a script: whether its file is none of an installed
 * package, or of the interpreter. */
static bool is_of_program(const struct resmon_run *run, const struct rm_run_place *place)
{
    static const char *const installed[] = {"/lib/python3", "/lib64/python3", "-packages/",
                                            "<frozen "};
    if (place->module >= 0) {
        const char *module = run->profile.modules[place->module].path;
        return strcmp(module, rm_run_fact_text(run, "run", "executable")) == 0;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(installed); i++) {
        if (strstr(place->file, installed[i]) != NULL) {
            return false;
        }
    }
    return place->file[0] != '\0';
}

/* All places of a module without a symbol have the same name. */
static uint32_t name_of_place(struct graph *graph, const struct resmon_run *run,
                              const struct rm_run_place *place)
{
    const char *module = place->module >= 0 ? run->profile.modules[place->module].path : "";
    if (place->function[0] != '\0') {
        return number_of(graph, place->function,
                         is_of_program(run, place) ? RM_BOX_PROGRAM : RM_BOX_LIBRARY);
    }
    char name[RM_PLACE_NAME_BYTES];
    (void)snprintf(name, sizeof name, "%.*s (no symbols)", RM_PLACE_NAME_BYTES - 32,
                   module[0] != '\0' ? rm_text_base_name(module) : "unknown");
    return number_of(graph, name, RM_BOX_UNNAMED);
}

static void name_side(struct graph *graph, struct side *side)
{
    const struct resmon_run *run = side->run;
    side->of_place = rm_page_alloc(graph->page, run->profile.place_count + 1, sizeof(uint32_t));
    side->of_scope = rm_page_alloc(graph->page, run->scope_count + 1, sizeof(uint32_t));
    for (size_t i = 0; !graph->page->is_broken && i < run->profile.place_count; i++) {
        side->of_place[i] = name_of_place(graph, run, &run->profile.places[i]);
    }
    for (size_t i = 0; !graph->page->is_broken && i < run->scope_count; i++) {
        side->of_scope[i] = number_of(graph, run->scopes[i].name, RM_BOX_SCOPE);
    }
}

static bool name_all(struct graph *graph)
{
    size_t most = 1;
    for (size_t i = 0; i < graph->side_count; i++) {
        most += graph->sides[i].run->profile.place_count + graph->sides[i].run->scope_count;
    }
    graph->named = rm_page_alloc(graph->page, most, sizeof *graph->named);
    for (size_t i = 0; i < graph->side_count && !graph->page->is_broken; i++) {
        name_side(graph, &graph->sides[i]);
    }
    return !graph->names.is_broken && !graph->page->is_broken;
}

/* ---- the graph -------------------------------------------------------------------------- */

/* The path of a stack from the outermost: scopes, then functions; adjacent frames without symbols
 * are merged. */
static size_t names_of(const struct graph *graph, const struct side *side,
                       const struct rm_run_stack *stack, uint32_t names[MOST_DEPTH])
{
    const struct resmon_run *run = side->run;
    uint32_t scopes[MOST_DEPTH / 2];
    size_t depth = 0, count = 0;
    for (int64_t at = stack->scope;
         at >= 0 && (size_t)at < run->scope_count && depth < RM_ARRAY_LEN(scopes);
         at = run->scopes[at].parent) {
        scopes[depth++] = side->of_scope[at];
    }
    while (depth > 0) {
        names[count++] = scopes[--depth];
    }
    for (uint32_t i = stack->depth; i-- > 0 && count < MOST_DEPTH;) {
        uint32_t name = side->of_place[run->profile.frames[stack->first + i]];
        bool is_again =
            graph->named[name].kind == RM_BOX_UNNAMED && count > 0 && names[count - 1] == name;
        if (!is_again) {
            names[count++] = name;
        }
    }
    return count;
}

/* Allocates node number `count`. */
static bool add_node(struct graph *graph, size_t count)
{
    struct node *nodes = rm_grow(graph->nodes, count, &graph->room, sizeof *nodes);
    if (nodes == NULL) {
        return false;
    }
    graph->nodes = nodes;
    graph->nodes[count] = (struct node){.samples = 0};
    return true;
}

static uint32_t child_of(struct graph *graph, uint32_t node, uint32_t name)
{
    const uint32_t key[2] = {node, name};
    uint32_t before = graph->edges.count;
    uint32_t number = rm_intern(&graph->edges, key, sizeof key);
    uint32_t child = number + 1;
    if (graph->edges.is_broken || (number == before && !add_node(graph, child))) {
        graph->page->is_broken = true;
        return 0;
    }
    if (number == before) {
        graph->nodes[child] =
            (struct node){.named = graph->named[name], .next = graph->nodes[node].first};
        graph->nodes[node].first = child;
    }
    return child;
}

static void add_stack(struct graph *graph, size_t side, const struct rm_run_stack *stack,
                      size_t kind)
{
    uint32_t names[MOST_DEPTH];
    size_t count = names_of(graph, &graph->sides[side], stack, names);
    uint32_t node = 0;
    for (size_t i = 0;; i++) {
        graph->nodes[node].weight[side] += stack->weight[kind];
        graph->nodes[node].samples[side] += stack->samples[kind];
        if (i == count || graph->page->is_broken) {
            return;
        }
        node = child_of(graph, node, names[i]);
    }
}

static bool build(struct graph *graph, size_t kind)
{
    if (!name_all(graph) || !add_node(graph, 0)) {
        graph->page->is_broken = true;
        return false;
    }
    graph->nodes[0].named = (struct named){"all", RM_BOX_ALL};
    for (size_t side = 0; side < graph->side_count; side++) {
        const struct rm_run_profile *profile = &graph->sides[side].run->profile;
        for (size_t i = 0; i < profile->stack_count && !graph->page->is_broken; i++) {
            if (profile->stacks[i].samples[kind] > 0) {
                add_stack(graph, side, &profile->stacks[i], kind);
            }
        }
    }
    return !graph->page->is_broken;
}

/* ---- boxes ------------------------------------------------------------------------------ */

/* The sum over the runs. */
static double total(const double weight[RM_FLAME_SIDES])
{
    return weight[0] + weight[1];
}

/* A box and its node. */
struct placed {
    uint32_t node;
    struct rm_box box;
};

static int compare_widths(const void *left, const void *right)
{
    const struct rm_box *a = &((const struct placed *)left)->box;
    const struct rm_box *b = &((const struct placed *)right)->box;
    int by_width = (a->share < b->share) - (a->share > b->share);
    return by_width != 0 ? by_width : strcmp(a->name, b->name);
}

/* A box of a node, without a position. */
static struct placed box_of(const struct graph *graph, uint32_t node, uint32_t depth)
{
    const struct node *from = &graph->nodes[node];
    struct placed made = {node,
                          {.name = from->named.name, .kind = from->named.kind, .depth = depth}};
    memcpy(made.box.weight, from->weight, sizeof from->weight);
    memcpy(made.box.samples, from->samples, sizeof from->samples);
    made.box.share = total(from->weight) / total(graph->nodes[0].weight);
    return made;
}

/* Adds the children of a box, the widest first.  Returns how many are wide enough. */
static size_t place_children(const struct graph *graph, const struct placed *parent,
                             struct placed *children)
{
    size_t count = 0, kept = 0;
    double start = parent->box.start;
    for (uint32_t at = graph->nodes[parent->node].first; at != 0; at = graph->nodes[at].next) {
        children[count++] = box_of(graph, at, parent->box.depth + 1);
    }
    qsort(children, count, sizeof *children, compare_widths);
    for (size_t i = 0; i < count; i++) {
        children[i].box.start = start;
        start += children[i].box.share;
        if (children[i].box.share >= LEAST_SHARE) {
            children[kept++] = children[i];
        }
    }
    return kept;
}

static int compare_shares(const void *left, const void *right)
{
    const struct rm_box *a = &((const struct placed *)left)->box;
    const struct rm_box *b = &((const struct placed *)right)->box;
    int by_share = (a->share < b->share) - (a->share > b->share);
    return by_share != 0 ? by_share : (a->depth > b->depth) - (a->depth < b->depth);
}

static int compare_places(const void *left, const void *right)
{
    const struct rm_box *a = &((const struct placed *)left)->box;
    const struct rm_box *b = &((const struct placed *)right)->box;
    int by_depth = (a->depth > b->depth) - (a->depth < b->depth);
    return by_depth != 0 ? by_depth : (a->start > b->start) - (a->start < b->start);
}

static struct rm_boxes boxes_of(const struct graph *graph, size_t most)
{
    const struct node *all = &graph->nodes[0];
    struct placed *placed = rm_alloc(graph->edges.count + 2, sizeof *placed);
    struct rm_boxes boxes = {0};
    size_t count = 1;
    if (placed == NULL || !(total(all->weight) > 0.0)) {
        graph->page->is_broken |= placed == NULL;
        rm_free(placed);
        return boxes;
    }
    placed[0] = box_of(graph, 0, 0);
    for (size_t at = 0; at < count; at++) {
        const struct placed parent = placed[at];
        count += place_children(graph, &parent, placed + count);
    }
    if (count > most) {
        qsort(placed, count, sizeof *placed, compare_shares);
        count = most;
        qsort(placed, count, sizeof *placed, compare_places);
    }
    boxes.items = rm_page_alloc(graph->page, count, sizeof(struct rm_box));
    for (size_t i = 0; boxes.items != NULL && i < count; i++) {
        boxes.items[boxes.count++] = placed[i].box;
    }
    rm_free(placed);
    return boxes;
}

static struct rm_boxes boxes_of_graph(struct graph *graph, size_t kind, size_t most)
{
    struct rm_boxes boxes = {0};
    if (build(graph, kind)) {
        boxes = boxes_of(graph, most);
    }
    rm_intern_free(&graph->names);
    rm_intern_free(&graph->edges);
    rm_free(graph->nodes);
    return boxes;
}

static const struct rm_flame *flame_of(struct graph *graph, size_t kind, size_t most)
{
    const struct rm_boxes boxes = boxes_of_graph(graph, kind, most);
    struct rm_flame *flame = boxes.count > 0 ? rm_page_alloc(graph->page, 1, sizeof *flame) : NULL;
    if (flame != NULL) {
        *flame = (struct rm_flame){graph->page, kind, boxes, graph->side_count == 2};
    }
    return flame;
}

const struct rm_flame *rm_flame_of(const struct rm_subject *subject, size_t kind, size_t most)
{
    struct graph graph = {.page = subject->page, .sides = {{.run = subject->run}}, .side_count = 1};
    return flame_of(&graph, kind, most);
}

static bool has_samples(const struct rm_subject *subject, size_t kind)
{
    const struct rm_run_profile *profile = &subject->run->profile;
    size_t at = 0;
    while (at < profile->stack_count && profile->stacks[at].samples[kind] == 0) {
        at++;
    }
    return at < profile->stack_count;
}

const struct rm_flame *rm_flame_of_two(const struct rm_subject *before,
                                       const struct rm_subject *after, size_t kind, size_t most)
{
    struct graph graph = {.page = before->page,
                          .sides = {{.run = before->run}, {.run = after->run}},
                          .side_count = 2};
    return has_samples(before, kind) && has_samples(after, kind) ? flame_of(&graph, kind, most)
                                                                 : NULL;
}

/* ---- as HTML ---------------------------------------------------------------------------- */

#define LABELLED 0.02 /* width of a box, relative to the page, from which on it has a label */

/* The look of boxes of a kind: shades, one of which is chosen by the name, and the legend. */
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

/* The graph below its caption. */
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
    return rm_stack_amount(drawing->page, (int)drawing->kind, weight);
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

static void draw_one(struct rm_buffer *out, const struct rm_flame *flame)
{
    const struct drawing drawing = {out, flame->page, flame->kind, put_look, put_amount};
    rm_buffer_printf(out,
                     "<figure><figcaption><b>Flame graph: %s</b> <small>width: share; called "
                     "functions are below <span class=kinds>",
                     rm_profile_kind_title(flame->kind));
    put_legend(out, &flame->boxes);
    rm_buffer_puts(out, "</span></small></figcaption>");
    put_graph(&drawing, &flame->boxes, "flame");
}

/* ---- of two runs -------------------------------------------------------------------------- */

/* From -1 (only in the first run) to 1 (only in the second); 0: within statistical noise. */
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

static void draw_two(struct rm_buffer *out, const struct rm_flame *flame)
{
    const struct drawing drawing = {out, flame->page, flame->kind, put_look_of_two,
                                    put_amount_of_two};
    rm_buffer_printf(out,
                     "<figure><figcaption><b>Flame graph of the difference: %s</b> <small>width: "
                     "both runs together; called functions are below <span class=kinds>"
                     "<i class=more></i>more now<i class=less></i>less now<i class=same></i>the "
                     "difference may be chance</span></small></figcaption>",
                     rm_profile_kind_title(flame->kind));
    put_graph(&drawing, &flame->boxes, "\"flame delta\"");
}

void rm_flame_draw(struct rm_buffer *out, const void *what)
{
    const struct rm_flame *flame = what;
    if (flame->is_of_two) {
        draw_two(out, flame);
    } else {
        draw_one(out, flame);
    }
}

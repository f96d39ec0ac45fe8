/* SPDX-License-Identifier: MIT */
#include "page/flame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/text.h"

#define LEAST_SHARE 0.001
#define MOST_DEPTH  1024 /* of names of a stack */

/* What a frame is called: equal ones are one box. */
struct named {
    const char *name;
    enum rm_box_kind kind;
};

/* A place in the graph. */
struct node {
    struct named named;
    double weight[RM_FLAME_SIDES];
    uint64_t samples[RM_FLAME_SIDES];
    uint32_t first, next; /* of its children; 0: none */
};

/* A run, and the numbers of the names of its places and scopes. */
struct side {
    const struct resmon_run *run;
    uint32_t *of_place, *of_scope;
};

struct graph {
    struct rm_page *page;
    struct side sides[RM_FLAME_SIDES];
    size_t side_count;
    struct rm_intern names;             /* of frames and scopes: kind, then name */
    struct named *named;                /* by number of the name */
    struct rm_intern edges;             /* (node, name) */
    struct node *nodes; /* rm_free() */ /* [0]: all */
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

/* All that has no name in a module is one. */
static uint32_t name_of_place(struct graph *graph, const struct resmon_run *run,
                              const struct rm_run_place *place)
{
    const char *module = place->module >= 0 ? run->profile.modules[place->module].path : "";
    if (place->function[0] != '\0') {
        bool is_own = strcmp(module, rm_run_fact_text(run, "run", "executable")) == 0;
        return number_of(graph, place->function, is_own ? RM_BOX_PROGRAM : RM_BOX_LIBRARY);
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

/* From the outermost inwards: scopes, then functions; neighbours without a name are one. */
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

/* Room for a node behind the others. */
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

/* What all runs together took. */
static double total(const double weight[RM_FLAME_SIDES])
{
    return weight[0] + weight[1];
}

/* A box, and the node that it is of. */
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

/* Not yet at its place. */
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

/* Puts the children of a box behind the others, the widest first; returns how many. */
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

struct rm_boxes rm_flame_boxes(const struct rm_subject *subject, size_t kind, size_t most)
{
    struct graph graph = {.page = subject->page, .sides = {{.run = subject->run}}, .side_count = 1};
    return boxes_of_graph(&graph, kind, most);
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

struct rm_boxes rm_flame_boxes_of_two(const struct rm_subject *before,
                                      const struct rm_subject *after, size_t kind, size_t most)
{
    struct graph graph = {.page = before->page,
                          .sides = {{.run = before->run}, {.run = after->run}},
                          .side_count = 2};
    if (!has_samples(before, kind) || !has_samples(after, kind)) {
        return (struct rm_boxes){0};
    }
    return boxes_of_graph(&graph, kind, most);
}

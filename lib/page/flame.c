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
    double weight;
    uint64_t samples;
    uint32_t first, next; /* of its children; 0: none */
};

struct graph {
    struct rm_page *page;
    const struct resmon_run *run;
    const char *program;
    struct rm_intern names; /* of frames and scopes: kind, then name */
    struct named *named;    /* by number of the name */
    uint32_t *of_place;     /* number of the name of each place */
    uint32_t *of_scope;
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
static uint32_t name_of_place(struct graph *graph, const struct rm_run_place *place)
{
    const struct rm_run_profile *profile = &graph->run->profile;
    const char *module = place->module >= 0 ? profile->modules[place->module].path : "";
    if (place->function[0] != '\0') {
        return number_of(graph, place->function,
                         strcmp(module, graph->program) == 0 ? RM_BOX_PROGRAM : RM_BOX_LIBRARY);
    }
    char name[RM_PLACE_NAME_BYTES];
    (void)snprintf(name, sizeof name, "%.*s (no symbols)", RM_PLACE_NAME_BYTES - 32,
                   module[0] != '\0' ? rm_text_base_name(module) : "unknown");
    return number_of(graph, name, RM_BOX_UNNAMED);
}

static bool name_all(struct graph *graph)
{
    const struct resmon_run *run = graph->run;
    size_t count = run->profile.place_count + run->scope_count;
    graph->named = rm_page_alloc(graph->page, count + 1, sizeof *graph->named);
    graph->of_place = rm_page_alloc(graph->page, count + 1, sizeof *graph->of_place);
    graph->of_scope = rm_page_alloc(graph->page, count + 1, sizeof *graph->of_scope);
    if (graph->page->is_broken) {
        return false;
    }
    for (size_t i = 0; i < run->profile.place_count; i++) {
        graph->of_place[i] = name_of_place(graph, &run->profile.places[i]);
    }
    for (size_t i = 0; i < run->scope_count; i++) {
        graph->of_scope[i] = number_of(graph, run->scopes[i].name, RM_BOX_SCOPE);
    }
    return !graph->names.is_broken && !graph->page->is_broken;
}

/* ---- the graph -------------------------------------------------------------------------- */

/* From the outermost inwards: scopes, then functions; neighbours without a name are one. */
static size_t names_of(const struct graph *graph, const struct rm_run_stack *stack,
                       uint32_t names[MOST_DEPTH])
{
    const struct resmon_run *run = graph->run;
    uint32_t scopes[MOST_DEPTH / 2];
    size_t depth = 0, count = 0;
    for (int64_t at = stack->scope;
         at >= 0 && (size_t)at < run->scope_count && depth < RM_ARRAY_LEN(scopes);
         at = run->scopes[at].parent) {
        scopes[depth++] = graph->of_scope[at];
    }
    while (depth > 0) {
        names[count++] = scopes[--depth];
    }
    for (uint32_t i = stack->depth; i-- > 0 && count < MOST_DEPTH;) {
        uint32_t name = graph->of_place[run->profile.frames[stack->first + i]];
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

static void add_stack(struct graph *graph, const struct rm_run_stack *stack, size_t kind)
{
    uint32_t names[MOST_DEPTH];
    size_t count = names_of(graph, stack, names);
    uint32_t node = 0;
    for (size_t i = 0;; i++) {
        graph->nodes[node].weight += stack->weight[kind];
        graph->nodes[node].samples += stack->samples[kind];
        if (i == count || graph->page->is_broken) {
            return;
        }
        node = child_of(graph, node, names[i]);
    }
}

static bool build(struct graph *graph, size_t kind)
{
    const struct rm_run_profile *profile = &graph->run->profile;
    if (!name_all(graph) || !add_node(graph, 0)) {
        graph->page->is_broken = true;
        return false;
    }
    graph->nodes[0].named = (struct named){"all", RM_BOX_ALL};
    for (size_t i = 0; i < profile->stack_count && !graph->page->is_broken; i++) {
        if (profile->stacks[i].samples[kind] > 0) {
            add_stack(graph, &profile->stacks[i], kind);
        }
    }
    return !graph->page->is_broken;
}

/* ---- boxes ------------------------------------------------------------------------------ */

/* A box, and the node that it is of. */
struct placed {
    uint32_t node;
    struct rm_box box;
};

static int compare_weights(const void *left, const void *right)
{
    const struct rm_box *a = &((const struct placed *)left)->box;
    const struct rm_box *b = &((const struct placed *)right)->box;
    int by_weight = (a->weight < b->weight) - (a->weight > b->weight);
    return by_weight != 0 ? by_weight : strcmp(a->name, b->name);
}

/* Puts the children of a box behind the others, the widest first; returns how many. */
static size_t place_children(const struct graph *graph, const struct placed *parent,
                             struct placed *children)
{
    size_t count = 0, kept = 0;
    double start = parent->box.start;
    for (uint32_t at = graph->nodes[parent->node].first; at != 0; at = graph->nodes[at].next) {
        const struct node *node = &graph->nodes[at];
        children[count++] = (struct placed){at,
                                            {.name = node->named.name,
                                             .kind = node->named.kind,
                                             .depth = parent->box.depth + 1,
                                             .weight = node->weight,
                                             .samples = node->samples,
                                             .share = node->weight / graph->nodes[0].weight}};
    }
    qsort(children, count, sizeof *children, compare_weights);
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
    if (placed == NULL || !(all->weight > 0.0)) {
        graph->page->is_broken |= placed == NULL;
        rm_free(placed);
        return boxes;
    }
    placed[0] = (struct placed){0,
                                {.name = "all",
                                 .kind = RM_BOX_ALL,
                                 .weight = all->weight,
                                 .samples = all->samples,
                                 .share = 1.0}};
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

struct rm_boxes rm_flame_boxes(const struct rm_subject *subject, size_t kind, size_t most)
{
    struct graph graph = {.page = subject->page,
                          .run = subject->run,
                          .program = rm_run_fact_text(subject->run, "run", "executable")};
    struct rm_boxes boxes = {0};
    if (build(&graph, kind)) {
        boxes = boxes_of(&graph, most);
    }
    rm_intern_free(&graph.names);
    rm_intern_free(&graph.edges);
    rm_free(graph.nodes);
    return boxes;
}

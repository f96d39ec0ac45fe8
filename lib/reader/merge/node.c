/* SPDX-License-Identifier: MIT */
/* The nodes of a merge: what their runs say of them, and whose figures of the machine count. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "merge/parts.h"
#include "run/record.h"

#define MISSING "missing"

bool rm_merge_own_text(struct rm_merge *merge, const char **text)
{
    *text = rm_arena_text(&merge->strings, *text, SIZE_MAX);
    return *text != NULL;
}

static bool own_node(struct rm_merge *merge, resmon_run_node *node)
{
    return rm_merge_own_text(merge, &node->name) && rm_merge_own_text(merge, &node->state) &&
           rm_merge_own_text(merge, &node->cpu_model) &&
           rm_merge_own_text(merge, &node->gpu_model) && rm_merge_own_text(merge, &node->kernel);
}

/* By a name as it is kept; UINT32_MAX: there is none. */
static uint32_t find_node(const struct rm_merge *merge, const char *name)
{
    for (size_t i = 0; i < merge->node_count; i++) {
        if (strcmp(merge->nodes[i].node.name, name) == 0) {
            return (uint32_t)i;
        }
    }
    return UINT32_MAX;
}

static bool new_node(struct rm_merge *merge, const resmon_run_node *from)
{
    struct rm_merge_node *nodes =
        rm_grow(merge->nodes, merge->node_count, &merge->node_room, sizeof *nodes);
    if (nodes == NULL) {
        return false;
    }
    merge->nodes = nodes;
    struct rm_merge_node *node = &nodes[merge->node_count];
    memset(node, 0, sizeof *node); /* it is too large to be made on the stack */
    node->node = *from;
    if (!own_node(merge, &node->node)) {
        return false;
    }
    merge->node_count++;
    return true;
}

static int badness(const char *state)
{
    static const char *const states[] = {MISSING, "stopped", "running", "interrupted"};
    int found = 0;
    for (int i = 0; i < (int)RM_ARRAY_LEN(states); i++) {
        found = strcmp(state, states[i]) == 0 ? i : found;
    }
    return found;
}

/* Drops the machine's figures of a node, which are taken anew. */
static void forget_host(struct rm_merge *merge, struct rm_merge_node *node)
{
    for (size_t i = 0; i < merge->metrics.count; i++) {
        if (merge->metrics.rows[i].is_of_host) {
            rm_free(node->columns[i].cells);
            node->columns[i] = (struct rm_merge_column){.parts = 0};
        }
    }
}

/* Of runs that had a machine's figures at one time, that of the longest counts; those that had them
 * one after the other all do.  False: this one does not. */
static bool take_watch(struct rm_merge *merge, struct rm_merge_node *node,
                       const resmon_run_node *more)
{
    resmon_run_node *own = &node->node;
    const struct rm_merge_watch watch = {more->host_start_ns,
                                         more->host_start_ns + more->host_duration_ns};
    bool is_beside = node->watch_count == RM_MERGE_WATCHES;
    if (more->host_duration_ns < 0) {
        return false;
    }
    for (size_t i = 0; i < node->watch_count; i++) {
        is_beside |=
            node->watches[i].from_ns < watch.to_ns && watch.from_ns < node->watches[i].to_ns;
        is_beside |= node->watches[i].from_ns == watch.from_ns; /* of no time at all */
    }
    bool is_better = more->host_duration_ns != own->host_duration_ns
                         ? more->host_duration_ns > own->host_duration_ns
                         : more->host_start_ns < own->host_start_ns;
    if (is_beside && !is_better) {
        return false;
    }
    if (is_beside) {
        forget_host(merge, node);
        node->watch_count = 0;
    }
    int64_t end_ns = own->host_start_ns + own->host_duration_ns;
    bool is_first = node->watch_count == 0;
    own->host_start_ns =
        is_first || watch.from_ns < own->host_start_ns ? watch.from_ns : own->host_start_ns;
    own->host_duration_ns =
        (is_first || watch.to_ns > end_ns ? watch.to_ns : end_ns) - own->host_start_ns;
    node->watches[node->watch_count++] = watch;
    return true;
}

static void take_span(resmon_run_node *node, const resmon_run_node *more)
{
    int64_t end_ns = more->start_ns + more->duration_ns;
    if (more->duration_ns < 0) {
        return;
    }
    if (node->duration_ns >= 0) {
        int64_t own_end_ns = node->start_ns + node->duration_ns;
        end_ns = end_ns > own_end_ns ? end_ns : own_end_ns;
        node->start_ns = node->start_ns < more->start_ns ? node->start_ns : more->start_ns;
    } else {
        node->start_ns = more->start_ns;
    }
    node->duration_ns = end_ns - node->start_ns;
}

static void take_known(double *number, double other)
{
    *number = isnan(*number) ? other : *number;
}

static bool take_text(struct rm_merge *merge, const char **text, const char *other)
{
    if ((*text)[0] == '\0' && other[0] != '\0') {
        *text = other;
        return rm_merge_own_text(merge, text);
    }
    return true;
}

/* What a run says of a node that others have spoken of; all but its machine's figures. */
static bool take_node(struct rm_merge *merge, resmon_run_node *node, const resmon_run_node *more)
{
    take_span(node, more);
    node->index = node->index < 0 ? more->index : node->index;
    node->ranks += more->ranks;
    node->clock_error_ns = fmax(node->clock_error_ns, more->clock_error_ns);
    take_known(&node->cpus, more->cpus);
    take_known(&node->memory_bytes, more->memory_bytes);
    take_known(&node->allotted_cpus, more->allotted_cpus);
    take_known(&node->allotted_bytes, more->allotted_bytes);
    take_known(&node->gpus, more->gpus);
    if (badness(more->state) > badness(node->state)) {
        node->state = more->state;
        if (!rm_merge_own_text(merge, &node->state)) {
            return false;
        }
    }
    return take_text(merge, &node->cpu_model, more->cpu_model) &&
           take_text(merge, &node->gpu_model, more->gpu_model) &&
           take_text(merge, &node->kernel, more->kernel);
}

static resmon_run_node unknown_node(const char *name)
{
    resmon_run_node node;
    rm_record_clear(RM_RECORD_node, &node);
    node.name = name;
    node.state = MISSING;
    node.index = -1;
    node.duration_ns = -1;
    node.host_duration_ns = -1;
    return node;
}

/* The node of this name, which is missing until something is known of it; UINT32_MAX: no memory. */
static uint32_t node_named(struct rm_merge *merge, const char *name)
{
    if (!rm_merge_own_text(merge, &name)) {
        return UINT32_MAX;
    }
    uint32_t found = find_node(merge, name);
    const resmon_run_node node = unknown_node(name);
    return found != UINT32_MAX || !new_node(merge, &node) ? found : (uint32_t)merge->node_count - 1;
}

resmon_status rm_merge_expect(struct rm_merge *merge, const char *name)
{
    return node_named(merge, name) != UINT32_MAX
               ? RESMON_OK
               : rm_error(RESMON_ENOMEM, "out of memory for the nodes of a job");
}

/* Of what a run has of the machine beside what is known: before it, between, or after it. */
static int order_of(const resmon_run_node *node, const resmon_run_node *more)
{
    if (more->host_start_ns >= node->host_start_ns + node->host_duration_ns) {
        return 1;
    }
    return more->host_start_ns + more->host_duration_ns <= node->host_start_ns ? -1 : 0;
}

bool rm_merge_node_add(struct rm_merge *merge, struct rm_merge_parts *parts, size_t i)
{
    resmon_run_node more = parts->nodes[i];
    parts->node_of[i] = node_named(merge, more.name);
    if (parts->node_of[i] == UINT32_MAX) {
        return false;
    }
    more.start_ns += parts->start_ns;
    more.host_start_ns += parts->start_ns;
    struct rm_merge_node *node = &merge->nodes[parts->node_of[i]];
    parts->order[i] = order_of(&node->node, &more);
    parts->is_host_of[i] = take_watch(merge, node, &more);
    return take_node(merge, &node->node, &more);
}

/* SPDX-License-Identifier: MIT */
/*
 * Run block -> scopes of a run: the trees of all threads, those that have ended included, merged by
 * the names along their paths.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"
#include "store/run.h"
#include "store/scope_counts.h"
#include "store/scope_end.h"
#include "store/scope_energy.h"

/* A path while it is being merged. */
struct path {
    const struct rm_site_record *site;
    uint32_t parent, first_child, last_child, next; /* indexes; 0: none; path 0 is the root */
    int64_t listed;                                 /* index of its scope in the run */
    uint64_t first_ticks;
    struct rm_scope_wall wall;
    struct rm_scope_meters meters;
    struct rm_scope_energy energy;
    struct rm_scope_counts counts;
    uint64_t open;
    uint64_t open_ticks;
};

struct merger {
    const struct rm_block *block;
    struct path *paths;
    uint32_t path_count;
    uint32_t path_room;
    uint32_t *path_of_node; /* by index of the node */
    uint32_t node_count;
    struct rm_scope_energy none; /* what a path begins with: NaN where energy is not known */
    uint32_t visits;             /* a damaged file may link nodes in a circle */
};

static uint32_t index_of(const struct merger *m, rm_node_ref ref)
{
    uint32_t size = (uint32_t)sizeof(struct rm_scope_node);
    return ref % size == 0 && ref / size < m->node_count ? ref / size : 0;
}

/* The child of path `parent` with the site's name, made if needed; 0 when there is no room. */
static uint32_t child_path(struct merger *m, uint32_t parent, const struct rm_site_record *site)
{
    for (uint32_t c = m->paths[parent].first_child; c != 0; c = m->paths[c].next) {
        if (m->paths[c].site == site || strcmp(m->paths[c].site->name, site->name) == 0) {
            return c;
        }
    }
    if (m->path_count >= m->path_room) {
        return 0;
    }
    uint32_t fresh = m->path_count++;
    m->paths[fresh] = (struct path){.site = site, .parent = parent, .energy = m->none};
    if (m->paths[parent].first_child == 0) {
        m->paths[parent].first_child = fresh;
    } else {
        m->paths[m->paths[parent].last_child].next = fresh;
    }
    m->paths[parent].last_child = fresh;
    return fresh;
}

static void add_node(struct merger *m, struct path *path, const struct rm_scope_node *node,
                     rm_node_ref ref)
{
    struct rm_node_moved moved = rm_node_moved_of(m->block, ref);
    /* Meters first: a running thread publishes them after the call that they belong to. */
    if (!moved.meters) {
        struct rm_scope_meters meters = rm_node_meters(node);
        path->meters = rm_scope_meters_merge(&path->meters, &meters);
    }
    if (!moved.energy) {
        struct rm_scope_energy energy = rm_scope_energy_of(m->block, ref);
        path->energy.joules += energy.joules;
        path->energy.doubt += energy.doubt;
    }
    if (!moved.counts) {
        struct rm_scope_counts counts = rm_scope_counts_of(m->block, ref);
        path->counts = rm_scope_counts_merge(&path->counts, &counts);
    }
    if (!moved.wall) {
        struct rm_scope_wall wall = rm_node_wall(node);
        uint64_t first = RM_LOAD(&node->first_ticks);
        if (path->wall.calls == 0) {
            path->first_ticks = first;
        }
        path->wall =
            rm_scope_wall_merge(&path->wall, path->first_ticks, &wall, first, path->first_ticks);
    }
}

/* Adds the subtree below `ref`, depth first along the links, to the paths below `path`. */
static void add_children(struct merger *m, rm_node_ref ref, uint32_t path, uint32_t depth)
{
    if (depth > RM_MAX_DEPTH) {
        return;
    }
    uint32_t child = index_of(m, RM_LOAD_ACQUIRE(&rm_node_at(m->block, ref)->first_child));
    while (child != 0 && m->visits++ < m->node_count) {
        rm_node_ref child_ref = rm_node_ref_of(child);
        const struct rm_scope_node *node = rm_node_at(m->block, child_ref);
        uint32_t target = child_path(m, path, rm_site_at(m->block, node->site));
        if (target != 0) {
            add_node(m, &m->paths[target], node, child_ref);
            m->path_of_node[child] = target;
            add_children(m, child_ref, target, depth + 1);
        }
        child = index_of(m, RM_LOAD_ACQUIRE(&node->next));
    }
}

static void add_open_frames(struct merger *m, const struct rm_scope_thread_record *thread,
                            uint64_t now)
{
    uint64_t bound = m->block->header->sizes.depth;
    for (uint64_t i = 1; i <= bound; i++) {
        const struct rm_scope_frame *frame = &thread->frames[i];
        if (RM_LOAD_ACQUIRE(&frame->token) == 0) {
            break;
        }
        uint32_t path = m->path_of_node[index_of(m, RM_LOAD(&frame->node))];
        if (path != 0) {
            uint64_t start = RM_LOAD(&frame->start);
            m->paths[path].open++;
            m->paths[path].open_ticks += now > start ? now - start : 0;
        }
    }
}

static void merge_threads(struct merger *m, const struct rm_decode *how)
{
    const struct rm_block_header *header = m->block->header;
    uint64_t now = how->is_live ? how->now.ticks : rm_scope_end_ticks(m->block);
    for (uint64_t i = 0; i < header->sizes.threads; i++) {
        const struct rm_scope_thread_record *thread =
            rm_block_record(m->block, RM_SECTION_THREADS, i);
        uint32_t state = RM_LOAD_ACQUIRE(&thread->state);
        uint32_t root = index_of(m, thread->root);
        if (state == RM_THREAD_FREE || root == 0) {
            continue;
        }
        add_children(m, rm_node_ref_of(root), 0, 0);
        if (state == RM_THREAD_LIVE) {
            add_open_frames(m, thread, now);
        }
    }
    /* Last: phases of threads that still live come in their own order. */
    uint32_t retired = index_of(m, (rm_node_ref)header->retired_root);
    if (retired != 0) {
        add_children(m, rm_node_ref_of(retired), 0, 0);
    }
}

static double stddev_of(const struct path *path)
{
    double n = (double)path->wall.calls;
    if (path->wall.calls < 2) {
        return RM_NAN;
    }
    double sum = rm_scope_wall_sum(&path->wall, path->first_ticks);
    double variance = (path->wall.square_sum - sum * sum / n) / (n - 1.0);
    return variance > 0.0 ? sqrt(variance) : 0.0;
}

/* A meter that was taken at some of the calls stands for all of them. */
static int32_t provenance_of(uint64_t metered, uint64_t calls)
{
    if (metered == 0) {
        return RESMON_PROVENANCE_NONE;
    }
    return metered < calls ? RESMON_PROVENANCE_SAMPLED : RESMON_PROVENANCE_MEASURED;
}

/* The instances that were metered lasted `part` of `total`: what the others did is taken to go with
 * the time that they took. */
static double scaled(uint64_t sum, uint64_t metered, uint64_t part,
                     const struct rm_scope_wall *wall)
{
    if (metered == 0) {
        return RM_NAN;
    }
    if (part == 0 || metered == wall->calls) {
        return (double)sum * ((double)wall->calls / (double)metered);
    }
    return (double)sum * ((double)wall->total / (double)part);
}

static void fill_meters(struct rm_run_scope *scope, const struct path *path)
{
    const struct rm_scope_meters *meters = &path->meters;
    scope->cpu_calls = meters->cpu_calls;
    scope->cpu_ns = scaled(meters->cpu_ns, meters->cpu_calls, meters->cpu_wall, &path->wall);
    scope->cpu_provenance = provenance_of(meters->cpu_calls, scope->calls);
    if (scope->cpu_provenance == RESMON_PROVENANCE_SAMPLED) {
        scope->cpu_ns = rm_lesser(scope->cpu_ns, scope->total_ns); /* a thread has one CPU */
    }
    scope->io_calls = meters->io_calls;
    for (size_t i = 0; i < RM_IO_FIELDS; i++) {
        scope->io[i] = scaled(meters->io[i], meters->io_calls, meters->io_wall, &path->wall);
    }
    scope->io_provenance = provenance_of(meters->io_calls, scope->calls);
    scope->rss_calls = meters->rss_calls;
    scope->rss_peak_bytes = meters->rss_calls > 0 ? (double)meters->rss_peak : RM_NAN;
    scope->rss_provenance = meters->rss_sampled > 0 && meters->rss_calls > 0
                                ? RESMON_PROVENANCE_SAMPLED
                                : provenance_of(meters->rss_calls, scope->calls);
}

/* Counters that were never descheduled may have been read without a time (sys/perf_page.h): they
 * ran all of it. */
static double running_share(const struct rm_scope_counts *counts)
{
    if (counts->calls == 0) {
        return RM_NAN;
    }
    return counts->enabled > 0 ? (double)counts->running / (double)counts->enabled : 1.0;
}

/* Counted while the counters ran, which stands for the time in which they did not. */
static void fill_counts(const struct rm_block *block, struct rm_run_scope *scope,
                        const struct path *path)
{
    const struct rm_scope_counts *counts = &path->counts;
    uint64_t count = block->header->sizes.scope_counters;
    bool has_run = counts->running > 0 || counts->enabled == 0;
    bool is_part = counts->running < counts->enabled;
    scope->counter_calls = has_run ? counts->calls : 0;
    scope->counter_provenance = provenance_of(scope->counter_calls, scope->calls);
    scope->counter_running = running_share(counts);
    if (scope->counter_calls > 0 && is_part) {
        scope->counter_provenance = RESMON_PROVENANCE_SAMPLED;
    }
    for (uint64_t i = 0; i < RM_SCOPE_COUNTERS; i++) {
        const struct rm_counter_record *record = i < count ? rm_scope_counter_at(block, i) : NULL;
        scope->counts[i] = RM_NAN;
        if (record != NULL && record->status == RESMON_OK && scope->counter_calls > 0) {
            double whole = is_part ? (double)counts->enabled / (double)counts->running : 1.0;
            scope->counts[i] = record->scale * whole *
                               scaled(counts->values[i], counts->calls, counts->wall, &path->wall);
        }
    }
}

static resmon_status decode_counters(const struct rm_block *block, struct resmon_run *run)
{
    uint64_t count = block->header->sizes.scope_counters;
    run->counters = rm_arena_alloc(&run->strings, (size_t)count, sizeof *run->counters);
    for (uint64_t i = 0; i < count && run->counters != NULL; i++) {
        const struct rm_counter_record *record = rm_scope_counter_at(block, i);
        struct rm_run_counter *counter = &run->counters[i];
        counter->name = rm_arena_text(&run->strings, record->name, sizeof record->name);
        counter->unit = rm_arena_text(&run->strings, record->unit, sizeof record->unit);
        counter->reason = rm_arena_text(&run->strings, record->reason, sizeof record->reason);
        counter->status = record->status;
        if (counter->name == NULL || counter->unit == NULL || counter->reason == NULL) {
            return rm_error(RESMON_ENOMEM, "out of memory for the counters of a run");
        }
    }
    if (run->counters == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the counters of a run");
    }
    run->counter_count = (size_t)count;
    return RESMON_OK;
}

static resmon_status fill_scope(const struct merger *m, struct resmon_run *run,
                                struct rm_run_scope *scope, const struct path *path,
                                double ns_per_tick)
{
    int has_calls = path->wall.calls > 0;
    scope->name = rm_arena_text(&run->strings, path->site->name, RM_SITE_NAME_BYTES);
    scope->file = rm_arena_text(&run->strings, path->site->file, RM_SITE_FILE_BYTES);
    scope->function = rm_arena_text(&run->strings, path->site->function, RM_SITE_FUNCTION_BYTES);
    if (scope->name == NULL || scope->file == NULL || scope->function == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the scopes of a run");
    }
    scope->line = path->site->line;
    scope->threads = (uint32_t)path->meters.threads;
    scope->calls = path->wall.calls;
    scope->folded = path->wall.folded;
    scope->open = path->open;
    scope->total_ns = (double)path->wall.total * ns_per_tick;
    scope->min_ns = has_calls ? (double)path->wall.min * ns_per_tick : RM_NAN;
    scope->max_ns = has_calls ? (double)path->wall.max * ns_per_tick : RM_NAN;
    scope->stddev_ns = stddev_of(path) * ns_per_tick;
    scope->open_ns = (double)path->open_ticks * ns_per_tick;
    scope->self_ns = scope->total_ns + scope->open_ns;
    fill_meters(scope, path);
    scope->energy_j = path->energy.joules;
    scope->energy_doubt_j = path->energy.doubt;
    fill_counts(m->block, scope, path);
    return RESMON_OK;
}

/* The path after `at` in preorder; 0 at the end. */
static uint32_t next_path(const struct merger *m, uint32_t at)
{
    if (m->paths[at].first_child != 0) {
        return m->paths[at].first_child;
    }
    while (at != 0 && m->paths[at].next == 0) {
        at = m->paths[at].parent;
    }
    return m->paths[at].next;
}

/* Paths in preorder.  The time of each scope is taken off its parent's self time. */
static resmon_status list_paths(struct merger *m, struct resmon_run *run, double ns_per_tick)
{
    struct rm_run_scope *scopes = rm_arena_alloc(&run->strings, m->path_count, sizeof *scopes);
    if (scopes == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the scopes of a run");
    }
    run->scopes = scopes;
    m->paths[0].listed = -1;
    for (uint32_t at = m->paths[0].first_child; at != 0; at = next_path(m, at)) {
        struct rm_run_scope *scope = &scopes[run->scope_count];
        resmon_status status = fill_scope(m, run, scope, &m->paths[at], ns_per_tick);
        if (status != RESMON_OK) {
            return status;
        }
        scope->parent = m->paths[m->paths[at].parent].listed;
        if (scope->parent >= 0) {
            struct rm_run_scope *parent = &scopes[scope->parent];
            scope->depth = parent->depth + 1;
            parent->self_ns -= scope->total_ns + scope->open_ns;
        }
        m->paths[at].listed = (int64_t)run->scope_count++;
    }
    for (size_t i = run->scope_count; i-- > 0;) {
        struct rm_run_scope *parent = scopes[i].parent >= 0 ? &scopes[scopes[i].parent] : NULL;
        if (parent != NULL && parent->rss_calls > 0) {
            parent->rss_peak_bytes = fmax(parent->rss_peak_bytes, scopes[i].rss_peak_bytes);
        }
        /* Children of scopes that stayed open, or of other threads' clocks, may exceed it. */
        scopes[i].self_ns = fmax(scopes[i].self_ns, 0.0);
    }
    return RESMON_OK;
}

resmon_status rm_run_decode_scopes(const struct rm_block *block, const struct rm_decode *how,
                                   double ns_per_tick, struct resmon_run *run)
{
    const struct rm_block_header *header = block->header;
    uint32_t nodes = (uint32_t)header->sizes.nodes;
    uint64_t used = RM_LOAD_ACQUIRE(&header->node_count);
    struct merger m = {.block = block, .node_count = used < nodes ? (uint32_t)used : nodes};
    if (header->has_scopes == 0 || m.node_count == 0) {
        return RESMON_OK;
    }
    if (RM_LOAD_ACQUIRE(&header->energy_divisions) < 2) { /* the first sets the beginning */
        m.none = (struct rm_scope_energy){RM_NAN, RM_NAN};
    }
    m.path_room = m.node_count + 1;
    m.paths = rm_arena_alloc(&run->working, m.path_room, sizeof *m.paths);
    m.path_of_node = rm_arena_alloc(&run->working, m.node_count, sizeof *m.path_of_node);
    resmon_status status;
    if (m.paths == NULL || m.path_of_node == NULL) {
        status = rm_error(RESMON_ENOMEM, "out of memory for the scopes of a run");
    } else {
        m.path_count = 1;
        merge_threads(&m, how);
        status = list_paths(&m, run, ns_per_tick);
    }
    if (status == RESMON_OK) {
        status = decode_counters(block, run);
    }
    uint64_t ticks = 0;
    for (uint32_t i = 1; m.paths != NULL && i < m.path_count; i++) {
        ticks += (m.paths[i].wall.calls + m.paths[i].wall.folded) * header->scope_cost_ticks;
        ticks += m.paths[i].meters.cost_ticks + m.paths[i].counts.cost_ticks;
    }
    run->overhead.scopes_ns = (double)ticks * ns_per_tick;
    return status;
}

size_t rm_run_scopes_working(uint64_t nodes)
{
    return (nodes + 1) * (sizeof(struct path) + sizeof(uint32_t)) + (size_t)4 * RM_ARENA_SLACK;
}

size_t rm_run_scopes_result(uint64_t nodes)
{
    size_t texts = RM_SITE_NAME_BYTES + RM_SITE_FILE_BYTES + RM_SITE_FUNCTION_BYTES;
    size_t counter = sizeof(struct rm_counter_record) + sizeof(struct rm_run_counter) +
                     (size_t)4 * RM_ARENA_SLACK;
    return RM_SCOPE_COUNTERS * counter +
           (nodes + 1) * (sizeof(struct rm_run_scope) + texts + (size_t)4 * RM_ARENA_SLACK);
}

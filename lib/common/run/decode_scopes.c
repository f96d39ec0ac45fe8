/* SPDX-License-Identifier: MIT */
/*
 * Run block -> scopes of a run: the trees of all threads, ended ones included, aggregated by the
 * names along their paths.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/status.h"
#include "run/record.h"
#include "run/run.h"
#include "store/scope_energy.h"
#include "store/scope_records.h"
#include "store/scope_tree.h"

/* A path while it is being merged. */
struct path {
    const struct rm_site_record *site;
    uint32_t parent, first_child, last_child, next; /* indexes; 0: none; path 0 is the root */
    int64_t listed;                                 /* index of its scope in the run */
    struct rm_scope_wall wall;
    struct rm_scope_meters meters;
    struct rm_scope_energy energy;
    struct rm_scope_counts counts; /* settled */
    struct rm_tallies tallies;     /* settled */
    double bounds[RM_SUMS];        /* upper bounds of the sums; INFINITY: not known */
    uint64_t open;
    uint64_t open_ticks;
    uint64_t ended_at_exit;
    uint64_t beside_ticks; /* time of calls beside the parent, open calls included */
    uint64_t task_calls;   /* open tasks included */
};

/* The open tasks of a path, over all threads: a task may begin in one thread and end in another. */
struct open_tasks {
    uint64_t count, starts;
};

struct merger {
    const struct rm_block *block;
    struct path *paths;
    struct open_tasks (*tasks)[2]; /* by path: inside of the parent, and beside it */
    uint32_t path_count;
    uint32_t path_room;
    uint32_t *slots; /* paths by parent and name, open addressing; 0: free */
    size_t slot_count;
    uint32_t *path_of_node; /* by index of the node */
    uint32_t node_count;
    struct rm_scope_energy none; /* initial energy of a path: NaN if energy is not known */
    uint32_t visits;             /* a damaged file may link nodes in a circle */
    bool has_sums;
    uint32_t looks; /* like `visits`, for siblings before their visit */
};

static uint32_t index_of(const struct merger *m, rm_node_ref ref)
{
    uint32_t size = (uint32_t)sizeof(struct rm_scope_node);
    return ref % size == 0 && ref / size < m->node_count ? ref / size : 0;
}

/* At least half of the slots are free. */
static size_t slots_for(uint64_t paths)
{
    size_t count = 16;
    while (count < 2 * paths) {
        count *= 2;
    }
    return count;
}

static bool is_of(const struct path *path, uint32_t parent, const struct rm_site_record *site)
{
    return path->parent == parent &&
           (path->site == site || strcmp(path->site->name, site->name) == 0);
}

/* The slot of the child of path `parent` with the site's name; a free slot if there is no such
 * child. */
static uint32_t *slot_of(const struct merger *m, uint32_t parent, const struct rm_site_record *site)
{
    uint64_t hash = rm_hash_bytes(RM_HASH_START, site->name, strlen(site->name));
    size_t at = rm_hash_u64(hash, parent);
    for (;; at++) {
        uint32_t *slot = &m->slots[at & (m->slot_count - 1)];
        if (*slot == 0 || is_of(&m->paths[*slot], parent, site)) {
            return slot;
        }
    }
}

/* Finds or creates the child of path `parent` with the site's name; 0 if the capacity for paths is
 * exhausted. */
static uint32_t child_path(struct merger *m, uint32_t parent, const struct rm_site_record *site)
{
    uint32_t *slot = slot_of(m, parent, site);
    if (*slot != 0 || m->path_count >= m->path_room) {
        return *slot;
    }
    uint32_t fresh = m->path_count++;
    *slot = fresh;
    m->paths[fresh] = (struct path){
        .site = site, .parent = parent, .wall = {.min = UINT64_MAX}, .energy = m->none};
    if (m->paths[parent].first_child == 0) {
        m->paths[parent].first_child = fresh;
    } else {
        m->paths[m->paths[parent].last_child].next = fresh;
    }
    m->paths[parent].last_child = fresh;
    return fresh;
}

static void add_tasks(struct merger *m, uint32_t path, const struct rm_scope_node *node,
                      const struct rm_scope_meters *meters)
{
    struct open_tasks *tasks = &m->tasks[path][rm_node_is_beside(node)];
    tasks->count += meters->tasks_open;
    tasks->starts += meters->task_starts;
}

/* ---- sums of meters --------------------------------------------------------------------- */

static bool is_open(const struct merger *m, const struct rm_scope_thread_record *thread,
                    rm_node_ref ref)
{
    uint64_t depth = thread != NULL ? m->block->header->sizes.depth : 0;
    for (uint64_t i = 1; i <= depth && RM_LOAD_ACQUIRE(&thread->frames[i].token) != 0; i++) {
        if (RM_LOAD(&thread->frames[i].node) == ref) {
            return true;
        }
    }
    return false;
}

/* Sets the limits of the sums inside of a node, shared by all nodes inside. Not inlined: the frame
 * of the recursive function is on the stack once for each level, and must stay small. */
static RM_NOINLINE void set_room(struct merger *m, const struct rm_scope_thread_record *thread,
                                 rm_node_ref ref, const struct rm_sum_room *around,
                                 struct rm_sum_room *room)
{
    struct rm_scope_sums sums = rm_scope_sums_of(m->block, ref);
    struct rm_sum_demand demand = {.sums = {0.0}};
    *room = rm_sum_room_inside(&sums, is_open(m, thread, ref), around);
    uint32_t child = index_of(m, RM_LOAD_ACQUIRE(&rm_node_at(m->block, ref)->first_child));
    while (child != 0 && m->looks++ < m->node_count) {
        rm_node_ref child_ref = rm_node_ref_of(child);
        const struct rm_scope_node *node = rm_node_at(m->block, child_ref);
        if (!rm_node_is_beside(node)) {
            sums = rm_scope_sums_of(m->block, child_ref);
            rm_sum_demand_add(&demand, &sums, room);
        }
        child = index_of(m, RM_LOAD_ACQUIRE(&node->next));
    }
    rm_sum_room_share(room, &demand);
}

/* Adds the sums of a node's meters, for all calls of the wall record that it returns. */
static RM_NOINLINE struct rm_scope_wall add_sums(const struct merger *m, struct path *path,
                                                 rm_node_ref ref, struct rm_node_moved moved,
                                                 const struct rm_sum_room *room)
{
    struct rm_scope_sums sums = rm_scope_sums_of(m->block, ref);
    rm_scope_sums_fit(&sums, room);
    for (size_t i = 0; i < RM_SUMS; i++) {
        bool is_moved = moved.facets[i < RM_FIELDS ? RM_FACET_TALLIES : RM_FACET_COUNTS];
        path->bounds[i] += is_moved ? 0.0 : room->bounds[i];
    }
    if (!moved.facets[RM_FACET_TALLIES]) {
        path->tallies = rm_tallies_merge(&path->tallies, &sums.tallies);
    }
    if (!moved.facets[RM_FACET_COUNTS]) {
        path->counts = rm_scope_counts_merge(&path->counts, &sums.counts);
    }
    return sums.wall;
}

/* ---- trees ------------------------------------------------------------------------------ */

static void add_node(struct merger *m, uint32_t index, const struct rm_scope_node *node,
                     rm_node_ref ref, const struct rm_sum_room *room)
{
    struct path *path = &m->paths[index];
    struct rm_node_moved moved = rm_node_moved_of(m->block, ref);
    /* Meters are read first: a running thread publishes them after the call that they belong to. */
    if (!moved.meters) {
        struct rm_scope_meters meters = rm_node_meters(node);
        path->meters = rm_scope_meters_merge(&path->meters, &meters);
        add_tasks(m, index, node, &meters);
    }
    struct rm_scope_wall wall =
        m->has_sums ? add_sums(m, path, ref, moved, room) : rm_node_wall(node);
    if (!moved.facets[RM_FACET_ENERGY]) {
        struct rm_scope_energy energy = rm_scope_energy_of(m->block, ref);
        path->energy.joules += energy.joules;
        path->energy.doubt += energy.doubt;
    }
    path->ended_at_exit += RM_LOAD(&node->ended_at_exit);
    if (!moved.wall) {
        path->wall = rm_scope_wall_merge(&path->wall, &wall);
        path->beside_ticks += rm_node_is_beside(node) ? wall.sums.total : 0;
        path->task_calls += rm_node_is_task(node) ? wall.sums.calls : 0;
    }
}

/* The tree of a thread; NULL: the tree of the retired threads. */
struct tree {
    struct merger *merger;
    const struct rm_scope_thread_record *thread;
    struct rm_sum_room unlimited; /* limits at the top, or for nodes beside their parent */
};

/* Adds the subtree below `ref` to the paths below `path`, depth first along the links. */
static void add_children(const struct tree *tree, rm_node_ref ref, uint32_t path, uint32_t depth,
                         const struct rm_sum_room *around)
{
    struct merger *m = tree->merger;
    struct rm_sum_room room = *around;
    if (depth > RM_MAX_DEPTH) {
        return;
    }
    if (m->has_sums && depth > 0) {
        set_room(m, tree->thread, ref, around, &room);
    }
    uint32_t child = index_of(m, RM_LOAD_ACQUIRE(&rm_node_at(m->block, ref)->first_child));
    while (child != 0 && m->visits++ < m->node_count) {
        rm_node_ref child_ref = rm_node_ref_of(child);
        const struct rm_scope_node *node = rm_node_at(m->block, child_ref);
        uint32_t target = child_path(m, path, rm_site_at(m->block, node->site));
        if (target != 0) {
            const struct rm_sum_room *its = rm_node_is_beside(node) ? &tree->unlimited : &room;
            add_node(m, target, node, child_ref, its);
            m->path_of_node[child] = target;
            add_children(tree, child_ref, target, depth + 1, its);
        }
        child = index_of(m, RM_LOAD_ACQUIRE(&node->next));
    }
}

static void add_tree(struct merger *m, const struct rm_scope_thread_record *thread, uint32_t root)
{
    const struct tree tree = {m, thread, rm_sum_room_unlimited()};
    add_children(&tree, rm_node_ref_of(root), 0, 0, &tree.unlimited);
}

static void add_open_frames(struct merger *m, const struct rm_scope_thread_record *thread,
                            uint64_t now)
{
    uint64_t bound = m->block->header->sizes.depth;
    uint32_t below = 0;
    for (uint64_t i = 1; i <= bound; i++) {
        const struct rm_scope_frame *frame = &thread->frames[i];
        if (RM_LOAD_ACQUIRE(&frame->token) == 0) {
            break;
        }
        uint32_t node = index_of(m, RM_LOAD(&frame->node));
        uint32_t path = m->path_of_node[node];
        uint64_t start = RM_LOAD(&frame->start);
        uint64_t ticks = now > start ? now - start : 0;
        if (path != 0) {
            m->paths[path].open++;
            m->paths[path].open_ticks += ticks;
        }
        const struct rm_scope_node *at = rm_node_at(m->block, rm_node_ref_of(node));
        m->paths[path].beside_ticks += rm_node_is_beside(at) ? ticks : 0;
        m->paths[below].meters.away += at->kind != RM_NODE_PLAIN ? ticks : 0;
        below = path;
    }
}

/* A reader of a running program may find the end of a task but not its beginning. */
static void add_open_tasks(struct merger *m, uint64_t now)
{
    for (uint32_t i = 1; i < m->path_count; i++) {
        struct path *path = &m->paths[i];
        for (int is_beside = 0; is_beside < 2; is_beside++) {
            const struct open_tasks *tasks = &m->tasks[i][is_beside];
            uint64_t ticks = tasks->count * now - tasks->starts;
            if ((int64_t)tasks->count > 0) {
                path->open += tasks->count;
                path->task_calls += tasks->count;
                path->open_ticks += (int64_t)ticks > 0 ? ticks : 0;
                path->beside_ticks += is_beside && (int64_t)ticks > 0 ? ticks : 0;
            }
        }
    }
}

static void merge_threads(struct merger *m, const struct rm_decode *how)
{
    const struct rm_block_header *header = m->block->header;
    uint64_t now = how->is_live ? how->now.ticks : rm_scope_end_ticks(m->block);
    const struct rm_scope_thread_record *thread;
    for (uint64_t i = 0; (thread = rm_scope_thread_at(m->block, i)) != NULL; i++) {
        uint32_t state = RM_LOAD_ACQUIRE(&thread->state);
        uint32_t root = index_of(m, thread->root);
        if (state == RM_THREAD_FREE || root == 0) {
            continue;
        }
        add_tree(m, thread, root);
        if (state == RM_THREAD_LIVE) {
            add_open_frames(m, thread, now);
        }
    }
    /* The retired tree is last: so the phases of live threads keep their own order. */
    uint32_t retired = index_of(m, (rm_node_ref)header->retired_root);
    if (retired != 0) {
        add_tree(m, NULL, retired);
    }
    add_open_tasks(m, now);
}

/* A meter that was read at some of the calls represents all calls. */
static int32_t provenance_of(uint64_t metered, uint64_t calls)
{
    if (metered == 0) {
        return RESMON_PROVENANCE_NONE;
    }
    return metered < calls ? RESMON_PROVENANCE_SAMPLED : RESMON_PROVENANCE_MEASURED;
}

static struct rm_tally_all all_of(const struct path *path)
{
    return (struct rm_tally_all){path->wall.sums.calls, path->wall.sums.total};
}

static resmon_estimate estimate(const struct path *path, size_t field)
{
    resmon_estimate found = rm_tallies_estimate(&path->tallies, field, all_of(path));
    rm_estimate_clamp(&found, path->bounds[field]);
    return found;
}

/* The member of a scope that is made of each sum. */
static const size_t members[RM_FIELDS] = {
#define RM_METER_FIELD(token, field, member) offsetof(resmon_run_scope, member),
#include "store/scope_meters.def"
};

static const struct {
    size_t calls, provenance;
} meters_of[RM_TALLIES] = {
#define RM_METER(token, name, extent) \
    {offsetof(resmon_run_scope, name##_calls), offsetof(resmon_run_scope, name##_provenance)},
#include "store/scope_meters.def"
};

static void fill_sums(resmon_run_scope *scope, const struct path *path)
{
    for (size_t i = 0; i < RM_FIELDS; i++) {
        resmon_estimate figure = estimate(path, i);
        memcpy((char *)scope + members[i], &figure, sizeof figure);
    }
    for (size_t i = 0; i < RM_TALLIES; i++) {
        uint64_t calls = path->tallies.tallies[i].calls;
        int32_t provenance = provenance_of(calls, scope->calls);
        memcpy((char *)scope + meters_of[i].calls, &calls, sizeof calls);
        memcpy((char *)scope + meters_of[i].provenance, &provenance, sizeof provenance);
    }
}

static void fill_meters(resmon_run_scope *scope, const struct path *path)
{
    const struct rm_scope_meters *meters = &path->meters;
    fill_sums(scope, path);
    if (scope->cpu_provenance == RESMON_PROVENANCE_SAMPLED) {
        rm_estimate_clamp(&scope->cpu_ns, scope->wall_ns); /* a thread has one CPU */
    }
    if (scope->pcpu_calls > 0 && path->tallies.with_descendants > 0) {
        scope->pcpu_provenance = RESMON_PROVENANCE_SAMPLED;
    }
    scope->rss_calls = meters->rss_calls;
    scope->rss_peak_bytes = meters->rss_calls > 0 ? (double)meters->rss_peak : RM_NAN;
    scope->rss_provenance = meters->rss_sampled > 0 && meters->rss_calls > 0
                                ? RESMON_PROVENANCE_SAMPLED
                                : provenance_of(meters->rss_calls, scope->calls);
}

/* Counters that were never descheduled may be read without a time (os/perf.h): they ran all of the
 * time. */
static double running_share(const struct rm_scope_counts *counts)
{
    if (counts->tally.calls == 0) {
        return RM_NAN;
    }
    return counts->enabled > 0 ? (double)counts->running / (double)counts->enabled : 1.0;
}

/* No upper bound applies to scaled counts: if the counters of a scope were shared, so were the
 * counters of the scopes around it. */
static resmon_estimate estimate_count(const struct path *path, size_t place, double scale)
{
    resmon_estimate found = rm_scope_counts_estimate(&path->counts, place, all_of(path));
    if (!rm_scope_counts_is_shared(&path->counts)) {
        rm_estimate_clamp(&found, path->bounds[RM_FIELDS + place]);
    }
    return rm_estimate_scaled(found, scale);
}

static void fill_counts(const struct rm_block *block, struct resmon_run *run,
                        resmon_run_scope *scope, const struct path *path)
{
    const struct rm_scope_counts *counts = &path->counts;
    uint64_t count = block->header->sizes.scope_counters;
    bool has_run = counts->running > 0 || counts->enabled == 0;
    scope->counter_calls = has_run ? counts->tally.calls : 0;
    scope->counter_provenance = provenance_of(scope->counter_calls, scope->calls);
    scope->counter_running = running_share(counts);
    if (scope->counter_calls == 0) {
        return;
    }
    if (rm_scope_counts_is_shared(counts)) {
        scope->counter_provenance = RESMON_PROVENANCE_SAMPLED;
    }
    resmon_estimate *counters = rm_arena_alloc(&run->strings, (size_t)count, sizeof *counters);
    for (uint64_t i = 0; i < count && counters != NULL; i++) {
        const struct rm_counter_record *record = rm_scope_counter_at(block, i);
        counters[i] = record->status == RESMON_OK ? estimate_count(path, i, record->scale)
                                                  : (resmon_estimate){RM_NAN, RM_NAN, RM_NAN};
    }
    scope->counters = counters;
}

static void decode_counters(const struct rm_block *block, struct resmon_run *run)
{
    uint64_t count = block->header->sizes.scope_counters;
    run->counters = rm_arena_alloc(&run->strings, (size_t)count, sizeof *run->counters);
    run->counter_count = run->counters != NULL ? (size_t)count : 0;
    for (size_t i = 0; i < run->counter_count; i++) {
        const struct rm_counter_record *record = rm_scope_counter_at(block, i);
        resmon_run_counter *counter = &run->counters[i];
        counter->name = rm_arena_keep(&run->strings, record->name, sizeof record->name);
        counter->unit = rm_arena_keep(&run->strings, record->unit, sizeof record->unit);
        counter->reason = rm_arena_keep(&run->strings, record->reason, sizeof record->reason);
        counter->status = record->status;
    }
}

/* Adds the open instances, each with its time until now. If several were open, only their sum is
 * known. */
static void add_open(resmon_run_scope *scope)
{
    scope->calls += scope->open;
    scope->wall_ns += scope->open_ns;
    if (scope->open == 1) {
        scope->wall_max_ns = fmax(scope->wall_max_ns, scope->open_ns);
    }
}

static void fill_scope(const struct merger *m, struct resmon_run *run, resmon_run_scope *scope,
                       const struct path *path, double ns_per_tick)
{
    int has_calls = path->wall.sums.calls > 0;
    rm_record_clear(RM_RECORD_scope, scope);
    scope->name = rm_arena_keep(&run->strings, path->site->name, RM_SITE_NAME_BYTES);
    scope->file = rm_arena_keep(&run->strings, path->site->file, RM_SITE_FILE_BYTES);
    scope->function = rm_arena_keep(&run->strings, path->site->function, RM_SITE_FUNCTION_BYTES);
    scope->line = path->site->line;
    scope->threads = path->meters.threads;
    scope->calls = path->wall.sums.calls;
    scope->folded = path->meters.folded;
    scope->open = path->open;
    scope->ended_at_exit = path->ended_at_exit;
    scope->failed = path->meters.failed;
    scope->wall_ns = (double)path->wall.sums.total * ns_per_tick;
    scope->wall_min_ns = has_calls ? (double)path->wall.min * ns_per_tick : RM_NAN;
    scope->wall_max_ns = has_calls ? (double)path->wall.max * ns_per_tick : RM_NAN;
    scope->wall_stddev_ns = sqrt(rm_scope_wall_variance(&path->wall)) * ns_per_tick;
    scope->open_ns = (double)path->open_ticks * ns_per_tick;
    scope->concurrent_ns = (double)path->beside_ticks * ns_per_tick;
    fill_meters(scope, path);
    bool is_task = path->task_calls > 0 && path->task_calls == path->wall.sums.calls + path->open;
    scope->energy_j = is_task ? RM_NAN : path->energy.joules;
    scope->energy_uncertainty_j = is_task ? RM_NAN : path->energy.doubt;
    fill_counts(m->block, run, scope, path);
    add_open(scope);
    scope->resumed = path->meters.resumed < scope->calls ? path->meters.resumed : scope->calls;
    scope->calls -= scope->resumed;
    scope->self_ns = scope->wall_ns - (double)path->meters.away * ns_per_tick;
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

/* Lists paths in preorder. The time of each scope is subtracted from its parent's self time, except
 * the time that ran beside the parent. */
static void list_paths(struct merger *m, struct resmon_run *run, double ns_per_tick)
{
    resmon_run_scope *scopes = rm_arena_alloc(&run->strings, m->path_count, sizeof *scopes);
    if (scopes == NULL) {
        return;
    }
    run->scopes = scopes;
    m->paths[0].listed = -1;
    for (uint32_t at = m->paths[0].first_child; at != 0; at = next_path(m, at)) {
        resmon_run_scope *scope = &scopes[run->scope_count];
        fill_scope(m, run, scope, &m->paths[at], ns_per_tick);
        scope->parent = m->paths[m->paths[at].parent].listed;
        scope->concurrent_ns = scope->parent >= 0 ? scope->concurrent_ns : 0.0;
        if (scope->parent >= 0) {
            resmon_run_scope *parent = &scopes[scope->parent];
            scope->depth = parent->depth + 1;
            parent->self_ns -= fmax(scope->wall_ns - scope->concurrent_ns, 0.0);
        }
        m->paths[at].listed = (int64_t)run->scope_count++;
    }
    for (size_t i = run->scope_count; i-- > 0;) {
        resmon_run_scope *parent = scopes[i].parent >= 0 ? &scopes[scopes[i].parent] : NULL;
        if (parent != NULL && parent->rss_calls > 0 && scopes[i].concurrent_ns == 0.0) {
            parent->rss_peak_bytes = fmax(parent->rss_peak_bytes, scopes[i].rss_peak_bytes);
        }
        /* The children's time may exceed the scope's time if scopes stayed open, or because of
         * other threads' clocks. */
        scopes[i].self_ns = fmax(scopes[i].self_ns, 0.0);
    }
}

/* The cost of the scopes themselves. */
static double cost_ticks_of(const struct merger *m)
{
    uint64_t ticks = 0;
    for (uint32_t i = 1; i < m->path_count; i++) {
        const struct path *path = &m->paths[i];
        ticks += (path->wall.sums.calls + path->meters.folded) * m->block->header->scope_cost_ticks;
        ticks += path->meters.cost_ticks + path->counts.cost_ticks + path->tallies.cost_ticks;
    }
    return (double)ticks;
}

void rm_run_decode_scopes(const struct rm_block *block, const struct rm_decode *how,
                          double ns_per_tick, struct resmon_run *run)
{
    const struct rm_block_header *header = block->header;
    uint32_t nodes = (uint32_t)header->sizes.nodes;
    uint64_t used = RM_LOAD_ACQUIRE(&header->node_count);
    struct merger m = {.block = block, .node_count = used < nodes ? (uint32_t)used : nodes};
    m.has_sums = header->sizes.scope_tallies != 0 || header->sizes.scope_counters != 0;
    if (header->has_scopes == 0 || m.node_count == 0) {
        return;
    }
    if (RM_LOAD_ACQUIRE(&header->energy_divisions) < 2) { /* the first marks the beginning */
        m.none = (struct rm_scope_energy){RM_NAN, RM_NAN};
    }
    m.path_room = m.node_count + 1;
    m.paths = rm_arena_alloc(&run->working, m.path_room, sizeof *m.paths);
    m.path_of_node = rm_arena_alloc(&run->working, m.node_count, sizeof *m.path_of_node);
    m.tasks = rm_arena_alloc(&run->working, m.path_room, sizeof *m.tasks);
    m.slot_count = slots_for(m.path_room);
    m.slots = rm_arena_alloc(&run->working, m.slot_count, sizeof *m.slots);
    if (m.paths == NULL || m.path_of_node == NULL || m.tasks == NULL || m.slots == NULL) {
        return;
    }
    m.path_count = 1;
    merge_threads(&m, how);
    list_paths(&m, run, ns_per_tick);
    decode_counters(block, run);
    run->info.scopes_ns = cost_ticks_of(&m) * ns_per_tick;
}

size_t rm_run_scopes_working(uint64_t nodes)
{
    size_t each = sizeof(struct path) + sizeof(uint32_t) + sizeof(struct open_tasks[2]);
    return (nodes + 1) * each + slots_for(nodes + 1) * sizeof(uint32_t) +
           (size_t)5 * RM_ARENA_SLACK;
}

size_t rm_run_scopes_result(uint64_t nodes)
{
    size_t texts = RM_SITE_NAME_BYTES + RM_SITE_FILE_BYTES + RM_SITE_FUNCTION_BYTES;
    size_t counter =
        sizeof(struct rm_counter_record) + sizeof(resmon_run_counter) + (size_t)4 * RM_ARENA_SLACK;
    size_t counters = RM_SCOPE_COUNTERS * sizeof(resmon_estimate);
    return RM_SCOPE_COUNTERS * counter +
           (nodes + 1) * (sizeof(resmon_run_scope) + texts + counters + (size_t)5 * RM_ARENA_SLACK);
}

/* SPDX-License-Identifier: MIT */
#include "run/scope_sums.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/status.h"
#include "run/energy.h"

/* ---- sums of scopes --------------------------------------------------------------------- */

/* A meter whose values are summed, inner scopes included: the members of a scope that hold how
 * often it was read and the provenance of its values. */
struct facet {
    size_t calls, provenance;
};

#define FACET(meter)                                                                              \
    {                                                                                             \
        offsetof(resmon_run_scope, meter##_calls), offsetof(resmon_run_scope, meter##_provenance) \
    }

static const struct facet facets[] = {
#define RM_METER(token, name, extent) FACET(name),
#include "store/scope_meters.def"
    FACET(counter),
};

_Static_assert(RM_ARRAY_LEN(facets) == RM_SCOPE_FACETS, "a row for each");

/* ---- members ---------------------------------------------------------------------------- */

static uint64_t calls_of(const resmon_run_scope *scope, const struct facet *facet)
{
    uint64_t calls;
    memcpy(&calls, (const char *)scope + facet->calls, sizeof calls);
    return calls;
}

static int32_t provenance_of(const resmon_run_scope *scope, const struct facet *facet)
{
    int32_t provenance;
    memcpy(&provenance, (const char *)scope + facet->provenance, sizeof provenance);
    return provenance;
}

static void set_calls(resmon_run_scope *scope, const struct facet *facet, uint64_t calls)
{
    memcpy((char *)scope + facet->calls, &calls, sizeof calls);
}

static void set_provenance(resmon_run_scope *scope, const struct facet *facet, int32_t provenance)
{
    memcpy((char *)scope + facet->provenance, &provenance, sizeof provenance);
}

/* Whether the member is a value of the meter. */
static bool has_member(const struct facet *facet, const struct rm_member *member)
{
    return member->type == RM_TYPE_ESTIMATE && member->when == facet->calls;
}

/* ---- sums ------------------------------------------------------------------------------- */

static void add_known(double *sum, double value)
{
    if (!isnan(value)) {
        *sum = isnan(*sum) ? value : *sum + value;
    }
}

/* Adds an estimate; NaN adds nothing. The ends of intervals are added, too: the truth is in the sum
 * interval with at least the same certainty. */
static void estimate_add(resmon_estimate *sum, const resmon_estimate *estimate)
{
    if (isnan(sum->value)) {
        *sum = *estimate;
    } else if (!isnan(estimate->value)) {
        sum->value += estimate->value;
        sum->low += estimate->low;
        sum->high += estimate->high;
    }
}

static int32_t worse_of(int32_t provenance, int32_t other)
{
    bool is_better = provenance == RESMON_PROVENANCE_NONE ||
                     (provenance == RESMON_PROVENANCE_MEASURED && other != RESMON_PROVENANCE_NONE);
    return is_better ? other : provenance;
}

/* All values of a meter. */
static void add_figures(resmon_run_scope *sum, const resmon_run_scope *scope,
                        const struct facet *facet)
{
    const struct rm_record record = rm_record_of(RM_RECORD_scope);
    for (size_t i = 0; i < record.count; i++) {
        const struct rm_member *member = &record.members[i];
        if (has_member(facet, member)) {
            resmon_estimate both[2];
            memcpy(&both[0], (char *)sum + member->offset, sizeof both[0]);
            memcpy(&both[1], (const char *)scope + member->offset, sizeof both[1]);
            estimate_add(&both[0], &both[1]);
            memcpy((char *)sum + member->offset, &both[0], sizeof both[0]);
        }
    }
}

/* Adds the inclusive time and meters of a scope; not the counters, of which each run has its own
 * list. */
static void scope_sum_inclusive(resmon_run_scope *sum, const resmon_run_scope *scope)
{
    sum->wall_ns += scope->wall_ns;
    sum->open_ns += scope->open_ns;
    sum->concurrent_ns += scope->concurrent_ns;
    sum->counter_running = fmin(sum->counter_running, scope->counter_running);
    for (size_t f = 0; f < RM_SCOPE_FACETS; f++) {
        const struct facet *facet = &facets[f];
        set_calls(sum, facet, calls_of(sum, facet) + calls_of(scope, facet));
        set_provenance(sum, facet,
                       worse_of(provenance_of(sum, facet), provenance_of(scope, facet)));
        add_figures(sum, scope, facet);
    }
}

/* Adds the energy of a scope. */
static void scope_sum_energy(resmon_run_scope *sum, const resmon_run_scope *scope)
{
    add_known(&sum->energy_j, scope->energy_j);
    add_known(&sum->energy_uncertainty_j, scope->energy_uncertainty_j);
}

/* Adds the exclusive values of a scope: calls, self time; and its peak of memory. */
static void scope_sum_own(resmon_run_scope *sum, const resmon_run_scope *scope)
{
    sum->calls += scope->calls;
    sum->folded += scope->folded;
    sum->resumed += scope->resumed;
    sum->open += scope->open;
    sum->ended_at_exit += scope->ended_at_exit;
    sum->failed += scope->failed;
    sum->threads = sum->threads > scope->threads ? sum->threads : scope->threads;
    sum->self_ns += scope->self_ns;
    sum->wall_min_ns = fmin(sum->wall_min_ns, scope->wall_min_ns);
    sum->wall_max_ns = fmax(sum->wall_max_ns, scope->wall_max_ns);
    sum->rss_calls += scope->rss_calls;
    sum->rss_peak_bytes = fmax(sum->rss_peak_bytes, scope->rss_peak_bytes);
    sum->rss_provenance = worse_of(sum->rss_provenance, scope->rss_provenance);
}

/* An empty sum with the name and source line of `first`. */
static resmon_run_scope scope_sum_begin(const resmon_run_scope *first)
{
    resmon_run_scope sum = {0};
    rm_record_clear(RM_RECORD_scope, &sum);
    sum.name = first->name;
    sum.file = first->file;
    sum.function = first->function;
    sum.line = first->line;
    sum.parent = -1;
    sum.wall_ns = sum.self_ns = sum.open_ns = sum.concurrent_ns = 0.0;
    sum.wall_stddev_ns = first->wall_stddev_ns;
    return sum;
}

/* ---- by name ---------------------------------------------------------------------------- */

/* Wall time of the paths at which each meter was read. */
struct metered {
    double wall_ns[RM_SCOPE_FACETS];
};

struct summing {
    struct resmon_run *run;
    struct rm_intern names;
    uint32_t *name_of; /* by scope */
    struct metered *metered;
    resmon_estimate *counters; /* of each name, as many as the run has */
};

/* ---- one more path ---------------------------------------------------------------------- */

static void add_counters(const struct summing *summing, uint32_t name,
                         const resmon_run_scope *scope)
{
    const size_t count = summing->run->counter_count;
    for (size_t i = 0; i < count && scope->counters != NULL; i++) {
        estimate_add(&summing->counters[name * count + i], &scope->counters[i]);
    }
}

static void add_inclusive(const struct summing *summing, uint32_t name,
                          const resmon_run_scope *scope)
{
    scope_sum_inclusive(&summing->run->names[name], scope);
    for (size_t f = 0; f < RM_SCOPE_FACETS; f++) {
        bool is_metered = calls_of(scope, &facets[f]) > 0;
        summing->metered[name].wall_ns[f] += is_metered ? scope->wall_ns : 0.0;
    }
    add_counters(summing, name, scope);
}

/* The scope ran beside its parent for most of its time. */
static bool is_beside(const resmon_run_scope *scope)
{
    return scope->concurrent_ns > 0.5 * scope->wall_ns;
}

/* A scope that runs beside another is included in its energy only. */
static bool is_inside_its_own(const struct summing *summing, size_t index, bool is_of_energy)
{
    const resmon_run_scope *scopes = summing->run->scopes;
    int64_t inner = (int64_t)index;
    int64_t outer = scopes[index].parent;
    while (outer >= 0 && (is_of_energy || !is_beside(&scopes[inner]))) {
        if (summing->name_of[outer] == summing->name_of[index]) {
            return true;
        }
        inner = outer;
        outer = scopes[outer].parent;
    }
    return false;
}

/* ---- a name ----------------------------------------------------------------------------- */

/* Of paths at which the meter was never read, no upper bound is known. */
static void scale_estimate(resmon_estimate *estimate, double factor)
{
    estimate->value *= factor;
    estimate->high = RM_NAN;
}

static void scale_figures(resmon_run_scope *sum, const struct facet *facet, double factor)
{
    const struct rm_record record = rm_record_of(RM_RECORD_scope);
    for (size_t i = 0; i < record.count; i++) {
        const struct rm_member *member = &record.members[i];
        if (has_member(facet, member)) {
            resmon_estimate figure;
            memcpy(&figure, (char *)sum + member->offset, sizeof figure);
            scale_estimate(&figure, factor);
            memcpy((char *)sum + member->offset, &figure, sizeof figure);
        }
    }
}

/* Scales the values of the metered paths up to all paths. */
static void scale(const struct summing *summing, size_t name)
{
    resmon_run_scope *sum = &summing->run->names[name];
    const size_t count = summing->run->counter_count;
    for (size_t f = 0; f < RM_SCOPE_FACETS; f++) {
        double metered_ns = summing->metered[name].wall_ns[f];
        if (metered_ns <= 0.0 || metered_ns >= sum->wall_ns) {
            continue;
        }
        set_provenance(sum, &facets[f], RESMON_PROVENANCE_SAMPLED);
        scale_figures(sum, &facets[f], sum->wall_ns / metered_ns);
        for (size_t i = 0; i < count && f == RM_SCOPE_FACET_COUNTERS; i++) {
            scale_estimate(&summing->counters[name * count + i], sum->wall_ns / metered_ns);
        }
    }
}

/* ---- together --------------------------------------------------------------------------- */

static int compare_sums(const void *left, const void *right)
{
    const resmon_run_scope *a = left, *b = right;
    double one = fmax(a->self_ns, -1.0), other = fmax(b->self_ns, -1.0); /* NaN: at the end */
    int order = (one < other) - (one > other);
    return order != 0 ? order : strcmp(a->name, b->name);
}

static void sum_up(struct summing *summing)
{
    struct resmon_run *run = summing->run;
    for (size_t i = 0; i < run->scope_count; i++) {
        const resmon_run_scope *scope = &run->scopes[i];
        uint32_t name = summing->name_of[i];
        if (name == run->name_count) {
            run->names[run->name_count++] = scope_sum_begin(scope);
        } else {
            run->names[name].wall_stddev_ns = RM_NAN;
        }
        scope_sum_own(&run->names[name], scope);
        if (!is_inside_its_own(summing, i, false)) {
            add_inclusive(summing, name, scope);
        }
        if (!is_inside_its_own(summing, i, true)) {
            scope_sum_energy(&run->names[name], scope);
        }
    }
    for (size_t i = 0; i < run->name_count; i++) {
        scale(summing, i);
        run->names[i].counters =
            run->names[i].counter_calls > 0 ? &summing->counters[i * run->counter_count] : NULL;
    }
    rm_run_price_scopes(run, run->names, run->name_count);
    qsort(run->names, run->name_count, sizeof *run->names, compare_sums);
}

resmon_status rm_scope_names_sum(struct resmon_run *run)
{
    struct summing summing = {.run = run};
    rm_run_price_scopes(run, run->scopes, run->scope_count);
    if (run->scope_count == 0) {
        return RESMON_OK;
    }
    summing.name_of = rm_alloc(run->scope_count, sizeof *summing.name_of);
    for (size_t i = 0; i < run->scope_count && summing.name_of != NULL; i++) {
        summing.name_of[i] = rm_intern_text(&summing.names, run->scopes[i].name);
    }
    uint32_t names = summing.names.count;
    summing.metered = rm_alloc(names, sizeof *summing.metered);
    run->names = rm_arena_alloc(&run->strings, names, sizeof *run->names);
    summing.counters =
        rm_arena_alloc(&run->strings, names, run->counter_count * sizeof *summing.counters);
    bool is_whole = summing.name_of != NULL && !summing.names.is_broken &&
                    summing.metered != NULL && run->names != NULL && summing.counters != NULL;
    for (size_t i = 0; i < names * run->counter_count && is_whole; i++) {
        summing.counters[i] = (resmon_estimate){RM_NAN, RM_NAN, RM_NAN};
    }
    if (is_whole) {
        sum_up(&summing);
    }
    rm_intern_free(&summing.names);
    rm_free(summing.name_of);
    rm_free(summing.metered);
    return is_whole ? RESMON_OK : rm_error(RESMON_ENOMEM, "out of memory for scopes by name");
}

/* ---- by path, of several runs: adding --------------------------------------------------- */

static bool make_room(struct rm_run_paths *paths)
{
    struct rm_run_path *all = rm_grow(paths->paths, paths->count, &paths->room, sizeof *all);
    paths->paths = all != NULL ? all : paths->paths;
    return all != NULL;
}

static bool begin(struct rm_run_paths *paths, size_t scopes)
{
    if (paths->count == 0 && make_room(paths)) {
        paths->paths[paths->count++] = (struct rm_run_path){.index = -1};
    }
    if (scopes > paths->path_of_room) {
        uint32_t *path_of = rm_realloc(paths->path_of, scopes, sizeof *path_of);
        paths->path_of = path_of != NULL ? path_of : paths->path_of;
        paths->path_of_room = path_of != NULL ? scopes : paths->path_of_room;
    }
    return paths->count > 0 && scopes <= paths->path_of_room;
}

static void own_names(struct rm_arena *strings, resmon_run_scope *scope)
{
    scope->name = rm_arena_keep(strings, scope->name, SIZE_MAX);
    scope->file = rm_arena_keep(strings, scope->file, SIZE_MAX);
    scope->function = rm_arena_keep(strings, scope->function, SIZE_MAX);
}

static uint64_t hash_of(uint32_t parent, const char *name)
{
    return rm_hash_u64(rm_hash_bytes(RM_HASH_START, name, strlen(name)), parent);
}

/* Returns 0 if there is no memory. */
static uint32_t new_path(struct rm_run_paths *paths, uint32_t parent, const resmon_run_scope *scope)
{
    struct rm_run_path fresh = {
        .sum = scope_sum_begin(scope), .parent = parent, .order = INT64_MAX};
    if (!make_room(paths) || !rm_map_reserve(&paths->map, paths->count + 1)) {
        return 0;
    }
    own_names(&paths->strings, &fresh.sum);
    uint32_t at = (uint32_t)paths->count++;
    fresh.sum.depth = scope->depth;
    fresh.sum.wall_stddev_ns = RM_NAN;
    paths->paths[at] = fresh;
    rm_map_add(&paths->map, hash_of(parent, fresh.sum.name), at);
    return at;
}

static uint32_t path_below(struct rm_run_paths *paths, uint32_t parent,
                           const resmon_run_scope *scope)
{
    struct rm_map_search search = {.hash = hash_of(parent, scope->name)};
    for (uint32_t at; rm_map_next(&paths->map, &search, &at);) {
        const struct rm_run_path *path = &paths->paths[at];
        if (path->parent == parent && strcmp(path->sum.name, scope->name) == 0) {
            return at;
        }
    }
    return new_path(paths, parent, scope);
}

/* Combines the variances of two groups of finished calls: T. F. Chan, G. H. Golub, R. J. LeVeque:
 * Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979. */
static void add_spread(struct rm_run_path *path, const resmon_run_scope *scope)
{
    const resmon_run_scope *sum = &path->sum;
    double before = (double)rm_scope_ended(sum), more = (double)rm_scope_ended(scope);
    if (more > 0.0) {
        double own =
            more > 1.0 ? scope->wall_stddev_ns * scope->wall_stddev_ns * (more - 1.0) : 0.0;
        double apart = before > 0.0 ? (scope->wall_ns - scope->open_ns) / more -
                                          (sum->wall_ns - sum->open_ns) / before
                                    : 0.0;
        path->squares += own + apart * apart * before * more / (before + more);
    }
}

static void add_scope(struct rm_run_path *path, const resmon_run_scope *scope)
{
    uint64_t threads = path->sum.threads + scope->threads; /* distinct in each process */
    add_spread(path, scope);
    scope_sum_own(&path->sum, scope);
    scope_sum_inclusive(&path->sum, scope);
    scope_sum_energy(&path->sum, scope);
    path->sum.threads = threads;
}

static void take_place(struct rm_run_path *path, int64_t order, size_t position)
{
    if (order < path->order || (order == path->order && position < path->position)) {
        path->order = order;
        path->position = position;
    }
}

bool rm_run_paths_add(struct rm_run_paths *paths, const struct resmon_run *run, int64_t order)
{
    if (!begin(paths, run->scope_count)) {
        return false;
    }
    for (size_t i = 0; i < run->scope_count; i++) {
        const resmon_run_scope *scope = &run->scopes[i];
        uint32_t parent = scope->parent >= 0 ? paths->path_of[scope->parent] : 0;
        paths->path_of[i] = path_below(paths, parent, scope);
        if (paths->path_of[i] == 0) {
            return false;
        }
        add_scope(&paths->paths[paths->path_of[i]], scope);
        take_place(&paths->paths[paths->path_of[i]], order, i);
    }
    return !paths->strings.is_broken;
}

/* ---- by path: the result ---------------------------------------------------------------- */

/* Counters are not summed: each run has its own counters. */
static void put_scope(struct resmon_run *run, struct rm_run_path *path, int64_t parent)
{
    resmon_run_scope *scope = &run->scopes[run->scope_count];
    *scope = path->sum;
    scope->parent = parent;
    scope->counter_calls = 0;
    scope->counters = NULL;
    if (rm_scope_ended(scope) > 1) {
        scope->wall_stddev_ns = sqrt(path->squares / (double)(rm_scope_ended(scope) - 1));
    }
    path->index = (int64_t)run->scope_count++;
    own_names(&run->strings, scope);
}

static int compare_places(const void *left, const void *right)
{
    const struct rm_run_path *const *a = left, *const *b = right;
    if ((*a)->parent != (*b)->parent) {
        return (*a)->parent < (*b)->parent ? -1 : 1;
    }
    if ((*a)->order != (*b)->order) {
        return (*a)->order < (*b)->order ? -1 : 1;
    }
    return (*a)->position != (*b)->position ? ((*a)->position < (*b)->position ? -1 : 1)
                                            : strcmp((*a)->sum.name, (*b)->sum.name);
}

/* Sorts siblings by order and position. */
static bool sort_paths(struct rm_run_paths *paths)
{
    struct rm_run_path **sorted = rm_alloc(paths->count, sizeof(struct rm_run_path *));
    if (sorted == NULL) {
        return false;
    }
    for (size_t i = 1; i < paths->count; i++) {
        sorted[i - 1] = &paths->paths[i];
    }
    qsort(sorted, paths->count - 1, sizeof(struct rm_run_path *), compare_places);
    for (size_t i = 0; i < paths->count; i++) {
        paths->paths[i].first = paths->paths[i].next = 0;
    }
    for (size_t i = paths->count - 1; i > 0; i--) {
        struct rm_run_path *path = sorted[i - 1], *above = &paths->paths[path->parent];
        path->next = above->first;
        above->first = (uint32_t)(path - paths->paths);
    }
    rm_free(sorted);
    return true;
}

/* The next path in preorder; 0 past the end. */
static uint32_t path_after(const struct rm_run_paths *paths, uint32_t at)
{
    if (paths->paths[at].first != 0) {
        return paths->paths[at].first;
    }
    while (at != 0 && paths->paths[at].next == 0) {
        at = paths->paths[at].parent;
    }
    return paths->paths[at].next;
}

bool rm_run_paths_put(struct rm_run_paths *paths, struct resmon_run *run)
{
    run->scopes = rm_arena_alloc(&run->strings, paths->count, sizeof *run->scopes);
    if (run->scopes == NULL || (paths->count > 0 && !sort_paths(paths))) {
        return false;
    }
    for (uint32_t at = paths->count > 0 ? path_after(paths, 0) : 0; at != 0;
         at = path_after(paths, at)) {
        put_scope(run, &paths->paths[at], paths->paths[paths->paths[at].parent].index);
    }
    return !run->strings.is_broken;
}

void rm_run_paths_free(struct rm_run_paths *paths)
{
    rm_free(paths->paths);
    rm_free(paths->path_of);
    rm_map_free(&paths->map);
    rm_arena_free(&paths->strings);
    *paths = (struct rm_run_paths){0};
}

/* ---- how evenly ranks took their time --------------------------------------------------- */

static void take(resmon_scope_spread *spread, double wall_ns, size_t rank)
{
    spread->ranks++;
    spread->mean_ns += wall_ns;
    if (!(wall_ns >= spread->min_ns)) {
        spread->min_ns = wall_ns;
        spread->min_rank = (int64_t)rank;
    }
    if (!(wall_ns <= spread->max_ns)) {
        spread->max_ns = wall_ns;
        spread->max_rank = (int64_t)rank;
    }
}

resmon_scope_spread rm_run_spread(const struct resmon_run *run, size_t scope)
{
    resmon_scope_spread spread;
    rm_record_clear(RM_RECORD_spread, &spread);
    if (run->rank_walls == NULL) {
        return spread;
    }
    const double *walls = rm_run_rank_walls(run, scope);
    spread.mean_ns = 0.0;
    for (size_t i = 0; i < run->rank_count; i++) {
        if (!isnan(walls[i])) {
            take(&spread, walls[i], i);
        }
    }
    spread.mean_ns /= (double)spread.ranks; /* NaN if there are no ranks */
    if (spread.mean_ns > 0.0) {
        spread.imbalance = spread.max_ns / spread.mean_ns - 1.0;
    }
    spread.lost_ns = (double)spread.ranks * (spread.max_ns - spread.mean_ns);
    return spread;
}

#define AS_MUCH 0.9 /* fraction of the outer scope's loss */

int64_t rm_run_most_uneven(const struct resmon_run *run, double imbalance,
                           resmon_scope_spread *ret_spread)
{
    int64_t worst = -1;
    rm_record_clear(RM_RECORD_spread, ret_spread);
    for (size_t i = 0; i < run->scope_count; i++) {
        const resmon_scope_spread spread = rm_run_spread(run, i);
        bool is_inside = worst >= 0 && run->scopes[i].parent == worst;
        double least_ns = worst < 0 ? 0.0 : (is_inside ? AS_MUCH : 1.0) * ret_spread->lost_ns;
        if (spread.imbalance > imbalance && spread.lost_ns > least_ns) {
            *ret_spread = spread;
            worst = (int64_t)i;
        }
    }
    return worst;
}

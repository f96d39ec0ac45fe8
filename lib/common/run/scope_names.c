/* SPDX-License-Identifier: MIT */
#include "run/scope_names.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/intern.h"
#include "base/status.h"
#include "run/energy.h"
#include "run/record.h"
#include "run/scope_sum.h"

/* The time of the paths that each meter was taken of: it stands for the whole. */
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
        rm_estimate_add(&summing->counters[name * count + i], &scope->counters[i]);
    }
}

/* What it has with the scopes inside of it. */
static void add_inclusive(const struct summing *summing, uint32_t name,
                          const resmon_run_scope *scope)
{
    rm_scope_sum_inclusive(&summing->run->names[name], scope);
    for (size_t f = 0; f < RM_SCOPE_FACETS; f++) {
        bool is_metered = rm_scope_facet_calls(scope, f) > 0;
        summing->metered[name].wall_ns[f] += is_metered ? scope->wall_ns : 0.0;
    }
    add_counters(summing, name, scope);
}

/* Most of its time, it ran beside the scope above. */
static bool is_beside(const resmon_run_scope *scope)
{
    return scope->concurrent_ns > 0.5 * scope->wall_ns;
}

/* What runs beside a scope is in its energy, and in nothing else of it. */
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

/* Of paths on which nothing was drawn, no bound is known. */
static void scale_estimate(resmon_estimate *estimate, double factor)
{
    estimate->value *= factor;
    estimate->high = RM_NAN;
}

static void scale_figures(resmon_run_scope *sum, size_t facet, double factor)
{
    const struct rm_record record = rm_record_of(RM_RECORD_scope);
    for (size_t i = 0; i < record.count; i++) {
        const struct rm_member *member = &record.members[i];
        if (rm_scope_facet_has(facet, member)) {
            resmon_estimate figure;
            memcpy(&figure, (char *)sum + member->offset, sizeof figure);
            scale_estimate(&figure, factor);
            memcpy((char *)sum + member->offset, &figure, sizeof figure);
        }
    }
}

/* A figure of the paths that were metered stands for all. */
static void scale(const struct summing *summing, size_t name)
{
    resmon_run_scope *sum = &summing->run->names[name];
    const size_t count = summing->run->counter_count;
    for (size_t f = 0; f < RM_SCOPE_FACETS; f++) {
        double metered_ns = summing->metered[name].wall_ns[f];
        if (metered_ns <= 0.0 || metered_ns >= sum->wall_ns) {
            continue;
        }
        rm_scope_facet_set_provenance(sum, f, RESMON_PROVENANCE_SAMPLED);
        scale_figures(sum, f, sum->wall_ns / metered_ns);
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
            run->names[run->name_count++] = rm_scope_sum_begin(scope);
        } else {
            run->names[name].wall_stddev_ns = RM_NAN;
        }
        rm_scope_sum_own(&run->names[name], scope);
        if (!is_inside_its_own(summing, i, false)) {
            add_inclusive(summing, name, scope);
        }
        if (!is_inside_its_own(summing, i, true)) {
            rm_scope_sum_energy(&run->names[name], scope);
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

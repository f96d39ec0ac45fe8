/* SPDX-License-Identifier: MIT */
#include "run/scope_sum.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

/* Meters whose figures are summed, with what is inside of a scope: the members that say how often
 * one was taken, and how sure its figures are. */
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

uint64_t rm_scope_facet_calls(const resmon_run_scope *scope, size_t facet)
{
    return calls_of(scope, &facets[facet]);
}

void rm_scope_facet_set_provenance(resmon_run_scope *scope, size_t facet, int32_t provenance)
{
    set_provenance(scope, &facets[facet], provenance);
}

bool rm_scope_facet_has(size_t facet, const struct rm_member *member)
{
    return member->type == RM_TYPE_ESTIMATE && member->when == facets[facet].calls;
}

/* ---- sums ------------------------------------------------------------------------------- */

static void add_known(double *sum, double value)
{
    if (!isnan(value)) {
        *sum = isnan(*sum) ? value : *sum + value;
    }
}

/* Ends of intervals add up, too: the truth lies in there at least as surely. */
void rm_estimate_add(resmon_estimate *sum, const resmon_estimate *estimate)
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

/* All figures of a facet. */
static void add_figures(resmon_run_scope *sum, const resmon_run_scope *scope,
                        const struct facet *facet)
{
    const struct rm_record record = rm_record_of(RM_RECORD_scope);
    for (size_t i = 0; i < record.count; i++) {
        const struct rm_member *member = &record.members[i];
        if (member->type == RM_TYPE_ESTIMATE && member->when == facet->calls) {
            resmon_estimate both[2];
            memcpy(&both[0], (char *)sum + member->offset, sizeof both[0]);
            memcpy(&both[1], (const char *)scope + member->offset, sizeof both[1]);
            rm_estimate_add(&both[0], &both[1]);
            memcpy((char *)sum + member->offset, &both[0], sizeof both[0]);
        }
    }
}

void rm_scope_sum_inclusive(resmon_run_scope *sum, const resmon_run_scope *scope)
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

void rm_scope_sum_energy(resmon_run_scope *sum, const resmon_run_scope *scope)
{
    add_known(&sum->energy_j, scope->energy_j);
    add_known(&sum->energy_uncertainty_j, scope->energy_uncertainty_j);
}

void rm_scope_sum_own(resmon_run_scope *sum, const resmon_run_scope *scope)
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

resmon_run_scope rm_scope_sum_begin(const resmon_run_scope *first)
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

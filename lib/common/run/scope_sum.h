/* SPDX-License-Identifier: MIT */
/*
 * Owns sums of scopes: of several paths, or of several processes, as one.  Pure.
 */
#ifndef RM_RUN_SCOPE_SUM_H
#define RM_RUN_SCOPE_SUM_H

#include <stdbool.h>

#include "run/record.h"
#include "run/run.h"

/* Meters whose figures are summed, those of store/scope_meters.def and the counters. */
enum {
#define RM_METER(token, name, extent) RM_SCOPE_FACET_##name,
#include "store/scope_meters.def"
    RM_SCOPE_FACET_COUNTERS,
    RM_SCOPE_FACETS
};

/** How often the meter was taken. */
uint64_t rm_scope_facet_calls(const resmon_run_scope *scope, size_t facet);
void rm_scope_facet_set_provenance(resmon_run_scope *scope, size_t facet, int32_t provenance);

/** Whether the member is a figure of the meter. */
bool rm_scope_facet_has(size_t facet, const struct rm_member *member);

/** Adds an estimate; of NaN nothing. */
void rm_estimate_add(resmon_estimate *sum, const resmon_estimate *estimate);

/** A sum of nothing yet, with the name and place of `first`. */
resmon_run_scope rm_scope_sum_begin(const resmon_run_scope *first);

/** Adds what a scope has itself: calls, own time, peak of memory. */
void rm_scope_sum_own(resmon_run_scope *sum, const resmon_run_scope *scope);

/** Adds what it has with the scopes inside of it: time, meters; not the counters' figures, of which
 * each run has its own list. */
void rm_scope_sum_inclusive(resmon_run_scope *sum, const resmon_run_scope *scope);

/** Adds its energy. */
void rm_scope_sum_energy(resmon_run_scope *sum, const resmon_run_scope *scope);

#endif

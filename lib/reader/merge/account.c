/* SPDX-License-Identifier: MIT */
#include "merge/account.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "run/record.h"

/* ---- sums of records ------------------------------------------------------------------------ */

static void add_count(char *sum, const char *more)
{
    uint64_t counts[2];
    memcpy(&counts[0], sum, sizeof counts[0]);
    memcpy(&counts[1], more, sizeof counts[1]);
    counts[0] += counts[1];
    memcpy(sum, &counts[0], sizeof counts[0]);
}

static void add_number(char *sum, const char *more)
{
    double numbers[2];
    memcpy(&numbers[0], sum, sizeof numbers[0]);
    memcpy(&numbers[1], more, sizeof numbers[1]);
    if (!isnan(numbers[1])) {
        numbers[0] = isnan(numbers[0]) ? numbers[1] : numbers[0] + numbers[1];
    }
    memcpy(sum, &numbers[0], sizeof numbers[0]);
}

static void add_record(enum rm_record_name name, void *sum, const void *more)
{
    const struct rm_record record = rm_record_of(name);
    for (size_t i = 0; i < record.count; i++) {
        const struct rm_member *member = &record.members[i];
        if (member->type == RM_TYPE_COUNT) {
            add_count((char *)sum + member->offset, (const char *)more + member->offset);
        } else if (member->type == RM_TYPE_NUMBER) {
            add_number((char *)sum + member->offset, (const char *)more + member->offset);
        }
    }
}

/* ---- sources -------------------------------------------------------------------------------- */

static resmon_run_source *find_source(const struct rm_merge *merge, const char *name)
{
    for (size_t i = 0; i < merge->source_count; i++) {
        if (strcmp(merge->sources[i].name, name) == 0) {
            return &merge->sources[i];
        }
    }
    return NULL;
}

static bool new_source(struct rm_merge *merge, const resmon_run_source *from)
{
    resmon_run_source *sources =
        rm_grow(merge->sources, merge->source_count, &merge->source_room, sizeof *sources);
    if (sources == NULL) {
        return false;
    }
    merge->sources = sources;
    resmon_run_source *source = &sources[merge->source_count];
    *source = *from;
    source->name = rm_arena_text(&merge->strings, from->name, SIZE_MAX);
    source->reason = rm_arena_text(&merge->strings, from->reason, SIZE_MAX);
    merge->source_count += source->name != NULL && source->reason != NULL ? 1 : 0;
    return source->name != NULL && source->reason != NULL;
}

/* Whether a run says more of a source than those before: figures, or else the reason that comes
 * first in the alphabet, so that the order of the runs decides nothing. */
static bool is_better(const resmon_run_source *source, const resmon_run_source *other)
{
    if ((source->status == RESMON_OK) != (other->status == RESMON_OK)) {
        return source->status == RESMON_OK;
    }
    return strcmp(source->reason, other->reason) < 0;
}

static bool add_source(struct rm_merge *merge, const resmon_run_source *more)
{
    resmon_run_source *source = find_source(merge, more->name);
    if (source == NULL) {
        return new_source(merge, more);
    }
    source->reads += more->reads;
    source->failures += more->failures;
    source->cost_ns += more->cost_ns;
    source->cost_max_ns =
        source->cost_max_ns > more->cost_max_ns ? source->cost_max_ns : more->cost_max_ns;
    source->every = source->every > more->every ? source->every : more->every;
    if (more->status == RESMON_OK && source->status == RESMON_OK) {
        source->provenance =
            source->provenance > more->provenance ? source->provenance : more->provenance;
    }
    if (is_better(more, source)) {
        source->provenance = source->status == RESMON_OK ? source->provenance : more->provenance;
        source->status = more->status;
        source->reason = rm_arena_text(&merge->strings, more->reason, SIZE_MAX);
    }
    return source->reason != NULL;
}

bool rm_merge_account_add(struct rm_merge *merge, const struct resmon_run *run)
{
    bool is_added = true;
    uint64_t longest_ns = merge->info.sampler_wall_max_ns;
    add_record(RM_RECORD_overhead, &merge->info, &run->info);
    add_record(RM_RECORD_dropped, &merge->info, &run->info);
    merge->info.sampler_wall_max_ns =
        longest_ns > run->info.sampler_wall_max_ns ? longest_ns : run->info.sampler_wall_max_ns;
    merge->info.samples += run->info.samples;
    if (rm_run_has_usage(run)) {
        double peak = fmax(merge->usage.rss_peak_bytes, run->usage.rss_peak_bytes);
        add_record(RM_RECORD_usage, &merge->usage, &run->usage);
        merge->usage.rss_peak_bytes = peak;
        merge->usage.wall_s = RM_NAN; /* they ran beside each other */
        merge->usages += run->rank_count > 0 ? run->rank_count : 1;
    }
    for (size_t i = 0; i < run->source_count && is_added; i++) {
        is_added = add_source(merge, &run->sources[i]);
    }
    return is_added;
}

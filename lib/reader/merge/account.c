/* SPDX-License-Identifier: MIT */
#include "merge/steps.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
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
    resmon_run_source *source =
        rm_append(&merge->sources, &merge->source_count, &merge->source_room, sizeof *source);
    if (source == NULL) {
        return false;
    }
    *source = *from;
    source->name = rm_merge_keep(merge, from->name);
    source->reason = rm_merge_keep(merge, from->reason);
    return true;
}

/* Whether a source is better than another: it has values, or else the reason that comes first in
 * the alphabet, so that the result does not depend on the order of the runs. */
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
        source->reason = rm_merge_keep(merge, more->reason);
    }
    return true;
}

/* Adds the counters, the usage and the sources of a run.  False: no memory. */
static bool add_accounts(struct rm_merge *merge, const struct resmon_run *run)
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
        merge->usage.wall_s = RM_NAN; /* the processes ran at the same time */
        merge->usages += run->rank_count > 0 ? run->rank_count : 1;
    }
    for (size_t i = 0; i < run->source_count && is_added; i++) {
        is_added = add_source(merge, &run->sources[i]);
    }
    return is_added;
}

/* ---- one job -------------------------------------------------------------------------------- */

/* The facts that identify a job; a restarted job is another one. */
static const char *const identity[] = {"system", "cluster", "id", "restarts"};

static const char *job_fact(const struct rm_merge *merge, const char *key)
{
    for (size_t i = 0; i < merge->lowest.facts.count; i++) {
        const struct rm_fact *fact = &merge->lowest.facts.at[i];
        if (strcmp(fact->group, "job") == 0 && strcmp(fact->key, key) == 0) {
            return fact->value;
        }
    }
    return "";
}

static const char *shown(const char *value)
{
    return value[0] != '\0' ? value : "none";
}

resmon_status rm_merge_check_job(const struct rm_merge *merge, const struct resmon_run *run)
{
    for (size_t i = 0; merge->lowest.is_there && i < RM_ARRAY_LEN(identity); i++) {
        const char *own = rm_run_fact_text(run, "job", identity[i]);
        const char *others = job_fact(merge, identity[i]);
        if (strcmp(own, others) != 0) {
            return rm_error(RESMON_EINVAL,
                            "it belongs to another job: %s %.64s, where the others have %.64s",
                            identity[i], shown(own), shown(others));
        }
    }
    return RESMON_OK;
}

/* ---- facts ---------------------------------------------------------------------------------- */

/* Facts of one process or node, which do not hold for the job. */
static bool is_of_one(const struct rm_fact *fact)
{
    static const struct {
        const char *group, *key;
    } facts[] = {
        {"run", "pid"},
        {"run", "observer_pid"},
        {"run", RM_FACT_OBSERVED},
        {"run", RM_FACT_OBSERVER},
        {"run", RM_FACT_CLOCK_ERROR},
        {"run", RM_FACT_END_CLOCK_ERROR},
        {"run", RM_FACT_CLOCK_STEP},
        {"job", "step"},
        {"job", "key"},
        {"job", "node_name"},
        {"job", "node_index"},
        {"job", "rank"},
        {"job", "local_rank"},
        {"job", "local_rank_count"},
        {"job", "node_cpus"},
        {"job", "node_memory_bytes"},
        {"job", "reports_host"},
        {"job", "reports_host_reason"},
        {"job", "cgroup"},
        {"settings", "record"},
        {"settings", RM_FACT_MERGED_INTERVAL},
        {"settings", RM_FACT_MERGED_COLUMNS},
        {"machine", "host_name"},
        {"machine", "boot_id"},
        {"machine", "cpus"},
        {"machine", "memory_bytes"},
        {"machine", "gpus"},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(facts); i++) {
        if (strcmp(fact->group, facts[i].group) == 0 && strcmp(fact->key, facts[i].key) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds the facts of a run, except those of one process or node: of its machine, or all others. */
static bool add_facts(struct rm_merge *merge, struct rm_merge_facts *facts,
                      const struct resmon_run *run, bool is_of_machine)
{
    for (size_t i = 0; i < run->fact_count; i++) {
        const struct rm_fact *fact = &run->facts[i];
        if ((strcmp(fact->group, "machine") == 0) != is_of_machine || is_of_one(fact)) {
            continue;
        }
        struct rm_fact *own = rm_append(&facts->at, &facts->count, &facts->room, sizeof *own);
        if (own == NULL) {
            return false;
        }
        *own = (struct rm_fact){.group = rm_merge_keep(merge, fact->group),
                                .key = rm_merge_keep(merge, fact->key),
                                .value = rm_merge_keep(merge, fact->value),
                                .kind = fact->kind};
    }
    return true;
}

/* ---- the lowest rank ------------------------------------------------------------------------ */

static bool take_tags(struct rm_merge *merge, const struct resmon_run *run, int64_t start_ns)
{
    struct rm_merge_lowest *lowest = &merge->lowest;
    lowest->tag_count = 0;
    for (size_t i = 0; i < run->tag_count && i < RM_MERGE_TAGS; i++) {
        resmon_run_tag *tag =
            rm_append(&lowest->tags, &lowest->tag_count, &lowest->tag_room, sizeof *tag);
        if (tag == NULL) {
            return false;
        }
        *tag = run->tags[i];
        tag->t_ns = start_ns + (tag->t_ns < RM_MERGE_LONGEST ? tag->t_ns : RM_MERGE_LONGEST);
        tag->label = rm_merge_keep(merge, tag->label);
    }
    return true;
}

static bool is_lower(const struct rm_merge_lowest *rank, const struct rm_merge_lowest *other)
{
    if (rank->rank != other->rank) {
        return rank->rank < other->rank;
    }
    if (rank->start_ns != other->start_ns) {
        return rank->start_ns < other->start_ns;
    }
    int by_name = strcmp(rank->node, other->node);
    return by_name != 0 ? by_name < 0 : rank->pid < other->pid;
}

static bool take_lowest(struct rm_merge *merge, const struct rm_merge_input *input)
{
    const struct resmon_run *run = input->run;
    const resmon_run_rank *rank = input->rank_count > 0 ? &input->ranks[0] : NULL;
    struct rm_merge_lowest *lowest = &merge->lowest;
    struct rm_merge_lowest next = *lowest;
    next.is_there = true;
    next.rank = rank != NULL && rank->rank >= 0 ? rank->rank : INT64_MAX;
    next.pid = rank != NULL ? rank->pid : 0;
    next.start_ns = input->start_ns + (rank != NULL ? rank->start_ns : 0);
    next.node =
        run->node_count > 0 && rank != NULL ? run->nodes[rank->node].name : rm_run_node_name(run);
    if (lowest->is_there && !is_lower(&next, lowest)) {
        return true;
    }
    next.node = rm_merge_keep(merge, next.node);
    next.label = rm_merge_keep(merge, run->info.label);
    next.facts.count = 0;
    *lowest = next;
    return add_facts(merge, &lowest->facts, run, false) && take_tags(merge, run, input->start_ns);
}

/* ---- the machine ---------------------------------------------------------------------------- */

/* Drops the facts that a run does not have, or has with another value. */
static void agree_on_machine(struct rm_merge_facts *machine, const struct resmon_run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < machine->count; i++) {
        const struct rm_fact *fact = &machine->at[i];
        const struct rm_fact *other = rm_run_fact(run, "machine", fact->key);
        if (other != NULL && strcmp(other->value, fact->value) == 0) {
            machine->at[count++] = *fact;
        }
    }
    machine->count = count;
}

bool rm_merge_take_facts(struct rm_merge *merge, const struct rm_merge_input *input)
{
    bool is_first = !merge->lowest.is_there;
    bool is_taken = take_lowest(merge, input);
    if (is_taken && is_first) {
        is_taken = add_facts(merge, &merge->machine, input->run, true);
    } else if (is_taken) {
        agree_on_machine(&merge->machine, input->run);
    }
    return is_taken && add_accounts(merge, input->run);
}

/* SPDX-License-Identifier: MIT */
#include "merge/account.h"

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

/* False: no memory. */
static bool rm_merge_account_add(struct rm_merge *merge, const struct resmon_run *run)
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

/* ---- one job -------------------------------------------------------------------------------- */

/* What tells jobs apart: a job that was started anew is another one. */
static const char *const identity[] = {"system", "cluster", "id", "restarts"};

static const char *said_of_job(const struct rm_merge *merge, const char *key)
{
    for (size_t i = 0; i < merge->speaker.fact_count; i++) {
        const struct rm_fact *fact = &merge->speaker.facts[i];
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

resmon_status rm_merge_speaker_check(const struct rm_merge *merge, const struct resmon_run *run)
{
    for (size_t i = 0; merge->speaker.is_there && i < RM_ARRAY_LEN(identity); i++) {
        const char *own = rm_run_fact_text(run, "job", identity[i]);
        const char *others = said_of_job(merge, identity[i]);
        if (strcmp(own, others) != 0) {
            return rm_error(RESMON_EINVAL,
                            "it belongs to another job: %s %.64s, where the others have %.64s",
                            identity[i], shown(own), shown(others));
        }
    }
    return RESMON_OK;
}

/* ---- facts ---------------------------------------------------------------------------------- */

/* Facts of one process or node, which nobody can say for all; key "": the whole group. */
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

/* Room for one more in a list of facts. */
static struct rm_fact *next_fact(struct rm_fact **facts, size_t count, size_t *room)
{
    struct rm_fact *larger = rm_grow(*facts, count, room, sizeof *larger);
    *facts = larger != NULL ? larger : *facts;
    return larger != NULL ? &larger[count] : NULL;
}

static bool keep_fact(struct rm_merge *merge, struct rm_fact *target, const struct rm_fact *fact)
{
    *target = (struct rm_fact){
        .group = rm_arena_text(&merge->strings, fact->group, SIZE_MAX),
        .key = rm_arena_text(&merge->strings, fact->key, SIZE_MAX),
        .value = rm_arena_text(&merge->strings, fact->value, SIZE_MAX),
        .kind = fact->kind,
    };
    return target->group != NULL && target->key != NULL && target->value != NULL;
}

static bool take_facts(struct rm_merge *merge, const struct resmon_run *run)
{
    struct rm_merge_speaker *speaker = &merge->speaker;
    speaker->fact_count = 0;
    for (size_t i = 0; i < run->fact_count; i++) {
        const struct rm_fact *fact = &run->facts[i];
        if (strcmp(fact->group, "machine") == 0 || is_of_one(fact)) {
            continue;
        }
        struct rm_fact *own = next_fact(&speaker->facts, speaker->fact_count, &speaker->fact_room);
        if (own == NULL || !keep_fact(merge, own, fact)) {
            return false;
        }
        speaker->fact_count++;
    }
    return true;
}

static bool take_tags(struct rm_merge *merge, const struct resmon_run *run, int64_t start_ns)
{
    struct rm_merge_speaker *speaker = &merge->speaker;
    speaker->tag_count = 0;
    for (size_t i = 0; i < run->tag_count && i < RM_MERGE_TAGS; i++) {
        resmon_run_tag *tags =
            rm_grow(speaker->tags, speaker->tag_count, &speaker->tag_room, sizeof *tags);
        if (tags == NULL) {
            return false;
        }
        speaker->tags = tags;
        tags[i] = run->tags[i];
        tags[i].t_ns =
            start_ns + (tags[i].t_ns < RM_MERGE_LONGEST ? tags[i].t_ns : RM_MERGE_LONGEST);
        tags[i].label = rm_arena_text(&merge->strings, run->tags[i].label, SIZE_MAX);
        if (tags[i].label == NULL) {
            return false;
        }
        speaker->tag_count++;
    }
    return true;
}

/* ---- who speaks ----------------------------------------------------------------------------- */

/* Whether a process comes before the one that spoke until now. */
static bool is_lower(const struct rm_merge_speaker *speaker, const struct rm_merge_speaker *other)
{
    if (speaker->rank != other->rank) {
        return speaker->rank < other->rank;
    }
    if (speaker->start_ns != other->start_ns) {
        return speaker->start_ns < other->start_ns;
    }
    int by_name = strcmp(speaker->node, other->node);
    return by_name != 0 ? by_name < 0 : speaker->pid < other->pid;
}

static bool take_word(struct rm_merge *merge, const struct resmon_run *run, int64_t start_ns,
                      const resmon_run_rank *rank)
{
    struct rm_merge_speaker *speaker = &merge->speaker;
    struct rm_merge_speaker next = *speaker;
    next.is_there = true;
    next.rank = rank != NULL && rank->rank >= 0 ? rank->rank : INT64_MAX;
    next.pid = rank != NULL ? rank->pid : 0;
    next.start_ns = start_ns + (rank != NULL ? rank->start_ns : 0);
    next.node =
        run->node_count > 0 && rank != NULL ? run->nodes[rank->node].name : rm_run_node_name(run);
    if (speaker->is_there && !is_lower(&next, speaker)) {
        return true;
    }
    next.node = rm_arena_text(&merge->strings, next.node, SIZE_MAX);
    next.label = rm_arena_text(&merge->strings, run->info.label, SIZE_MAX);
    *speaker = next;
    return next.node != NULL && next.label != NULL && take_facts(merge, run) &&
           take_tags(merge, run, start_ns);
}

/* ---- the machine ---------------------------------------------------------------------------- */

static bool list_machine(struct rm_merge *merge, const struct resmon_run *run)
{
    for (size_t i = 0; i < run->fact_count; i++) {
        const struct rm_fact *fact = &run->facts[i];
        if (strcmp(fact->group, "machine") == 0 && !is_of_one(fact)) {
            struct rm_fact *own =
                next_fact(&merge->machine, merge->machine_count, &merge->machine_room);
            if (own == NULL || !keep_fact(merge, own, fact)) {
                return false;
            }
            merge->machine_count++;
        }
    }
    return true;
}

/* What a run does not say, or says otherwise, is no fact of all. */
static void agree_on_machine(struct rm_merge *merge, const struct resmon_run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < merge->machine_count; i++) {
        const struct rm_fact *fact = &merge->machine[i];
        const struct rm_fact *other = rm_run_fact(run, "machine", fact->key);
        if (other != NULL && strcmp(other->value, fact->value) == 0) {
            merge->machine[count++] = *fact;
        }
    }
    merge->machine_count = count;
}

bool rm_merge_speaker_hear(struct rm_merge *merge, const struct resmon_run *run, int64_t start_ns,
                           const resmon_run_rank *rank)
{
    bool is_first = !merge->speaker.is_there;
    bool is_heard = take_word(merge, run, start_ns, rank);
    if (is_heard && is_first) {
        is_heard = list_machine(merge, run);
    } else if (is_heard) {
        agree_on_machine(merge, run);
    }
    return is_heard && rm_merge_account_add(merge, run);
}

void rm_merge_speaker_free(struct rm_merge_speaker *speaker)
{
    rm_free(speaker->facts);
    rm_free(speaker->tags);
    *speaker = (struct rm_merge_speaker){.is_there = false};
}

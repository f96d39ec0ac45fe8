/* SPDX-License-Identifier: MIT */
#include "report/missing.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "report/memory_limit.h"
#include "store/facts.h"
#include "store/stack_kind.h"

/* Why scopes have no exact peaks; NULL: they have. */
static const char *why_no_peak(const struct resmon_run *run)
{
    const char *method = rm_run_fact_text(run, "settings", "rss_peak_method");
    return strncmp(method, "cannot", 6) == 0 ? method : NULL;
}

void rm_report_missing(struct rm_buffer *buffer, const struct resmon_run *run)
{
    bool has_any = false;
    for (size_t i = 0; i < run->source_count; i++) {
        const resmon_run_source *source = &run->sources[i];
        bool is_sound = source->status == RESMON_OK && source->failures == 0;
        /* Beside its figure, or how that is reckoned. */
        bool is_told = source->provenance == RESMON_PROVENANCE_MODELLED ||
                       source->provenance == RESMON_PROVENANCE_SHARED ||
                       rm_report_is_of_limit(run, source);
        if ((is_sound && (is_told || source->reason[0] == '\0')) ||
            source->status == RESMON_ENODEV) {
            continue; /* nobody misses figures of hardware that is not there */
        }
        if (!has_any) {
            rm_buffer_puts(buffer, "\nNot measured\n");
            has_any = true;
        }
        rm_buffer_printf(buffer, "  %-14s %s", source->name, source->reason);
        if (source->failures > 0 && source->reads > source->failures) {
            rm_buffer_printf(buffer, " (%llu of %llu readings failed)",
                             (unsigned long long)source->failures,
                             (unsigned long long)source->reads);
        }
        rm_buffer_puts(buffer, "\n");
    }
    const char *why = why_no_peak(run);
    if (why != NULL) {
        rm_buffer_printf(buffer, "%s  %-14s %s; peaks are sampled\n",
                         has_any ? "" : "\nNot measured\n", "exact peak RSS", why);
    }
}

/* ---- what was asked for ----------------------------------------------------------------- */

static bool is_stack_missing(const struct resmon_run *run, size_t kind, char *text, size_t room)
{
    static const char *const names[RM_STACK_KINDS] = {
        [RESMON_STACK_CPU] = "stacks of CPU time",
        [RESMON_STACK_MEMORY] = "stacks of memory's growth",
        [RESMON_STACK_FILE] = "stacks of pages of files",
    };
    const struct rm_run_stack_kind *known = &run->profile.kinds[kind];
    bool is_missing = known->status != RESMON_OK && known->status != RESMON_ESTATE;
    if (is_missing) {
        (void)snprintf(text, room, "%s: %s", names[kind], known->reason);
    }
    return is_missing;
}

/* Sources that are looked at where they were asked for, and the tree's; what else each machine has,
 * a row of its own tells. */
static bool is_source_missing(const resmon_run_source *source, char *text, size_t room)
{
    static const struct {
        const char *source, *name;
    } wanted[] = {
        {"perf_hardware", "counters"}, {"perf_groups", "groups of counters"},
        {"perf_events", "events"},     {"perf_software", "software events"},
        {"proc_smaps", "PSS and USS"}, {"tree_smaps", "PSS and USS of children"},
        {"tree", "children"},          {"gpu", "GPUs"},
    };
    bool has_ended = source->status == RESMON_ESRCH && source->reads > source->failures;
    if (source->status == RESMON_OK || source->status == RESMON_ENODEV || has_ended) {
        return false; /* of a process that ended there is what was read before */
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(wanted); i++) {
        if (strcmp(source->name, wanted[i].source) == 0) {
            (void)snprintf(text, room, "%s: %s", wanted[i].name, source->reason);
            return true;
        }
    }
    bool is_group = strncmp(source->name, "perf_", 5) == 0;
    if (is_group) {
        (void)snprintf(text, room, "counters of %s: %s", source->name + 5, source->reason);
    }
    return is_group;
}

static const char *why_no_each(const struct resmon_run *run)
{
    return rm_run_fact_text(run, "settings", RM_FACT_NO_EACH);
}

static bool is_each_missing(const struct resmon_run *run, char *text, size_t room)
{
    const char *why = why_no_each(run);
    (void)snprintf(text, room, "rows of processes: %s", why);
    return why[0] != '\0';
}

static bool is_peak_missing(const struct resmon_run *run, char *text, size_t room)
{
    const char *why = why_no_peak(run);
    if (why != NULL) {
        (void)snprintf(text, room, "exact peaks of scopes: %s", why);
    }
    return why != NULL;
}

bool rm_report_next_missing(const struct resmon_run *run, size_t *index, char *text, size_t room)
{
    const size_t kinds = RM_STACK_KINDS;
    bool has_one = false;
    while (!has_one && *index <= kinds + 1 + run->source_count) {
        size_t at = (*index)++;
        has_one = at < kinds        ? is_stack_missing(run, at, text, room)
                  : at == kinds     ? is_peak_missing(run, text, room)
                  : at == kinds + 1 ? is_each_missing(run, text, room)
                                    : is_source_missing(&run->sources[at - kinds - 2], text, room);
    }
    return has_one;
}

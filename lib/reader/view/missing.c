/* SPDX-License-Identifier: MIT */
#include "view/missing.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "run/run.h"
#include "view/metrics.h"

#define REASON_BYTES 512

/* Why scopes have no exact peaks; NULL: they have. */
static const char *why_no_peak(const struct resmon_run *run)
{
    const char *method = rm_run_fact_text(run, "settings", "rss_peak_method");
    return strncmp(method, "cannot", 6) == 0 ? method : NULL;
}

/* ---- all ---------------------------------------------------------------------------------- */

/* Not how a figure comes about, which stands beside the figure; nor that hardware is not there. */
static bool is_remark(const struct resmon_run *run, const resmon_run_source *source)
{
    bool is_sound = source->status == RESMON_OK && source->failures == 0;
    bool is_told = source->provenance == RESMON_PROVENANCE_MODELLED ||
                   source->provenance == RESMON_PROVENANCE_SHARED ||
                   rm_metrics_are_of_limit(run, source);
    bool is_wanted = strncmp(source->name, "perf_", 5) == 0; /* counters that were asked for */
    return (source->status != RESMON_ENODEV || is_wanted) &&
           !(is_sound && (is_told || source->reason[0] == '\0'));
}

static void add_source(struct rm_page *page, struct rm_page_table *table,
                       const resmon_run_source *source)
{
    struct rm_page_cell *cells = rm_page_row(page, table);
    const char *failed = "";
    if (source->failures > 0 && source->reads > source->failures) {
        failed = rm_page_print(page, " (%s of %s readings failed)",
                               rm_page_grouped(page, source->failures),
                               rm_page_grouped(page, source->reads));
    }
    rm_page_set(&cells[0], rm_page_shown(page, source->name));
    rm_page_set(&cells[1], source->status == RESMON_OK ? "in part" : "no");
    rm_page_set(&cells[2],
                rm_page_print(page, "%s%s", rm_page_shown(page, source->reason), failed));
}

struct rm_page_table *rm_missing_table(const struct rm_subject *subject)
{
    static const char *const headers[] = {"source", "measured", "reason"};
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    struct rm_page_table *table =
        rm_page_table_new(page, "missing", "What was not measured, and why",
                          RM_HEADERS(headers, 3, 3), run->source_count + 1);
    for (size_t i = 0; i < run->source_count; i++) {
        if (is_remark(run, &run->sources[i])) {
            add_source(page, table, &run->sources[i]);
        }
    }
    if (why_no_peak(run) != NULL) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], "exact peak RSS");
        rm_page_set(&cells[1], "no");
        rm_page_set(&cells[2], rm_page_print(page, "%s; peaks are sampled",
                                             rm_page_shown(page, why_no_peak(run))));
    }
    if (table != NULL) {
        table->columns[2].is_wide = true;
    }
    return table != NULL && table->count > 0 ? table : NULL;
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

void rm_missing_say(struct rm_page *page, const struct resmon_run *run, struct rm_page_list *list)
{
    char text[REASON_BYTES];
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        if (is_stack_missing(run, kind, text, sizeof text)) {
            rm_page_say(page, list, "%s", text);
        }
    }
    if (is_peak_missing(run, text, sizeof text)) {
        rm_page_say(page, list, "%s", text);
    }
    if (is_each_missing(run, text, sizeof text)) {
        rm_page_say(page, list, "%s", text);
    }
    for (size_t i = 0; i < run->source_count; i++) {
        if (is_source_missing(&run->sources[i], text, sizeof text)) {
            rm_page_say(page, list, "%s", text);
        }
    }
}

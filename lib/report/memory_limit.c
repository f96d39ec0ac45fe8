/* SPDX-License-Identifier: MIT */
#include "report/memory_limit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "metric/view.h"

#define NEAR_PERCENT 90.0
#define CLAUSE_BYTES 512

/* Since the start of the run; 0 where it is not told. */
static double events_of(const struct resmon_run *run, uint32_t metric)
{
    const resmon_column *stats = rm_run_statistics_of(run, metric, NULL);
    return stats != NULL && stats->last > 0.0 ? stats->last : 0.0;
}

bool rm_report_is_of_limit(const struct resmon_run *run, const resmon_run_source *source)
{
    return strcmp(source->name, "cgroup_mem") == 0 && source->status == RESMON_OK &&
           source->failures == 0 && rm_run_statistics_of(run, RM_CG_MEM_LIMIT, NULL) != NULL;
}

static bool has_events(const struct resmon_run *run)
{
    struct rm_view_row row;
    bool is_any = false;
    for (size_t at = 0; !is_any && rm_view_next(RM_VIEW_SUMMARY, "limit", &at, &row);) {
        is_any = events_of(run, row.metric->id) > 0.0;
    }
    return is_any;
}

static void add_events(const struct resmon_run *run, char *text, size_t room)
{
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_SUMMARY, "limit", &at, &row);) {
        double count = events_of(run, row.metric->id);
        size_t length = strlen(text);
        if (count > 0.0) {
            char number[RM_HUMAN_BYTES];
            rm_human_count(number, count);
            (void)snprintf(text + length, room - length, "%s: %s; ", row.label, number);
        }
    }
}

static void write_group(struct rm_buffer *buffer, const struct resmon_run *run)
{
    for (size_t i = 0; i < run->source_count; i++) {
        const resmon_run_source *source = &run->sources[i];
        if (rm_report_is_of_limit(run, source) && source->reason[0] != '\0') {
            rm_buffer_printf(buffer, "  %s\n", source->reason);
        }
    }
}

bool rm_report_memory_limit_clause(const struct resmon_run *run, char *text, size_t room)
{
    const resmon_column *limit = rm_run_statistics_of(run, RM_CG_MEM_LIMIT, NULL);
    const resmon_column *percent = rm_run_statistics_of(run, RM_CG_MEM_PERCENT, NULL);
    char bytes[RM_HUMAN_BYTES], last[RM_HUMAN_BYTES], most[RM_HUMAN_BYTES];
    if (limit == NULL || percent == NULL) {
        return false;
    }
    bool is_killed =
        strcmp(run->info.state, "stopped") != 0 && strcmp(run->info.state, "running") != 0;
    if (!is_killed && !has_events(run) && !(percent->max >= NEAR_PERCENT)) {
        return false;
    }
    rm_human_bytes(bytes, limit->last);
    rm_human_percent(last, percent->last);
    rm_human_percent(most, percent->max);
    (void)snprintf(text, room, "%s; ", bytes);
    add_events(run, text, room);
    size_t length = strlen(text);
    (void)snprintf(text + length, room - length, "at most %s used, %s %s", most, last,
                   is_killed ? "at the last sample" : "at the end");
    return true;
}

void rm_report_memory_limit(struct rm_buffer *buffer, const struct resmon_run *run)
{
    char text[CLAUSE_BYTES];
    if (rm_report_memory_limit_clause(run, text, sizeof text)) {
        rm_buffer_printf(buffer, "\nmemory limit of the cgroup: %s\n", text);
        write_group(buffer, run);
    }
}

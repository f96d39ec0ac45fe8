/* SPDX-License-Identifier: MIT */
#include "compare/figures.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "metric/metric.h"
#include "run/headline.h"
#include "run/record.h"

#define RM_FIGURE(key, unit, is_counted, title, of_run_, of_scope_) \
    static double run_##key(const struct rm_run_figures *run)       \
    {                                                               \
        (void)run;                                                  \
        return of_run_;                                             \
    }                                                               \
    static double scope_##key(const resmon_run_scope *scope)        \
    {                                                               \
        (void)scope;                                                \
        return of_scope_;                                           \
    }
#include "compare/figures.def"

#define RM_FIGURE(key_, unit_, is_counted_, title_, of_run_, of_scope_) \
    {.key = #key_,                                                      \
     .unit = (unit_),                                                   \
     .title = (title_),                                                 \
     .is_counted = (is_counted_),                                       \
     .of_run = run_##key_,                                              \
     .of_scope = scope_##key_},
const struct rm_figure rm_figures[RM_FIGURE_COUNT] = {
#include "compare/figures.def"
};

enum rm_figure_id rm_figure_find(const char *key, size_t length)
{
    unsigned id = 0;
    while (id < RM_FIGURE_COUNT &&
           (strlen(rm_figures[id].key) != length || memcmp(rm_figures[id].key, key, length) != 0)) {
        id++;
    }
    return (enum rm_figure_id)id;
}

struct rm_run_figures rm_run_figures_of(const struct resmon_run *run)
{
    struct rm_run_figures figures = {.headline = rm_run_headline(run)};
    const resmon_column *instructions = rm_run_statistics_of(run, RM_PERF_INSTRUCTIONS, NULL);
    rm_record_clear(RM_RECORD_usage, &figures.usage);
    if (rm_run_has_usage(run)) {
        figures.usage = run->usage;
    }
    figures.instructions = instructions != NULL ? instructions->integral : RM_NAN;
    figures.is_peak_exact = figures.headline.rss_peak_provenance == RESMON_PROVENANCE_MEASURED;
    return figures;
}

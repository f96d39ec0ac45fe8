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

/* Growth of a counter; NaN: it was not read. */
static double growth_of(const struct resmon_run *run, uint32_t metric)
{
    const resmon_column *column = rm_run_statistics_of(run, metric, NULL);
    return column != NULL ? column->integral : RM_NAN;
}

/* The CPU time of the machine outside the process tree.  The machine counts in ticks of 10 ms. */
static double others_of(const struct resmon_run *run, double own_s)
{
    static const uint32_t busy[] = {RM_NODE_CPU_USER, RM_NODE_CPU_NICE, RM_NODE_CPU_SYSTEM,
                                    RM_NODE_CPU_IRQ, RM_NODE_CPU_SOFTIRQ};
    double sum_s = 0.0;
    for (size_t i = 0; i < RM_ARRAY_LEN(busy); i++) {
        sum_s += growth_of(run, busy[i]);
    }
    return isnan(sum_s) || isnan(own_s) ? RM_NAN : fmax(sum_s - own_s, 0.0);
}

static double mean_of(const struct resmon_run *run, uint32_t metric)
{
    const resmon_column *column = rm_run_statistics_of(run, metric, NULL);
    return column != NULL ? column->mean : RM_NAN;
}

/* If the run did not measure its own clock, the fastest CPU is most likely the CPU of a program
 * with one thread. */
static double clock_of(const struct resmon_run *run)
{
    double own_hz = mean_of(run, RM_PERF_CLOCK);
    return isnan(own_hz) ? mean_of(run, RM_NODE_CPU_FREQUENCY_MAX) : own_hz;
}

struct rm_run_figures rm_run_figures_of(const struct resmon_run *run)
{
    struct rm_run_figures figures = {.headline = rm_run_headline(run)};
    rm_record_clear(RM_RECORD_usage, &figures.usage);
    if (rm_run_has_usage(run)) {
        figures.usage = run->usage;
    }
    figures.instructions = growth_of(run, RM_PERF_INSTRUCTIONS);
    figures.others_s = others_of(run, figures.headline.cpu_s);
    figures.steal_s = growth_of(run, RM_NODE_CPU_STEAL);
    figures.throttled_s = growth_of(run, RM_CG_CPU_THROTTLED_TIME);
    figures.heat_s = growth_of(run, RM_NODE_CPU_THROTTLED_TIME);
    figures.clock_hz = clock_of(run);
    figures.cpu_wait_s = growth_of(run, RM_NODE_PSI_CPU_SOME);
    figures.io_wait_s = growth_of(run, RM_NODE_PSI_IO_FULL);
    figures.is_peak_exact = figures.headline.rss_peak_provenance == RESMON_PROVENANCE_MEASURED;
    return figures;
}

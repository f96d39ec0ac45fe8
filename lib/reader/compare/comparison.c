/* SPDX-License-Identifier: MIT */
#include "compare/comparison.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/human.h"
#include "base/status.h"
#include "base/text.h"
#include "carbon/intensity.h"
#include "metric/metric.h"
#include "run/energy.h"
#include "store/student.h"

/* A reading of a counter lacks the energy since its last update.  RAPL updates its counters each
 * ms; the load in a model is counted in ticks of 10 ms. */
#define UPDATES_S    0.001
#define TICKS_S      0.01
#define LEAST_S      0.1  /* ticks of CPU time are 10 ms long */
#define BUSY_PERCENT 10.0 /* an idle machine is less busy */

/* The work is first; messages name the sides in this order. */
struct sides {
    struct rm_run_list lists[2];
    bool is_used[RM_ENERGY_PARTS];
};

static double seconds_of(const struct resmon_run *run)
{
    return (double)run->info.duration_ns * 1e-9;
}

/* Mean power of a component over the time that its counter was watched; NaN: not known. */
static double part_watts(const struct resmon_run *run, size_t part)
{
    int64_t column = rm_run_energy_column(run, part);
    if (column < 0) {
        return RM_NAN;
    }
    const resmon_column *stats = &run->columns[column];
    bool is_known = stats->n > 0 && stats->duration_s > 0.0 && stats->last >= 0.0 &&
                    isfinite(stats->last / stats->duration_s);
    return is_known ? stats->last / stats->duration_s : RM_NAN;
}

static double run_watts(const struct sides *sides, const struct resmon_run *run)
{
    double watts = 0.0;
    for (size_t part = 0; part < RM_ENERGY_PARTS; part++) {
        watts += sides->is_used[part] ? part_watts(run, part) : 0.0;
    }
    return watts;
}

/* ---- what can be compared --------------------------------------------------------------- */

static void remark(resmon_comparison *figures, const char *format, ...) RM_PRINTF(2, 3);

static void remark(resmon_comparison *figures, const char *format, ...)
{
    char sentence[256];
    size_t length = strlen(figures->remark);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (length + strlen(sentence) + 2 < sizeof figures->remark) {
        (void)snprintf(figures->remark + length, sizeof figures->remark - length, "%s%s",
                       length > 0 ? " " : "", sentence);
    }
}

static resmon_status check_run(const struct rm_run_list *list, size_t index)
{
    const struct resmon_run *run = list->runs[index];
    char duration[RM_HUMAN_BYTES];
    if (!rm_run_has_energy(run)) {
        return rm_error(RESMON_ENOENT,
                        "%s run %zu has no energy: record it with RESMON_DOMAIN_ENERGY and "
                        "RESMON_DOMAIN_CPU",
                        list->name, index + 1);
    }
    if (!(seconds_of(run) >= LEAST_S)) {
        rm_human_seconds(duration, seconds_of(run));
        return rm_error(RESMON_ERANGE,
                        "%s run %zu lasted %s: less than 0.1 s is too short for counters with "
                        "ticks of 10 ms; repeat the work within the run",
                        list->name, index + 1, duration);
    }
    return RESMON_OK;
}

static resmon_status check_runs(const struct sides *sides)
{
    resmon_status status = RESMON_OK;
    for (size_t s = 0; s < 2 && status == RESMON_OK; s++) {
        for (size_t i = 0; i < sides->lists[s].count && status == RESMON_OK; i++) {
            status = check_run(&sides->lists[s], i);
        }
    }
    return status;
}

/* Values of a counter and of a model, or of two models, cannot be compared. */
static bool is_known_alike(const resmon_energy_part *a, const resmon_energy_part *b)
{
    bool is_model = a->provenance == RESMON_PROVENANCE_MODELLED;
    return a->provenance == b->provenance && (!is_model || strcmp(a->method, b->method) == 0);
}

/* Whether all runs know a component, with the same provenance and method.  If not, adds a remark
 * with the reason why the component is left out. */
static bool is_comparable(const struct sides *sides, size_t part, resmon_comparison *figures)
{
    const resmon_energy_part first = rm_run_energy_part(sides->lists[0].runs[0], part);
    for (size_t s = 0; s < 2; s++) {
        const struct rm_run_list *list = &sides->lists[s];
        for (size_t i = 0; i < list->count; i++) {
            const resmon_energy_part other = rm_run_energy_part(list->runs[i], part);
            if (isnan(part_watts(list->runs[i], part))) {
                remark(figures, "Left out: %s, which is unknown in %s run %zu.", first.name,
                       list->name, i + 1);
                return false;
            }
            if (!is_known_alike(&first, &other)) {
                remark(figures,
                       "Left out: %s, which %s run %zu measured in another way than the first run.",
                       first.name, list->name, i + 1);
                return false;
            }
        }
    }
    return true;
}

/* Whether any run knows a component.  A component that no run knows, such as a GPU on a machine
 * without GPUs, needs no remark. */
static bool is_known_to_any(const struct sides *sides, size_t part)
{
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < sides->lists[s].count; i++) {
            if (!isnan(part_watts(sides->lists[s].runs[i], part))) {
                return true;
            }
        }
    }
    return false;
}

static void choose_part(struct sides *sides, size_t part, struct rm_comparison *comparison)
{
    resmon_comparison *figures = &comparison->figures;
    const resmon_energy_part first = rm_run_energy_part(sides->lists[0].runs[0], part);
    size_t length = strlen(figures->components);
    bool is_modelled = first.provenance == RESMON_PROVENANCE_MODELLED;
    sides->is_used[part] = is_known_to_any(sides, part) && is_comparable(sides, part, figures);
    if (sides->is_used[part]) {
        (void)snprintf(figures->components + length, sizeof figures->components - length, "%s%s",
                       length > 0 ? "+" : "", first.name);
        figures->provenance =
            first.provenance > figures->provenance ? first.provenance : figures->provenance;
        comparison->is_load_modelled |= is_modelled && strcmp(first.name, "cpu") == 0;
    }
}

static resmon_status choose_parts(struct sides *sides, struct rm_comparison *comparison)
{
    for (size_t part = 0; part < RM_ENERGY_PARTS; part++) {
        choose_part(sides, part, comparison);
    }
    return comparison->figures.components[0] != '\0'
               ? RESMON_OK
               : rm_error(RESMON_ENOENT,
                          "nothing to compare: no component's energy is known in the same way in "
                          "all of the runs.  %s  Record all of them on one machine, with "
                          "RESMON_DOMAIN_ENERGY and RESMON_DOMAIN_CPU",
                          comparison->figures.remark);
}

/* ---- a side ----------------------------------------------------------------------------- */

struct side {
    double watts, variance, df; /* variance NaN: not known */
    double seconds;             /* mean duration of its runs */
    uint64_t stretches;
};

static void explain_no_stretches(const struct rm_run_list *list, const struct rm_stretches *found,
                                 char *why_not, size_t capacity)
{
    char seconds[RM_HUMAN_BYTES];
    rm_human_seconds(seconds, found->seconds);
    (void)snprintf(why_not, capacity,
                   "the %s run has %llu readings over %s, and at least %d over %.0f s are needed",
                   list->name, (unsigned long long)found->readings, seconds,
                   RM_STRETCHES_MIN * RM_STRETCH_POINTS + 1, RM_STRETCHES_MIN * RM_STRETCH_S);
}

/* The least variance of a mean power.  Each of the two ends of a run has an error with a uniform
 * distribution, the time since the last update.  Runs that are equal only because counters are
 * coarse must not appear certain. */
static double least_variance(const struct rm_power_spread *runs, double update_s)
{
    double joules = rm_power_mean(runs) * update_s;
    return (double)runs->n * joules * joules / 6.0 / (runs->seconds * runs->seconds);
}

static void divide(const struct sides *sides, size_t index, struct side *side,
                   struct rm_comparison *comparison)
{
    const struct rm_run_list *list = &sides->lists[index];
    const struct rm_stretches found = rm_power_divide(list->runs[0], sides->is_used);
    if (found.spread.n > 0) {
        side->stretches = found.spread.n;
        side->variance = rm_power_variance(&found.spread);
        side->df = (double)(found.spread.n - 1);
    } else if (comparison->why_not[0] == '\0') {
        explain_no_stretches(list, &found, comparison->why_not, sizeof comparison->why_not);
    }
}

static struct side measure(const struct sides *sides, size_t index,
                           struct rm_comparison *comparison)
{
    const struct rm_run_list *list = &sides->lists[index];
    struct rm_power_spread runs = {0};
    for (size_t i = 0; i < list->count; i++) {
        rm_power_add(&runs, run_watts(sides, list->runs[i]), seconds_of(list->runs[i]));
    }
    struct side side = {.watts = rm_power_mean(&runs),
                        .variance = rm_power_variance(&runs),
                        .df = (double)(list->count - 1),
                        .seconds = runs.seconds / (double)list->count};
    if (list->count == 1) {
        divide(sides, index, &side, comparison);
    }
    double least = least_variance(&runs, comparison->is_load_modelled ? TICKS_S : UPDATES_S);
    side.variance = side.variance < least ? least : side.variance;
    return side;
}

static double modelled_share(const struct sides *sides)
{
    const struct rm_run_list *work = &sides->lists[0];
    double modelled_j = 0.0, all_j = 0.0;
    for (size_t i = 0; i < work->count; i++) {
        for (size_t part = 0; part < RM_ENERGY_PARTS; part++) {
            bool is_modelled =
                rm_run_energy_part(work->runs[i], part).provenance == RESMON_PROVENANCE_MODELLED;
            double joules = sides->is_used[part]
                                ? part_watts(work->runs[i], part) * seconds_of(work->runs[i])
                                : 0.0;
            all_j += joules;
            modelled_j += is_modelled ? joules : 0.0;
        }
    }
    return all_j > 0.0 ? modelled_j / all_j : RM_NAN;
}

/* ---- the difference --------------------------------------------------------------------- */

/* Half the width of Welch's interval; NaN: there is no interval. */
static double half_width(const struct side *work, const struct side *idle, double *ret_df)
{
    double sum = work->variance + idle->variance;
    if (isnan(sum)) {
        *ret_df = RM_NAN;
        return RM_NAN;
    }
    *ret_df = sum > 0.0 ? sum * sum /
                              (work->variance * work->variance / work->df +
                               idle->variance * idle->variance / idle->df)
                        : work->df + idle->df;
    return rm_student_quantile(0.975, *ret_df) * sqrt(sum);
}

static resmon_compared times(const resmon_compared *watts, double factor)
{
    return (resmon_compared){.work = watts->work * factor,
                             .idle = watts->idle * factor,
                             .difference = watts->difference * factor,
                             .low = watts->low * factor,
                             .high = watts->high * factor};
}

static void fill(resmon_comparison *figures, const struct side *work, const struct side *idle)
{
    double half = half_width(work, idle, &figures->degrees_of_freedom);
    double difference = work->watts - idle->watts;
    double g_per_joule = figures->pue * figures->g_per_kwh / RM_JOULES_PER_KWH;
    double seconds_per_year = figures->hours_per_day * 3600.0 * figures->days_per_year;
    const resmon_compared watts = {
        .work = work->watts,
        .idle = idle->watts,
        .difference = difference,
        .low = difference - half,
        .high = difference + half,
    };
    figures->seconds = work->seconds;
    figures->work_stretches = work->stretches;
    figures->idle_stretches = idle->stretches;
    figures->is_significant = watts.low > 0.0 || watts.high < 0.0;
    figures->power_w = watts;
    figures->energy_j = times(&watts, work->seconds);
    figures->gco2eq = times(&watts, work->seconds * g_per_joule);
    figures->kgco2eq_year = times(&watts, g_per_joule * 1e-3 * seconds_per_year);
}

/* ---- remarks ---------------------------------------------------------------------------- */

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void remark_on_places(const struct sides *sides, resmon_comparison *figures)
{
    const struct resmon_run *first = sides->lists[0].runs[0];
    bool is_elsewhere = false, is_other_host = false;
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < sides->lists[s].count; i++) {
            const struct resmon_run *run = sides->lists[s].runs[i];
            const resmon_energy energy = rm_run_energy(run);
            is_elsewhere |= !is_same(energy.g_per_kwh, figures->g_per_kwh) ||
                            !is_same(energy.pue, figures->pue);
            is_other_host |= strcmp(rm_run_fact_text(run, "machine", "host_name"),
                                    rm_run_fact_text(first, "machine", "host_name")) != 0;
        }
    }
    if (is_elsewhere) {
        remark(figures, "Not all runs have the carbon intensity and PUE of the first work run, "
                        "which are used here for all.");
    }
    if (is_other_host) {
        remark(figures,
               "Not all runs have the same host name: only runs of one machine can be compared.");
    }
}

static void remark_on_load(const struct rm_run_list *idle, resmon_comparison *figures)
{
    double busy = 0.0, seconds = 0.0;
    char text[RM_HUMAN_BYTES];
    for (size_t i = 0; i < idle->count; i++) {
        const resmon_column *cpu = rm_run_statistics_of(idle->runs[i], RM_NODE_CPU_PERCENT, NULL);
        double mean = cpu != NULL ? cpu->mean : RM_NAN;
        busy += isfinite(mean) ? mean * seconds_of(idle->runs[i]) : 0.0;
        seconds += isfinite(mean) ? seconds_of(idle->runs[i]) : 0.0;
    }
    if (seconds > 0.0 && busy / seconds > BUSY_PERCENT) {
        rm_human_fixed(text, busy / seconds, 0);
        remark(
            figures,
            "The machine was not quiet: its CPUs were %s %% busy while it should have been idle.",
            text);
    }
}

resmon_status rm_compare_runs(const struct rm_run_list *work, const struct rm_run_list *idle,
                              const resmon_comparison_options *options,
                              struct rm_comparison *ret_comparison)
{
    struct rm_comparison comparison = {.why_not = ""};
    resmon_comparison *figures = &comparison.figures;
    struct sides sides = {.lists = {*work, *idle}};
    resmon_status status = check_runs(&sides);
    if (status == RESMON_OK) {
        status = choose_parts(&sides, &comparison);
    }
    if (status != RESMON_OK) {
        return status;
    }
    const resmon_energy energy = rm_run_energy(work->runs[0]);
    figures->hours_per_day = options->hours_per_day;
    figures->days_per_year = options->days_per_year;
    figures->g_per_kwh = energy.g_per_kwh;
    figures->pue = energy.pue;
    figures->work_runs = work->count;
    figures->idle_runs = idle->count;
    figures->modelled_share = modelled_share(&sides);
    (void)rm_text_set(figures->place, sizeof figures->place, energy.place);
    const struct side work_side = measure(&sides, 0, &comparison);
    const struct side idle_side = measure(&sides, 1, &comparison);
    fill(figures, &work_side, &idle_side);
    remark_on_places(&sides, figures);
    remark_on_load(idle, figures);
    *ret_comparison = comparison;
    return RESMON_OK;
}

/* SPDX-License-Identifier: MIT */
#include "run/energy.h"

#include <math.h>
#include <string.h>

#include "carbon/intensity.h"
#include "metric/metric.h"

/* ---- energy ----------------------------------------------------------------------------- */

static const struct part {
    const char *name, *source;
    enum rm_metric_id node, tree;
} parts[RM_ENERGY_PARTS] = {
    {"cpu", "energy_cpu", RM_NODE_ENERGY_CPU, RM_TREE_ENERGY_CPU},
    {"ram", "energy_ram", RM_NODE_ENERGY_RAM, RM_TREE_ENERGY_RAM},
    {"gpu", "energy_gpu", RM_NODE_ENERGY_GPU, RM_TREE_ENERGY_GPU},
};

static int32_t whole_of(const struct resmon_run *run, const char *key)
{
    double number = rm_run_fact_number(run, "energy", key);
    return number >= 0.0 && number < 1e6 ? (int32_t)number : 0;
}

bool rm_run_has_energy(const struct resmon_run *run)
{
    return rm_run_fact(run, "energy", "g_per_kwh") != NULL;
}

const char *rm_run_energy_lack(const struct resmon_run *run)
{
    /* Documents of builds that had energy left out have a source of this name. */
    for (size_t i = 0; i < run->source_count; i++) {
        if (strcmp(run->sources[i].name, "energy") == 0) {
            return run->sources[i].reason;
        }
    }
    return "the energy of this run was not requested";
}

resmon_energy_part rm_run_energy_part(const struct resmon_run *run, size_t index)
{
    const struct part *part = &parts[index];
    resmon_energy_part result = {
        .name = part->name,
        .method = "",
        .node_j = rm_run_last_of(run, part->node, NULL),
        .tree_j = rm_run_growth_of(run, part->tree, NULL),
    };
    for (size_t i = 0; i < run->source_count; i++) {
        if (strcmp(run->sources[i].name, part->source) == 0) {
            result.provenance = run->sources[i].provenance;
            result.method = run->sources[i].reason;
        }
    }
    return result;
}

int64_t rm_run_energy_column(const struct resmon_run *run, size_t index)
{
    return rm_run_column_of(run, parts[index].node, NULL);
}

static double plus(double sum, double value)
{
    return isnan(value) ? sum : isnan(sum) ? value : sum + value;
}

/* The energy of the whole machine; or the share of the process, if the machine's is not reported.
 */
static double whole_of_part(const resmon_energy_part *part)
{
    return isnan(part->node_j) ? part->tree_j : part->node_j;
}

/* The machine's energy minus the share of the process; NaN if either is not known. */
static double rest_of_part(const resmon_energy_part *part)
{
    double rest_j = part->node_j - part->tree_j;
    return rest_j < 0.0 ? 0.0 : rest_j;
}

static void add_costs(resmon_energy *energy)
{
    resmon_carbon_cost node =
        rm_carbon_cost(energy->node_j, energy->pue, energy->wue, energy->g_per_kwh);
    resmon_carbon_cost tree =
        rm_carbon_cost(energy->tree_j, energy->pue, energy->wue, energy->g_per_kwh);
    energy->node_gco2eq = node.gco2eq;
    energy->tree_gco2eq = tree.gco2eq;
    energy->node_water_l = node.water_l;
    energy->tree_water_l = tree.water_l;
}

resmon_energy rm_run_energy(const struct resmon_run *run)
{
    double modelled_j = 0.0;
    double all_j = 0.0;
    resmon_energy energy = {
        .node_j = RM_NAN,
        .tree_j = RM_NAN,
        .rest_j = RM_NAN,
        .g_per_kwh = rm_run_fact_number(run, "energy", "g_per_kwh"),
        .pue = rm_run_fact_number(run, "energy", "pue"),
        .wue = rm_run_fact_number(run, "energy", "wue"),
        .basis = whole_of(run, "basis"),
        .year = whole_of(run, "year"),
        .place = rm_run_fact_text(run, "energy", "place"),
        .source = rm_run_fact_text(run, "energy", "source"),
        .remark = rm_run_fact_text(run, "energy", "remark"),
    };
    for (size_t i = 0; i < RM_ENERGY_PARTS && !rm_run_has_one_sample(run); i++) {
        resmon_energy_part part = rm_run_energy_part(run, i);
        energy.node_j = plus(energy.node_j, part.node_j);
        energy.tree_j = plus(energy.tree_j, part.tree_j);
        energy.rest_j = plus(energy.rest_j, rest_of_part(&part));
        if (!isnan(part.node_j) || !isnan(part.tree_j)) {
            bool is_modelled = part.provenance == RESMON_PROVENANCE_MODELLED;
            modelled_j += is_modelled ? whole_of_part(&part) : 0.0;
            all_j += whole_of_part(&part);
            energy.provenance =
                part.provenance > energy.provenance ? part.provenance : energy.provenance;
        }
    }
    if (energy.remark[0] == '\0' && !rm_run_reports_host(run)) {
        energy.remark = "another process of this host reports the machine's energy";
    }
    energy.modelled_share = all_j > 0.0 ? modelled_j / all_j : RM_NAN;
    add_costs(&energy);
    return energy;
}

struct rm_run_cost rm_run_cost_of(const resmon_energy *energy, double joules)
{
    const resmon_carbon_cost cost =
        rm_carbon_cost(joules, energy->pue, energy->wue, energy->g_per_kwh);
    return (struct rm_run_cost){
        .joules = joules,
        .it_kwh = cost.it_kwh,
        .facility_kwh = cost.facility_kwh,
        .gco2eq = cost.gco2eq,
        .water_l = cost.water_l,
        .coal_kg = cost.coal_kg,
        .natural_gas_kg = cost.natural_gas_kg,
        .petroleum_kg = cost.petroleum_kg,
    };
}

/* Scopes get shares of the energy of the machine. */
void rm_run_price_scopes(const struct resmon_run *run, resmon_run_scope *scopes, size_t count)
{
    const resmon_energy energy = rm_run_energy(run);
    bool is_modelled = energy.provenance == RESMON_PROVENANCE_MODELLED;
    for (size_t i = 0; i < count; i++) {
        resmon_run_scope *scope = &scopes[i];
        const struct rm_run_cost cost = rm_run_cost_of(&energy, scope->energy_j);
        scope->energy_kwh = cost.it_kwh;
        scope->energy_gco2eq = cost.gco2eq;
        scope->energy_provenance = isnan(scope->energy_j) ? RESMON_PROVENANCE_NONE
                                   : is_modelled          ? RESMON_PROVENANCE_MODELLED
                                                          : RESMON_PROVENANCE_SHARED;
    }
}

/* ---- mean power ------------------------------------------------------------------------- */

void rm_power_add(struct rm_power_spread *spread, double watts, double seconds)
{
    double step = watts - spread->mean_w;
    spread->n++;
    spread->mean_w += step / (double)spread->n;
    spread->squares += step * (watts - spread->mean_w);
    spread->joules += watts * seconds;
    spread->seconds += seconds;
    spread->seconds2 += seconds * seconds;
}

double rm_power_mean(const struct rm_power_spread *spread)
{
    return spread->seconds > 0.0 ? spread->joules / spread->seconds : RM_NAN;
}

double rm_power_variance(const struct rm_power_spread *spread)
{
    return spread->n > 1 ? spread->squares / (double)(spread->n - 1) * spread->seconds2 /
                               (spread->seconds * spread->seconds)
                         : RM_NAN;
}

/* ---- stretches of a run ----------------------------------------------------------------- */

/* The energy of a run over time. Some components may be read less often than others. So a point is
 * a row in which each component has grown since the previous point, and no stretch ends inside of a
 * jump. */
struct curve {
    const struct resmon_run *run;
    const double *parts[RM_ENERGY_PARTS];
    bool must_grow[RM_ENERGY_PARTS]; /* whether the component grows at all */
    double last[RM_ENERGY_PARTS];
    double last_s;
    size_t count, row;
    bool has_last;
};

struct point {
    double s, joules;
};

static void begin(struct curve *curve, const struct resmon_run *run,
                  const bool is_used[RM_ENERGY_PARTS])
{
    *curve = (struct curve){.run = run};
    for (size_t i = 0; i < RM_ENERGY_PARTS; i++) {
        int64_t column = is_used[i] ? rm_run_energy_column(run, i) : -1;
        if (column >= 0 && run->row_count > 0) {
            curve->must_grow[curve->count] = run->columns[column].last > 0.0;
            curve->parts[curve->count++] = rm_run_series(run, (size_t)column, RESMON_SERIES_LAST);
        }
    }
}

static bool is_point(const struct curve *curve, size_t row)
{
    for (size_t i = 0; i < curve->count; i++) {
        double value = curve->parts[i][row];
        if (!isfinite(value) ||
            (curve->has_last && curve->must_grow[i] && !(value > curve->last[i]))) {
            return false;
        }
    }
    return curve->count > 0 &&
           (!curve->has_last || (double)curve->run->t_last[row] * 1e-9 > curve->last_s);
}

static bool next(struct curve *curve, struct point *ret_point)
{
    for (; curve->row < curve->run->row_count; curve->row++) {
        if (!is_point(curve, curve->row)) {
            continue;
        }
        *ret_point = (struct point){.s = (double)curve->run->t_last[curve->row] * 1e-9};
        for (size_t i = 0; i < curve->count; i++) {
            curve->last[i] = curve->parts[i][curve->row];
            ret_point->joules += curve->last[i];
        }
        curve->last_s = ret_point->s;
        curve->has_last = true;
        curve->row++;
        return true;
    }
    return false;
}

/* Ends a stretch at the first point at or past each n-th part of the time. */
static struct rm_power_spread divide(struct curve *curve, double seconds, double count)
{
    struct rm_power_spread spread = {0};
    struct point first, from, point;
    double done = 0.0;
    if (!next(curve, &first)) {
        return spread;
    }
    from = first;
    while (next(curve, &point)) {
        /* The last point is at the end, except for rounding. */
        double share = (point.s - first.s) / seconds * count + 1e-9;
        if (floor(share) > done) {
            rm_power_add(&spread, (point.joules - from.joules) / (point.s - from.s),
                         point.s - from.s);
            done = floor(share);
            from = point;
        }
    }
    return spread;
}

struct rm_stretches rm_power_divide(const struct resmon_run *run,
                                    const bool is_used[RM_ENERGY_PARTS])
{
    struct rm_stretches result = {.readings = 0};
    struct curve curve;
    struct point point;
    double first_s = 0.0;
    begin(&curve, run, is_used);
    while (next(&curve, &point)) {
        first_s = result.readings == 0 ? point.s : first_s;
        result.seconds = point.s - first_s;
        result.readings++;
    }
    double intervals = result.readings > 0 ? (double)(result.readings - 1) : 0.0;
    double count = floor(fmin(fmin(RM_STRETCHES, intervals / RM_STRETCH_POINTS),
                              result.seconds / RM_STRETCH_S + 1e-9));
    if (count >= RM_STRETCHES_MIN) {
        begin(&curve, run, is_used);
        result.spread = divide(&curve, result.seconds, count);
    }
    if (result.spread.n < RM_STRETCHES_MIN) {
        result.spread = (struct rm_power_spread){0};
    }
    return result;
}

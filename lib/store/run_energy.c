/* SPDX-License-Identifier: MIT */
#include "store/run_energy.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "carbon/convert.h"

static const struct part {
    const char *name, *source, *node, *tree;
} parts[RM_ENERGY_PARTS] = {
    {"cpu", "energy_cpu", "node.energy.cpu", "tree.energy.cpu"},
    {"ram", "energy_ram", "node.energy.ram", "tree.energy.ram"},
    {"gpu", "energy_gpu", "node.energy.gpu", "tree.energy.gpu"},
};

static const char *text_of(const struct resmon_run *run, const char *key)
{
    const struct rm_fact *fact = rm_run_fact(run, "energy", key);
    return fact != NULL ? fact->value : "";
}

static double number_of(const struct resmon_run *run, const char *key)
{
    const struct rm_fact *fact = rm_run_fact(run, "energy", key);
    return fact != NULL ? rm_fact_number(fact) : RM_NAN;
}

static int32_t whole_of(const struct resmon_run *run, const char *key)
{
    double number = number_of(run, key);
    return number >= 0.0 && number < 1e6 ? (int32_t)number : 0;
}

bool rm_run_has_energy(const struct resmon_run *run)
{
    return rm_run_fact(run, "energy", "g_per_kwh") != NULL;
}

/* J since the start; NaN when there is no such column, or no reading. */
static double joules_of(const struct resmon_run *run, const char *metric)
{
    for (size_t i = 0; i < run->column_count; i++) {
        const struct rm_run_column *column = &run->columns[i];
        if (strcmp(column->metric, metric) == 0) {
            return column->stats.n > 0 ? column->stats.last : RM_NAN;
        }
    }
    return RM_NAN;
}

resmon_energy_part rm_run_energy_part(const struct resmon_run *run, size_t index)
{
    const struct part *part = &parts[index];
    resmon_energy_part result = {
        .name = part->name,
        .method = "",
        .node_j = joules_of(run, part->node),
        .tree_j = joules_of(run, part->tree),
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
    return rm_run_find_column(run, parts[index].node, NULL);
}

static double plus(double sum, double value)
{
    return isnan(value) ? sum : isnan(sum) ? value : sum + value;
}

/* The machine's, or the share of a process that does not report it. */
static double whole_of_part(const resmon_energy_part *part)
{
    return isnan(part->node_j) ? part->tree_j : part->node_j;
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
        .g_per_kwh = number_of(run, "g_per_kwh"),
        .pue = number_of(run, "pue"),
        .wue = number_of(run, "wue"),
        .basis = whole_of(run, "basis"),
        .year = whole_of(run, "year"),
        .place = text_of(run, "place"),
        .source = text_of(run, "source"),
        .remark = text_of(run, "remark"),
    };
    for (size_t i = 0; i < RM_ENERGY_PARTS; i++) {
        resmon_energy_part part = rm_run_energy_part(run, i);
        energy.node_j = plus(energy.node_j, part.node_j);
        energy.tree_j = plus(energy.tree_j, part.tree_j);
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

int32_t rm_energy_scope_provenance(const resmon_energy *energy, double scope_j)
{
    if (isnan(scope_j)) {
        return RESMON_PROVENANCE_NONE;
    }
    return energy->provenance == RESMON_PROVENANCE_MODELLED ? RESMON_PROVENANCE_MODELLED
                                                            : RESMON_PROVENANCE_SHARED;
}

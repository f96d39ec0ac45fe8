/* SPDX-License-Identifier: MIT */
#include "view/energy.h"

#include <math.h>
#include <string.h>

#include <resmon/carbon.h>

#include "base/compiler.h"
#include "run/energy.h"
#include "run/record.h"
#include "view/columns.h"

/* A row of what the parts come to. */
struct sum {
    const char *label, *known, *unit;
    double node, tree;
    const char *method;
};

static const char *method_of_all(const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    const resmon_energy *energy = &subject->energy;
    const char *parts[2] = {"", ""};
    if (energy->modelled_share > 0.0) {
        parts[0] = rm_page_print(page, "%s %% of it by a model",
                                 rm_page_fixed(page, energy->modelled_share * 100.0, 0));
    }
    if (isfinite(energy->rest_j)) {
        parts[1] = rm_page_print(page, "%s of other programs and idle",
                                 rm_page_value(page, energy->rest_j, "J"));
    }
    return rm_page_join(page, "; ", parts, RM_ARRAY_LEN(parts));
}

static const char *method_of_carbon(const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    const resmon_energy *energy = &subject->energy;
    const char *basis = rm_subject_basis(subject);
    const char *place = energy->place[0] != '\0'      ? rm_page_shown(page, energy->place)
                        : strcmp(basis, "world") == 0 ? "the world average"
                                                      : basis;
    if (!isfinite(energy->g_per_kwh)) {
        return "";
    }
    const char *year = energy->year != 0 ? rm_page_print(page, ", %d", energy->year) : "";
    return rm_page_print(page, "%s g/kWh: %s%s", rm_page_fixed(page, energy->g_per_kwh, 0), place,
                         year);
}

static void add_sums(const struct rm_subject *subject, struct rm_page_table *table)
{
    struct rm_page *page = subject->page;
    const resmon_energy *energy = &subject->energy;
    const char *reason = energy->remark != NULL && energy->remark[0] != '\0'
                             ? energy->remark
                             : "no component is known";
    const struct rm_run_cost node = rm_run_cost_of(energy, energy->node_j);
    const struct rm_run_cost tree = rm_run_cost_of(energy, energy->tree_j);
    const struct sum sums[] = {
        {"all", rm_word_of(RM_TYPE_PROVENANCE, energy->provenance), "J", energy->node_j,
         energy->tree_j, method_of_all(subject)},
        {"electricity", "", "Wh", node.facility_kwh * 1000.0, tree.facility_kwh * 1000.0,
         isfinite(energy->pue) ? rm_page_print(page, "PUE %s", rm_page_fixed(page, energy->pue, 2))
                               : ""},
        {"CO2eq", rm_subject_basis(subject), "g", energy->node_gco2eq, energy->tree_gco2eq,
         method_of_carbon(subject)},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(sums); i++) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], sums[i].label);
        rm_page_set(&cells[1], sums[i].known);
        rm_page_set_value(page, &cells[2], sums[i].node, sums[i].unit, reason);
        rm_page_set_value(page, &cells[3], sums[i].tree, sums[i].unit, reason);
        rm_page_set(&cells[4], sums[i].method);
    }
}

static struct rm_page_table *parts_table(struct rm_page *page, const struct resmon_run *run,
                                         size_t more)
{
    const struct rm_view_columns columns =
        rm_columns_choose(RM_TABLE_energy, RM_COLUMN_FULL, (struct rm_records){NULL, 0, 0});
    struct rm_page_table *table =
        rm_page_table_begin(page, rm_table_key(RM_TABLE_energy), rm_table_title(RM_TABLE_energy));
    if (table == NULL) {
        return NULL;
    }
    rm_columns_add(table, &columns);
    rm_page_room(page, table, RM_ENERGY_PARTS + more);
    for (size_t i = 0; i < RM_ENERGY_PARTS; i++) {
        const resmon_energy_part part = rm_run_energy_part(run, i);
        rm_columns_set(page, rm_page_row(page, table), &columns, &part,
                       part.method[0] != '\0' ? part.method : "not known");
    }
    return table;
}

struct rm_page_table *rm_energy_all(struct rm_page *page, const struct resmon_run *run)
{
    return parts_table(page, run, 0);
}

struct rm_page_table *rm_energy_table(const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    const resmon_energy *energy = &subject->energy;
    if (!subject->has_energy) {
        return NULL;
    }
    struct rm_page_table *table = parts_table(page, subject->run, 3);
    add_sums(subject, table);
    if (isnan(energy->node_j) && !isnan(energy->tree_j)) {
        rm_page_note(table, "The machine's energy is in the run of another process of this host.");
    }
    if (energy->source[0] != '\0') {
        rm_page_note(table, rm_page_print(page, "Source of the intensity: %s",
                                          rm_page_shown(page, energy->source)));
    }
    rm_page_note(table, rm_page_shown(page, energy->remark));
    if (energy->basis == RESMON_CARBON_BASIS_WORLD) {
        rm_page_note(table, "The location of this machine is not known: set RESMON_COUNTRY=FR, or "
                            "use /etc/resmon/site.conf.");
    }
    return table;
}

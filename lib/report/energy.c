/* SPDX-License-Identifier: MIT */
#include "report/energy.h"

#include <math.h>

#include "base/human.h"
#include "run/energy.h"

/* "energy: 56.8 J of the machine (100 % of it by a model), 690 ug CO2eq; the program's share:
 * 22.4 J, 280 ug, at ..." */
static void write_energy_sums(struct rm_buffer *buffer, const resmon_energy *energy)
{
    char joules[RM_HUMAN_BYTES], grams[RM_HUMAN_BYTES], percent[RM_HUMAN_BYTES];
    char intensity[RM_HUMAN_BYTES], pue[RM_HUMAN_BYTES];
    rm_human_percent(percent, 100.0 * energy->modelled_share);
    rm_human_joules(joules, energy->node_j);
    rm_human_grams(grams, energy->node_gco2eq);
    if (isnan(energy->node_j)) {
        rm_buffer_puts(buffer, "\nenergy: another process of this host reports the machine's");
    } else {
        rm_buffer_printf(buffer, "\nenergy: %s of the machine, %s CO2eq", joules, grams);
    }
    rm_human_joules(joules, energy->tree_j);
    rm_human_grams(grams, energy->tree_gco2eq);
    rm_buffer_printf(buffer, "; the program's share: %s, %s\n", joules, grams);
    if (!isnan(energy->rest_j)) {
        rm_human_joules(joules, energy->rest_j);
        rm_buffer_printf(buffer, "  not attributed to the program: %s (other programs and idle)\n",
                         joules);
    }
    if (energy->modelled_share > 0.0) {
        rm_buffer_printf(buffer, "  %s of it by a model\n", percent);
    }
    rm_human_fixed(intensity, energy->g_per_kwh, 0);
    rm_human_fixed(pue, energy->pue, 2);
    rm_buffer_printf(buffer, "  CO2eq at %s g/kWh (%.60s), PUE %s\n", intensity, energy->place,
                     pue);
    if (energy->remark[0] != '\0') {
        rm_buffer_printf(buffer, "  %.250s\n", energy->remark);
    }
}

void rm_report_energy(struct rm_buffer *buffer, const struct resmon_run *run)
{
    char node[RM_HUMAN_BYTES], tree[RM_HUMAN_BYTES];
    const resmon_energy energy = rm_run_energy(run);
    if (!rm_run_has_energy(run) || (isnan(energy.node_j) && isnan(energy.tree_j))) {
        return;
    }
    write_energy_sums(buffer, &energy);
    for (size_t i = 0; i < RM_ENERGY_PARTS; i++) {
        resmon_energy_part part = rm_run_energy_part(run, i);
        if (isnan(part.node_j) && isnan(part.tree_j)) {
            continue;
        }
        rm_human_joules(node, part.node_j);
        rm_human_joules(tree, part.tree_j);
        rm_buffer_printf(buffer, "  %s: %s, the program %s%s%.100s\n", part.name, node, tree,
                         part.method[0] != '\0' ? "; " : "", part.method);
    }
    if (energy.basis == RESMON_CARBON_BASIS_WORLD) {
        rm_buffer_puts(buffer, "  The location of this machine is not known: set "
                               "RESMON_COUNTRY=FR, or use /etc/resmon/site.conf.\n");
    }
}

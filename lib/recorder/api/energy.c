/* SPDX-License-Identifier: MIT */
/* <resmon/energy.h>: checks arguments and calls down. */
#include <resmon/energy.h>

#include "base/status.h"
#include "base/struct_size.h"
#include "run/energy.h"

resmon_status resmon_run_get_energy(const resmon_run *run, resmon_energy *ret_energy)
{
    if (run == NULL) {
        return rm_error(RESMON_EINVAL, "the run is NULL");
    }
    if (!rm_run_has_energy(run)) {
        return rm_error(RESMON_ENOENT, "%s", rm_run_energy_lack(run));
    }
    const resmon_energy energy = rm_run_energy(run);
    return rm_struct_give(&energy, RM_STRUCT_SIZE(resmon_energy), ret_energy);
}

size_t resmon_run_energy_part_count(const resmon_run *run)
{
    return run != NULL && rm_run_has_energy(run) ? RM_ENERGY_PARTS : 0;
}

resmon_status resmon_run_get_energy_part(const resmon_run *run, size_t index,
                                         resmon_energy_part *ret_part)
{
    if (index >= resmon_run_energy_part_count(run)) {
        return rm_error(RESMON_ENOENT, "the run has no energy component %zu", index);
    }
    const resmon_energy_part part = rm_run_energy_part(run, index);
    return rm_struct_give(&part, RM_STRUCT_SIZE(resmon_energy_part), ret_part);
}

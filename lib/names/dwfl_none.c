/* SPDX-License-Identifier: MIT */
#include "names/dwfl.h"

#include "base/status.h"

resmon_status rm_dwfl_load(void)
{
    return rm_error(RESMON_ENOTSUP, "resmon-names was built without libdw");
}

void rm_dwfl_symbolize(struct rm_names_module *module, struct rm_names_results *results)
{
    (void)module;
    (void)results;
}

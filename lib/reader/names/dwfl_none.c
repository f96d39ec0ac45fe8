/* SPDX-License-Identifier: MIT */
#include "names/names.h"

#include "base/feature.h"

resmon_status rm_dwfl_load(void)
{
    return rm_feature_need(RM_FEATURE_DW);
}

void rm_dwfl_symbolize(struct rm_names_module *module, struct rm_names_results *results)
{
    (void)module;
    (void)results;
}

/* SPDX-License-Identifier: MIT */
/* os/pfm.h in a build without libpfm4. */
#include "base/feature.h"
#include "os/pfm.h"

resmon_status rm_pfm_encode(const char *name, struct rm_pfm_code *ret_code)
{
    (void)ret_code;
    (void)name;
    return rm_feature_need(RM_FEATURE_PFM);
}

bool rm_pfm_has_pmu(const char *pmu)
{
    (void)pmu;
    return false;
}

/* SPDX-License-Identifier: MIT */
/* sys/pfm.h in a build without libpfm4. */
#include "base/status.h"
#include "sys/pfm.h"

resmon_status rm_pfm_encode(const char *name, struct rm_pfm_code *ret_code)
{
    (void)ret_code;
    return rm_error(RESMON_ENOTSUP, "%s: this build has no libpfm4, and knows no names of events",
                    name);
}

bool rm_pfm_has_pmu(const char *pmu)
{
    (void)pmu;
    return false;
}

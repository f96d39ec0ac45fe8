/* SPDX-License-Identifier: MIT */
/* In place of engine/energy_division.c when the library is built without energy: scopes have none.
 */
#include "engine/energy_division.h"

bool rm_energy_division_is_wanted(uint64_t domains)
{
    (void)domains;
    return false;
}

resmon_status rm_energy_division_open(struct rm_energy_division *division,
                                      struct rm_scope_session *session)
{
    (void)division, (void)session;
    return RESMON_OK;
}

void rm_energy_division_close(struct rm_energy_division *division)
{
    (void)division;
}

void rm_energy_division_take(struct rm_energy_division *division,
                             const struct rm_shared_energy *shared, double share, bool is_last)
{
    (void)division, (void)shared, (void)share, (void)is_last;
}

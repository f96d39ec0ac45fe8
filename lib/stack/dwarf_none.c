/* SPDX-License-Identifier: MIT */
/* In place of stack/dwarf.c when the library is built without libdw. */
#include "base/feature.h"
#include "stack/dwarf.h"

resmon_status rm_dwarf_load(void)
{
    return rm_feature_need(RM_FEATURE_DW);
}

resmon_status rm_dwarf_open(struct rm_debug_image *image, struct rm_debug_image *alternate,
                            struct rm_dwarf **ret_dwarf)
{
    (void)image, (void)alternate, (void)ret_dwarf;
    return rm_dwarf_load();
}

resmon_status rm_dwarf_find(struct rm_dwarf *dwarf, uint64_t address,
                            struct rm_symbol frames[RM_MOST_INLINED], size_t *ret_count)
{
    (void)dwarf, (void)address, (void)frames, (void)ret_count;
    return rm_dwarf_load();
}

void rm_dwarf_close(struct rm_dwarf *dwarf)
{
    (void)dwarf;
}

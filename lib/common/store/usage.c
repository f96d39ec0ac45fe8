/* SPDX-License-Identifier: MIT */
#include "store/usage.h"

#include "base/compiler.h"
#include "store/block.h"

bool rm_usage_store(struct rm_block_header *header, const resmon_run_usage *usage)
{
    if (header->has_usage != 0) {
        return false;
    }
    header->usage = *usage;
    header->usage.wall_s = usage->wall_s > 0.0 ? usage->wall_s : RM_NAN;
    RM_STORE_RELEASE(&header->has_usage, 1);
    return true;
}

bool rm_usage_load(const struct rm_block_header *header, resmon_run_usage *ret_usage)
{
    bool has_usage = RM_LOAD_ACQUIRE(&header->has_usage) == 1;
    if (has_usage) {
        *ret_usage = header->usage;
    }
    return has_usage;
}

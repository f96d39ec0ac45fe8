/* SPDX-License-Identifier: MIT */
#include "base/feature.h"

#include "base/compiler.h"
#include "base/status.h"

static const struct rm_feature_row rows[RM_FEATURE_COUNT] = {
#define RM_FEATURE(name, is_built, what) {(is_built) != 0, "RESMON_WITH_" #name, (what)},
#include "features.inc"
#undef RM_FEATURE
};

const struct rm_feature_row *rm_feature_row(size_t index)
{
    return index < RM_ARRAY_LEN(rows) ? &rows[index] : NULL;
}

resmon_status rm_feature_need(enum rm_feature feature)
{
    const struct rm_feature_row *row = &rows[feature];
    return row->is_built ? RESMON_OK
                         : rm_error(RESMON_ENOTSUP, "this libresmon was built without %s (%s)",
                                    row->what, row->option);
}

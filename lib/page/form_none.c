/* SPDX-License-Identifier: MIT */
/* In place of page/form.c, where pages are left out. */
#include "page/form.h"

#include "base/feature.h"

resmon_status rm_page_write(struct rm_buffer *out, uint64_t form, const struct rm_page_terms *terms)
{
    (void)out;
    (void)form;
    (void)terms;
    return rm_feature_need(RM_FEATURE_PAGE);
}

resmon_status rm_page_save(const char *path, uint64_t form, const struct rm_page_terms *terms)
{
    (void)path;
    (void)form;
    (void)terms;
    return rm_feature_need(RM_FEATURE_PAGE);
}

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

resmon_status rm_page_of_diff(struct rm_buffer *out, const struct rm_diff_page_terms *terms)
{
    (void)out;
    (void)terms;
    return rm_feature_need(RM_FEATURE_PAGE);
}

resmon_status rm_page_of_bench(struct rm_buffer *out, const struct rm_groups *groups)
{
    (void)out;
    (void)groups;
    return rm_feature_need(RM_FEATURE_PAGE);
}

resmon_status rm_page_of_trend(struct rm_buffer *out, const struct rm_trend *trend)
{
    (void)out;
    (void)trend;
    return rm_feature_need(RM_FEATURE_PAGE);
}

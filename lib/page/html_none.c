/* SPDX-License-Identifier: MIT */
/* In place of page/html.c, where reports as HTML pages are left out. */
#include "page/html.h"

#include "page/data.h"

#include "base/feature.h"

resmon_status rm_html_page(struct rm_buffer *out, const struct resmon_run *const *runs,
                           size_t count, const char *title, const struct rm_source_lines *sources)
{
    (void)out;
    (void)runs;
    (void)count;
    (void)title;
    (void)sources;
    return rm_feature_need(RM_FEATURE_PAGE);
}

resmon_status rm_html_save(const struct resmon_run *const *runs, size_t count, const char *title,
                           const char *path)
{
    (void)runs;
    (void)count;
    (void)title;
    (void)path;
    return rm_feature_need(RM_FEATURE_PAGE);
}

resmon_status rm_page_data(struct rm_buffer *out, const struct resmon_run *const *runs,
                           size_t count, const char *title, uint64_t parts,
                           const struct rm_source_lines *sources)
{
    (void)out;
    (void)runs;
    (void)count;
    (void)title;
    (void)parts;
    (void)sources;
    return rm_feature_need(RM_FEATURE_PAGE);
}

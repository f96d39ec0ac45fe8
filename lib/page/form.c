/* SPDX-License-Identifier: MIT */
#include "page/form.h"

#include <resmon/report.h>

#include "base/compiler.h"
#include "base/status.h"
#include "base/thread.h"
#include "os/outfile.h"
#include "page/data.h"
#include "page/html.h"
#include "page/markdown.h"
#include "page/source_lines.h"

#define MOST_BYTES ((size_t)256 << 20)

resmon_status rm_page_write(struct rm_buffer *out, uint64_t form, const struct rm_page_terms *terms)
{
    static resmon_status (*const forms[])(struct rm_buffer * out,
                                          const struct rm_page_terms *terms) = {
        [RESMON_PAGE_HTML] = rm_html_page,
        [RESMON_PAGE_MARKDOWN] = rm_markdown_page,
        [RESMON_PAGE_DATA] = rm_page_data,
    };
    struct rm_source_files files = {0};
    const struct rm_source_lines sources = rm_source_lines_of(&files);
    struct rm_page_terms with_sources = *terms;
    if (form >= RM_ARRAY_LEN(forms)) {
        return rm_error(RESMON_EINVAL, "there is no form %llu of a report",
                        (unsigned long long)form);
    }
    with_sources.sources = &sources;
    resmon_status status = forms[form](out, &with_sources);
    rm_source_files_free(&files);
    return status;
}

/* ---- pages about groups of runs ----------------------------------------------------------- */

struct making {
    struct rm_buffer *out;
    const void *about;
};

static resmon_status diff_here(void *making_)
{
    const struct making *making = making_;
    return rm_diff_page_put(making->out, making->about);
}

resmon_status rm_page_of_diff(struct rm_buffer *out, const struct rm_diff_page_terms *terms)
{
    struct making making = {out, terms};
    return rm_thread_call(diff_here, &making);
}

static resmon_status bench_here(void *making_)
{
    const struct making *making = making_;
    return rm_bench_page_put(making->out, making->about);
}

resmon_status rm_page_of_bench(struct rm_buffer *out, const struct rm_groups *groups)
{
    struct making making = {out, groups};
    return rm_thread_call(bench_here, &making);
}

static resmon_status trend_here(void *making_)
{
    const struct making *making = making_;
    return rm_trend_page_put(making->out, making->about);
}

resmon_status rm_page_of_trend(struct rm_buffer *out, const struct rm_trend *trend)
{
    struct making making = {out, trend};
    return rm_thread_call(trend_here, &making);
}

/* ---- files -------------------------------------------------------------------------------- */

static resmon_status write_text(const struct rm_output *output, const void *text_)
{
    const struct rm_buffer *text = text_;
    return rm_output_write(output, text->text, text->length);
}

resmon_status rm_page_save(const char *path, uint64_t form, const struct rm_page_terms *terms)
{
    struct rm_buffer text;
    rm_buffer_init(&text, MOST_BYTES);
    resmon_status status = rm_page_write(&text, form, terms);
    if (status == RESMON_OK) {
        status = rm_outfile_save(path, write_text, &text);
    }
    rm_buffer_free(&text);
    return status;
}

/* SPDX-License-Identifier: MIT */
/* <resmon/report.h>; and the functions that the recorder calls in the reader (os/reader.h). */
#include <resmon/report.h>

#include <string.h>

#include "base/buffer.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "base/thread.h"
#include "export/stacks.h"
#include "export/trace.h"
#include "job/path_pattern.h"
#include "os/reader.h"
#include "run/run.h"
#include "symbols/naming.h"
#include "view/view.h"

#define LARGEST_REPORT ((size_t)4 << 20)
#define LARGEST_PAGE   ((size_t)256 << 20)

/* The report of one run.  It is rendered on a stack of known size, as the caller's stack may be
 * small. */
struct making {
    const resmon_run *run;
    const char *function;
    char **ret_text;
};

/* A page of one or several runs. */
struct paging {
    struct rm_view_terms terms;
    const char *path;
    char **ret_text; /* NULL: the page is written to `path` */
};

/* ---- report ----------------------------------------------------------------------------- */

static resmon_status view_here(void *paging_)
{
    const struct paging *paging = paging_;
    char expanded[RM_PATH_BYTES];
    struct rm_buffer buffer;
    if (paging->ret_text == NULL) {
        resmon_status status = rm_path_expand(paging->path, expanded);
        return status == RESMON_OK ? rm_view_save(expanded, &paging->terms) : status;
    }
    rm_buffer_init(&buffer, LARGEST_PAGE);
    return rm_buffer_give(&buffer, rm_view_write(&buffer, &paging->terms), paging->ret_text);
}

resmon_status resmon_report_text(const resmon_run *run, const resmon_report_options *options,
                                 char **ret_text)
{
    RM_KEEP_ERRNO;
    resmon_report_options known = {.struct_size = sizeof known};
    if (run == NULL || ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_report_text: an argument is NULL");
    }
    resmon_status status =
        options != NULL ? rm_struct_take(options, RM_STRUCT_SIZE(resmon_report_options), &known)
                        : RESMON_OK;
    if (status == RESMON_OK && known.detail > RESMON_REPORT_FULL) {
        status = rm_error(RESMON_EINVAL, "resmon_report_text: there is no detail %llu",
                          (unsigned long long)known.detail);
    }
    if (status == RESMON_OK && known.width != 0 && known.width < RESMON_REPORT_LEAST_WIDTH) {
        status =
            rm_error(RESMON_ERANGE, "resmon_report_text: %llu columns are too few: at least %d",
                     (unsigned long long)known.width, RESMON_REPORT_LEAST_WIDTH);
    }
    if (status != RESMON_OK) {
        return status;
    }
    struct paging paging = {
        .terms = {.runs = &run,
                  .count = 1,
                  .form = known.detail == RESMON_REPORT_FULL ? RM_FORM_FULL : RM_FORM_BRIEF,
                  .width = known.width != 0 ? known.width : RESMON_REPORT_WIDTH},
        .ret_text = ret_text};
    return rm_thread_call(view_here, &paging);
}

static resmon_status report_lines_here(void *making_)
{
    const struct making *making = making_;
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, LARGEST_REPORT);
    return rm_buffer_give(
        &buffer, rm_view_lines(&buffer, making->run, making->function, RESMON_REPORT_WIDTH),
        making->ret_text);
}

resmon_status resmon_report_lines(const resmon_run *run, const char *function, char **ret_text)
{
    RM_KEEP_ERRNO;
    struct making making = {.run = run, .function = function, .ret_text = ret_text};
    return run != NULL && ret_text != NULL
               ? rm_thread_call(report_lines_here, &making)
               : rm_error(RESMON_EINVAL, "resmon_report_lines: an argument is NULL");
}

/* ---- tables ----------------------------------------------------------------------------- */

struct tabling {
    const resmon_run *run;
    struct rm_table_terms terms;
    char **ret_text;
};

static resmon_status table_here(void *tabling_)
{
    const struct tabling *tabling = tabling_;
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, LARGEST_PAGE);
    rm_buffer_puts(&buffer, "");
    return rm_buffer_give(&buffer, rm_view_table(&buffer, tabling->run, &tabling->terms),
                          tabling->ret_text);
}

const char *resmon_table_name(size_t index)
{
    return rm_view_table_name(index);
}

resmon_status resmon_report_table(const resmon_run *run, const char *table,
                                  const resmon_table_options *options, char **ret_text)
{
    static const enum rm_form forms[] = {[RESMON_TABLE_TEXT] = RM_FORM_FULL,
                                         [RESMON_TABLE_JSON] = RM_FORM_DATA,
                                         [RESMON_TABLE_MARKDOWN] = RM_FORM_MARKDOWN,
                                         [RESMON_TABLE_HTML] = RM_FORM_HTML};
    RM_KEEP_ERRNO;
    resmon_table_options known = {.struct_size = sizeof known};
    if (table == NULL || ret_text == NULL ||
        (run == NULL && strcmp(table, RM_TABLE_CATALOGUE) != 0)) {
        return rm_error(RESMON_EINVAL, "resmon_report_table: an argument is NULL");
    }
    resmon_status status =
        options != NULL ? rm_struct_take(options, RM_STRUCT_SIZE(resmon_table_options), &known)
                        : RESMON_OK;
    if (status == RESMON_OK && known.form >= RM_ARRAY_LEN(forms)) {
        status = rm_error(RESMON_EINVAL, "resmon_report_table: there is no form %llu",
                          (unsigned long long)known.form);
    }
    if (status != RESMON_OK) {
        return status;
    }
    struct tabling tabling = {
        .run = run,
        .terms = {.table = table,
                  .match = known.match != NULL ? known.match : "",
                  .form = forms[known.form],
                  .width = known.width != 0 ? known.width : RESMON_REPORT_WIDTH},
        .ret_text = ret_text};
    return rm_thread_call(table_here, &tabling);
}

/* ---- pages ------------------------------------------------------------------------------ */

/* Checks the arguments, and makes the page. */
static resmon_status make_page(struct paging *paging, const resmon_page_options *options,
                               const char *function)
{
    resmon_page_options known = {.struct_size = sizeof known};
    static const enum rm_form forms[] = {[RESMON_PAGE_HTML] = RM_FORM_HTML,
                                         [RESMON_PAGE_MARKDOWN] = RM_FORM_MARKDOWN,
                                         [RESMON_PAGE_DATA] = RM_FORM_DATA};
    const struct rm_view_terms *terms = &paging->terms;
    if (terms->runs == NULL || terms->count == 0 ||
        (paging->path == NULL && paging->ret_text == NULL)) {
        return rm_error(RESMON_EINVAL, "%s: %s", function,
                        terms->runs != NULL && terms->count == 0 ? "no run"
                                                                 : "an argument is NULL");
    }
    for (size_t i = 0; i < terms->count; i++) {
        if (terms->runs[i] == NULL) {
            return rm_error(RESMON_EINVAL, "%s: run %zu is NULL", function, i);
        }
    }
    resmon_status status =
        options != NULL ? rm_struct_take(options, RM_STRUCT_SIZE(resmon_page_options), &known)
                        : RESMON_OK;
    paging->terms.title = known.title;
    paging->terms.parts = known.parts;
    paging->terms.plots = known.plots;
    if (status == RESMON_OK && known.form >= RM_ARRAY_LEN(forms)) {
        status = rm_error(RESMON_EINVAL, "there is no form %llu of a report",
                          (unsigned long long)known.form);
    }
    if (status != RESMON_OK) {
        return status;
    }
    paging->terms.form = forms[known.form];
    return rm_thread_call(view_here, paging);
}

resmon_status resmon_report_page(const resmon_run *const *runs, size_t count,
                                 const resmon_page_options *options, char **ret_text)
{
    RM_KEEP_ERRNO;
    struct paging paging = {.terms = {.runs = runs, .count = count}, .ret_text = ret_text};
    return make_page(&paging, options, __func__);
}

resmon_status resmon_report_save(const resmon_run *const *runs, size_t count,
                                 const resmon_page_options *options, const char *path)
{
    RM_KEEP_ERRNO;
    struct paging paging = {.terms = {.runs = runs, .count = count}, .path = path};
    return make_page(&paging, options, __func__);
}

/* ---- for the recorder ------------------------------------------------------------------- */

static enum rm_form form_of(enum rm_reader_form form)
{
    return form == RM_READER_HTML       ? RM_FORM_HTML
           : form == RM_READER_MARKDOWN ? RM_FORM_MARKDOWN
                                        : RM_FORM_BRIEF;
}

static resmon_status save(const resmon_run *run, enum rm_reader_form form, const char *path)
{
    const struct rm_view_terms terms = {.runs = &run, .count = 1, .form = form_of(form)};
    switch (form) {
    case RM_READER_TRACE:
        return rm_trace_save(&run, 1, path);
    case RM_READER_PPROF:
        return rm_pprof_save(run, path);
    case RM_READER_FOLDED_CPU:
        return rm_folded_save(run, RESMON_STACK_CPU, path);
    case RM_READER_FOLDED_MEMORY:
        return rm_folded_save(run, RESMON_STACK_MEMORY, path);
    case RM_READER_FOLDED_FILE:
        return rm_folded_save(run, RESMON_STACK_FILE, path);
    case RM_READER_FOLDED_RESIDENT:
        return rm_folded_save(run, RESMON_STACK_RESIDENT, path);
    default:
        return rm_view_save(path, &terms);
    }
}

static resmon_status write_view(struct rm_buffer *out, const resmon_run *run,
                                enum rm_reader_form form, size_t width)
{
    const struct rm_view_terms terms = {
        .runs = &run, .count = 1, .form = form_of(form), .width = width};
    return rm_view_write(out, &terms);
}

/* Names are optional: without memory to keep `naming`, they are looked up anew for each run. */
static void name(struct rm_naming **naming, resmon_run *run)
{
    if (naming != NULL && *naming == NULL && rm_naming_new(NULL, naming) != RESMON_OK) {
        *naming = NULL;
    }
    rm_naming_try(naming != NULL ? *naming : NULL, run);
}

const struct rm_reader rm_reader_functions = {
    .version = RM_READER_VERSION,
    .bytes = sizeof(struct rm_reader),
    .report_text = resmon_report_text,
    .report_lines = resmon_report_lines,
    .save = save,
    .write = write_view,
    .name = name,
    .free_naming = rm_naming_free,
};

/* SPDX-License-Identifier: MIT */
/* <resmon/compare.h>: checks arguments and calls down. */
#include <string.h>

#include <resmon/compare.h>

#include "api/repeat.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "base/thread.h"
#include "compare/diff.h"
#include "export/comparison_document.h"
#include "os/file.h"
#include "view/benchmarks.h"

#define LARGEST_BENCH ((size_t)256 << 20)

struct resmon_bench {
    struct rm_groups groups;
};

struct resmon_diff {
    struct rm_gate gate;
    struct rm_diff diff;
    const resmon_run *runs[2]; /* one run of each side, to be shown; NULL: none */
};

static resmon_status null_argument(const char *function)
{
    return rm_error(RESMON_EINVAL, "%s: an argument is NULL", function);
}

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for a benchmark");
}

/* ---- benchmarks --------------------------------------------------------------------------- */

resmon_status resmon_bench_new(resmon_bench **ret_bench)
{
    RM_KEEP_ERRNO;
    if (ret_bench == NULL) {
        return null_argument(__func__);
    }
    resmon_bench *bench = rm_alloc(1, sizeof *bench);
    if (bench == NULL) {
        return out_of_memory();
    }
    *ret_bench = bench;
    return RESMON_OK;
}

void resmon_bench_free(resmon_bench *bench)
{
    RM_KEEP_ERRNO;
    if (bench != NULL) {
        rm_groups_free(&bench->groups);
        rm_free(bench);
    }
}

resmon_status resmon_bench_add(resmon_bench *bench, const char *name, const resmon_run *run)
{
    RM_KEEP_ERRNO;
    if (bench == NULL || name == NULL) {
        return null_argument(__func__);
    }
    struct rm_group *group = rm_groups_find(&bench->groups, name);
    group = group != NULL ? group : rm_groups_add(&bench->groups, name);
    if (group == NULL) {
        return out_of_memory();
    }
    return run != NULL ? rm_group_add_run(group, run) : RESMON_OK;
}

resmon_status resmon_bench_add_usage(resmon_bench *bench, const char *name,
                                     const resmon_run_usage *usage, const resmon_run_end *end)
{
    RM_KEEP_ERRNO;
    resmon_run_end how = {.struct_size = sizeof how};
    resmon_run_usage used = {.struct_size = sizeof used};
    if (usage == NULL) {
        return null_argument(__func__);
    }
    resmon_status status = rm_struct_take(usage, RM_STRUCT_SIZE(resmon_run_usage), &used);
    if (status == RESMON_OK && end != NULL) {
        status = rm_struct_take(end, RM_STRUCT_SIZE(resmon_run_end), &how);
    }
    status = status == RESMON_OK ? resmon_bench_add(bench, name, NULL) : status;
    return status == RESMON_OK
               ? rm_repeat_add_usage(rm_groups_find(&bench->groups, name), &used, &how)
               : status;
}

resmon_status resmon_bench_run(resmon_bench *bench, const char *name,
                               resmon_bench_function function, void *context,
                               const resmon_bench_options *options)
{
    RM_KEEP_ERRNO;
    resmon_bench_options known = {.struct_size = sizeof known};
    if (bench == NULL || name == NULL || function == NULL) {
        return null_argument(__func__);
    }
    resmon_status status =
        options != NULL ? rm_struct_take(options, RM_STRUCT_SIZE(resmon_bench_options), &known)
                        : RESMON_OK;
    if (status == RESMON_OK) {
        status = resmon_bench_add(bench, name, NULL);
    }
    const struct rm_repeat how = {
        .function = function,
        .context = context,
        .runs = known.runs > 0 ? known.runs : 20,
        .calls = known.calls,
        .batch = known.batch > 0 ? known.batch : 1,
        .warmup = known.warmup > 0 ? known.warmup : 1,
    };
    return status == RESMON_OK ? rm_repeat(rm_groups_find(&bench->groups, name), &how) : status;
}

static resmon_status read_file(const char *path, struct rm_groups *groups)
{
    struct rm_infile file;
    char *text = NULL;
    resmon_status status = rm_infile_open(&file, path, LARGEST_BENCH);
    if (status == RESMON_OK) {
        status = rm_infile_read_all(&file, &text);
        rm_infile_close(&file);
    }
    if (status == RESMON_OK) {
        status = rm_bench_document_read(text, file.bytes, groups);
        status = status == RESMON_OK ? status : rm_error_within(status, path);
    }
    rm_free(text);
    return status;
}

resmon_status resmon_bench_load(const char *path, resmon_bench **ret_bench)
{
    RM_KEEP_ERRNO;
    resmon_bench *bench = NULL;
    if (path == NULL || ret_bench == NULL) {
        return null_argument(__func__);
    }
    resmon_status status = resmon_bench_new(&bench);
    if (status == RESMON_OK) {
        status = read_file(path, &bench->groups);
    }
    if (status != RESMON_OK) {
        resmon_bench_free(bench);
        return status;
    }
    *ret_bench = bench;
    return RESMON_OK;
}

static const struct rm_group *group_at(const resmon_bench *bench, size_t index)
{
    return bench != NULL && index < bench->groups.count ? &bench->groups.at[index] : NULL;
}

size_t resmon_bench_count(const resmon_bench *bench)
{
    return bench != NULL ? bench->groups.count : 0;
}

const char *resmon_bench_name(const resmon_bench *bench, size_t index)
{
    const struct rm_group *group = group_at(bench, index);
    return group != NULL ? group->name : "";
}

size_t resmon_bench_run_count(const resmon_bench *bench, size_t index)
{
    const struct rm_group *group = group_at(bench, index);
    return group != NULL ? group->run_count : 0;
}

/* ---- texts -------------------------------------------------------------------------------- */

static resmon_status no_such_form(const char *form, const char *forms)
{
    return rm_error(RESMON_ENOENT, "there is no format '%.64s'; use one of %s", form, forms);
}

/* A comparison in a format for people.  It is rendered on a stack of known size. */
struct showing {
    const struct rm_groups *bench;
    struct rm_diff_view diff;
    const struct rm_trend *trend;
    enum rm_form form;
    size_t width;
    struct rm_buffer buffer;
};

/* false: it is a format for programs. */
static bool take_form(const char *form, bool has_markdown, enum rm_form *ret_form)
{
    *ret_form = strcmp(form, "html") == 0   ? RM_FORM_HTML
                : strcmp(form, "text") == 0 ? RM_FORM_FULL
                                            : RM_FORM_MARKDOWN;
    return *ret_form != RM_FORM_MARKDOWN || (has_markdown && strcmp(form, "markdown") == 0);
}

static resmon_status show(struct showing *showing, resmon_status (*here)(void *showing_),
                          char **ret_text)
{
    rm_buffer_init(&showing->buffer, LARGEST_BENCH);
    rm_buffer_puts(&showing->buffer, "");
    return rm_buffer_give(&showing->buffer, rm_thread_call(here, showing), ret_text);
}

static resmon_status bench_here(void *showing_)
{
    struct showing *showing = showing_;
    return rm_bench_write(&showing->buffer, showing->bench, showing->form, showing->width);
}

static const struct {
    const char *name;
    resmon_status (*write)(const struct rm_groups *groups, const struct rm_output *output);
} bench_forms[] = {{"json", rm_bench_document_write},
                   {"bmf", rm_bench_write_bmf},
                   {"github", rm_bench_write_github},
                   {"go", rm_bench_write_go}};

resmon_status resmon_bench_text(const resmon_bench *bench, const char *form, char **ret_text)
{
    RM_KEEP_ERRNO;
    struct rm_buffer buffer;
    if (bench == NULL || form == NULL || ret_text == NULL) {
        return null_argument(__func__);
    }
    struct showing showing = {.bench = &bench->groups};
    if (take_form(form, false, &showing.form)) {
        return show(&showing, bench_here, ret_text);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(bench_forms); i++) {
        if (strcmp(bench_forms[i].name, form) == 0) {
            rm_buffer_init(&buffer, LARGEST_BENCH);
            const struct rm_output output = rm_buffer_output(&buffer);
            resmon_status status = bench_forms[i].write(&bench->groups, &output);
            return rm_buffer_give(&buffer, status, ret_text);
        }
    }
    return no_such_form(form, "text, html, json, bmf, github, go");
}

static resmon_status diff_here(void *showing_)
{
    struct showing *showing = showing_;
    return rm_diff_write(&showing->buffer, &showing->diff);
}

static resmon_status write_json(struct rm_buffer *buffer, const struct rm_diff *diff)
{
    const struct rm_output output = rm_buffer_output(buffer);
    return rm_diff_document_write(diff, &output);
}

static const struct {
    const char *name;
    resmon_status (*write)(struct rm_buffer *buffer, const struct rm_diff *diff);
} diff_forms[] = {{"json", write_json}, {"junit", rm_diff_write_junit}};

resmon_status resmon_diff_text(const resmon_diff *diff, const char *form, size_t width,
                               int32_t is_full, char **ret_text)
{
    RM_KEEP_ERRNO;
    struct rm_buffer buffer;
    if (diff == NULL || form == NULL || ret_text == NULL) {
        return null_argument(__func__);
    }
    struct showing showing = {.diff = {.diff = &diff->diff,
                                       .before = diff->runs[0],
                                       .after = diff->runs[1],
                                       .width = width,
                                       .is_full = is_full != 0}};
    if (take_form(form, true, &showing.diff.form)) {
        return show(&showing, diff_here, ret_text);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(diff_forms); i++) {
        if (strcmp(diff_forms[i].name, form) == 0) {
            rm_buffer_init(&buffer, LARGEST_BENCH);
            resmon_status status = diff_forms[i].write(&buffer, &diff->diff);
            return rm_buffer_give(&buffer, status, ret_text);
        }
    }
    return no_such_form(form, "text, html, markdown, json, junit");
}

/* ---- comparisons -------------------------------------------------------------------------- */

resmon_status resmon_diff_make(const resmon_bench *before, size_t before_index,
                               const resmon_bench *after, size_t after_index, const char *gate,
                               resmon_diff **ret_diff)
{
    RM_KEEP_ERRNO;
    const struct rm_group *one = group_at(before, before_index);
    const struct rm_group *other = group_at(after, after_index);
    if (ret_diff == NULL) {
        return null_argument(__func__);
    }
    if (one == NULL || other == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_diff_make: there is no such group of runs");
    }
    resmon_diff *diff = rm_alloc(1, sizeof *diff);
    if (diff == NULL) {
        return out_of_memory();
    }
    resmon_status status = rm_gate_read(&diff->gate, gate != NULL ? gate : rm_gate_default);
    if (status == RESMON_OK) {
        status = rm_diff_make(&diff->diff, one, other, &diff->gate);
    }
    if (status != RESMON_OK) {
        resmon_diff_free(diff);
        return status;
    }
    *ret_diff = diff;
    return RESMON_OK;
}

void resmon_diff_free(resmon_diff *diff)
{
    RM_KEEP_ERRNO;
    if (diff != NULL) {
        rm_diff_free(&diff->diff);
        rm_gate_free(&diff->gate);
        rm_free(diff);
    }
}

resmon_status resmon_diff_set_runs(resmon_diff *diff, const resmon_run *before,
                                   const resmon_run *after)
{
    RM_KEEP_ERRNO;
    if (diff == NULL) {
        return null_argument(__func__);
    }
    diff->runs[0] = before;
    diff->runs[1] = after;
    return RESMON_OK;
}

int32_t resmon_diff_verdict(const resmon_diff *diff)
{
    return diff != NULL ? (int32_t)diff->diff.verdict : RESMON_VERDICT_NONE;
}

size_t resmon_diff_count(const resmon_diff *diff)
{
    return diff != NULL ? diff->diff.row_count : 0;
}

resmon_status resmon_diff_get(const resmon_diff *diff, size_t index, resmon_diff_row *ret_row)
{
    RM_KEEP_ERRNO;
    if (diff == NULL || index >= diff->diff.row_count) {
        return diff == NULL ? null_argument(__func__)
                            : rm_error(RESMON_ENOENT, "there is no row %zu", index);
    }
    const struct rm_diff_row *row = &diff->diff.rows[index];
    const struct rm_figure *figure = &rm_figures[row->figure];
    const resmon_diff_row found = {
        .path = row->path,
        .figure = figure->key,
        .title = figure->title,
        .unit = figure->unit,
        .rule = row->rule != NULL ? row->rule->text : "",
        .before = row->before.value,
        .before_low = row->before.low,
        .before_high = row->before.high,
        .after = row->after.value,
        .after_low = row->after.low,
        .after_high = row->after.high,
        .shift = row->shift.value,
        .shift_low = row->shift.low,
        .shift_high = row->shift.high,
        .p = row->p,
        .p_of_all = row->p_of_all,
        .allowance = row->allowance,
        .before_runs = row->before_count,
        .after_runs = row->after_count,
        .runs_wanted = row->runs_wanted,
        .is_counted = row->is_counted ? 1 : 0,
        .verdict = (int32_t)row->verdict,
    };
    return rm_struct_give(&found, RM_STRUCT_SIZE(resmon_diff_row), ret_row);
}

/* ---- trends ------------------------------------------------------------------------------- */

struct resmon_trend {
    struct rm_trend trend;
};

resmon_status resmon_trend_new(resmon_trend **ret_trend)
{
    RM_KEEP_ERRNO;
    if (ret_trend == NULL) {
        return null_argument(__func__);
    }
    resmon_trend *trend = rm_alloc(1, sizeof *trend);
    if (trend == NULL) {
        return out_of_memory();
    }
    *ret_trend = trend;
    return RESMON_OK;
}

void resmon_trend_free(resmon_trend *trend)
{
    RM_KEEP_ERRNO;
    if (trend != NULL) {
        rm_trend_free(&trend->trend);
        rm_free(trend);
    }
}

resmon_status resmon_trend_add(resmon_trend *trend, const char *label, const resmon_bench *bench)
{
    RM_KEEP_ERRNO;
    return trend != NULL && label != NULL && bench != NULL
               ? rm_trend_add(&trend->trend, label, &bench->groups)
               : null_argument(__func__);
}

static resmon_status trend_here(void *showing_)
{
    struct showing *showing = showing_;
    return rm_trend_write(&showing->buffer, showing->trend, showing->form, showing->width);
}

resmon_status resmon_trend_text(resmon_trend *trend, const char *form, size_t width,
                                char **ret_text)
{
    RM_KEEP_ERRNO;
    struct rm_buffer buffer;
    if (trend == NULL || form == NULL || ret_text == NULL) {
        return null_argument(__func__);
    }
    struct showing showing = {.trend = &trend->trend, .width = width};
    bool is_shown = take_form(form, false, &showing.form);
    if (!is_shown && strcmp(form, "json") != 0) {
        return no_such_form(form, "text, html, json");
    }
    resmon_status status = rm_trend_make(&trend->trend);
    if (status == RESMON_OK && is_shown) {
        return show(&showing, trend_here, ret_text);
    }
    rm_buffer_init(&buffer, LARGEST_BENCH);
    const struct rm_output output = rm_buffer_output(&buffer);
    status = status == RESMON_OK ? rm_trend_document_write(&trend->trend, &output) : status;
    return rm_buffer_give(&buffer, status, ret_text);
}

/* SPDX-License-Identifier: MIT */
/* Run documents: read, reported, exported, written, and read again. */
#include "fuzz.h"
#include "report_in_full.h"

#include <unistd.h>

#include <resmon/resmon.h>

#include "arrow_consumer.h"
#include "format/document.h"
#include "format/json.h"

static void export_arrow(const resmon_run *run)
{
    struct arrow_verdict verdict;
    bool is_good = arrow_check_run(&verdict, run, RESMON_SERIES_VALUE);
    if (!is_good) {
        (void)fprintf(stderr, "%s\n", verdict.why);
    }
    PROMISE(is_good);
}

/* What is printed once stays as it is. */
static void print_and_parse(const resmon_run *run)
{
    char *text = NULL, *text_again = NULL;
    resmon_run *again = NULL;
    if (resmon_run_document(run, &text) != RESMON_OK) {
        return;
    }
    PROMISE(resmon_run_parse(text, strlen(text), &again) == RESMON_OK);
    PROMISE(resmon_run_document(again, &text_again) == RESMON_OK);
    PROMISE(strcmp(text, text_again) == 0);
    resmon_run_free(again);
    resmon_text_free(text);
    resmon_text_free(text_again);
}

static void report(const resmon_run *run)
{
    char *text = NULL;
    resmon_status status = report_in_full(run, &text);
    PROMISE(status == RESMON_OK || status == RESMON_ENOMEM || status == RESMON_ERANGE);
    resmon_text_free(text);
}

/* A merge of the run by itself refuses what it became: its ranks are there already.  Machines alone
 * have no process that could come twice. */
static void merge(const resmon_run *run)
{
    resmon_merge *merge = NULL;
    resmon_run *merged = NULL;
    if (resmon_merge_new(&merge) != RESMON_OK) {
        return;
    }
    resmon_status status = resmon_merge_add(merge, run);
    PROMISE(status == RESMON_OK || status == RESMON_ENOMEM || status == RESMON_EINVAL ||
            status == RESMON_EFORMAT);
    if (status == RESMON_OK && resmon_merge_run(merge, &merged) == RESMON_OK) {
        report(merged);
        resmon_status again = resmon_merge_add(merge, merged);
        PROMISE(again != RESMON_OK || resmon_run_rank_count(merged) == 0);
    }
    resmon_run_free(merged);
    resmon_merge_free(merge);
}

/* Beside itself, too: whatever is in it, its page has no markup of its own. */
static void make_pages(const resmon_run *run)
{
    const resmon_run *const runs[] = {run, run};
    resmon_page_options options = {.struct_size = sizeof options};
    for (size_t i = 0; i < 6; i++) {
        char *page = NULL;
        options.form = i / 2;
        resmon_status status = resmon_report_page(runs, 1 + i % 2, &options, &page);
        PROMISE(status == RESMON_OK || status == RESMON_ENOMEM || status == RESMON_ENOTSUP);
        if (page != NULL && options.form == RESMON_PAGE_HTML) {
            const char *data = strstr(page, "id=resmon-data>");
            PROMISE(data != NULL && strchr(data, '<') == strstr(data, "</script>"));
        }
        resmon_text_free(page);
    }
}

/* The settings of a sink are outside text, too. */
static void make_requests(const resmon_run *run)
{
    char *text = NULL;
    struct rm_json *json = NULL;
    if (resmon_run_mlflow_requests(run, "series,tracking_uri=http://127.0.0.1:1", &text) ==
        RESMON_OK) {
        resmon_status status = rm_json_parse(text, strlen(text), &json);
        PROMISE(status == RESMON_OK || status == RESMON_ENOMEM);
    }
    rm_json_free(json);
    resmon_text_free(text);
}

static void visit_stacks(const resmon_run *run)
{
    resmon_run_stack stack = {.struct_size = sizeof stack};
    resmon_run_frame frame = {.struct_size = sizeof frame};
    resmon_run_peak_stack peak = {.struct_size = sizeof peak};
    for (size_t i = 0; resmon_run_get_stack(run, i, &stack) == RESMON_OK; i++) {
        PROMISE(stack.scope < (int64_t)resmon_run_scope_count(run) && stack.weight[0] >= 0.0);
        for (size_t k = 0; k < stack.frames; k++) {
            PROMISE(resmon_run_get_frame(run, i, k, &frame) == RESMON_OK);
            PROMISE(frame.function != NULL && frame.file != NULL && frame.module != NULL);
        }
    }
    for (size_t i = 0; resmon_run_get_peak_stack(run, i, &peak) == RESMON_OK; i++) {
        PROMISE(peak.scope < (int64_t)resmon_run_scope_count(run) && peak.thread_name != NULL);
        for (size_t k = 0; k < peak.frames; k++) {
            PROMISE(resmon_run_get_peak_frame(run, i, k, &frame) == RESMON_OK);
        }
    }
    char path[96];
    (void)snprintf(path, sizeof path, "%s/stacks", fuzz_directory());
    if (resmon_run_save_pprof(run, path) == RESMON_OK) {
        (void)unlink(path);
    }
}

static void visit(const resmon_run *run)
{
    resmon_run_scope scope = {.struct_size = sizeof scope};
    for (size_t i = 0; resmon_run_get_scope(run, i, &scope) == RESMON_OK; i++) {
        PROMISE(scope.parent < (int64_t)i && scope.name != NULL);
    }
    for (size_t c = 0; c < resmon_run_column_count(run); c++) {
        for (int32_t series = 0; series < 4; series++) {
            const double *values = resmon_run_series(run, c, series);
            double sum = 0.0;
            for (size_t r = 0; values != NULL && r < resmon_run_row_count(run); r++) {
                sum += values[r];
            }
            PROMISE(sum == sum || sum != sum);
        }
    }
    resmon_run_event event = {.struct_size = sizeof event};
    for (size_t i = 0; resmon_run_get_event(run, i, &event) == RESMON_OK; i++) {
        PROMISE(event.name != NULL && event.thread_name != NULL && event.depth < 256);
    }
    for (size_t i = 0; i < resmon_node_figure_count(); i++) {
        (void)resmon_run_node_figure(run, i);
    }
}

static void save_and_load(const resmon_run *run)
{
    char path[96];
    resmon_run *again = NULL;
    (void)snprintf(path, sizeof path, "%s/run.json", fuzz_directory());
    if (rm_document_save(run, path) != RESMON_OK) {
        return;
    }
    PROMISE(resmon_run_load(path, &again) == RESMON_OK);
    PROMISE(resmon_run_row_count(again) == resmon_run_row_count(run));
    PROMISE(resmon_run_scope_count(again) == resmon_run_scope_count(run));
    PROMISE(resmon_run_tag_count(again) == resmon_run_tag_count(run));
    PROMISE(resmon_run_event_count(again) == resmon_run_event_count(run));
    PROMISE(resmon_run_stack_count(again) == resmon_run_stack_count(run));
    resmon_run_free(again);
    (void)unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    resmon_run *run = NULL;
    resmon_status status = rm_document_parse((const char *)data, size, &run);
    if (status != RESMON_OK) {
        PROMISE(run == NULL && resmon_last_error()[0] != '\0');
        return 0;
    }
    visit(run);
    visit_stacks(run);
    report(run);
    merge(run);
    make_pages(run);
    make_requests(run);
    export_arrow(run);
    print_and_parse(run);
    save_and_load(run);
    resmon_run_free(run);
    return 0;
}

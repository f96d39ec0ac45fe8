/* SPDX-License-Identifier: MIT */
/*
 * The k-th allocation, write, rename, ... failing while files are made of stacks, or texts, or a
 * document is made or read, for k = 0, 1, 2, ... until none fails.  Whatever fails says so, leaves
 * the file that was there, no memory and no temporary file behind, and works when it is asked
 * again.
 */
#include "report_in_full.h"
#include "test.h"

#include <stdbool.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "format/json.h"
#include "unit/made_profile.h"

#define MOST_K 5000

static char path[128], source[128];
static resmon_run *run;
static char *document;

/* ---- one try each ------------------------------------------------------------------------- */

static resmon_status save_folded(void)
{
    return resmon_run_save_folded(run, RESMON_STACK_CPU, path);
}

static resmon_status save_pprof(void)
{
    return resmon_run_save_pprof(run, path);
}

static resmon_status print_document(void)
{
    char *text = NULL;
    resmon_status status = resmon_run_document(run, &text);
    assert_int_equal(text != NULL, status == RESMON_OK);
    resmon_text_free(text);
    return status;
}

static resmon_status parse_document(void)
{
    resmon_run *parsed = NULL;
    resmon_status status = resmon_run_parse(document, strlen(document), &parsed);
    assert_int_equal(parsed != NULL, status == RESMON_OK);
    resmon_run_free(parsed);
    return status;
}

static resmon_status print_lines(void)
{
    char *text = NULL;
    resmon_status status = resmon_report_lines(run, "work", &text);
    assert_int_equal(text != NULL, status == RESMON_OK);
    resmon_text_free(text);
    return status;
}

static resmon_status print_report(void)
{
    char *text = NULL;
    resmon_status status = report_in_full(run, &text);
    assert_int_equal(text != NULL, status == RESMON_OK);
    resmon_text_free(text);
    return status;
}

/* ---- each failure --------------------------------------------------------------------------- */

/* A text may do without what failed: a table, a line of the source. */
static void fail_each(resmon_status (*act)(void), enum rm_fault_kind kind, bool may_do_without)
{
    assert_ok(act());
    const int64_t before = rm_fault_live(0);
    const size_t files = count_files_in(test_directory);
    int64_t k = 0;
    for (bool has_fired = true; has_fired && k < MOST_K; k++) {
        rm_fault_arm(kind, k);
        resmon_status status = act();
        has_fired = rm_fault_fired(kind);
        rm_fault_arm(kind, -1);
        if (!has_fired) {
            assert_ok(status);
        } else if (status == RESMON_OK) {
            assert_true(may_do_without);
        } else {
            assert_true(resmon_last_error()[0] != '\0');
        }
        assert_int_equal(rm_fault_live(0), before);
        assert_int_equal(count_files_in(test_directory), files);
        assert_ok(act());
    }
    print_message("%lld failures\n", (long long)k - 1);
    assert_in_range(k - 1, 1, MOST_K - 2);
}

TEST(memory)
{
    fail_each(save_folded, RM_FAULT_ALLOC, false);
    fail_each(save_pprof, RM_FAULT_ALLOC, false);
    fail_each(print_lines, RM_FAULT_ALLOC, true);
    fail_each(print_report, RM_FAULT_ALLOC, true);
}

TEST(memory_of_documents)
{
    assert_ok(resmon_run_document(run, &document));
    fail_each(print_document, RM_FAULT_ALLOC, false);
    if (rm_json_check() == RESMON_OK) {
        fail_each(parse_document, RM_FAULT_ALLOC, false);
    } else {
        print_message("not parsed: %s\n", resmon_last_error());
    }
    resmon_text_free(document);
}

TEST(files)
{
    static const enum rm_fault_kind kinds[] = {RM_FAULT_OPEN, RM_FAULT_WRITE};
    for (size_t i = 0; i < RM_ARRAY_LEN(kinds); i++) {
        fail_each(save_folded, kinds[i], false);
        fail_each(save_pprof, kinds[i], false);
    }
    fail_each(print_lines, RM_FAULT_OPEN, true);
    fail_each(print_lines, RM_FAULT_READ, true);
}

FIXTURE(set_up)
{
    (void)snprintf(path, sizeof path, "%s/file", test_directory);
    (void)snprintf(source, sizeof source, "%s/train.c", test_directory);
    FILE *file = fopen(source, "w");
    if (file == NULL) {
        return -1;
    }
    for (int line = 1; line < 50; line++) {
        (void)fprintf(file, "line %d\n", line);
    }
    run = made_profile(source);
    return fclose(file) == 0 && run != NULL ? 0 : -1;
}

FIXTURE(tear_down)
{
    rm_run_free(run);
    (void)unlink(path);
    (void)unlink(source);
    return is_left_empty(state);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);

/* SPDX-License-Identifier: MIT */
/*
 * The k-th allocation of the JSON library failing while a document is saved or loaded, printed or
 * parsed: malloc itself is ours here.  (Not under a sanitizer, which wants it for itself.)
 */
#define _GNU_SOURCE
#include "runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)

TEST_FILE(.skipped = "malloc is a sanitizer's, or not glibc's");

#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *memory);

/* Of all threads: what nests deep works on another one, for which the caller waits. */
static int64_t fails_in = -1; /* calls to go; -1: never */
static bool has_failed;
static bool is_counting;
static int64_t live;

static bool fails(void)
{
    if (fails_in < 0 || fails_in-- > 0) {
        return false;
    }
    has_failed = true;
    errno = ENOMEM;
    return true;
}

static void *counted(void *memory)
{
    live += is_counting && memory != NULL ? 1 : 0;
    return memory;
}

void *malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
    if (fails()) {
        return NULL;
    }
    void *memory = __libc_realloc(old, size);
    return old == NULL ? counted(memory) : memory;
}

void free(void *memory)
{
    live -= is_counting && memory != NULL ? 1 : 0;
    __libc_free(memory);
}

#define MOST_K      200000
#define OLD_CONTENT "what was there before\n"

static char path[128], document_path[128];

static resmon_run *make_run(void)
{
    resmon_monitor *monitor = start_with(&(resmon_monitor_options){.rows = 2, .tags = 2});
    {
        RESMON_SCOPE("outer");
        RESMON_SCOPE("inner");
    }
    assert_ok(resmon_monitor_tag(monitor, "tag"));
    return finish(monitor);
}

static resmon_run *run;

/* The k-th allocation fails while it acts, for k = 0, 1, 2, ... until none has failed. */
static void fail_each(resmon_status (*act)(void), void (*check)(resmon_status status))
{
    int64_t k = 0;
    resmon_status status;
    do {
        put_text(path, OLD_CONTENT);
        has_failed = false;
        live = 0;
        fails_in = k++;
        is_counting = true;
        status = act();
        fails_in = -1;
        is_counting = false;
        if (live != 0) {
            fail_msg("failure %lld: %lld allocations left", (long long)k - 1, (long long)live);
        }
        if (status != RESMON_OK) { /* some are made up for: to shrink a text, a thread, names */
            assert_true(has_failed);
            assert_int_equal(status, RESMON_ENOMEM);
            assert_true(strlen(resmon_last_error()) > 0);
        }
        if (check != NULL) {
            check(status);
        }
    } while (has_failed && k < MOST_K);
    assert_ok(status);
    print_message("%lld failures\n", (long long)k - 1);
}

static resmon_status save(void)
{
    return resmon_run_save(run, path);
}

static void check_saved(resmon_status status)
{
    assert_int_equal(count_files_in(test_directory), 2);
    if (status == RESMON_OK) {
        resmon_run *saved = NULL;
        assert_ok(resmon_run_load(path, &saved));
        assert_int_equal(resmon_run_scope_count(saved), 2);
        resmon_run_free(saved);
    } else {
        char *text = content_of(path, NULL);
        assert_string_equal(text, OLD_CONTENT);
        free(text);
    }
}

TEST(saving)
{
    assert_int_equal(setenv("TZ", "UTC0", 1), 0); /* of no file that may be missing */
    assert_ok(save());                            /* the C library reads the time zone once */
    fail_each(save, check_saved);
}

static resmon_status load(void)
{
    resmon_run *loaded = NULL;
    resmon_status status = resmon_run_load(document_path, &loaded);
    fails_in = -1;
    assert_true((loaded != NULL) == (status == RESMON_OK));
    resmon_run_free(loaded);
    return status;
}

TEST(loading)
{
    assert_ok(load()); /* the C library keeps the thread's stack */
    fail_each(load, NULL);
}

static resmon_status print_and_parse(void)
{
    char *text = NULL;
    resmon_run *parsed_run = NULL;
    resmon_status status = resmon_run_document(run, &text);
    if (status == RESMON_OK) {
        status = resmon_run_parse(text, strlen(text), &parsed_run);
    }
    fails_in = -1;
    resmon_run_free(parsed_run);
    resmon_text_free(text);
    return status;
}

TEST(printing_and_parsing)
{
    fail_each(print_and_parse, NULL);
}

#ifdef RM_HAVE_CJSON
FIXTURE(set_up)
{
    (void)snprintf(path, sizeof path, "%s/run.json", test_directory);
    (void)snprintf(document_path, sizeof document_path, "%s/document.json", test_directory);
    run = make_run();
    assert_ok(resmon_run_save(run, document_path));
    return 0;
}

FIXTURE(tear_down)
{
    resmon_run_free(run);
    (void)unlink(path);
    (void)unlink(document_path);
    return is_left_empty(state);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);
#else
TEST_FILE(.skipped = "this build has no JSON (cJSON)");
#endif

#endif

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

#include "run_checks.h"

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

static char path[128];

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

static void put_old_content(void)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(OLD_CONTENT, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static bool has_old_content(void)
{
    char bytes[64] = "";
    FILE *file = fopen(path, "r");
    size_t length = file != NULL ? fread(bytes, 1, sizeof bytes - 1, file) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    return length == strlen(OLD_CONTENT) && strcmp(bytes, OLD_CONTENT) == 0;
}

static void check_document(void)
{
    resmon_run *run = NULL;
    assert_ok(resmon_run_load(path, &run));
    assert_int_equal(resmon_run_scope_count(run), 2);
    resmon_run_free(run);
}

TEST(saving)
{
    resmon_run *run = make_run();
    int64_t k = 0;
    resmon_status status;
    assert_int_equal(setenv("TZ", "UTC0", 1), 0); /* of no file that may be missing */
    assert_ok(resmon_run_save(run, path));        /* the C library reads the time zone once */
    do {
        put_old_content();
        has_failed = false;
        live = 0;
        fails_in = k++;
        is_counting = true;
        status = resmon_run_save(run, path);
        is_counting = false;
        fails_in = -1;
        if (live != 0) {
            fail_msg("failure %lld: %lld allocations left", (long long)k - 1, (long long)live);
        }
        assert_int_equal(count_files_in(test_directory), 1);
        if (status != RESMON_OK) { /* some failures are made up for, such as to shrink a text */
            assert_true(has_failed);
            assert_int_equal(status, RESMON_ENOMEM);
            assert_true(strlen(resmon_last_error()) > 0);
            assert_true(has_old_content());
        } else {
            check_document();
        }
    } while (has_failed && k < MOST_K);
    assert_ok(status);
    print_message("%lld failures\n", (long long)k - 1);
    resmon_run_free(run);
}

TEST(loading)
{
    resmon_run *run = make_run();
    resmon_run *loaded = NULL;
    int64_t k = 0, misnamed = 0;
    resmon_status status;
    assert_ok(resmon_run_save(run, path));
    assert_ok(resmon_run_load(path, &loaded)); /* the C library keeps the thread's stack */
    resmon_run_free(loaded);
    do {
        has_failed = false;
        live = 0;
        loaded = NULL;
        fails_in = k++;
        is_counting = true;
        status = resmon_run_load(path, &loaded);
        fails_in = -1;
        if (status == RESMON_OK) {
            resmon_run_free(loaded);
        }
        is_counting = false;
        assert_int_equal(live, 0);
        if (status != RESMON_OK) { /* a thread, and names, can be done without */
            assert_true(has_failed);
            assert_null(loaded);
            assert_true(strlen(resmon_last_error()) > 0);
            misnamed += status != RESMON_ENOMEM ? 1 : 0;
        }
    } while (has_failed && k < MOST_K);
    assert_ok(status);
    print_message("%lld failures, %lld of them called something else than RESMON_ENOMEM\n",
                  (long long)k - 1, (long long)misnamed);
    assert_int_equal(misnamed, 0);
    resmon_run_free(run);
}

TEST(printing_and_parsing)
{
    resmon_run *run = make_run();
    resmon_status status;
    int64_t k = 0;
    do {
        char *text = NULL;
        resmon_run *parsed = NULL;
        has_failed = false;
        live = 0;
        fails_in = k++;
        is_counting = true;
        status = resmon_run_document(run, &text);
        if (status == RESMON_OK) {
            status = resmon_run_parse(text, strlen(text), &parsed);
        }
        fails_in = -1;
        resmon_run_free(parsed);
        resmon_text_free(text);
        is_counting = false;
        assert_int_equal(live, 0);
        assert_true(status == RESMON_OK || (has_failed && status == RESMON_ENOMEM));
        assert_true(status == RESMON_OK || strlen(resmon_last_error()) > 0);
    } while (has_failed && k < MOST_K);
    assert_ok(status);
    print_message("%lld failures\n", (long long)k - 1);
    resmon_run_free(run);
}

FIXTURE(set_up)
{
    (void)snprintf(path, sizeof path, "%s/run.json", test_directory);
    return 0;
}

FIXTURE(tear_down)
{
    (void)unlink(path);
    return is_left_empty(state);
}

#ifdef RM_HAVE_CJSON
TEST_FILE(.set_up = set_up, .tear_down = tear_down);
#else
TEST_FILE(.skipped = "this build has no JSON (cJSON)");
#endif

#endif

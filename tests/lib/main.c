/* SPDX-License-Identifier: MIT */
/*
 * main() of the test programs, one for each folder: PROGRAM FILE [WORD...] runs the tests of one
 * file in the order in which they stand in it.  Words are for the file's own program (TEST_FILE) if
 * it has one, else one is a pattern of the tests to run.  Without arguments: the files and tests.
 */
#define _DEFAULT_SOURCE /* strsep */
#include "files.h"
#include "test.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MOST_TESTS 128

/* Made by the linker: where the sections of TEST and TEST_FILE begin and end. */
extern const struct test *const __start_resmon_tests[] __attribute__((weak));
extern const struct test *const __stop_resmon_tests[] __attribute__((weak));
extern const struct test_file *const __start_resmon_files[] __attribute__((weak));
extern const struct test_file *const __stop_resmon_files[] __attribute__((weak));

/* What sanitizers do with an allocation that cannot be: what malloc() does.  Called before main. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* "test_files" is the file of ".../torture/test_files.c". */
static bool is_of(const char *path, const char *file)
{
    const char *base = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    size_t length = strlen(file);
    return strncmp(base, file, length) == 0 && strcmp(base + length, ".c") == 0;
}

static int compare_lines(const void *a, const void *b)
{
    return (*(const struct test *const *)a)->line - (*(const struct test *const *)b)->line;
}

/* The tests of a file, in its order; with a pattern, those that it matches. */
static size_t tests_of(const char *name, const struct test_file *shared, const char *pattern,
                       struct CMUnitTest ret_tests[MOST_TESTS])
{
    const struct test *found[MOST_TESTS];
    size_t count = 0;
    for (const struct test *const *test = __start_resmon_tests; test < __stop_resmon_tests;
         test++) {
        if (is_of((*test)->path, name) &&
            (pattern == NULL || fnmatch(pattern, (*test)->unit.name, 0) == 0)) {
            if (count == MOST_TESTS) {
                (void)fprintf(stderr, "%s has more than %d tests\n", name, MOST_TESTS);
                exit(1);
            }
            found[count++] = *test;
        }
    }
    qsort(found, count, sizeof found[0], compare_lines);
    for (size_t i = 0; i < count; i++) {
        ret_tests[i] = found[i]->unit;
        if (ret_tests[i].setup_func == NULL && ret_tests[i].teardown_func == NULL) {
            ret_tests[i].setup_func = shared->before_each;
            ret_tests[i].teardown_func = shared->after_each;
        }
    }
    return count;
}

static const struct test_file *shared_by(const char *name)
{
    static const struct test_file nothing;
    for (const struct test_file *const *found = __start_resmon_files; found < __stop_resmon_files;
         found++) {
        if (is_of((*found)->path, name)) {
            return *found;
        }
    }
    return &nothing;
}

static int list(void)
{
    for (const struct test *const *test = __start_resmon_tests; test < __stop_resmon_tests;
         test++) {
        const char *base = strrchr((*test)->path, '/');
        (void)printf("%s %s\n", base != NULL ? base + 1 : (*test)->path, (*test)->unit.name);
    }
    return 2;
}

static const char *file;

void exec_this_file(const char *word, const char *second)
{
    (void)execl("/proc/self/exe", "again", file, word, second, (char *)NULL);
}

/* Below $TMPDIR; in /tmp where that is too long for the names of sockets, and for tests. */
static bool enter_directory(void)
{
    const char *place = getenv("TMPDIR");
    (void)snprintf(test_directory, sizeof test_directory, "%s/test-XXXXXX",
                   place != NULL && strlen(place) < 48 ? place : "/tmp");
    return mkdtemp(test_directory) != NULL && chdir(test_directory) == 0;
}

static int run_file(const char *name, const struct test_file *shared, const char *pattern)
{
    static struct CMUnitTest tests[MOST_TESTS];
    size_t count = tests_of(name, shared, pattern, tests);
    if (count == 0) {
        (void)fprintf(stderr, "no test is registered in %s.c%s%s\n", name,
                      pattern != NULL ? " for " : "", pattern != NULL ? pattern : "");
        return 1;
    }
    return _cmocka_run_group_tests(name, tests, count, shared->set_up, shared->tear_down);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return list();
    }
    file = argv[1];
    const struct test_file *shared = shared_by(file);
    (void)prctl(PR_SET_NAME, file);
    if (shared->program != NULL && argc > 2) {
        return shared->program(argv + 2);
    }
    if (!enter_directory()) {
        perror(test_directory);
        return 1;
    }
    const char *why = shared->missing != NULL ? shared->missing() : shared->skipped;
    if (why != NULL) {
        (void)printf("skipped: %s\n", why);
    }
    int result = why != NULL ? 77 : run_file(file, shared, argv[2]);
    (void)chdir("/");
    (void)remove_directory(test_directory);
    return result;
}

/* SPDX-License-Identifier: MIT */
/*
 * What finishes a run takes no more of the caller's stack than a small thread of a program has:
 * with stacks to be named, exit() is called by threads with little stack, and in a program whose
 * limit for stacks is low; a run is saved, stopped, shown and loaded by such a thread.  The program
 * is this test, run again.
 */
#include "again.h"
#include "report_in_full.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <resmon/stack.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "stack/handler.h"
#include "symbols/symbolizer.h"

#define DOCUMENT "test_small_stack.json"
#define SAVED    "test_small_stack_saved.json"
#define DEPTH    200
#define CPU_NS   (200 * RM_NS_PER_MS)

/* ---- the program ------------------------------------------------------------------------ */

static volatile uint32_t sink;

/* Rises with each sample. */
static uint64_t sampled(void)
{
    return rm_handler_ticks();
}

__attribute__((noinline)) static void burn_the_time(void)
{
    uint64_t before = sampled();
    int64_t until_ns = rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + CPU_NS;
    int64_t most_ns = until_ns + 5 * RM_NS_PER_S; /* the kernel looks at timers when it ticks */
    for (int64_t now_ns = 0; now_ns < until_ns || (sampled() == before && now_ns < most_ns);
         now_ns = rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID)) {
        for (uint32_t i = 0; i < 10000; i++) {
            sink = sink * 1664525U + i;
        }
    }
}

static void *exit_on_it(void *unused)
{
    (void)unused;
    burn_the_time();
    exit(0);
}

/* Documents nest as deep as scopes do. */
static void nest(int depth)
{
    static resmon_site sites[DEPTH];
    static char names[DEPTH][32];
    uint64_t scopes[DEPTH];
    for (int i = 0; i < depth; i++) {
        (void)snprintf(names[i], sizeof names[i], "scope %d", i);
        sites[i] = (resmon_site){names[i], "f", "g", 1, 0};
        scopes[i] = resmon_scope_begin(&sites[i]);
    }
    for (int i = depth; i-- > 0;) {
        resmon_scope_end(scopes[i]);
    }
}

static void *save_on_it(void *monitor)
{
    resmon_run *run = NULL;
    char *text = NULL;
    burn_the_time();
    resmon_status status = resmon_monitor_save(monitor, SAVED);
    if (status == RESMON_OK) {
        status = resmon_monitor_stop(monitor);
    }
    if (status == RESMON_OK) {
        status = resmon_monitor_save(monitor, SAVED); /* with names */
    }
    if (status == RESMON_OK) {
        status = resmon_monitor_snapshot(monitor, &run);
    }
    if (status == RESMON_OK) {
        status = report_in_full(run, &text);
    }
    resmon_text_free(text);
    resmon_run_free(run);
    run = NULL;
    if (status == RESMON_OK) {
        status = resmon_run_load(SAVED, &run);
    }
    resmon_run_free(run);
    return (void *)(intptr_t)status;
}

static int run_on(size_t bytes, void *(*work)(void *), void *context)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = NULL;
    (void)pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, bytes) != 0 ||
        pthread_create(&thread, &attributes, work, context) != 0 ||
        pthread_join(thread, &result) != 0) {
        return 5;
    }
    if (result != NULL) {
        (void)fprintf(stderr, "%s\n", resmon_status_name((resmon_status)(intptr_t)result));
    }
    return result == NULL ? 0 : 6;
}

static int save_with_monitor(size_t bytes)
{
    resmon_monitor_options options = {
        .struct_size = sizeof options, .stacks = RESMON_STACKS_CPU, .interval_ms = 20};
    const resmon_json_options json = {.struct_size = sizeof json, .path = DOCUMENT};
    resmon_monitor *monitor = NULL;
    options.scope_depth = DEPTH;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_add_json(monitor, &json) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        return 4;
    }
    nest(DEPTH);
    int result = run_on(bytes, save_on_it, monitor);
    resmon_monitor_free(monitor);
    return result;
}

static int run_program(char **words)
{
    const char *how = words[0];
    size_t bytes = (size_t)strtoull(words[1], NULL, 10);
    (void)alarm(120);
    if (strcmp(how, "save") == 0) {
        return save_with_monitor(bytes);
    }
    return bytes > 0 ? run_on(bytes, exit_on_it, NULL) : (burn_the_time(), 0);
}

/* ---- the test --------------------------------------------------------------------------- */

/* `limit`: of stacks, as ulimit -s sets it; 0: as it is. */
static void run_again(char *how, size_t bytes, rlim_t limit)
{
    char digits[32];
    int status = -1;
    (void)snprintf(digits, sizeof digits, "%zu", bytes);
    (void)unlink(DOCUMENT);
    (void)unlink(SAVED);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit low = {limit, limit};
        if (strcmp(how, "save") != 0) {
            (void)setenv("RESMON", "json=" DOCUMENT ",stacks=cpu+memory,interval=20ms", 1);
        }
        if (limit == 0 || setrlimit(RLIMIT_STACK, &low) == 0) {
            exec_this_file(how, digits);
        }
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        print_error("%s on %zu bytes: status 0x%x\n", how, bytes, (unsigned)status);
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool names(const resmon_run *run, const char *function)
{
    resmon_run_stack stack = {.struct_size = sizeof stack};
    resmon_run_frame frame = {.struct_size = sizeof frame};
    for (size_t i = 0; resmon_run_get_stack(run, i, &stack) == RESMON_OK; i++) {
        for (size_t j = 0; resmon_run_get_frame(run, i, j, &frame) == RESMON_OK; j++) {
            if (strcmp(frame.function, function) == 0) {
                return true;
            }
        }
    }
    return false;
}

static const char *reason_of(const resmon_run *run)
{
    resmon_run_stack_info info = {.struct_size = sizeof info};
    assert_ok(resmon_run_get_stack_info(run, RESMON_STACK_CPU, &info));
    return info.reason;
}

/* The document as it was written: what is loaded is named then. */
static bool has_text(const char *path, const char *wanted)
{
    static char text[4 << 20];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[length] = '\0';
    return strstr(text, wanted) != NULL;
}

static void check_document(const char *path)
{
    resmon_run *run = NULL;
    assert_ok(resmon_run_load(path, &run));
    if (resmon_run_stack_count(run) == 0) {
        print_message("no stacks: %s\n", reason_of(run));
    } else if (rm_symbolizer_check() != RESMON_OK) {
        assert_has(reason_of(run), "names are left out: ");
    } else {
        assert_true(has_text(path, "burn_the_time"));
        assert_true(names(run, "burn_the_time"));
    }
    resmon_run_free(run);
}

/* Below a signal of the stacks, a sanitizer's frames alone fill the least stack. */
#ifdef __SANITIZE_ADDRESS__
#define OF_SANITIZER 16384
#else
#define OF_SANITIZER 0
#endif

static size_t least_stack(void)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);
    least = least > (long)PTHREAD_STACK_MIN ? least : (long)PTHREAD_STACK_MIN;
    return (size_t)least + OF_SANITIZER;
}

static const size_t more[] = {0, 16384, 49152, 114688}; /* than the least */

TEST(exit)
{
    static char how[] = "exit";
    for (size_t i = 0; i < RM_ARRAY_LEN(more); i++) {
        run_again(how, least_stack() + more[i], 0);
        check_document(DOCUMENT);
    }
}

TEST(save)
{
    static char how[] = "save";
    for (size_t i = 0; i < RM_ARRAY_LEN(more); i++) {
        run_again(how, least_stack() + more[i], 0);
        check_document(DOCUMENT);
        check_document(SAVED);
    }
}

TEST(low_limit)
{
    static char how[] = "exit";
    static const rlim_t limits[] = {65536, 131072};
    for (size_t i = 0; i < RM_ARRAY_LEN(limits); i++) {
        run_again(how, 0, limits[i]);
        check_document(DOCUMENT);
    }
}

TEST_FILE(.program = run_program, .missing = missing_documents);

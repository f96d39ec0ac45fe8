/* SPDX-License-Identifier: MIT */
/*
 * Programs with stacks under RESMON that have little: threads with small stacks that exit, save,
 * stop, show and load, a low limit of stacks, a low limit of the address space.  Whatever the
 * limit, the program has the thread and the memory that it asks for, and the run is there; or the
 * monitor has not started and the reason is printed.  The program is this test, run again.
 */
#include "again.h"
#include "report_in_full.h"
#include "stack_tests.h"

#include <limits.h>

#include "base/compiler.h"
#include "engine/memory.h"
#include "os/memory_room.h"

#define DOCUMENT "test_limits.json"
#define SAVED    "test_limits_saved.json"
#define OBSERVED "json=" DOCUMENT ",stacks=cpu+memory,interval=20ms"
#define LEFT_OUT "names are left out: "
#define DEPTH    200
#define CPU_NS   (200 * RM_NS_PER_MS)
#define MIB      ((size_t)1 << 20)

/* ---- the program ------------------------------------------------------------------------ */

static void *exit_on_it(void *unused)
{
    (void)unused;
    burn_the_time(CPU_NS);
    exit(0);
}

static void *burn_on_it(void *unused)
{
    burn_the_time(CPU_NS / 2);
    return unused;
}

/* Documents nest as deep as scopes do. */
static void nest(void)
{
    uint64_t scopes[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        char name[32];
        resmon_site *site = NULL;
        (void)snprintf(name, sizeof name, "scope %d", i);
        scopes[i] = resmon_site_intern(name, &site) == RESMON_OK ? resmon_scope_begin(site) : 0;
    }
    for (int i = DEPTH; i-- > 0;) {
        resmon_scope_end(scopes[i]);
    }
}

static void need(resmon_status status)
{
    if (status != RESMON_OK) {
        (void)fprintf(stderr, "%s\n", resmon_last_error());
        exit(6);
    }
}

static void *save_on_it(void *monitor)
{
    resmon_run *run = NULL;
    char *text = NULL;
    burn_the_time(CPU_NS);
    need(resmon_monitor_save(monitor, SAVED));
    need(resmon_monitor_stop(monitor));
    need(resmon_monitor_save(monitor, SAVED)); /* with names */
    need(resmon_monitor_snapshot(monitor, &run));
    need(report_in_full(run, &text));
    resmon_text_free(text);
    resmon_run_free(run);
    need(resmon_run_load(SAVED, &run));
    resmon_run_free(run);
    return NULL;
}

static int run_on(size_t bytes, void *(*work)(void *), void *context)
{
    pthread_attr_t attributes;
    pthread_t thread;
    (void)pthread_attr_init(&attributes);
    return pthread_attr_setstacksize(&attributes, bytes) != 0 ||
                   pthread_create(&thread, &attributes, work, context) != 0 ||
                   pthread_join(thread, NULL) != 0
               ? 5
               : 0;
}

static int save_with_monitor(size_t bytes)
{
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .stacks = RESMON_STACKS_CPU,
                                            .interval_ms = 20,
                                            .scope_depth = DEPTH};
    const resmon_json_options json = {.struct_size = sizeof json, .path = DOCUMENT};
    resmon_monitor *monitor = NULL;
    need(resmon_monitor_new(&options, &monitor));
    need(resmon_monitor_add_json(monitor, &json));
    need(resmon_monitor_start(monitor));
    nest();
    int result = run_on(bytes, save_on_it, monitor);
    resmon_monitor_free(monitor);
    return result;
}

static int ask_for_memory(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, burn_on_it, NULL) != 0) {
        return 3;
    }
    (void)pthread_join(thread, NULL);
    void *memory = malloc(4 * MIB);
    free(memory);
    return memory != NULL ? 0 : 4;
}

static int run_program(char **words)
{
    size_t bytes = words[1] != NULL ? (size_t)strtoull(words[1], NULL, 10) : 0;
    (void)alarm(120);
    if (strcmp(words[0], "save") == 0) {
        return save_with_monitor(bytes);
    }
    if (strcmp(words[0], "memory") == 0) {
        return ask_for_memory();
    }
    return bytes > 0 ? run_on(bytes, exit_on_it, NULL) : (burn_the_time(CPU_NS), 0);
}

/* ---- the tests -------------------------------------------------------------------------- */

static struct again again;

/* `bytes`: of the stack of its thread; 0: it has no other thread. */
static void run_again(const char *how, size_t bytes, int resource, rlim_t limit)
{
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%zu", bytes);
    (void)unlink(DOCUMENT);
    (void)unlink(SAVED);
    again = (struct again){.resmon = strcmp(how, "save") != 0 ? OBSERVED : NULL,
                           .words = {how, digits},
                           .resource = resource,
                           .limit = limit};
    again_run(&again);
    if (again.exit_status != 0) {
        fail_msg("%s on %zu bytes, limit %llu: exit status %d, signal %d: %s", how, bytes,
                 (unsigned long long)limit, again.exit_status, again.signal_number, again.text);
    }
}

static resmon_run *document(const char *path)
{
    resmon_run *run = NULL;
    assert_ok(resmon_run_load(path, &run));
    assert_string_equal(info_of(run).state, "stopped");
    return run;
}

/* The document has the names as it was written: what is loaded is named then. */
static void check_document(const char *path)
{
    resmon_run *run = document(path);
    if (resmon_run_stack_count(run) == 0) {
        print_message("no stacks: %s\n", stack_reason(run));
    } else if (missing_names() != NULL) {
        assert_has(stack_reason(run), LEFT_OUT);
    } else {
        char *text = content_of(path, NULL);
        assert_non_null(strstr(text, "burn_the_time"));
        free(text);
        assert_true(has_function(run, "burn_the_time"));
    }
    resmon_run_free(run);
}

/* Below a signal of the stacks, a sanitizer's frames alone fill the least stack. */
static size_t least_stack(void)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);
    least = least > (long)PTHREAD_STACK_MIN ? least : (long)PTHREAD_STACK_MIN;
    return (size_t)least + (HAS_ADDRESS_SANITIZER ? 16384 : 0);
}

TEST(threads_with_small_stacks)
{
    static const size_t more[] = {0, 16384, 49152, 114688}; /* than the least */
    for (size_t i = 0; i < RM_ARRAY_LEN(more); i++) {
        run_again("exit", least_stack() + more[i], 0, 0);
        check_document(DOCUMENT);
        run_again("save", least_stack() + more[i], 0, 0);
        check_document(DOCUMENT);
        check_document(SAVED);
    }
}

TEST(a_low_limit_of_stacks)
{
    static const rlim_t limits[] = {65536, 131072};
    for (size_t i = 0; i < RM_ARRAY_LEN(limits); i++) {
        run_again("exit", 0, RLIMIT_STACK, limits[i]);
        check_document(DOCUMENT);
    }
}

TEST(a_low_limit_of_the_address_space)
{
    static const size_t limits[] = {32, 40, 48, 64, 80, 100, 140, 180, 200, 240};
    int starts = 0;
    if (HAS_ADDRESS_SANITIZER || HAS_THREAD_SANITIZER) {
        print_message("skipped: sanitizers take an address space of terabytes\n");
        skip();
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(limits); i++) {
        run_again("memory", 0, RLIMIT_AS, limits[i] * MIB);
        if (strstr(again.text, "cannot start") != NULL) {
            assert_has(again.text, "of memory are left of RLIMIT_AS");
            assert_int_equal(starts, 0); /* less was too little, more would not be */
        } else {
            resmon_run *run = document(DOCUMENT);
            assert_true(has_function(run, "burn_on_it") || stack_reason(run)[0] != '\0');
            resmon_run_free(run);
            starts++;
        }
    }
    print_message("%d of %zu programs were observed\n", starts, RM_ARRAY_LEN(limits));
    assert_in_range(starts, 6, RM_ARRAY_LEN(limits));
}

TEST(a_start_leaves_room)
{
    struct rm_memory_room room = {.bytes = 32 * MIB, .limit = "RLIMIT_AS"};
    assert_ok(rm_address_space_decide(&room, 6 * MIB));
    room.bytes--;
    assert_status(RESMON_ENOMEM, rm_address_space_decide(&room, 6 * MIB));
    assert_string_equal(resmon_last_error(),
                        "only 32.0 MiB of memory are left of RLIMIT_AS: observing needs about 16.0 "
                        "MiB, which leaves the program less than 16.0 MiB");
    room.bytes = UINT64_MAX;
    assert_ok(rm_address_space_decide(&room, 6 * MIB));
}

TEST_FILE(.program = run_program, .missing = missing_documents);

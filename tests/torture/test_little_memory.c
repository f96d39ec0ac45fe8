/* SPDX-License-Identifier: MIT */
/*
 * A program whose address space is limited, and that is observed with stacks: whatever the limit,
 * it has the thread and the memory that it asks for, and the run is there, if only without names;
 * or the monitor says that it did not start, and why.  The program is this test, run again.
 */
#include "again.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <resmon/stack.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "engine/memory.h"
#include "os/memory_room.h"
#include "unit/sanitizer.h"

#define DOCUMENT "test_little_memory.json"
#define CPU_NS   (100 * RM_NS_PER_MS)
#define MIB      ((size_t)1 << 20)

/* ---- the program ------------------------------------------------------------------------ */

static volatile uint32_t number;

static void *burn(void *unused)
{
    (void)unused;
    int64_t until_ns = rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + CPU_NS;
    while (rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns) {
        for (uint32_t i = 0; i < 10000; i++) {
            number = number * 1664525U + i;
        }
    }
    return NULL;
}

static int run_program(char **words)
{
    (void)words;
    pthread_t thread;
    (void)alarm(60);
    if (pthread_create(&thread, NULL, burn, NULL) != 0) {
        return 3;
    }
    (void)pthread_join(thread, NULL);
    void *memory = malloc(4 * MIB);
    free(memory);
    return memory != NULL ? 0 : 4;
}

/* ---- the test --------------------------------------------------------------------------- */

/* What it writes to the standard error goes into `text`. */
static int run_again(size_t limit_bytes, char *text, size_t room)
{
    int ends[2], status = -1;
    size_t length = 0;
    ssize_t got;
    (void)unlink(DOCUMENT);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {limit_bytes, limit_bytes};
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)setenv("RESMON", "json=" DOCUMENT ",stacks=cpu+memory,interval=20ms", 1);
        if (setrlimit(RLIMIT_AS, &limit) == 0) {
            exec_this_file("program", NULL);
        }
        _exit(127);
    }
    (void)close(ends[1]);
    while ((got = read(ends[0], text + length, room - 1 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static bool has_names(const resmon_run *run)
{
    resmon_run_frame frame = {.struct_size = sizeof frame};
    for (size_t i = 0; i < resmon_run_stack_count(run); i++) {
        for (size_t j = 0; resmon_run_get_frame(run, i, j, &frame) == RESMON_OK; j++) {
            if (strcmp(frame.function, "burn") == 0) {
                return true;
            }
        }
    }
    return false;
}

static void check_document(const char *text)
{
    resmon_run *run = NULL;
    resmon_run_info info = {.struct_size = sizeof info};
    resmon_run_stack_info stacks = {.struct_size = sizeof stacks};
    if (access(DOCUMENT, R_OK) != 0) {
        print_error("%s\n", text);
    }
    assert_ok(resmon_run_load(DOCUMENT, &run));
    assert_ok(resmon_run_get_info(run, &info));
    assert_string_equal(info.state, "stopped");
    assert_ok(resmon_run_get_stack_info(run, RESMON_STACK_CPU, &stacks));
    assert_true(has_names(run) || stacks.reason[0] != '\0');
    resmon_run_free(run);
}

TEST(whatever_the_limit)
{
    static const size_t limits[] = {32, 40, 48, 64, 80, 100, 140, 180, 200, 240};
    static char text[65536];
    int starts = 0;
    if (HAS_ADDRESS_SANITIZER || HAS_THREAD_SANITIZER) {
        print_message("skipped: sanitizers take an address space of terabytes\n");
        skip();
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(limits); i++) {
        int result = run_again(limits[i] * MIB, text, sizeof text);
        if (result != 0) {
            print_error("%zu MiB: %d, %s\n", limits[i], result, text);
        }
        assert_int_equal(result, 0);
        if (strstr(text, "cannot start") != NULL) {
            assert_non_null(strstr(text, "of memory are left of RLIMIT_AS"));
            assert_int_equal(starts, 0); /* less was too little, more would not be */
        } else {
            check_document(text);
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

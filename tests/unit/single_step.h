/* SPDX-License-Identifier: MIT */
/*
 * Runs a piece of code in a child process one machine instruction at a time, and looks at the
 * memory that both share whenever it changed: what a reader finds after a kill at that instant.
 */
#ifndef RESMON_TESTS_SINGLE_STEP_H
#define RESMON_TESTS_SINGLE_STEP_H

#include "test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void *shared_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

/* Skips the test, aloud, where ptrace is not permitted.  Returns how many states were looked at. */
static inline size_t single_step(const void *memory, size_t bytes, void (*code)(void *context),
                                 void (*look)(void *context), void *context)
{
    size_t looks = 0;
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(77);
        }
        (void)raise(SIGSTOP);
        code(context);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status)) {
        print_message("skipped: ptrace is not permitted here\n");
        skip();
    }
    void *before = malloc(bytes);
    assert_non_null(before);
    memcpy(before, memory, bytes);
    for (;;) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status)) {
            break;
        }
        assert_true(WIFSTOPPED(status));
        if (WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGCONT) {
            continue; /* somebody stops all processes for a while */
        }
        assert_int_equal(WSTOPSIG(status), SIGTRAP);
        if (memcmp(before, memory, bytes) != 0) {
            memcpy(before, memory, bytes);
            look(context);
            looks++;
        }
    }
    free(before);
    assert_int_equal(WEXITSTATUS(status), 0);
    return looks;
}

#endif

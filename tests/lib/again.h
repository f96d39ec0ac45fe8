/* SPDX-License-Identifier: MIT */
/*
 * The program of a test file (TEST_FILE) under RESMON: what it wrote to stderr, and how it ended.
 */
#ifndef RESMON_TESTS_AGAIN_H
#define RESMON_TESTS_AGAIN_H

#include "test.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/json.h"

/* Why no run document can be read. */
static inline const char *missing_documents(void)
{
    return rm_json_check() != RESMON_OK ? resmon_last_error() : NULL;
}

/* How one was run, and what became of it. */
struct again {
    const char *resmon;   /* the variable; NULL: unset */
    const char *words[2]; /* for the program of its file */
    int resource;         /* RLIMIT_*, of which it has at most ... */
    rlim_t limit;         /* ... so many bytes; 0: as this process */
    pid_t pid;
    int error; /* reads its stderr */
    int exit_status;
    int signal_number; /* 0: it exited */
    char text[65536];
};

/* In the child, between fork and exec. */
static inline void again_exec(const struct again *again, int error)
{
    const struct rlimit limit = {again->limit, again->limit};
    (void)dup2(error, STDERR_FILENO);
    (void)close(error);
    (void)close(again->error);
    if (again->limit > 0 && setrlimit(again->resource, &limit) != 0) {
        _exit(126);
    }
    if (again->resmon != NULL) {
        (void)setenv("RESMON", again->resmon, 1);
    } else {
        (void)unsetenv("RESMON");
    }
    exec_this_file(again->words[0], again->words[1]);
    _exit(127);
}

static inline void again_start(struct again *again)
{
    int ends[2];
    (void)fflush(NULL);
    assert_int_equal(pipe(ends), 0);
    again->error = ends[0];
    again->pid = fork();
    assert_true(again->pid >= 0);
    if (again->pid == 0) {
        again_exec(again, ends[1]);
    }
    (void)close(ends[1]);
}

/* All that it says until nobody can say more, then its end. */
static inline void again_wait(struct again *again)
{
    size_t length = 0;
    ssize_t got;
    int status = -1;
    while ((got = read(again->error, again->text + length, sizeof again->text - 1 - length)) > 0) {
        length += (size_t)got;
    }
    again->text[length] = '\0';
    (void)close(again->error);
    assert_int_equal(waitpid(again->pid, &status, 0), again->pid);
    again->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    again->signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static inline void again_run(struct again *again)
{
    again_start(again);
    again_wait(again);
}

#endif

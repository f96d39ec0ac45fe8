/* SPDX-License-Identifier: MIT */
/*
 * Owns the processes of a benchmark, one at a time, and the signals that end it.
 */
#ifndef RESMON_CLI_BENCH_CHILD_H
#define RESMON_CLI_BENCH_CHILD_H

#include <stdbool.h>
#include <sys/resource.h>

#include "bench_commands.h"

/** From now on SIGINT, SIGTERM and SIGHUP end the benchmark, and are handed on to the process that
 * runs; what the caller ignores (nohup) stays ignored. */
void cli_bench_take_signals(void);

/** The signal that came; 0: none. */
int cli_bench_told_by(void);

/** Runs resmon itself, or a line of a shell, and waits.  What they print is thrown away, but for
 * what the shell has on stderr, unless `is_shown`.  The wait status; -1, and a line that says why:
 * there is no process. */
int cli_bench_run_self(char **words, bool is_shown);
int cli_bench_run_shell(const char *line, bool is_shown);

/* What a run without a monitor was: as whoever started it and waited for it has it. */
struct cli_bench_bare {
    double wall_s; /* until wait4(2) returned */
    int error;     /* errno of the start; 0: it has run */
    int status;    /* of wait4(2) */
    struct rusage usage;
    long starter_maxrss; /* ru_maxrss of the command is this at least: kB */
};

/** Forks a small process that starts the commands and waits for them: what it has is the least RSS
 * that they can have.  After cli_bench_take_signals().  False, and a line that says why. */
bool cli_bench_bare_open(const struct cli_bench_commands *commands, bool is_shown);

/** Runs that command.  False, and a line that says why: the small process is gone. */
bool cli_bench_bare_run(size_t command, struct cli_bench_bare *ret_run);
void cli_bench_bare_close(void);

#endif

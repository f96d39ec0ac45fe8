/* SPDX-License-Identifier: MIT */
/*
 * Owns the processes of a benchmark, one at a time, and the signals that end it.
 */
#ifndef RESMON_CLI_BENCH_CHILD_H
#define RESMON_CLI_BENCH_CHILD_H

#include <stdbool.h>

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

#endif

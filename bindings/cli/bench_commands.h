/* SPDX-License-Identifier: MIT */
/*
 * Owns the commands of a benchmark, as the command line has them: between "--".
 */
#ifndef RESMON_CLI_BENCH_COMMANDS_H
#define RESMON_CLI_BENCH_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#define CLI_BENCH_COMMANDS 64

struct cli_bench_command {
    char **words; /* ended by NULL */
    char *name;   /* as a line */
    char *shell[4];
    double total_s;   /* of its runs that count */
    double longest_s; /* of those that were observed */
};

struct cli_bench_commands {
    struct cli_bench_command at[CLI_BENCH_COMMANDS];
    size_t count;
};

/** Takes the words apart, which stay the caller's.  False, and a line that says why.  Free them in
 * any case. */
bool cli_bench_commands_read(struct cli_bench_commands *commands, char **words, size_t count);
void cli_bench_commands_free(struct cli_bench_commands *commands);

#endif

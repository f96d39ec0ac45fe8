/* SPDX-License-Identifier: MIT */
/*
 * Owns the table of the command's verbs (commands.def): their options, examples and help.
 */
#ifndef RESMON_CLI_COMMAND_H
#define RESMON_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/option.h>

/* Traits of a verb. */
#define CLI_OBSERVES 1U /* takes the options of monitors and sinks */
#define CLI_PUSHES   2U /* takes those of sinks that send to servers */
#define CLI_TABLE    4U /* prints a table; --json: as JSON */
#define CLI_RUNS     8U /* ends with a command of the user's */

/* Exit statuses of our own. */
#define CLI_FAILED         1
#define CLI_USAGE          2
#define CLI_INCONCLUSIVE   3   /* of comparisons */
#define CLI_RUN_FAILED     125 /* of verbs that run a command */
#define CLI_NOT_EXECUTABLE 126
#define CLI_NOT_FOUND      127

struct cli_option {
    int verb;
    const char *key;
    char letter;          /* '\0': none */
    const char *argument; /* NULL: none; "[X]": may be left out */
    const char *help;
};

struct cli_example {
    int verb;
    const char *line, *what;
};

/** An option of the library that help shows on its first screen. */
struct cli_common {
    const char *group, *key;
};

struct cli_arguments;

struct cli_command {
    const char *name;
    unsigned traits;
    const char *arguments, *summary, *text;
    int (*run)(const struct cli_arguments *arguments);
};

/** NULL past the end. */
const struct cli_command *cli_command_at(size_t index);

/** NULL: there is none of that name. */
const struct cli_command *cli_command_find(const char *name);

/** The one after `before` (NULL: the first) of the verb's; NULL past the end. */
const struct cli_option *cli_option_after(const struct cli_command *command,
                                          const struct cli_option *before);
const struct cli_example *cli_example_after(const struct cli_command *command,
                                            const struct cli_example *before);

/** Whether an option of the library is one of scopes, which programs record for themselves. */
bool cli_is_of_scopes(const char *key);

/** Whether an option of the library is one of the verb's. */
bool cli_command_takes(const struct cli_command *command, const resmon_option *option);

/** In the order in which help shows them; NULL past the end. */
const struct cli_common *cli_common_at(size_t index);

/** False: there is no such option. */
bool cli_common_find(const struct cli_common *common, resmon_option *ret_option);

#define CLI_KEY_BYTES 64

/** Its name as RESMON has it: "interval", "json", "json.interval". */
void cli_option_name(const resmon_option *option, char name[CLI_KEY_BYTES]);

/** Whether it takes a value on the command line: 0: none, 1: it does, 2: it may be left out. */
int cli_option_has_value(const resmon_option *option);

/** Letters to insert, remove, exchange or swap with a neighbor, to make one word of the other. */
size_t cli_distance(const char *a, const char *b);

/* What each verb does; the exit status. */
#define CLI_COMMAND(name, ...) int cli_##name(const struct cli_arguments *arguments);
#include "commands.def"

#endif

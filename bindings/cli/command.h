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
#define CLI_PUSHES   2U /* takes the options of sinks that send to servers */
#define CLI_TABLE    4U /* prints a table; --json: as JSON */
#define CLI_RUNS     8U /* the arguments end with a user's command */

/* Exit statuses of resmon itself. */
#define CLI_FAILED         1
#define CLI_USAGE          2
#define CLI_INCONCLUSIVE   3   /* of comparisons */
#define CLI_RUN_FAILED     125 /* verbs that run a command: resmon failed */
#define CLI_NOT_EXECUTABLE 126
#define CLI_NOT_FOUND      127

struct cli_example {
    int verb;
    const char *line, *what;
};

#define CLI_KEY_BYTES 64

/* An option on the command line: of the verb, or of the library. */
struct cli_flag {
    char key[CLI_KEY_BYTES]; /* as in the variable RESMON: "interval", "json", "json.interval" */
    char letter;             /* '\0': none */
    int has_value;           /* 0: no value, 1: a value, 2: an optional value */
    char argument[32];       /* what help calls the value: "FILE", "DURATION" */
    const char *help;
    const resmon_option *library; /* NULL: option of the verb */
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

/** NULL: there is no such verb. */
const struct cli_command *cli_command_find(const char *name);

/** The next example of a verb after `before` (NULL: the first one); NULL past the end. */
const struct cli_example *cli_example_after(const struct cli_command *command,
                                            const struct cli_example *before);

/** Prints the help of a verb, one screen or all of it; NULL: of the whole command.  False: stdout
 * cannot be written. */
bool cli_help_print(const struct cli_command *command, bool is_all);

/** A verb for shell completions, not shown in the help.  `words`: the command line up to the word
 * to complete.  Prints each candidate, a tab and its help; or "@command N" if a user's command
 * begins at word N.  Returns the exit status. */
int cli_complete(char *const *words, size_t count);

/** Whether a library option is about scopes, which programs record themselves. */
bool cli_is_of_scopes(const char *key);

/* Whether resmon push sends runs to this sink. */
bool cli_is_pushed_to(const char *sink);

/** Visits all options of a verb: help, its own options, library options.  The pointer `library` of
 * a flag is valid during the visit only. */
void cli_each_option(const struct cli_command *command,
                     void (*visit)(const struct cli_flag *flag, void *context), void *context);

/** Edit distance of two words: insertions, deletions, substitutions, transpositions. */
size_t cli_distance(const char *a, const char *b);

/* Each verb is a function that returns the exit status. */
#define CLI_COMMAND(name, ...) int cli_##name(const struct cli_arguments *arguments);
#include "commands.def"

#endif

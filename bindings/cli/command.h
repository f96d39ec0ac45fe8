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

struct cli_example {
    int verb;
    const char *line, *what;
};

#define CLI_KEY_BYTES 64

/* An option of a verb on the command line: its own, or one of the library. */
struct cli_flag {
    char key[CLI_KEY_BYTES]; /* as RESMON has it: "interval", "json", "json.interval" */
    char letter;             /* '\0': none */
    int has_value;           /* 0: none, 1: it has, 2: it may be left out */
    char argument[32];       /* what help calls the value: "FILE", "DURATION" */
    const char *help;
    const resmon_option *library; /* NULL: the verb's own */
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
const struct cli_example *cli_example_after(const struct cli_command *command,
                                            const struct cli_example *before);

/** Help of a verb: one screen, or all; NULL: of the command as a whole.  False: stdout cannot be
 * written to. */
bool cli_help_print(const struct cli_command *command, bool is_all);

/** A verb that completions of shells use, and help does not show: the words of a command line up to
 * the one that is completed.  Prints what may stand there, with a tab before its help; or
 * "@command N": from word N on, it is a command of the user's.  The exit status. */
int cli_complete(char *const *words, size_t count);

/** Whether an option of the library is one of scopes, which programs record for themselves. */
bool cli_is_of_scopes(const char *key);

/** Visits all options that a verb takes: those of help, its own, those of the library.  What a flag
 * points to as `library` lives as long as the visit. */
void cli_each_option(const struct cli_command *command,
                     void (*visit)(const struct cli_flag *flag, void *context), void *context);

/** Letters to insert, remove, exchange or swap with a neighbor, to make one word of the other. */
size_t cli_distance(const char *a, const char *b);

/* What each verb does; the exit status. */
#define CLI_COMMAND(name, ...) int cli_##name(const struct cli_arguments *arguments);
#include "commands.def"

#endif

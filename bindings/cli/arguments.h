/* SPDX-License-Identifier: MIT */
/*
 * Owns the command line: read by getopt_long(3), by the table of the verb and that of the library's
 * options.
 */
#ifndef RESMON_CLI_ARGUMENTS_H
#define RESMON_CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "command.h"

#define CLI_STDOUT "/dev/stdout" /* what -o - stands for */

/* A text that grows. */
struct cli_text {
    char *text; /* NULL: nothing yet */
    size_t length, room;
};

void cli_text_put(struct cli_text *text, const char *bytes, size_t length);

/** Adds an option, as RESMON has them ("key=value,key"), its value in quotes where that needs them;
 * `value` NULL: the key alone. */
void cli_text_add(struct cli_text *text, const char *key, const char *value);
void cli_text_free(struct cli_text *text);

/* The words of a command, ended by NULL. */
struct cli_words {
    char **at;
    size_t count;
};

/** Adds a word, made of a format. */
__attribute__((format(printf, 2, 3))) void cli_words_add(struct cli_words *words,
                                                         const char *format, ...);
void cli_words_free(struct cli_words *words);

struct cli_said {
    const char *key;
    const char *value; /* NULL: none */
};

struct cli_arguments {
    const struct cli_command *command;
    char **words; /* what is no option, ended by NULL */
    size_t word_count;
    size_t words_before;   /* "--"; without it all of them */
    struct cli_said *said; /* the verb's own options, in order */
    size_t said_count;
    struct cli_said *of_library; /* the library's, by their names in RESMON */
    size_t of_library_count;
    char **hidden; /* values that were put over in the command line */
    size_t hidden_count;
};

/** False, and a line that says why: the command line is wrong.  `argv` begins with the verb. */
bool cli_arguments_read(const struct cli_command *command, int argc, char **argv,
                        struct cli_arguments *ret_arguments);
void cli_arguments_free(struct cli_arguments *arguments);

/** Value `index` of an option of the verb that is repeatable; NULL past the end, and without a
 * value. */
const char *cli_value_at(const struct cli_arguments *arguments, const char *key, size_t index);

/** The last value of an option; NULL: it was not said, or has none. */
const char *cli_value(const struct cli_arguments *arguments, const char *key);
bool cli_has(const struct cli_arguments *arguments, const char *key);

/** Adds what was said of the library's options, as options of a command of ours. */
void cli_words_add_said(struct cli_words *words, const struct cli_arguments *arguments);

/** A time, "30s", "1.5min", in seconds; false, and a line that says why.  Nothing is said: `ret`
 * stays. */
bool cli_duration(const struct cli_arguments *arguments, const char *key, double *ret);

/** A number of that range; false, and a line that says why.  Nothing is said: `ret` stays. */
bool cli_number(const struct cli_arguments *arguments, const char *key, double low, double high,
                double *ret);

/** Whether there are that many words; else false, and a line that says what is missing. */
bool cli_needs_words(const struct cli_arguments *arguments, size_t least, size_t most);

/** Of a command line that is wrong: where help is; the exit status. */
int cli_wrong(const struct cli_command *command);

#endif

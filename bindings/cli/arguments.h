/* SPDX-License-Identifier: MIT */
/*
 * Owns the command line, which is parsed by getopt_long(3) with the tables of verbs and of library
 * options.
 */
#ifndef RESMON_CLI_ARGUMENTS_H
#define RESMON_CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "command.h"

#define CLI_STDOUT "/dev/stdout" /* -o - */

/* A text that grows. */
struct cli_text {
    char *text; /* NULL: empty */
    size_t length, capacity;
};

void cli_text_put(struct cli_text *text, const char *bytes, size_t length);

/** Adds an option in the syntax of the variable RESMON ("key=value,key"), with quotes and escapes;
 * `value` NULL: the key alone. */
void cli_text_add(struct cli_text *text, const char *key, const char *value);
void cli_text_free(struct cli_text *text);

/** Returns a formatted text; free it. */
__attribute__((format(printf, 1, 2))) char *cli_format(const char *format, ...);

/* The words of a command, ended by NULL. */
struct cli_words {
    char **at;
    size_t count;
};

/** Adds a formatted word. */
__attribute__((format(printf, 2, 3))) void cli_words_add(struct cli_words *words,
                                                         const char *format, ...);

/** Adds words of another list, ended by NULL. */
void cli_words_add_all(struct cli_words *words, char *const *more);
void cli_words_free(struct cli_words *words);

/** Joins words by spaces.  Free the result. */
char *cli_line_of(char *const *words, size_t count);

struct cli_given {
    const char *key;
    const char *value; /* NULL: none */
};

struct cli_arguments {
    const struct cli_command *command;
    char **words; /* all but options, ended by NULL */
    size_t word_count;
    size_t words_before;     /* words before "--"; without it, all words */
    struct cli_given *given; /* options of the verb, in order */
    size_t given_count;
    struct cli_given *of_library; /* library options, by their names in the variable RESMON */
    size_t of_library_count;
    char **kept; /* names of labels, and copies of secrets, which are overwritten in the command
                    line */
    size_t kept_count;
};

/** Parses a command line; `argv` begins with the verb.  False, and a message: it is wrong. */
bool cli_arguments_read(const struct cli_command *command, int argc, char **argv,
                        struct cli_arguments *ret_arguments);
void cli_arguments_free(struct cli_arguments *arguments);

/** Value `index` of a repeatable option of the verb; NULL: past the end, or without a value. */
const char *cli_value_at(const struct cli_arguments *arguments, const char *key, size_t index);

/** The last value of an option; NULL: not given, or without a value. */
const char *cli_value(const struct cli_arguments *arguments, const char *key);
bool cli_has(const struct cli_arguments *arguments, const char *key);

/** Adds the given library options as words of another resmon command. */
void cli_words_add_given(struct cli_words *words, const struct cli_arguments *arguments);

/** Reads a duration, such as "30s" or "1.5min", in seconds.  Without the option, `ret` is
 * unchanged. False, and a message: it is no duration. */
bool cli_duration(const struct cli_arguments *arguments, const char *key, double *ret);

/** Reads a number of a range.  Without the option, `ret` is unchanged.  False, and a message: it is
 * not in the range. */
bool cli_number(const struct cli_arguments *arguments, const char *key, double low, double high,
                double *ret);

/** Whether the number of words is right; false, and a message: it is not. */
bool cli_needs_words(const struct cli_arguments *arguments, size_t least, size_t most);

/** Points to the help after a wrong command line; returns the exit status. */
int cli_wrong(const struct cli_command *command);

#endif

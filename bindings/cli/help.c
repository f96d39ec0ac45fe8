/* SPDX-License-Identifier: MIT */
#include "help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/report.h>
#include <resmon/version.h>

#include "arguments.h"
#include "say.h"

#define WIDTH  100
#define INDENT 6
#define MARGIN 2

/* ---- text for a terminal ------------------------------------------------------------------ */

/* Words of a text in lines, `indent` from the left; "\n" in it begins a line. */
static void print_wrapped(const char *text, unsigned indent)
{
    unsigned width = cli_columns(1);
    width = width == 0 || width > WIDTH ? WIDTH : width;
    unsigned column = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, " \n");
        if (column > 0 && column + 1 + length > width) {
            (void)putchar('\n');
            column = 0;
        }
        int spaces = column == 0 ? (int)indent : 1;
        (void)printf("%*s%.*s", length > 0 ? spaces : 0, "", (int)length, text);
        column += length > 0 ? (unsigned)spaces + (unsigned)length : 0;
        text += length;
        if (*text == '\n') {
            (void)putchar('\n');
            column = 0;
        }
        text += *text != '\0' ? 1 : 0;
    }
    (void)putchar('\n');
}

static void print_option(const struct cli_option *option)
{
    bool is_optional = option->argument != NULL && option->argument[0] == '[';
    (void)printf("%*s", MARGIN, "");
    if (option->letter != '\0') {
        (void)printf("-%c, ", option->letter);
    }
    (void)printf("--%s", option->key);
    if (is_optional) {
        (void)printf("[=%s", option->argument + 1);
    } else if (option->argument != NULL) {
        (void)printf("=%s", option->argument);
    }
    (void)putchar('\n');
    print_wrapped(option->help, INDENT);
}

/* "interval=DURATION" as "--interval=DURATION", with bounds, default and names. */
static void print_library_option(const resmon_option *option)
{
    char name[CLI_KEY_BYTES];
    char text[1024];
    int value = cli_option_has_value(option);
    cli_option_name(option, name);
    (void)printf("%*s--%s", MARGIN, "", name);
    if (strcmp(option->type, "labels") == 0) {
        (void)printf(".NAME=TEXT");
    } else if (value != 0) {
        (void)printf("%s", value == 2 ? "[=" : "=");
        for (const char *at = option->type; *at != '\0'; at++) {
            (void)putchar(*at - 'a' + 'A');
        }
        (void)printf("%s", value == 2 ? "]" : "");
    }
    (void)putchar('\n');
    (void)snprintf(text, sizeof text, "%s%s%s%s%s%s%s%s", option->help,
                   option->values[0] != '\0' ? "; of " : "", option->values,
                   option->low[0] != '\0' ? "; " : "", option->low,
                   option->low[0] != '\0' ? " to " : "", option->high,
                   option->default_text[0] != '\0' ? "; default " : "");
    (void)strncat(text, option->default_text, sizeof text - strlen(text) - 1);
    print_wrapped(text, INDENT);
}

static bool is_any_of_library(const struct cli_command *command)
{
    return (command->traits & (CLI_OBSERVES | CLI_PUSHES)) != 0;
}

static void print_library_options(const struct cli_command *command)
{
    for (size_t i = 0; i < resmon_option_count(); i++) {
        resmon_option option = {.struct_size = sizeof option};
        if (resmon_option_at(i, &option) == RESMON_OK && cli_command_takes(command, &option)) {
            print_library_option(&option);
        }
    }
}

static void print_examples(const struct cli_command *command)
{
    const struct cli_example *example = NULL;
    while ((example = cli_example_after(command, example)) != NULL) {
        (void)printf("%*s%s\n", MARGIN, "", example->line);
        if (example->what[0] != '\0') {
            print_wrapped(example->what, INDENT);
        }
    }
}

static void print_command(const struct cli_command *command)
{
    const struct cli_option *option = NULL;
    print_examples(command);
    (void)printf("\nUsage: resmon %s [OPTION]... %s\n\n", command->name, command->arguments);
    print_wrapped(command->text, 0);
    (void)printf("\nOptions:\n");
    while ((option = cli_option_after(command, option)) != NULL) {
        print_option(option);
    }
    if ((command->traits & CLI_TABLE) != 0) {
        (void)printf("%*s--json\n", MARGIN, "");
        print_wrapped("the same as JSON: a list of objects, figures in SI units", INDENT);
    }
    if (is_any_of_library(command)) {
        (void)printf("\nOptions of the library, as in the variable RESMON:\n");
        print_library_options(command);
    }
}

static void print_all(void)
{
    const struct cli_command *command;
    (void)printf("resmon: time, CPU, memory, I/O, energy and CO2eq of programs.\n\n");
    print_examples(cli_command_find("run"));
    (void)printf("\nCommands:\n");
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        (void)printf("%*s%-10s%s\n", MARGIN, "", command->name, command->summary);
    }
    (void)printf("\n'resmon help COMMAND' has examples and options of each.\n");
}

bool cli_help_print(const struct cli_command *command)
{
    if (command != NULL) {
        print_command(command);
    } else {
        print_all();
    }
    return cli_print("help", "");
}

/* ---- the verb ----------------------------------------------------------------------------- */

static int print_options(void)
{
    char *text = NULL;
    if (resmon_option_text(&text) != RESMON_OK) {
        cli_say("help", "%s", resmon_last_error());
        return CLI_FAILED;
    }
    bool is_printed = cli_print("help", text);
    resmon_text_free(text);
    return is_printed ? 0 : CLI_FAILED;
}

int cli_help(const struct cli_arguments *arguments)
{
    const char *shell = cli_value(arguments, "completion");
    if (!cli_needs_words(arguments, 0, 1)) {
        return cli_wrong(arguments->command);
    }
    if (cli_has(arguments, "man") || shell != NULL) {
        return (shell != NULL ? cli_help_completion(shell) : cli_help_manual()) ? 0 : CLI_FAILED;
    }
    const char *word = arguments->word_count > 0 ? arguments->words[0] : NULL;
    if (word != NULL && strcmp(word, "options") == 0) {
        return print_options();
    }
    const struct cli_command *command = word != NULL ? cli_command_find(word) : NULL;
    if (word != NULL && command == NULL) {
        cli_say("help", "there is no command '%.64s'", word);
        return CLI_USAGE;
    }
    return cli_help_print(command) ? 0 : CLI_FAILED;
}

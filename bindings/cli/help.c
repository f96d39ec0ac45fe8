/* SPDX-License-Identifier: MIT */
#include "help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/report.h>
#include <resmon/version.h>

#include "arguments.h"
#include "say.h"

#define WIDTH        100
#define INDENT       6
#define MARGIN       2
#define SCREEN       80 /* columns of help on one screen */
#define SHORT_INDENT 30
#define EXAMPLES     3
#define USAGE        (sizeof "Usage:")

/* ---- text for a terminal ------------------------------------------------------------------ */

static unsigned width_of(unsigned most)
{
    unsigned width = cli_columns(1);
    return width == 0 || width > most ? most : width;
}

/* Words of a text in lines, `indent` from the left; "\n" in it begins a line.  `column`: what the
 * first line has already. */
static void wrap(const char *text, unsigned indent, unsigned column, unsigned width)
{
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

static void print_wrapped(const char *text, unsigned indent)
{
    wrap(text, indent, 0, width_of(WIDTH));
}

/* A name, and its text in the column behind it. */
static void print_beside(const char *name, unsigned indent, const char *text)
{
    int written = printf("%*s%-*s", MARGIN, "", (int)indent - MARGIN - 1, name);
    bool does_fit = written >= 0 && (unsigned)written < indent;
    (void)printf("%s", does_fit ? "" : "\n");
    wrap(text, indent, does_fit ? (unsigned)written : 0, width_of(SCREEN));
}

/* "-o, --output=FILE", "    --lines[=FUNCTION]". */
struct flag {
    char text[CLI_KEY_BYTES + 64];
};

static struct flag flag_of(const char *key, char letter, const char *argument, bool is_optional)
{
    struct flag flag;
    const char front[] = {letter != '\0' ? '-' : ' ', letter != '\0' ? letter : ' ',
                          letter != '\0' ? ',' : ' ', '\0'};
    const char *before = argument == NULL ? "" : is_optional ? "[=" : "=";
    (void)snprintf(flag.text, sizeof flag.text, "%s --%s%s%s%s", front, key, before,
                   argument != NULL ? argument : "", is_optional ? "]" : "");
    return flag;
}

static struct flag flag_of_own(const struct cli_option *option)
{
    char name[32] = "";
    bool is_optional = option->argument != NULL && option->argument[0] == '[';
    if (option->argument != NULL) {
        const char *from = option->argument + (is_optional ? 1 : 0);
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(from, "]"), from);
    }
    return flag_of(option->key, option->letter, option->argument != NULL ? name : NULL,
                   is_optional);
}

static struct flag flag_of_library(const resmon_option *option)
{
    char key[CLI_KEY_BYTES], name[32] = "";
    int value = cli_option_has_value(option);
    cli_option_name(option, key);
    if (strcmp(option->type, "labels") == 0) {
        (void)strncat(key, ".NAME", sizeof key - strlen(key) - 1);
        return flag_of(key, '\0', "TEXT", false);
    }
    for (size_t i = 0; option->type[i] != '\0' && i + 1 < sizeof name; i++) {
        name[i] = (char)(option->type[i] - 'a' + 'A');
    }
    return flag_of(key, '\0', value != 0 ? name : NULL, value == 2);
}

static bool is_any_of_library(const struct cli_command *command)
{
    return (command->traits & (CLI_OBSERVES | CLI_PUSHES)) != 0;
}

static void print_head(const struct cli_command *command)
{
    char usage[256];
    (void)printf("resmon %s: %s\n\nUsage:", command->name, command->summary);
    (void)snprintf(usage, sizeof usage, "resmon %s [OPTION]... %s", command->name,
                   command->arguments);
    wrap(usage, USAGE, USAGE - 1, width_of(SCREEN));
    (void)putchar('\n');
}

/* ---- one screen --------------------------------------------------------------------------- */

/* Up to where details begin. */
static size_t first_clause(const char *help)
{
    static const char *const ends[] = {"; ", ": ", ". ", " ("};
    size_t length = strlen(help);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *end = strstr(help, ends[i]);
        length = end != NULL && (size_t)(end - help) < length ? (size_t)(end - help) : length;
    }
    return length;
}

static void print_short(const struct flag *flag, const char *help, const char *values)
{
    char clause[256];
    bool has_values = values[0] != '\0';
    (void)snprintf(clause, sizeof clause, "%.*s%s%s", (int)first_clause(help), help,
                   has_values ? ": " : "", values);
    print_beside(flag->text, SHORT_INDENT, clause);
}

static bool find_sink(const char *name, resmon_sink_kind *ret_kind)
{
    for (size_t i = 0; resmon_sink_kind_at(i, ret_kind) == RESMON_OK; i++) {
        if (strcmp(ret_kind->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The options of the library that most people need, by group. */
static void print_common(const struct cli_command *command)
{
    const struct cli_common *common;
    const char *group = "";
    for (size_t i = 0; (common = cli_common_at(i)) != NULL; i++) {
        resmon_option option = {.struct_size = sizeof option};
        if (!cli_common_find(common, &option) || !cli_command_takes(command, &option)) {
            continue;
        }
        if (strcmp(group, common->group) != 0) {
            (void)printf("%s:\n", common->group);
            group = common->group;
        }
        const struct flag flag = flag_of_library(&option);
        resmon_sink_kind sink = {.struct_size = sizeof sink};
        bool is_sink = find_sink(option.owner, &sink);
        print_short(&flag, is_sink ? sink.help : option.help, is_sink ? "" : option.values);
    }
}

static void print_screen(const struct cli_command *command)
{
    const struct cli_option *option = NULL;
    const struct cli_example *example = NULL;
    print_head(command);
    for (int i = 0; i < EXAMPLES && (example = cli_example_after(command, example)) != NULL; i++) {
        (void)printf("%*s%s\n", MARGIN, "", example->line);
    }
    bool has_own = cli_option_after(command, NULL) != NULL || (command->traits & CLI_TABLE) != 0;
    (void)printf("%s", has_own ? "\nOptions:\n" : "\n");
    while ((option = cli_option_after(command, option)) != NULL) {
        const struct flag flag = flag_of_own(option);
        print_short(&flag, option->help, "");
    }
    if ((command->traits & CLI_TABLE) != 0) {
        print_short(&(struct flag){"    --json"}, "print JSON", "");
    }
    print_common(command);
    (void)printf("\n'resmon %s --help-all' has %s, and more examples.\n", command->name,
                 is_any_of_library(command) ? "all options" : "details");
}

/* ---- all ---------------------------------------------------------------------------------- */

static void print_option(const struct cli_option *option)
{
    const struct flag flag = flag_of_own(option);
    (void)printf("%*s%s\n", option->letter != '\0' ? MARGIN : 0, "",
                 flag.text + (option->letter != '\0' ? 0 : MARGIN));
    print_wrapped(option->help, INDENT);
}

/* With bounds, names and default. */
static void print_library_option(const resmon_option *option)
{
    const struct flag flag = flag_of_library(option);
    char text[1024];
    (void)printf("%s\n", flag.text + MARGIN);
    (void)snprintf(text, sizeof text, "%s%s%s%s%s%s%s%s%s", option->help,
                   option->values[0] != '\0' ? "; of " : "", option->values,
                   option->low[0] != '\0' ? "; " : "", option->low,
                   option->low[0] != '\0' ? " to " : "", option->high,
                   option->default_text[0] != '\0' ? "; default " : "", option->default_text);
    print_wrapped(text, INDENT);
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
    print_head(command);
    print_wrapped(command->text, 0);
    (void)printf("\nExamples:\n");
    print_examples(command);
    (void)printf("\nOptions:\n");
    while ((option = cli_option_after(command, option)) != NULL) {
        print_option(option);
    }
    if ((command->traits & CLI_TABLE) != 0) {
        (void)printf("%*s--json\n", MARGIN, "");
        print_wrapped("the same as JSON: a list of objects, values in SI units", INDENT);
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

bool cli_help_print(const struct cli_command *command, bool is_all)
{
    if (command != NULL && is_all) {
        print_command(command);
    } else if (command != NULL) {
        print_screen(command);
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
    if (shell != NULL) {
        return cli_help_completion(shell) ? 0 : CLI_FAILED;
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
    return cli_help_print(command, cli_has(arguments, "all")) ? 0 : CLI_FAILED;
}

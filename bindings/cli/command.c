/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* clang-format off */
enum {
#define CLI_COMMAND(name, ...) VERB_##name,
#include "commands.def"
};

static const struct cli_command commands[] = {
#define CLI_COMMAND(name_, traits_, arguments_, summary_, text_)                                 \
    {.name = #name_, .traits = (traits_), .arguments = (arguments_), .summary = (summary_), \
     .text = (text_), .run = cli_##name_},
#include "commands.def"
};

/* An option of a verb. */
struct option {
    int verb;
    char letter; /* '\0': none */
    const char *key;
    const char *argument; /* NULL: none; "[X]": optional */
    const char *help;
};

static const struct option options[] = {
#define CLI_OPTION(name, key, letter, argument, help) {VERB_##name, letter, key, argument, help},
#include "commands.def"
};

static const struct cli_example examples[] = {
#define CLI_EXAMPLE(name, line, what) {VERB_##name, line, what},
#include "commands.def"
};

/* clang-format on */

const struct cli_command *cli_command_at(size_t index)
{
    return index < COUNT(commands) ? &commands[index] : NULL;
}

const struct cli_command *cli_command_find(const char *name)
{
    for (size_t i = 0; i < COUNT(commands); i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

const struct cli_example *cli_example_after(const struct cli_command *command,
                                            const struct cli_example *before)
{
    for (size_t i = before != NULL ? (size_t)(before - examples) + 1 : 0; i < COUNT(examples);
         i++) {
        if (examples[i].verb == (int)(command - commands)) {
            return &examples[i];
        }
    }
    return NULL;
}

/* ---- options ------------------------------------------------------------------------------ */

bool cli_is_of_scopes(const char *key)
{
    return strncmp(key, "scope", 5) == 0 || strcmp(key, "max_meter_share") == 0;
}

/* Library options that the command sets itself, or that only programs with the library have. */
static bool is_reserved(const struct cli_command *command, const char *key)
{
    static const char *const keys[] = {"pid", "job", "command", "signals", "log", "help", "events"};
    if (cli_is_of_scopes(key)) {
        return (command->traits & CLI_RUNS) ==
               0; /* programs that already run cannot be configured */
    }
    for (size_t i = 0; i < COUNT(keys); i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool takes(const struct cli_command *command, const resmon_option *option)
{
    if ((command->traits & CLI_PUSHES) != 0) {
        return cli_is_pushed_to(option->owner);
    }
    bool is_of_sink = strcmp(option->owner, "monitor") != 0 &&
                      strcmp(option->owner, "environment") != 0 &&
                      strcmp(option->owner, "carbon") != 0;
    return (command->traits & CLI_OBSERVES) != 0 &&
           (is_of_sink || !is_reserved(command, option->key));
}

static int has_value(const resmon_option *option)
{
    if (strcmp(option->type, "flag") == 0) {
        return 0;
    }
    bool may_be_left_out =
        option->is_main != 0 && option->is_needed == 0 && strcmp(option->owner, "carbon") != 0;
    return option->has_bare != 0 || may_be_left_out ? 2 : 1;
}

static struct cli_flag flag_of_own(const struct option *option)
{
    struct cli_flag flag = {.letter = option->letter, .help = option->help};
    const char *argument = option->argument;
    (void)snprintf(flag.key, sizeof flag.key, "%s", option->key);
    if (argument != NULL) {
        flag.has_value = argument[0] == '[' ? 2 : 1;
        argument += argument[0] == '[' ? 1 : 0;
        (void)snprintf(flag.argument, sizeof flag.argument, "%.*s", (int)strcspn(argument, "]"),
                       argument);
    }
    return flag;
}

static struct cli_flag flag_of_library(const resmon_option *option)
{
    struct cli_flag flag = {
        .has_value = has_value(option), .help = option->help, .library = option};
    bool is_plain =
        strcmp(option->owner, "monitor") == 0 || strcmp(option->owner, "environment") == 0;
    (void)snprintf(flag.key, sizeof flag.key, "%s%s%s", is_plain ? "" : option->owner,
                   is_plain || option->is_main != 0 ? "" : ".",
                   is_plain || option->is_main == 0 ? option->key : "");
    for (size_t i = 0; option->type[i] != '\0' && i + 1 < sizeof flag.argument; i++) {
        flag.argument[i] = (char)(option->type[i] - 'a' + 'A');
    }
    return flag;
}

void cli_each_option(const struct cli_command *command,
                     void (*visit)(const struct cli_flag *flag, void *context), void *context)
{
    static const struct cli_flag help = {.key = "help", .letter = 'h', .help = "show the help"};
    static const struct cli_flag all = {.key = "help-all", .help = "show all of the help"};
    static const struct cli_flag json = {
        .key = "json", .help = "print JSON: a list of objects, values in SI units"};
    visit(&help, context);
    visit(&all, context);
    for (size_t i = 0; i < COUNT(options); i++) {
        if (options[i].verb == (int)(command - commands)) {
            const struct cli_flag flag = flag_of_own(&options[i]);
            visit(&flag, context);
        }
    }
    if ((command->traits & CLI_TABLE) != 0) {
        visit(&json, context);
    }
    for (size_t i = 0; i < resmon_option_count(); i++) {
        resmon_option option = {.struct_size = sizeof option};
        if (resmon_option_at(i, &option) == RESMON_OK && takes(command, &option)) {
            const struct cli_flag flag = flag_of_library(&option);
            visit(&flag, context);
        }
    }
}

/* ---- suggestions -------------------------------------------------------------------------- */

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Keeps three rows of the table of distances between prefixes of the words. */
size_t cli_distance(const char *a, const char *b)
{
    size_t rows[3][CLI_KEY_BYTES + 1];
    const size_t long_a = strlen(a), long_b = strlen(b);
    if (long_a > CLI_KEY_BYTES || long_b > CLI_KEY_BYTES) {
        return long_a + long_b;
    }
    for (size_t i = 0; i <= long_a; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= long_b; j++) {
            if (i == 0) {
                row[j] = j;
                continue;
            }
            row[j] = least_of(above[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0),
                              least_of(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = least_of(row[j], second[j - 2] + 1);
            }
        }
    }
    return rows[long_a % 3][long_b];
}

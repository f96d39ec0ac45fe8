/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* clang-format off */
enum {
#define CLI_COMMAND(name, ...) VERB_##name,
#include "commands.def"
    VERBS
};

static const struct cli_command commands[] = {
#define CLI_COMMAND(name_, traits_, arguments_, summary_, text_)                                 \
    {.name = #name_, .traits = (traits_), .arguments = (arguments_), .summary = (summary_), \
     .text = (text_), .run = cli_##name_},
#include "commands.def"
};

static const struct cli_option options[] = {
#define CLI_OPTION(name, key, letter, argument, help) {VERB_##name, key, letter, argument, help},
#include "commands.def"
};

static const struct cli_example examples[] = {
#define CLI_EXAMPLE(name, line, what) {VERB_##name, line, what},
#include "commands.def"
};

static const struct cli_common commons[] = {
#define CLI_COMMON(group, key) {group, key},
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

const struct cli_option *cli_option_after(const struct cli_command *command,
                                          const struct cli_option *before)
{
    for (size_t i = before != NULL ? (size_t)(before - options) + 1 : 0; i < COUNT(options); i++) {
        if (options[i].verb == (int)(command - commands)) {
            return &options[i];
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

/* ---- options of the library --------------------------------------------------------------- */

bool cli_is_of_scopes(const char *key)
{
    return strncmp(key, "scope", 5) == 0 || strcmp(key, "max_meter_share") == 0;
}

/* Which the command says itself, or that are of a program that the library is in. */
static bool is_ours(const struct cli_command *command, const char *key)
{
    static const char *const keys[] = {"pid", "command", "signals", "log", "help", "events"};
    if (cli_is_of_scopes(key)) {
        return (command->traits & CLI_RUNS) == 0; /* what runs already is not asked */
    }
    for (size_t i = 0; i < COUNT(keys); i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool cli_command_takes(const struct cli_command *command, const resmon_option *option)
{
    if ((command->traits & CLI_PUSHES) != 0) {
        return strcmp(option->owner, "mlflow") == 0 || strcmp(option->owner, "pushgateway") == 0;
    }
    bool is_of_sink = strcmp(option->owner, "monitor") != 0 &&
                      strcmp(option->owner, "environment") != 0 &&
                      strcmp(option->owner, "carbon") != 0;
    return (command->traits & CLI_OBSERVES) != 0 && (is_of_sink || !is_ours(command, option->key));
}

void cli_option_name(const resmon_option *option, char name[CLI_KEY_BYTES])
{
    bool is_plain =
        strcmp(option->owner, "monitor") == 0 || strcmp(option->owner, "environment") == 0;
    (void)snprintf(name, CLI_KEY_BYTES, "%s%s%s", is_plain ? "" : option->owner,
                   is_plain || option->is_main != 0 ? "" : ".",
                   is_plain || option->is_main == 0 ? option->key : "");
}

int cli_option_has_value(const resmon_option *option)
{
    if (strcmp(option->type, "flag") == 0) {
        return 0;
    }
    bool may_be_left_out =
        option->is_main != 0 && option->is_needed == 0 && strcmp(option->owner, "carbon") != 0;
    return option->has_bare != 0 || may_be_left_out ? 2 : 1;
}

const struct cli_common *cli_common_at(size_t index)
{
    return index < COUNT(commons) ? &commons[index] : NULL;
}

bool cli_common_find(const struct cli_common *common, resmon_option *ret_option)
{
    char name[CLI_KEY_BYTES];
    for (size_t i = 0; i < resmon_option_count(); i++) {
        if (resmon_option_at(i, ret_option) == RESMON_OK) {
            cli_option_name(ret_option, name);
            if (strcmp(name, common->key) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* ---- words that are nearly right ---------------------------------------------------------- */

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Three rows of the table of distances between beginnings of the words. */
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

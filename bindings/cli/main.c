/* SPDX-License-Identifier: MIT */
/*
 * The command resmon.  commands.def has its verbs, each of which has a file.
 */
#include <stdio.h>
#include <string.h>

#include <resmon/version.h>

#include "arguments.h"
#include "say.h"

static int refuse_verb(const char *word)
{
    const char *nearest = NULL;
    size_t least = 3;
    const struct cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        size_t distance = cli_distance(word, command->name);
        if (distance < least) {
            least = distance;
            nearest = command->name;
        }
    }
    if (nearest != NULL) {
        cli_say(NULL, "there is no command '%.64s': did you mean 'resmon %s'?", word, nearest);
    } else {
        cli_say(NULL, "there is no command '%.64s'; a program is run by 'resmon run -- %.64s'",
                word, word);
    }
    return CLI_USAGE;
}

static int run_verb(const struct cli_command *command, int argc, char **argv)
{
    struct cli_arguments arguments;
    int result;
    if (!cli_arguments_read(command, argc, argv, &arguments)) {
        result = cli_wrong(command);
    } else if (cli_has(&arguments, "help") || cli_has(&arguments, "help-all")) {
        bool is_all = cli_has(&arguments, "help-all");
        result = cli_help_print(command, is_all) ? 0 : CLI_FAILED;
    } else {
        result = command->run(&arguments);
    }
    cli_arguments_free(&arguments);
    return result;
}

/* The library in this program executes this program under the name "resmon-names" to symbolize
 * addresses (lib/reader/names/names.h). */
int rm_names_main(void);

int main(int argc, char **argv)
{
    if (argc == 1 && strcmp(argv[0], "resmon-names") == 0) {
        return rm_names_main();
    }
    const char *word = argc > 1 ? argv[1] : "--help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        return printf("resmon %s\n", resmon_version()) > 0 && fflush(stdout) == 0 ? 0 : CLI_FAILED;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return cli_help_print(NULL, false) ? argc > 1 ? 0 : CLI_USAGE : CLI_FAILED;
    }
    if (strcmp(word, "complete") == 0) {
        return cli_complete(argv + 2, (size_t)argc - 2);
    }
    const struct cli_command *command = cli_command_find(word);
    return command != NULL ? run_verb(command, argc - 1, argv + 1) : refuse_verb(word);
}

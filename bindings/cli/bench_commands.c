/* SPDX-License-Identifier: MIT */
#include "bench_commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "say.h"

static char *join(char **words)
{
    size_t room = 1, used = 0;
    for (size_t i = 0; words[i] != NULL; i++) {
        room += strlen(words[i]) + 1;
    }
    char *line = cli_grow(NULL, room);
    line[0] = '\0';
    for (size_t i = 0; words[i] != NULL; i++) {
        used += (size_t)snprintf(line + used, room - used, "%s%s", i > 0 ? " " : "", words[i]);
    }
    return line;
}

/* One word with spaces is a line of a shell. */
static void add_command(struct cli_bench_commands *commands, char **words)
{
    struct cli_bench_command *command = &commands->at[commands->count++];
    command->name = join(words);
    command->words = words;
    if (words[1] == NULL && strchr(words[0], ' ') != NULL) {
        static char shell[] = "/bin/sh", option[] = "-c";
        command->shell[0] = shell;
        command->shell[1] = option;
        command->shell[2] = words[0];
        command->words = command->shell;
    }
}

/* "--" stands between them. */
static bool split(struct cli_bench_commands *commands, char **words, size_t count)
{
    for (size_t first = 0, at = 0; at <= count; at++) {
        bool is_end = at == count || strcmp(words[at], "--") == 0;
        if (!is_end) {
            continue;
        }
        if (at == first || commands->count == CLI_BENCH_COMMANDS) {
            cli_say("bench", at == first ? "a command is missing" : "there are too many commands");
            return false;
        }
        words[at] = NULL;
        add_command(commands, words + first);
        first = at + 1;
    }
    return true;
}

/* Two of one line are two commands all the same. */
static void tell_apart(struct cli_bench_commands *commands)
{
    for (size_t i = 1; i < commands->count; i++) {
        size_t alike = 1;
        for (size_t k = 0; k < i; k++) {
            alike += strcmp(commands->at[k].name, commands->at[i].name) == 0 ? 1 : 0;
        }
        if (alike > 1) {
            size_t room = strlen(commands->at[i].name) + 16;
            char *name = cli_grow(NULL, room);
            (void)snprintf(name, room, "%s (%zu)", commands->at[i].name, alike);
            free(commands->at[i].name);
            commands->at[i].name = name;
        }
    }
}

bool cli_bench_commands_read(struct cli_bench_commands *commands, char **words, size_t count)
{
    bool is_right = split(commands, words, count);
    tell_apart(commands);
    return is_right;
}

void cli_bench_commands_free(struct cli_bench_commands *commands)
{
    for (size_t i = 0; i < commands->count; i++) {
        free(commands->at[i].name);
    }
}

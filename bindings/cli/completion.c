/* SPDX-License-Identifier: MIT */
/* Completions for bash, zsh and fish. */
#include <stdio.h>
#include <string.h>

#include "help.h"
#include "say.h"

/* A flag of a verb: `value` 0: it has none, 1: it has one, 2: that may be left out. */
typedef void (*print_flag_fn)(const struct cli_command *command, const struct cli_option *flag,
                              int value);

static void print_library_flags(const struct cli_command *command, print_flag_fn print)
{
    for (size_t i = 0; i < resmon_option_count(); i++) {
        resmon_option option = {.struct_size = sizeof option};
        char name[CLI_KEY_BYTES];
        if (resmon_option_at(i, &option) == RESMON_OK && cli_command_takes(command, &option)) {
            cli_option_name(&option, name);
            print(command, &(struct cli_option){.key = name, .help = option.help},
                  cli_option_has_value(&option));
        }
    }
}

static void print_flags(const struct cli_command *command, print_flag_fn print)
{
    static const struct cli_option help = {.key = "help", .letter = 'h', .help = "show the help"};
    static const struct cli_option json = {.key = "json", .help = "print JSON"};
    const struct cli_option *own = NULL;
    print(command, &help, 0);
    if ((command->traits & CLI_TABLE) != 0) {
        print(command, &json, 0);
    }
    while ((own = cli_option_after(command, own)) != NULL) {
        print(command, own, own->argument == NULL ? 0 : own->argument[0] == '[' ? 2 : 1);
    }
    print_library_flags(command, print);
}

static void print_names(void)
{
    const struct cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        (void)printf("%s%s", i > 0 ? " " : "", command->name);
    }
}

/* In quotes of a shell, and with '\' before what else has a meaning there. */
static void print_quoted(const char *text, const char *masked)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            (void)printf("'\\''");
        } else {
            (void)printf(strchr(masked, *text) != NULL ? "\\%c" : "%c",
                         *text != '\n' ? *text : ' ');
        }
    }
}

/* ---- bash --------------------------------------------------------------------------------- */

static void print_bash_flag(const struct cli_command *command, const struct cli_option *flag,
                            int value)
{
    (void)command;
    (void)printf(" --%s%s", flag->key, value == 1 ? "=" : "");
}

/* Behind the command of the user's comes what completes that. */
static const char bash_end[] =
    "    esac\n"
    "    case $verb in run|baseline)\n"
    "        for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "            case ${COMP_WORDS[i]} in\n"
    "            --) i=$((i + 1)) ;;\n"
    "            -*|=) continue ;;\n"
    "            esac\n"
    "            [ \"${COMP_WORDS[i-1]}\" != = ] || continue\n"
    "            if [ \"$i\" -lt \"$COMP_CWORD\" ] && declare -F _command_offset >/dev/null; then\n"
    "                _command_offset $i\n"
    "            elif [ \"$i\" -lt \"$COMP_CWORD\" ]; then\n"
    "                compopt -o default\n"
    "            else\n"
    "                COMPREPLY=($(compgen -c -- \"$current\"))\n"
    "            fi\n"
    "            return\n"
    "        done ;;\n"
    "    esac\n"
    "    case $current in\n"
    "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n"
    "        case ${COMPREPLY[0]-} in *=) compopt -o nospace ;; esac ;;\n"
    "    *) case $verb in\n"
    "       run|baseline) COMPREPLY=($(compgen -c -- \"$current\")) ;;\n"
    "       help) COMPREPLY=($(compgen -W \"$verbs options\" -- \"$current\")) ;;\n"
    "       *) compopt -o default ;;\n"
    "       esac ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _resmon resmon\n";

static void print_bash(void)
{
    const struct cli_command *command;
    (void)printf("# Made by: resmon help --completion=bash\n"
                 "_resmon()\n{\n"
                 "    local current=${COMP_WORDS[COMP_CWORD]} flags= verb=${COMP_WORDS[1]} i\n"
                 "    local verbs=\"");
    print_names();
    (void)printf("\"\n    COMPREPLY=()\n"
                 "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                 "        COMPREPLY=($(compgen -W \"$verbs --help --version\" -- \"$current\"))\n"
                 "        return\n    fi\n    case $verb in\n");
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        (void)printf("    %s) flags=\"", command->name);
        print_flags(command, print_bash_flag);
        (void)printf("\" ;;\n");
    }
    (void)fputs(bash_end, stdout);
}

/* ---- zsh ---------------------------------------------------------------------------------- */

static void print_zsh_flag(const struct cli_command *command, const struct cli_option *flag,
                           int value)
{
    (void)command;
    (void)printf("            '--%s%s[", flag->key, value == 1 ? "=" : value == 2 ? "=-" : "");
    print_quoted(flag->help, "[]:\\");
    (void)printf("]%s' \\\n", value == 0 ? "" : value == 1 ? ":value:_files" : "::value:_files");
}

static void print_zsh(void)
{
    const struct cli_command *command;
    (void)printf("#compdef resmon\n# Made by: resmon help --completion=zsh\n"
                 "_resmon() {\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        (void)printf("        '%s:", command->name);
        print_quoted(command->summary, ":\\");
        (void)printf("'\n");
    }
    (void)printf("    )\n    if (( CURRENT == 2 )); then\n"
                 "        _describe command commands\n        return\n    fi\n"
                 "    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
                 "    case $verb in\n");
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        (void)printf("        %s)\n            _arguments -S \\\n", command->name);
        print_flags(command, print_zsh_flag);
        (void)printf("            '*:%s' ;;\n",
                     (command->traits & CLI_RUNS) != 0 ? ":command:_normal" : "file:_files");
    }
    (void)printf("    esac\n}\n_resmon \"$@\"\n");
}

/* ---- fish --------------------------------------------------------------------------------- */

static void print_fish_flag(const struct cli_command *command, const struct cli_option *flag,
                            int value)
{
    (void)printf("complete -c resmon -n '__fish_seen_subcommand_from %s' -l '%s'", command->name,
                 flag->key);
    if (flag->letter != '\0') {
        (void)printf(" -s %c", flag->letter);
    }
    (void)printf("%s -d '", value == 1 ? " -r" : "");
    for (const char *at = flag->help; *at != '\0'; at++) {
        (void)printf(*at == '\'' || *at == '\\' ? "\\%c" : "%c", *at != '\n' ? *at : ' ');
    }
    (void)printf("'\n");
}

static void print_fish(void)
{
    const struct cli_command *command;
    (void)printf("# Made by: resmon help --completion=fish\n");
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        (void)printf("complete -c resmon -f -n __fish_use_subcommand -a %s -d '%s'\n",
                     command->name, command->summary);
        print_flags(command, print_fish_flag);
        if ((command->traits & CLI_RUNS) != 0) {
            (void)printf("complete -c resmon -n '__fish_seen_subcommand_from %s' -x -a "
                         "'(__fish_complete_subcommand)'\n",
                         command->name);
        }
    }
}

bool cli_help_completion(const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].print();
            return cli_print("help", "");
        }
    }
    cli_say("help", "there are completions for bash, zsh and fish; '%.32s' is none of these",
            shell);
    return false;
}

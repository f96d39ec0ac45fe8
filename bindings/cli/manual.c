/* SPDX-License-Identifier: MIT */
/* The manual page, as roff. */
#include <stdio.h>
#include <string.h>

#include <resmon/version.h>

#include "help.h"
#include "say.h"

/* What roff would take for its own: '\', '-' that is no hyphen, and a control character in front
 * of a line. */
static void print_roff(const char *text)
{
    bool is_first = true;
    for (; *text != '\0'; text++) {
        if (is_first && (*text == '.' || *text == '\'')) {
            (void)printf("\\&");
        }
        if (*text == '\\') {
            (void)printf("\\e");
        } else if (*text == '-') {
            (void)printf("\\-");
        } else if (*text == '\n' && text[1] == '\n') {
            (void)printf("\n.PP");
        } else {
            (void)putchar(*text);
        }
        is_first = *text == '\n';
    }
    (void)putchar('\n');
}

static void print_option(const char *key, char letter, const char *argument, const char *help)
{
    bool is_optional = argument != NULL && argument[0] == '[';
    const char *name = argument != NULL ? argument + (is_optional ? 1 : 0) : "";
    (void)printf(".TP\n");
    if (letter != '\0') {
        (void)printf("\\fB\\-%c\\fR, ", letter);
    }
    (void)printf("\\fB\\-\\-%s\\fR", key);
    if (argument != NULL) {
        (void)printf("%s\\fI%.*s\\fR%s", is_optional ? "[=" : "=", (int)strcspn(name, "]"), name,
                     is_optional ? "]" : "");
    }
    (void)putchar('\n');
    print_roff(help);
}

static void print_examples(const struct cli_command *command)
{
    const struct cli_example *example = NULL;
    (void)printf(".PP\n.EX\n");
    while ((example = cli_example_after(command, example)) != NULL) {
        print_roff(example->line);
    }
    (void)printf(".EE\n");
}

static void print_command(const struct cli_command *command)
{
    const struct cli_option *option = NULL;
    (void)printf(".SS resmon %s [OPTION]... ", command->name);
    print_roff(command->arguments);
    print_roff(command->text);
    while ((option = cli_option_after(command, option)) != NULL) {
        print_option(option->key, option->letter, option->argument, option->help);
    }
    if ((command->traits & CLI_TABLE) != 0) {
        print_option("json", '\0', NULL,
                     "the same as JSON: a list of objects, figures in SI units");
    }
    if ((command->traits & CLI_OBSERVES) != 0) {
        (void)printf(".PP\nAnd the options of the library, below.\n");
    } else if ((command->traits & CLI_PUSHES) != 0) {
        (void)printf(".PP\nAnd the options of the sinks mlflow and pushgateway, below.\n");
    }
    print_examples(command);
}

static void print_library(void)
{
    const struct cli_command *run = cli_command_find("run");
    for (size_t i = 0; i < resmon_option_count(); i++) {
        resmon_option option = {.struct_size = sizeof option};
        char name[CLI_KEY_BYTES];
        char argument[32];
        if (resmon_option_at(i, &option) == RESMON_OK && cli_command_takes(run, &option)) {
            int value = cli_option_has_value(&option);
            (void)snprintf(argument, sizeof argument, "%s%s", value == 2 ? "[" : "", option.type);
            cli_option_name(&option, name);
            print_option(name, '\0', value != 0 ? argument : NULL, option.help);
        }
    }
}

bool cli_help_manual(void)
{
    const struct cli_command *command;
    (void)printf(".TH RESMON 1 \"\" \"resmon %s\" \"User Commands\"\n", resmon_version());
    (void)printf(".SH NAME\nresmon \\- time, CPU, memory, I/O, energy and CO2eq of programs\n"
                 ".SH SYNOPSIS\n.B resmon\n\\fICOMMAND\\fR [\\fIOPTION\\fR]... "
                 "[\\fIARGUMENT\\fR]...\n.SH COMMANDS\n");
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        print_command(command);
    }
    (void)printf(".SH OPTIONS OF THE LIBRARY\nThese are the keys of the variable RESMON.\n");
    print_library();
    (void)printf(".SH EXIT STATUS\nOf \\fBresmon run\\fR: that of the command; 125: resmon itself "
                 "failed; 126: the command cannot be executed; 127: it was not found; a signal "
                 "that killed it ends resmon, too.  Of the others: 0, 1 for a failure, 2 for a "
                 "wrong command line.\n.SH SEE ALSO\n.BR time (1),\n.BR perf (1)\n");
    return cli_print("help", "");
}

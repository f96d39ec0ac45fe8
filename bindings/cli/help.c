/* SPDX-License-Identifier: MIT */
/* Help and shell completions, generated from commands.def and the library's tables of options. */
#include <stdio.h>
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

/* Prints a text wrapped at `width`, indented by `indent`; "\n" in it begins a line.  `column`:
 * columns of the first line that are already printed. */
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

/* Prints a name, and its text in the next column. */
static void print_beside(const char *name, unsigned indent, const char *text)
{
    int written = printf("%*s%-*s", MARGIN, "", (int)indent - MARGIN - 1, name);
    bool does_fit = written >= 0 && (unsigned)written < indent;
    (void)printf("%s", does_fit ? "" : "\n");
    wrap(text, indent, does_fit ? (unsigned)written : 0, width_of(SCREEN));
}

/* "-o, --output=FILE", "    --lines[=FUNCTION]". */
struct shown {
    char text[CLI_KEY_BYTES + 64];
};

static struct shown shown_of(const struct cli_flag *flag)
{
    struct shown shown;
    const char front[] = {flag->letter != '\0' ? '-' : ' ',
                          flag->letter != '\0' ? flag->letter : ' ',
                          flag->letter != '\0' ? ',' : ' ', '\0'};
    bool is_label = flag->library != NULL && strcmp(flag->library->type, "labels") == 0;
    const char *argument = is_label ? "NAME=VALUE" : flag->has_value != 0 ? flag->argument : "";
    bool is_optional = flag->has_value == 2 && !is_label;
    (void)snprintf(shown.text, sizeof shown.text, "%s --%s%s%s%s", front, flag->key,
                   argument[0] == '\0' ? ""
                   : is_optional       ? "[="
                                       : "=",
                   argument, is_optional ? "]" : "");
    return shown;
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

/* The length of the text before details begin. */
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

static void print_short(const struct cli_flag *flag, const char *help, const char *values)
{
    char clause[256];
    const struct shown shown = shown_of(flag);
    (void)snprintf(clause, sizeof clause, "%.*s%s%s", (int)first_clause(help), help,
                   values[0] != '\0' ? ": " : "", values);
    print_beside(shown.text, SHORT_INDENT, clause);
}

/* Options of the verb, but not those for help, which the last line of the screen has. */
static bool is_own(const struct cli_flag *flag)
{
    return flag->library == NULL && strncmp(flag->key, "help", 4) != 0;
}

static void print_short_own(const struct cli_flag *flag, void *unused)
{
    (void)unused;
    if (is_own(flag)) {
        print_short(flag, flag->help, "");
    }
}

/* A library option on the first screen. */
struct common {
    const char *group, *key;
};

static const struct common commons[] = {
#define CLI_COMMON(group, key) {group, key},
#include "commands.def"
};

struct wanted {
    const struct common *common;
    const char *group; /* the last heading that was printed */
};

static bool find_sink(const char *name, resmon_sink_kind *ret_kind)
{
    for (size_t i = 0; resmon_sink_kind_at(i, ret_kind) == RESMON_OK; i++) {
        if (strcmp(ret_kind->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void print_wanted(const struct cli_flag *flag, void *context)
{
    struct wanted *wanted = context;
    resmon_sink_kind sink = {.struct_size = sizeof sink};
    if (flag->library == NULL || strcmp(flag->key, wanted->common->key) != 0) {
        return;
    }
    if (strcmp(wanted->group, wanted->common->group) != 0) {
        (void)printf("%s:\n", wanted->common->group);
        wanted->group = wanted->common->group;
    }
    bool is_sink = find_sink(flag->library->owner, &sink);
    print_short(flag, is_sink ? sink.help : flag->help, is_sink ? "" : flag->library->values);
}

static void count_own(const struct cli_flag *flag, void *count)
{
    *(size_t *)count += is_own(flag) ? 1 : 0;
}

static void print_screen(const struct cli_command *command)
{
    const struct cli_example *example = NULL;
    struct wanted wanted = {.group = ""};
    size_t own = 0;
    print_head(command);
    for (int i = 0; i < EXAMPLES && (example = cli_example_after(command, example)) != NULL; i++) {
        (void)printf("%*s%s\n", MARGIN, "", example->line);
    }
    cli_each_option(command, count_own, &own);
    (void)printf("%s", own > 0 ? "\nOptions:\n" : "\n");
    cli_each_option(command, print_short_own, NULL);
    for (size_t i = 0; i < sizeof commons / sizeof *commons; i++) {
        wanted.common = &commons[i];
        cli_each_option(command, print_wanted, &wanted);
    }
    (void)printf("\n'resmon %s --help-all' has %s, and more examples.\n", command->name,
                 is_any_of_library(command) ? "all options" : "details");
}

/* ---- all ---------------------------------------------------------------------------------- */

static void print_flag(const struct cli_flag *flag, void *has_heading)
{
    const struct shown shown = shown_of(flag);
    const resmon_option *option = flag->library;
    char text[1024];
    if (option == NULL && !is_own(flag)) {
        return;
    }
    if (option != NULL && !*(bool *)has_heading) {
        (void)printf("\nOptions of the library, as in the variable RESMON:\n");
        *(bool *)has_heading = true;
    }
    (void)printf("%*s%s\n", flag->letter != '\0' ? MARGIN : 0, "",
                 shown.text + (flag->letter != '\0' ? 0 : MARGIN));
    if (option == NULL) {
        print_wrapped(flag->help, INDENT);
        return;
    }
    (void)snprintf(text, sizeof text, "%s%s%s%s%s%s%s%s%s", option->help,
                   option->values[0] != '\0' ? "; of " : "", option->values,
                   option->low[0] != '\0' ? "; " : "", option->low,
                   option->low[0] != '\0' ? " to " : "", option->high,
                   option->default_text[0] != '\0' ? "; default " : "", option->default_text);
    print_wrapped(text, INDENT);
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
    bool has_heading = false;
    print_head(command);
    print_wrapped(command->text, 0);
    (void)printf("\nExamples:\n");
    print_examples(command);
    (void)printf("\nOptions:\n");
    cli_each_option(command, print_flag, &has_heading);
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

/* ---- completions of shells ---------------------------------------------------------------- */

static void print_candidate(const struct cli_flag *flag, void *unused)
{
    (void)unused;
    (void)printf("--%s%s\t%.*s\n", flag->key, flag->has_value == 1 ? "=" : "",
                 (int)strcspn(flag->help, "\n"), flag->help);
}

static void print_verbs(void)
{
    const struct cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        (void)printf("%s\t%s\n", command->name, command->summary);
    }
}

/* Index of the first word of the user's command; `last`: the word to complete, or no command yet.
 * Shells may split an option at '=' into several words. */
static size_t command_begin(char *const *words, size_t last)
{
    size_t at = 1;
    while (at < last && (words[at][0] == '-' || words[at][0] == '=' || words[at - 1][0] == '=')) {
        if (strcmp(words[at++], "--") == 0) {
            break;
        }
    }
    return at;
}

static void complete(const struct cli_command *command, char *const *words, size_t last)
{
    size_t begin = command_begin(words, last);
    bool is_value = words[last][0] == '=' || words[last - 1][0] == '=';
    bool is_behind = begin < last || strcmp(words[last - 1], "--") == 0;
    bool is_option = words[last][0] == '-' && !is_behind;
    if (is_option) {
        cli_each_option(command, print_candidate, NULL);
    } else if ((command->traits & CLI_RUNS) != 0 && !is_value) {
        (void)printf("@command %zu\n", begin + 1);
    } else if (strcmp(command->name, "help") == 0) {
        print_verbs();
        (void)printf("options\tall options of monitors and sinks\n");
    }
}

int cli_complete(char *const *words, size_t count)
{
    const struct cli_command *command = count > 1 ? cli_command_find(words[0]) : NULL;
    if (command != NULL) {
        complete(command, words, count - 1);
    } else if (count <= 1) {
        print_verbs();
        (void)printf("--help\tshow the help\n--version\tshow the version\n");
    }
    return cli_print("complete", "") ? 0 : CLI_FAILED;
}

static const struct {
    const char *name, *script;
} shells[] = {
    {"bash",
     "_resmon()\n{\n"
     "    local current=${COMP_WORDS[COMP_CWORD]} lines\n"
     "    COMPREPLY=()\n"
     "    mapfile -t lines < <(\"${COMP_WORDS[0]}\" complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
     "2>/dev/null)\n"
     "    if [[ ${lines[0]-} == @command* ]] && declare -F _command_offset >/dev/null; then\n"
     "        _command_offset \"${lines[0]#* }\"\n"
     "    elif [[ ${lines[0]-} == \"@command $COMP_CWORD\" ]]; then\n"
     "        COMPREPLY=($(compgen -c -- \"$current\"))\n"
     "    else\n"
     "        COMPREPLY=($(compgen -W \"${lines[*]%%$'\\t'*}\" -- \"$current\"))\n"
     "        [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace\n"
     "        [[ ${#COMPREPLY[@]} -gt 0 ]] || compopt -o default\n"
     "    fi\n"
     "}\n"
     "complete -F _resmon resmon\n"},
    {"zsh", "#compdef resmon\n"
            "_resmon() {\n"
            "    local -a lines=(\"${(@f)$($words[1] complete \"${(@)words[2,CURRENT]}\" "
            "2>/dev/null)}\")\n"
            "    local -a plain=(${lines:#*=$'\\t'*}) valued=(${(M)lines:#*=$'\\t'*})\n"
            "    if [[ $lines[1] == @command* ]]; then\n"
            "        shift ${lines[1]#* } words\n"
            "        (( CURRENT -= ${lines[1]#* } ))\n"
            "        _normal\n"
            "    elif [[ -n $lines[1] ]]; then\n"
            "        plain=(${plain/$'\\t'/:}) valued=(${valued/$'\\t'/:})\n"
            "        _describe resmon plain -- valued -S ''\n"
            "    else\n"
            "        _files\n"
            "    fi\n"
            "}\n"
            "_resmon \"$@\"\n"},
    {"fish", "function __resmon\n"
             "    set -l current (commandline -ct)\n"
             "    set -l words (commandline -opc) \"$current\"\n"
             "    set -l lines ($words[1] complete $words[2..-1] 2>/dev/null)\n"
             "    if string match -q '@command*' -- $lines[1]\n"
             "        __fish_complete_subcommand --fcs-skip=2\n"
             "    else if set -q lines[1]\n"
             "        printf '%s\\n' $lines\n"
             "    else\n"
             "        __fish_complete_path \"$current\"\n"
             "    end\n"
             "end\n"
             "complete -c resmon -f -a '(__resmon)'\n"},
};

static bool print_script(const char *shell)
{
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shell, shells[i].name) == 0) {
            return cli_print("help", shells[i].script);
        }
    }
    cli_say("help", "there are completions for bash, zsh and fish; '%.32s' is none of these",
            shell);
    return false;
}

/* ---- the verb ----------------------------------------------------------------------------- */

static int print_options(void)
{
    char *text = NULL;
    const resmon_status status = resmon_option_text(&text);
    return cli_print_made("help", status, text) ? 0 : CLI_FAILED;
}

int cli_help(const struct cli_arguments *arguments)
{
    const char *shell = cli_value(arguments, "completion");
    if (!cli_needs_words(arguments, 0, 1)) {
        return cli_wrong(arguments->command);
    }
    if (shell != NULL) {
        return print_script(shell) ? 0 : CLI_FAILED;
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

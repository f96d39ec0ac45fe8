/* SPDX-License-Identifier: MIT */
/* resmon show: one table of a run; resmon metrics: the list of all metrics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "output.h"
#include "say.h"

#define CATALOGUE "catalogue"

#define UNBROKEN 100000 /* columns: in a pipe, each row is one line */

static char *table_of(const struct cli_arguments *arguments, const resmon_run *run,
                      const char *name, const char *match)
{
    char *text = NULL;
    const resmon_table_options options = {
        .struct_size = sizeof options,
        .form = cli_has(arguments, "json") ? RESMON_TABLE_JSON : RESMON_TABLE_TEXT,
        .width = isatty(STDOUT_FILENO) ? cli_columns(STDOUT_FILENO) : UNBROKEN,
        .match = match,
    };
    (void)cli_check(arguments->command->name, resmon_report_table(run, name, &options, &text));
    return text;
}

static bool is_table(const char *name)
{
    struct cli_text known = {.text = NULL};
    for (size_t i = 0; resmon_table_name(i) != NULL; i++) {
        const char *one = resmon_table_name(i);
        if (strcmp(one, CATALOGUE) == 0) {
            continue;
        }
        if (strcmp(one, name) == 0) {
            cli_text_free(&known);
            return true;
        }
        cli_text_put(&known, ", ", i > 0 ? 2 : 0);
        cli_text_put(&known, one, strlen(one));
    }
    cli_say("show", "there is no table '%.32s': %s", name, known.text);
    cli_text_free(&known);
    return false;
}

int cli_show(const struct cli_arguments *arguments)
{
    const char *match = cli_value(arguments, "match");
    const char *name = arguments->word_count > 1 ? arguments->words[1] : "metrics";
    if (!cli_needs_words(arguments, 1, 2) || !is_table(name)) {
        return cli_wrong(arguments->command);
    }
    resmon_run *run = cli_output_load("show", arguments->words[0]);
    char *text = run != NULL ? table_of(arguments, run, name, match) : NULL;
    if (text != NULL && text[0] == '\0') {
        cli_say("show", "%s has no %s%s%s", arguments->words[0], name,
                match != NULL ? " with " : "", match != NULL ? match : "");
    }
    bool is_printed = text != NULL && cli_print("show", text);
    resmon_text_free(text);
    resmon_run_free(run);
    return is_printed ? 0 : CLI_FAILED;
}

int cli_metrics(const struct cli_arguments *arguments)
{
    char *match = cli_line_of(arguments->words, arguments->word_count);
    char *text = table_of(arguments, NULL, CATALOGUE, match);
    bool is_there = text != NULL && text[0] != '\0' && strcmp(text, "[]\n") != 0;
    if (text != NULL && !is_there) {
        cli_say("metrics", "there is no metric whose name contains '%.64s'", arguments->words[0]);
    }
    bool is_printed = is_there && cli_print("metrics", text);
    resmon_text_free(text);
    free(match);
    return is_printed ? 0 : CLI_FAILED;
}

/* SPDX-License-Identifier: MIT */
/* resmon report and resmon recover: the report of a run from its file. */
#define _GNU_SOURCE /* open_memstream */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <resmon/merge.h>
#include <resmon/report.h>
#include <resmon/stack.h>

#include "arguments.h"
#include "output.h"
#include "say.h"

static char *text_of(const struct cli_arguments *arguments, const resmon_run *run, double width)
{
    char *text = NULL;
    const resmon_report_options options = {
        .struct_size = sizeof options,
        .detail = cli_has(arguments, "full") ? RESMON_REPORT_FULL : RESMON_REPORT_BRIEF,
        .width = width > 0.0 ? (uint64_t)width : cli_columns(STDOUT_FILENO),
    };
    const char *form = cli_value(arguments, "form");
    resmon_status status = form != NULL ? resmon_job_text(run, form, &text)
                           : cli_has(arguments, "lines")
                               ? resmon_report_lines(run, cli_value(arguments, "lines"), &text)
                               : resmon_report_text(run, &options, &text);
    return cli_check(arguments->command->name, status) ? text : NULL;
}

/* Stacks of one kind of functions, if that is wanted. */
static void choose_frames(const struct cli_arguments *arguments, resmon_run *run)
{
    if (cli_has(arguments, "python") || cli_has(arguments, "native")) {
        (void)resmon_run_keep_frames(run, cli_has(arguments, "python") ? RESMON_FRAMES_PYTHON
                                                                       : RESMON_FRAMES_NATIVE);
    }
}

static bool report_one(const struct cli_arguments *arguments, const char *path, double width,
                       FILE *to)
{
    resmon_run *run = cli_output_load(arguments->command->name, path);
    if (run != NULL) {
        choose_frames(arguments, run);
    }
    char *text = run != NULL ? text_of(arguments, run, width) : NULL;
    bool is_there = text != NULL && fputs(text, to) >= 0;
    resmon_text_free(text);
    resmon_run_free(run);
    return is_there;
}

static bool report_all(const struct cli_arguments *arguments, double width, FILE *to)
{
    bool is_well = true;
    for (size_t i = 0; i < arguments->word_count; i++) {
        if (arguments->word_count > 1) {
            (void)fprintf(to, "%s%s:\n", i > 0 ? "\n" : "", arguments->words[i]);
        }
        is_well &= report_one(arguments, arguments->words[i], width, to);
    }
    return is_well;
}

/* Renders all reports first, as files are replaced atomically. */
static bool write_file(const struct cli_arguments *arguments, double width, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    bool is_well = memory != NULL && report_all(arguments, width, memory);
    is_well = memory != NULL && fclose(memory) == 0 && is_well;
    is_well = text != NULL && cli_store_write("report", path, text) && is_well;
    free(text);
    return is_well;
}

/* Writes one page with all runs. */
static bool write_page(const struct cli_arguments *arguments, const char *path, const char *form)
{
    const resmon_page_options options = {.struct_size = sizeof options,
                                         .form = strcmp(form, "html") == 0 ? RESMON_PAGE_HTML
                                                                           : RESMON_PAGE_MARKDOWN,
                                         .plots = cli_value(arguments, "plot")};
    const size_t count = arguments->word_count;
    resmon_run **runs = cli_output_load_all("report", arguments->words, count);
    if (runs == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        choose_frames(arguments, runs[i]);
    }
    bool is_well = cli_check(
        "report", resmon_report_save((const resmon_run *const *)runs, count, &options, path));
    cli_output_free_all(runs, count);
    return is_well;
}

/* Writes the report to a file, in the form of its ending. */
static int write_output(const struct cli_arguments *arguments, double width, const char *output)
{
    const char *form = cli_output_form(output);
    bool is_page = form != NULL && (strcmp(form, "html") == 0 || strcmp(form, "markdown") == 0);
    bool is_well;
    if (cli_python_shows(output)) {
        is_well = cli_python_show("report", arguments->words, arguments->word_count, output,
                                  cli_value(arguments, "plot"));
    } else {
        is_well =
            is_page ? write_page(arguments, output, form) : write_file(arguments, width, output);
    }
    return is_well ? 0 : CLI_FAILED;
}

/* Whether the report has charts, if some are wanted. */
static bool may_plot(const struct cli_arguments *arguments, const char *output)
{
    const char *form = output != NULL ? cli_output_form(output) : NULL;
    bool has_charts =
        (form != NULL && strcmp(form, "html") == 0) || (output != NULL && cli_python_shows(output));
    if (cli_has(arguments, "plot") && !has_charts) {
        cli_say("report", "--plot draws charts: with -o FILE.html, .pdf, .png or .svg");
        return false;
    }
    return true;
}

/* Whether the output can have the frames that are wanted. */
static bool may_choose(const struct cli_arguments *arguments, const char *output)
{
    bool chooses = cli_has(arguments, "python") || cli_has(arguments, "native");
    if (chooses && output != NULL && cli_python_shows(output)) {
        cli_say("report", "--python and --native are for text, Markdown and HTML");
        return false;
    }
    return true;
}

int cli_report(const struct cli_arguments *arguments)
{
    static const char *const endings[] = {".html", ".htm", ".md",  ".markdown", ".txt",
                                          ".pdf",  ".png", ".svg", NULL};
    double width = 0.0;
    const char *output = cli_value(arguments, "output");
    if (!cli_needs_words(arguments, 1, (size_t)-1) ||
        !cli_number(arguments, "width", RESMON_REPORT_LEAST_WIDTH, 1000, &width)) {
        return cli_wrong(arguments->command);
    }
    if (!cli_output_may_end(arguments, endings) || !may_plot(arguments, output) ||
        !may_choose(arguments, output)) {
        return CLI_USAGE;
    }
    if (output != NULL) {
        return write_output(arguments, width, output);
    }
    bool is_well = report_all(arguments, width, stdout);
    return cli_print("report", "") && is_well ? 0 : CLI_FAILED;
}

int cli_recover(const struct cli_arguments *arguments)
{
    if (!cli_needs_words(arguments, 1, 1)) {
        return cli_wrong(arguments->command);
    }
    const char *output = cli_value(arguments, "output");
    resmon_run *run = cli_output_load("recover", arguments->words[0]);
    char *text = run != NULL ? text_of(arguments, run, 0.0) : NULL;
    bool is_well = text != NULL && cli_print("recover", text);
    if (run != NULL && output != NULL) {
        is_well &= cli_output_write("recover", run, output, NULL);
    }
    resmon_text_free(text);
    resmon_run_free(run);
    return is_well ? 0 : CLI_FAILED;
}

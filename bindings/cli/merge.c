/* SPDX-License-Identifier: MIT */
/* resmon merge: the runs of a job's nodes and ranks as one. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "job_merge.h"
#include "output.h"
#include "say.h"

static bool list(const struct cli_arguments *arguments, struct cli_job_files *files)
{
    struct stat info;
    bool is_well = true;
    for (size_t i = 0; i < arguments->word_count && is_well; i++) {
        const char *word = arguments->words[i];
        if (stat(word, &info) == 0 && S_ISDIR(info.st_mode)) {
            is_well = cli_job_list("merge", word, cli_value(arguments, "job"), files);
        } else {
            cli_job_add(files, word);
        }
    }
    return is_well;
}

static bool print(const resmon_run *run)
{
    char *text = NULL;
    const resmon_report_options options = {.struct_size = sizeof options,
                                           .width = cli_columns(STDOUT_FILENO)};
    if (resmon_report_text(run, &options, &text) != RESMON_OK) {
        cli_say("merge", "%s", resmon_last_error());
        return false;
    }
    bool is_printed = cli_print("merge", text);
    resmon_text_free(text);
    return is_printed;
}

int cli_merge(const struct cli_arguments *arguments)
{
    struct cli_job_files files = {.count = 0};
    const char *path;
    if (!cli_needs_words(arguments, 1, (size_t)-1)) {
        return cli_wrong(arguments->command);
    }
    resmon_run *run = list(arguments, &files) ? cli_job_merge("merge", &files) : NULL;
    bool is_well = run != NULL;
    cli_job_files_free(&files);
    for (size_t i = 0; is_well && (path = cli_value_at(arguments, "output", i)) != NULL; i++) {
        is_well = cli_output_write("merge", run, path, NULL);
    }
    if (is_well && !cli_has(arguments, "quiet")) {
        is_well = print(run);
    }
    resmon_run_free(run);
    return is_well ? 0 : CLI_FAILED;
}

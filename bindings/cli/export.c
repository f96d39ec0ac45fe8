/* SPDX-License-Identifier: MIT */
/* resmon export: writes a run in another format. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <resmon/option.h>
#include <resmon/report.h>
#include <resmon/trace.h>

#include "arguments.h"
#include "output.h"
#include "say.h"

/* Several runs can only be exported as a trace. */
static bool is_trace(const char *output, const char *format)
{
    resmon_sink_kind kind = {.struct_size = sizeof kind, .name = format};
    return (format != NULL || resmon_sink_kind_of_file(output, &kind) == RESMON_OK) &&
           strcmp(kind.name, "trace") == 0;
}

/* Formats of benchmarks. */
static const struct {
    const char *format, *form;
} benches[] = {{"bench", "json"}, {"bmf", "bmf"}, {"github", "github"}, {"go", "go"}};

static const char *form_of(const char *format)
{
    for (size_t i = 0; format != NULL && i < sizeof benches / sizeof *benches; i++) {
        if (strcmp(benches[i].format, format) == 0) {
            return benches[i].form;
        }
    }
    return NULL;
}

static bool save_bench(const struct cli_arguments *arguments, const char *form, const char *output)
{
    char *text = NULL;
    resmon_bench *bench = cli_runs_load("export", arguments->words, arguments->word_count);
    if (bench == NULL) {
        return false;
    }
    const resmon_status status = resmon_bench_text(bench, form, &text);
    bool is_saved = cli_store_made("export", output, status, text);
    resmon_bench_free(bench);
    return is_saved;
}

static bool copy_to_stdout(const char *path)
{
    char bytes[4096];
    size_t count;
    FILE *file = fopen(path, "re");
    while (file != NULL && (count = fread(bytes, 1, sizeof bytes, file)) > 0 &&
           fwrite(bytes, 1, count, stdout) == count) {
    }
    bool is_read = file != NULL && feof(file) && !ferror(file);
    if (file != NULL) {
        (void)fclose(file);
    }
    return cli_print("export", "") && is_read;
}

/* Sinks replace files atomically, so the run is first written to a temporary directory. */
static bool write_to_stdout(const resmon_run *run, const char *format)
{
    static const char *const names[] = {"run", "run-columns.csv"};
    char directory[1024], path[sizeof directory + 32];
    (void)snprintf(directory, sizeof directory, "%s/resmon-XXXXXX", cli_store_temporary());
    if (mkdtemp(directory) == NULL) {
        cli_say("export", "cannot create %s: %s", directory, strerror(errno));
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/run", directory);
    bool is_well = cli_output_write("export", run, path, format) && copy_to_stdout(path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(directory);
    return is_well;
}

static int save_runs(const struct cli_arguments *arguments, const char *output, const char *format)
{
    const size_t count = arguments->word_count;
    bool is_stdout = strcmp(output, CLI_STDOUT) == 0;
    if (is_stdout && (format == NULL || count > 1)) {
        cli_say("export", "-o - needs --format, and writes only one run to stdout");
        return CLI_USAGE;
    }
    if (count > 1 && !is_trace(output, format)) {
        cli_say("export", "several runs can be exported as a trace (.trace.json), or as a "
                          "benchmark with --format (bench, bmf, github, go)");
        return CLI_USAGE;
    }
    resmon_run **runs = cli_output_load_all("export", arguments->words, count);
    if (runs == NULL) {
        return CLI_FAILED;
    }
    const resmon_run *const *const all = (const resmon_run *const *)runs;
    bool is_well = is_stdout   ? write_to_stdout(runs[0], format)
                   : count > 1 ? cli_check("export", resmon_trace_save(all, count, output))
                               : cli_output_write("export", runs[0], output, format);
    cli_output_free_all(runs, count);
    return is_well ? 0 : CLI_FAILED;
}

int cli_export(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, "output");
    const char *format = cli_value(arguments, "format");
    if (!cli_needs_words(arguments, 1, (size_t)-1)) {
        return cli_wrong(arguments->command);
    }
    if (output == NULL) {
        cli_say("export", "the output file is missing: -o FILE");
        return cli_wrong(arguments->command);
    }
    if (cli_has(arguments, "dataset")) {
        return cli_python_add_to_dataset(arguments->words, arguments->word_count, output)
                   ? 0
                   : CLI_FAILED;
    }
    if (form_of(format) != NULL) {
        return save_bench(arguments, form_of(format), output) ? 0 : CLI_FAILED;
    }
    return save_runs(arguments, output, format);
}

/* SPDX-License-Identifier: MIT */
/* resmon trend: values of benchmarks over time. */
#define _GNU_SOURCE /* scandir() */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "output.h"
#include "say.h"

#define ENDING ".json"

struct trend {
    resmon_trend *trend;
    resmon_bench **benches; /* used by the trend */
    size_t count;
    size_t left_out; /* files that are no benchmarks */
};

/* ---- files -------------------------------------------------------------------------------- */

/* Loads a benchmark, or a run as a benchmark; NULL, and a message: it is neither. */
static resmon_bench *load(const char *path)
{
    resmon_bench *bench = NULL;
    resmon_run *run = NULL;
    resmon_status status = resmon_bench_load(path, &bench);
    if (status == RESMON_EFORMAT && resmon_run_load(path, &run) == RESMON_OK) {
        status = resmon_bench_new(&bench);
        status = status == RESMON_OK ? resmon_bench_add(bench, "run", run) : status;
        resmon_run_free(run);
    }
    if (status != RESMON_OK) {
        cli_say("trend", "%s is left out: %s", path, cli_reason(path));
        resmon_bench_free(bench);
        return NULL;
    }
    return bench;
}

/* The label of "trend/3f2a91c.json" is "3f2a91c". */
static bool add_as(struct trend *trend, const char *path, const resmon_bench *bench)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    size_t length = strlen(name), ending = strlen(ENDING);
    bool has_ending = length > ending && strcmp(name + length - ending, ENDING) == 0;
    char *label = cli_format("%.*s", (int)(has_ending ? length - ending : length), name);
    resmon_status status = resmon_trend_add(trend->trend, label, bench);
    free(label);
    return cli_check("trend", status);
}

/* False: out of memory. */
static bool add_file(struct trend *trend, const char *path)
{
    resmon_bench *bench = load(path);
    if (bench == NULL) {
        trend->left_out++;
        return true;
    }
    trend->benches = cli_grow(trend->benches, (trend->count + 1) * sizeof(resmon_bench *));
    trend->benches[trend->count++] = bench;
    return add_as(trend, path, bench);
}

static int is_document(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name), ending = strlen(ENDING);
    return entry->d_name[0] != '.' && length > ending &&
           strcmp(entry->d_name + length - ending, ENDING) == 0;
}

/* Adds all documents in a directory; false, and a message: that failed. */
static bool add_directory(struct trend *trend, const char *path)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_document, alphasort);
    bool is_well = count >= 0;
    if (count < 0) {
        cli_say("trend", "cannot read %s: %s", path, strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        char *file = cli_format("%s/%s", path, entries[i]->d_name);
        is_well = is_well && add_file(trend, file);
        free(file);
        free(entries[i]);
    }
    free(entries);
    return is_well;
}

static bool add(struct trend *trend, const char *path)
{
    struct stat info;
    bool is_directory = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    return is_directory ? add_directory(trend, path) : add_file(trend, path);
}

/* ---- results ------------------------------------------------------------------------------ */

static const char *form_of(const void *context, const char *path)
{
    const char *form = cli_output_form(path);
    (void)context;
    return form != NULL && (strcmp(form, "html") == 0 || strcmp(form, "json") == 0) ? form : "text";
}

static resmon_status render(const void *context, const char *form, unsigned width, char **ret_text)
{
    const struct trend *trend = context;
    return resmon_trend_text(trend->trend, form, width, ret_text);
}

static bool show(const struct cli_arguments *arguments, const struct trend *trend)
{
    const struct cli_result result = {arguments, trend, form_of, render};
    bool is_written = cli_result_write(&result);
    return cli_result_print(&result) && is_written;
}

/* ---- the verb ----------------------------------------------------------------------------- */

static bool add_all(const struct cli_arguments *arguments, struct trend *trend)
{
    bool is_well = true;
    for (size_t i = 0; i < arguments->word_count && is_well; i++) {
        is_well = add(trend, arguments->words[i]);
    }
    if (arguments->word_count == 0) {
        is_well = add_directory(trend, CLI_STORE_DIRECTORY);
    }
    if (is_well && trend->count == 0) {
        cli_say("trend", "there is no benchmark: create one with resmon bench --save NAME, or -o "
                         "DIRECTORY/NAME" ENDING);
    }
    return is_well && trend->count > 0;
}

int cli_trend(const struct cli_arguments *arguments)
{
    static const char *const endings[] = {".html", ".htm", ".json", ".txt", NULL};
    struct trend trend = {.count = 0};
    if (!cli_output_may_end(arguments, endings)) {
        return CLI_USAGE;
    }
    if (resmon_trend_new(&trend.trend) != RESMON_OK) {
        return CLI_FAILED;
    }
    bool is_well = add_all(arguments, &trend) && show(arguments, &trend) && trend.left_out == 0;
    resmon_trend_free(trend.trend);
    for (size_t i = 0; i < trend.count; i++) {
        resmon_bench_free(trend.benches[i]);
    }
    free(trend.benches);
    return is_well ? 0 : CLI_FAILED;
}

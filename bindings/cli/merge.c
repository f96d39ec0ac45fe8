/* SPDX-License-Identifier: MIT */
/* resmon merge: merges the runs of a job's nodes and ranks into one run.  `resmon run -o
 * DIRECTORY/` and `resmon job stop` do so at their end, too. */
#include "job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <resmon/merge.h>
#include <resmon/resmon.h>

#include "arguments.h"
#include "launch.h"
#include "observe.h"
#include "output.h"
#include "say.h"

#define MOST_MESSAGES 20 /* messages about files that are left out */
#define MOST_AT_ONCE  16 /* files that are loaded at a time, each by a thread */

/* ---- loading -------------------------------------------------------------------------------- */

struct loading {
    const char *path;
    resmon_run *run;
    resmon_status status;
    char why[512];
    pthread_t thread;
    bool has_thread;
};

static void *load(void *context)
{
    struct loading *loading = context;
    loading->status = resmon_run_load(loading->path, &loading->run);
    if (loading->status != RESMON_OK) {
        (void)snprintf(loading->why, sizeof loading->why, "%s", cli_reason(loading->path));
    }
    return NULL;
}

/* Starts to load files from `first` on: two for each CPU, as one may take longer than another. */
static size_t begin_some(const struct cli_job_files *files, size_t first, struct loading *loadings)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = cpus < 1 ? 2 : cpus < MOST_AT_ONCE / 2 ? 2 * (size_t)cpus : MOST_AT_ONCE;
    size_t count = files->count - first < most ? files->count - first : most;
    for (size_t i = 0; i < count; i++) {
        loadings[i] = (struct loading){.path = files->paths[first + i]};
        loadings[i].has_thread = pthread_create(&loadings[i].thread, NULL, load, &loadings[i]) == 0;
    }
    return count;
}

/* A file for which no thread could be created is loaded by this one. */
static void end_loading(struct loading *loading)
{
    if (loading->has_thread) {
        (void)pthread_join(loading->thread, NULL);
    } else {
        (void)load(loading);
    }
}

/* ---- merging -------------------------------------------------------------------------------- */

struct merging {
    const char *verb;
    resmon_merge *merge;
    bool is_quiet;
    bool has_merged; /* merged runs were skipped: other files may be parts of them */
    size_t added, left_out;
};

static void leave_out(struct merging *merging, const struct loading *loading)
{
    merging->left_out++;
    if (!merging->is_quiet && merging->left_out <= MOST_MESSAGES) {
        cli_say(merging->verb, "%s is left out: %s", loading->path, loading->why);
    }
}

/* False: out of memory. */
static bool add(struct merging *merging, struct loading *loading, bool is_merged)
{
    if (loading->status == RESMON_OK && (resmon_run_node_count(loading->run) > 0) != is_merged) {
        merging->has_merged = merging->has_merged || !is_merged;
        return true;
    }
    if (loading->status == RESMON_OK) {
        loading->status = resmon_merge_add(merging->merge, loading->run);
        (void)snprintf(loading->why, sizeof loading->why, "%s", resmon_last_error());
    }
    if (loading->status == RESMON_OK) {
        merging->added++;
    } else {
        leave_out(merging, loading);
    }
    return loading->status != RESMON_ENOMEM;
}

/* Adds either the merged runs, or the others; the next files are loaded meanwhile. */
static bool add_files(struct merging *merging, const struct cli_job_files *files, bool is_merged)
{
    struct loading *loadings = cli_grow(NULL, 2 * MOST_AT_ONCE * sizeof *loadings);
    struct loading *now = loadings, *next = loadings + MOST_AT_ONCE;
    bool is_well = true;
    size_t count = begin_some(files, 0, now);
    for (size_t begun = count; count > 0;) {
        for (size_t i = 0; i < count; i++) {
            end_loading(&now[i]);
        }
        size_t next_count = is_well ? begin_some(files, begun, next) : 0;
        for (size_t i = 0; i < count; i++) {
            is_well = is_well && add(merging, &now[i], is_merged);
            resmon_run_free(now[i].run);
        }
        begun += next_count;
        count = next_count;
        struct loading *added = now;
        now = next;
        next = added;
    }
    free(loadings);
    return is_well;
}

/* Adds runs of processes first.  A merged run that contains some of them was made from them
 * earlier; it is refused without a message. */
static bool add_all(struct merging *merging, const struct cli_job_files *files)
{
    bool is_well = add_files(merging, files, false);
    merging->is_quiet = merging->added > 0;
    if (is_well && merging->has_merged) {
        is_well = add_files(merging, files, true);
    }
    merging->is_quiet = false;
    return is_well;
}

static resmon_run *make(struct merging *merging)
{
    resmon_run *run = NULL;
    if (merging->added == 0) {
        cli_say(merging->verb, "there is no run to merge");
    } else {
        (void)cli_check(merging->verb, resmon_merge_run(merging->merge, &run));
    }
    return run;
}

/* Merges the files into one run.  Files of other jobs are left out, with a message for each.  NULL,
 * and a message: there is nothing to merge. */
static resmon_run *merge_files(const char *verb, const struct cli_job_files *files)
{
    struct merging merging = {.verb = verb};
    bool is_well = resmon_merge_new(&merging.merge) == RESMON_OK && add_all(&merging, files);
    if (!is_well) {
        cli_say(verb, "out of memory for the runs of a job");
    }
    if (merging.left_out > MOST_MESSAGES) {
        cli_say(verb, "and %zu more files are left out", merging.left_out - MOST_MESSAGES);
    }
    resmon_run *run = is_well ? make(&merging) : NULL;
    resmon_merge_free(merging.merge);
    return run;
}

/* ---- at the end of a rank --------------------------------------------------------------- */

#define TRIES  20 /* checks whether all ranks have ended */
#define WAIT_S 0.25

/* Lists the files of the job when all ranks have ended, or after TRIES checks. */
static void wait_for_all(const char *verb, const struct cli_job_place *place,
                         struct cli_job_files *files)
{
    for (int tries = 0; tries < TRIES; tries++) {
        cli_job_files_free(files);
        if (!cli_job_list(verb, place->directory, place->job, files) ||
            (files->count >= place->ranks && files->recordings == 0 &&
             (!place->is_monitor || files->monitors == 0))) {
            return;
        }
        cli_sleep(WAIT_S);
    }
}

static void say_missing(const char *verb, const struct cli_job_place *place, const resmon_run *run,
                        const struct cli_job_files *files)
{
    size_t ranks = resmon_run_rank_count(run);
    bool is_short = ranks > 0 && ranks < place->ranks; /* monitors of machines are no ranks */
    if (is_short || files->recordings > 0) {
        cli_say(verb,
                "%zu of %zu ranks have files in %s, and %zu recordings there are unfinished (still "
                "running, or killed): merge again later with resmon merge %s",
                ranks, place->ranks, place->directory, files->recordings, place->directory);
    }
}

/* ---- the machine --------------------------------------------------------------------------- */

/* A monitor of the machine alone, with the interval of the command line. */
static resmon_monitor *watch_machine(const struct cli_arguments *arguments, const char *recording)
{
    const struct cli_given *interval = cli_given_of(arguments, "interval");
    struct cli_text text = {.text = NULL};
    resmon_monitor *monitor = NULL;
    cli_text_add(&text, "domains", CLI_MACHINE_DOMAINS("cgroup+"));
    cli_text_add(&text, "scopes", "none");
    cli_text_add(&text, "record", recording);
    if (interval != NULL) {
        cli_text_add(&text, interval->key, interval->value);
    }
    if (resmon_monitor_new_text(text.text, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        cli_say("run", "the machine is no longer observed: %s", resmon_last_error());
        resmon_monitor_free(monitor);
        monitor = NULL;
    }
    cli_text_free(&text);
    return monitor;
}

void cli_gather_machine(const struct cli_observing *observing, const struct cli_node_ranks *ranks)
{
    const struct cli_job_place *place = &observing->place;
    char recording[CLI_JOB_PATH_BYTES], document[CLI_JOB_PATH_BYTES];
    resmon_run *run = NULL;
    cli_job_path(place, ".node.rec", recording);
    cli_job_path(place, ".node.json", document);
    if (!place->leads || !cli_node_ranks_are_left(ranks)) {
        return;
    }
    resmon_monitor *monitor = watch_machine(observing->arguments, recording);
    while (monitor != NULL && cli_node_ranks_are_left(ranks)) {
        cli_sleep(WAIT_S);
    }
    if (monitor != NULL && resmon_monitor_stop(monitor) == RESMON_OK &&
        resmon_monitor_snapshot(monitor, &run) == RESMON_OK &&
        cli_output_write("run", run, document, NULL)) {
        (void)unlink(recording);
    }
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

/* ---- the job -------------------------------------------------------------------------------- */

bool cli_gather_files(const char *verb, const struct cli_job_place *place,
                      const struct cli_job_files *files, bool is_quiet)
{
    char path[CLI_JOB_PATH_BYTES];
    resmon_run *run = merge_files(verb, files);
    if (run == NULL) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/%s.json", place->directory, place->job);
    bool is_written = cli_output_write(verb, run, path, NULL);
    say_missing(verb, place, run, files);
    if (!is_quiet) {
        cli_output_print(run, false, cli_columns(STDERR_FILENO));
    }
    resmon_run_free(run);
    return is_written;
}

void cli_gather_job(const struct cli_observing *observing)
{
    struct cli_job_files files = {.count = 0};
    if (observing->place.is_first) {
        wait_for_all(observing->arguments->command->name, &observing->place, &files);
        (void)cli_gather_files(observing->arguments->command->name, &observing->place, &files,
                               cli_has(observing->arguments, "quiet"));
        cli_job_files_free(&files);
    }
}

/* ---- the verb --------------------------------------------------------------------------- */

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
    const resmon_status status = resmon_report_text(run, &options, &text);
    return cli_print_made("merge", status, text);
}

int cli_merge(const struct cli_arguments *arguments)
{
    struct cli_job_files files = {.count = 0};
    const char *path;
    if (!cli_needs_words(arguments, 1, (size_t)-1)) {
        return cli_wrong(arguments->command);
    }
    resmon_run *run = list(arguments, &files) ? merge_files("merge", &files) : NULL;
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

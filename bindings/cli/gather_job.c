/* SPDX-License-Identifier: MIT */
#include "gather_job.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "job_merge.h"
#include "output.h"
#include "say.h"

#define TRIES   20 /* to find that all ranks have ended, */
#define WAIT_NS 250000000L

/* All ranks of the job that have files, once all have ended; or those of now. */
static void wait_for_all(const char *verb, const struct cli_job_place *place,
                         struct cli_job_files *files)
{
    const struct timespec wait = {.tv_nsec = WAIT_NS};
    for (int tries = 0; tries < TRIES; tries++) {
        cli_job_files_free(files);
        if (!cli_job_list(verb, place->directory, place->job, files) ||
            (files->count >= place->ranks && files->recordings == 0 &&
             (!place->is_monitor || files->monitors == 0))) {
            return;
        }
        (void)nanosleep(&wait, NULL);
    }
}

static void say_missing(const char *verb, const struct cli_job_place *place, const resmon_run *run,
                        const struct cli_job_files *files)
{
    size_t ranks = resmon_run_rank_count(run);
    bool is_short = ranks > 0 && ranks < place->ranks; /* of machines alone there are none */
    if (is_short || files->recordings > 0) {
        cli_say(verb,
                "%zu of %zu ranks have files in %s, and %zu recordings there are unfinished (still "
                "running, or killed): merge again later with resmon merge %s",
                ranks, place->ranks, place->directory, files->recordings, place->directory);
    }
}

/* ---- the machine --------------------------------------------------------------------------- */

/* "interval=50ms,domains=...": the machine's figures alone, as often as the user wanted them. */
static resmon_monitor *watch_machine(const struct cli_arguments *arguments, const char *recording)
{
    const struct cli_said *interval = cli_said_of(arguments, "interval");
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
    const struct timespec wait = {.tv_nsec = WAIT_NS};
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
        (void)nanosleep(&wait, NULL);
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
    resmon_run *run = cli_job_merge(verb, files);
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

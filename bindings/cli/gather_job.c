/* SPDX-License-Identifier: MIT */
#include "gather_job.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "job_files.h"
#include "output.h"
#include "say.h"

#define TRIES   40 /* to find that all ranks have ended, */
#define WAIT_NS 250000000L

/* All ranks of the job that have files, once all have ended; or those of now. */
static void wait_for_all(const struct cli_job_place *place, struct cli_job_files *files)
{
    const struct timespec wait = {.tv_nsec = WAIT_NS};
    for (int tries = 0; tries < TRIES; tries++) {
        cli_job_files_free(files);
        if (!cli_job_list("run", place->directory, place->job, files) ||
            (files->count >= place->ranks && files->recordings == 0)) {
            return;
        }
        (void)nanosleep(&wait, NULL);
    }
}

static void say_missing(const struct cli_job_place *place, const resmon_run *run,
                        const struct cli_job_files *files)
{
    size_t ranks = resmon_run_rank_count(run);
    if (ranks < place->ranks || files->recordings > 0) {
        cli_say(
            "run",
            "of %zu ranks %zu have files in %s, and %zu of these have not ended, or were killed: "
            "resmon merge %s makes it anew",
            place->ranks, ranks, place->directory, files->recordings, place->directory);
    }
}

void cli_gather_job(const struct cli_arguments *arguments, const char *directory)
{
    struct cli_job_place place;
    struct cli_job_files files = {.count = 0};
    char path[CLI_JOB_PATH_BYTES];
    if (!cli_job_settle("run", directory, &place) || !place.is_first) {
        return;
    }
    wait_for_all(&place, &files);
    resmon_run *run = cli_job_merge("run", &files);
    if (run != NULL) {
        (void)snprintf(path, sizeof path, "%s/%s.json", place.directory, place.job);
        (void)cli_output_write("run", run, path, NULL);
        say_missing(&place, run, &files);
        if (!cli_has(arguments, "quiet")) {
            cli_output_print(run, false, cli_columns(STDERR_FILENO));
        }
        resmon_run_free(run);
    }
    cli_job_files_free(&files);
}

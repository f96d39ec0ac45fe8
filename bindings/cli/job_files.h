/* SPDX-License-Identifier: MIT */
/*
 * Owns the directory of a job (job_place.h): which of its files belong together.
 */
#ifndef RESMON_CLI_JOB_FILES_H
#define RESMON_CLI_JOB_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Files of runs, those that were written last first. */
struct cli_job_files {
    char **paths;
    size_t count;
    size_t recordings; /* of ranks that go on, or were killed, */
    size_t monitors;   /* and of monitors */
};

/** Adds the files of a directory, of this job (NULL: of any); false, and a line that says why.
 * The recording of a run that is over is left out: its document is there. */
bool cli_job_list(const char *verb, const char *directory, const char *job,
                  struct cli_job_files *files);
void cli_job_add(struct cli_job_files *files, const char *path);
void cli_job_files_free(struct cli_job_files *files);

#endif

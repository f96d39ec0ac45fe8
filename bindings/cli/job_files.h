/* SPDX-License-Identifier: MIT */
/*
 * Owns the directory of a job (`resmon run -o DIRECTORY/`): a file for each process that is
 * observed, "4711.n1.r3.p815.rec" while it runs and ".json" when it is over, on whichever node; and
 * which of these belong together.
 */
#ifndef RESMON_CLI_JOB_FILES_H
#define RESMON_CLI_JOB_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/run.h>

#define CLI_JOB_PATH_BYTES 1536U

/* Where our own process puts its files. */
struct cli_job_place {
    char directory[CLI_JOB_PATH_BYTES - 512];
    char job[256];  /* as it stands in names; "nojob" */
    char stem[512]; /* of our own: "4711.n1.r3.p815" */
    char key[256];  /* of the job step */
    char node[128];
    bool is_first; /* of the job's ranks */
    bool leads;    /* the first of several on its node */
    size_t ranks;  /* 0: not known */
};

/** Whether an output is a directory: it ends in '/'. */
bool cli_job_is_directory(const char *output);

/** Makes the directory, if need be, and the names in it; false, and a line that says why. */
bool cli_job_settle(const char *verb, const char *output, struct cli_job_place *place);

/** The path of our own file with this ending. */
void cli_job_path(const struct cli_job_place *place, const char *ending,
                  char path[CLI_JOB_PATH_BYTES]);

/* Files of runs, those that were written last first. */
struct cli_job_files {
    char **paths;
    size_t count;
    size_t recordings; /* of processes that go on, or were killed */
};

/** Adds the files of a directory, of this job (NULL: of any); false, and a line that says why.  The
 * recording of one that is over is left out. */
bool cli_job_list(const char *verb, const char *directory, const char *job,
                  struct cli_job_files *files);
void cli_job_add(struct cli_job_files *files, const char *path);
void cli_job_files_free(struct cli_job_files *files);

/** Merges the files into one run; files that do not belong to it are left out, with a line for
 * each. NULL, and a line that says why: there is nothing. */
resmon_run *cli_job_merge(const char *verb, const struct cli_job_files *files);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns where a process has its files in the directory of a job (`resmon run -o DIRECTORY/`): one
 * for each process that is observed, "4711.n1.r3.p815.rec" while it runs and ".json" when it is
 * over, on whichever node.
 */
#ifndef RESMON_CLI_JOB_PLACE_H
#define RESMON_CLI_JOB_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#define CLI_JOB_PATH_BYTES 1536U

/* Where our own process puts its files.  Zeroed: nowhere. */
struct cli_job_place {
    char directory[CLI_JOB_PATH_BYTES - 512]; /* "": there is none */
    char job[256];                            /* as it stands in names; "nojob" */
    char stem[512];                           /* of our own: "4711.n1.r3.p815" */
    char key[256];                            /* of the job step */
    char node[128];
    bool is_first;   /* of the job's ranks */
    bool is_monitor; /* of the machine, and no rank */
    bool leads;      /* the first of several on its node */
    size_t ranks;    /* 0: not known */
};

/** Whether an output is a directory: it ends in '/'. */
bool cli_job_is_directory(const char *output);

/** Makes the directory, if need be, and the names in it: of a rank, or if `place` says so of a
 * monitor.  False, and a line that says why. */
bool cli_job_settle(const char *verb, const char *output, struct cli_job_place *place);

/** Whether a name is that of a monitor's file. */
bool cli_job_is_monitor(const char *name);

/** The file whose being there ends the monitors of the job: "4711.stop". */
void cli_job_stop_path(const struct cli_job_place *place, char path[CLI_JOB_PATH_BYTES]);

/** Whether it is there; as the directory lists it, which other machines' file systems look at anew
 * when it is opened. */
bool cli_job_is_stopped(const struct cli_job_place *place);

/** The path of our own file with this ending. */
void cli_job_path(const struct cli_job_place *place, const char *ending,
                  char path[CLI_JOB_PATH_BYTES]);

#endif

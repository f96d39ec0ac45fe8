/* SPDX-License-Identifier: MIT */
/*
 * Owns the directory of a job (`resmon run -o DIRECTORY/`): one file for each process that is
 * observed, "4711.n1.r3.p815.rec" while it runs and ".json" when it is over, on whichever node;
 * which of them belong together; how the ranks on one node know of each other; and the one run that
 * is made of all.
 */
#ifndef RESMON_CLI_JOB_H
#define RESMON_CLI_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/job.h>

struct cli_observing;

/* ---- where a process has its files ---- */

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

/** The job of this process, with its description, which points into it; NULL: there is no memory
 * for it, or the batch system cannot be read.  Free it with resmon_job_free(). */
resmon_job *cli_job_detect(resmon_job_info *ret_info);

/** The file whose being there ends the monitors of the job: "4711.stop". */
void cli_job_stop_path(const struct cli_job_place *place, char path[CLI_JOB_PATH_BYTES]);

/** Whether it is there; as the directory lists it, which other machines' file systems look at anew
 * when it is opened. */
bool cli_job_is_stopped(const struct cli_job_place *place);

/** The path of our own file with this ending. */
void cli_job_path(const struct cli_job_place *place, const char *ending,
                  char path[CLI_JOB_PATH_BYTES]);

/* ---- which files belong together ---- */

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

/* ---- the ranks of a node ---- */

/* A file of this node that each of them has locked as long as it lives; the kernel unlocks it when
 * one dies. */
struct cli_node_ranks {
    char path[CLI_JOB_PATH_BYTES];
    int fd; /* below 0: nothing is known */
};

/** Before our command begins: from now on we are one of them. */
void cli_node_ranks_enter(struct cli_node_ranks *ranks, const struct cli_job_place *place);

/** Whether there are others. */
bool cli_node_ranks_are_left(const struct cli_node_ranks *ranks);

/** The last one removes the file. */
void cli_node_ranks_leave(struct cli_node_ranks *ranks);

/* ---- the end of our own command ---- */

/** Of the first of several ranks on a node: watches the machine until the others have ended. */
void cli_gather_machine(const struct cli_observing *observing, const struct cli_node_ranks *ranks);

/** Our own run is over, and its file in the directory.  Of another rank than the first, and without
 * a job, nothing is done. */
void cli_gather_job(const struct cli_observing *observing);

/** Makes one run of the files, "4711.json" beside them; and prints it, unless `is_quiet`.  False,
 * and a line that says why: there is none. */
bool cli_gather_files(const char *verb, const struct cli_job_place *place,
                      const struct cli_job_files *files, bool is_quiet);

#endif

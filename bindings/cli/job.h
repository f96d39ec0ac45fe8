/* SPDX-License-Identifier: MIT */
/*
 * Owns the directory of a job (`resmon run -o DIRECTORY/`).  Each observed process of any node has
 * one file in it: "4711.n1.r3.p815.rec" while it runs, ".json" after its end.  This file also
 * decides which files belong to one job, detects other ranks on the same node, and merges all files
 * into one run.
 */
#ifndef RESMON_CLI_JOB_H
#define RESMON_CLI_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/job.h>

struct cli_observing;

/* ---- the files of a process ---- */

#define CLI_JOB_PATH_BYTES 1536U

/* Directory and names of the files of this process.  Zeroed: no directory. */
struct cli_job_place {
    char directory[CLI_JOB_PATH_BYTES - 512]; /* "": no directory */
    char job[256];                            /* as used in file names; or "nojob" */
    char stem[512];                           /* of this process: "4711.n1.r3.p815" */
    char key[256];                            /* of the job step */
    char node[128];
    bool is_first;   /* rank 0 of the job */
    bool is_monitor; /* observes the machine; it is no rank */
    bool leads;      /* the first of several ranks on its node */
    size_t ranks;    /* of the job; 0: unknown */
};

/** Whether an output is a directory: it ends in '/'. */
bool cli_job_is_directory(const char *output);

/** Creates the directory if it does not exist, and sets the names for a rank, or for a monitor if
 * `place->is_monitor`.  False, and a message: that failed. */
bool cli_job_settle(const char *verb, const char *output, struct cli_job_place *place);

/** Detects the job of this process.  The strings of `ret_info` are valid as long as the job.  Free
 * it with resmon_job_free().  NULL: resmon_last_error() has the reason. */
resmon_job *cli_job_detect(resmon_job_info *ret_info);

/** Path of the file that ends the monitors of the job when it is created: "4711.stop". */
void cli_job_stop_path(const struct cli_job_place *place, char path[CLI_JOB_PATH_BYTES]);

/** Whether that file exists.  The directory is listed, because network file systems refresh it when
 * it is opened; stat() may return a cached result. */
bool cli_job_is_stopped(const struct cli_job_place *place);

/** Path of the file of this process with this ending. */
void cli_job_path(const struct cli_job_place *place, const char *ending,
                  char path[CLI_JOB_PATH_BYTES]);

/* ---- the files of one job ---- */

/* Files of runs, newest first. */
struct cli_job_files {
    char **paths;
    size_t count;
    size_t recordings; /* of ranks that still run, or were killed */
    size_t monitors;   /* recordings of monitors */
};

/** Adds the files of a directory that belong to this job (NULL: to any job).  A recording is left
 * out if the document of the same run exists.  False, and a message: the directory cannot be read.
 */
bool cli_job_list(const char *verb, const char *directory, const char *job,
                  struct cli_job_files *files);
void cli_job_add(struct cli_job_files *files, const char *path);
void cli_job_files_free(struct cli_job_files *files);

/* ---- the ranks of a node ---- */

/* A file on this node that each rank keeps locked while it lives.  The kernel releases the lock of
 * a rank that dies. */
struct cli_node_ranks {
    char path[CLI_JOB_PATH_BYTES];
    int fd; /* below 0: other ranks cannot be detected */
};

/** Locks the file; called before the command begins. */
void cli_node_ranks_enter(struct cli_node_ranks *ranks, const struct cli_job_place *place);

/** Whether other ranks still hold the lock. */
bool cli_node_ranks_are_left(const struct cli_node_ranks *ranks);

/** Releases the lock; the last rank removes the file. */
void cli_node_ranks_leave(struct cli_node_ranks *ranks);

/* ---- the end of a rank ---- */

/** In the first of several ranks on a node: observes the machine until the other ranks end. */
void cli_gather_machine(const struct cli_observing *observing, const struct cli_node_ranks *ranks);

/** Merges the job after the file of this process was written.  Does nothing except in rank 0 of a
 * job. */
void cli_gather_job(const struct cli_observing *observing);

/** Merges the files into one run, writes it beside them as "4711.json", and prints its summary
 * unless `is_quiet`.  False, and a message: there is no merged run. */
bool cli_gather_files(const char *verb, const struct cli_job_place *place,
                      const struct cli_job_files *files, bool is_quiet);

#endif

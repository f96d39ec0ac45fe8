/* SPDX-License-Identifier: MIT */
/*
 * Owns starting a command on every node of a job, in the background, by what the batch system has
 * for that: Slurm's srun; else a remote shell for each other node (ssh, OAR's oarsh, LSF's
 * blaunch).
 */
#ifndef RESMON_CLI_JOB_LAUNCH_H
#define RESMON_CLI_JOB_LAUNCH_H

#include <sys/types.h>

#include <resmon/job.h>

/**
 * Starts `words`, ended by NULL, with what they print going to the file `log`.  Those that a remote
 * shell starts have "--until-eof" behind them: their standard input ends when the process that
 * stays with them does; Slurm ends its step by itself.  `shell` takes the place of the remote shell
 * that the batch system has (NULL: that one), as words with spaces between.
 * The process that stays with them, or -1, with errno.
 */
pid_t cli_job_launch(const resmon_job *job, char *const *words, const char *log, const char *shell);

/** On how many nodes that is. */
size_t cli_job_launch_count(const resmon_job *job);

#endif

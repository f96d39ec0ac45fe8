/* SPDX-License-Identifier: MIT */
/*
 * Owns the start and the end of a command of the user's, as a shell has them: it waits at a gate
 * until it is observed, has the input, output, session and process group of its caller, gets the
 * signals that were sent to us, stops and goes on as it would alone; and its status becomes ours.
 */
#ifndef RESMON_CLI_LAUNCH_H
#define RESMON_CLI_LAUNCH_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <resmon/end.h>

#define CLI_RUN_BYTES 512U /* a pipe takes so many at once */

struct cli_launch {
    pid_t pid;       /* -1: it could not be started */
    int gate;        /* written to: it may go on, with what it has as RESMON_RUN */
    int outcome;     /* read from: the errno of an exec that failed */
    int error;       /* that errno; 0: it was started */
    int wait_code;   /* CLD_EXITED, CLD_KILLED, CLD_DUMPED */
    int wait_status; /* exit status or signal */
    struct rusage
        usage; /* of it, of all that it waited for, and of orphans that were handed to us */
};

/** Forks, before anything makes this process large: ru_maxrss of the command is at least what we
 * have here.  The command waits, and gets the signals that would end us: what is made after this
 * is removed again.  False, and a line that says why. */
bool cli_launch_prepare(struct cli_launch *launch, char **words);

/** Lets the command begin, with `run` as RESMON_RUN ("": nothing; at most CLI_RUN_BYTES with its
 * end); `error` is set if it does not. */
void cli_launch_go(struct cli_launch *launch, const char *run);

/** Gives the command up, which has not begun. */
void cli_launch_cancel(struct cli_launch *launch);

/** Until it has ended.  It stays a zombie, that can be sampled once more. */
void cli_launch_wait(struct cli_launch *launch);

/** Lets the zombie go. */
void cli_launch_reap(struct cli_launch *launch);

/** How it ended, for a run. */
resmon_run_end cli_launch_end(const struct cli_launch *launch);

/** The exit status for us; a signal that killed the command kills us here. */
int cli_launch_status(const struct cli_launch *launch);

#endif

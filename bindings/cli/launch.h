/* SPDX-License-Identifier: MIT */
/*
 * Owns the start and the end of a command of the user's, as a shell has them: it waits at a gate
 * until it is observed, has the input, output, session and process group of its caller, gets the
 * signals that were sent to us, stops and goes on as it would alone; and its status becomes ours.
 * And of the processes of a benchmark, which are started and waited for.
 */
#ifndef RESMON_CLI_LAUNCH_H
#define RESMON_CLI_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <resmon/end.h>

#define CLI_OTHERS    32U
#define CLI_RUN_BYTES 2048U /* a pipe takes so many at once */

struct cli_kept;

struct cli_launch {
    struct cli_kept *kept;     /* where what goes to the terminal is kept; NULL: it is not */
    pid_t pid;                 /* -1: it could not be started */
    int gate;                  /* written to: it may go on, with what it has as RESMON_RUN */
    int outcome;               /* read from: the end of it is the exec */
    struct cli_before *before; /* shared with it: what it had used when it began; NULL: not known */
    int64_t end_ns;            /* CLOCK_MONOTONIC: when it was known to have ended */
    int error;                 /* that errno; 0: it was started */
    pid_t others[CLI_OTHERS];  /* children of ours from before it: what we exec'd from had them */
    size_t other_count;
    int stopped_by;      /* signal */
    int wait_code;       /* CLD_EXITED, CLD_KILLED, CLD_DUMPED */
    int wait_status;     /* exit status or signal */
    struct rusage usage; /* of it since its exec, of all that it waited for, and of orphans that
                            were handed to us */
};

enum cli_launch_event {
    CLI_LAUNCH_NONE,    /* nothing has happened */
    CLI_LAUNCH_STOPPED, /* the terminal, or a signal, has stopped it */
    CLI_LAUNCH_ENDED
};

/** From now on SIGINT, SIGTERM and SIGHUP are noted, and handed on to the process that is waited
 * for; what the caller ignores (nohup) stays ignored. */
void cli_launch_note_signals(void);

/** The signal that came; 0: none. */
int cli_launch_noted(void);

/** From now on that process gets what comes, and at once what came before; 0: nobody does. */
void cli_launch_hand_to(pid_t pid);

/* A process that was started and waited for. */
struct cli_child {
    int error;     /* errno of the start; 0: it ran */
    int status;    /* of wait4(2); -1: unknown */
    double wall_s; /* until wait4(2) returned */
    struct rusage usage;
    long least_maxrss; /* lower bound of ru_maxrss, in kB: that of the process that started it */
};

/** Runs a program and waits for it; its descriptors from `first` to `last` are /dev/null. */
struct cli_child cli_launch_run(const char *program, char **words, int first, int last);

/** CLOCK_MONOTONIC. */
double cli_now_s(void);

/** Forks, before anything makes this process large: ru_maxrss of the command is at least what we
 * have here.  The command waits, and gets the signals that would end us: what is made after this
 * is removed again.  `kept`, which may be NULL, is opened.  False, and a line that says why. */
bool cli_launch_prepare(struct cli_launch *launch, char **words, struct cli_kept *kept);

/** Lets the command begin, with `run` as RESMON_RUN ("": nothing; at most CLI_RUN_BYTES with its
 * end); `error` is set if it does not. */
void cli_launch_go(struct cli_launch *launch, const char *run);

/** Of a command that has begun: when, and what its process had used by then.  False: not known. */
bool cli_launch_begin(const struct cli_launch *launch, int64_t *ret_ns,
                      resmon_run_usage *ret_usage);

/** Gives the command up, which has not begun. */
void cli_launch_cancel(struct cli_launch *launch);

/** What has happened to it, at once or, if that is said, when something has.  Ended, it stays a
 * zombie, that can be sampled once more, and signals are no longer passed on. */
enum cli_launch_event cli_launch_next(struct cli_launch *launch, bool waits);

/** After it was stopped: stops this process, too, as the shell expects it, and lets the command go
 * on when this one goes on. */
void cli_launch_stop_too(const struct cli_launch *launch);

/** Until it has ended. */
void cli_launch_wait(struct cli_launch *launch);

/** Lets the zombie go. */
void cli_launch_reap(struct cli_launch *launch);

/** How it ended, and what it used, for a run. */
resmon_run_end cli_launch_end(const struct cli_launch *launch);
resmon_run_usage cli_launch_usage(const struct cli_launch *launch);

/** The exit status for us; a signal that killed the command kills us here. */
int cli_launch_status(const struct cli_launch *launch);

#endif

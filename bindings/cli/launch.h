/* SPDX-License-Identifier: MIT */
/*
 * Owns the start and the end of a user's command.  The command waits at a gate until it is
 * observed.  It has the input, output, session and process group of its caller.  Signals are
 * forwarded to it, and it is stopped and continued with this process.  Its exit status becomes that
 * of this process.  Also starts the processes of benchmarks and waits for them.
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
    struct cli_kept *kept;     /* buffers its terminal output; NULL: it is not buffered */
    pid_t pid;                 /* -1: it could not be started */
    int gate;                  /* pipe; a write of RESMON_RUN lets the command begin */
    int outcome;               /* pipe; errno of a failed exec, or closed by the exec */
    struct cli_before *before; /* shared memory: resource use before the exec; NULL: unknown */
    int64_t end_ns;            /* CLOCK_MONOTONIC: when the end of the command was noticed */
    int error;                 /* errno of the exec; 0: the command was started */
    pid_t others[CLI_OTHERS];  /* earlier children, inherited through an exec of resmon */
    size_t other_count;
    int stopped_by;      /* signal */
    int wait_code;       /* CLD_EXITED, CLD_KILLED, CLD_DUMPED */
    int wait_status;     /* exit status or signal */
    struct rusage usage; /* since the exec, with children that were waited for, and orphans that
                            were reparented to this process */
};

enum cli_launch_event {
    CLI_LAUNCH_NONE,
    CLI_LAUNCH_STOPPED, /* by the terminal or a signal */
    CLI_LAUNCH_ENDED
};

/** From now on SIGINT, SIGTERM and SIGHUP are stored, and forwarded to the child that is waited
 * for. Signals that the caller ignores (nohup) stay ignored. */
void cli_launch_note_signals(void);

/** The last signal that was stored; 0: none. */
int cli_launch_noted(void);

/** Sets the process that signals are forwarded to, and sends it a signal that was stored before; 0:
 * no process. */
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

/** CLOCK_MONOTONIC, in seconds. */
double cli_now_s(void);

/** Sleeps for this time, also if signals arrive. */
void cli_sleep(double seconds);

/** Forks the process of the command, which waits at the gate.  Call it early: ru_maxrss of the
 * command is at least the RSS of this process at the fork.  From now on, signals are forwarded to
 * the command instead of ending this process, so that it can clean up.  `kept`, which may be NULL,
 * is opened.  False, and a message: the process cannot be created. */
bool cli_launch_prepare(struct cli_launch *launch, char **words, struct cli_kept *kept);

/** Lets the command begin with the variable RESMON_RUN=`run` ("": without it; at most CLI_RUN_BYTES
 * with its terminator).  Sets `error` if the exec fails. */
void cli_launch_go(struct cli_launch *launch, const char *run);

/** Time of the exec, and the resource use of the process until then.  False: unknown. */
bool cli_launch_begin(const struct cli_launch *launch, int64_t *ret_ns,
                      resmon_run_usage *ret_usage);

/** Ends the waiting process of a command that has not begun. */
void cli_launch_cancel(struct cli_launch *launch);

/** Returns the next event of the command; `waits`: blocks until there is one.  After its end, the
 * command remains a zombie, which can be sampled once more, and signals are no longer forwarded. */
enum cli_launch_event cli_launch_next(struct cli_launch *launch, bool waits);

/** Stops this process after the command was stopped, as the shell expects, and continues the
 * command when this process is continued. */
void cli_launch_stop_too(const struct cli_launch *launch);

/** Waits until the command has ended. */
void cli_launch_wait(struct cli_launch *launch);

/** Reaps the zombie. */
void cli_launch_reap(struct cli_launch *launch);

/** The end and the resource use of the command, for a run. */
resmon_run_end cli_launch_end(const struct cli_launch *launch);
resmon_run_usage cli_launch_usage(const struct cli_launch *launch);

/** The exit status for this process.  If a signal killed the command, the same signal kills this
 * process here. */
int cli_launch_status(const struct cli_launch *launch);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What a command draws beyond what the machine draws anyway: energy and CO2eq of the command (A),
 * of idling for the same time (B), and the difference, with its confidence interval.
 *
 *     baseline --rounds 5 --country FR ./train --epochs 1
 *
 * Rounds alternate, A B, B A, A B, ...: what changes slowly, such as the temperature or what else
 * runs, then weighs as much on one side as on the other.
 */
#include <resmon/resmon.h>

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define MOST_ROUNDS 100
#define LEAST_S     0.1 /* what resmon_compare_runs() takes */

static const char usage[] =
    "usage: baseline [--rounds N] [--pause S] [--country FR] COMMAND ARGUMENT...\n"
    "\n"
    "Runs the command N times (default 3), and as often lets the machine idle for as long as the\n"
    "command took the last time.  Before each it waits for S seconds (default 1), for the machine\n"
    "to settle.  The country (ISO 3166) says what electricity costs in CO2eq; by default\n"
    "RESMON_COUNTRY or the site's file does, else it is the world average.\n"
    "\n"
    "The exit code is that of the command when it fails, 0 when all went well.\n";

extern char **environ;

struct rounds {
    long count;
    double pause_s;
    char **command;
    resmon_carbon_options carbon;
    resmon_monitor_options options;
    resmon_run *work[MOST_ROUNDS], *idle[MOST_ROUNDS];
    long works, idles;
    double work_s; /* that the command took the last time */
};

static int fail(const char *what)
{
    fprintf(stderr, "baseline: %s: %s\n", what, resmon_last_error());
    return 1;
}

static void pause_for(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds};
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* The exit code of the command, as a shell has it. */
static int run_command(char **command)
{
    pid_t child;
    int result;
    int error = posix_spawnp(&child, command[0], NULL, NULL, command, environ);
    if (error != 0) {
        fprintf(stderr, "baseline: %s: %s\n", command[0], strerror(error));
        return error == ENOENT ? 127 : 126;
    }
    while (waitpid(child, &result, 0) < 0) {
        if (errno != EINTR) {
            perror("baseline: waitpid");
            return 1;
        }
    }
    int code = WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
    if (code != 0) {
        fprintf(stderr, "baseline: %s ended with code %d: nothing to compare\n", command[0], code);
    }
    return code;
}

/* Watches the machine while the command runs. */
static int observe(const struct rounds *rounds, resmon_run **ret_run)
{
    resmon_monitor *monitor = NULL;
    int code;
    if (resmon_monitor_new(&rounds->options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        code = fail("cannot observe");
    } else {
        code = run_command(rounds->command);
        if (code == 0 && (resmon_monitor_stop(monitor) != RESMON_OK ||
                          resmon_monitor_snapshot(monitor, ret_run) != RESMON_OK)) {
            code = fail("cannot observe");
        }
    }
    resmon_monitor_free(monitor);
    return code;
}

static int work(struct rounds *rounds)
{
    resmon_run_info info = {.struct_size = sizeof info};
    fprintf(stderr, "baseline: round %ld of %ld: running %s\n", rounds->works + 1, rounds->count,
            rounds->command[0]);
    int code = observe(rounds, &rounds->work[rounds->works]);
    if (code != 0) {
        return code;
    }
    if (resmon_run_get_info(rounds->work[rounds->works++], &info) != RESMON_OK) {
        return fail("cannot observe");
    }
    rounds->work_s = (double)info.duration_ns * 1e-9;
    fprintf(stderr, "baseline: round %ld of %ld: it took %.3f s\n", rounds->works, rounds->count,
            rounds->work_s);
    if (rounds->work_s < LEAST_S) {
        fprintf(stderr,
                "baseline: less than %.1f s is too short to compare: give a command that does the "
                "work many times\n",
                LEAST_S);
        return 1;
    }
    return 0;
}

static int idle(struct rounds *rounds)
{
    fprintf(stderr, "baseline: round %ld of %ld: idling for %.3f s\n", rounds->idles + 1,
            rounds->count, rounds->work_s);
    if (resmon_measure_idle(rounds->work_s, &rounds->options, &rounds->idle[rounds->idles]) !=
        RESMON_OK) {
        return fail("cannot observe");
    }
    rounds->idles++;
    return 0;
}

static int run_rounds(struct rounds *rounds)
{
    int code = 0;
    for (long i = 0; i < rounds->count && code == 0; i++) {
        int (*const first)(struct rounds *) = i % 2 == 0 ? work : idle;
        int (*const second)(struct rounds *) = i % 2 == 0 ? idle : work;
        pause_for(rounds->pause_s);
        code = first(rounds);
        if (code == 0) {
            pause_for(rounds->pause_s);
            code = second(rounds);
        }
    }
    return code;
}

static int print_comparison(const struct rounds *rounds)
{
    resmon_comparison comparison = {.struct_size = sizeof comparison};
    char *text = NULL;
    if (resmon_compare_runs((const resmon_run *const *)rounds->work, (size_t)rounds->works,
                            (const resmon_run *const *)rounds->idle, (size_t)rounds->idles, NULL,
                            &comparison) != RESMON_OK ||
        resmon_comparison_text(&comparison, &text) != RESMON_OK) {
        return fail("cannot compare");
    }
    fputs(text, stdout);
    resmon_text_free(text);
    return 0;
}

/* A number of that range, or -1. */
static double number_of(const char *text, double low, double high)
{
    char *end;
    double value = strtod(text, &end);
    return *text != '\0' && *end == '\0' && value >= low && value <= high ? value : -1.0;
}

static int read_arguments(int argc, char **argv, struct rounds *rounds)
{
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0 && argv[i][2] != '\0'; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0) {
            rounds->count = (long)number_of(argv[i + 1], 1, MOST_ROUNDS);
        } else if (strcmp(argv[i], "--pause") == 0) {
            rounds->pause_s = number_of(argv[i + 1], 0, 86400);
        } else if (strcmp(argv[i], "--country") == 0) {
            rounds->carbon.country = argv[i + 1];
        } else {
            return -1;
        }
    }
    i += i < argc && strcmp(argv[i], "--") == 0 ? 1 : 0;
    rounds->command = &argv[i];
    return i < argc && argv[i][0] != '-' && rounds->count > 0 && rounds->pause_s >= 0.0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct rounds rounds = {.count = 3, .pause_s = 1.0};
    rounds.carbon.struct_size = sizeof rounds.carbon;
    rounds.options = (resmon_monitor_options){.struct_size = sizeof rounds.options,
                                              .domains = RESMON_DOMAIN_CPU | RESMON_DOMAIN_ENERGY,
                                              .flags = RESMON_FLAG_NO_SCOPES,
                                              .carbon = &rounds.carbon};
    if (read_arguments(argc, argv, &rounds) != 0) {
        fputs(usage, stderr);
        return 2;
    }
    int code = run_rounds(&rounds);
    if (code == 0) {
        code = print_comparison(&rounds);
    }
    for (long i = 0; i < MOST_ROUNDS; i++) {
        resmon_run_free(rounds.work[i]);
        resmon_run_free(rounds.idle[i]);
    }
    return code;
}

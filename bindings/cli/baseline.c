/* SPDX-License-Identifier: MIT */
/*
 * resmon baseline: energy of a command above that of the idle machine.
 *
 * The order of work and idle periods alternates: A B, B A, A B, ...  Slow changes, such as those of
 * the temperature or of other load, then affect both sides equally.
 */
#include <stdio.h>
#include <string.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "launch.h"
#include "say.h"

#define MOST_ROUNDS 100
#define LEAST_S     0.1 /* least duration for resmon_compare_runs() */

struct rounds {
    size_t count;
    double pause_s;
    char **command;
    resmon_carbon_options carbon;
    resmon_monitor_options options;
    resmon_run *work[MOST_ROUNDS], *idle[MOST_ROUNDS];
    size_t works, idles;
    double work_s; /* duration of the last run of the command */
};

static int fail(const char *what)
{
    cli_say("baseline", "%s: %s", what, resmon_last_error());
    return CLI_RUN_FAILED;
}

/* Returns the exit status.  If a signal ends the command, it ends this process, too. */
static int run_command(char **words)
{
    struct cli_launch launch;
    if (!cli_launch_prepare(&launch, words, NULL)) {
        return CLI_RUN_FAILED;
    }
    cli_launch_go(&launch, "");
    if (launch.error != 0) {
        cli_say("baseline", "%s: %s", words[0], strerror(launch.error));
    } else {
        cli_launch_wait(&launch);
    }
    cli_launch_reap(&launch);
    int code = cli_launch_status(&launch);
    if (code != 0 && launch.error == 0) {
        cli_say("baseline", "%s ended with code %d: nothing to compare", words[0], code);
    }
    return code;
}

/* Observes the machine while the command runs. */
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
    cli_say("baseline", "round %zu of %zu: running %s", rounds->works + 1, rounds->count,
            rounds->command[0]);
    int code = observe(rounds, &rounds->work[rounds->works]);
    if (code != 0) {
        return code;
    }
    if (resmon_run_get_info(rounds->work[rounds->works++], &info) != RESMON_OK) {
        return fail("cannot observe");
    }
    rounds->work_s = (double)info.duration_ns * 1e-9;
    cli_say("baseline", "round %zu of %zu: it took %.3f s", rounds->works, rounds->count,
            rounds->work_s);
    if (rounds->work_s < LEAST_S) {
        cli_say("baseline",
                "less than %.1f s is too short to compare: give a command that does the work many "
                "times",
                LEAST_S);
        return CLI_RUN_FAILED;
    }
    return 0;
}

static int idle(struct rounds *rounds)
{
    cli_say("baseline", "round %zu of %zu: idle for %.3f s", rounds->idles + 1, rounds->count,
            rounds->work_s);
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
    for (size_t i = 0; i < rounds->count && code == 0; i++) {
        int (*const first)(struct rounds *) = i % 2 == 0 ? work : idle;
        int (*const second)(struct rounds *) = i % 2 == 0 ? idle : work;
        cli_sleep(rounds->pause_s);
        code = first(rounds);
        if (code == 0) {
            cli_sleep(rounds->pause_s);
            code = second(rounds);
        }
    }
    return code;
}

static int print_comparison(const struct rounds *rounds)
{
    resmon_comparison comparison = {.struct_size = sizeof comparison};
    char *text = NULL;
    if (resmon_compare_runs((const resmon_run *const *)rounds->work, rounds->works,
                            (const resmon_run *const *)rounds->idle, rounds->idles, NULL,
                            &comparison) != RESMON_OK ||
        resmon_comparison_text(&comparison, &text) != RESMON_OK) {
        return fail("cannot compare");
    }
    int code = cli_print("baseline", text) ? 0 : CLI_RUN_FAILED;
    resmon_text_free(text);
    return code;
}

int cli_baseline(const struct cli_arguments *arguments)
{
    static struct rounds rounds;   /* large */
    double count = 3.0, pue = 0.0; /* 0: the default */
    rounds = (struct rounds){.pause_s = 1.0, .command = arguments->words};
    if (!cli_number(arguments, "rounds", 1, MOST_ROUNDS, &count) ||
        !cli_number(arguments, "pause", 0, 86400, &rounds.pause_s) ||
        !cli_number(arguments, "pue", 1, 100, &pue) || !cli_needs_words(arguments, 1, (size_t)-1)) {
        return cli_wrong(arguments->command);
    }
    rounds.count = (size_t)count;
    rounds.carbon.struct_size = sizeof rounds.carbon;
    rounds.carbon.country = cli_value(arguments, "country");
    rounds.carbon.pue = pue;
    rounds.options = (resmon_monitor_options){.struct_size = sizeof rounds.options,
                                              .domains = RESMON_DOMAIN_CPU | RESMON_DOMAIN_ENERGY,
                                              .flags = RESMON_FLAG_NO_SCOPES,
                                              .carbon = &rounds.carbon};
    int code = run_rounds(&rounds);
    if (code == 0) {
        code = print_comparison(&rounds);
    }
    for (size_t i = 0; i < MOST_ROUNDS; i++) {
        resmon_run_free(rounds.work[i]);
        resmon_run_free(rounds.idle[i]);
    }
    return code;
}

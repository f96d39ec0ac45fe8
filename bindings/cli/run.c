/* SPDX-License-Identifier: MIT */
/* resmon run: a command, observed from before its exec until its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "gather.h"
#include "launch.h"
#include "observe.h"
#include "say.h"
#include "watch.h"

struct running {
    struct cli_observing observing;
    struct cli_launch launch;
    struct cli_kept kept;
    struct cli_gather gather;
    struct cli_node_ranks ranks;
    bool begins_early; /* before its monitor has started */
};

/* ---- the monitor -------------------------------------------------------------------------- */

/* The command line to show in the run; with --redact, without its arguments. */
static char *command_line(const struct cli_arguments *arguments)
{
    static char more[] = "...";
    char *const redacted[] = {arguments->words[0], more};
    if (cli_has(arguments, "redact")) {
        return cli_line_of(redacted, arguments->word_count > 1 ? 2 : 1);
    }
    return cli_line_of(arguments->words, arguments->word_count);
}

/* Lets the command begin, and subtracts the resource use of its process until then. */
static void release_command(struct running *running)
{
    int64_t at_ns;
    resmon_run_usage usage;
    cli_launch_go(&running->launch, running->gather.variable);
    if (running->begins_early && cli_launch_begin(&running->launch, &at_ns, &usage)) {
        (void)resmon_monitor_set_begin(running->observing.monitor, at_ns, &usage);
    }
}

/* In a job, the first monitor on each node measures the machine, so it must start in time. */
static bool is_in_job(void)
{
    resmon_job_info info;
    resmon_job *job = cli_job_detect(&info);
    bool is_known = job != NULL && info.system[0] != '\0';
    resmon_job_free(job);
    return is_known;
}

/* Whether the command must wait until it is observed: for sources that must be set up before the
 * exec, for recordings, which must be complete, and for drivers that take long to open. */
static bool needs_first_moment(const struct cli_arguments *arguments)
{
    static const char *const keys[] = {"counters", "stacks", "lines", "each", "record"};
    bool is_needed = cli_has(arguments, "live") || cli_observe_directory(arguments) != NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        is_needed |= cli_given_of(arguments, keys[i]) != NULL;
    }
    return is_needed || access("/dev/nvidiactl", F_OK) == 0 || is_in_job();
}

/* False: the options are wrong, and the command does not run.  If it cannot be observed here, it
 * runs without a monitor. */
static bool start_observing(struct running *running)
{
    char *command = command_line(running->observing.arguments);
    bool is_made = cli_observe_make(&running->observing, running->launch.pid, command);
    free(command);
    if (!is_made) {
        return false;
    }
    cli_node_ranks_enter(&running->ranks, &running->observing.place);
    if (running->begins_early) {
        release_command(running);
    }
    if (resmon_monitor_start(running->observing.monitor) != RESMON_OK) {
        cli_say("run", "%s; the command runs unobserved", resmon_last_error());
        cli_observe_free(&running->observing);
    }
    return true;
}

/* ---- the end ------------------------------------------------------------------------------ */

/* The kernel's accounting, if there is no monitor. */
static void say_usage(const struct cli_launch *launch)
{
    char cpu[RESMON_VALUE_BYTES], peak[RESMON_VALUE_BYTES];
    const resmon_run_usage usage = cli_launch_usage(launch);
    if (resmon_format_value("s", usage.user_s + usage.system_s, cpu, sizeof cpu) == RESMON_OK &&
        resmon_format_value("B", usage.rss_peak_bytes, peak, sizeof peak) == RESMON_OK) {
        cli_say("run", "it used %s of CPU time; peak memory of its largest process: %s", cpu, peak);
    }
}

/* Sets the end and the resource use of the run. */
static void note_end(struct running *running)
{
    const resmon_run_end end = cli_launch_end(&running->launch);
    const resmon_run_usage usage = cli_launch_usage(&running->launch);
    if (running->observing.monitor != NULL) {
        (void)resmon_monitor_set_usage(running->observing.monitor, &usage);
        (void)resmon_monitor_set_end(running->observing.monitor, &end);
    }
}

/* A failed rank does not wait for the others, as its launcher may end them when it exits. */
static void gather(struct running *running)
{
    if (cli_launch_end(&running->launch).reason == RESMON_END_FINISHED) {
        cli_gather_machine(&running->observing, &running->ranks);
    }
    cli_node_ranks_leave(&running->ranks);
    cli_observe_leave(&running->observing);
    cli_gather_job(&running->observing);
}

static void finish(struct running *running)
{
    if (running->observing.monitor == NULL) {
        say_usage(&running->launch);
        cli_launch_reap(&running->launch);
        return;
    }
    cli_gather_end(&running->gather, running->observing.monitor);
    (void)resmon_monitor_stop(running->observing.monitor);
    cli_launch_reap(&running->launch); /* the stop sampled it once more */
    bool is_well = cli_observe_finish(&running->observing);
    cli_observe_free(
        &running->observing); /* other ranks of the node can now use what the monitor held */
    if (is_well) {
        gather(running);
    }
}

/* ---- the verb ----------------------------------------------------------------------------- */

/* For a command that could not be executed; also stored in its run. */
static void say_failure(struct running *running)
{
    const char *why = strerror(running->launch.error);
    const resmon_run_end end = {.struct_size = sizeof end,
                                .reason = RESMON_END_FAILED,
                                .exit_status = cli_launch_status(&running->launch),
                                .text = why};
    cli_say("run", "%s: %s", running->observing.arguments->words[0], why);
    if (running->observing.monitor != NULL) {
        (void)resmon_monitor_set_end(running->observing.monitor, &end);
    }
}

static int give_up(struct running *running)
{
    cli_launch_cancel(&running->launch);
    return CLI_RUN_FAILED;
}

static int fail(struct running *running)
{
    say_failure(running);
    cli_launch_reap(&running->launch);
    return cli_launch_status(&running->launch);
}

/* Waits with a live view, if there is a monitor. */
static bool wait_with_view(struct running *running, struct cli_watch *watch)
{
    release_command(running);
    if (running->launch.error == 0) {
        cli_watch_wait(watch);
        note_end(running);
    }
    cli_watch_close(watch);
    return running->launch.error == 0;
}

static bool wait_plain(struct running *running)
{
    if (!running->begins_early) {
        release_command(running);
    }
    if (running->launch.error == 0) {
        cli_launch_wait(&running->launch);
        note_end(running);
    }
    return running->launch.error == 0;
}

static int observe(struct running *running)
{
    struct cli_watch watch = {.launch = &running->launch, .gather = &running->gather};
    if (!start_observing(running)) {
        return give_up(running);
    }
    watch.monitor = running->observing.monitor;
    bool is_live = running->launch.kept != NULL;
    if (is_live && !cli_watch_open(&watch)) {
        return give_up(running);
    }
    if (!(is_live ? wait_with_view(running, &watch) : wait_plain(running))) {
        return fail(running);
    }
    finish(running);
    return -1;
}

/* Whether a library option is for the programs' own monitors: about scopes, or their energy. */
static bool is_of_programs(const char *key)
{
    return cli_is_of_scopes(key) || strcmp(key, "idle") == 0 || strncmp(key, "carbon", 6) == 0;
}

/* Sets the options for monitors of programs that use libresmon: without energy, if this run has
 * none.  False: the options are wrong. */
static bool set_program_options(const struct cli_arguments *arguments, struct cli_text *asked)
{
    const struct cli_given *scopes = cli_given_of(arguments, "scopes");
    const struct cli_given *domains = cli_given_of(arguments, "domains");
    uint64_t bits = 0;
    bool is_checked =
        scopes != NULL && (scopes->value == NULL || strcmp(scopes->value, "none") != 0);
    if (is_checked && !cli_check("run", resmon_option_bits("scopes", scopes->value, &bits))) {
        return false;
    }
    if (domains != NULL && resmon_option_bits("domains", domains->value, &bits) == RESMON_OK &&
        (bits & RESMON_DOMAIN_ENERGY) == 0) {
        cli_text_add(asked, "domains", "process");
    }
    for (size_t i = 0; i < arguments->of_library_count; i++) {
        const struct cli_given *given = &arguments->of_library[i];
        if (is_of_programs(given->key)) {
            cli_text_add(asked, given->key, given->value);
        }
    }
    return true;
}

int cli_run(const struct cli_arguments *arguments)
{
    struct running running = {
        .observing.arguments = arguments, .kept = {.fd = -1}, .ranks = {.fd = -1}};
    struct cli_text asked = {.text = NULL};
    if (!cli_needs_words(arguments, 1, (size_t)-1)) {
        return cli_wrong(arguments->command);
    }
    if (cli_has(arguments, "live") && cli_has(arguments, "verbose")) {
        cli_say("run", "--verbose: its lines would be written over the view of --live; give one");
        return cli_wrong(arguments->command);
    }
    if (!set_program_options(arguments, &asked)) {
        return CLI_RUN_FAILED;
    }
    if (!cli_launch_prepare(&running.launch, arguments->words,
                            cli_has(arguments, "live") ? &running.kept : NULL)) {
        return CLI_RUN_FAILED;
    }
    running.begins_early = !needs_first_moment(arguments);
    cli_gather_begin(&running.gather, asked.text);
    cli_text_free(&asked);
    (void)umask(077); /* command lines hold secrets; the command has the mask of its caller */
    int result = observe(&running);
    cli_gather_end(&running.gather, NULL);
    cli_kept_close(&running.kept);
    cli_observe_free(&running.observing);
    return result >= 0 ? result : cli_launch_status(&running.launch);
}

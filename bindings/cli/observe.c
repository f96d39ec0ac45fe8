/* SPDX-License-Identifier: MIT */
#include "observe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "output.h"
#include "say.h"
#include "verbose.h"

/* ---- the monitor -------------------------------------------------------------------------- */

/* The command itself prints the summary and lines; scopes are recorded by the programs. */
static bool is_of_monitor(const char *key)
{
    return strcmp(key, "summary") != 0 && strcmp(key, "lines") != 0 && !cli_is_of_scopes(key);
}

const char *cli_observe_directory(const struct cli_arguments *arguments)
{
    const char *path, *found = NULL;
    for (size_t i = 0; (path = cli_value_at(arguments, "output", i)) != NULL; i++) {
        found = cli_job_is_directory(path) ? path : found;
    }
    return found;
}

/* A process has a recording in the directory of a job until its run is over. */
static bool settle(struct cli_observing *observing, struct cli_text *text)
{
    const char *verb = observing->arguments->command->name;
    const char *directory = cli_observe_directory(observing->arguments);
    char path[CLI_JOB_PATH_BYTES];
    if (directory == NULL) {
        return true;
    }
    if (cli_given_of(observing->arguments, "record") != NULL) {
        cli_say(verb, "--record cannot be combined with a directory, which has its own recording");
        return false;
    }
    observing->place.is_monitor = cli_has(observing->arguments, "job");
    if (!cli_job_settle(verb, directory, &observing->place)) {
        return false;
    }
    cli_job_path(&observing->place, ".rec", path);
    cli_text_add(text, "record", path);
    return true;
}

/* Other tools take seconds. */
static void note_interval(const struct cli_arguments *arguments)
{
    const struct cli_given *given = cli_given_of(arguments, "interval");
    const char *value = given != NULL && given->value != NULL ? given->value : "";
    size_t digits = strspn(value, "0123456789");
    if (digits > 0 && digits < 3 && value[digits] == '\0' && value[0] != '0') {
        cli_say(arguments->command->name, "--interval=%s is %s ms; for seconds, write %ss", value,
                value, value);
    }
}

static resmon_status make(const struct cli_arguments *arguments, pid_t pid, const char *command,
                          struct cli_text text, resmon_monitor **ret_monitor)
{
    char number[32];
    note_interval(arguments);
    for (size_t i = 0; i < arguments->of_library_count; i++) {
        const struct cli_given *given = &arguments->of_library[i];
        if (is_of_monitor(given->key)) {
            cli_text_add(&text, given->key, given->value);
        }
    }
    if (cli_given_of(arguments, "lines") != NULL && cli_given_of(arguments, "stacks") == NULL) {
        cli_text_add(&text, "stacks", "cpu+memory");
    }
    if (pid != 0) {
        (void)snprintf(number, sizeof number, "%ld", (long)pid);
        cli_text_add(&text, "pid", number);
    }
    cli_text_add(&text, "scopes", "none");
    if (command != NULL) {
        cli_text_add(&text, "command", command);
    }
    resmon_status status = resmon_monitor_new_text(text.text, ret_monitor);
    cli_text_free(&text);
    return status;
}

static resmon_status add_outputs(const struct cli_arguments *arguments, resmon_monitor *monitor)
{
    const char *path;
    for (size_t i = 0; (path = cli_value_at(arguments, "output", i)) != NULL; i++) {
        bool is_no_sink = cli_output_is_late(path) || cli_job_is_directory(path);
        resmon_status status = is_no_sink ? RESMON_OK : cli_output_add(monitor, path);
        if (status != RESMON_OK) {
            return status;
        }
    }
    return RESMON_OK;
}

static void say_remarks(const char *verb, resmon_monitor *monitor)
{
    char *text = NULL;
    if (resmon_monitor_remarks(monitor, &text) != RESMON_OK) {
        return;
    }
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        cli_say(verb, "%s", line);
    }
    resmon_text_free(text);
}

/* The library keeps files of observed processes open between samples.  The limit is raised to what
 * it opens at most.  The command was forked before and keeps its own limit. */
static void raise_file_limit(void)
{
    static const rlim_t wanted = 10000;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

bool cli_observe_make(struct cli_observing *observing, pid_t pid, const char *command)
{
    const struct cli_arguments *arguments = observing->arguments;
    struct cli_text text = {.text = NULL};
    if (!settle(observing, &text)) {
        cli_text_free(&text);
        return false;
    }
    raise_file_limit();
    resmon_status status = make(arguments, pid, command, text, &observing->monitor);
    status = status == RESMON_OK ? add_outputs(arguments, observing->monitor) : status;
    if (status == RESMON_OK && cli_has(arguments, "verbose")) {
        status = cli_verbose_add(arguments, observing->monitor);
    }
    if (!cli_check(arguments->command->name, status)) {
        cli_observe_free(observing);
        return false;
    }
    say_remarks(arguments->command->name, observing->monitor);
    return true;
}

void cli_observe_free(struct cli_observing *observing)
{
    resmon_monitor_free(observing->monitor);
    observing->monitor = NULL;
}

/* ---- the end ------------------------------------------------------------------------------ */

const struct cli_given *cli_given_of(const struct cli_arguments *arguments, const char *key)
{
    const struct cli_given *found = NULL;
    for (size_t i = 0; i < arguments->of_library_count; i++) {
        found = strcmp(arguments->of_library[i].key, key) == 0 ? &arguments->of_library[i] : found;
    }
    return found;
}

/* If an output could not be written, the summary is printed instead. */
static bool check_outputs(const char *verb, resmon_monitor *monitor)
{
    bool is_all_well = true;
    resmon_sink_info info = {.struct_size = sizeof info};
    for (size_t i = 0; resmon_monitor_get_sink(monitor, i, &info) == RESMON_OK; i++) {
        if (info.end_status != RESMON_OK) {
            cli_say(verb, "%s: %s", info.name, info.reason);
            is_all_well = false;
        }
    }
    return is_all_well;
}

static void print(const struct cli_arguments *arguments, resmon_monitor *monitor,
                  const resmon_run *run, bool is_well)
{
    const struct cli_given *summary = cli_given_of(arguments, "summary");
    const struct cli_given *lines = cli_given_of(arguments, "lines");
    size_t own_sinks = cli_has(arguments, "verbose") ? 1 : 0;
    bool has_outputs = resmon_monitor_sink_count(monitor) > own_sinks ||
                       cli_has(arguments, "output") || cli_given_of(arguments, "record") != NULL;
    bool wants_full =
        summary != NULL && summary->value != NULL && strcmp(summary->value, "full") == 0;
    if ((!has_outputs || summary != NULL || !is_well) && !cli_has(arguments, "quiet")) {
        cli_output_print(run, wants_full, cli_columns(STDERR_FILENO));
    }
    if (lines != NULL) {
        cli_output_print_lines(run, lines->value);
    }
}

/* The document replaces the recording, which lacks the scopes of other programs. */
static bool write_in_place(const struct cli_observing *observing, const resmon_run *run)
{
    char document[CLI_JOB_PATH_BYTES];
    cli_job_path(&observing->place, ".json", document);
    return cli_output_write(observing->arguments->command->name, run, document, NULL);
}

void cli_observe_leave(const struct cli_observing *observing)
{
    char path[CLI_JOB_PATH_BYTES];
    if (observing->place.directory[0] == '\0') {
        return;
    }
    cli_job_path(&observing->place, ".json", path);
    if (access(path, F_OK) == 0) {
        cli_job_path(&observing->place, ".rec", path);
        (void)unlink(path);
    }
}

bool cli_observe_finish(const struct cli_observing *observing)
{
    const struct cli_arguments *arguments = observing->arguments;
    const char *verb = arguments->command->name;
    const char *path;
    resmon_run *run = NULL;
    (void)resmon_monitor_stop(observing->monitor);
    bool is_well = check_outputs(verb, observing->monitor);
    if (resmon_monitor_snapshot(observing->monitor, &run) != RESMON_OK) {
        cli_say(verb, "no result: %s", resmon_last_error());
        return false;
    }
    for (size_t i = 0; (path = cli_value_at(arguments, "output", i)) != NULL; i++) {
        if (cli_output_is_late(path)) {
            is_well &= cli_output_write(verb, run, path, NULL);
        }
    }
    if (observing->place.directory[0] != '\0') {
        is_well &= write_in_place(observing, run);
    }
    print(arguments, observing->monitor, run, is_well);
    resmon_run_free(run);
    return is_well;
}

/* ---- control groups --------------------------------------------------------------------- */

/* The source reports that the cgroup is gone; the column keeps the last value. */
static bool is_gone(const resmon_run *run)
{
    for (size_t i = 0; i < resmon_run_source_count(run); i++) {
        resmon_run_source source = {.struct_size = sizeof source};
        if (resmon_run_get_source(run, i, &source) == RESMON_OK &&
            strcmp(source.name, "tree") == 0) {
            return source.status == RESMON_ESRCH;
        }
    }
    return false;
}

/* The last value of a metric; NaN: unknown. */
static double last_of(const resmon_run *run, const char *metric)
{
    size_t index;
    resmon_column column = {.struct_size = sizeof column};
    bool is_known = resmon_run_find_column(run, metric, NULL, &index) == RESMON_OK &&
                    resmon_run_get_column(run, index, &column) == RESMON_OK && column.n > 0;
    return is_known ? column.last : (double)NAN;
}

static bool check_group(resmon_monitor *monitor, bool (*check)(const resmon_run *run))
{
    resmon_run *run = NULL;
    bool is_so = resmon_monitor_summary(monitor, &run) == RESMON_OK && check(run);
    resmon_run_free(run);
    return is_so;
}

static bool is_empty(const resmon_run *run)
{
    return last_of(run, "tree.processes") == 0.0 || is_gone(run);
}

static bool has_oom_kill(const resmon_run *run)
{
    return last_of(run, "cg.mem.events.oom_kill") > 0.0;
}

bool cli_group_is_empty(resmon_monitor *monitor)
{
    return check_group(monitor, is_empty);
}

bool cli_group_out_of_memory(resmon_monitor *monitor)
{
    return check_group(monitor, has_oom_kill);
}

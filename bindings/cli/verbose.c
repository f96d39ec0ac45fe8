/* SPDX-License-Identifier: MIT */
#include "verbose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/resmon.h>

#include "say.h"

#define LOOK_MS      1000
#define MOST_SOURCES 64
#define REASON_BYTES 256

/* What was said of each source, by its place in the run. */
struct verbose {
    const char *verb;
    struct said {
        int32_t status;
        char reason[REASON_BYTES];
    } said[MOST_SOURCES];
};

/* The library's log is of this process, and the command has one monitor. */
static const char *log_verb;

static void log_line(void *context, int32_t level, const char *line)
{
    (void)context;
    (void)level;
    cli_say(log_verb, "%s", line);
}

static resmon_run_source source_at(const resmon_run *run, size_t index)
{
    resmon_run_source source = {.struct_size = sizeof source};
    (void)resmon_run_get_source(run, index, &source);
    return source;
}

/* "reads with every sample: proc_cpu, proc_mem" */
static void say_read(const struct verbose *verbose, const resmon_run *run, uint64_t every)
{
    char names[1024];
    size_t length = 0;
    for (size_t i = 0; i < resmon_run_source_count(run); i++) {
        const resmon_run_source source = source_at(run, i);
        bool is_one = source.status == RESMON_OK && source.every == every;
        if (is_one && length + strlen(source.name) + 3 < sizeof names) {
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                       length > 0 ? ", " : "", source.name);
        }
    }
    if (length > 0 && every == 1) {
        cli_say(verbose->verb, "reads with every sample: %s", names);
    } else if (length > 0) {
        cli_say(verbose->verb, "reads with every %llu samples: %s", (unsigned long long)every,
                names);
    }
}

/* Remembers what a source has; false: it is what was said before. */
static bool is_news(struct verbose *verbose, size_t index, const resmon_run_source *source)
{
    struct said *said = &verbose->said[index];
    char reason[REASON_BYTES];
    (void)snprintf(reason, sizeof reason, "%s", source->reason);
    if (said->status == source->status && strcmp(said->reason, reason) == 0) {
        return false;
    }
    said->status = source->status;
    memcpy(said->reason, reason, sizeof reason);
    return true;
}

static void say_source(const struct verbose *verbose, const char *when,
                       const resmon_run_source *source)
{
    const char *what = source->status == RESMON_OK ? "reads" : "does not read";
    cli_say(verbose->verb, "%s%s %s%s%s", when, what, source->name,
            source->reason[0] != '\0' ? ": " : "", source->reason);
}

static resmon_status start(void *context, const resmon_run *run)
{
    struct verbose *verbose = context;
    uint64_t last = 0, next = 1;
    while (next != last) { /* each number of samples once, in order */
        say_read(verbose, run, next);
        last = next;
        for (size_t i = 0; i < resmon_run_source_count(run); i++) {
            uint64_t every = source_at(run, i).every;
            next = every > last && (next == last || every < next) ? every : next;
        }
    }
    for (size_t i = 0; i < resmon_run_source_count(run) && i < MOST_SOURCES; i++) {
        const resmon_run_source source = source_at(run, i);
        if (is_news(verbose, i, &source)) {
            say_source(verbose, "", &source);
        }
    }
    return RESMON_OK;
}

static resmon_status look(void *context, const resmon_run *run)
{
    struct verbose *verbose = context;
    char when[RESMON_VALUE_BYTES + 16] = "", value[RESMON_VALUE_BYTES];
    resmon_run_info info = {.struct_size = sizeof info};
    if (resmon_run_get_info(run, &info) == RESMON_OK &&
        resmon_format_value("s", (double)info.duration_ns * 1e-9, value, sizeof value) ==
            RESMON_OK) {
        (void)snprintf(when, sizeof when, "after %s: ", value);
    }
    for (size_t i = 0; i < resmon_run_source_count(run) && i < MOST_SOURCES; i++) {
        const resmon_run_source source = source_at(run, i);
        if (is_news(verbose, i, &source)) {
            say_source(verbose, when, &source);
        }
    }
    return RESMON_OK;
}

static void forget(void *verbose)
{
    free(verbose);
}

resmon_status cli_verbose_add(const struct cli_arguments *arguments, resmon_monitor *monitor)
{
    struct verbose *verbose = cli_grow(NULL, sizeof *verbose);
    *verbose = (struct verbose){.verb = arguments->command->name};
    const resmon_sink_ops ops = {
        .struct_size = sizeof ops,
        .name = "verbose",
        .start = start,
        .snapshot = look,
        .stop = look,
        .close = forget,
        .snapshot_interval_ms = LOOK_MS,
        .parts = RESMON_PART_TAGS, /* the least: sources are always there */
    };
    log_verb = verbose->verb;
    resmon_set_log(log_line, NULL, RESMON_LOG_DEBUG);
    resmon_status status = resmon_monitor_add_sink(monitor, &ops, verbose);
    if (status != RESMON_OK) {
        free(verbose);
    }
    return status;
}

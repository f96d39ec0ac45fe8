/* SPDX-License-Identifier: MIT */
/* resmon push: sends finished runs to servers, also runs that could not be sent earlier. */
#include <stdio.h>
#include <string.h>

#include <resmon/sink.h>

#include "arguments.h"
#include "output.h"
#include "say.h"

/* The options of one sink: "mlflow.experiment" of the command line is "experiment" here. */
struct target {
    const char *sink;
    const char *main; /* the key of a value without one */
    const char *name; /* for the user */
    bool is_wanted;
    struct cli_text options;
};

/* The first is the default. */
static const struct target known_targets[] = {
    {.sink = "mlflow", .main = "tracking_uri", .name = "MLflow"},
    {.sink = "pushgateway", .main = "url", .name = "the Pushgateway"},
    {.sink = "otlp", .main = "endpoint", .name = "the OTLP receiver"},
};

#define TARGETS (sizeof known_targets / sizeof known_targets[0])

bool cli_is_pushed_to(const char *sink)
{
    for (size_t i = 0; i < TARGETS; i++) {
        if (strcmp(known_targets[i].sink, sink) == 0) {
            return true;
        }
    }
    return false;
}

static void take(struct target *target, const struct cli_given *given)
{
    size_t length = strlen(target->sink);
    if (strncmp(given->key, target->sink, length) != 0) {
        return;
    }
    if (given->key[length] == '.') {
        cli_text_add(&target->options, given->key + length + 1, given->value);
        target->is_wanted = true;
    } else if (given->key[length] == '\0') {
        target->is_wanted = true;
        if (given->value != NULL) {
            cli_text_add(&target->options, target->main, given->value);
        }
    }
}

static const char *options_of(const struct target *target)
{
    return target->options.text != NULL ? target->options.text : "";
}

/* Versions before 0.1 stored requests as text if a server was unavailable. */
static bool is_old_spool(const char *path)
{
    static const char mark[] = "resmon-mlflow-spool ";
    char start[sizeof mark - 1];
    FILE *file = fopen(path, "rbe");
    size_t length = file != NULL ? fread(start, 1, sizeof start, file) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    return length == sizeof start && memcmp(start, mark, length) == 0;
}

static bool send_run(const resmon_run *run, const char *path, const struct target *target)
{
    if (resmon_run_export(run, target->sink, options_of(target)) != RESMON_OK) {
        cli_say("push", "%s: %s", path, resmon_last_error());
        return false;
    }
    return printf("%s: sent to %s\n", path, target->name) > 0;
}

static bool push_one(const char *path, const struct target targets[TARGETS])
{
    if (is_old_spool(path)) {
        cli_say("push",
                "%s is a spool file of an earlier version of resmon, which alone can send it",
                path);
        return false;
    }
    resmon_run *run = cli_output_load("push", path);
    bool is_sent = run != NULL;
    for (size_t i = 0; i < TARGETS && run != NULL; i++) {
        is_sent &= !targets[i].is_wanted || send_run(run, path, &targets[i]);
    }
    resmon_run_free(run);
    return is_sent;
}

int cli_push(const struct cli_arguments *arguments)
{
    struct target targets[TARGETS];
    bool is_any = false;
    bool is_well = true;
    if (!cli_needs_words(arguments, 1, (size_t)-1)) {
        return cli_wrong(arguments->command);
    }
    memcpy(targets, known_targets, sizeof targets);
    for (size_t t = 0; t < TARGETS; t++) {
        for (size_t i = 0; i < arguments->of_library_count; i++) {
            take(&targets[t], &arguments->of_library[i]);
        }
        is_any |= targets[t].is_wanted;
    }
    targets[0].is_wanted |= !is_any;
    for (size_t i = 0; i < arguments->word_count; i++) {
        is_well &= push_one(arguments->words[i], targets);
    }
    for (size_t t = 0; t < TARGETS; t++) {
        cli_text_free(&targets[t].options);
    }
    return is_well && cli_print("push", "") ? 0 : CLI_FAILED;
}

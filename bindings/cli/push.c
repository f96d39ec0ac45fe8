/* SPDX-License-Identifier: MIT */
/* resmon push: sends finished runs to MLflow or a Pushgateway, also runs that could not be sent
 * earlier. */
#include <stdio.h>
#include <string.h>

#include <resmon/sink.h>

#include "arguments.h"
#include "output.h"
#include "say.h"

/* The options of one sink: "mlflow.experiment" of the command line is "experiment" here. */
struct target {
    const char *sink;
    bool is_wanted;
    struct cli_text options;
};

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
        const char *key = strcmp(target->sink, "mlflow") == 0 ? "tracking_uri" : "url";
        target->is_wanted = true;
        if (given->value != NULL) {
            cli_text_add(&target->options, key, given->value);
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
    return printf("%s: sent to %s\n", path,
                  strcmp(target->sink, "mlflow") == 0 ? "MLflow" : "the Pushgateway") > 0;
}

static bool push_one(const char *path, const struct target *targets, size_t count)
{
    if (is_old_spool(path)) {
        cli_say("push",
                "%s is a spool file of an earlier version of resmon, which alone can send it",
                path);
        return false;
    }
    resmon_run *run = cli_output_load("push", path);
    bool is_sent = run != NULL;
    for (size_t i = 0; i < count && run != NULL; i++) {
        is_sent &= !targets[i].is_wanted || send_run(run, path, &targets[i]);
    }
    resmon_run_free(run);
    return is_sent;
}

int cli_push(const struct cli_arguments *arguments)
{
    struct target targets[] = {{.sink = "mlflow"}, {.sink = "pushgateway"}};
    bool is_well = true;
    if (!cli_needs_words(arguments, 1, (size_t)-1)) {
        return cli_wrong(arguments->command);
    }
    for (size_t i = 0; i < arguments->of_library_count; i++) {
        take(&targets[0], &arguments->of_library[i]);
        take(&targets[1], &arguments->of_library[i]);
    }
    targets[0].is_wanted |= !targets[1].is_wanted;
    for (size_t i = 0; i < arguments->word_count; i++) {
        is_well &= push_one(arguments->words[i], targets, 2);
    }
    cli_text_free(&targets[0].options);
    cli_text_free(&targets[1].options);
    return is_well && cli_print("push", "") ? 0 : CLI_FAILED;
}

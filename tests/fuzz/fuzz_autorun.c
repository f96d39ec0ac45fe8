/* SPDX-License-Identifier: MIT */
/* The text of the environment variable RESMON, and the options of sinks in it. */
#include "fuzz.h"

#include <resmon/resmon.h>

#include "api/plan.h"
#include "sink/sinks.h"

static void check_sink(const struct rm_option_set *set, const char *text)
{
    struct rm_sink_options options;
    const struct rm_sink_kind *kind = rm_sink_kind_find(set->name);
    PROMISE(kind != NULL && strlen(text) < 1 << 20);
    if (rm_sink_parse(kind, text, &options) == RESMON_OK) {
        (void)rm_options_complete(set, options.values);
        rm_sink_options_free(&options);
    } else {
        PROMISE(resmon_last_error()[0] != '\0');
    }
}

static void check_plan(const struct rm_plan *plan)
{
    struct rm_options options;
    bool has_output = plan->options.record != NULL || plan->environment.lines != NULL;
    for (size_t i = 0; i < plan->sink_count; i++) {
        has_output = has_output || plan->sinks[i].is_wanted;
        if (plan->sinks[i].is_wanted && plan->sinks[i].text.text != NULL) {
            check_sink(plan->sinks[i].set, plan->sinks[i].text.text);
        }
    }
    PROMISE(plan->wants_summary || has_output);
    if (rm_options_read(&plan->options, &options) == RESMON_OK) {
        PROMISE(options.interval_ns > 0 && options.values.rows % 2 == 0);
        rm_options_free(&options);
    } else {
        PROMISE(resmon_last_error()[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rm_plan plan;
    char *text = malloc(size + 1);
    PROMISE(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (rm_plan_read(text, true, &plan) == RESMON_OK) {
        check_plan(&plan);
    } else {
        PROMISE(resmon_last_error()[0] != '\0');
    }
    rm_plan_free(&plan);
    free(text);
    return 0;
}

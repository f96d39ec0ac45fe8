/* SPDX-License-Identifier: MIT */
/* The text of the environment variable RESMON. */
#include "fuzz.h"

#include <resmon/resmon.h>

#include "engine/autorun.h"
#include "engine/options.h"

static void check_plan(const struct rm_autorun *plan)
{
    struct rm_options options;
    bool has_text = false;
    for (size_t i = 0; i < RM_AUTORUN_TEXTS; i++) {
        PROMISE(strlen(plan->texts[i]) < sizeof plan->texts[i]);
        has_text = has_text || plan->has[i];
    }
    PROMISE(plan->wants_summary || has_text);
    if (rm_options_read(&plan->options, &options) == RESMON_OK) {
        PROMISE(options.interval_ns > 0 && options.rows % 2 == 0);
        rm_options_free(&options);
    } else {
        PROMISE(resmon_last_error()[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rm_autorun plan;
    char *text = malloc(size + 1);
    PROMISE(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (rm_autorun_parse(text, &plan) == RESMON_OK) {
        check_plan(&plan);
    } else {
        PROMISE(resmon_last_error()[0] != '\0');
    }
    free(text);
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "net/mlflow_counters.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "net/mlflow_names.h"

#define NUMBER_BYTES 8 /* "_2", for one of a name that is taken */

typedef char name_text[RM_MLFLOW_COUNTER_BYTES];

/* Of libpfm4's names, '/' is no step in a path; '-' is what MLflow's own names have as '_'. */
static void set_name(name_text target, const resmon_run_counter *counter)
{
    char text[RM_MLFLOW_COUNTER_BYTES - NUMBER_BYTES];
    bool is_time = strcmp(counter->unit, "s") == 0;
    (void)snprintf(text, sizeof text, "%.*s%s", (int)sizeof text - 1 - (is_time ? 8 : 0),
                   counter->name, is_time ? "_seconds" : "");
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '-' || *at == '/' ? '_' : *at;
    }
    rm_mlflow_clean_name(target, RM_MLFLOW_COUNTER_BYTES, text);
}

static bool is_taken(const char *name, name_text *names, size_t count)
{
    static const char *const figures[] = {
        "wall_seconds",       "calls",          "cpu_seconds",     "thread_cpu_seconds",
        "rss_peak_megabytes", "read_megabytes", "write_megabytes", "energy_joules"};
    for (size_t i = 0; i < RM_ARRAY_LEN(figures); i++) {
        if (strcmp(name, figures[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

void rm_mlflow_counters_name(const struct resmon_run *run,
                             char ret_names[RM_SCOPE_COUNTERS][RM_MLFLOW_COUNTER_BYTES])
{
    for (size_t i = 0; i < run->counter_count; i++) {
        char *name = ret_names[i];
        name[0] = '\0';
        if (run->counters[i].status != RESMON_OK) {
            continue;
        }
        set_name(name, &run->counters[i]);
        size_t length = strlen(name);
        for (unsigned number = 2; is_taken(name, ret_names, i); number++) {
            (void)snprintf(name + length, RM_MLFLOW_COUNTER_BYTES - length, "_%u", number);
        }
    }
}

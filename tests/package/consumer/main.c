/* SPDX-License-Identifier: MIT */
#include <resmon/resmon.h>

#include <stdio.h>
#include <string.h>

static int work(void)
{
    RESMON_FUNCTION();
    volatile int sum = 0;
    for (int i = 0; i < 1000; i++) {
        RESMON_SCOPE("step");
        sum += i;
    }
    return sum;
}

/* Exit status 0 when scopes of a monitor, or of the environment's, were counted. */
int main(void)
{
    resmon_monitor *monitor = NULL;
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .scopes = RESMON_METER_WALL};
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK) {
        return 1;
    }
    resmon_status status = resmon_monitor_start(monitor);
    if (status == RESMON_EBUSY) {
        resmon_monitor_free(monitor);
        (void)work();
        puts("observed by the environment");
        return 0;
    }
    (void)work();
    resmon_run *run = NULL;
    if (status != RESMON_OK || resmon_monitor_stop(monitor) != RESMON_OK ||
        resmon_monitor_snapshot(monitor, &run) != RESMON_OK) {
        fprintf(stderr, "%s\n", resmon_last_error());
        return 1;
    }
    resmon_run_scope step = {.struct_size = sizeof step};
    int found = 0;
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        found |= resmon_run_get_scope(run, i, &step) == RESMON_OK &&
                 strcmp(step.name, "step") == 0 && step.calls == 1000;
    }
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    printf("resmon %s: %s\n", resmon_version(), found ? "1000 steps" : "steps are missing");
    return found ? 0 : 1;
}

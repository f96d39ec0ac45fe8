/* SPDX-License-Identifier: MIT */
/* A program that also reads what it recorded: it links the reader. */
#include <resmon/resmon.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    /* RESMON may have a monitor with scopes of its own. */
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .flags = RESMON_FLAG_NO_SCOPES};
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    char *text = NULL;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        return 1;
    }
    if (resmon_monitor_stop(monitor) != RESMON_OK ||
        resmon_monitor_snapshot(monitor, &run) != RESMON_OK ||
        resmon_report_text(run, NULL, &text) != RESMON_OK) {
        fprintf(stderr, "%s\n", resmon_last_error());
        return 1;
    }
    int status = strstr(text, "\n  wall ") != NULL ? 0 : 1;
    resmon_text_free(text);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    return status;
}

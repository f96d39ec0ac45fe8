/* SPDX-License-Identifier: MIT */
/*
 * A sink of one's own: called at each sample and at the end, from the library's delivery thread, so
 * that it may take its time.
 */
#include <resmon/resmon.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static resmon_status on_sample(void *context, const resmon_rows *rows)
{
    const size_t *rss = context;
    for (size_t i = 0; i < rows->row_count; i++) {
        printf("%6.3f s  RSS %6.1f MiB\n", (double)rows->t_ns[i] * 1e-9,
               rows->values[i * rows->column_count + *rss] / 1048576.0);
    }
    return RESMON_OK;
}

static resmon_status on_start(void *context, const resmon_run *run)
{
    return resmon_run_find_column(run, "proc.mem.rss", NULL, context);
}

static resmon_status on_stop(void *context, const resmon_run *run)
{
    resmon_column rss = {.struct_size = sizeof rss};
    resmon_status status = resmon_run_get_column(run, *(const size_t *)context, &rss);
    if (status == RESMON_OK) {
        printf("mean %.1f MiB, highest %.1f MiB\n", rss.mean / 1048576.0, rss.max / 1048576.0);
    }
    return status;
}

static int fail(const char *what)
{
    fprintf(stderr, "callbacks: %s: %s\n", what, resmon_last_error());
    return 1;
}

int main(void)
{
    size_t rss_column = 0;
    resmon_monitor *monitor;
    const resmon_monitor_options options = {.struct_size = sizeof options, .interval_ms = 50};
    const resmon_sink_ops ops = {
        .struct_size = sizeof ops,
        .name = "print",
        .start = on_start,
        .rows = on_sample,
        .stop = on_stop,
    };
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK) {
        return fail("new");
    }
    if (resmon_monitor_add_sink(monitor, &ops, &rss_column) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        int status = fail("start");
        resmon_monitor_free(monitor);
        return status;
    }
    /* Something to look at: memory that grows. */
    enum { STEPS = 200, BYTES = 1 << 20 };
    char *blocks[STEPS];
    size_t used = 0;
    for (; used < STEPS && (blocks[used] = malloc(BYTES)) != NULL; used++) {
        memset(blocks[used], (int)used, BYTES);
        for (volatile int work = 0; work < 1000000; work++) {
        }
    }
    resmon_monitor_stop(monitor);
    resmon_monitor_free(monitor);
    while (used > 0) {
        free(blocks[--used]);
    }
    return 0;
}

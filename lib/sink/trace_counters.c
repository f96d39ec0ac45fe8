/* SPDX-License-Identifier: MIT */
/*
 * The counters of a trace: which metrics are drawn, together with which others, and in which unit.
 * A viewer holds a value until the next one: what is of the time since the reading before stands at
 * that reading.
 */
#include <math.h>
#include <stdio.h>

#include <resmon/metric.h>

#include "base/compiler.h"
#include "base/number.h"
#include "base/text.h"
#include "metric/metric.h"
#include "sink/trace.h"

#define MIB   9.5367431640625e-7 /* 2^-20 */
#define MB    1e-6
#define AS_IS 1.0
#define SHARE 100.0 /* seconds per second, as % */

/* One series to a counter: chrome://tracing stacks the series of one counter, and draws those that
 * an event leaves out as 0.  Of counters the rate is drawn, of gauges the mean of each row, or its
 * highest reading. */
static const struct drawn {
    const char *name;
    const char *unit;
    uint32_t metric;
    int32_t series;
    double scale;
} table[] = {
    {"CPU process", "%", RM_PROC_CPU_PERCENT, RESMON_SERIES_MEAN, AS_IS},
    {"CPU tree", "%", RM_TREE_CPU_PERCENT, RESMON_SERIES_MEAN, AS_IS},
    {"memory rss", "MiB", RM_PROC_MEM_RSS, RESMON_SERIES_MAX, MIB},
    {"memory peak rss", "MiB", RM_PROC_MEM_PEAK_RSS, RESMON_SERIES_MAX, MIB},
    {"memory tree rss", "MiB", RM_TREE_MEM_RSS, RESMON_SERIES_MAX, MIB},
    {"memory swap", "MiB", RM_PROC_MEM_SWAP, RESMON_SERIES_MAX, MIB},
    {"I/O read", "MB/s", RM_PROC_IO_READ_BYTES, RESMON_SERIES_MEAN, MB},
    {"I/O write", "MB/s", RM_PROC_IO_WRITE_BYTES, RESMON_SERIES_MEAN, MB},
    {"I/O calls read", "MB/s", RM_PROC_IO_READ_CHARS, RESMON_SERIES_MEAN, MB},
    {"I/O calls write", "MB/s", RM_PROC_IO_WRITE_CHARS, RESMON_SERIES_MEAN, MB},
    {"page faults minor", "/s", RM_PROC_FAULT_MINOR, RESMON_SERIES_MEAN, AS_IS},
    {"page faults major", "/s", RM_PROC_FAULT_MAJOR, RESMON_SERIES_MEAN, AS_IS},
    {"context switches voluntary", "/s", RM_PROC_CTX_VOLUNTARY, RESMON_SERIES_MEAN, AS_IS},
    {"context switches involuntary", "/s", RM_PROC_CTX_INVOLUNTARY, RESMON_SERIES_MEAN, AS_IS},
    {"threads", "count", RM_PROC_THREADS, RESMON_SERIES_MAX, AS_IS},
    {"open files", "count", RM_PROC_FDS, RESMON_SERIES_MAX, AS_IS},
    {"cgroup CPU used", "%", RM_CG_CPU_PERCENT, RESMON_SERIES_MEAN, AS_IS},
    {"cgroup CPU throttled", "%", RM_CG_CPU_THROTTLED_TIME, RESMON_SERIES_MEAN, SHARE},
    {"cgroup memory current", "MiB", RM_CG_MEM_CURRENT, RESMON_SERIES_MAX, MIB},
    {"cgroup memory working set", "MiB", RM_CG_MEM_WORKING_SET, RESMON_SERIES_MAX, MIB},
    {"cgroup memory limit", "MiB", RM_CG_MEM_LIMIT, RESMON_SERIES_LAST, MIB},
    {"cgroup I/O read", "MB/s", RM_CG_IO_READ_BYTES, RESMON_SERIES_MEAN, MB},
    {"cgroup I/O write", "MB/s", RM_CG_IO_WRITE_BYTES, RESMON_SERIES_MEAN, MB},
    {"cgroup pressure cpu", "%", RM_CG_PSI_CPU_SOME, RESMON_SERIES_MEAN, SHARE},
    {"cgroup pressure memory", "%", RM_CG_PSI_MEM_SOME, RESMON_SERIES_MEAN, SHARE},
    {"cgroup pressure io", "%", RM_CG_PSI_IO_SOME, RESMON_SERIES_MEAN, SHARE},
    {"node CPU all", "%", RM_NODE_CPU_PERCENT, RESMON_SERIES_MEAN, AS_IS},
    {"node CPU busiest core", "%", RM_NODE_CPU_CORE_MAX, RESMON_SERIES_MEAN, AS_IS},
    {"node load of 1 min", "count", RM_NODE_LOAD_1, RESMON_SERIES_MEAN, AS_IS},
    {"node tasks running", "count", RM_NODE_TASKS_RUNNING, RESMON_SERIES_MEAN, AS_IS},
    {"node tasks blocked", "count", RM_NODE_TASKS_BLOCKED, RESMON_SERIES_MEAN, AS_IS},
    {"node memory used", "MiB", RM_NODE_MEM_USED, RESMON_SERIES_MAX, MIB},
    {"node memory available", "MiB", RM_NODE_MEM_AVAILABLE, RESMON_SERIES_MIN, MIB},
    {"node memory cached", "MiB", RM_NODE_MEM_CACHED, RESMON_SERIES_MEAN, MIB},
    {"node memory swap", "MiB", RM_NODE_SWAP_USED, RESMON_SERIES_MAX, MIB},
    {"node pressure cpu", "%", RM_NODE_PSI_CPU_SOME, RESMON_SERIES_MEAN, SHARE},
    {"node pressure memory", "%", RM_NODE_PSI_MEM_SOME, RESMON_SERIES_MEAN, SHARE},
    {"node pressure io", "%", RM_NODE_PSI_IO_SOME, RESMON_SERIES_MEAN, SHARE},
    {"node disk read", "MB/s", RM_NODE_DISK_ALL_READ_BYTES, RESMON_SERIES_MEAN, MB},
    {"node disk write", "MB/s", RM_NODE_DISK_ALL_WRITE_BYTES, RESMON_SERIES_MEAN, MB},
    {"network sent", "MB/s", RM_NODE_NET_EXT_SENT, RESMON_SERIES_MEAN, MB},
    {"network received", "MB/s", RM_NODE_NET_EXT_RECV, RESMON_SERIES_MEAN, MB},
    {"loopback sent", "MB/s", RM_NODE_NET_LO_SENT, RESMON_SERIES_MEAN, MB},
};

/* Three places are as much as a picture shows. */
static void put_value(struct rm_pen *pen, double value)
{
    char text[RM_NUMBER_BYTES];
    bool is_small = fabs(value) < 1e12;
    rm_pen_add(pen, text,
               is_small ? rm_number_fixed(text, llround(value * 1000.0), 3)
                        : rm_number_double(text, value));
}

static void put_column(const struct rm_trace_process *process, size_t index,
                       const struct drawn *drawn, const struct rm_metric *metric)
{
    struct rm_pen *pen = process->pen;
    const struct resmon_run *run = process->run;
    const struct rm_run_column *column = &run->columns[index];
    const double *values = rm_run_series(run, index, drawn->series);
    bool is_since_last = column->kind == RESMON_COUNTER || (metric->kind & RM_INTERVAL) != 0;
    char name[128], text[RM_TRACE_TEXT_BYTES], middle[RM_TRACE_TEXT_BYTES + 64];
    (void)snprintf(name, sizeof name, "%s%s%s", drawn->name, column->instance[0] != '\0' ? " " : "",
                   column->instance);
    (void)rm_text_json(text, sizeof text, name);
    size_t length = (size_t)snprintf(middle, sizeof middle,
                                     ",\"name\":\"%s\",\"args\":{\"%s\":", text, drawn->unit);
    for (size_t row = 0; row < run->row_count; row++) {
        double value = values[row] * drawn->scale;
        if (!isfinite(value)) {
            continue;
        }
        rm_trace_begin(process, "C", process->pid);
        rm_trace_put_time(process,
                          is_since_last && row > 0 ? run->t_last[row - 1] : run->t_first[row]);
        rm_pen_add(pen, middle, length);
        put_value(pen, value);
        rm_pen_puts(pen, "}}");
    }
}

void rm_trace_put_counters(const struct rm_trace_process *process)
{
    const struct resmon_run *run = process->run;
    for (size_t i = 0; i < RM_ARRAY_LEN(table); i++) {
        const struct rm_metric *metric = rm_metric_of(table[i].metric);
        for (size_t c = 0; c < run->column_count && metric != NULL; c++) {
            if (strcmp(run->columns[c].metric, metric->name) == 0) {
                put_column(process, c, &table[i], metric);
            }
        }
    }
}

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

/* A counter event has a track for each of its series.  Of counters the rate is drawn, of gauges the
 * mean of each row, or its highest reading. */
static const struct drawn {
    const char *name; /* of the event: rows with the same name stand together */
    const char *key;  /* of the series */
    uint32_t metric;
    int32_t series;
    double scale;
} table[] = {
    {"CPU %", "process", RM_PROC_CPU_PERCENT, RESMON_SERIES_MEAN, AS_IS},
    {"CPU %", "tree", RM_TREE_CPU_PERCENT, RESMON_SERIES_MEAN, AS_IS},
    {"memory MiB", "rss", RM_PROC_MEM_RSS, RESMON_SERIES_MAX, MIB},
    {"memory MiB", "peak rss", RM_PROC_MEM_PEAK_RSS, RESMON_SERIES_MAX, MIB},
    {"memory MiB", "tree rss", RM_TREE_MEM_RSS, RESMON_SERIES_MAX, MIB},
    {"memory MiB", "swap", RM_PROC_MEM_SWAP, RESMON_SERIES_MAX, MIB},
    {"I/O MB/s", "read", RM_PROC_IO_READ_BYTES, RESMON_SERIES_MEAN, MB},
    {"I/O MB/s", "write", RM_PROC_IO_WRITE_BYTES, RESMON_SERIES_MEAN, MB},
    {"I/O calls MB/s", "read", RM_PROC_IO_READ_CHARS, RESMON_SERIES_MEAN, MB},
    {"I/O calls MB/s", "write", RM_PROC_IO_WRITE_CHARS, RESMON_SERIES_MEAN, MB},
    {"page faults /s", "minor", RM_PROC_FAULT_MINOR, RESMON_SERIES_MEAN, AS_IS},
    {"page faults /s", "major", RM_PROC_FAULT_MAJOR, RESMON_SERIES_MEAN, AS_IS},
    {"context switches /s", "voluntary", RM_PROC_CTX_VOLUNTARY, RESMON_SERIES_MEAN, AS_IS},
    {"context switches /s", "involuntary", RM_PROC_CTX_INVOLUNTARY, RESMON_SERIES_MEAN, AS_IS},
    {"threads and files", "threads", RM_PROC_THREADS, RESMON_SERIES_MAX, AS_IS},
    {"threads and files", "open files", RM_PROC_FDS, RESMON_SERIES_MAX, AS_IS},
    {"cgroup CPU %", "used", RM_CG_CPU_PERCENT, RESMON_SERIES_MEAN, AS_IS},
    {"cgroup CPU %", "throttled", RM_CG_CPU_THROTTLED_TIME, RESMON_SERIES_MEAN, SHARE},
    {"cgroup memory MiB", "current", RM_CG_MEM_CURRENT, RESMON_SERIES_MAX, MIB},
    {"cgroup memory MiB", "working set", RM_CG_MEM_WORKING_SET, RESMON_SERIES_MAX, MIB},
    {"cgroup memory MiB", "limit", RM_CG_MEM_LIMIT, RESMON_SERIES_LAST, MIB},
    {"cgroup I/O MB/s", "read", RM_CG_IO_READ_BYTES, RESMON_SERIES_MEAN, MB},
    {"cgroup I/O MB/s", "write", RM_CG_IO_WRITE_BYTES, RESMON_SERIES_MEAN, MB},
    {"cgroup pressure %", "cpu", RM_CG_PSI_CPU_SOME, RESMON_SERIES_MEAN, SHARE},
    {"cgroup pressure %", "memory", RM_CG_PSI_MEM_SOME, RESMON_SERIES_MEAN, SHARE},
    {"cgroup pressure %", "io", RM_CG_PSI_IO_SOME, RESMON_SERIES_MEAN, SHARE},
    {"node CPU %", "all", RM_NODE_CPU_PERCENT, RESMON_SERIES_MEAN, AS_IS},
    {"node CPU %", "busiest core", RM_NODE_CPU_CORE_MAX, RESMON_SERIES_MEAN, AS_IS},
    {"node load", "1 min", RM_NODE_LOAD_1, RESMON_SERIES_MEAN, AS_IS},
    {"node load", "running", RM_NODE_TASKS_RUNNING, RESMON_SERIES_MEAN, AS_IS},
    {"node load", "blocked", RM_NODE_TASKS_BLOCKED, RESMON_SERIES_MEAN, AS_IS},
    {"node memory MiB", "used", RM_NODE_MEM_USED, RESMON_SERIES_MAX, MIB},
    {"node memory MiB", "available", RM_NODE_MEM_AVAILABLE, RESMON_SERIES_MIN, MIB},
    {"node memory MiB", "cached", RM_NODE_MEM_CACHED, RESMON_SERIES_MEAN, MIB},
    {"node memory MiB", "swap", RM_NODE_SWAP_USED, RESMON_SERIES_MAX, MIB},
    {"node pressure %", "cpu", RM_NODE_PSI_CPU_SOME, RESMON_SERIES_MEAN, SHARE},
    {"node pressure %", "memory", RM_NODE_PSI_MEM_SOME, RESMON_SERIES_MEAN, SHARE},
    {"node pressure %", "io", RM_NODE_PSI_IO_SOME, RESMON_SERIES_MEAN, SHARE},
    {"node disk MB/s", "read", RM_NODE_DISK_ALL_READ_BYTES, RESMON_SERIES_MEAN, MB},
    {"node disk MB/s", "write", RM_NODE_DISK_ALL_WRITE_BYTES, RESMON_SERIES_MEAN, MB},
    {"network MB/s", "sent", RM_NODE_NET_EXT_SENT, RESMON_SERIES_MEAN, MB},
    {"network MB/s", "received", RM_NODE_NET_EXT_RECV, RESMON_SERIES_MEAN, MB},
    {"loopback MB/s", "sent", RM_NODE_NET_LO_SENT, RESMON_SERIES_MEAN, MB},
};

/* A series that the run has. */
struct track {
    const double *values;
    double scale;
    bool is_interval; /* of the time since the row before */
    size_t length;    /* of the text: "key": */
    char key[128];
};

/* Most columns that one event can show. */
#define MOST_TRACKS 32

struct group {
    size_t track_count;
    struct track tracks[MOST_TRACKS];
};

static void add_track(struct group *group, const struct resmon_run *run, size_t column,
                      const struct drawn *drawn)
{
    const struct rm_metric *metric = rm_metric_of(drawn->metric);
    const char *instance = run->columns[column].instance;
    char plain[128], text[112];
    if (group->track_count == MOST_TRACKS) {
        return;
    }
    struct track *track = &group->tracks[group->track_count++];
    (void)snprintf(plain, sizeof plain, "%s%s%s", drawn->key, instance[0] != '\0' ? " " : "",
                   instance);
    (void)rm_text_json(text, sizeof text, plain);
    track->length = (size_t)snprintf(track->key, sizeof track->key, "\"%s\":", text);
    track->values = rm_run_series(run, column, drawn->series);
    track->scale = drawn->scale;
    track->is_interval = run->columns[column].kind == RESMON_COUNTER ||
                         (metric != NULL && (metric->kind & RM_INTERVAL) != 0);
}

/* The tracks of the rows of the table that begin at `first`; returns where the next name begins. */
static size_t gather(struct group *group, const struct resmon_run *run, size_t first)
{
    size_t i = first;
    group->track_count = 0;
    for (; i < RM_ARRAY_LEN(table) && strcmp(table[i].name, table[first].name) == 0; i++) {
        const struct rm_metric *metric = rm_metric_of(table[i].metric);
        for (size_t c = 0; c < run->column_count && metric != NULL; c++) {
            if (strcmp(run->columns[c].metric, metric->name) == 0) {
                add_track(group, run, c, &table[i]);
            }
        }
    }
    return i;
}

/* Three places are as much as a picture shows. */
static void put_value(struct rm_pen *pen, double value)
{
    char text[RM_NUMBER_BYTES];
    bool is_small = fabs(value) < 1e12;
    rm_pen_add(pen, text,
               is_small ? rm_number_fixed(text, llround(value * 1000.0), 3)
                        : rm_number_double(text, value));
}

/* One event with the series of this kind that were read in this row, if any was. */
static void put_row(const struct rm_trace_process *process, const struct group *group,
                    const char *name, size_t row, bool is_interval)
{
    struct rm_pen *pen = process->pen;
    const struct resmon_run *run = process->run;
    bool is_begun = false;
    for (size_t i = 0; i < group->track_count; i++) {
        const struct track *track = &group->tracks[i];
        double value = track->values[row] * track->scale;
        if (track->is_interval != is_interval || !isfinite(value)) {
            continue;
        }
        if (!is_begun) {
            rm_trace_begin(process, "C", process->pid);
            rm_trace_put_time(process, !is_interval ? run->t_first[row]
                                       : row > 0    ? run->t_last[row - 1]
                                                    : run->t_first[row]);
            rm_pen_puts(pen, ",\"name\":\"");
            rm_pen_puts(pen, name);
            rm_pen_puts(pen, "\",\"args\":{");
        } else {
            rm_pen_add(pen, ",", 1);
        }
        is_begun = true;
        rm_pen_add(pen, track->key, track->length);
        put_value(pen, value);
    }
    if (is_begun) {
        rm_pen_puts(pen, "}}");
    }
}

void rm_trace_put_counters(const struct rm_trace_process *process)
{
    struct group group;
    for (size_t first = 0, next; first < RM_ARRAY_LEN(table); first = next) {
        next = gather(&group, process->run, first);
        for (size_t row = 0; row < process->run->row_count && group.track_count > 0; row++) {
            put_row(process, &group, table[first].name, row, false);
            put_row(process, &group, table[first].name, row, true);
        }
    }
}

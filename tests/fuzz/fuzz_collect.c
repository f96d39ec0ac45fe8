/* SPDX-License-Identifier: MIT */
/*
 * Hostile /proc and /sys: an input is a small tree of files, which all collectors open and read
 * three times.  Records: place of the path in the table below (1 byte; with the top bit: the file
 * changes to this only after the first reading), length (2 bytes, little-endian), content.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/collect.h"
#include "os/host.h"

#define PID      7
#define READINGS 3

static const char *const paths[] = {
    "proc/7/stat",
    "proc/7/statm",
    "proc/7/status",
    "proc/7/io",
    "proc/7/cgroup",
    "proc/7/mountinfo",
    "proc/7/smaps_rollup",
    "proc/7/cmdline",
    "proc/7/task/7/children",
    "proc/8/stat",
    "proc/8/statm",
    "proc/8/io",
    "proc/8/task/8/children",
    "proc/8/smaps_rollup",
    "proc/stat",
    "proc/meminfo",
    "proc/diskstats",
    "proc/net/dev",
    "proc/loadavg",
    "proc/vmstat",
    "proc/cpuinfo",
    "proc/pressure/cpu",
    "proc/pressure/io",
    "proc/pressure/memory",
    "proc/sys/kernel/hostname",
    "etc/os-release",
    "sys/devices/system/node/node0/meminfo",
    "sys/fs/cgroup/g/memory.stat",
    "sys/fs/cgroup/g/memory.current",
    "sys/fs/cgroup/g/memory.max",
    "sys/fs/cgroup/g/memory.high",
    "sys/fs/cgroup/g/memory.events",
    "sys/fs/cgroup/g/memory.peak",
    "sys/fs/cgroup/g/cpu.stat",
    "sys/fs/cgroup/g/cpu.max",
    "sys/fs/cgroup/g/io.stat",
    "sys/fs/cgroup/g/pids.current",
    "sys/fs/cgroup/g/pids.max",
    "sys/fs/cgroup/g/memory.pressure",
    "sys/fs/cgroup/g/cpu.pressure",
    "sys/fs/cgroup/g/io.pressure",
    "sys/fs/cgroup/memory/memory.stat",
    "sys/fs/cgroup/memory/memory.usage_in_bytes",
    "sys/fs/cgroup/memory/memory.limit_in_bytes",
    "sys/fs/cgroup/memory/memory.oom_control",
    "sys/fs/cgroup/memory/memory.failcnt",
    "sys/fs/cgroup/cpu/cpu.stat",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us",
    "sys/fs/cgroup/cpu/cpuacct.usage",
    "sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes",
    "sys/fs/cgroup/blkio/blkio.throttle.io_serviced",
    "sys/fs/cgroup/pids/pids.current",
    "sys/class/infiniband/mlx5_0/ports/1/state",
    "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data",
    "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_packets",
    "sys/class/infiniband/mlx5_0/ports/1/counters_ext/port_rcv_data_64",
};

static const char *const directories[] = {
    "sys/block/vda/slaves",
    "sys/block/dm-0/slaves/vda",
    "sys/class/net/eth0/device",
    "proc/7/fd",
    "proc/8/fd",
};

static int tree = -1;

static void make_directories(const char *path, bool is_directory)
{
    char part[128];
    for (size_t i = 0; path[i] != '\0' && i + 1 < sizeof part; i++) {
        part[i] = path[i];
        part[i + 1] = '\0';
        if (path[i + 1] == '/' || (path[i + 1] == '\0' && is_directory)) {
            (void)mkdirat(tree, part, 0700);
        }
    }
}

static void make_tree(void)
{
    if (tree >= 0) {
        return;
    }
    tree = open(fuzz_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    PROMISE(tree >= 0);
    for (size_t i = 0; i < RM_ARRAY_LEN(paths); i++) {
        make_directories(paths[i], false);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(directories); i++) {
        make_directories(directories[i], true);
    }
}

static void write_file(const char *path, const uint8_t *bytes, size_t length)
{
    int fd = openat(tree, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    PROMISE(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    (void)close(fd);
}

#define LATER 0x80U

/* Writes the files of the beginning, or those of later. */
static void write_files(const uint8_t *data, size_t size, unsigned when)
{
    while (size >= 3) {
        size_t length = data[1] + (size_t)data[2] * 256;
        unsigned place = data[0];
        data += 3;
        size -= 3;
        length = length < size ? length : size;
        if ((place & LATER) == when) {
            write_file(paths[(place & ~LATER) % RM_ARRAY_LEN(paths)], data, length);
        }
        data += length;
        size -= length;
    }
}

static void remove_files(void)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(paths); i++) {
        (void)unlinkat(tree, paths[i], 0);
    }
}

struct opened {
    void *state;
    double *values;
    size_t count;
};

static void check_values(const struct rm_collector *collector, const struct opened *opened)
{
    for (size_t i = 0; i < opened->count; i++) {
        const struct rm_metric *metric =
            rm_metric_of(collector->metrics[i % collector->metric_count]);
        PROMISE(metric != NULL);
        if ((metric->kind & RM_KIND_MASK) == RESMON_COUNTER) {
            PROMISE(!(opened->values[i] < 0.0));
        }
    }
}

static void close_state(const struct rm_collector *collector, struct opened *opened)
{
    if (opened->state != NULL && collector->close != NULL) {
        collector->close(opened->state);
    }
    free(opened->state);
    opened->state = NULL;
}

static void open_one(struct rm_collect *collect, const struct rm_collector *collector,
                     struct opened *opened)
{
    *opened = (struct opened){.state = calloc(1, collector->state_bytes + 1)};
    PROMISE(opened->state != NULL);
    if (collector->open(collect, opened->state) != RESMON_OK) {
        PROMISE(resmon_last_error()[0] != '\0');
        close_state(collector, opened);
        return;
    }
    size_t instances = collector->instances != NULL ? collector->instances(opened->state) : 1;
    opened->count = instances * collector->metric_count;
    opened->values = malloc((opened->count + 1) * sizeof *opened->values);
    PROMISE(opened->values != NULL);
    for (size_t i = 0; i < instances && collector->instance_name != NULL; i++) {
        PROMISE(collector->instance_name(opened->state, i) != NULL);
    }
}

static void read_one(struct rm_collect *collect, const struct rm_collector *collector,
                     struct opened *opened)
{
    if (opened->state == NULL) {
        return;
    }
    for (size_t i = 0; i < opened->count; i++) {
        opened->values[i] = RM_NAN;
    }
    if (collector->read(collect, opened->state, opened->values) == RESMON_OK) {
        check_values(collector, opened);
    } else {
        PROMISE(resmon_last_error()[0] != '\0');
    }
}

static void close_one(const struct rm_collector *collector, struct opened *opened)
{
    close_state(collector, opened);
    free(opened->values);
}

static void collect_all(const uint8_t *data, size_t size)
{
    static struct opened opened[64];
    static const struct rm_collector *order[RM_MOST_COLLECTORS];
    struct rm_collect collect;
    struct rm_host host;
    PROMISE(rm_collector_count <= RM_ARRAY_LEN(opened));
    PROMISE(rm_collect_order(rm_collectors, rm_collector_count, order) == RESMON_OK);
    if (rm_collect_init(&collect, fuzz_directory(), PID, RESMON_FLAG_SMAPS) != RESMON_OK) {
        return;
    }
    rm_host_read(&host, &collect.root, &collect.scratch, collect.proc_dir);
    for (size_t i = 0; i < rm_collector_count; i++) {
        open_one(&collect, order[i], &opened[i]);
    }
    for (int reading = 0; reading < READINGS; reading++) {
        collect.now_ns += 1000000000;
        for (size_t i = 0; i < rm_collector_count; i++) {
            read_one(&collect, order[i], &opened[i]);
        }
        if (reading == 0) {
            write_files(data, size, LATER);
        }
    }
    for (size_t i = 0; i < rm_collector_count; i++) {
        close_one(order[i], &opened[i]);
    }
    rm_collect_free(&collect);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_tree();
    write_files(data, size, 0);
    collect_all(data, size);
    remove_files();
    return 0;
}

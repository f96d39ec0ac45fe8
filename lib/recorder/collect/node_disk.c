/* SPDX-License-Identifier: MIT */
/*
 * Collectors node_disk and node_fs: I/O of the machine's disks, and use of the root file system.
 * Disks: /proc/diskstats (iostats.rst) and /sys/block, which shows the stacking of devices.  Two
 * sums are made: of whole devices at the bottom of their stacks, and psutil's of all whole
 * devices.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "collect/collect.h"
#include "collect/delta.h"
#include "os/file.h"

enum { READ_BYTES, WRITE_BYTES, READS, WRITES, BUSY, ALL_READ_BYTES, ALL_WRITE_BYTES, COUNT };

static const uint16_t metrics[] = {
    [READ_BYTES] = RM_NODE_DISK_READ_BYTES,
    [WRITE_BYTES] = RM_NODE_DISK_WRITE_BYTES,
    [READS] = RM_NODE_DISK_READS,
    [WRITES] = RM_NODE_DISK_WRITES,
    [BUSY] = RM_NODE_DISK_BUSY,
    [ALL_READ_BYTES] = RM_NODE_DISK_ALL_READ_BYTES,
    [ALL_WRITE_BYTES] = RM_NODE_DISK_ALL_WRITE_BYTES,
};

/* Counters of a device. */
enum { D_READS, D_READ_SECTORS, D_WRITES, D_WRITE_SECTORS, D_BUSY_MS, D_COUNT };

#define SECTOR_BYTES 512.0 /* of diskstats, whatever the device's sector size */
#define CLASS_WHOLE  1U    /* a block device, not a partition */
#define CLASS_BOTTOM 2U    /* without another device below it */

/* io_ticks is an unsigned int, in ms. */
static const uint64_t wraps[D_COUNT] = {[D_BUSY_MS] = UINT32_MAX};

struct state {
    struct rm_file file;
    struct rm_delta_table disks;
    double totals[COUNT];
};

static bool note_entry(void *context, const char *name)
{
    (void)name;
    *(bool *)context = true;
    return false;
}

static bool has_entries(const struct rm_root *root, const char *path)
{
    bool has_any = false;
    return rm_dir_visit(root, path, note_entry, &has_any) == RESMON_OK && has_any;
}

/* Devices without own storage, by name. */
static bool is_virtual(const char *name)
{
    static const char *const prefixes[] = {"loop", "ram", "zram"};
    for (size_t i = 0; i < RM_ARRAY_LEN(prefixes); i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t classify(void *context, const char *name)
{
    const struct rm_collect *collect = context;
    char path[160];
    char device[RM_DELTA_NAME_BYTES];
    (void)snprintf(device, sizeof device, "%s", name);
    for (char *slash = strchr(device, '/'); slash != NULL; slash = strchr(slash, '/')) {
        *slash = '!'; /* cciss/c0d0 is cciss!c0d0 in sysfs */
    }
    (void)snprintf(path, sizeof path, "sys/block/%s", device);
    if (!rm_file_exists(&collect->root, path)) {
        return 0;
    }
    (void)snprintf(path, sizeof path, "sys/block/%s/slaves", device);
    bool is_bottom = !is_virtual(name) && !has_entries(&collect->root, path);
    return CLASS_WHOLE | (is_bottom ? CLASS_BOTTOM : 0);
}

static void add_growth(struct state *state, uint32_t class, const double growth[D_COUNT])
{
    double *totals = state->totals;
    if ((class & CLASS_WHOLE) != 0) {
        totals[ALL_READ_BYTES] += growth[D_READ_SECTORS] * SECTOR_BYTES;
        totals[ALL_WRITE_BYTES] += growth[D_WRITE_SECTORS] * SECTOR_BYTES;
    }
    if ((class & CLASS_BOTTOM) != 0) {
        totals[READ_BYTES] += growth[D_READ_SECTORS] * SECTOR_BYTES;
        totals[WRITE_BYTES] += growth[D_WRITE_SECTORS] * SECTOR_BYTES;
        totals[READS] += growth[D_READS];
        totals[WRITES] += growth[D_WRITES];
        totals[BUSY] += growth[D_BUSY_MS] * 1e-3;
    }
}

/* "254 0 vda reads merged sectors ms writes merged sectors ms in_flight io_ticks ..." */
static bool parse_disk(struct rm_text line, struct rm_text *ret_name, uint64_t ret_now[D_COUNT])
{
    uint64_t major, minor, fields[10];
    if (!rm_parse_u64(&line, &major) || !rm_parse_u64(&line, &minor) ||
        !rm_parse_word(&line, ret_name)) {
        return false;
    }
    for (size_t f = 0; f < RM_ARRAY_LEN(fields); f++) {
        if (!rm_parse_u64(&line, &fields[f])) {
            return false;
        }
    }
    ret_now[D_READS] = fields[0];
    ret_now[D_READ_SECTORS] = fields[2];
    ret_now[D_WRITES] = fields[4];
    ret_now[D_WRITE_SECTORS] = fields[6];
    ret_now[D_BUSY_MS] = fields[9];
    return true;
}

static resmon_status read_disks(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    struct rm_text text, line;
    resmon_status status = rm_collect_read(collect, &state->file, &text);
    if (status != RESMON_OK) {
        return status;
    }
    size_t lines = 0;
    size_t good = 0;
    rm_delta_begin(&state->disks);
    while (rm_parse_line(&text, &line)) {
        struct rm_text name;
        uint64_t now[D_COUNT];
        double growth[D_COUNT];
        lines++;
        if (!parse_disk(line, &name, now)) {
            continue;
        }
        good++;
        struct rm_delta_thing *disk = rm_delta_find(&state->disks, name, classify, collect);
        if (disk != NULL) {
            rm_delta_take(disk, now, wraps, D_COUNT, growth);
            add_growth(state, disk->class, growth);
        }
    }
    rm_delta_end(&state->disks);
    if (lines > 0 && good == 0) {
        return rm_collect_garbled(&state->file);
    }
    memcpy(values, state->totals, sizeof state->totals);
    return RESMON_OK;
}

static resmon_status open_disks(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    double values[COUNT];
    resmon_status status = rm_file_open(&state->file, &collect->root, "proc/diskstats");
    return status == RESMON_OK ? read_disks(collect, state, values) : status;
}

static void close_disks(void *state_)
{
    struct state *state = state_;
    rm_file_close(&state->file);
    rm_delta_free(&state->disks);
}

const struct rm_collector rm_collect_node_disk = {
    .name = "node_disk",
    .domain = RESMON_DOMAIN_DISK,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_disks,
    .read = read_disks,
    .close = close_disks,
};

/* ---- collector node_fs ---------------------------------------------------------------------- */

/*
 * statvfs("/") only: other mounts may be network file systems, and block.
 */

enum { USED, FREE, PERCENT };

static const uint16_t fs_metrics[] = {
    [USED] = RM_NODE_FS_USED,
    [FREE] = RM_NODE_FS_FREE,
    [PERCENT] = RM_NODE_FS_PERCENT,
};

static resmon_status read_usage(struct rm_collect *collect, void *state, double *values)
{
    (void)state;
    struct statvfs info;
    if (fstatvfs(rm_kept_fd(&collect->root.kept), &info) != 0) {
        return rm_error_errno(errno, "cannot read the usage of /");
    }
    double block = (double)info.f_frsize;
    double used = (double)(info.f_blocks - info.f_bfree) * block;
    double free_bytes = (double)info.f_bavail * block;
    values[USED] = used;
    values[FREE] = free_bytes;
    if (used + free_bytes > 0.0) {
        values[PERCENT] = 100.0 * used / (used + free_bytes);
    }
    return RESMON_OK;
}

static resmon_status open_usage(struct rm_collect *collect, void *state)
{
    double values[RM_ARRAY_LEN(fs_metrics)];
    if (!collect->root.is_live) {
        return rm_error(RESMON_ENOTSUP, "a system call tells it, not a file below fs_root");
    }
    return read_usage(collect, state, values);
}

static size_t count_instances(const void *state)
{
    (void)state;
    return 1;
}

static const char *name_instance(const void *state, size_t index)
{
    (void)state;
    (void)index;
    return "/";
}

const struct rm_collector rm_collect_node_fs = {
    .name = "node_fs",
    .domain = RESMON_DOMAIN_DISK,
    .min_interval_ns = RM_NS_PER_S,
    RM_METRICS(fs_metrics),
    .open = open_usage,
    .read = read_usage,
    .instances = count_instances,
    .instance_name = name_instance,
};

/* SPDX-License-Identifier: MIT */
#include "collect/collect.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "sys/perf.h"

/* One line per file of this directory, made by the build: RM_COLLECTOR(proc_cpu) ... */
#define RM_COLLECTOR(name) extern const struct rm_collector rm_collect_##name;
#include "collectors.inc"
#undef RM_COLLECTOR

const struct rm_collector *const rm_collectors[] = {
#define RM_COLLECTOR(name) &rm_collect_##name,
#include "collectors.inc"
#undef RM_COLLECTOR
};

const size_t rm_collector_count = RM_ARRAY_LEN(rm_collectors);

/* Below another root, "self" is whoever that tree says. */
static void read_own_pid(struct rm_collect *collect)
{
    struct rm_text text;
    uint64_t pid;
    if (rm_file_read_once(&collect->root, "proc/self/stat", &collect->scratch, &text) ==
            RESMON_OK &&
        rm_parse_u64(&text, &pid)) {
        collect->pid = (int64_t)pid;
    }
}

/* Limits, quotas, affinity and what is online change rarely, but do; limits hang on every ancestor.
 */
#define CAPACITY_INTERVAL_NS (10 * RM_NS_PER_S)

static void read_capacity(struct rm_collect *collect)
{
    rm_capacity_read(&collect->capacity, &collect->root, &collect->scratch, collect->proc_dir);
    if (collect->has_cgroup) {
        rm_capacity_read_cgroup(&collect->capacity, &collect->root, &collect->scratch,
                                &collect->cgroup);
    }
}

void rm_collect_begin(struct rm_collect *collect, int64_t now_ns)
{
    collect->now_ns = now_ns;
    rm_root_revive(&collect->root);
    if (collect->energy_path != NULL && collect->has_zones) {
        rm_root_revive(&collect->energy_root);
    }
    if (now_ns - collect->capacity_ns >= CAPACITY_INTERVAL_NS) {
        read_capacity(collect);
        collect->capacity_ns = now_ns;
    }
}

void rm_collect_remark(struct rm_collect *collect, const char *text)
{
    if (collect->remark[0] == '\0') {
        (void)rm_text_set(collect->remark, sizeof collect->remark, text);
    }
}

resmon_status rm_collect_init(struct rm_collect *collect, const char *fs_root, int64_t pid,
                              uint64_t flags)
{
    *collect = (struct rm_collect){
        .pid = pid != 0 ? pid : (int64_t)getpid(),
        .flags = flags,
        .perf_open = rm_perf_open,
        .found = {.cpu_j = RM_NAN, .ram_j = RM_NAN, .gpu_tree_j = RM_NAN},
        .gpus = {.status = RESMON_ENODEV, .why = "this machine has no GPU that is known here"},
        .cpu_watts = RM_NAN,
        .ram_watts = RM_NAN,
        .tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK),
        .page_bytes = (double)sysconf(_SC_PAGESIZE),
    };
    resmon_status status = rm_root_open(&collect->root, fs_root);
    if (status == RESMON_OK) {
        status = rm_scratch_init(&collect->scratch);
    }
    if (status != RESMON_OK) {
        rm_collect_free(collect);
        return status;
    }
    if (!collect->root.is_live) {
        collect->perf_open = rm_perf_open_none; /* these would be another machine's */
    }
    collect->is_self = pid == 0 || (collect->root.is_live && pid == (int64_t)getpid());
    if (collect->is_self) {
        (void)snprintf(collect->proc_dir, sizeof collect->proc_dir, "proc/self");
    } else {
        (void)snprintf(collect->proc_dir, sizeof collect->proc_dir, "proc/%lld", (long long)pid);
        if (!rm_file_exists(&collect->root, collect->proc_dir)) {
            rm_collect_free(collect);
            return rm_error(RESMON_ESRCH, "there is no process %lld", (long long)pid);
        }
    }
    if (collect->is_self && !collect->root.is_live) {
        /* The figures of system calls would be those of another machine than the files'. */
        collect->is_self = false;
        collect->pid = 0;
        read_own_pid(collect);
    }
    collect->has_cgroup = rm_cgroup_find(&collect->cgroup, &collect->root, &collect->scratch,
                                         collect->proc_dir) == RESMON_OK;
    read_capacity(collect);
    collect->capacity_ns = rm_clock_monotonic_ns();
    return RESMON_OK;
}

resmon_status rm_collect_open_zones(struct rm_collect *collect)
{
    const struct rm_root *root = &collect->root;
    rm_perf_open_fn perf_open = collect->perf_open;
    if (collect->has_zones) {
        return RESMON_OK;
    }
    if (collect->energy_path != NULL) {
        resmon_status status = rm_root_open(&collect->energy_root, collect->energy_path);
        if (status != RESMON_OK) {
            return status;
        }
        root = &collect->energy_root;
        perf_open = rm_perf_open_none; /* that would be of this machine */
    }
    resmon_status status =
        rm_energy_zones_open(&collect->zones, root, &collect->scratch, perf_open);
    collect->has_zones = status == RESMON_OK;
    if (!collect->has_zones) {
        rm_root_close(&collect->energy_root);
    }
    return status;
}

/* PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h */
#define HOST_PIDS "pid:[4026531836]"

bool rm_collect_has_host_pids(const struct rm_collect *collect)
{
    char link[64] = "";
    ssize_t length =
        readlinkat(rm_kept_fd(&collect->root.kept), "proc/self/ns/pid", link, sizeof link - 1);
    return length > 0 && strcmp(link, HOST_PIDS) == 0;
}

resmon_status rm_collect_each_gpu(const struct rm_collect *collect, size_t bytes, void *ret_each)
{
    const struct rm_collect_gpus *gpus = &collect->gpus;
    if (gpus->count == 0) {
        return rm_error(gpus->status, "%s", gpus->why);
    }
    void *each = rm_alloc(gpus->count, bytes);
    if (each == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for %zu GPUs", gpus->count);
    }
    memcpy(ret_each, &each, sizeof each);
    return RESMON_OK;
}

bool rm_collect_read_gpus(struct rm_collect *collect)
{
    struct rm_collect_gpus *gpus = &collect->gpus;
    if (gpus->read_ns != collect->now_ns) {
        gpus->read_ns = collect->now_ns;
        gpus->is_fresh = gpus->read(gpus->context, gpus->readings);
    }
    return gpus->is_fresh;
}

int64_t rm_collect_next_poll_ns(const struct rm_collect *collect)
{
    return collect->has_zones && collect->zones.poll_ns > 0 && collect->zones.read_ns > 0
               ? collect->zones.read_ns + collect->zones.poll_ns
               : INT64_MAX;
}

void rm_collect_poll(struct rm_collect *collect, int64_t now_ns)
{
    if (now_ns >= rm_collect_next_poll_ns(collect)) {
        rm_energy_zones_read(&collect->zones, &collect->scratch, now_ns, now_ns);
    }
}

void rm_collect_free(struct rm_collect *collect)
{
    if (collect->has_zones) {
        rm_energy_zones_close(&collect->zones);
        rm_root_close(&collect->energy_root);
    }
    rm_counters_close(&collect->counters);
    rm_scratch_free(&collect->scratch);
    rm_root_close(&collect->root);
}

resmon_status rm_collect_open_proc(const struct rm_collect *collect, struct rm_file *file,
                                   const char *name)
{
    char path[RM_FILE_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", collect->proc_dir, name);
    return rm_file_open(file, &collect->root, path);
}

resmon_status rm_collect_open_cgroup(const struct rm_collect *collect, struct rm_file *file,
                                     enum rm_cgroup_controller controller, const char *name)
{
    const struct rm_cgroup_place *place = &collect->cgroup.places[controller];
    char path[RM_FILE_PATH_BYTES];
    *file = (struct rm_file){0};
    resmon_status status = rm_cgroup_file(place, name, path);
    if (status == RESMON_OK) {
        status = rm_file_open(file, &collect->root, path);
    }
    if (status == RESMON_ENOENT && place->version != 0 &&
        place->path[place->mount_length] == '\0') {
        return rm_error(RESMON_ENOENT, "the process is in the root control group, which has no %s",
                        name);
    }
    return status;
}

resmon_status rm_collect_garbled(const struct rm_file *file)
{
    return rm_error(RESMON_EFORMAT, "/%s does not have the form that proc(5) describes",
                    file->path);
}

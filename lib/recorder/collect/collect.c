/* SPDX-License-Identifier: MIT */
#include "collect/collect.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/thread.h"
#include "os/perf.h"

/* One line per collector of this directory, made by the build: RM_COLLECTOR(proc_cpu) ... */
#define RM_COLLECTOR(name) extern const struct rm_collector rm_collect_##name;
#include "collectors.inc"
#undef RM_COLLECTOR

const struct rm_collector *const rm_collectors[] = {
#define RM_COLLECTOR(name) &rm_collect_##name,
#include "collectors.inc"
#undef RM_COLLECTOR
};

const size_t rm_collector_count = RM_ARRAY_LEN(rm_collectors);

_Static_assert(RM_ARRAY_LEN(rm_collectors) <= RM_MOST_COLLECTORS, "room for all in an order");

/* Below another root, "self" is whoever that tree says. */
static void read_own_pid(struct rm_collect *collect)
{
    struct rm_text text;
    uint64_t pid;
    if (rm_file_read_once(&collect->root, "proc/self/stat", &collect->scratch, &text) ==
            RESMON_OK &&
        rm_parse_u64(&text, &pid)) {
        collect->pid = (int64_t)pid;
        collect->proc_pid = collect->pid;
    }
}

/* Limits, quotas, affinity and what is online change rarely, but do; limits hang on every ancestor.
 */
#define CAPACITY_INTERVAL_NS (10 * RM_NS_PER_S)

static void read_capacity(struct rm_collect *collect)
{
    rm_capacity_read(&collect->capacity, &collect->root, &collect->scratch, collect->proc_dir);
    if (collect->has_cgroup) {
        rm_cgroup_limits_refresh(&collect->limits, &collect->scratch, collect->now_ns);
        rm_capacity_read_cgroup(&collect->capacity, &collect->root, &collect->scratch,
                                &collect->cgroup, &collect->limits);
    }
}

resmon_status rm_collect_open(struct rm_collect *collect, const struct rm_collector *collector,
                              void *state)
{
    static const uint64_t of_processes =
        RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_TREE | RESMON_DOMAIN_CGROUP;
    if (collect->view.kind == RM_PID_VIEW_FOREIGN && (collector->domain & of_processes) != 0) {
        return rm_error(RESMON_ENOENT, "%s", RM_PID_VIEW_REMEDY);
    }
    if (collect->is_group &&
        (collector->domain & (RESMON_DOMAIN_PROCESS | RM_DOMAIN_COUNTERS)) != 0) {
        return rm_error(RESMON_ENOTSUP, "a cgroup is observed, not one process");
    }
    return collector->open(collect, state);
}

void rm_collect_begin(struct rm_collect *collect, int64_t now_ns)
{
    collect->now_ns = now_ns;
    rm_root_revive(&collect->root);
    rm_collect_revive_zones(collect);
    if (now_ns - collect->capacity_ns >= CAPACITY_INTERVAL_NS) {
        read_capacity(collect);
        collect->capacity_ns = now_ns;
    }
}

void rm_collect_leave(struct rm_collect *collect, enum rm_own_file file, const struct rm_text *text)
{
    struct rm_own_text *own = &collect->own_texts[file];
    own->length = rm_text_left(text);
    own->sample_ns = 0;
    if (own->length <= sizeof own->bytes) {
        memcpy(own->bytes, text->at, own->length);
        own->sample_ns = collect->now_ns;
    }
}

bool rm_collect_take(const struct rm_collect *collect, enum rm_own_file file,
                     struct rm_text *ret_text)
{
    const struct rm_own_text *own = &collect->own_texts[file];
    *ret_text = rm_text_of(own->bytes, own->length);
    return own->sample_ns != 0 && own->sample_ns == collect->now_ns;
}

void rm_collect_remark(struct rm_collect *collect, const char *text)
{
    if (collect->remark[0] == '\0') {
        (void)rm_text_set(collect->remark, sizeof collect->remark, text);
    }
}

void rm_collect_take_remark_back(struct rm_collect *collect)
{
    collect->takes_remark_back = true;
}

/* Where /proc has the process.  Below another root the numbers are those of that tree. */
static resmon_status find_process(struct rm_collect *collect)
{
    if (collect->root.is_live) {
        collect->view = rm_pid_view_find(&collect->root, &collect->scratch, (int64_t)getpid());
    }
    if (collect->is_self) {
        collect->proc_pid = collect->root.is_live ? collect->view.own : 0;
        (void)snprintf(collect->proc_dir, sizeof collect->proc_dir, "proc/self");
        return RESMON_OK;
    }
    collect->proc_pid =
        rm_pid_view_there(&collect->view, &collect->root, &collect->scratch, collect->pid);
    (void)snprintf(collect->proc_dir, sizeof collect->proc_dir, "proc/%lld",
                   (long long)collect->proc_pid);
    if (collect->proc_pid == 0) {
        return rm_error(RESMON_ESRCH, "pid: process %lld is not found: " RM_PID_VIEW_REMEDY,
                        (long long)collect->pid);
    }
    if (collect->root.is_live && !rm_file_exists(&collect->root, "proc/self")) {
        return rm_error(RESMON_ENOENT, "pid: there is no /proc here, which shows process %lld",
                        (long long)collect->pid);
    }
    if (!rm_file_exists(&collect->root, collect->proc_dir)) {
        bool is_hidden = collect->root.is_live && kill((pid_t)collect->pid, 0) != 0 &&
                         errno == EPERM; /* it lives */
        return is_hidden
                   ? rm_error(RESMON_EACCES,
                              "pid: process %lld is hidden from this user (/proc has hidepid)",
                              (long long)collect->pid)
                   : rm_error(RESMON_ESRCH, "pid: there is no process %lld",
                              (long long)collect->pid);
    }
    return RESMON_OK;
}

static resmon_status open_root(struct rm_collect *collect, const char *fs_root)
{
    resmon_status status = rm_root_open(&collect->root, fs_root);
    bool is_said = status != RESMON_OK && fs_root != NULL;
    return is_said ? rm_error_within(status, "fs_root") : status;
}

static resmon_status begin(struct rm_collect *collect, const char *fs_root, uint64_t flags)
{
    *collect = (struct rm_collect){
        .flags = flags,
        .perf_open = rm_perf_open,
        .found = {.cpu_j = RM_NAN, .ram_j = RM_NAN, .gpu_tree_j = RM_NAN, .gpu_w = RM_NAN},
        .gpus = {.status = RESMON_ENODEV, .why = "this machine has no GPU that is known here"},
        .job_bytes = RM_NAN,
        .cpu_watts = RM_NAN,
        .ram_watts = RM_NAN,
        .tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK),
        .page_bytes = (double)sysconf(_SC_PAGESIZE),
    };
    resmon_status status = open_root(collect, fs_root);
    if (status == RESMON_OK) {
        status = rm_scratch_init(&collect->scratch);
    }
    if (!collect->root.is_live) {
        collect->perf_open = rm_perf_open_none; /* these would be another machine's */
    }
    return status;
}

static void open_limits(struct rm_collect *collect)
{
    if (collect->has_cgroup) {
        (void)rm_cgroup_limits_open(&collect->limits, &collect->cgroup.places[RM_CGROUP_MEMORY],
                                    &collect->root, &collect->scratch, collect->now_ns);
    }
}

static void end_init(struct rm_collect *collect)
{
    collect->now_ns = rm_clock_monotonic_ns();
    open_limits(collect);
    rm_cpu_model_read(&collect->cpu, &collect->root, &collect->scratch);
    rm_host_read(&collect->host, &collect->root, &collect->scratch, collect->proc_dir);
    read_capacity(collect);
    collect->capacity_ns = collect->now_ns;
}

resmon_status rm_collect_init(struct rm_collect *collect, const char *fs_root, int64_t pid,
                              uint64_t flags)
{
    resmon_status status = begin(collect, fs_root, flags);
    if (status != RESMON_OK) {
        rm_collect_free(collect);
        return status;
    }
    collect->pid = pid != 0 ? pid : (int64_t)getpid();
    collect->is_self = pid == 0 || (collect->root.is_live && pid == (int64_t)getpid());
    status = find_process(collect);
    if (status != RESMON_OK) {
        rm_collect_free(collect);
        return status;
    }
    if (collect->is_self && !collect->root.is_live) {
        /* The figures of system calls would be those of another machine than the files'. */
        collect->is_self = false;
        collect->pid = 0;
        read_own_pid(collect);
    }
    collect->has_cgroup = rm_cgroup_find(&collect->cgroup, &collect->root, &collect->scratch,
                                         collect->proc_dir) == RESMON_OK;
    end_init(collect);
    return RESMON_OK;
}

resmon_status rm_collect_init_group(struct rm_collect *collect, const char *fs_root,
                                    const char *path, uint64_t flags)
{
    resmon_status status = begin(collect, fs_root, flags);
    if (status == RESMON_OK) {
        status = rm_cgroup_find_path(&collect->cgroup, &collect->root, &collect->scratch, path);
    }
    if (status != RESMON_OK) {
        status = rm_error_within(status, "cgroup");
        rm_collect_free(collect);
        return status;
    }
    collect->is_group = true;
    collect->has_cgroup = true;
    (void)snprintf(collect->proc_dir, sizeof collect->proc_dir, "proc/0"); /* nobody's */
    if (collect->root.is_live) {
        collect->view = rm_pid_view_find(&collect->root, &collect->scratch, (int64_t)getpid());
    }
    end_init(collect);
    return RESMON_OK;
}

resmon_status rm_collect_list_group(struct rm_collect *collect)
{
    resmon_status status = rm_cgroup_members_read(&collect->members, &collect->cgroup,
                                                  &collect->root, &collect->scratch);
    return status == RESMON_ENOENT ? rm_error(RESMON_ESRCH, "the cgroup was removed") : status;
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

resmon_status rm_collect_read_gpus(struct rm_collect *collect, unsigned parts)
{
    struct rm_collect_gpus *gpus = &collect->gpus;
    int64_t cpu_ns = 0;
    int64_t before_ns = rm_clock_monotonic_ns();
    if (gpus->sample_ns != collect->now_ns) {
        gpus->sample_ns = collect->now_ns;
        gpus->since_ns = before_ns;
        gpus->is_late = false;
    }
    parts &= gpus->has_host_pids ? RM_NVML_ALL : ~(unsigned)RM_NVML_USE;
    if (!gpus->is_late) { /* else nobody waits again in this sample */
        gpus->is_late = !gpus->read(gpus->context, parts, gpus->since_ns, gpus->readings, &cpu_ns);
    }
    collect->waited_ns += rm_clock_monotonic_ns() - before_ns;
    collect->elsewhere_ns += cpu_ns;
    return !gpus->is_late ? RESMON_OK
                          : rm_error(RESMON_ETIMEDOUT, "the GPUs did not answer in time");
}

void rm_collect_free(struct rm_collect *collect)
{
    rm_collect_close_zones(collect);
    rm_counters_close(&collect->counters);
    rm_cgroup_limits_close(&collect->limits);
    rm_cgroup_members_free(&collect->members);
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

const struct rm_cgroup *rm_collect_used_group(const struct rm_collect *collect)
{
    return collect->has_job_group ? &collect->job_group : &collect->cgroup;
}

resmon_status rm_collect_open_cgroup(const struct rm_collect *collect, struct rm_file *file,
                                     enum rm_cgroup_controller controller, const char *name)
{
    const struct rm_cgroup_place *place = &rm_collect_used_group(collect)->places[controller];
    char path[RM_FILE_PATH_BYTES];
    *file = (struct rm_file){0};
    resmon_status status = rm_cgroup_file(place, name, path);
    if (status == RESMON_OK) {
        status = rm_file_open(file, &collect->root, path);
    }
    if (status == RESMON_ENOENT && place->version != 0 &&
        place->path[place->mount_length] == '\0') {
        return rm_error(RESMON_ENOENT, "the process is in the root cgroup, which has no %s", name);
    }
    return status;
}

double rm_collect_own_threads(const struct rm_collect *collect)
{
    uint64_t changes;
    return collect->is_self ? (double)rm_thread_count(&changes) : 0.0;
}

void rm_collect_close_file(void *file)
{
    rm_file_close(file);
}

resmon_status rm_collect_garbled(const struct rm_file *file)
{
    return rm_error(RESMON_EFORMAT, "/%s does not have the form that proc(5) describes",
                    file->path);
}

/* ---- the order of collectors ---------------------------------------------------------------- */

static bool has_collector(const struct rm_collector *const *collectors, size_t count,
                          const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(collectors[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The list, and what of it has_collector its place. */
struct placing {
    const struct rm_collector *const *collectors;
    size_t count;
    bool is_placed[RM_MOST_COLLECTORS];
    const struct rm_collector **placed;
    size_t placed_count;
};

/* Whether all that it comes after are among those that are placed. */
static bool is_ready(const struct placing *placing, const struct rm_collector *collector)
{
    for (size_t i = 0; collector->after != NULL && collector->after[i] != NULL; i++) {
        if (!has_collector(placing->placed, placing->placed_count, collector->after[i])) {
            return false;
        }
    }
    return true;
}

static resmon_status check_names(const struct rm_collector *const *collectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *const *after = collectors[i]->after;
        for (size_t k = 0; after != NULL && after[k] != NULL; k++) {
            if (!has_collector(collectors, count, after[k])) {
                return rm_error(RESMON_EINVAL,
                                "collector %s must come after %s, which does not exist",
                                collectors[i]->name, after[k]);
            }
        }
    }
    return RESMON_OK;
}

/* The first in the order of domains, and of the list within one, that waits for none; `count`: all
 * that are left wait. */
static size_t next_of(const struct placing *placing)
{
    size_t next = placing->count;
    for (size_t i = 0; i < placing->count; i++) {
        const struct rm_collector *one = placing->collectors[i];
        bool is_before = next == placing->count || one->domain < placing->collectors[next]->domain;
        if (!placing->is_placed[i] && is_before && is_ready(placing, one)) {
            next = i;
        }
    }
    return next;
}

static const char *first_left(const struct placing *placing)
{
    size_t i = 0;
    while (placing->is_placed[i]) {
        i++;
    }
    return placing->collectors[i]->name;
}

resmon_status rm_collect_order(const struct rm_collector *const *collectors, size_t count,
                               const struct rm_collector **ret_order)
{
    struct placing placing = {.collectors = collectors, .count = count, .placed = ret_order};
    resmon_status status = check_names(collectors, count);
    while (status == RESMON_OK && placing.placed_count < count) {
        size_t next = next_of(&placing);
        if (next == count) {
            return rm_error(RESMON_EINVAL,
                            "collector %s depends on itself through other collectors",
                            first_left(&placing));
        }
        placing.is_placed[next] = true;
        ret_order[placing.placed_count++] = collectors[next];
    }
    return status;
}

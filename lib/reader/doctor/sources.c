/* SPDX-License-Identifier: MIT */
/*
 * Rows about everything but energy: hardware counters (what the kernel, capabilities and seccomp
 * filters allow, and the PMUs of the processors); stacks (unwinding, symbolizing, the signal for
 * CPU timers, and rings of page faults for the growth of memory); the files of a GPU's driver;
 * memory, pressure and cgroups; the site's file with the location of the machine; and the build.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <resmon/carbon.h>

#include "base/buffer.h"
#include "base/feature.h"
#include "base/human.h"
#include "base/status.h"
#include "carbon/intensity.h"
#include "collect/capacity.h"
#include "doctor/doctor.h"
#include "job/site.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/perf_ring.h"
#include "os/proc_pid.h"
#include "os/topology.h"

/* ---- counters -------------------------------------------------------------------------------- */

#define COUNTERS "counters"
#define PARANOID "proc/sys/kernel/perf_event_paranoid"
#define DEVICES  "sys/bus/event_source/devices"

/* perf_event_paranoid: the levels at which users may count all events of a CPU, and events of their
 * own processes. */
#define LEVEL_ALL 0
#define LEVEL_OWN 2

/* ---- permissions ------------------------------------------------------------------------ */

static void try_least(struct rm_doctor_exam *exam)
{
    int fd = exam->tools->perf_open_least();
    exam->is_tried = true;
    exam->least_errno = fd < 0 ? errno : 0;
    if (fd >= 0) {
        (void)close(fd);
    }
}

void rm_doctor_look_round(struct rm_doctor_exam *exam)
{
    struct rm_cpu_model model;
    struct rm_text text;
    struct resmon_doctor *doctor = exam->doctor;
    rm_cpu_model_read(&model, &exam->root, &exam->scratch);
    exam->is_virtual = model.is_virtual;
    exam->is_arm = model.is_arm;
    exam->mirrors_dies = rm_cpu_mirrors_dies(&model);
    exam->is_capable =
        rm_capability_has(&exam->root, &exam->scratch, "proc/self", RM_CAP_PERFMON) ||
        rm_capability_has(&exam->root, &exam->scratch, "proc/self", RM_CAP_SYS_ADMIN);
    doctor->has_level =
        rm_file_read_once(&exam->root, PARANOID, &exam->scratch, &text) == RESMON_OK &&
        rm_parse_i64(&text, &doctor->level) && (text.at == text.end || *text.at == '\n');
    if (exam->root.is_live) {
        try_least(exam);
    }
    if (exam->root.is_live && !rm_file_exists(&exam->root, "proc/self")) {
        rm_doctor_add(exam, "kernel", "procfs", RESMON_DOCTOR_ABSENT,
                      "mount it: mount -t proc proc /proc",
                      "is not mounted here: nearly all values come from it, and the findings below "
                      "about this kernel may be wrong");
    }
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* Adds "2 sockets", after a comma; nothing if the number is not known. */
static void put_count(struct rm_buffer *text, double count, const char *one, const char *many)
{
    if (count > 0.0) {
        rm_buffer_printf(text, "%s%.0f %s", text->length > 0 ? ", " : "", count,
                         count > 1.0 ? many : one);
    }
}

static void put_value(struct rm_buffer *text, const char *before, double value, const char *unit)
{
    char human[RM_HUMAN_BYTES];
    if (value > 0.0) {
        rm_human_value(human, value, unit, false);
        rm_buffer_printf(text, "%s%s", before, human);
    }
}

static void put_processors(struct rm_buffer *text, const struct rm_topology *topology)
{
    put_count(text, topology->sockets, "socket", "sockets");
    put_count(text, topology->cores, "core", "cores");
    put_count(text, topology->threads_per_core, "thread per core", "threads per core");
    for (size_t i = 0; i < topology->cache_count; i++) {
        const struct rm_cpu_cache *cache = &topology->caches[i];
        rm_buffer_printf(text, "%s cache %s", i == 0 ? ";" : ",", cache->name);
        put_value(text, " ", cache->bytes, "B");
        if (cache->cpu_number > 1.0) {
            rm_buffer_printf(text, " for %.0f CPUs", cache->cpu_number);
        }
    }
    put_value(text, "; ", topology->min_hz, "Hz");
    put_value(text, " to ", topology->max_hz, "Hz");
}

static void put_nodes(struct rm_buffer *text, const struct rm_topology *topology)
{
    rm_buffer_printf(text, "%zu NUMA node%s", topology->numa_count,
                     topology->numa_count == 1 ? "" : "s");
    for (size_t i = 0;
         topology->numa_count > 1 && i < topology->numa_count && i < RM_MOST_NUMA_NODES;
         i++) { /* the only node has all CPUs and memory */
        const struct rm_numa_node *node = &topology->numa[i];
        rm_buffer_printf(text, "%s %u", i == 0 ? ":" : ";", node->number);
        rm_buffer_printf(text, "%s%s", node->cpus[0] != '\0' ? ", CPUs " : "", node->cpus);
        put_value(text, ", ", node->memory_bytes, "B");
    }
}

void rm_doctor_machine(struct rm_doctor_exam *exam)
{
    struct rm_topology topology;
    struct rm_cpu_model model;
    struct rm_buffer text;
    rm_cpu_model_read(&model, &exam->root, &exam->scratch);
    rm_topology_read(&topology, &exam->root, &exam->scratch);
    rm_buffer_init(&text, 4096);
    put_processors(&text, &topology);
    if (text.length > 0) {
        rm_doctor_add(exam, "machine", "processors", RESMON_DOCTOR_READY, "", "%s%s%s%s%s",
                      model.name, model.name[0] != '\0' ? ": " : "", text.text,
                      model.features[0] != '\0' ? "; " : "", model.features);
    }
    if (topology.numa_count > 0) {
        rm_buffer_clear(&text);
        put_nodes(&text, &topology);
        rm_doctor_add(exam, "machine", "NUMA", RESMON_DOCTOR_READY, "", "%s", text.text);
    }
    if (model.is_virtual) {
        rm_doctor_add(exam, "machine", "virtual", RESMON_DOCTOR_READY, "",
                      "it is a virtual machine%s%s", model.hypervisor[0] != '\0' ? " of " : "",
                      model.hypervisor);
    }
    rm_buffer_free(&text);
}

bool rm_doctor_may_count(const struct rm_doctor_exam *exam)
{
    return exam->is_tried
               ? exam->least_errno == 0
               : exam->is_capable || (exam->doctor->has_level && exam->doctor->level <= LEVEL_OWN);
}

bool rm_doctor_may_count_all(const struct rm_doctor_exam *exam)
{
    return (!exam->is_tried || exam->least_errno == 0) &&
           (exam->is_capable || (exam->doctor->has_level && exam->doctor->level <= LEVEL_ALL));
}

/* ---- rows ------------------------------------------------------------------------------- */

static const char *allowed_at(int64_t level)
{
    static const char *const texts[] = {
        "all counters, of all processes, for every user",
        "counters of whole CPUs and of all processes, for every user",
        "counters of own processes, in user space and in the kernel",
        "counters of own processes, in user space",
        "nothing on the kernels of Debian and Ubuntu; on others, only own processes in user space",
    };
    int64_t last = (int64_t)RM_ARRAY_LEN(texts) - 1;
    int64_t index = level < -1 ? 0 : level >= last ? last : level + 1;
    return texts[index];
}

static void add_level(struct rm_doctor_exam *exam)
{
    static const char name[] = "perf_event_paranoid";
    char line[64];
    int64_t level = exam->doctor->level;
    resmon_status status = rm_doctor_line(exam, PARANOID, line, sizeof line);
    if (status == RESMON_ENOENT) {
        rm_doctor_add(exam, COUNTERS, name, RESMON_DOCTOR_ABSENT, "",
                      "there is no kernel.perf_event_paranoid: this kernel has no perf events");
    } else if (status != RESMON_OK) {
        rm_doctor_add(exam, COUNTERS, name, rm_doctor_status(status), "",
                      "kernel.perf_event_paranoid cannot be read");
    } else if (!exam->doctor->has_level) {
        rm_doctor_add(exam, COUNTERS, name, RESMON_DOCTOR_GARBLED, "",
                      "kernel.perf_event_paranoid is '%s', which is not a level", line);
    } else if (level <= LEVEL_OWN || rm_doctor_may_count(exam)) {
        rm_doctor_add(exam, COUNTERS, name, RESMON_DOCTOR_READY, "", "level %lld allows %s%s",
                      (long long)level, allowed_at(level),
                      exam->is_capable ? "; this process may count everything (capabilities)" : "");
    } else {
        rm_doctor_add(exam, COUNTERS, name, RESMON_DOCTOR_NOT_READABLE,
                      "an administrator sets kernel.perf_event_paranoid to 2, permanently with the "
                      "file of \"resmon doctor --rule sysctl\"; " RM_DOCTOR_ONE_PROGRAM,
                      "level %lld allows %s", (long long)level, allowed_at(level));
    }
}

/* perf_event_open(2) fails with EACCES because of the level, and with EPERM by filters of
 * containers.
 */
static void add_call(struct rm_doctor_exam *exam)
{
    static const struct {
        int error;
        int32_t status;
        const char *what, *remedy;
    } answers[] = {
        {0, RESMON_DOCTOR_READY, "the call works: an event of this process was opened", ""},
        {EPERM, RESMON_DOCTOR_NOT_READABLE,
         "the call is refused (EPERM), not by kernel.perf_event_paranoid but by a container's "
         "filter of system calls",
         "start the container with --cap-add PERFMON, or with a seccomp profile that allows "
         "perf_event_open"},
        {EACCES, RESMON_DOCTOR_NOT_READABLE,
         "the call is refused (EACCES): by kernel.perf_event_paranoid, or by a security module",
         ""},
        {ENOSYS, RESMON_DOCTOR_ABSENT,
         "this kernel, or its replacement (gVisor), does not have this call", ""},
        {ENOENT, RESMON_DOCTOR_ABSENT, "this kernel does not know the most basic event", ""},
    };
    if (!exam->is_tried) {
        return;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(answers); i++) {
        if (answers[i].error == exam->least_errno) {
            rm_doctor_add(exam, COUNTERS, "perf_event_open", answers[i].status, answers[i].remedy,
                          "%s", answers[i].what);
            return;
        }
    }
    rm_doctor_add(exam, COUNTERS, "perf_event_open", RESMON_DOCTOR_NOT_READABLE, "",
                  "the call failed: errno %d", exam->least_errno);
}

/* PMUs of processors: "cpu", and those with a list of their CPUs ("cpu_core", "cpu_atom",
 * "armv8_pmuv3_0").  Uncore PMUs have a "cpumask" instead. */
struct pmus {
    const struct rm_root *root;
    char names[128]; /* "cpu_core, cpu_atom" */
    size_t length;
};

static bool keep_pmu(void *context, const char *name)
{
    struct pmus *pmus = context;
    char path[RM_FILE_PATH_BYTES];
    int length = snprintf(path, sizeof path, DEVICES "/%s/cpus", name);
    bool is_known = strcmp(name, "cpu") == 0 || strncmp(name, "armv8_pmuv3", 11) == 0;
    if (length > 0 && length < RM_FILE_PATH_BYTES &&
        (is_known || rm_file_exists(pmus->root, path)) &&
        pmus->length + strlen(name) + 3 < sizeof pmus->names) {
        pmus->length +=
            (size_t)snprintf(pmus->names + pmus->length, sizeof pmus->names - pmus->length, "%s%s",
                             pmus->length > 0 ? ", " : "", name);
    }
    return true;
}

static void add_pmus(struct rm_doctor_exam *exam)
{
    static const char name[] = "hardware counters";
    struct pmus pmus = {.root = &exam->root};
    (void)rm_dir_visit(&exam->root, DEVICES, keep_pmu, &pmus);
    if (pmus.length == 0) {
        rm_doctor_add(
            exam, COUNTERS, name, RESMON_DOCTOR_ABSENT,
            exam->is_virtual ? "let the host give this virtual machine a PMU, if possible (KVM: "
                               "CPU model \"host\")"
                             : "",
            "no PMU of the processors is visible%s: no cycles, instructions and cache misses",
            exam->is_virtual ? ", as in most virtual machines" : "");
    } else if (rm_doctor_may_count(exam)) {
        rm_doctor_add(exam, COUNTERS, name, RESMON_DOCTOR_READY, "", "PMU %s can be opened",
                      pmus.names);
    } else {
        rm_doctor_add(exam, COUNTERS, name, RESMON_DOCTOR_NOT_READABLE, "",
                      "PMU %s exists, but this process may not count, see above", pmus.names);
    }
}

void rm_doctor_counters(struct rm_doctor_exam *exam)
{
    add_level(exam);
    add_call(exam);
    add_pmus(exam);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

#define STACKS "stacks"
#define LOCK   "proc/sys/kernel/perf_event_mlock_kb"

/* The ring only tests whether the kernel allows it; the values do not matter. */
#define TRIED_PERIOD 64
#define TRIED_STACK  1024

resmon_status rm_doctor_try_faults(bool *ret_has_kernel)
{
    struct rm_perf_ring ring;
    const struct rm_perf_ring_terms terms = {
        .kind = RM_RING_MINOR, .stack_bytes = TRIED_STACK, .period = TRIED_PERIOD};
    resmon_status status = rm_perf_ring_open(&ring, &terms);
    if (status == RESMON_OK) {
        *ret_has_kernel = ring.has_kernel;
        rm_perf_ring_close(&ring);
    }
    return status;
}

/* A build without the feature does not use an installed library. */
static const char *remedy(enum rm_feature feature, const char *if_built, const char *if_not)
{
    return rm_feature_row(feature)->is_built ? if_built : if_not;
}

static void add_unwinding(struct rm_doctor_exam *exam)
{
    static const char name[] = "unwinding";
    resmon_status status = exam->tools->open_unwinding();
    int32_t verdict = rm_doctor_status(status);
    if (status == RESMON_OK) {
        rm_doctor_add(
            exam, STACKS, name, verdict, "",
            "stacks can be unwound: libunwind is available, and process_vm_readv() works");
    } else if (verdict == RESMON_DOCTOR_ABSENT) {
        rm_doctor_add(exam, STACKS, name, verdict,
                      remedy(RM_FEATURE_UNWIND,
                             "install libunwind (libunwind8 of Debian and Ubuntu)",
                             "build libresmon with libunwind (libunwind-dev of Debian and Ubuntu)"),
                      "%s", resmon_last_error());
    } else {
        rm_doctor_add(exam, STACKS, name, verdict,
                      "start the container with a seccomp profile that allows process_vm_readv, "
                      "as Docker's does from Linux 4.8 on",
                      "%s", resmon_last_error());
    }
}

static void add_lines(struct rm_doctor_exam *exam)
{
    static const char name[] = "lines";
    resmon_status status = exam->tools->open_lines();
    if (status == RESMON_OK) {
        rm_doctor_add(
            exam, STACKS, name, RESMON_DOCTOR_READY, "",
            "libdw is available to resmon-names: functions are named, with lines and inlined "
            "functions where a program has debug information");
    } else {
        rm_doctor_add(
            exam, STACKS, name, rm_doctor_status(status),
            remedy(RM_FEATURE_DW,
                   "install libdw (libdw1 of Debian and Ubuntu), and resmon-names beside "
                   "the library",
                   "build libresmon with libdw (libdw-dev of Debian and Ubuntu)"),
            "%s: functions have no lines, or also no names, until the run is loaded elsewhere",
            resmon_last_error());
    }
}

static void add_signal(struct rm_doctor_exam *exam)
{
    static const char name[] = "signal";
    const char *signal = exam->tools->find_signal();
    if (signal != NULL) {
        rm_doctor_add(exam, STACKS, name, RESMON_DOCTOR_READY, "",
                      "%s is free for samples of CPU time and of a peak", signal);
    } else {
        rm_doctor_add(exam, STACKS, name, RESMON_DOCTOR_NOT_READABLE,
                      "the program must leave one of them unused",
                      "this program handles SIGURG, SIGSTKFLT and SIGPROF itself: there are no "
                      "samples of CPU time, and none of a peak");
    }
}

/* ---- page faults ------------------------------------------------------------------------ */

static void add_faults_here(struct rm_doctor_exam *exam, const char *name)
{
    bool has_kernel = false;
    resmon_status status = exam->tools->try_faults(&has_kernel);
    if (status == RESMON_OK) {
        rm_doctor_add(exam, STACKS, name, RESMON_DOCTOR_READY, "",
                      "page faults can be sampled with their stacks%s",
                      has_kernel ? ", those in system calls too"
                                 : "; those in system calls are left out");
    } else {
        rm_doctor_add(exam, STACKS, name, rm_doctor_status(status), "", "%s", resmon_last_error());
    }
}

static void add_faults(struct rm_doctor_exam *exam)
{
    static const char name[] = "page faults";
    if (exam->root.is_live) {
        add_faults_here(exam, name);
    } else if (!rm_file_exists(&exam->root, "proc/sys/kernel/perf_event_paranoid")) {
        rm_doctor_add(exam, STACKS, name, RESMON_DOCTOR_ABSENT, "",
                      "this kernel has no perf events: there are no stacks of memory's growth");
    } else if (rm_doctor_may_count(exam)) {
        rm_doctor_add(exam, STACKS, name, RESMON_DOCTOR_READY, "",
                      "kernel.perf_event_paranoid lets page faults be sampled");
    } else {
        rm_doctor_add(exam, STACKS, name, RESMON_DOCTOR_NOT_READABLE, "",
                      "page faults may not be sampled, see perf_event_paranoid above");
    }
}

/* With the kernel's own page. */
static uint64_t ring_kib(uint64_t bytes)
{
    return (bytes + (uint64_t)sysconf(_SC_PAGESIZE)) / 1024;
}

static void add_lock(struct rm_doctor_exam *exam)
{
    static const char name[] = "perf_event_mlock_kb";
    char line[64];
    uint64_t kib = 0;
    uint64_t most = ring_kib(RM_PERF_RING_MOST_BYTES) + ring_kib(RM_PERF_RING_MAJOR_BYTES);
    resmon_status status = rm_doctor_line(exam, LOCK, line, sizeof line);
    struct rm_text text = rm_text_of(line, strlen(line));
    if (status == RESMON_ENOENT) {
        return; /* a kernel without perf events has a row already */
    }
    if (status != RESMON_OK) {
        rm_doctor_add(exam, STACKS, name, rm_doctor_status(status), "",
                      "kernel.perf_event_mlock_kb cannot be read");
    } else if (!rm_parse_u64(&text, &kib) || rm_text_left(&text) > 0) {
        rm_doctor_add(exam, STACKS, name, RESMON_DOCTOR_GARBLED, "",
                      "kernel.perf_event_mlock_kb is '%s', which is not a number", line);
    } else if (kib < ring_kib(RM_PERF_RING_LEAST_BYTES)) {
        rm_doctor_add(exam, STACKS, name, RESMON_DOCTOR_NOT_READABLE,
                      "an administrator sets kernel.perf_event_mlock_kb to 516, or more",
                      "%llu KiB for each CPU are too few for a ring buffer of page faults, unless "
                      "\"ulimit -l\" or privileges allow more",
                      (unsigned long long)kib);
    } else {
        rm_doctor_add(exam, STACKS, name, RESMON_DOCTOR_READY, "",
                      "%llu KiB for each CPU may be ring buffers of page faults; a thread needs "
                      "%llu KiB, at least %llu; \"ulimit -l\" and privileges allow more",
                      (unsigned long long)kib, (unsigned long long)most,
                      (unsigned long long)ring_kib(RM_PERF_RING_LEAST_BYTES));
    }
}

void rm_doctor_stacks(struct rm_doctor_exam *exam)
{
    if (exam->root.is_live) { /* what is installed on another machine is not known */
        add_unwinding(exam);
        add_lines(exam);
        add_signal(exam);
    }
    add_faults(exam);
    add_lock(exam);
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

/* ---- one file, one row ------------------------------------------------------------------ */

struct row {
    const char *group, *name, *path;
    const char *ready, *absent, *denied; /* findings */
    const char *if_absent, *if_denied;   /* remedies */
};

static resmon_status add_row(struct rm_doctor_exam *exam, const struct row *row)
{
    resmon_status status = exam->tools->can_read(&exam->root, row->path);
    switch (rm_doctor_status(status)) {
    case RESMON_DOCTOR_READY:
        rm_doctor_add(exam, row->group, row->name, RESMON_DOCTOR_READY, "", "%s", row->ready);
        break;
    case RESMON_DOCTOR_ABSENT:
        rm_doctor_add(exam, row->group, row->name, RESMON_DOCTOR_ABSENT, row->if_absent, "%s",
                      row->absent);
        break;
    default:
        rm_doctor_add(exam, row->group, row->name, RESMON_DOCTOR_NOT_READABLE, row->if_denied,
                      "%s (%s)", row->denied, resmon_last_error());
    }
    return status;
}

void rm_doctor_gpu(struct rm_doctor_exam *exam)
{
    static const struct row driver = {
        "gpu",
        "NVIDIA driver",
        "proc/driver/nvidia/version",
        "the NVIDIA driver is loaded",
        "no NVIDIA driver is loaded",
        "the NVIDIA driver is loaded, but does not report its version",
        "",
        ""};
    static const struct row device = {
        "gpu",
        "NVIDIA device",
        "dev/nvidiactl",
        "/dev/nvidiactl can be opened",
        "there is no /dev/nvidiactl, though the driver is loaded",
        "this process may not open /dev/nvidiactl",
        "in a container: start it with --gpus all; in a batch job: ask for a GPU; else an "
        "administrator runs nvidia-modprobe",
        "in a batch job: ask for a GPU; else an administrator lets this user open /dev/nvidia*"};
    if (add_row(exam, &driver) != RESMON_ENOENT) {
        (void)add_row(exam, &device);
    }
}

/* ---- the kernel ------------------------------------------------------------------------- */

/* A controller of this process's cgroup, in cgroup v1 or v2. */
static void add_controller(struct rm_doctor_exam *exam, const struct rm_cgroup *cgroup,
                           const char *name, enum rm_cgroup_controller controller,
                           const char *const files[3])
{
    const struct rm_cgroup_place *place = &cgroup->places[controller];
    char path[RM_FILE_PATH_BYTES];
    if (place->version == 0 || rm_cgroup_file(place, files[place->version], path) != RESMON_OK) {
        rm_doctor_add(exam, "kernel", name, RESMON_DOCTOR_ABSENT, "",
                      "this process is in no group with this controller");
        return;
    }
    resmon_status status = exam->tools->can_read(&exam->root, path);
    int32_t verdict = rm_doctor_status(status);
    rm_doctor_add(exam, "kernel", name, verdict, "", "version %d: %s %s", place->version,
                  files[place->version],
                  verdict == RESMON_DOCTOR_READY    ? "of this process's group can be read"
                  : verdict == RESMON_DOCTOR_ABSENT ? "is not there, as in the root group"
                                                    : "may not be read by this process");
}

/* Only on this machine, not below another root directory. */
static void add_forks(struct rm_doctor_exam *exam)
{
    struct rm_fork_events events = {.socket = {0}};
    bool is_told = exam->tools->hear_forks(&events, &exam->root, &exam->scratch);
    rm_fork_events_close(&events);
    rm_doctor_add(exam, "kernel", "forks", is_told ? RESMON_DOCTOR_READY : RESMON_DOCTOR_ABSENT, "",
                  "%s",
                  is_told ? "the kernel reports forks: descendants whose parent ends between two "
                            "samples are not missed"
                          : RM_FORKS_UNTOLD ": outside of \"resmon run\", descendants whose parent "
                                            "ends between two samples are missed");
}

void rm_doctor_kernel(struct rm_doctor_exam *exam)
{
    static const struct row rows[] = {
        {"kernel", "smaps_rollup", "proc/self/smaps_rollup",
         "PSS and USS can be read (RESMON_FLAG_SMAPS)",
         "this kernel (before 4.14, or without CONFIG_PROC_PAGE_MONITOR) does not report PSS and "
         "USS",
         "this process may not read PSS and USS", "", ""},
        {"kernel", "pressure", "proc/pressure/cpu", "pressure stall information can be read",
         "this kernel has no pressure stall information",
         "this process may not read pressure stall information",
         "an administrator boots with psi=1, if the kernel has CONFIG_PSI (4.20 and later)", ""},
    };
    static const char *const memory_files[3] = {"", "memory.usage_in_bytes", "memory.current"};
    static const char *const cpu_files[3] = {"", "cpuacct.usage", "cpu.stat"};
    struct rm_cgroup cgroup;
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        (void)add_row(exam, &rows[i]);
    }
    if (rm_cgroup_find(&cgroup, &exam->root, &exam->scratch, "proc/self") != RESMON_OK) {
        cgroup = (struct rm_cgroup){0};
    }
    add_controller(exam, &cgroup, "cgroup memory", RM_CGROUP_MEMORY, memory_files);
    add_controller(exam, &cgroup, "cgroup cpu", RM_CGROUP_CPUACCT, cpu_files);
    if (exam->is_live) {
        add_forks(exam);
    }
}

/* ---- the site -------------------------------------------------------------------------------- */

#define SITE_FILE "etc/resmon/site.conf"

#define WORLD "emissions use the world average, %.0f g/kWh"

static const char name_place[] =
    "an administrator writes \"country = FR\" (and \"pue = 1.25\", if it is known) into "
    "/" SITE_FILE "; or the user sets RESMON_COUNTRY=FR";

/* `file`: the file that was read; NULL: there is none. */
static void add_place(struct rm_doctor_exam *exam, const struct rm_site *site, const char *file)
{
    const struct rm_place place = {
        .country = site->country,
        .region = site->region,
        .cloud_provider = site->cloud_provider,
        .cloud_region = site->cloud_region,
        .given = site->g_per_kwh,
    };
    const char *named = site->country[0] != '\0' ? site->country : site->cloud_region;
    struct rm_intensity found = rm_intensity_find(&place);
    if (found.basis != RESMON_CARBON_BASIS_WORLD) {
        rm_doctor_add(exam, "site", "place", RESMON_DOCTOR_READY, "",
                      "emissions use the carbon intensity of %s: %.0f g/kWh%s%s",
                      found.basis == RESMON_CARBON_BASIS_GIVEN ? "the settings" : found.place,
                      found.g_per_kwh, file != NULL ? "; the site's file is " : "",
                      file != NULL ? file : "");
    } else if (named[0] != '\0') {
        rm_doctor_add(exam, "site", "place", RESMON_DOCTOR_GARBLED, name_place,
                      "the place '%s' is not known: " WORLD, named, found.g_per_kwh);
    } else if (file != NULL) {
        rm_doctor_add(exam, "site", "place", RESMON_DOCTOR_ABSENT, name_place,
                      "%s names no place: " WORLD, file, found.g_per_kwh);
    } else {
        rm_doctor_add(exam, "site", "place", RESMON_DOCTOR_ABSENT, name_place,
                      "there is no /" SITE_FILE ": " WORLD, found.g_per_kwh);
    }
}

void rm_doctor_site(struct rm_doctor_exam *exam)
{
    struct rm_site site;
    struct rm_job_environment environment = *exam->tools->environment;
    environment.root = exam->fs_root;
    const char *file = rm_job_variable(&environment, "RESMON_SITE_CONF");
    if (file == NULL && rm_file_exists(&exam->root, SITE_FILE)) {
        file = "/" SITE_FILE;
    }
    resmon_status status = rm_site_read(&environment, &site);
    if (status != RESMON_OK) {
        rm_doctor_add(exam, "site", "place", rm_doctor_status(status),
                      "correct it: the file is read only up to its first mistake", "%s",
                      resmon_last_error());
        return;
    }
    add_place(exam, &site, file);
}

/* ---- the build ------------------------------------------------------------------------------- */

void rm_doctor_build(struct rm_doctor_exam *exam)
{
    const struct rm_feature_row *row;
    for (size_t i = 0; (row = rm_feature_row(i)) != NULL; i++) {
        if (!row->is_built) {
            rm_doctor_add(exam, "build", row->option, RESMON_DOCTOR_ABSENT,
                          "build the library with it, or install one that was",
                          "this libresmon was built without %s", row->what);
        }
    }
}

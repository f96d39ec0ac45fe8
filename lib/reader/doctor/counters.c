/* SPDX-License-Identifier: MIT */
/*
 * Rows about hardware counters: what the kernel, capabilities and filters let this process count,
 * and what processors there are to count.
 */
#include "doctor/exam.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/cpu_model.h"
#include "os/access.h"
#include "os/dir.h"

#define GROUP    "counters"
#define PARANOID "proc/sys/kernel/perf_event_paranoid"
#define DEVICES  "sys/bus/event_source/devices"

/* The level at which everybody may count all that happens on a CPU; and own processes. */
#define LEVEL_ALL 0
#define LEVEL_OWN 2

/* ---- what is allowed -------------------------------------------------------------------- */

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
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_ABSENT, "",
                      "there is no kernel.perf_event_paranoid: this kernel has no perf events");
    } else if (status != RESMON_OK) {
        rm_doctor_add(exam, GROUP, name, rm_doctor_status(status), "",
                      "kernel.perf_event_paranoid cannot be read");
    } else if (!exam->doctor->has_level) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_GARBLED, "",
                      "kernel.perf_event_paranoid is '%s', which is not a level", line);
    } else if (level <= LEVEL_OWN || rm_doctor_may_count(exam)) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_READY, "", "level %lld allows %s%s",
                      (long long)level, allowed_at(level),
                      exam->is_capable ? "; this process may count everything (capabilities)" : "");
    } else {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_NOT_READABLE,
                      "an administrator sets kernel.perf_event_paranoid to 2, permanently with the "
                      "file of \"resmon doctor --rule sysctl\"; " RM_DOCTOR_ONE_PROGRAM,
                      "level %lld allows %s", (long long)level, allowed_at(level));
    }
}

/* perf_event_open(2): the level is EACCES; what filters of containers say is EPERM. */
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
            rm_doctor_add(exam, GROUP, "perf_event_open", answers[i].status, answers[i].remedy,
                          "%s", answers[i].what);
            return;
        }
    }
    rm_doctor_add(exam, GROUP, "perf_event_open", RESMON_DOCTOR_NOT_READABLE, "",
                  "the call failed: errno %d", exam->least_errno);
}

/* PMUs of processors: "cpu", and those that say which CPUs they are of ("cpu_core", "cpu_atom",
 * "armv8_pmuv3_0").  Those of the uncore have a "cpumask" instead. */
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
            exam, GROUP, name, RESMON_DOCTOR_ABSENT,
            exam->is_virtual ? "let the host give this virtual machine a PMU, if possible (KVM: "
                               "CPU model \"host\")"
                             : "",
            "no PMU of the processors is visible%s: no cycles, instructions and cache misses",
            exam->is_virtual ? ", as in most virtual machines" : "");
    } else if (rm_doctor_may_count(exam)) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_READY, "", "PMU %s can be opened",
                      pmus.names);
    } else {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_NOT_READABLE, "",
                      "PMU %s exists, but this process may not count, see above", pmus.names);
    }
}

void rm_doctor_counters(struct rm_doctor_exam *exam)
{
    add_level(exam);
    add_call(exam);
    add_pmus(exam);
}

/* SPDX-License-Identifier: MIT */
/*
 * Rows about the files of a GPU's driver, and what the kernel tells of memory, pressure and control
 * groups.
 */
#include "doctor/exam.h"

#include "os/cgroup.h"

/* ---- one file, one row ------------------------------------------------------------------ */

struct row {
    const char *group, *name, *path;
    const char *ready, *absent, *denied; /* what is found */
    const char *if_absent, *if_denied;   /* what is done */
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

/* A controller of this process's group, in either version of the interface. */
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

/* Not of a tree of files. */
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

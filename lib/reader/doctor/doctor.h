/* SPDX-License-Identifier: MIT */
/*
 * Owns examinations of what can be measured here: running one, its findings, its report as text,
 * and the files that an administrator installs so that a group may read the energy counters and
 * users may count (doctor.c); and the examination while it is run, for its rows (energy.c,
 * sources.c).
 * Called by api/doctor.c.
 */
#ifndef RM_DOCTOR_DOCTOR_H
#define RM_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/doctor.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/compiler.h"
#include "job/environment.h"
#include "os/file.h"
#include "os/task_events.h"

#define RM_DOCTOR_GROUP_BYTES 32

struct resmon_doctor {
    struct rm_arena strings;
    resmon_doctor_entry *entries;
    size_t count, room;
    char user_group[RM_DOCTOR_GROUP_BYTES]; /* shall be able to read energy counters */
    char heading[160];
    bool has_level;
    int64_t level; /* kernel.perf_event_paranoid */
};

/* Access to the machine; replaced by tests. */
struct rm_doctor_tools {
    resmon_status (*can_read)(const struct rm_root *root, const char *path);
    int (*perf_open)(uint32_t type, uint64_t config, int cpu); /* -1 with errno */
    int (*perf_open_least)(void);
    void (*wait_for_counters)(void); /* until RAPL has updated its counters */
    bool is_live;                    /* a directory of files is treated as this machine */
    resmon_status (*open_unwinding)(void);
    resmon_status (*open_lines)(void);
    resmon_status (*try_faults)(bool *ret_has_kernel); /* opens a ring of page faults */
    const char *(*find_signal)(void);                  /* NULL: no signal is free */
    bool (*hear_forks)(struct rm_fork_events *events, const struct rm_root *root,
                       struct rm_scratch *scratch);
    const struct rm_job_environment *environment;
};

extern const struct rm_doctor_tools rm_doctor_own_tools;

/** As resmon_doctor_examine(), with copied options. */
resmon_status rm_doctor_examine(const resmon_doctor_options *options,
                                const struct rm_doctor_tools *tools, resmon_doctor **ret_doctor);

void rm_doctor_free(resmon_doctor *doctor);

/* ---- the report and the files ---------------------------------------------------------------- */

/** Appends the findings by group, then what can be done. */
void rm_doctor_write(struct rm_buffer *buffer, const char *heading,
                     const resmon_doctor_entry *entries, size_t count);

struct rm_doctor_rule {
    const char *group; /* a checked name: root's files contain it */
    bool has_level;
    int64_t level; /* of kernel.perf_event_paranoid */
};

/** Appends file RESMON_DOCTOR_FILE_*; RESMON_EINVAL: there is no such file. */
resmon_status rm_doctor_rule_write(struct rm_buffer *buffer, const struct rm_doctor_rule *rule,
                                   int32_t file);

/* ---- an examination while it is run ---------------------------------------------------------- */

struct rm_doctor_exam {
    struct resmon_doctor *doctor;
    const struct rm_doctor_tools *tools;
    const char *fs_root; /* NULL: "/" */
    struct rm_root root;
    struct rm_scratch scratch;
    resmon_status status; /* RESMON_ENOMEM sticks */

    bool is_live;    /* this machine, not a directory of files */
    bool is_virtual; /* reported by the CPU */
    bool is_arm;
    bool mirrors_dies;    /* AMD and Hygon */
    bool is_capable;      /* CAP_PERFMON or CAP_SYS_ADMIN */
    bool is_tried;        /* the least privileged event was opened: */
    int least_errno;      /* 0: successfully */
    bool is_pmu_readable; /* the packages of the PMU "power" can be read, and count */
    bool has_zones;       /* powercap zones of RAPL */
    bool is_rapl_enough;  /* all packages can be read */
};

/** Adds a finding; all texts are copied. */
void rm_doctor_add(struct rm_doctor_exam *exam, const char *group, const char *name, int32_t status,
                   const char *remedy, const char *format, ...) RM_PRINTF(6, 7);

/** The RESMON_DOCTOR_* of the status of opening a file. */
int32_t rm_doctor_status(resmon_status status);

/** The first line of a file; "" if it cannot be read. */
resmon_status rm_doctor_line(struct rm_doctor_exam *exam, const char *path, char *line,
                             size_t capacity);

/** Examines what the other rows need: virtual or not, perf_event_paranoid, capabilities. */
void rm_doctor_look_round(struct rm_doctor_exam *exam);

/** Whether events of own processes may be counted; _all: events of whole CPUs, of all processes. */
bool rm_doctor_may_count(const struct rm_doctor_exam *exam);
bool rm_doctor_may_count_all(const struct rm_doctor_exam *exam);

#define RM_DOCTOR_ONE_PROGRAM                                                                  \
    "or gives this right to one program: setcap cap_perfmon=ep PROGRAM (Linux 5.8 and later; " \
    "then the program looks at no environment variable of libresmon)"

/** rm_doctor_tools.try_faults. */
resmon_status rm_doctor_try_faults(bool *ret_has_kernel);

/* Waits after which a working energy counter has counted. */
#define RM_DOCTOR_WAITS 20

/* Rows. */
void rm_doctor_machine(struct rm_doctor_exam *exam);
void rm_doctor_energy(struct rm_doctor_exam *exam);
void rm_doctor_counters(struct rm_doctor_exam *exam);
void rm_doctor_stacks(struct rm_doctor_exam *exam);
void rm_doctor_gpu(struct rm_doctor_exam *exam);
void rm_doctor_site(struct rm_doctor_exam *exam);
void rm_doctor_kernel(struct rm_doctor_exam *exam);
void rm_doctor_build(struct rm_doctor_exam *exam);

#endif

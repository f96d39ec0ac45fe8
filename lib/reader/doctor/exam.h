/* SPDX-License-Identifier: MIT */
/*
 * Owns an examination while it goes on: what all its rows need, and what earlier rows have found
 * out for later ones.
 * Called by doctor/doctor and its rows.
 */
#ifndef RM_DOCTOR_EXAM_H
#define RM_DOCTOR_EXAM_H

#include "base/compiler.h"
#include "doctor/doctor.h"

struct rm_doctor_exam {
    struct resmon_doctor *doctor;
    const struct rm_doctor_tools *tools;
    const char *fs_root; /* NULL: "/" */
    struct rm_root root;
    struct rm_scratch scratch;
    resmon_status status; /* RESMON_ENOMEM sticks */

    bool is_live;    /* this machine, and no tree of files */
    bool is_virtual; /* a hypervisor says so */
    bool is_arm;
    bool mirrors_dies;    /* AMD and Hygon */
    bool is_capable;      /* CAP_PERFMON or CAP_SYS_ADMIN */
    bool is_tried;        /* the least event was asked for: */
    int least_errno;      /* 0: it was given */
    bool is_pmu_readable; /* the packages of the PMU "power", which count */
    bool has_zones;       /* RAPL's */
    bool is_rapl_enough;  /* all packages can be read */
};

/** Adds a finding; `group` and `remedy` are copied too. */
void rm_doctor_add(struct rm_doctor_exam *exam, const char *group, const char *name, int32_t status,
                   const char *remedy, const char *format, ...) RM_PRINTF(6, 7);

/** The RESMON_DOCTOR_* of how a file could be opened. */
int32_t rm_doctor_status(resmon_status status);

/** The first line of a file, or "" when it cannot be read. */
resmon_status rm_doctor_line(struct rm_doctor_exam *exam, const char *path, char *line,
                             size_t capacity);

/** What everything else hangs on: virtual or not, paranoia, capabilities. */
void rm_doctor_look_round(struct rm_doctor_exam *exam);

/** Whether events of own processes may be counted; and those of whole CPUs, of all processes. */
bool rm_doctor_may_count(const struct rm_doctor_exam *exam);
bool rm_doctor_may_count_all(const struct rm_doctor_exam *exam);

#define RM_DOCTOR_ONE_PROGRAM                                                                  \
    "or gives this right to one program: setcap cap_perfmon=ep PROGRAM (Linux 5.8 and later; " \
    "then the program looks at no environment variable of libresmon)"

/** rm_doctor_tools.try_faults. */
resmon_status rm_doctor_try_faults(bool *ret_has_kernel);

/* A counter of energy that lives has counted after one of so many waits. */
#define RM_DOCTOR_WAITS 20

/* Rows. */
void rm_doctor_energy(struct rm_doctor_exam *exam);
void rm_doctor_counters(struct rm_doctor_exam *exam);
void rm_doctor_stacks(struct rm_doctor_exam *exam);
void rm_doctor_gpu(struct rm_doctor_exam *exam);
void rm_doctor_site(struct rm_doctor_exam *exam);
void rm_doctor_kernel(struct rm_doctor_exam *exam);
void rm_doctor_build(struct rm_doctor_exam *exam);

#endif

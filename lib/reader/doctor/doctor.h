/* SPDX-License-Identifier: MIT */
/*
 * Owns the findings of an examination, and running one: row by row, each row adds what it found.
 * Called by api/doctor.  The rows are in doctor/energy.c and
 * doctor/sources.c.
 */
#ifndef RM_DOCTOR_DOCTOR_H
#define RM_DOCTOR_DOCTOR_H

#include <stdbool.h>

#include <resmon/doctor.h>

#include "base/alloc.h"
#include "job/environment.h"
#include "os/file.h"
#include "os/task_events.h"

#define RM_DOCTOR_GROUP_BYTES 32

struct resmon_doctor {
    struct rm_arena strings;
    resmon_doctor_entry *entries;
    size_t count, room;
    char user_group[RM_DOCTOR_GROUP_BYTES]; /* that shall read energy counters */
    char heading[160];
    bool has_level;
    int64_t level; /* kernel.perf_event_paranoid */
};

/* How the machine is touched; tests give their own. */
struct rm_doctor_tools {
    resmon_status (*can_read)(const struct rm_root *root, const char *path);
    int (*perf_open)(uint32_t type, uint64_t config, int cpu); /* -1 with errno */
    int (*perf_open_least)(void);
    void (*wait_for_counters)(
        void);    /* for as long as RAPL takes to bring its counters up to date */
    bool is_live; /* a tree of files is to be taken for this machine */
    resmon_status (*open_unwinding)(void);
    resmon_status (*open_lines)(void);
    resmon_status (*try_faults)(bool *ret_has_kernel); /* a ring of this thread's page faults */
    const char *(*find_signal)(void);                  /* NULL: there is none */
    bool (*hear_forks)(struct rm_fork_events *events, const struct rm_root *root,
                       struct rm_scratch *scratch);
    const struct rm_job_environment *environment;
};

extern const struct rm_doctor_tools rm_doctor_own_tools;

/** Options that were taken over; as resmon_doctor_examine(). */
resmon_status rm_doctor_examine(const resmon_doctor_options *options,
                                const struct rm_doctor_tools *tools, resmon_doctor **ret_doctor);

void rm_doctor_free(resmon_doctor *doctor);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * resmon/doctor.h - examines what this user can measure on this machine, and how to enable the
 * rest.  In libresmon-reader.
 *
 *     resmon_doctor *doctor;
 *     char *text;
 *     if (resmon_doctor_examine(NULL, &doctor) == RESMON_OK &&
 *         resmon_doctor_report(doctor, &text) == RESMON_OK) {
 *         puts(text);
 *     }
 *
 * The command `resmon doctor` prints the same report.  Nothing is changed.  Examined are:
 *
 * - each RAPL zone in /sys/class/powercap, and the PMU "power" of perf;
 * - memory modules;
 * - hardware counters, with all that may block them: kernel.perf_event_paranoid, capabilities,
 *   filters of containers;
 * - requirements of stacks: libunwind (loaded for this), resmon-names with libdw (started for
 *   this), a free signal, ring buffers of page faults;
 * - the files of the GPU driver;
 * - the site file (<resmon/carbon.h>);
 * - the kernel's data about memory, pressure and cgroups.
 *
 * It also provides the files that an administrator installs to enable energy and hardware counters.
 */
#ifndef RESMON_DOCTOR_H
#define RESMON_DOCTOR_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** The findings of an examination.  Since 0.1. */
typedef struct resmon_doctor resmon_doctor;

#define RESMON_DOCTOR_READY        1 /**< readable */
#define RESMON_DOCTOR_NOT_READABLE 2 /**< exists, but not readable for this user */
#define RESMON_DOCTOR_ABSENT       3 /**< does not exist */
#define RESMON_DOCTOR_GARBLED      4 /**< exists, but its content is invalid */

/* Files for an administrator, below /etc. */
#define RESMON_DOCTOR_FILE_ALL      0 /**< all files, with instructions */
#define RESMON_DOCTOR_FILE_SYSUSERS 1 /**< sysusers.d/resmon.conf: the user group */
#define RESMON_DOCTOR_FILE_UDEV     2 /**< udev/rules.d/70-resmon.rules: zones, when they appear */
#define RESMON_DOCTOR_FILE_TMPFILES 3 /**< tmpfiles.d/resmon.conf: zones, without udev */
#define RESMON_DOCTOR_FILE_SYSCTL   4 /**< sysctl.d/70-resmon.conf: hardware counters */

/** Options.  Zero or NULL means the default.  Strings are copied.  Since 0.1. */
typedef struct resmon_doctor_options {
    size_t struct_size;
    const char *fs_root; /**< directory that contains proc/, sys/, dev/ and etc/; default "/".  With
                              another directory only files are examined: no counter is opened */
    const char *group;   /**< user group that may read the energy counters: a lower-case letter or
                              '_', then lower-case letters, '_', digits and '-', at most 31
                              characters; default "resmon" */
} resmon_doctor_options;

/** A finding.  Strings live as long as the doctor.  Since 0.1. */
typedef struct resmon_doctor_entry {
    size_t struct_size;
    int32_t status;    /**< RESMON_DOCTOR_READY ... */
    const char *group; /**< "energy", "counters", "stacks", "gpu", "site", "kernel",
                          "build" */
    const char *name;  /**< "powercap intel-rapl:0:0", "perf_event_paranoid"; unique in its group */
    const char *what;  /**< the finding, in one sentence */
    const char *remedy; /**< what the user or administrator can do; "": nothing */
} resmon_doctor_entry;

/**
 * Examines the machine for this process.  `options` NULL: all defaults.
 * A missing or unreadable source is a finding, not an error.  Free the doctor with
 * resmon_doctor_free().
 * RESMON_EINVAL: `ret_doctor` is NULL, or the option `group` is not a valid name; RESMON_ENOENT,
 * RESMON_EACCES: `fs_root` is not a directory, or is not accessible; RESMON_ENOMEM.
 * Thread class: any thread, while no thread changes the environment.  Since 0.1.
 */
RESMON_API resmon_status resmon_doctor_examine(const resmon_doctor_options *options,
                                               resmon_doctor **ret_doctor);

/** Returns the number of findings; 0 for NULL.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_doctor_entry_count(const resmon_doctor *doctor);

/**
 * Gets finding `index`; findings of a group are adjacent.
 * RESMON_ENOENT: past the end; RESMON_EINVAL: NULL, or struct_size is too small.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_doctor_get_entry(const resmon_doctor *doctor, size_t index,
                                                 resmon_doctor_entry *ret_entry);

/**
 * Renders all findings and remedies as text for people.
 * Lines have at most 100 columns.  Free `ret_text` with resmon_text_free() of <resmon/report.h>.
 * RESMON_EINVAL: an argument is NULL; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_doctor_report(const resmon_doctor *doctor, char **ret_text);

/**
 * Renders all findings as JSON: [{"group", "name", "status", "what", "remedy"}], with the status
 * "ready", "not readable", "absent" or "garbled".
 * Free `ret_text` with resmon_text_free() of <resmon/report.h>.
 * RESMON_EINVAL: an argument is NULL; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_doctor_document(const resmon_doctor *doctor, char **ret_text);

/**
 * Renders a file that an administrator installs, RESMON_DOCTOR_FILE_*.
 * The files about energy are equal on all machines.  They cover all zones of all drivers, including
 * zones that appear later.  Only the group of the options may then read the counters, because these
 * reveal data of other programs (CVE-2020-8694).  The sysctl file depends on the
 * kernel.perf_event_paranoid that was found.  Free `ret_text` with resmon_text_free() of
 * <resmon/report.h>.
 * RESMON_EINVAL: an argument is NULL, or `file` is unknown; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_doctor_rule(const resmon_doctor *doctor, int32_t file,
                                            char **ret_text);

/** Frees a doctor; NULL is allowed.  Any thread, when no other thread uses it.  Since 0.1. */
RESMON_API void resmon_doctor_free(resmon_doctor *doctor);

RESMON_END_DECLS

#endif

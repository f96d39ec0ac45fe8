/* SPDX-License-Identifier: MIT */
/*
 * resmon/doctor.h - what can be measured here by this user, and how to enable the rest: the sources
 * of energy and of counters one by one, and the files that an administrator installs.
 *
 *     resmon_doctor *doctor;
 *     char *text;
 *     if (resmon_doctor_examine(NULL, &doctor) == RESMON_OK &&
 *         resmon_doctor_report(doctor, &text) == RESMON_OK) {
 *         puts(text);
 *     }
 *
 * Looked at are the zones of RAPL in /sys/class/powercap, each by itself, and the PMU "power" of
 * perf; the modules of memory; hardware counters with all that is between them and a process
 * (kernel.perf_event_paranoid, capabilities, the filters of containers); what stacks need
 * (libunwind and libdw, which are loaded for that, a free signal, rings of page faults); the files
 * of a GPU's driver; the site's file; and what the kernel tells of memory, pressure and control
 * groups.  Nothing is changed.  The command `resmon doctor` prints it.
 */
#ifndef RESMON_DOCTOR_H
#define RESMON_DOCTOR_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

typedef struct resmon_doctor resmon_doctor;

#define RESMON_DOCTOR_READY        1 /**< it can be read */
#define RESMON_DOCTOR_NOT_READABLE 2 /**< it is there, and this user may not */
#define RESMON_DOCTOR_ABSENT       3 /**< it is not there */
#define RESMON_DOCTOR_GARBLED      4 /**< it is there, and does not say what it should */

/* The files of an administrator, below /etc. */
#define RESMON_DOCTOR_FILE_ALL      0 /**< all of them, with how to install them */
#define RESMON_DOCTOR_FILE_SYSUSERS 1 /**< sysusers.d/resmon.conf: the group */
#define RESMON_DOCTOR_FILE_UDEV     2 /**< udev/rules.d/70-resmon.rules: zones, as they appear */
#define RESMON_DOCTOR_FILE_TMPFILES 3 /**< tmpfiles.d/resmon.conf: zones, without udev */
#define RESMON_DOCTOR_FILE_SYSCTL   4 /**< sysctl.d/70-resmon.conf: hardware counters */

/** Options.  Zero or NULL is the default.  Strings are copied.  Since 0.1. */
typedef struct resmon_doctor_options {
    size_t struct_size;
    const char *fs_root; /**< directory to read proc/, sys/, dev/ and etc/ below; default "/".
                              Below another, no counter is opened: files alone decide */
    const char *group;   /**< that shall read the energy counters: a lower-case letter or '_', then
                              these, digits and '-', 31 at most; default "resmon" */
} resmon_doctor_options;

/** A finding.  Texts live as long as the doctor.  Since 0.1. */
typedef struct resmon_doctor_entry {
    size_t struct_size;
    int32_t status;     /**< RESMON_DOCTOR_READY ... */
    const char *group;  /**< "energy", "counters", "stacks", "gpu", "site", "kernel",
                           "build" */
    const char *name;   /**< "powercap intel-rapl:0:0", "perf_event_paranoid"; once per group */
    const char *what;   /**< one sentence: what was found */
    const char *remedy; /**< what the user or the administrator does; "": nothing, or nothing can */
} resmon_doctor_entry;

/**
 * Examines the machine for this process.  What is missing or closed is a finding, not a failure.
 * RESMON_EINVAL: `group` is no name of a group; RESMON_ENOENT, RESMON_EACCES: `fs_root` is no
 * directory, or closed; RESMON_ENOMEM.  Free with resmon_doctor_free().
 * Thread class: any thread, while none changes the environment.  Since 0.1.
 */
RESMON_API resmon_status resmon_doctor_examine(const resmon_doctor_options *options,
                                               resmon_doctor **ret_doctor);

/** How many findings there are; 0 for NULL.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_doctor_entry_count(const resmon_doctor *doctor);

/**
 * Finding `index`, group by group.  RESMON_ENOENT past the end; RESMON_EINVAL.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_doctor_get_entry(const resmon_doctor *doctor, size_t index,
                                                 resmon_doctor_entry *ret_entry);

/**
 * All findings and all that is to be done, as text for people, at most 100 columns wide.  Free
 * `ret_text` with resmon_text_free() of <resmon/report.h>.  RESMON_EINVAL, RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_doctor_report(const resmon_doctor *doctor, char **ret_text);

/**
 * The text of a file that an administrator installs, RESMON_DOCTOR_FILE_*.  Those about energy
 * cover every zone of every driver, also zones that appear later, and are the same on every
 * machine; they let the group of the options read, and nobody else, because the counters tell
 * about the data of other programs (CVE-2020-8694).  The sysctl's is for the level that was found.
 * Free `ret_text` with resmon_text_free() of <resmon/report.h>.  RESMON_EINVAL: NULL, or no such
 * file; RESMON_ENOMEM.  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_doctor_rule(const resmon_doctor *doctor, int32_t file,
                                            char **ret_text);

/** Frees a doctor; NULL is fine.  Any thread, once nobody uses it.  Since 0.1. */
RESMON_API void resmon_doctor_free(resmon_doctor *doctor);

RESMON_END_DECLS

#endif

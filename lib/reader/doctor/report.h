/* SPDX-License-Identifier: MIT */
/*
 * Owns the text of an examination for people: the findings, then what is to be done; and the files
 * that an administrator installs so that a group may read the energy counters, and users may count.
 */
#ifndef RM_DOCTOR_REPORT_H
#define RM_DOCTOR_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/doctor.h>

#include "base/buffer.h"

/** Appends the report; entries of a group stand together. */
void rm_doctor_write(struct rm_buffer *buffer, const char *heading,
                     const resmon_doctor_entry *entries, size_t count);

struct rm_doctor_rule {
    const char *group; /* a name that was checked: root's files hold it */
    bool has_level;
    int64_t level; /* of kernel.perf_event_paranoid */
};

/** Appends file RESMON_DOCTOR_FILE_*; RESMON_EINVAL: there is no such file. */
resmon_status rm_doctor_rule_write(struct rm_buffer *buffer, const struct rm_doctor_rule *rule,
                                   int32_t file);

#endif

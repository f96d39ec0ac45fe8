/* SPDX-License-Identifier: MIT */
/*
 * Owns the text of an examination for people: the findings, then what is to be done.
 */
#ifndef RM_DOCTOR_REPORT_H
#define RM_DOCTOR_REPORT_H

#include <resmon/doctor.h>

#include "base/buffer.h"

/** Appends the report; entries of a group stand together. */
void rm_doctor_write(struct rm_buffer *buffer, const char *heading,
                     const resmon_doctor_entry *entries, size_t count);

#endif

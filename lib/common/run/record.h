/* SPDX-License-Identifier: MIT */
/*
 * Owns the descriptions of the members of a run's records, made from run/records.def, the one table
 * of members. Pure.
 */
#ifndef RM_RUN_RECORD_H
#define RM_RUN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/records.h>

#include "run/run.h"

enum rm_record_name {
#define RM_RECORD(record, ...) RM_RECORD_##record,
#include "base/compiler.h"
#include "run/records.def"
    RM_RECORDS
};

/* Types of members, each with its C type; records.def describes them. From STATUS on, the values
 * are words. */
#define RM_MEMBER_TYPES(ROW)                \
    ROW(TEXT, const char *)                 \
    ROW(COUNT, uint64_t)                    \
    ROW(CALLS, uint64_t)                    \
    ROW(INTEGER, int64_t)                   \
    ROW(SMALL, int32_t)                     \
    ROW(NUMBER, double)                     \
    ROW(NUMBERS4, double[4])                \
    ROW(COUNTS4, uint64_t[4])               \
    ROW(ESTIMATE, resmon_estimate)          \
    ROW(ESTIMATES, const resmon_estimate *) \
    ROW(TIME, int64_t)                      \
    ROW(FLAG, uint64_t)                     \
    ROW(ADDRESS, uint64_t)                  \
    ROW(STATUS, int32_t)                    \
    ROW(PROVENANCE, int32_t)                \
    ROW(LEVEL, int32_t)                     \
    ROW(KIND, int32_t)                      \
    ROW(END, int32_t)

enum rm_member_type {
#define RM_MEMBER_TYPE(type, c_type) RM_TYPE_##type,
    RM_MEMBER_TYPES(RM_MEMBER_TYPE)
#undef RM_MEMBER_TYPE
};

#define RM_MEMBER_ALWAYS UINT16_MAX

struct rm_member {
    uint16_t key; /* of rm_member_key() */
    uint16_t offset;
    uint16_t when; /* offset of the member that decides whether this one is known; or ALWAYS */
    uint8_t when_type;
    uint8_t type;
};

/* Members of a record, in the order of the table. */
struct rm_record {
    const struct rm_member *members;
    size_t count;
};

RM_SHARED struct rm_record rm_record_of(enum rm_record_name name);

/** The key of a member in the document; "" if the member is not in the document. */
const char *rm_member_key(const struct rm_member *member);

/** Sets all members of a record to "not known": NaN, 0, "", RESMON_EFORMAT. */
RM_SHARED void rm_record_clear(enum rm_record_name name, void *record);

/** Whether a member of a record is known. */
RM_SHARED bool rm_record_has(const struct rm_member *member, const void *record);

/** The word of a code, by the type of the member; NULL if there is no word. */
RM_SHARED const char *rm_word_of(enum rm_member_type words, int32_t code);

/** The code of a word (NULL: none); `fallback` when there is no such word. */
int32_t rm_word_code(enum rm_member_type words, const char *word, int32_t fallback);

/** A new empty run with a reference count of 1, or NULL. */
RM_SHARED struct resmon_run *rm_run_new(void);

#endif

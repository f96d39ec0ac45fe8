/* SPDX-License-Identifier: MIT */
/*
 * Owns the representation of a run's records (run/records.def) in a run document: each record is an
 * object, its members have their keys.
 */
#ifndef RM_FORMAT_RECORD_JSON_H
#define RM_FORMAT_RECORD_JSON_H

#include "base/compiler.h"
#include "format/json.h"
#include "format/json_writer.h"
#include "run/record.h"
#include "run/run.h"

/** Writes the members of a record into the open object. */
void rm_record_put(struct rm_json_writer *writer, enum rm_record_name name, const void *record,
                   const struct resmon_run *run);

/** Writes a record as an object, and a list of such objects. */
struct rm_record_list {
    const void *first;
    size_t count, stride;
};
void rm_record_put_object(struct rm_json_writer *writer, const char *key, enum rm_record_name name,
                          const void *record, const struct resmon_run *run);
void rm_record_put_list(struct rm_json_writer *writer, const char *key, enum rm_record_name name,
                        struct rm_record_list list, const struct resmon_run *run);

/* For a member of the run that is an array, and its count. */
#define RM_RECORD_PUT_LIST(writer, key, name, run, list, count)                                 \
    rm_record_put_list(writer, key, name,                                                       \
                       (struct rm_record_list){(run)->list, (run)->count, sizeof *(run)->list}, \
                       run)

/** Writes an address as text: a JSON number need not have 64 bits. False: the text is not an
 * address. */
void rm_record_put_address(struct rm_json_writer *writer, const char *key, uint64_t address);
bool rm_record_read_address(const struct rm_json *value, uint64_t *ret_address);

/** A time since 1970, as "2026-11-21T08:33:18.123456789Z"; 0: not known. */
RM_SHARED void rm_record_put_time(struct rm_json_writer *writer, const char *key,
                                  int64_t realtime_ns);
RM_SHARED int64_t rm_record_read_time(const struct rm_json *value);

/**
 * Reads a record from an object; from anything else, all members are not known. A document is
 * untrusted input. A member that is missing or of another type is not known; a number that its type
 * cannot represent becomes 0. RESMON_ENOMEM; RESMON_EFORMAT for an invalid address.
 */
resmon_status rm_record_read(const struct rm_json *object, enum rm_record_name name, void *record,
                             struct resmon_run *run);

/** Whether a record has a member with this key. */
bool rm_record_has_key(enum rm_record_name name, const char *key);

#define RM_DOCUMENT_EXACT 0x1p53 /* counts are below this */

/** Whether a number is an integer from 0 to below `bound`; `ret_number` is 0 for any other. */
bool rm_document_whole(double number, double bound, uint64_t *ret_number);

#endif

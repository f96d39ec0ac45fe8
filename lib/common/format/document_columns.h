/* SPDX-License-Identifier: MIT */
/*
 * Owns lists of a run document that stand side by side: a column for each member of records that
 * come by the thousand (events, frames, stacks), one entry of each list for each record.  Numbers
 * that others follow as indexes must be right, or everybody would have to look twice: a document in
 * which they are not is refused.
 */
#ifndef RM_FORMAT_DOCUMENT_COLUMNS_H
#define RM_FORMAT_DOCUMENT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/json.h"
#include "format/json_writer.h"

#define RM_DOCUMENT_EXACT    0x1p53 /* counts are below */
#define RM_DOCUMENT_HEAVIEST 0x1p62 /* weights, times */

struct rm_column_of {
    const char *key;
    uint16_t offset; /* in the record */
    uint8_t bytes;   /* of the member: 2, 4, 8 */
    bool is_real;    /* a double; else a whole number, signed where `low` is below 0 */
    double low;      /* 0, or -1: none */
    double bound;    /* numbers are below */
};

#define RM_COLUMN_OF(type, member, key, low, bound)                                              \
    {                                                                                            \
        key, (uint16_t)offsetof(type, member), (uint8_t)sizeof(((type *)0)->member), false, low, \
            bound                                                                                \
    }

/* Records that stand one after the other. */
struct rm_rows_of {
    void *first;
    size_t count, stride;
};

/** Puts a list into the object that is open.  A recording may say anything: what is out of bounds
 * becomes `low`. */
void rm_column_put(struct rm_json_writer *writer, const struct rm_column_of *column,
                   struct rm_rows_of rows);

/** Reads a list of `rows.count` numbers; RESMON_EFORMAT says which of `part` ("events.") is wrong.
 */
resmon_status rm_column_read(const struct rm_json *object, const char *part,
                             const struct rm_column_of *column, struct rm_rows_of rows);

/** A whole number from 0 up to below `bound`; false: it is something else. */
bool rm_document_whole(const struct rm_json *element, double bound, uint64_t *ret_number);

#endif

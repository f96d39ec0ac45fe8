/* SPDX-License-Identifier: MIT */
/*
 * Owns what an exported table is made of: the run, and what is computed once for the export (names,
 * metadata, times, validity).  It does not change while anybody holds it.
 */
#ifndef RM_EXPORT_ARROW_TABLE_H
#define RM_EXPORT_ARROW_TABLE_H

#include "base/intern.h"
#include "run/run.h"

struct rm_arrow_column {
    const char *name, *format, *metadata;
    int64_t flags;
    int64_t null_count;
    const void *buffers[2]; /* validity, values */
};

struct rm_arrow_table {
    size_t references; /* atomic */
    struct resmon_run *run;
    struct rm_arena memory;
    struct rm_intern names; /* of columns: each once */
    struct rm_arrow_column *columns;
    size_t count;
    const char *metadata;
};

/** Holds `run`; RESMON_ENOMEM.  `series` is one of RESMON_SERIES_*. */
resmon_status rm_arrow_table_new(const struct resmon_run *run, int32_t series,
                                 struct rm_arrow_table **ret_table);

/** One more holder, who gives it back with rm_arrow_table_free(). */
struct rm_arrow_table *rm_arrow_table_ref(struct rm_arrow_table *table);

/** Gives a reference back; the last one frees.  NULL is fine. */
void rm_arrow_table_free(struct rm_arrow_table *table);

#endif

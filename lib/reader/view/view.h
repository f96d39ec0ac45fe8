/* SPDX-License-Identifier: MIT */
/*
 * Owns reports about runs: the one list of their parts, with the forms that each part is in.
 * Called by api/report.c and api/merge.c; reports about groups of runs are in view/benchmarks.h.
 */
#ifndef RM_VIEW_VIEW_H
#define RM_VIEW_VIEW_H

#include "view/subject.h"

/** Appends the report.  RESMON_ERANGE: it is larger than the buffer may grow; RESMON_ENOMEM. */
resmon_status rm_view_write(struct rm_buffer *out, const struct rm_view_terms *terms);

/** Writes the report to `path` (expanded by the caller), atomically. */
resmon_status rm_view_save(const char *path, const struct rm_view_terms *terms);

/** Appends tables by line, of one function or (NULL) of the hot functions.  RESMON_ENOENT. */
resmon_status rm_view_lines(struct rm_buffer *out, const struct resmon_run *run,
                            const char *function, size_t width);

/* How rm_view_render() writes a page. */
struct rm_render {
    enum rm_form form;           /* FULL: text; HTML, MARKDOWN */
    size_t width;                /* 0: RESMON_REPORT_WIDTH */
    const char *meta;            /* the line below the title of HTML; "" */
    struct rm_subject *subjects; /* of charts, or none */
    size_t count;
};

/** Appends a page that is not a report of runs only, and frees it.  RESMON_ENOMEM. */
resmon_status rm_view_render(struct rm_buffer *out, struct rm_page *page,
                             const struct rm_render *render);

struct rm_table_terms {
    const char *table; /* rm_view_table_name() */
    const char *match; /* rows whose name contains it; "": all */
    enum rm_form form; /* FULL: text, DATA: JSON, HTML, MARKDOWN */
    size_t width;
};

#define RM_TABLE_CATALOGUE "catalogue" /* all metrics of the library; needs no run */

/** The names of the tables for rm_view_table(); NULL past the last. */
const char *rm_view_table_name(size_t index);

/** Appends one table with all of its rows; `run` NULL: the catalogue.  RESMON_ENOENT: there is no
 * such table. */
resmon_status rm_view_table(struct rm_buffer *out, const struct resmon_run *run,
                            const struct rm_table_terms *terms);

/** Appends a job in the format of seff, the tool of Slurm's contribs that many sites have; lines
 * without known values are left out.  (advice.c) */
void rm_seff_write(struct rm_buffer *buffer, const struct resmon_run *run);

#endif

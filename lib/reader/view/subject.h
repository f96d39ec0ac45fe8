/* SPDX-License-Identifier: MIT */
/*
 * Owns what a page knows of one run before it shows anything of it: its figures in front, and why
 * something was not measured.
 */
#ifndef RM_VIEW_SUBJECT_H
#define RM_VIEW_SUBJECT_H

#include "run/run.h"
#include "view/model.h"
#include "view/profile_sums.h"

#define RM_SUBJECT_QUIET 64

struct rm_subject {
    struct rm_page *page;
    const struct resmon_run *run;
    const struct rm_source_lines *sources; /* NULL: lines without their text */
    const char *label;                     /* that tells it from the other runs of the page */
    resmon_headline headline;
    bool has_energy;
    resmon_energy energy;
    struct rm_profile_sums *sums;         /* NULL: there are no stacks */
    struct rm_page_rows answers, remarks; /* view/answers.h */
    size_t most_points;                   /* of a line, about */
    size_t least_rows;                    /* between two of which power is told from joules */
    double cpus;                          /* of the machine; 0: not known */
    const char *quiet[RM_SUBJECT_QUIET];  /* charts of what was measured, and was nothing */
    size_t quiet_count;
};

/** Looks at a run; nothing is to be freed but the page. */
void rm_subject_open(struct rm_subject *subject, struct rm_page *page, const struct resmon_run *run,
                     const struct rm_source_lines *sources, size_t most_points);

/** The column of a metric without an instance that holds anything; NULL: there is none. */
const resmon_column *rm_subject_column(const struct rm_subject *subject, const char *metric);

/** The highest value of that, 0 where there is none. */
double rm_subject_highest(const struct rm_subject *subject, const char *metric);

/** The next column of a metric that holds anything, from *index on, which moves behind it. */
const resmon_column *rm_subject_next_instance(const struct rm_subject *subject, const char *metric,
                                              size_t *index);

/** Why none of these metrics holds anything. */
const char *rm_subject_why(const struct rm_subject *subject, const char *const *metrics,
                           size_t count);

/** Why nothing is known of its energy. */
const char *rm_subject_why_no_energy(const struct rm_subject *subject);

/** What its carbon intensity is of: "country", "world"; "" when that is not known. */
const char *rm_subject_basis(const struct rm_subject *subject);

/** Where figures came from; NULL: there is no such source. */
const resmon_run_source *rm_subject_source(const struct resmon_run *run, const char *name);

/** What a table calls a column: "node.fs.used[/home]". */
const char *rm_subject_column_name(struct rm_page *page, const resmon_column *column);

/** The host, or the job's name for the node. */
const char *rm_subject_host(const struct resmon_run *run);

/** "2026-11-22 01:47:03 UTC"; NULL: it cannot be told. */
const char *rm_subject_start(struct rm_page *page, const struct resmon_run *run);

/** "stopped", "killed by SIGTERM", "failed: ValueError: no such column". */
const char *rm_subject_outcome(struct rm_page *page, const struct resmon_run *run);

#define RM_SUBJECT_META 5

/** "host", "2026-11-22 01:47:03 UTC", "3 min 20 s", "stopped", and the label, if it has one; how
 * many. */
size_t rm_subject_meta(const struct rm_subject *subject, const char *texts[RM_SUBJECT_META]);

double rm_subject_seconds(const struct resmon_run *run);

/** How far its charts reach: the last row may lie behind the end. */
double rm_subject_reach(const struct resmon_run *run);

#endif

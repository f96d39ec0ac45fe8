/* SPDX-License-Identifier: MIT */
/*
 * Owns the data of one run that several builders need: its headline values, texts about it, and the
 * reasons why values are missing; and of several runs, labels that distinguish them.
 * Called by the builders and renderers.
 */
#ifndef RM_VIEW_SUBJECT_H
#define RM_VIEW_SUBJECT_H

#include "run/run.h"
#include "view/model.h"

struct rm_profile_sums; /* view/profile.h */
struct rm_source_lines;

#define RM_SUBJECT_QUIET 64

struct rm_subject {
    struct rm_page *page;
    const struct resmon_run *run;
    const struct rm_source_lines *sources; /* NULL: lines without their text */
    const char *label;                     /* distinguishes it from the other runs of the page */
    resmon_headline headline;
    bool has_energy;
    resmon_energy energy;
    struct rm_profile_sums *sums;         /* NULL: the run has no stacks */
    struct rm_page_rows answers, remarks; /* rm_answers_figures(), rm_answers_remarks() */
    size_t most_points;                   /* of a line in a chart, about */
    size_t least_rows;                    /* distance of rows for rm_points_add_power() */
    double cpus;                          /* of the machine; 0: not known */
    const char *quiet[RM_SUBJECT_QUIET];  /* titles of charts that are 0 throughout */
    size_t quiet_count;
    const struct rm_metric **plots; /* more metrics with a chart */
    size_t plot_count;
};

/** Initializes a subject; freeing the page frees it. */
void rm_subject_open(struct rm_subject *subject, struct rm_page *page, const struct resmon_run *run,
                     const struct rm_source_lines *sources, size_t most_points);

/* ---- values and reasons ---------------------------------------------------------------------- */

/** The column of a metric without an instance, if it has values; else NULL. */
const resmon_column *rm_subject_column(const struct rm_subject *subject, const char *metric);

/** The maximum of that column, 0 without one. */
double rm_subject_highest(const struct rm_subject *subject, const char *metric);

/** The next column of a metric that has values, from *index on; *index moves behind it.  In a
 * merged run, not those of single nodes. */
const resmon_column *rm_subject_next_instance(const struct rm_subject *subject, const char *metric,
                                              size_t *index);

/** Why none of these metrics has values. */
const char *rm_subject_why(const struct rm_subject *subject, const char *const *metrics,
                           size_t count);

/** Why the energy is not known. */
const char *rm_subject_why_no_energy(const struct rm_subject *subject);

/** The basis of the carbon intensity: "country", "world"; "" if it is not known. */
const char *rm_subject_basis(const struct rm_subject *subject);

/** A source of the run by its name; NULL: there is none. */
const resmon_run_source *rm_subject_source(const struct resmon_run *run, const char *name);

/* ---- texts about a run ----------------------------------------------------------------------- */

/** The title of a column in tables: "node.fs.used[/home]". */
const char *rm_subject_column_name(struct rm_page *page, const resmon_column *column);

/** The host name, or the job's name of the node. */
const char *rm_subject_host(const struct resmon_run *run);

/** "2026-11-22 01:47:03 UTC"; NULL: it is not known. */
const char *rm_subject_start(struct rm_page *page, const struct resmon_run *run);

/** "stopped", "killed by SIGTERM", "failed: ValueError: no such column". */
const char *rm_subject_outcome(struct rm_page *page, const struct resmon_run *run);

/** The end in words, for the middle of a sentence: "failed", "killed by SIGKILL (out of memory)",
 * else the run's state. */
void rm_subject_end(const struct resmon_run *run, char text[64]);

/** "team=a, lr=0.1": the labels that users gave the run; "": none. */
const char *rm_subject_labels(struct rm_page *page, const struct resmon_run *run);

#define RM_SUBJECT_META 6

/** Sets "host", "2026-11-22 01:47:03 UTC", "3 min 20 s", "stopped", the label and
 * "team=a, lr=0.1", if there are any.
 * Returns the number of texts. */
size_t rm_subject_meta(const struct rm_subject *subject, const char *texts[RM_SUBJECT_META]);

double rm_subject_seconds(const struct resmon_run *run);

/** The length of the time axis of its charts: the last row may be later than the end. */
double rm_subject_reach(const struct resmon_run *run);

/* ---- several runs ---------------------------------------------------------------------------- */

/** Sets the label of each run. */
void rm_names_label(struct rm_subject *subjects, size_t count);

/** Seconds from the start of the first run to the start of each; NULL if the runs do not overlap in
 * time. */
const double *rm_names_offsets(struct rm_page *page, const struct rm_subject *subjects,
                               size_t count);

/** Whether the runs are parts of one job, and not runs to compare. */
bool rm_names_are_of_a_job(struct rm_page *page, const struct rm_subject *subjects, size_t count);

/** "node", "process" (several on a host) or "run"; rm_names_words(): "nodes", "processes", "runs".
 */
const char *rm_names_word(struct rm_page *page, const struct rm_subject *subjects, size_t count);
const char *rm_names_words(struct rm_page *page, const struct rm_subject *subjects, size_t count);

/** "4 nodes of train.py; from 2026-11-22 01:47:03 UTC; the longest took 3 min 20 s". */
const char *rm_names_meta(struct rm_page *page, const struct rm_subject *subjects, size_t count);

/** The default title of the page: "train.py on 4 nodes". */
const char *rm_names_title(struct rm_page *page, const struct rm_subject *subjects, size_t count);

/** Sorts texts and removes duplicates.  Returns the number that is left. */
size_t rm_distinct_texts(const char **texts, size_t count);

/* ---- a report of one or several runs --------------------------------------------------------- */

/* Forms of a report, as bits: each part is in some of them. */
enum rm_form {
    RM_FORM_BRIEF = 1, /* text */
    RM_FORM_FULL = 2,
    RM_FORM_HTML = 4,
    RM_FORM_MARKDOWN = 8,
    RM_FORM_DATA = 16,
};

struct rm_view_terms {
    const struct resmon_run *const *runs;
    size_t count;
    const char *title; /* NULL: the programs and hosts */
    enum rm_form form;
    uint64_t parts;    /* of data: RESMON_PAGE_*; 0: all */
    const char *plots; /* more metrics with a chart, with commas; NULL: none */
    size_t width;      /* of text, in columns */
};

/* A report while it is built. */
struct rm_report {
    struct rm_page *page;
    const struct rm_view_terms *terms;
    struct rm_subject *subjects;
    size_t count;
};

/** Whether data contain a part (RESMON_PAGE_*); other forms contain all parts. */
static inline bool rm_report_wants(const struct rm_report *view, uint64_t part)
{
    const struct rm_view_terms *terms = view->terms;
    return terms->form != RM_FORM_DATA || terms->parts == 0 || (terms->parts & part) != 0;
}

#endif

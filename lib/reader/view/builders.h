/* SPDX-License-Identifier: MIT */
/*
 * Owns the builders' entry points: each function fills blocks of the page model (view/model.h) from
 * a run.  view/view.c calls them in the order of the report.
 *
 * Texts and tables live in the page's arena.  Functions that return a table return NULL if the run
 * has no data for it, or if there is no memory.  `most` is the bound of the rows; 0 is the bound
 * for reports to people, which show the most important rows.
 */
#ifndef RM_VIEW_BUILDERS_H
#define RM_VIEW_BUILDERS_H

#include "view/columns.h"
#include "view/subject.h"

/** A table of a run.  `detail` chooses the columns of tables in view/tables.def. */
typedef struct rm_page_table *rm_table_builder(const struct rm_subject *subject,
                                               enum rm_column_detail detail, size_t most);

/* ---- headline.c, answers.c: the run in short ----------------------------------------------- */

/** "gzip took 1.746 s, 1.095 s of CPU time, 4.39 MiB of memory, 4.91 J". */
const char *rm_headline_statement(const struct rm_subject *subject);

/** How the run failed, and what is missing of its recording; nothing for most runs. */
void rm_headline_failure(const struct rm_subject *subject, struct rm_page_list *list);

/** The command line, the machine and the label. */
void rm_headline_identity(const struct rm_subject *subject, struct rm_page_list *list);

/** Headline values as tiles, with details in small print, or the reason why one is missing. */
const struct rm_page_tiles *rm_headline_tiles(const struct rm_subject *subject);

/** The answers and remarks that the tiles do not show. */
const struct rm_page_rows *rm_headline_answers(const struct rm_subject *subject);

/** Tiles of several runs: sums if they are parts of one job, else the range of the values. */
const struct rm_page_tiles *rm_headline_tiles_of_all(const struct rm_subject *subjects,
                                                     size_t count, bool is_job);

/** A row for each run, and for parts of a job a row of sums. */
struct rm_page_table *rm_headline_table(const struct rm_subject *subjects, size_t count,
                                        bool is_job);

/** Times, memory, I/O, energy, GPUs, the slowest scope and hot functions; for a job its nodes and
 * ranks. */
void rm_answers_figures(const struct rm_subject *subject, struct rm_page_rows *rows);

/** Remarks on these: advice, disturbances, missing data, overhead; and with `has_more` how to get
 * the full report. */
void rm_answers_remarks(const struct rm_subject *subject, struct rm_page_rows *rows, bool has_more);

/** Adds advice on a job by the rules of advice.def; none for short jobs, and for runs without
 * nodes. */
void rm_advice_say(struct rm_page *page, const struct resmon_run *run, struct rm_page_list *advice);

/* ---- job.c: nodes and ranks of a merged run -------------------------------------------------- */

/** The answers about nodes and ranks; none for a run that is not merged. */
void rm_job_answers(const struct rm_subject *subject, struct rm_page_rows *rows);

/** A row for each node. */
rm_table_builder rm_job_nodes;

/** A row for each rank; failed ranks come first where not all fit. */
rm_table_builder rm_job_ranks;

/** A row for each scope that several ranks entered, sorted by lost time. */
rm_table_builder rm_job_scopes;

/* ---- scopes.c, scopes_of_runs.c -------------------------------------------------------------- */

/** Sets the name of a scope, with its marks: "||" parallel to its parent, "*" open at the end of
 * the run, "!" with an error. */
void rm_scopes_set_name(struct rm_page *page, struct rm_page_cell *cell,
                        const resmon_run_scope *scope);

/** The tree of scopes; of more than `most`, the ones with the longest wall time. */
rm_table_builder rm_scopes_table;

/** A row for each name: the sums of all scopes of that name. */
rm_table_builder rm_scopes_table_by_name;

/** The scopes of several runs side by side; NULL unless at least two runs have scopes. */
struct rm_page_table *rm_scopes_table_of_all(const struct rm_subject *subjects, size_t count);

/** Performance counters of each scope, and the counters that could not be read. */
rm_table_builder rm_counters_table;

/* ---- processes.c ----------------------------------------------------------------------------- */

/** The tree of processes; of many processes, sums by program name.  With `most`, a row for each, in
 * the order of their start times.  NULL for a run in which no processes were observed from outside.
 */
rm_table_builder rm_processes_table;

/* ---- metrics.c: metrics and energy ----------------------------------------------------------- */

/** Mean, p95, maximum and total of the metrics of the view SUMMARY (metric/views.def). */
struct rm_page_table *rm_metrics_table(const struct rm_subject *subject);

/** Every metric that has values, by its name. */
rm_table_builder rm_metrics_all;

/** All metrics of the library; needs no run. */
rm_table_builder rm_metrics_catalogue;

#define RM_NODE_TABLES 2

/** The 18 node values of each run: few runs as columns of one table, more as rows of two tables.
 * Returns the number of tables. */
size_t rm_metrics_of_nodes(const struct rm_subject *subjects, size_t count,
                           struct rm_page_table *tables[RM_NODE_TABLES]);

/** The memory limit of the cgroup and its use, if it matters: for a run that was killed, came near
 * the limit, or was throttled by it.  NULL otherwise. */
const char *rm_memory_limit_text(struct rm_page *page, const struct resmon_run *run);

/** Whether a source's remark is about the memory limit, and not about missing data. */
bool rm_metrics_are_of_limit(const struct resmon_run *run, const resmon_run_source *source);

/** Joules by component, and without `most` also their sum, electricity and CO2eq. */
rm_table_builder rm_energy_table;

/* ---- facts.c --------------------------------------------------------------------------------- */

#define RM_FACT_TABLES 4

/** The tags that the program set. */
rm_table_builder rm_tags_table;

/** The sources of the metrics. */
rm_table_builder rm_sources_table;

/** All facts, unchanged. */
rm_table_builder rm_facts_all;

/** The overhead of the monitor, and what was dropped. */
struct rm_page_table *rm_cost_table(const struct rm_subject *subject);

/** Facts of the run, the job, the machine and the settings, formatted for people.  Returns the
 * number of tables. */
size_t rm_facts_tables(const struct rm_subject *subject,
                       struct rm_page_table *tables[RM_FACT_TABLES]);

/** The sources without values on a machine that could have them, and remarks on other sources. */
struct rm_page_table *rm_missing_table(const struct rm_subject *subject);

/** Adds a sentence for each missing source that the options requested. */
void rm_missing_say(struct rm_page *page, const struct resmon_run *run, struct rm_page_list *list);

/* ---- profile.c: stacks and checkpoints ------------------------------------------------------- */

/** The title of a kind of stacks: "CPU time". */
const char *rm_profile_kind_title(size_t kind);

/** Self and inclusive amounts of the hot functions. */
struct rm_page_table *rm_profile_functions(const struct rm_subject *subject, int kind);

/** The number of samples of each kind, the amount that they explain, and lost samples. */
struct rm_page_table *rm_profile_stacks(const struct rm_subject *subject);

/** The stacks of all threads when memory was high. */
struct rm_page_table *rm_profile_peak(const struct rm_subject *subject);

/** Adds tables by line: of checkpoints, and of the samples of a kind. */
void rm_profile_add_checkpoints(const struct rm_subject *subject);
void rm_profile_add_lines(const struct rm_subject *subject, int kind);

/** Adds the tables by line of one function, or (NULL) of the hot functions.  RESMON_ENOENT. */
resmon_status rm_profile_add_wanted(const struct rm_subject *subject, const char *function);

#endif

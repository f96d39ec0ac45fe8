/* SPDX-License-Identifier: MIT */
#include "page/html.h"

#include <string.h>

#include "page/counters.h"
#include "page/heat.h"
#include "page/html_charts.h"
#include "page/html_file.h"
#include "page/html_flame.h"
#include "page/html_parts.h"
#include "page/job.h"
#include "page/names.h"
#include "page/scopes.h"
#include "page/tables.h"

#define MOST_BYTES  ((size_t)256 << 20)
#define FOLDED_FROM 5     /* runs */
#define ROWS        12800 /* points of lines of all runs; of one at most */
#define MOST_ROWS   800   /* of them, and at least */
#define LEAST_ROWS  60
#define BOXES       16000 /* the same, of flame graphs */
#define MOST_BOXES  4000
#define LEAST_BOXES 200
#define DOT         " <span aria-hidden=true>\xc2\xb7</span> "

/* A page that is being written. */
struct writing {
    struct rm_page *page;
    struct rm_buffer *out;
    struct rm_html_charts charts;
    struct rm_subject *subjects;
    size_t count;
};

static void put(struct writing *writing, const char *text)
{
    rm_buffer_puts(writing->out, text);
}

static void put_table(struct writing *writing, const struct rm_page_table *table)
{
    rm_html_table(writing->out, table, "h3");
}

static void put_text(struct writing *writing, const char *opening, const char *text,
                     const char *closing)
{
    put(writing, opening);
    rm_html_text(writing->out, text);
    put(writing, closing);
}

/* The part of `all` that each run has. */
static size_t part_of(size_t all, size_t count, size_t least, size_t most)
{
    size_t part = all / count;
    return part < least ? least : part < most ? part : most;
}

/* ---- one run ---------------------------------------------------------------------------- */

/* "host · 2026-11-22 01:47:03 UTC · 3 min 20 s · stopped". */
static void put_meta(struct writing *writing, const struct rm_subject *subject)
{
    struct rm_page *page = writing->page;
    const struct resmon_run *run = subject->run;
    const char *start = rm_subject_start(page, run), *outcome = rm_subject_outcome(page, run);
    const char *state = strcmp(outcome, run->info.state) == 0 ? run->info.state : "interrupted";
    const char *job = rm_run_fact_text(run, "job", "id");
    put_text(writing, "<p class=meta><bdi>", rm_page_shown(page, rm_subject_host(run)),
             "</bdi>" DOT);
    if (job[0] != '\0') {
        put_text(writing, "job ", rm_page_shown(page, job), DOT);
    }
    put_text(writing, "", start != NULL ? start : RM_PAGE_UNKNOWN, DOT);
    put_text(writing, "", rm_page_value(page, rm_subject_seconds(run), "s"),
             DOT "<span class=\"state ");
    put_text(writing, "", state, "\"><bdi>");
    put_text(writing, "", rm_page_shown(page, outcome), "</bdi></span>");
    if (run->info.label[0] != '\0') {
        put_text(writing, DOT "<bdi>", rm_page_shown(page, run->info.label), "</bdi>");
    }
    put(writing, "</p>");
}

static void put_head(struct writing *writing, const struct rm_subject *subject)
{
    const struct rm_page_tiles tiles = rm_headline_tiles(subject);
    const struct rm_page_answers answers = rm_headline_answers(subject);
    put_meta(writing, subject);
    rm_html_tiles(writing->out, &tiles);
    rm_html_answers(writing->out, &answers);
}

static void put_quiet(struct writing *writing, const struct rm_subject *subject)
{
    if (subject->quiet_count > 0) {
        put_text(writing, "<p class=note>Always zero: ",
                 rm_page_join(writing->page, ", ", subject->quiet, subject->quiet_count), ".</p>");
    }
}

/* Functions and a flame graph for each kind, lines, the peak. */
static void put_stacks(struct writing *writing, const struct rm_subject *subject, size_t boxes)
{
    struct rm_line_text *texts = rm_page_alloc(writing->page, RM_LINE_TEXTS, sizeof *texts);
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        const struct rm_page_table *functions = rm_profile_functions(subject, kind);
        if (functions != NULL) {
            const struct rm_boxes found = rm_flame_boxes(subject, kind, boxes);
            put_table(writing, functions);
            rm_html_flame(writing->out, writing->page, &found, kind);
        }
    }
    size_t count = texts != NULL ? rm_profile_lines(subject, texts) : 0;
    for (size_t i = 0; i < count; i++) {
        rm_html_lines(writing->out, &texts[i]);
    }
    put_table(writing, rm_profile_peak(subject));
    put_table(writing, rm_profile_untaken(subject));
}

static void put_facts(struct writing *writing, const struct rm_subject *subject)
{
    struct rm_page_table *tables[RM_FACT_TABLES];
    size_t count = rm_tables_of_facts(subject, tables);
    put(writing, "<div class=facts><section>");
    put_table(writing, rm_table_of_cost(subject));
    for (size_t i = 0; i < count; i++) {
        put(writing, "</section><section>");
        put_table(writing, tables[i]);
    }
    put(writing, "</section></div>");
}

static void put_nodes_folded(struct writing *writing, const struct rm_subject *subject)
{
    struct rm_page_table *tables[RM_NODE_TABLES];
    size_t count = rm_tables_of_nodes(subject, 1, tables);
    for (size_t i = 0; i < count; i++) {
        put(writing, "<details><summary>Node values</summary>");
        rm_html_table(writing->out, tables[i], NULL);
        put(writing, "</details>");
    }
}

static void put_body(struct writing *writing, struct rm_subject *subject, size_t number)
{
    size_t boxes = part_of(BOXES, writing->count, LEAST_BOXES, MOST_BOXES);
    put_table(writing, rm_job_nodes(subject));
    rm_heat_put(writing->out, subject);
    put_table(writing, rm_job_scopes(subject));
    put_table(writing, rm_job_ranks(subject));
    put_table(writing, rm_scopes_table(subject));
    rm_html_charts_put(&writing->charts, number);
    put_quiet(writing, subject);
    put_table(writing, rm_scopes_table_by_name(subject));
    put_table(writing, rm_counters_table_of_scopes(subject));
    put_stacks(writing, subject, boxes);
    put_table(writing, rm_counters_table(subject));
    put_table(writing, rm_table_of_energy(subject));
    put_table(writing, rm_table_of_tags(subject));
    if (writing->count == 1) {
        put_nodes_folded(writing, subject);
    }
    const struct rm_page_table *missing = rm_table_of_missing(subject);
    put_table(writing, missing);
    if (missing == NULL) {
        put(writing, "<h3>What was not measured, and why</h3><p class=note>Everything that was "
                     "requested was measured, or this file has no reasons.</p>");
    }
    put_facts(writing, subject);
}

/* ---- several runs ----------------------------------------------------------------------- */

static void put_alignment(struct writing *writing, const double *offsets)
{
    bool are_apart = false;
    for (size_t i = 0; offsets != NULL && i < writing->count; i++) {
        are_apart |= offsets[i] > 0.0;
    }
    if (are_apart) {
        put(writing,
            "<div class=align role=group aria-label=\"Time of the charts\"><button type=button "
            "aria-pressed=false data-align=start>from the start of each</button><button "
            "type=button "
            "aria-pressed=true data-align=clock>by the clock</button></div>");
    }
}

static void put_all_together(struct writing *writing)
{
    struct rm_page *page = writing->page;
    struct rm_page_table *nodes[RM_NODE_TABLES];
    bool is_job = rm_names_are_of_a_job(page, writing->subjects, writing->count);
    const double *offsets = rm_names_offsets(page, writing->subjects, writing->count);
    const struct rm_page_tiles tiles =
        rm_headline_tiles_of_all(writing->subjects, writing->count, is_job);
    rm_html_tiles(writing->out, &tiles);
    put(writing, "<div class=bar><h2>All together</h2>");
    put_alignment(writing, offsets);
    put(writing, "</div>");
    put_table(writing, rm_headline_table(writing->subjects, writing->count, is_job));
    put_table(writing, rm_scopes_table_of_all(writing->subjects, writing->count));
    rm_html_charts_put_all(&writing->charts, offsets);
    size_t count = rm_tables_of_nodes(writing->subjects, writing->count, nodes);
    for (size_t i = 0; i < count; i++) {
        rm_html_table(writing->out, nodes[i], "h2");
    }
}

static void put_section(struct writing *writing, size_t number)
{
    struct rm_subject *subject = &writing->subjects[number];
    rm_buffer_printf(writing->out, "<details class=run id=run%zu%s><summary><h2><bdi>", number,
                     writing->count >= FOLDED_FROM ? "" : " open");
    put_text(writing, "", subject->label, "</bdi></h2></summary>");
    put_head(writing, subject);
    put_body(writing, subject, number);
    put(writing, "</details>");
}

/* ---- the file --------------------------------------------------------------------------- */

static void put_page(struct writing *writing, const struct rm_html_file *file)
{
    rm_html_file_begin(file);
    if (writing->count == 1) {
        put_head(writing, &writing->subjects[0]);
        rm_html_file_main(file);
        put_body(writing, &writing->subjects[0], 0);
        return;
    }
    put_text(writing, "<p class=meta>",
             rm_names_meta(writing->page, writing->subjects, writing->count), "</p>");
    rm_html_file_main(file);
    put_all_together(writing);
    put(writing, "<h2>One by one</h2>");
    for (size_t i = 0; i < writing->count; i++) {
        put_section(writing, i);
    }
}

static void put_set(struct rm_buffer *out, struct rm_page_set *set)
{
    const struct rm_html_file file = {out, set->title, true};
    struct writing writing = {
        .page = set->page, .out = out, .subjects = set->subjects, .count = set->count};
    struct rm_buffer numbers;
    rm_buffer_init(&numbers, MOST_BYTES);
    rm_html_charts_open(&writing.charts, out, set->page, set->subjects, set->count);
    put_page(&writing, &file);
    rm_html_charts_write(&writing.charts, &numbers);
    rm_html_file_end(&file, numbers.text != NULL ? numbers.text : "");
    set->page->is_broken |= numbers.status != RESMON_OK;
    rm_html_charts_close(&writing.charts);
    rm_buffer_free(&numbers);
}

resmon_status rm_html_page(struct rm_buffer *out, const struct rm_page_terms *terms)
{
    return rm_page_set_write(out, terms, part_of(ROWS, terms->count, LEAST_ROWS, MOST_ROWS),
                             put_set);
}

/* SPDX-License-Identifier: MIT */
#include "view/view.h"

#include <string.h>

#include <resmon/report.h>

#include "base/compiler.h"
#include "base/option_text.h"
#include "base/status.h"
#include "base/text.h"
#include "metric/metric.h"
#include "os/outfile.h"
#include "view/builders.h"
#include "view/plots.h"
#include "view/profile.h"
#include "view/renderers.h"

#define MOST_BYTES  ((size_t)256 << 20)
#define FOLDED_FROM 5     /* runs: then each is collapsed */
#define ROWS        12800 /* points of a line, summed over the runs; */
#define MOST_ROWS   800   /* of one run, at most */
#define LEAST_ROWS  60    /* and at least */
#define DATA_ROWS   600   /* of one run in data */
#define BOXES       16000 /* of flame graphs, likewise */
#define MOST_BOXES  4000
#define LEAST_BOXES 200
#define EVERYTHING  ((size_t)SIZE_MAX >> 8)

/* The share of each run of `all`. */
static size_t part_of(size_t all, size_t count, size_t least, size_t most)
{
    size_t part = all / count;
    return part < least ? least : part < most ? part : most;
}

/* ---- parts of a run --------------------------------------------------------------------- */

static enum rm_column_detail detail_of(const struct rm_report *view)
{
    return view->terms->form == RM_FORM_BRIEF ? RM_COLUMN_BRIEF : RM_COLUMN_FULL;
}

/* Tables of the brief report have no titles: the first column has one. */
static void add_table(const struct rm_report *view, struct rm_page_table *table)
{
    if (table != NULL && view->terms->form == RM_FORM_BRIEF) {
        table->title = "";
    }
    (void)rm_page_add_table(view->page, table);
}

static void add_statement(struct rm_report *view, struct rm_subject *subject)
{
    (void)rm_page_add(view->page, RM_BLOCK_LINE, rm_headline_statement(subject), NULL);
    rm_headline_failure(subject, rm_page_add_list(view->page, ""));
}

static void add_identity(struct rm_report *view, struct rm_subject *subject)
{
    rm_headline_identity(subject, rm_page_add_list(view->page, ""));
}

static void add_tiles(struct rm_report *view, struct rm_subject *subject)
{
    if (rm_report_wants(view, RESMON_PAGE_FIGURES)) {
        (void)rm_page_add(view->page, RM_BLOCK_TILES, "", rm_headline_tiles(subject));
        (void)rm_page_add(view->page, RM_BLOCK_ROWS, "", rm_headline_answers(subject));
    }
}

static void add_answers(struct rm_report *view, struct rm_subject *subject)
{
    (void)rm_page_add(view->page, RM_BLOCK_ROWS, "", &subject->answers);
}

static void add_remarks(struct rm_report *view, struct rm_subject *subject)
{
    (void)rm_page_add(view->page, RM_BLOCK_ROWS, "", &subject->remarks);
}

static void add_heat(struct rm_report *view, struct rm_subject *subject)
{
    if (subject->run->node_count > 0) {
        (void)rm_page_add_drawing(view->page, rm_heat_draw, subject);
    }
}

static void add_charts(struct rm_report *view, struct rm_subject *subject)
{
    if (rm_report_wants(view, RESMON_PAGE_CHARTS)) {
        (void)rm_page_add(view->page, RM_BLOCK_CHARTS, "", subject);
    }
}

static void add_names(struct rm_report *view, struct rm_subject *subject)
{
    if (subject->run->name_count < subject->run->scope_count) {
        add_table(view, rm_scopes_table_by_name(subject, RM_COLUMN_FULL, 0));
    }
}

static void add_flame(struct rm_report *view, struct rm_subject *subject, int kind)
{
    size_t boxes = part_of(BOXES, view->count, LEAST_BOXES, MOST_BOXES);
    const struct rm_flame *flame = rm_flame_of(subject, (size_t)kind, boxes);
    if (flame != NULL) {
        (void)rm_page_add_drawing(view->page, rm_flame_draw, flame);
    }
}

/* Functions, a flame graph and lines of each kind. */
static void add_functions(struct rm_report *view, struct rm_subject *subject)
{
    bool has_flames = view->terms->form == RM_FORM_HTML;
    bool has_lines = (view->terms->form & (RM_FORM_HTML | RM_FORM_FULL)) != 0;
    for (int kind = 0; kind < RM_STACK_KINDS; kind++) {
        struct rm_page_table *table =
            subject->sums != NULL && rm_profile_kind_is_shown(subject->sums, kind)
                ? rm_profile_functions(subject, kind)
                : NULL;
        add_table(view, table);
        if (table != NULL && has_flames) {
            add_flame(view, subject, kind);
        }
        if (table != NULL && has_lines && kind != RESMON_STACK_FILE) {
            rm_profile_add_lines(subject, kind);
        }
    }
}

static void add_checkpoints(struct rm_report *view, struct rm_subject *subject)
{
    (void)view;
    rm_profile_add_checkpoints(subject);
}

static void add_stacks(struct rm_report *view, struct rm_subject *subject)
{
    add_table(view, rm_profile_peak(subject));
    add_table(view, rm_profile_stacks(subject));
}

static void add_folded(struct rm_report *view, const struct rm_page_table *table)
{
    struct rm_page_block *block = rm_page_add_table(view->page, table);
    if (block != NULL) {
        block->is_folded = true;
    }
}

static void add_metrics(struct rm_report *view, struct rm_subject *subject)
{
    const char *limit = rm_memory_limit_text(view->page, subject->run);
    add_folded(view, rm_metrics_table(subject));
    if (limit != NULL) {
        (void)rm_page_add(view->page, RM_BLOCK_NOTE,
                          rm_page_print(view->page, "memory limit of the cgroup: %s", limit), NULL);
    }
}

/* The values of several runs are in one table of all (add_all()); data have both. */
static void add_node_values(struct rm_report *view, struct rm_subject *subject)
{
    struct rm_page_table *tables[RM_NODE_TABLES];
    bool is_shown = (view->count == 1 || view->terms->form == RM_FORM_DATA) &&
                    (subject->run->column_count > 0 || view->terms->form != RM_FORM_FULL);
    size_t count = is_shown ? rm_metrics_of_nodes(subject, 1, tables) : 0;
    for (size_t i = 0; i < count; i++) {
        add_folded(view, tables[i]);
    }
}

static void add_missing(struct rm_report *view, struct rm_subject *subject)
{
    struct rm_page_table *table = rm_missing_table(subject);
    add_table(view, table);
    if (table == NULL && view->terms->form == RM_FORM_HTML) {
        rm_page_add(view->page, RM_BLOCK_TITLE, "What was not measured, and why", NULL)->note =
            "Everything that was requested was measured, or this file has no reasons.";
    }
}

/* HTML places facts side by side. */
static void add_fact(struct rm_report *view, const struct rm_page_table *table)
{
    struct rm_page_block *block = rm_page_add_table(view->page, table);
    if (block != NULL) {
        block->note = "fact";
    }
}

static void add_cost(struct rm_report *view, struct rm_subject *subject)
{
    add_fact(view, rm_cost_table(subject));
}

static void add_facts(struct rm_report *view, struct rm_subject *subject)
{
    struct rm_page_table *tables[RM_FACT_TABLES];
    size_t count = rm_facts_tables(subject, tables);
    for (size_t i = 0; i < count; i++) {
        add_fact(view, tables[i]);
    }
}

enum {
    BRIEF = RM_FORM_BRIEF,
    FULL = RM_FORM_FULL,
    HTML = RM_FORM_HTML,
    MARKDOWN = RM_FORM_MARKDOWN,
    DATA = RM_FORM_DATA,
    TEXT = BRIEF | FULL,
    PAGE = HTML | MARKDOWN | DATA,
    ALL = TEXT | PAGE,
};

/* The parts of a run, from top to bottom. */
static const struct part {
    unsigned forms;
    void (*add)(struct rm_report *view, struct rm_subject *subject);
    rm_table_builder *build; /* if `add` is NULL: a table */
} parts[] = {
    {TEXT, add_statement, NULL},
    {FULL, add_identity, NULL},
    {PAGE, add_tiles, NULL},
    {TEXT, add_answers, NULL},
    {ALL, NULL, rm_job_nodes},
    {HTML, add_heat, NULL},
    {ALL, NULL, rm_job_scopes},
    {FULL | HTML | DATA, NULL, rm_job_ranks},
    {ALL, NULL, rm_scopes_table},
    {HTML | DATA, add_charts, NULL},
    {FULL | HTML | DATA, add_names, NULL},
    {ALL, NULL, rm_processes_table},
    {FULL | PAGE, NULL, rm_counters_table},
    {FULL | HTML, add_checkpoints, NULL},
    {FULL | PAGE, add_functions, NULL},
    {FULL | HTML | DATA, add_stacks, NULL},
    {FULL | HTML | DATA, add_metrics, NULL},
    {FULL | HTML | DATA, add_node_values, NULL},
    {FULL | PAGE, NULL, rm_energy_table},
    {FULL | HTML | DATA, NULL, rm_tags_table},
    {FULL | PAGE, add_missing, NULL},
    {TEXT, add_remarks, NULL},
    {FULL | HTML | DATA, add_cost, NULL},
    {HTML | DATA, add_facts, NULL},
};

static void add_part(struct rm_report *view, struct rm_subject *subject, const struct part *part)
{
    if (part->add != NULL) {
        part->add(view, subject);
    } else {
        add_table(view, part->build(subject, detail_of(view), 0));
    }
}

static void add_run(struct rm_report *view, size_t number)
{
    struct rm_subject *subject = &view->subjects[number];
    struct rm_page_block *block =
        rm_page_add(view->page, RM_BLOCK_RUN, view->count > 1 ? subject->label : "", subject);
    const char *meta[RM_SUBJECT_META];
    size_t texts = rm_subject_meta(subject, meta);
    block->number = number;
    block->note = rm_page_join(view->page, " \xc2\xb7 ", meta, texts);
    block->is_folded = view->count >= FOLDED_FROM;
    for (size_t i = 0; i < RM_ARRAY_LEN(parts) && !view->page->is_broken; i++) {
        bool is_table = parts[i].add != add_tiles && parts[i].add != add_charts;
        if ((parts[i].forms & view->terms->form) != 0 &&
            (!is_table || rm_report_wants(view, RESMON_PAGE_TABLES))) {
            add_part(view, subject, &parts[i]);
        }
    }
}

/* ---- several runs ----------------------------------------------------------------------- */

static void add_all(struct rm_report *view)
{
    struct rm_page *page = view->page;
    struct rm_page_table *nodes[RM_NODE_TABLES];
    bool is_job = rm_names_are_of_a_job(page, view->subjects, view->count);
    rm_page_add(page, RM_BLOCK_ALL, "All together", view)->note =
        rm_names_meta(page, view->subjects, view->count);
    if (rm_report_wants(view, RESMON_PAGE_FIGURES)) {
        (void)rm_page_add(page, RM_BLOCK_TILES, "",
                          rm_headline_tiles_of_all(view->subjects, view->count, is_job));
    }
    if (rm_report_wants(view, RESMON_PAGE_TABLES)) {
        add_table(view, rm_headline_table(view->subjects, view->count, is_job));
        add_table(view, rm_scopes_table_of_all(view->subjects, view->count));
    }
    if (rm_report_wants(view, RESMON_PAGE_CHARTS) && view->terms->form != RM_FORM_MARKDOWN) {
        (void)rm_page_add(page, RM_BLOCK_CHARTS, "", NULL);
    }
    size_t count =
        rm_report_wants(view, RESMON_PAGE_TABLES) && view->terms->form != RM_FORM_MARKDOWN
            ? rm_metrics_of_nodes(view->subjects, view->count, nodes)
            : 0;
    for (size_t i = 0; i < count; i++) {
        add_table(view, nodes[i]);
    }
}

/* ---- opening and writing ---------------------------------------------------------------- */

static void sum_stacks(struct rm_subject *subject)
{
    if (!rm_profile_is_there(&subject->run->profile)) {
        return;
    }
    subject->sums = rm_page_alloc(subject->page, 1, sizeof *subject->sums);
    if (subject->sums != NULL &&
        rm_profile_sum(subject->run, subject->sources, subject->sums) != RESMON_OK) {
        subject->page->is_broken = true;
    }
}

/* A metric that a run has, by its name in a list. */
static resmon_status find_plot(const struct rm_report *view, const char *name,
                               const struct rm_metric **ret_metric)
{
    struct rm_nearest nearest = rm_nearest_new(name, strlen(name));
    *ret_metric = rm_metric_by_name(name);
    for (size_t i = 0; i < view->count; i++) {
        const struct resmon_run *run = view->subjects[i].run;
        if (*ret_metric != NULL && rm_run_find_column(run, name, NULL) >= 0) {
            return RESMON_OK;
        }
        for (size_t c = 0; c < run->column_count; c++) {
            rm_nearest_try(&nearest, run->columns[c].metric);
        }
    }
    return rm_error(RESMON_ENOENT, "the run has no metric '%.64s'%s%s%s", name,
                    nearest.name != NULL ? "; did you mean " : "",
                    nearest.name != NULL ? nearest.name : "",
                    nearest.name != NULL ? "? `resmon show FILE metrics` lists all" : "");
}

/* Gives all subjects the metrics of the list `plots`. */
static resmon_status find_plots(struct rm_report *view)
{
    const char *list = view->terms->plots;
    size_t room = 1, count = 0;
    for (const char *at = list; at != NULL && (at = strchr(at, ',')) != NULL; at++) {
        room++;
    }
    const struct rm_metric **plots =
        rm_page_alloc(view->page, room, sizeof(const struct rm_metric *));
    while (list != NULL && plots != NULL) {
        size_t length = strcspn(list, ",");
        const char *name =
            rm_page_print(view->page, "%.*s", (int)(length < 256 ? length : 256), list);
        resmon_status status = find_plot(view, name, &plots[count++]);
        if (status != RESMON_OK) {
            return status;
        }
        list = list[length] == ',' ? list + length + 1 : NULL;
    }
    for (size_t i = 0; i < view->count && plots != NULL; i++) {
        view->subjects[i].plots = plots;
        view->subjects[i].plot_count = count;
    }
    return RESMON_OK;
}

static void open_subjects(struct rm_report *view, const struct rm_source_lines *sources)
{
    const struct rm_view_terms *terms = view->terms;
    size_t points = terms->form == RM_FORM_DATA
                        ? DATA_ROWS
                        : part_of(ROWS, terms->count, LEAST_ROWS, MOST_ROWS);
    view->subjects = rm_page_alloc(view->page, terms->count, sizeof *view->subjects);
    for (size_t i = 0; view->subjects != NULL && i < terms->count; i++) {
        struct rm_subject *subject = &view->subjects[i];
        rm_subject_open(subject, view->page, terms->runs[i], sources, points);
        sum_stacks(subject);
        view->count++;
        rm_answers_figures(subject, &subject->answers);
        rm_answers_remarks(subject, &subject->remarks, terms->form == RM_FORM_BRIEF);
    }
    if (view->count > 0) {
        rm_names_label(view->subjects, view->count);
        view->page->title = rm_page_shown(
            view->page, terms->title != NULL
                            ? terms->title
                            : rm_names_title(view->page, view->subjects, view->count));
    }
}

static resmon_status result_of(const struct rm_buffer *out, const struct rm_page *page)
{
    if (out->status == RESMON_ERANGE) {
        return rm_error(RESMON_ERANGE, "the report is larger than %zu MiB", out->bound >> 20);
    }
    return page->is_broken || out->status != RESMON_OK
               ? rm_error(RESMON_ENOMEM, "out of memory for a report")
               : RESMON_OK;
}

static void render(struct rm_buffer *out, struct rm_report *view)
{
    switch (view->terms->form) {
    case RM_FORM_HTML:
        rm_html_write(out, view);
        break;
    case RM_FORM_MARKDOWN:
        rm_markdown_write(out, view->page);
        break;
    case RM_FORM_DATA:
        rm_data_write(out, view);
        break;
    default:
        rm_text_write(out, view->page, view->terms->width);
    }
}

resmon_status rm_view_render(struct rm_buffer *out, struct rm_page *page,
                             const struct rm_render *render)
{
    if (page->is_broken) {
        /* An incomplete page is not written. */
    } else if (render->form == RM_FORM_HTML) {
        rm_html_write_compared(out, page, render->meta, render->subjects, render->count);
    } else if (render->form == RM_FORM_MARKDOWN) {
        rm_markdown_write(out, page);
    } else {
        rm_text_write(out, page, render->width > 0 ? render->width : RESMON_REPORT_WIDTH);
    }
    resmon_status status = result_of(out, page);
    rm_page_free(page);
    return status;
}

/* Writes the output of `write` for the runs, unless the page is broken. */
static resmon_status write_report(struct rm_buffer *out, const struct rm_view_terms *terms,
                                  resmon_status (*write)(struct rm_buffer *out,
                                                         struct rm_report *view,
                                                         const void *context),
                                  const void *context)
{
    struct rm_page page = {.title = ""};
    struct rm_source_files files = {.runs = terms->runs, .run_count = terms->count};
    const struct rm_source_lines sources = rm_source_lines_of(&files);
    struct rm_report view = {.page = &page, .terms = terms};
    resmon_status status = RESMON_OK;
    open_subjects(&view, &sources);
    if (!page.is_broken) {
        status = find_plots(&view);
    }
    if (!page.is_broken && status == RESMON_OK) {
        status = write(out, &view, context);
    }
    status = page.is_broken || status == RESMON_OK ? result_of(out, &page) : status;
    for (size_t i = 0; i < view.count; i++) {
        if (view.subjects[i].sums != NULL) {
            rm_profile_sums_free(view.subjects[i].sums);
        }
    }
    rm_page_free(&page);
    rm_source_files_free(&files);
    return status;
}

static resmon_status write_parts(struct rm_buffer *out, struct rm_report *view, const void *context)
{
    (void)context;
    if (view->count > 1) {
        add_all(view);
    }
    for (size_t i = 0; i < view->count; i++) {
        add_run(view, i);
    }
    if (!view->page->is_broken) {
        render(out, view);
    }
    return RESMON_OK;
}

resmon_status rm_view_write(struct rm_buffer *out, const struct rm_view_terms *terms)
{
    return write_report(out, terms, write_parts, NULL);
}

static resmon_status write_text(const struct rm_output *output, const void *text_)
{
    const struct rm_buffer *text = text_;
    return rm_output_write(output, text->text, text->length);
}

resmon_status rm_view_save(const char *path, const struct rm_view_terms *terms)
{
    struct rm_buffer text;
    rm_buffer_init(&text, MOST_BYTES);
    resmon_status status = rm_view_write(&text, terms);
    if (status == RESMON_OK) {
        status = rm_outfile_save(path, 0, write_text, &text);
    }
    rm_buffer_free(&text);
    return status;
}

static resmon_status write_lines(struct rm_buffer *out, struct rm_report *view,
                                 const void *function)
{
    resmon_status status = rm_profile_add_wanted(&view->subjects[0], function);
    rm_text_write(out, view->page, view->terms->width);
    return status;
}

resmon_status rm_view_lines(struct rm_buffer *out, const struct resmon_run *run,
                            const char *function, size_t width)
{
    const struct rm_view_terms terms = {
        .runs = &run, .count = 1, .form = RM_FORM_FULL, .width = width};
    return write_report(out, &terms, write_lines, function);
}

/* ---- one table -------------------------------------------------------------------------- */

/* The catalogue, the last one, needs no run. */
static const struct alone {
    const char *name, *matched; /* the key of the column that is searched for a match */
    rm_table_builder *build;
} alone[] = {
    {"metrics", "metric", rm_metrics_all},
    {"scopes", "name", rm_scopes_table},
    {"scope_names", "name", rm_scopes_table_by_name},
    {"tags", "label", rm_tags_table},
    {"sources", "source", rm_sources_table},
    {"facts", "key", rm_facts_all},
    {"energy", "component", rm_energy_table},
    {"processes", "name", rm_processes_table},
    {"nodes", "name", rm_job_nodes},
    {"ranks", "node", rm_job_ranks},
    {RM_TABLE_CATALOGUE, "name", rm_metrics_catalogue},
};

const char *rm_view_table_name(size_t index)
{
    return index < RM_ARRAY_LEN(alone) ? alone[index].name : NULL;
}

/* In the catalogue, `match` is a list of words, of which one must match. */
static bool is_matching(const struct alone *one, const char *text, const char *match)
{
    if (one->build != rm_metrics_catalogue || match[0] == '\0') {
        return strstr(text, match) != NULL;
    }
    for (size_t length; *match != '\0'; match += length + strspn(match + length, " ")) {
        char word[128];
        length = strcspn(match, " ");
        (void)rm_text_copy(word, sizeof word, match, length);
        if (strstr(text, word) != NULL) {
            return true;
        }
    }
    return false;
}

static void keep_matching(struct rm_page_table *table, const struct alone *one, const char *match)
{
    size_t kept = 0, at = 0;
    while (at + 1 < table->column_count && strcmp(table->columns[at].key, one->matched) != 0) {
        at++;
    }
    for (size_t i = 0; i < table->count; i++) {
        struct rm_page_cell *row = rm_page_cells(table, i);
        if (is_matching(one, row[at].text, match)) {
            memmove(rm_page_cells(table, kept++), row, table->column_count * sizeof *row);
        }
    }
    table->count = kept;
}

resmon_status rm_view_table(struct rm_buffer *out, const struct resmon_run *run,
                            const struct rm_table_terms *terms)
{
    struct rm_page page = {.title = ""};
    struct rm_subject subject;
    size_t at = 0;
    while (at < RM_ARRAY_LEN(alone) && strcmp(alone[at].name, terms->table) != 0) {
        at++;
    }
    if (at == RM_ARRAY_LEN(alone)) {
        return rm_error(RESMON_ENOENT, "there is no table '%.32s'", terms->table);
    }
    subject = (struct rm_subject){.page = &page};
    if (run != NULL) {
        rm_subject_open(&subject, &page, run, NULL, 1);
    }
    struct rm_page_table *table = alone[at].build(&subject, RM_COLUMN_FULL, EVERYTHING);
    if (table != NULL) {
        keep_matching(table, &alone[at], terms->match);
        table->lead = "";
    }
    if (terms->form == RM_FORM_DATA) {
        rm_data_write_table(out, table);
    } else if (table == NULL || table->count == 0) {
        /* These forms write nothing. */
    } else if (terms->form == RM_FORM_HTML) {
        rm_html_table(out, table, NULL);
    } else if (terms->form == RM_FORM_MARKDOWN) {
        table->title = "";
        rm_markdown_table(out, table, SIZE_MAX);
    } else {
        rm_text_table(out, table, terms->width);
    }
    resmon_status status = result_of(out, &page);
    rm_page_free(&page);
    return status;
}

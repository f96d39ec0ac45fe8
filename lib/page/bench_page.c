/* SPDX-License-Identifier: MIT */
#include "page/bench_page.h"

#include "base/alloc.h"
#include "base/status.h"
#include "compare/diff.h"
#include "page/dots.h"
#include "page/html_file.h"
#include "page/html_parts.h"
#include "page/intervals.h"
#include "report/bench.h"
#include "report/diff.h"

#define MOST_BYTES ((size_t)256 << 20)
#define MOST_ROWS  512U

struct writing {
    struct rm_page *page;
    struct rm_buffer *out;
    const struct rm_groups *groups;
};

/* ---- all commands ------------------------------------------------------------------------- */

static const char *machine_of(struct writing *writing)
{
    const struct rm_group_machine *machine = &writing->groups->at[0].machine;
    const char *cpus =
        machine->cpus > 0.0 ? rm_page_print(writing->page, "%.0f CPUs", machine->cpus) : "";
    const char *const texts[] = {machine->host != NULL ? machine->host : "",
                                 machine->cpu_model != NULL ? machine->cpu_model : "", cpus,
                                 machine->kernel != NULL ? machine->kernel : ""};
    return rm_page_shown(writing->page,
                         rm_page_join(writing->page, ", ", texts, RM_ARRAY_LEN(texts)));
}

static resmon_status put_plots(struct writing *writing)
{
    static const enum rm_figure_id figures[] = {RM_FIGURE_wall, RM_FIGURE_cpu, RM_FIGURE_peak,
                                                RM_FIGURE_energy};
    const struct rm_groups *groups = writing->groups;
    struct rm_dots_row *rows = rm_page_alloc(writing->page, groups->count, sizeof *rows);
    resmon_status status = RESMON_OK;
    rm_buffer_puts(writing->out, "<p class=note>A dot for each run; the line is the median, the "
                                 "band its 95 % confidence interval.</p><div class=charts>");
    for (size_t i = 0; i < RM_ARRAY_LEN(figures) && rows != NULL && status == RESMON_OK; i++) {
        for (size_t k = 0; k < groups->count; k++) {
            rows[k] = (struct rm_dots_row){groups->at[k].name,
                                           rm_group_find(&groups->at[k], "", figures[i]), (int)k};
        }
        status = rm_dots_put(writing->out, writing->page, rm_figures[figures[i]].title,
                             rm_figures[figures[i]].unit, rows, groups->count);
    }
    rm_buffer_puts(writing->out, "</div>\n");
    return status;
}

/* What another command differs by from the first. */
static resmon_status put_difference(struct writing *writing, const struct rm_group *other)
{
    struct rm_gate gate = {.count = 0};
    struct rm_diff diff = {.before = NULL};
    struct rm_buffer text;
    rm_buffer_init(&text, MOST_BYTES);
    resmon_status status = rm_gate_read(&gate, "");
    if (status == RESMON_OK) {
        status = rm_diff_make(&diff, &writing->groups->at[0], other, &gate);
    }
    if (status == RESMON_OK) {
        rm_diff_say_statement(&text, &diff);
        rm_html_element(writing->out, "<h3><bdi>",
                        rm_page_shown(writing->page, text.text != NULL ? text.text : ""),
                        "</bdi></h3>");
        rm_intervals_put(writing->out, writing->page, &diff);
    }
    rm_buffer_free(&text);
    rm_diff_free(&diff);
    rm_gate_free(&gate);
    return status;
}

static resmon_status put_differences(struct writing *writing)
{
    resmon_status status = RESMON_OK;
    size_t shown = 0;
    for (size_t i = 1; i < writing->groups->count && status == RESMON_OK; i++) {
        if (writing->groups->at[0].run_count > 0 && writing->groups->at[i].run_count > 0) {
            rm_buffer_puts(writing->out, shown++ == 0 ? "<h2>Compared with the first</h2>" : "");
            status = put_difference(writing, &writing->groups->at[i]);
        }
    }
    return status;
}

/* ---- one command -------------------------------------------------------------------------- */

struct rows {
    struct rm_page *page;
    struct rm_page_table *table;
};

/* Without the strip of characters: a plot shows it. */
static void put_row(const struct rm_bench_rows *rows, char (*cells)[RM_TABLE_CELL_BYTES])
{
    const struct rows *of = rows->context;
    struct rm_page_cell *row = rm_page_row(of->page, of->table);
    for (size_t k = 0; k + 1 < RM_BENCH_COLUMNS; k++) {
        rm_page_set(&row[k], rm_page_shown(of->page, cells[k]));
    }
}

static resmon_status put_group(struct writing *writing, const struct rm_group *group)
{
    struct rm_html_list list = {writing->out, writing->page};
    const struct rm_sentences sentences = {rm_html_item, &list};
    char title[RM_SENTENCE_BYTES];
    struct rows of = {writing->page, NULL};
    const struct rm_bench_rows rows = {put_row, &of};
    rm_bench_say_title(title, group);
    of.table = rm_page_table_new(writing->page, "bench", rm_page_shown(writing->page, title),
                                 RM_BENCH_COLUMNS - 1, 1,
                                 group->row_count < MOST_ROWS ? group->row_count : MOST_ROWS);
    if (of.table == NULL) {
        return RESMON_ENOMEM;
    }
    rm_page_headers(of.table, rm_bench_headings);
    resmon_status status = rm_bench_each_row(group, &rows);
    rm_html_table(writing->out, of.table, "h2");
    rm_buffer_puts(writing->out, "<ul class=remarks>");
    status = status == RESMON_OK ? rm_bench_say_remarks(group, &sentences) : status;
    rm_buffer_puts(writing->out, "</ul>");
    return status;
}

/* ---- the page ----------------------------------------------------------------------------- */

static resmon_status put_file(struct writing *writing)
{
    const struct rm_groups *groups = writing->groups;
    const char *first = groups->count > 0 ? groups->at[0].name : "nothing";
    const char *title = rm_page_shown_at_most(writing->page, first, 80);
    const struct rm_html_file file = {
        writing->out,
        groups->count > 1 ? rm_page_print(writing->page, "%s, and %zu other command%s", title,
                                          groups->count - 1, groups->count > 2 ? "s" : "")
                          : title,
        false};
    rm_html_file_begin(&file);
    if (groups->count > 0) {
        rm_html_element(writing->out, "<p class=meta><bdi>", machine_of(writing), "</bdi></p>");
    }
    rm_html_file_main(&file);
    resmon_status status = put_plots(writing);
    status = status == RESMON_OK ? put_differences(writing) : status;
    for (size_t i = 0; i < groups->count && status == RESMON_OK; i++) {
        status = put_group(writing, &groups->at[i]);
    }
    rm_html_file_end(&file, NULL);
    return status;
}

resmon_status rm_bench_page_put(struct rm_buffer *out, const struct rm_groups *groups)
{
    struct rm_page page = {.is_broken = false};
    struct writing writing = {&page, out, groups};
    resmon_status status = put_file(&writing);
    if (status == RESMON_ENOMEM || (status == RESMON_OK && page.is_broken)) {
        status = rm_error(RESMON_ENOMEM, "out of memory for a page");
    }
    rm_arena_free(&page.arena);
    return status;
}

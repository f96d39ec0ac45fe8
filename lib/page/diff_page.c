/* SPDX-License-Identifier: MIT */
#include "page/diff_page.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "page/dots.h"
#include "page/html_charts.h"
#include "page/html_file.h"
#include "page/html_flame.h"
#include "page/html_parts.h"
#include "page/intervals.h"
#include "report/diff.h"

#define MOST_BYTES  ((size_t)256 << 20)
#define MOST_PLOTS  12U
#define LEAST_APART 0.01 /* of what was counted, to be worth a plot */
#define MOST_POINTS 800
#define MOST_BOXES  4000
#define SIDES       2

struct writing {
    struct rm_page *page;
    struct rm_buffer *out;
    const struct rm_diff *diff;
    struct rm_subject subjects[SIDES]; /* where the runs are known */
    struct rm_html_charts charts;
    bool has_runs;
};

/* ---- in front ----------------------------------------------------------------------------- */

static void put_verdict(struct writing *writing)
{
    struct rm_html_list list = {writing->out, writing->page};
    const struct rm_sentences sentences = {rm_html_item, &list};
    struct rm_buffer text;
    rm_buffer_init(&text, MOST_BYTES);
    rm_diff_say_statement(&text, writing->diff);
    rm_buffer_printf(writing->out, "<p class=\"verdict %s\">",
                     rm_intervals_class(writing->diff->verdict));
    rm_html_element(writing->out, "",
                    rm_page_shown(writing->page, text.text != NULL ? text.text : ""),
                    "</p>\n<ul class=reasons>");
    rm_diff_say_reasons(writing->diff, &sentences);
    rm_buffer_puts(writing->out, "</ul>\n");
    rm_buffer_free(&text);
}

/* ---- figures ------------------------------------------------------------------------------ */

static void put_table(struct writing *writing)
{
    const struct rm_diff *diff = writing->diff;
    const struct rm_diff_terms all = {.is_full = true};
    unsigned changed = 0;
    struct rm_page_table *table =
        rm_page_table_new(writing->page, "diff", "Each value", RM_DIFF_COLUMNS, 1, diff->row_count);
    if (table == NULL) {
        return;
    }
    rm_page_headers(table, rm_diff_headings);
    for (size_t i = 0; i < diff->row_count; i++) {
        char cells[RM_DIFF_COLUMNS][RM_TABLE_CELL_BYTES];
        if (rm_diff_is_shown(&diff->rows[i], &all, &changed)) {
            struct rm_page_cell *row = rm_page_row(writing->page, table);
            rm_diff_say_cells(cells, &diff->rows[i]);
            for (size_t k = 0; k < RM_DIFF_COLUMNS; k++) {
                rm_page_set(&row[k], rm_page_shown(writing->page, cells[k]));
            }
        }
    }
    rm_html_table(writing->out, table, "h2");
}

/* A dot for each run says more than the table where a figure differs from run to run. */
static bool has_plot(const struct rm_diff_row *row)
{
    const struct rm_diff_terms brief = {.width = 0};
    unsigned changed = 0;
    double apart = fmax(row->range, fabs(row->shift.value));
    return rm_diff_is_shown(row, &brief, &changed) && row->before_count + row->after_count > 2 &&
           (!row->is_counted || apart > LEAST_APART * fabs(row->before.value));
}

static resmon_status put_plots(struct writing *writing)
{
    const struct rm_diff *diff = writing->diff;
    resmon_status status = RESMON_OK;
    size_t count = 0;
    for (size_t i = 0; i < diff->row_count && status == RESMON_OK && count < MOST_PLOTS; i++) {
        const struct rm_diff_row *row = &diff->rows[i];
        const struct rm_figure *figure = &rm_figures[row->figure];
        const struct rm_dots_row rows[SIDES] = {
            {"before", rm_group_find(diff->before, row->path, row->figure), 0},
            {"after", rm_group_find(diff->after, row->path, row->figure), 1},
        };
        if (has_plot(row)) {
            rm_buffer_puts(writing->out,
                           count++ == 0 ? "<h2>A dot for each run</h2><p class=note>The line is "
                                          "the median, the band its 95 % confidence interval.</p>"
                                          "<div class=charts>"
                                        : "");
            status = rm_dots_put(writing->out, writing->page,
                                 rm_page_print(writing->page, "%s%s%s",
                                               rm_page_shown_at_most(writing->page, row->path, 80),
                                               row->path[0] != '\0' ? ": " : "", figure->title),
                                 figure->unit, rows, SIDES);
        }
    }
    rm_buffer_puts(writing->out, count > 0 ? "</div>\n" : "");
    return status;
}

/* ---- one run a side ----------------------------------------------------------------------- */

static void put_runs(struct writing *writing)
{
    bool has_many = writing->diff->before->run_count > 1 || writing->diff->after->run_count > 1;
    rm_buffer_puts(writing->out, "<h2>Over time</h2>");
    rm_buffer_puts(writing->out,
                   has_many ? "<p class=note>Each side is shown by its run of median wall time.</p>"
                            : "");
    rm_html_charts_put_all(&writing->charts, NULL);
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        const struct rm_boxes boxes =
            rm_flame_boxes_of_two(&writing->subjects[0], &writing->subjects[1], kind, MOST_BOXES);
        rm_html_flame_of_two(writing->out, writing->page, &boxes, kind);
    }
}

static resmon_status open_runs(struct writing *writing, const struct rm_diff_page_terms *terms)
{
    resmon_status status =
        rm_subject_open(&writing->subjects[0], writing->page, terms->before, NULL, MOST_POINTS);
    if (status == RESMON_OK) {
        status =
            rm_subject_open(&writing->subjects[1], writing->page, terms->after, NULL, MOST_POINTS);
    }
    writing->subjects[0].label = "before";
    writing->subjects[1].label = "after";
    return status;
}

/* ---- the page ----------------------------------------------------------------------------- */

static const char *title_of(struct writing *writing)
{
    const char *before = rm_page_shown_at_most(writing->page, writing->diff->before->name, 60);
    const char *after = rm_page_shown_at_most(writing->page, writing->diff->after->name, 60);
    return strcmp(before, after) == 0
               ? rm_page_print(writing->page, "%s, before and after", before)
               : rm_page_print(writing->page, "%s, compared with %s", after, before);
}

static resmon_status put_file(struct writing *writing)
{
    struct rm_html_list list = {writing->out, writing->page};
    const struct rm_sentences sentences = {rm_html_item, &list};
    const struct rm_html_file file = {writing->out, title_of(writing), writing->has_runs};
    struct rm_buffer numbers;
    rm_buffer_init(&numbers, MOST_BYTES);
    rm_html_charts_open(&writing->charts, writing->out, writing->page, writing->subjects, SIDES);
    rm_html_file_begin(&file);
    rm_html_file_main(&file);
    put_verdict(writing);
    rm_intervals_put(writing->out, writing->page, writing->diff);
    resmon_status status = put_plots(writing);
    if (writing->has_runs) {
        put_runs(writing);
        rm_html_charts_write(&writing->charts, &numbers);
    }
    put_table(writing);
    rm_buffer_puts(writing->out, "<h2>What was compared</h2><ul class=remarks>");
    rm_diff_say_remarks(writing->diff, &sentences);
    rm_buffer_puts(writing->out, "</ul>");
    rm_html_file_end(&file, numbers.text != NULL ? numbers.text : "");
    writing->page->is_broken |= numbers.status != RESMON_OK;
    rm_html_charts_close(&writing->charts);
    rm_buffer_free(&numbers);
    return status;
}

resmon_status rm_diff_page_put(struct rm_buffer *out, const struct rm_diff_page_terms *terms)
{
    struct rm_page page = {.is_broken = false};
    struct writing writing = {.page = &page,
                              .out = out,
                              .diff = terms->diff,
                              .has_runs = terms->before != NULL && terms->after != NULL};
    resmon_status status = writing.has_runs ? open_runs(&writing, terms) : RESMON_OK;
    status = status == RESMON_OK ? put_file(&writing) : status;
    if (status == RESMON_OK && page.is_broken) {
        status = rm_error(RESMON_ENOMEM, "out of memory for a page");
    }
    rm_arena_free(&page.arena);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "page/intervals.h"

#include <math.h>

#include "page/axis.h"
#include "page/html_parts.h"
#include "report/diff.h"

#define LEAST_SHARE 2.0 /* percent to both sides that the axis has */
#define MOST_SHARE  100.0

struct plot {
    struct rm_buffer *out;
    struct rm_page *page;
    struct rm_axis axis;
};

const char *rm_intervals_class(enum rm_verdict verdict)
{
    static const char *const classes[] = {"", "fine", "unsure", "worse"};
    return classes[verdict];
}

/* ---- what is drawn ------------------------------------------------------------------------ */

static double percent_of(const struct rm_diff_row *row, double amount)
{
    return 100.0 * amount / row->before.value;
}

static bool has_share(const struct rm_diff_row *row)
{
    return row->before.value > 0.0 && isfinite(percent_of(row, row->shift.value));
}

/* The farthest that the axis must go, for all rows. */
static double reach_of(const struct rm_diff *diff)
{
    const struct rm_diff_terms brief = {.width = 0};
    double reach = LEAST_SHARE;
    unsigned changed = 0;
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct rm_diff_row *row = &diff->rows[i];
        if (!rm_diff_is_shown(row, &brief, &changed) || !has_share(row)) {
            continue;
        }
        reach = fmax(reach, fabs(percent_of(row, row->shift.value)));
        reach = fmax(reach, fabs(percent_of(row, row->shift.low))); /* not of NaN */
        reach = fmax(reach, fabs(percent_of(row, row->shift.high)));
        reach = row->rule != NULL ? fmax(reach, percent_of(row, row->allowance)) : reach;
    }
    return fmin(reach, MOST_SHARE);
}

/* ---- rows --------------------------------------------------------------------------------- */

static void put_field(const struct plot *plot, const struct rm_diff_row *row)
{
    struct rm_buffer *out = plot->out;
    rm_buffer_puts(out, "<span class=field>");
    rm_axis_put_mark(out, &plot->axis, "zero", 0.0);
    rm_buffer_puts(out, "\"></i>");
    if (row->rule != NULL) {
        rm_axis_put_mark(out, &plot->axis, "allowed", percent_of(row, row->allowance));
        rm_html_element(out, "\" title=\"", rm_page_shown(plot->page, row->rule->text), "\"></i>");
    }
    if (!row->is_counted && !isnan(row->shift.low)) {
        rm_axis_put_band(out, &plot->axis, percent_of(row, row->shift.low),
                         percent_of(row, row->shift.high));
    }
    rm_axis_put_mark(out, &plot->axis, "dot", percent_of(row, row->shift.value));
    rm_buffer_puts(out, "\"></i></span>");
}

static void put_row(const struct plot *plot, const struct rm_diff_row *row)
{
    char cells[RM_DIFF_COLUMNS][RM_TABLE_CELL_BYTES];
    rm_diff_say_cells(cells, row);
    rm_buffer_printf(plot->out, "<div class=\"row %s\"><span class=name><bdi>",
                     rm_intervals_class(row->verdict));
    rm_html_element(plot->out, "", rm_page_shown(plot->page, cells[0]), "</bdi></span>");
    put_field(plot, row);
    rm_html_element(plot->out, "<span class=said><b>", cells[3], "</b> ");
    rm_html_element(plot->out, "", rm_verdict_name(row->verdict), "</span></div>");
}

static void put_ticks(const struct plot *plot)
{
    const char *texts[RM_AXIS_TICKS];
    for (size_t i = 0; i < plot->axis.tick_count; i++) {
        double tick = plot->axis.ticks[i];
        bool is_whole = fabs(tick - round(tick)) < 1e-9;
        texts[i] = rm_page_print(plot->page, "%s%s %%", tick > 0.0 ? "+" : "",
                                 rm_page_fixed(plot->page, tick, is_whole ? 0 : 1));
    }
    rm_axis_put_ticks(plot->out, &plot->axis, texts);
}

void rm_intervals_put(struct rm_buffer *out, struct rm_page *page, const struct rm_diff *diff)
{
    const struct rm_diff_terms brief = {.width = 0};
    struct plot plot = {.out = out, .page = page};
    double reach = reach_of(diff);
    unsigned changed = 0;
    bool has_any = false;
    (void)rm_axis_open(&plot.axis, -reach, reach, "%");
    for (size_t i = 0; i < diff->row_count; i++) {
        if (!rm_diff_is_shown(&diff->rows[i], &brief, &changed) || !has_share(&diff->rows[i])) {
            continue;
        }
        if (!has_any) {
            rm_buffer_puts(
                out, "<figure><figcaption><b>Change</b> <small>of the median difference; the band: "
                     "its 95 % confidence interval; the dashed line: the limit of the rule; to the "
                     "right: more than before</small></figcaption><div class=\"dots forest\">");
        }
        has_any = true;
        put_row(&plot, &diff->rows[i]);
    }
    if (has_any) {
        put_ticks(&plot);
        rm_buffer_puts(out, "</div></figure>");
    }
}

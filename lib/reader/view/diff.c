/* SPDX-License-Identifier: MIT */
#include "view/benchmarks.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "view/html.h"
#include "view/plots.h"
#include "view/view.h"

#define MOST_PLOTS  12U
#define LEAST_APART 0.01 /* relative difference of a count that has a plot */
#define MOST_POINTS 800
#define MOST_BOXES  4000
#define SIDES       2
#define COLUMNS     7
#define MOST_SCOPES 20U /* rows without a rule, in a brief table */
#define MOST_PATHS  10U

static const char *const headings[COLUMNS] = {"",        "before", "after",          "change",
                                              "verdict", "p",      "interval (95 %)"};

static const char *const verdicts[] = {"", "not worse", "cannot tell", "worse"};

const char *rm_verdict_name(enum rm_verdict verdict)
{
    return verdicts[verdict];
}

/* ---- numbers ------------------------------------------------------------------------------ */

/* A change in percent of the median before; "" where that is 0. */
static const char *share_text(struct rm_page *page, const struct rm_diff_row *row)
{
    double share = 100.0 * row->shift.value / row->before.value;
    if (!(row->before.value > 0.0 && fabs(share) < 1e5)) {
        return "";
    }
    return rm_page_print(page, "%s%s %%", share < 0.0 ? "-" : "+",
                         rm_page_fixed(page, fabs(share), fabs(share) < 100.0 ? 1 : 0));
}

static const char *p_text(struct rm_page *page, double p)
{
    return isnan(p) ? "-" : p < 0.001 ? "<0.001" : rm_page_fixed(page, p, 3);
}

static const char *change_text(struct rm_page *page, const struct rm_diff_row *row)
{
    return rm_page_signed(page, row->shift.value, rm_figures[row->figure].unit);
}

const char *rm_figure_name(struct rm_page *page, const char *path, enum rm_figure_id figure)
{
    return rm_page_print(page, "%s%s%s", rm_page_shown_at_most(page, path, 120),
                         path[0] != '\0' ? ": " : "", rm_figures[figure].title);
}

const char *rm_group_runs_text(struct rm_page *page, const struct rm_group *group)
{
    size_t failures = rm_group_failures(group);
    return rm_page_print(page, "%zu run%s%s", group->run_count, group->run_count == 1 ? "" : "s",
                         failures > 0 ? rm_page_print(page, ", of which %zu failed", failures)
                                      : "");
}

const char *rm_diff_row_change(struct rm_page *page, const struct rm_diff_row *row)
{
    const char *share = share_text(page, row);
    return share[0] != '\0' ? share : change_text(page, row);
}

/* A row and its rule in one line, not escaped: "wall time +18.0 % (+222 ms); wall>5% allows 60 ms".
 */
static const char *row_text(struct rm_page *page, const struct rm_diff_row *row)
{
    const char *rule = "", *runs = "", *by = change_text(page, row), *share = share_text(page, row);
    bool has_share = share[0] != '\0';
    if (row->rule != NULL) {
        rule = rm_page_print(page, "; %s allows %s", row->rule->text,
                             rm_page_value(page, row->allowance, rm_figures[row->figure].unit));
    }
    if (row->verdict == RM_VERDICT_CANNOT_TELL && row->runs_wanted > 0) {
        runs = rm_page_print(page, "; about %lu runs per side are needed",
                             (unsigned long)row->runs_wanted);
    }
    return rm_page_print(page, "%s%s%s %s%s%s%s%s%s", row->path, row->path[0] != '\0' ? ": " : "",
                         rm_figures[row->figure].title, share, has_share ? " (" : "", by,
                         has_share ? ")" : "", rule, runs);
}

/* ---- rows --------------------------------------------------------------------------------- */

/* The confidence interval of the difference; without one, the difference. */
static const char *interval_text(struct rm_page *page, const struct rm_diff_row *row)
{
    const char *unit = rm_figures[row->figure].unit;
    if (row->is_counted || isnan(row->shift.low)) {
        return rm_page_print(page, "%s%s", row->is_counted ? "counted, " : "",
                             change_text(page, row));
    }
    return rm_page_print(page, "%s to %s", rm_page_signed(page, row->shift.low, unit),
                         rm_page_signed(page, row->shift.high, unit));
}

static void add_row(struct rm_page *page, struct rm_page_table *table,
                    const struct rm_diff_row *row)
{
    struct rm_page_cell *cells = rm_page_row(page, table);
    const char *unit = rm_figures[row->figure].unit;
    double p = row->rule != NULL ? row->p_of_all : row->p;
    rm_page_set(&cells[0], rm_figure_name(page, row->path, row->figure));
    rm_page_set(&cells[1], rm_page_value(page, row->before.value, unit));
    rm_page_set(&cells[2], rm_page_value(page, row->after.value, unit));
    rm_page_set(&cells[3], rm_diff_row_change(page, row));
    rm_page_set(&cells[4], verdicts[row->verdict]);
    rm_page_set(&cells[5], row->is_counted ? "" : p_text(page, p));
    rm_page_set(&cells[6], interval_text(page, row));
}

/* Values of the run that are always shown. */
static bool is_always_shown(const struct rm_diff_row *row)
{
    static const enum rm_figure_id shown[] = {RM_FIGURE_wall,   RM_FIGURE_cpu,  RM_FIGURE_peak,
                                              RM_FIGURE_energy, RM_FIGURE_read, RM_FIGURE_written};
    for (size_t i = 0; i < RM_ARRAY_LEN(shown) && row->path[0] == '\0'; i++) {
        if (row->figure == shown[i]) {
            return true;
        }
    }
    return false;
}

/* Whether a value of a scope without a rule has changed: significantly, or a count. */
static bool has_changed(const struct rm_diff_row *row)
{
    double share = fabs(row->shift.value) / fabs(row->before.value);
    bool is_of_note = row->figure == RM_FIGURE_wall || row->figure == RM_FIGURE_cpu ||
                      row->figure == RM_FIGURE_peak || row->figure == RM_FIGURE_calls;
    return row->path[0] != '\0' && is_of_note && (row->is_counted || row->p <= RM_DIFF_ALPHA) &&
           share > 0.01;
}

bool rm_diff_is_shown(const struct rm_diff_row *row, bool is_full, unsigned *changed)
{
    if (is_full || row->rule != NULL || is_always_shown(row)) {
        return true;
    }
    return has_changed(row) && (*changed)++ < MOST_SCOPES;
}

static void add_table(struct rm_page *page, const struct rm_diff *diff, bool is_full)
{
    unsigned changed = 0;
    struct rm_page_table *table =
        rm_page_table_new(page, "diff", is_full ? "Each value" : "",
                          RM_HEADERS(headings, COLUMNS, 1), diff->row_count);
    for (size_t i = 0; i < diff->row_count; i++) {
        if (rm_diff_is_shown(&diff->rows[i], is_full, &changed)) {
            add_row(page, table, &diff->rows[i]);
        }
    }
    if (table != NULL) {
        table->columns[4].is_left = true;
    }
    (void)rm_page_add_table(page, table);
}

/* ---- sentences ---------------------------------------------------------------------------- */

static const struct rm_diff_row *find_wall(const struct rm_diff *diff)
{
    for (size_t i = 0; i < diff->row_count; i++) {
        if (diff->rows[i].path[0] == '\0' && diff->rows[i].figure == RM_FIGURE_wall) {
            return &diff->rows[i];
        }
    }
    return NULL;
}

/* The change of the wall time. */
static const char *statement_without_rules(struct rm_page *page, const struct rm_diff *diff)
{
    const struct rm_diff_row *wall = find_wall(diff);
    if (wall == NULL) {
        return "No verdict: there are no rules.";
    }
    return rm_page_print(page, "%s: %s%s%s", diff->after->name, row_text(page, wall),
                         isnan(wall->p) ? "" : ", p ", isnan(wall->p) ? "" : p_text(page, wall->p));
}

const char *rm_diff_statement(struct rm_page *page, const struct rm_diff *diff)
{
    switch (diff->verdict) {
    case RM_VERDICT_WORSE:
        return rm_page_print(page, "Worse: %zu of %zu values with a rule.",
                             rm_diff_count(diff, RM_VERDICT_WORSE),
                             diff->row_count - rm_diff_count(diff, RM_VERDICT_NONE));
    case RM_VERDICT_CANNOT_TELL:
        return "Cannot tell: there are too few runs, or they differ too much.";
    case RM_VERDICT_NOT_WORSE:
        return "Not worse: no rule is exceeded.";
    default:
        return rm_page_shown(page, statement_without_rules(page, diff));
    }
}

/* The values that are worse, then those without enough data. */
static void say_reasons(struct rm_page *page, const struct rm_diff *diff)
{
    struct rm_page_list *list = rm_page_add_list(page, "reasons");
    for (int verdict = RM_VERDICT_WORSE; verdict >= RM_VERDICT_CANNOT_TELL; verdict--) {
        for (size_t i = 0; i < diff->row_count; i++) {
            if ((int)diff->rows[i].verdict == verdict) {
                rm_page_say(page, list, "%s: %s", verdicts[verdict],
                            row_text(page, &diff->rows[i]));
            }
        }
    }
    for (size_t i = 0; i < diff->gate->count; i++) {
        if (!diff->is_used[i]) {
            rm_page_say(page, list, "cannot tell: '%s' matches nothing that both sides have",
                        diff->gate->rules[i].text);
        }
    }
}

static void say_paths(struct rm_page *page, struct rm_page_list *list, const char *what,
                      const char *const *paths, size_t count)
{
    size_t shown = count < MOST_PATHS ? count : MOST_PATHS;
    const char *text = rm_page_join(page, ", ", paths, shown);
    if (shown < count) {
        text = rm_page_print(page, "%s and %zu more", text, count - shown);
    }
    if (count > 0) {
        rm_page_say(page, list, "%s%s", what, text);
    }
}

static void say_side(struct rm_page *page, struct rm_page_list *list, const char *what,
                     const struct rm_group *group)
{
    rm_page_say(page, list, "%s: %s, %s%s", what, group->name, rm_group_runs_text(page, group),
                group->is_mixed ? ", of different machines" : "");
}

/* The two sides, and the method of the comparison. */
static void say_remarks(struct rm_page *page, const struct rm_diff *diff)
{
    struct rm_page_list *list = rm_page_add_list(page, "");
    say_side(page, list, "before", diff->before);
    say_side(page, list, "after", diff->after);
    if (diff->machines[0] != '\0') {
        rm_page_say(page, list, "the machines differ: %s", diff->machines);
    }
    say_paths(page, list, "scopes that are gone: ", diff->gone, diff->gone_count);
    say_paths(page, list, "new scopes: ", diff->fresh, diff->fresh_count);
    for (size_t i = 0; i < diff->gone_count; i++) {
        const char *now = rm_diff_renamed(diff, i);
        if (now != NULL) {
            rm_page_say(page, list, "%.400s may be called %.400s now: its values are not compared",
                        diff->gone[i], now);
        }
    }
    rm_page_say(page, list,
                "change: the median of all differences between a run before and one "
                "after; interval: where the true median lies");
    rm_page_say(page, list,
                "p: probability that equal programs differ this much by chance "
                "(Mann-Whitney); with rules, corrected for their number (Holm)");
}

/* ---- drawings ------------------------------------------------------------------------------ */

/* Values that differ from run to run have a plot; for the others the table is enough. */
static bool has_plot(const struct rm_diff_row *row)
{
    unsigned changed = 0;
    double apart = fmax(row->range, fabs(row->shift.value));
    return rm_diff_is_shown(row, false, &changed) && row->before_count + row->after_count > 2 &&
           (!row->is_counted || apart > LEAST_APART * fabs(row->before.value));
}

static void add_dots(struct rm_page *page, const struct rm_diff *diff,
                     const struct rm_diff_row *row)
{
    const struct rm_dots_row rows[SIDES] = {
        {"before", rm_group_find(diff->before, row->path, row->figure), 0},
        {"after", rm_group_find(diff->after, row->path, row->figure), 1}};
    rm_page_add_dots(page, rm_figure_name(page, row->path, row->figure),
                     rm_figures[row->figure].unit, rows, SIDES);
}

static void add_plots(struct rm_page *page, const struct rm_diff *diff)
{
    size_t count = 0;
    for (size_t i = 0; i < diff->row_count && count < MOST_PLOTS; i++) {
        if (has_plot(&diff->rows[i])) {
            if (count++ == 0) {
                rm_page_add(page, RM_BLOCK_TITLE, "A dot for each run", NULL)->note =
                    "The line is the median, the band its 95 % confidence interval.";
            }
            add_dots(page, diff, &diff->rows[i]);
        }
    }
}

/* One run of each side, over time and by function. */
static void add_runs(struct rm_page *page, const struct rm_diff *diff, struct rm_subject *subjects)
{
    bool has_many = diff->before->run_count > 1 || diff->after->run_count > 1;
    rm_page_add(page, RM_BLOCK_TITLE, "Over time", NULL)->note =
        has_many ? "Each side is shown by its run of median wall time." : "";
    (void)rm_page_add(page, RM_BLOCK_CHARTS, "", NULL);
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        const struct rm_flame *flame =
            rm_flame_of_two(&subjects[0], &subjects[1], kind, MOST_BOXES);
        if (flame != NULL) {
            (void)rm_page_add_drawing(page, rm_flame_draw, flame);
        }
    }
}

/* ---- all ----------------------------------------------------------------------------------- */

static const char *page_title(struct rm_page *page, const struct rm_diff *diff)
{
    const char *before = rm_page_shown_at_most(page, diff->before->name, 60);
    const char *after = rm_page_shown_at_most(page, diff->after->name, 60);
    return strcmp(before, after) == 0 ? rm_page_print(page, "%s, before and after", before)
                                      : rm_page_print(page, "%s, compared with %s", after, before);
}

static void add_all(struct rm_page *page, const struct rm_diff_view *view,
                    struct rm_subject *subjects, size_t count)
{
    const struct rm_diff *diff = view->diff;
    bool is_page = view->form == RM_FORM_HTML;
    rm_page_add(page, RM_BLOCK_LINE, rm_diff_statement(page, diff), NULL)->note =
        rm_verdict_class(diff->verdict);
    say_reasons(page, diff);
    if (is_page) {
        rm_page_add_intervals(page, diff);
        add_plots(page, diff);
    }
    if (is_page && count > 0) {
        add_runs(page, diff, subjects);
    }
    add_table(page, diff, view->is_full || is_page);
    (void)rm_page_add(page, RM_BLOCK_TITLE, "What was compared", NULL);
    say_remarks(page, diff);
}

resmon_status rm_diff_write(struct rm_buffer *out, const struct rm_diff_view *view)
{
    struct rm_page page = {.title = ""};
    struct rm_subject *subjects = rm_page_alloc(&page, SIDES, sizeof *subjects);
    bool has_runs = view->before != NULL && view->after != NULL && view->form == RM_FORM_HTML;
    if (subjects != NULL && has_runs) {
        rm_subject_open(&subjects[0], &page, view->before, NULL, MOST_POINTS);
        rm_subject_open(&subjects[1], &page, view->after, NULL, MOST_POINTS);
        subjects[0].label = "before";
        subjects[1].label = "after";
    }
    page.title = view->form == RM_FORM_HTML ? page_title(&page, view->diff) : "";
    add_all(&page, view, subjects, subjects != NULL && has_runs ? SIDES : 0);
    return rm_view_render(out, &page,
                          &(struct rm_render){.form = view->form,
                                              .width = view->width,
                                              .meta = "",
                                              .subjects = subjects,
                                              .count = has_runs ? SIDES : 0});
}

/* ---- as JUnit -------------------------------------------------------------------------------- */

/* Text of any origin.  XML 1.0 has no control characters: rm_text_set() replaces them. */
static void put(struct rm_buffer *buffer, const char *text)
{
    char clean[1024];
    (void)rm_text_set(clean, sizeof clean, text);
    rm_html_text(buffer, clean);
}

static void put_case(struct rm_buffer *buffer, struct rm_page *page, const struct rm_diff_row *row)
{
    const char *text = row_text(page, row);
    rm_buffer_puts(buffer, "    <testcase classname=\"");
    put(buffer, row->path[0] != '\0' ? row->path : "run");
    rm_buffer_printf(buffer, "\" name=\"%s\">", rm_figures[row->figure].title);
    if (row->verdict == RM_VERDICT_WORSE) {
        rm_buffer_puts(buffer, "<failure message=\"");
        put(buffer, text);
        rm_buffer_puts(buffer, "\"/>");
    } else if (row->verdict == RM_VERDICT_CANNOT_TELL) {
        rm_buffer_puts(buffer, "<skipped message=\"cannot tell: ");
        put(buffer, text);
        rm_buffer_puts(buffer, "\"/>");
    } else {
        rm_buffer_puts(buffer, "<system-out>");
        put(buffer, text);
        rm_buffer_puts(buffer, "</system-out>");
    }
    rm_buffer_puts(buffer, "</testcase>\n");
}

resmon_status rm_diff_write_junit(struct rm_buffer *buffer, const struct rm_diff *diff)
{
    struct rm_page page = {.title = ""};
    rm_buffer_puts(buffer, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                           "  <testsuite name=\"resmon diff\"");
    rm_buffer_printf(buffer, " tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\" errors=\"0\">\n",
                     diff->row_count - rm_diff_count(diff, RM_VERDICT_NONE),
                     rm_diff_count(diff, RM_VERDICT_WORSE),
                     rm_diff_count(diff, RM_VERDICT_CANNOT_TELL));
    for (size_t i = 0; i < diff->row_count; i++) {
        if (diff->rows[i].rule != NULL) {
            put_case(buffer, &page, &diff->rows[i]);
        }
    }
    rm_buffer_puts(buffer, "  </testsuite>\n</testsuites>\n");
    bool is_broken = page.is_broken;
    rm_page_free(&page);
    return is_broken ? rm_error(RESMON_ENOMEM, "out of memory for a comparison") : RESMON_OK;
}

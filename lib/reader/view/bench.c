/* SPDX-License-Identifier: MIT */
#include "view/benchmarks.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "compare/ranks.h"
#include "view/plots.h"
#include "view/view.h"

#define COLUMNS       6
#define STRIP_COLUMNS 20
#define MOST_SCOPES   30U
#define NEAR          0.03 /* of the median: not an outlier */
#define FAR           3.5 /* modified z: B. Iglewicz, D. C. Hoaglin: How to Detect Outliers, 1993 */

static const char *const headings[COLUMNS] = {"",       "median",  "interval (95 %)",
                                              "lowest", "highest", "runs, low to high"};

/* ---- one value ---------------------------------------------------------------------------- */

struct summary {
    struct rm_between median;
    double low, high, spread;
    size_t known;
};

static resmon_status summarize(const struct rm_group_row *row, struct summary *ret)
{
    double *copy = NULL;
    struct rm_values known;
    *ret = (struct summary){.low = RM_NAN, .high = RM_NAN};
    resmon_status status = rm_group_known(row, &copy, &known);
    for (size_t i = 0; status == RESMON_OK && i < known.count; i++) {
        ret->low = fmin(ret->low, known.at[i]); /* ignores NaN */
        ret->high = fmax(ret->high, known.at[i]);
        ret->known++;
    }
    status = status == RESMON_OK ? rm_median_of(known, 0.95, &ret->median) : status;
    status = status == RESMON_OK ? rm_spread_of(known, &ret->spread) : status;
    rm_free(copy);
    return status;
}

/* The number of runs in a column of the strip: . one, : two, + three and more, # five, @ ten. */
static char mark_of(unsigned count)
{
    return count == 0   ? ' '
           : count == 1 ? '.'
           : count == 2 ? ':'
           : count < 5  ? '+'
           : count < 10 ? '#'
                        : '@';
}

static void put_strip(char text[STRIP_COLUMNS + 1], const struct rm_group_row *row,
                      const struct summary *summary)
{
    unsigned counts[STRIP_COLUMNS] = {0};
    double width = summary->high - summary->low;
    text[0] = '\0';
    if (!(width > 0.0)) {
        return;
    }
    for (size_t i = 0; i < row->count; i++) {
        if (!isnan(row->values[i])) {
            counts[(size_t)((row->values[i] - summary->low) / width * (STRIP_COLUMNS - 0.01))]++;
        }
    }
    for (size_t i = 0; i < STRIP_COLUMNS; i++) {
        text[i] = mark_of(counts[i]);
    }
    text[STRIP_COLUMNS] = '\0';
}

static void add_row(struct rm_page *page, struct rm_page_table *table,
                    const struct rm_group_row *row, const struct summary *summary)
{
    struct rm_page_cell *cells = rm_page_row(page, table);
    const char *unit = rm_figures[row->figure].unit;
    char strip[STRIP_COLUMNS + 1];
    put_strip(strip, row, summary);
    rm_page_set(&cells[0], rm_figure_name(page, row->path, row->figure));
    rm_page_set(&cells[1], rm_page_value(page, summary->median.value, unit));
    rm_page_set(&cells[2], isnan(summary->median.low)
                               ? RM_PAGE_UNKNOWN
                               : rm_page_print(page, "%s to %s",
                                               rm_page_value(page, summary->median.low, unit),
                                               rm_page_value(page, summary->median.high, unit)));
    rm_page_set(&cells[3], rm_page_value(page, summary->low, unit));
    rm_page_set(&cells[4], rm_page_value(page, summary->high, unit));
    rm_page_set(&cells[5], rm_page_print(page, "%s", strip));
}

/* ---- the table ---------------------------------------------------------------------------- */

/* Shows values of the run that are known and not 0, except those that only explain outliers; and
 * the wall time of scopes. */
static bool is_shown(const struct rm_group_row *row, const struct summary *summary,
                     unsigned *scopes)
{
    if (row->path[0] == '\0') {
        return summary->high > 0.0 && row->figure < RM_FIGURE_others;
    }
    return row->figure == RM_FIGURE_wall && (*scopes)++ < MOST_SCOPES;
}

/* HTML has plots of dots instead of the strip of characters. */
static void add_table(struct rm_page *page, const struct rm_group *group, bool has_strip)
{
    unsigned scopes = 0;
    const char *title = rm_page_print(page, "%s, %s", rm_page_shown(page, group->name),
                                      rm_group_runs_text(page, group));
    struct rm_page_table *table =
        rm_page_table_new(page, "bench", title, RM_HEADERS(headings, COLUMNS, 1), group->row_count);
    for (size_t i = 0; table != NULL && i < group->row_count; i++) {
        struct summary summary;
        if (summarize(&group->rows[i], &summary) != RESMON_OK) {
            page->is_broken = true;
        } else if (is_shown(&group->rows[i], &summary, &scopes)) {
            add_row(page, table, &group->rows[i], &summary);
        }
    }
    if (table != NULL) {
        table->columns[COLUMNS - 1].is_left = true;
        table->columns[COLUMNS - 1].is_code = true;
        table->columns[COLUMNS - 1].title = has_strip ? headings[COLUMNS - 1] : NULL;
    }
    (void)rm_page_add_table(page, table);
}

/* ---- outliers ----------------------------------------------------------------------------- */

/* Values that explain a slow run. */
static const struct cause {
    enum rm_figure_id id;
    double sign; /* 1: a higher value slows down; -1: a lower one */
    const char *what;
} causes[] = {{RM_FIGURE_steal, 1, "the hypervisor kept the CPUs for"},
              {RM_FIGURE_throttled, 1, "the CPU quota of its cgroup throttled it for"},
              {RM_FIGURE_heat, 1, "heat slowed the processors down for"},
              {RM_FIGURE_clock, -1, "the CPU's clock was"},
              {RM_FIGURE_others, 1, "other programs took CPU time of"},
              {RM_FIGURE_cpu_wait, 1, "tasks waited for a CPU for"},
              {RM_FIGURE_io_wait, 1, "all tasks waited for I/O for"},
              {RM_FIGURE_from_storage, 1, "it read from storage"}};

/* Whether the value of a cause differs in that run from its median. */
static bool is_unusual(const struct cause *cause, const struct rm_group_row *row, size_t run)
{
    struct summary summary;
    if (row == NULL || run >= row->count || isnan(row->values[run]) ||
        summarize(row, &summary) != RESMON_OK) {
        return false;
    }
    double more = cause->sign * (row->values[run] - summary.median.value);
    return more > 2.0 * fmax(summary.spread, 0.02 * fabs(summary.median.value)) && more > 0.0;
}

/* The causes that differ in that run. */
static const char *causes_text(struct rm_page *page, const struct rm_group *group, size_t run)
{
    const char *text = "";
    for (size_t i = 0; i < RM_ARRAY_LEN(causes); i++) {
        const struct rm_group_row *row = rm_group_find(group, "", causes[i].id);
        if (is_unusual(&causes[i], row, run)) {
            text =
                rm_page_print(page, "%s%s %s %s", text, text[0] != '\0' ? "," : ":", causes[i].what,
                              rm_page_value(page, row->values[run], rm_figures[causes[i].id].unit));
        }
    }
    return text[0] != '\0' ? text : run == 0 ? ": it was the first" : "";
}

static void say_outliers(struct rm_page *page, const struct rm_group *group,
                         struct rm_page_list *list)
{
    struct summary summary;
    const struct rm_group_row *wall = rm_group_find(group, "", RM_FIGURE_wall);
    if (wall == NULL || summarize(wall, &summary) != RESMON_OK) {
        page->is_broken |= wall != NULL;
        return;
    }
    for (size_t i = 0; i < wall->count; i++) {
        double apart = wall->values[i] - summary.median.value;
        if (summary.known >= 5 && fabs(apart) > FAR * summary.spread &&
            fabs(apart) >= NEAR * summary.median.value) {
            rm_page_say(page, list, "run %zu took %s, far from the others%s", i + 1,
                        rm_page_value(page, wall->values[i], "s"), causes_text(page, group, i));
        }
    }
}

static double value_at(const struct rm_group *group, enum rm_figure_id figure, size_t run)
{
    const struct rm_group_row *row = rm_group_find(group, "", figure);
    return row != NULL && run < row->count ? row->values[run] : RM_NAN;
}

/* Reports in how many runs others used more than `share` of the machine's CPU time. */
static void say_shared(struct rm_page *page, const struct rm_group *group, enum rm_figure_id figure,
                       double share, const char *what, struct rm_page_list *list)
{
    size_t runs = 0;
    for (size_t i = 0; i < group->run_count; i++) {
        double all_s = value_at(group, RM_FIGURE_wall, i) * group->machine.cpus;
        runs += value_at(group, figure, i) > fmax(share * all_s, 0.02) ? 1 : 0; /* two ticks */
    }
    if (runs > 0) {
        rm_page_say(page, list, "in %zu of %zu runs %s more than %.0f %% of the machine's CPU time",
                    runs, group->run_count, what, 100.0 * share);
    }
}

static void add_remarks(struct rm_page *page, const struct rm_group *group)
{
    struct rm_page_list *list = rm_page_add_list(page, "");
    say_outliers(page, group, list);
    say_shared(page, group, RM_FIGURE_others, 0.1, "other programs had", list);
    say_shared(page, group, RM_FIGURE_steal, 0.02, "the hypervisor kept", list);
}

/* ---- all commands ------------------------------------------------------------------------- */

static const char *machine_of(struct rm_page *page, const struct rm_groups *groups)
{
    const struct rm_group_machine *machine = &groups->at[0].machine;
    const char *cpus = machine->cpus > 0.0 ? rm_page_print(page, "%.0f CPUs", machine->cpus) : "";
    const char *const texts[] = {machine->host, machine->cpu_model, cpus, machine->kernel};
    return rm_page_shown(page, rm_page_join(page, ", ", texts, RM_ARRAY_LEN(texts)));
}

static void add_dots(struct rm_page *page, const struct rm_groups *groups, enum rm_figure_id figure)
{
    struct rm_dots_row *rows = rm_page_alloc(page, groups->count, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < groups->count; i++) {
        rows[i] = (struct rm_dots_row){groups->at[i].name,
                                       rm_group_find(&groups->at[i], "", figure), (int)i};
    }
    rm_page_add_dots(page, rm_figures[figure].title, rm_figures[figure].unit, rows, groups->count);
}

static void add_plots(struct rm_page *page, const struct rm_groups *groups)
{
    static const enum rm_figure_id figures[] = {RM_FIGURE_wall, RM_FIGURE_cpu, RM_FIGURE_peak,
                                                RM_FIGURE_energy};
    (void)rm_page_add(page, RM_BLOCK_NOTE,
                      "A dot for each run; the line is the median, the band its 95 % confidence "
                      "interval.",
                      NULL);
    for (size_t i = 0; i < RM_ARRAY_LEN(figures); i++) {
        add_dots(page, groups, figures[i]);
    }
}

/* Comparisons of the groups, which live until the page is drawn. */
struct differences {
    struct rm_diff *items;
    struct rm_gate gate;
    size_t count;
};

/* Compares another command with the first one. */
static void add_difference(struct rm_page *page, struct differences *differences,
                           const struct rm_groups *groups, size_t other)
{
    struct rm_diff *diff =
        &differences->items[differences->count++]; /* freed even if it is not made */
    if (rm_diff_make(diff, &groups->at[0], &groups->at[other], &differences->gate) != RESMON_OK) {
        page->is_broken = true;
        return;
    }
    if (differences->count == 1) {
        (void)rm_page_add(page, RM_BLOCK_TITLE, "Compared with the first", NULL);
    }
    (void)rm_page_add(page, RM_BLOCK_LINE, rm_diff_statement(page, diff), NULL);
    rm_page_add_intervals(page, diff);
}

static void add_differences(struct rm_page *page, struct differences *differences,
                            const struct rm_groups *groups)
{
    differences->items = rm_alloc(groups->count, sizeof *differences->items);
    if (differences->items == NULL || rm_gate_read(&differences->gate, "") != RESMON_OK) {
        page->is_broken = true;
        return;
    }
    for (size_t i = 1; i < groups->count; i++) {
        if (groups->at[0].run_count > 0 && groups->at[i].run_count > 0) {
            add_difference(page, differences, groups, i);
        }
    }
}

static const char *page_title(struct rm_page *page, const struct rm_groups *groups)
{
    const char *first = groups->count > 0 ? groups->at[0].name : "nothing";
    const char *title = rm_page_shown_at_most(page, first, 80);
    return groups->count > 1 ? rm_page_print(page, "%s, and %zu other command%s", title,
                                             groups->count - 1, groups->count > 2 ? "s" : "")
                             : title;
}

resmon_status rm_bench_write(struct rm_buffer *out, const struct rm_groups *groups,
                             enum rm_form form, size_t width)
{
    struct rm_page page = {.title = ""};
    struct differences differences = {0};
    struct rm_render render = {.form = form, .width = width, .meta = ""};
    bool is_page = form == RM_FORM_HTML;
    if (is_page) {
        page.title = page_title(&page, groups);
        render.meta = groups->count > 0 ? machine_of(&page, groups) : "";
        add_plots(&page, groups);
        add_differences(&page, &differences, groups);
    }
    for (size_t i = 0; i < groups->count; i++) {
        add_table(&page, &groups->at[i], !is_page);
        add_remarks(&page, &groups->at[i]);
    }
    resmon_status status = rm_view_render(out, &page, &render);
    for (size_t i = 0; i < differences.count; i++) {
        rm_diff_free(&differences.items[i]);
    }
    rm_free(differences.items);
    rm_gate_free(&differences.gate);
    return status;
}

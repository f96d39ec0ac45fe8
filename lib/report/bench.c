/* SPDX-License-Identifier: MIT */
#include "report/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/status.h"
#include "compare/shift.h"
#include "report/table.h"

#define STRIP_COLUMNS 20
#define MOST_SCOPES   30U
#define NEAR          0.03 /* of the median: nothing to speak of */
#define FAR           3.5 /* modified z: B. Iglewicz, D. C. Hoaglin: How to Detect Outliers, 1993 */

static const char *const headings[] = {"",       "median",  "interval (95 %)",
                                       "lowest", "highest", "runs, low to high"};
#define COLUMNS RM_ARRAY_LEN(headings)

/* ---- one figure --------------------------------------------------------------------------- */

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
        ret->low = fmin(ret->low, known.at[i]); /* not of NaN */
        ret->high = fmax(ret->high, known.at[i]);
        ret->known++;
    }
    status = status == RESMON_OK ? rm_median_of(known, 0.95, &ret->median) : status;
    status = status == RESMON_OK ? rm_spread_of(known, &ret->spread) : status;
    rm_free(copy);
    return status;
}

/* How many runs lie where: . one, : two, + three and more, # five, @ ten. */
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

static void fill(char (*cells)[RM_TABLE_CELL_BYTES], const struct rm_group_row *row,
                 const struct summary *summary)
{
    char low[RM_HUMAN_BYTES], high[RM_HUMAN_BYTES];
    const char *unit = rm_figures[row->figure].unit;
    (void)snprintf(cells[0], RM_TABLE_CELL_BYTES, "%.50s%s%s", row->path,
                   row->path[0] != '\0' ? ": " : "", rm_figures[row->figure].title);
    rm_human_value(low, summary->median.value, unit, false);
    (void)snprintf(cells[1], RM_TABLE_CELL_BYTES, "%s", low);
    rm_human_value(low, summary->median.low, unit, false);
    rm_human_value(high, summary->median.high, unit, false);
    bool has_interval = !isnan(summary->median.low);
    (void)snprintf(cells[2], RM_TABLE_CELL_BYTES, "%s%s%s", has_interval ? low : "-",
                   has_interval ? " to " : "", has_interval ? high : "");
    rm_human_value(low, summary->low, unit, false);
    rm_human_value(high, summary->high, unit, false);
    (void)snprintf(cells[3], RM_TABLE_CELL_BYTES, "%s", low);
    (void)snprintf(cells[4], RM_TABLE_CELL_BYTES, "%s", high);
    put_strip(cells[5], row, summary);
}

/* ---- the table ---------------------------------------------------------------------------- */

/* Of the run what is known and not 0, without what is only looked at to explain it; of scopes their
 * time. */
static bool is_shown(const struct rm_group_row *row, const struct summary *summary,
                     unsigned *scopes)
{
    if (row->path[0] == '\0') {
        return summary->high > 0.0 && row->figure < RM_FIGURE_others;
    }
    return row->figure == RM_FIGURE_wall && (*scopes)++ < MOST_SCOPES;
}

static resmon_status write_table(struct rm_buffer *buffer, const struct rm_group *group)
{
    struct rm_table table;
    unsigned scopes = 0;
    resmon_status status = RESMON_OK;
    rm_table_begin(&table, headings, COLUMNS, 1);
    table.is_left[COLUMNS - 1] = true;
    table.is_cut = true;
    for (size_t i = 0; i < group->row_count && status == RESMON_OK; i++) {
        struct summary summary;
        status = summarize(&group->rows[i], &summary);
        if (status == RESMON_OK && is_shown(&group->rows[i], &summary, &scopes)) {
            char(*cells)[RM_TABLE_CELL_BYTES] = rm_table_row(&table);
            if (cells != NULL) {
                fill(cells, &group->rows[i], &summary);
            }
        }
    }
    rm_table_end(&table, buffer);
    return status;
}

/* ---- runs that lie far away --------------------------------------------------------------- */

/* What else differed in that run, of the things that make others slow. */
static void say_cause(struct rm_buffer *buffer, const struct rm_group *group, size_t run)
{
    static const struct {
        enum rm_figure_id id;
        const char *what;
    } causes[] = {{RM_FIGURE_steal, "the hypervisor kept the CPUs for"},
                  {RM_FIGURE_throttled, "the quota of the control group held it back for"},
                  {RM_FIGURE_others, "other programs took CPU time of"},
                  {RM_FIGURE_cpu_wait, "somebody waited for CPUs for"},
                  {RM_FIGURE_io_wait, "all waited for I/O for"},
                  {RM_FIGURE_from_storage, "it read from storage"}};
    bool has_cause = false;
    for (size_t i = 0; i < RM_ARRAY_LEN(causes); i++) {
        char text[RM_HUMAN_BYTES];
        struct summary summary;
        const struct rm_group_row *row = rm_group_find(group, "", causes[i].id);
        if (row == NULL || run >= row->count || isnan(row->values[run]) ||
            summarize(row, &summary) != RESMON_OK) {
            continue;
        }
        double more = row->values[run] - summary.median.value;
        if (more > 2.0 * fmax(summary.spread, 0.02 * fabs(summary.median.value)) && more > 0.0) {
            rm_human_value(text, row->values[run], rm_figures[causes[i].id].unit, false);
            rm_buffer_printf(buffer, "%s %s %s", has_cause ? "," : ":", causes[i].what, text);
            has_cause = true;
        }
    }
    rm_buffer_puts(buffer, has_cause ? "" : run == 0 ? ": it was the first" : "");
}

static resmon_status write_outliers(struct rm_buffer *buffer, const struct rm_group *group)
{
    struct summary summary;
    const struct rm_group_row *wall = rm_group_find(group, "", RM_FIGURE_wall);
    resmon_status status = wall != NULL ? summarize(wall, &summary) : RESMON_OK;
    for (size_t i = 0; wall != NULL && status == RESMON_OK && i < wall->count; i++) {
        double apart = wall->values[i] - summary.median.value;
        if (summary.known < 5 || !(fabs(apart) > FAR * summary.spread) ||
            fabs(apart) < NEAR * summary.median.value) {
            continue;
        }
        char text[RM_HUMAN_BYTES];
        rm_human_value(text, wall->values[i], "s", false);
        rm_buffer_printf(buffer, "  run %zu took %s, far from the others", i + 1, text);
        say_cause(buffer, group, i);
        rm_buffer_puts(buffer, "\n");
    }
    return status;
}

static double value_at(const struct rm_group *group, enum rm_figure_id figure, size_t run)
{
    const struct rm_group_row *row = rm_group_find(group, "", figure);
    return row != NULL && run < row->count ? row->values[run] : RM_NAN;
}

/* Of the machine's CPU time. */
static void say_shared(struct rm_buffer *buffer, const struct rm_group *group,
                       enum rm_figure_id figure, double share, const char *what)
{
    size_t runs = 0;
    for (size_t i = 0; i < group->run_count; i++) {
        double all_s = value_at(group, RM_FIGURE_wall, i) * group->machine.cpus;
        runs += value_at(group, figure, i) > fmax(share * all_s, 0.02) ? 1 : 0; /* two ticks */
    }
    if (runs > 0) {
        rm_buffer_printf(buffer,
                         "  in %zu of %zu runs %s more than %.0f %% of the machine's CPU time\n",
                         runs, group->run_count, what, 100.0 * share);
    }
}

resmon_status rm_bench_write_text(struct rm_buffer *buffer, const struct rm_group *group)
{
    size_t failures = rm_group_failures(group);
    rm_buffer_printf(buffer, "%s, %zu run%s", group->name, group->run_count,
                     group->run_count == 1 ? "" : "s");
    if (failures > 0) {
        rm_buffer_printf(buffer, ", of which %zu failed", failures);
    }
    rm_buffer_puts(buffer, "\n\n");
    resmon_status status = write_table(buffer, group);
    status = status == RESMON_OK ? write_outliers(buffer, group) : status;
    say_shared(buffer, group, RM_FIGURE_others, 0.1, "other programs had");
    say_shared(buffer, group, RM_FIGURE_steal, 0.02, "the hypervisor kept");
    return status;
}

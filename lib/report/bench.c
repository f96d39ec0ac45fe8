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

const char *const rm_bench_headings[RM_BENCH_COLUMNS] = {"",       "median",  "interval (95 %)",
                                                         "lowest", "highest", "runs, low to high"};

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

resmon_status rm_bench_each_row(const struct rm_group *group, const struct rm_bench_rows *rows)
{
    unsigned scopes = 0;
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < group->row_count && status == RESMON_OK; i++) {
        struct summary summary;
        char cells[RM_BENCH_COLUMNS][RM_TABLE_CELL_BYTES];
        status = summarize(&group->rows[i], &summary);
        if (status == RESMON_OK && is_shown(&group->rows[i], &summary, &scopes)) {
            fill(cells, &group->rows[i], &summary);
            rows->put(rows, cells);
        }
    }
    return status;
}

static void put_row(const struct rm_bench_rows *rows, char (*cells)[RM_TABLE_CELL_BYTES])
{
    char(*row)[RM_TABLE_CELL_BYTES] = rm_table_row(rows->context);
    if (row != NULL) {
        memcpy(row, cells, RM_BENCH_COLUMNS * sizeof *row);
    }
}

static resmon_status write_table(struct rm_buffer *buffer, const struct rm_group *group)
{
    struct rm_table table;
    const struct rm_bench_rows rows = {put_row, &table};
    rm_table_begin(&table, rm_bench_headings, RM_BENCH_COLUMNS, 1);
    table.is_left[RM_BENCH_COLUMNS - 1] = true;
    resmon_status status = rm_bench_each_row(group, &rows);
    rm_table_end(&table, buffer);
    return status;
}

/* ---- runs that lie far away --------------------------------------------------------------- */

/* A cause is more than usual of a figure (1), or less of it (-1). */
static const struct cause {
    enum rm_figure_id id;
    double sign;
    const char *what;
} causes[] = {{RM_FIGURE_steal, 1, "the hypervisor kept the CPUs for"},
              {RM_FIGURE_throttled, 1, "the CPU quota of its cgroup throttled it for"},
              {RM_FIGURE_heat, 1, "heat slowed the processors down for"},
              {RM_FIGURE_clock, -1, "the CPU's clock was"},
              {RM_FIGURE_others, 1, "other programs took CPU time of"},
              {RM_FIGURE_cpu_wait, 1, "tasks waited for a CPU for"},
              {RM_FIGURE_io_wait, 1, "all tasks waited for I/O for"},
              {RM_FIGURE_from_storage, 1, "it read from storage"}};

/* Whether the figure of a cause was another one in that run than it usually is. */
static bool stands_out(const struct cause *cause, const struct rm_group_row *row, size_t run)
{
    struct summary summary;
    if (row == NULL || run >= row->count || isnan(row->values[run]) ||
        summarize(row, &summary) != RESMON_OK) {
        return false;
    }
    double more = cause->sign * (row->values[run] - summary.median.value);
    return more > 2.0 * fmax(summary.spread, 0.02 * fabs(summary.median.value)) && more > 0.0;
}

/* What else differed in that run, of the things that make others slow. */
static void say_causes(char text[RM_SENTENCE_BYTES], const struct rm_group *group, size_t run)
{
    size_t used = 0;
    for (size_t i = 0; i < RM_ARRAY_LEN(causes); i++) {
        char value[RM_HUMAN_BYTES];
        const struct rm_group_row *row = rm_group_find(group, "", causes[i].id);
        if (stands_out(&causes[i], row, run)) {
            rm_human_value(value, row->values[run], rm_figures[causes[i].id].unit, false);
            used += (size_t)snprintf(text + used, RM_SENTENCE_BYTES - used, "%s %s %s",
                                     used > 0 ? "," : ":", causes[i].what, value);
        }
    }
    if (used == 0) {
        (void)snprintf(text, RM_SENTENCE_BYTES, "%s", run == 0 ? ": it was the first" : "");
    }
}

static resmon_status say_outliers(const struct rm_group *group,
                                  const struct rm_sentences *sentences)
{
    struct summary summary;
    const struct rm_group_row *wall = rm_group_find(group, "", RM_FIGURE_wall);
    resmon_status status = wall != NULL ? summarize(wall, &summary) : RESMON_OK;
    for (size_t i = 0; wall != NULL && status == RESMON_OK && i < wall->count; i++) {
        char value[RM_HUMAN_BYTES], why[RM_SENTENCE_BYTES];
        double apart = wall->values[i] - summary.median.value;
        if (summary.known < 5 || !(fabs(apart) > FAR * summary.spread) ||
            fabs(apart) < NEAR * summary.median.value) {
            continue;
        }
        rm_human_value(value, wall->values[i], "s", false);
        say_causes(why, group, i);
        rm_sentences_say(sentences, "run %zu took %s, far from the others%.900s", i + 1, value,
                         why);
    }
    return status;
}

static double value_at(const struct rm_group *group, enum rm_figure_id figure, size_t run)
{
    const struct rm_group_row *row = rm_group_find(group, "", figure);
    return row != NULL && run < row->count ? row->values[run] : RM_NAN;
}

/* Of the machine's CPU time. */
static void say_shared(const struct rm_group *group, enum rm_figure_id figure, double share,
                       const char *what, const struct rm_sentences *sentences)
{
    size_t runs = 0;
    for (size_t i = 0; i < group->run_count; i++) {
        double all_s = value_at(group, RM_FIGURE_wall, i) * group->machine.cpus;
        runs += value_at(group, figure, i) > fmax(share * all_s, 0.02) ? 1 : 0; /* two ticks */
    }
    if (runs > 0) {
        rm_sentences_say(sentences,
                         "in %zu of %zu runs %s more than %.0f %% of the machine's CPU time", runs,
                         group->run_count, what, 100.0 * share);
    }
}

resmon_status rm_bench_say_remarks(const struct rm_group *group,
                                   const struct rm_sentences *sentences)
{
    resmon_status status = say_outliers(group, sentences);
    say_shared(group, RM_FIGURE_others, 0.1, "other programs had", sentences);
    say_shared(group, RM_FIGURE_steal, 0.02, "the hypervisor kept", sentences);
    return status;
}

void rm_bench_say_title(char text[RM_SENTENCE_BYTES], const struct rm_group *group)
{
    char failed[64] = "";
    size_t failures = rm_group_failures(group);
    if (failures > 0) {
        (void)snprintf(failed, sizeof failed, ", of which %zu failed", failures);
    }
    (void)snprintf(text, RM_SENTENCE_BYTES, "%.900s, %zu run%s%s", group->name, group->run_count,
                   group->run_count == 1 ? "" : "s", failed);
}

/* ---- all ---------------------------------------------------------------------------------- */

static void put_plain(const struct rm_sentences *sentences, const char *text)
{
    struct rm_buffer *buffer = sentences->context;
    rm_buffer_printf(buffer, "  %s\n", text);
}

resmon_status rm_bench_write_text(struct rm_buffer *buffer, const struct rm_group *group)
{
    const struct rm_sentences sentences = {put_plain, buffer};
    char title[RM_SENTENCE_BYTES];
    rm_bench_say_title(title, group);
    rm_buffer_printf(buffer, "%s\n\n", title);
    resmon_status status = write_table(buffer, group);
    return status == RESMON_OK ? rm_bench_say_remarks(group, &sentences) : status;
}

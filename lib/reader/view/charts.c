/* SPDX-License-Identifier: MIT */
#include "view/charts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "metric/view.h"
#include "run/energy.h"
#include "run/record.h"

#define MOST_NAMES 10   /* rows of a group in views.def */
#define SEEN_LIMIT 0.25 /* a limit is drawn if more than this share of it is in use */

/* Rows of a group of the view CHART. */
struct rows {
    struct rm_view_row items[MOST_NAMES];
    size_t count;
};

/* ---- rows of the views ------------------------------------------------------------------ */

static void add_row(struct rows *rows, const struct rm_view_row *row)
{
    if (rows->count < MOST_NAMES) {
        rows->items[rows->count++] = *row;
    }
}

static const char *metric_of(const struct rm_view_row *row)
{
    return rm_metric_name(row->metric);
}

static bool is_bound(const struct rm_view_row *row)
{
    return row->colour < 0;
}

/* The rows of a group with a level (0: any), either uses or bounds. */
static struct rows rows_of(const char *group, uint16_t level, bool bounds)
{
    struct rows rows = {.count = 0};
    struct rm_view_row row;
    for (size_t index = 0; rm_view_next(RM_VIEW_CHART, group, &index, &row);) {
        if ((level == 0 || row.metric->level == level) && is_bound(&row) == bounds) {
            add_row(&rows, &row);
        }
    }
    return rows;
}

static bool has(const struct rm_subject *subject, const struct rm_view_row *row)
{
    return rm_subject_column(subject, metric_of(row)) != NULL;
}

static bool has_any(const struct rm_subject *subject, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (has(subject, &rows->items[i])) {
            return true;
        }
    }
    return false;
}

/* ---- lines ------------------------------------------------------------------------------ */

/* "mean 12.3 %, max 99.8 %"; for a counter also its total. */
static const char *summary_of(struct rm_page *page, const resmon_column *column, const char *unit,
                              double factor)
{
    const char *parts[3] = {"", "", ""};
    if (isfinite(column->mean)) {
        parts[0] = rm_page_print(page, "mean %s", rm_page_value(page, column->mean * factor, unit));
    }
    if (isfinite(column->max)) {
        parts[1] = rm_page_print(page, "max %s", rm_page_value(page, column->max * factor, unit));
    }
    if (column->kind == RESMON_COUNTER && isfinite(column->last)) {
        parts[2] = rm_page_print(page, "total %s", rm_page_value(page, column->last, column->unit));
    }
    return rm_page_join(page, ", ", parts, RM_ARRAY_LEN(parts));
}

static struct rm_chart_line *new_line(struct rm_page *page, const char *key, const char *label,
                                      int colour)
{
    struct rm_chart_line *line = rm_page_alloc(page, 1, sizeof *line);
    if (line != NULL) {
        *line = (struct rm_chart_line){
            .key = key, .label = rm_page_shown(page, label), .colour = colour, .summary = ""};
    }
    return line;
}

/* The line of a column; NULL: there is no such column. */
static struct rm_chart_line *line_of(struct rm_subject *subject, const resmon_column *column,
                                     const char *label, int colour, const char *unit, double factor)
{
    struct rm_page *page = subject->page;
    if (column == NULL) {
        return NULL;
    }
    struct rm_chart_line *line =
        new_line(page, rm_subject_column_name(page, column), label, colour);
    if (line != NULL) {
        size_t index = (size_t)(column - subject->run->columns);
        line->summary = summary_of(page, column, unit, factor);
        line->points = rm_points_of_column(page, subject->run, index, factor, subject->most_points);
    }
    return line;
}

static struct rm_chart_line *line_of_row(struct rm_subject *subject, const struct rm_view_row *row)
{
    const resmon_column *column = rm_subject_column(subject, metric_of(row));
    struct rm_chart_line *line =
        line_of(subject, column, row->label, is_bound(row) ? RM_LINE_BOUND : row->colour, row->unit,
                1.0 / row->divisor);
    if (line != NULL && row->series == RESMON_SERIES_LAST) {
        line->is_level = true;
        line->summary = rm_page_value(subject->page, column->last / row->divisor, row->unit);
    }
    return line;
}

/* ---- charts ----------------------------------------------------------------------------- */

/* The row with title and unit of a group. */
static struct rm_view_row head_of(enum rm_view view, const char *group)
{
    struct rm_view_row row;
    for (size_t i = 0; rm_view_row(i, &row); i++) {
        if (row.view == view && row.metric == NULL && strcmp(row.group, group) == 0) {
            return row;
        }
    }
    return (struct rm_view_row){.label = group, .unit = "1"};
}

static struct rm_chart *new_chart(struct rm_page *page, const char *key, const char *title,
                                  const char *unit, size_t lines)
{
    struct rm_chart *chart = rm_page_alloc(page, 1, sizeof *chart);
    if (chart == NULL) {
        return NULL;
    }
    *chart = (struct rm_chart){.key = key, .title = title, .unit = unit, .note = "", .missing = ""};
    chart->lines = rm_page_alloc(page, lines, sizeof(struct rm_chart_line *));
    chart->room = chart->lines != NULL ? lines : 0;
    return chart;
}

static struct rm_chart *chart_of_group(struct rm_subject *subject, const char *group)
{
    const struct rm_view_row head = head_of(RM_VIEW_CHART, group);
    return new_chart(subject->page, group, head.label, head.unit,
                     subject->run->column_count + MOST_NAMES);
}

static void add_line(struct rm_chart *chart, struct rm_chart_line *line)
{
    if (chart != NULL && line != NULL && chart->count < chart->room) {
        chart->lines[chart->count++] = line;
    }
}

static void add_lines(struct rm_subject *subject, struct rm_chart *chart, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        add_line(chart, line_of_row(subject, &rows->items[i]));
    }
}

bool rm_chart_has_points(const struct rm_chart *chart)
{
    for (size_t i = 0; i < chart->count; i++) {
        if (rm_points_are_there(&chart->lines[i]->points)) {
            return true;
        }
    }
    return false;
}

/* Sets the reason why a chart has no lines or points. */
static struct rm_chart *explained(struct rm_subject *subject, struct rm_chart *chart,
                                  const struct rows *rows)
{
    const char *names[MOST_NAMES];
    if (chart == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < rows->count; i++) {
        names[i] = metric_of(&rows->items[i]);
    }
    if (chart->count == 0) {
        const char *why = rm_subject_why(subject, names, rows->count);
        chart->missing =
            rm_page_print(subject->page, "Not measured: %s", rm_page_shown(subject->page, why));
    } else if (!rm_chart_has_points(chart)) {
        chart->missing = "One sample only: a rate is the growth between two.";
    }
    return chart;
}

/* Whether all values are 0. */
static bool is_quiet(const struct rm_chart *chart)
{
    for (size_t i = 0; i < chart->count; i++) {
        if (rm_points_top(&chart->lines[i]->points) != 0.0) {
            return false;
        }
    }
    return true;
}

/* A chart that is left out if it was not measured, and listed as quiet if all values are 0. */
static struct rm_chart *optional(struct rm_subject *subject, struct rm_chart *chart)
{
    if (chart == NULL || !rm_chart_has_points(chart)) {
        return NULL;
    }
    if (!is_quiet(chart)) {
        return chart;
    }
    if (subject->quiet_count < RM_SUBJECT_QUIET) {
        subject->quiet[subject->quiet_count++] = chart->title;
    }
    return NULL;
}

/* ---- CPU and memory --------------------------------------------------------------------- */

/* The rows of a chart by level. */
struct split {
    struct rows own;  /* of the program: the first row of the tree and the first of the process */
    struct rows more; /* other rows of the program */
    struct rows machine, group, bounds;
};

/* If the program never had children, its own row is that of the process only. */
static struct split split_rows(const struct rm_subject *subject, const char *name)
{
    const struct rows tree = rows_of(name, RESMON_LEVEL_TREE, false);
    const struct rows process = rows_of(name, RESMON_LEVEL_PROCESS, false);
    const struct rows uses = rows_of(name, 0, false);
    struct split split = {.machine = rows_of(name, RESMON_LEVEL_NODE, false),
                          .group = rows_of(name, RESMON_LEVEL_CGROUP, false),
                          .bounds = rows_of(name, 0, true)};
    bool is_alone = rm_subject_highest(subject, "tree.processes") == 1.0 && process.count > 0 &&
                    has(subject, &process.items[0]);
    for (size_t i = 0; i < uses.count; i++) {
        const struct rm_view_row *row = &uses.items[i];
        uint16_t level = row->metric->level;
        bool is_first = (tree.count > 0 && row->metric == tree.items[0].metric) ||
                        (process.count > 0 && row->metric == process.items[0].metric);
        if ((level == RESMON_LEVEL_TREE || level == RESMON_LEVEL_PROCESS) && !is_first) {
            add_row(&split.more, row);
        }
    }
    if (tree.count > 0 && !is_alone) {
        add_row(&split.own, &tree.items[0]);
    }
    if (process.count > 0) {
        add_row(&split.own, &process.items[0]);
    }
    return split;
}

static struct rm_chart *cpu_chart(struct rm_subject *subject)
{
    const struct split split = split_rows(subject, "cpu");
    struct rm_chart *chart = chart_of_group(subject, "cpu");
    if (chart == NULL) {
        return NULL;
    }
    bool has_own = has_any(subject, &split.own) || has_any(subject, &split.more);
    for (size_t i = 0; i < split.machine.count && (subject->cpus > 0.0 || !has_own); i++) {
        const struct rm_view_row *row = &split.machine.items[i];
        double factor = subject->cpus > 0.0 ? subject->cpus : 1.0 / row->divisor;
        add_line(chart, line_of(subject, rm_subject_column(subject, metric_of(row)), row->label,
                                row->colour, row->unit, factor));
    }
    add_lines(subject, chart, &split.own);
    add_lines(subject, chart, &split.more);
    add_lines(subject, chart, &split.group);
    for (size_t i = 0; i < split.bounds.count; i++) {
        if (rm_subject_highest(subject, metric_of(&split.bounds.items[i])) != 0.0) {
            add_line(chart, line_of_row(subject, &split.bounds.items[i]));
        }
    }
    if (chart->count > 0) {
        chart->note = subject->cpus > 0.0
                          ? rm_page_print(subject->page, "100 %% = one CPU; the machine has %s",
                                          rm_page_fixed(subject->page, subject->cpus, 0))
                      : has_own ? "100 % = one CPU"
                                : "100 % = all CPUs";
    }
    return explained(subject, chart, &split.own);
}

/* A limit near the use is a line; a higher one is a remark. */
static void add_limits(struct rm_subject *subject, struct rm_chart *chart,
                       const struct rows *bounds)
{
    for (size_t i = 0; i < bounds->count; i++) {
        struct rm_chart_line *limit = line_of_row(subject, &bounds->items[i]);
        double used = 0.0;
        for (size_t l = 0; l < chart->count; l++) {
            double top = rm_points_top(&chart->lines[l]->points);
            used = top > used ? top : used;
        }
        if (limit != NULL && used > SEEN_LIMIT * rm_points_top(&limit->points)) {
            add_line(chart, limit);
        } else if (limit != NULL) {
            chart->note = rm_page_print(subject->page, "%s: %s, above this chart", limit->label,
                                        limit->summary);
        }
    }
}

static struct rm_chart *memory_chart(struct rm_subject *subject)
{
    const struct split split = split_rows(subject, "memory");
    struct rm_chart *chart = chart_of_group(subject, "memory");
    if (chart == NULL) {
        return NULL;
    }
    if (!has_any(subject, &split.own) && has_any(subject, &split.machine)) {
        add_lines(subject, chart, &split.machine);
        return explained(subject, chart, &split.own);
    }
    add_lines(subject, chart, &split.own);
    add_lines(subject, chart, &split.more);
    if (has_any(subject, &split.bounds)) {
        add_lines(subject, chart, &split.group);
    }
    add_limits(subject, chart, &split.bounds);
    return explained(subject, chart, &split.own);
}

/* ---- I/O, network, pressure ------------------------------------------------------------- */

static struct rm_chart *io_chart(struct rm_subject *subject, const char *group)
{
    const char *names[MOST_NAMES];
    struct rm_chart *chart = chart_of_group(subject, group);
    struct rows wanted = rows_of(group, RESMON_LEVEL_TREE, false);
    if (!has_any(subject, &wanted)) {
        wanted = rows_of(group, RESMON_LEVEL_PROCESS, false);
    }
    const struct rows disks = rows_of(group, RESMON_LEVEL_NODE, false);
    if (chart != NULL && !has_any(subject, &wanted) && has_any(subject, &disks)) {
        for (size_t i = 0; i < wanted.count; i++) {
            names[i] = metric_of(&wanted.items[wanted.count - 1 - i]);
        }
        add_lines(subject, chart, &disks);
        const char *why = rm_subject_why(subject, names, wanted.count);
        chart->note = rm_page_print(subject->page, "by the program: not measured: %s",
                                    rm_page_shown(subject->page, why));
        return explained(subject, chart, &disks);
    }
    add_lines(subject, chart, &wanted);
    return explained(subject, chart, &wanted);
}

/* The part of a label behind its last ", ". */
static const char *last_word(const char *label)
{
    const char *at = label;
    for (const char *next; (next = strstr(at, ", ")) != NULL;) {
        at = next + 2;
    }
    return at;
}

/* Each InfiniBand port has its own color, from the color of the first row on. */
struct ports {
    int first_colour, count;
};

/* Adds the lines of a row: of the whole machine, or with `of_ports` those of its ports. */
static void add_network(struct rm_subject *subject, struct rm_chart *chart,
                        const struct rm_view_row *row, bool of_ports, struct ports *ports)
{
    const resmon_column *column;
    for (size_t at = 0;
         (column = rm_subject_next_instance(subject, metric_of(row), &at)) != NULL;) {
        const char *label = row->label;
        int colour = row->colour;
        if ((column->instance[0] != '\0') != of_ports) {
            continue;
        }
        if (of_ports) {
            label = rm_page_print(subject->page, "%s, %s", column->instance, last_word(row->label));
            ports->first_colour = ports->count == 0 ? row->colour : ports->first_colour;
            colour = ports->first_colour + ports->count++;
        }
        add_line(chart, line_of(subject, column, label, colour, chart->unit, 1.0));
    }
}

static struct rm_chart *network_chart(struct rm_subject *subject)
{
    const struct rows rows = rows_of("network", 0, false);
    struct rm_chart *chart = chart_of_group(subject, "network");
    struct ports ports = {0};
    if (chart == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < rows.count; i++) {
        add_network(subject, chart, &rows.items[i], false, &ports);
    }
    for (size_t i = 0; i < rows.count; i++) {
        add_network(subject, chart, &rows.items[i], true, &ports);
    }
    bool is_with_ports = chart->count > 2; /* more than received and sent */
    if (rows.count > 0 && has(subject, &rows.items[0])) {
        chart->note = is_with_ports ? "every interface but loopback, and InfiniBand"
                                    : "every interface but loopback";
    }
    return optional(subject, chart);
}

static struct rm_chart *pressure_chart(struct rm_subject *subject)
{
    const struct rows group = rows_of("pressure", RESMON_LEVEL_CGROUP, false);
    const struct rows machine = rows_of("pressure", RESMON_LEVEL_NODE, false);
    struct rm_chart *chart = chart_of_group(subject, "pressure");
    bool is_of_group = group.count > 0 && has(subject, &group.items[0]);
    if (chart != NULL) {
        add_lines(subject, chart, is_of_group ? &group : &machine);
        chart->note = is_of_group ? "share of the time that some task of the cgroup waited (PSI)"
                                  : "share of the time that some task of the machine waited (PSI)";
    }
    return optional(subject, chart);
}

/* ---- power ------------------------------------------------------------------------------ */

/* The sum of the power from several columns of joules. */
static struct rm_points power_points(struct rm_subject *subject,
                                     const resmon_column *const *columns, size_t count)
{
    struct rm_points points = {0};
    double *watts = rm_alloc(subject->run->row_count + 1, sizeof *watts);
    if (watts == NULL) {
        subject->page->is_broken = true;
        return points;
    }
    for (size_t row = 0; row < subject->run->row_count; row++) {
        watts[row] = RM_NAN;
    }
    for (size_t i = 0; i < count; i++) {
        rm_points_add_power(subject->page, subject->run,
                            (size_t)(columns[i] - subject->run->columns), subject->least_rows,
                            watts);
    }
    points = rm_points_of_rows(subject->page, subject->run, watts, subject->most_points);
    rm_free(watts);
    return points;
}

static struct rm_chart_line *power_line(struct rm_subject *subject, const char *key,
                                        const struct rm_view_row *first,
                                        const resmon_column *const *columns, size_t count,
                                        double joules)
{
    struct rm_page *page = subject->page;
    struct rm_chart_line *line = new_line(page, key, first->label, first->colour);
    double seconds = rm_subject_seconds(subject->run);
    if (line == NULL) {
        return NULL;
    }
    line->points = power_points(subject, columns, count);
    if (seconds > 0.0 && isfinite(joules)) {
        line->summary =
            rm_page_print(page, "mean %s, total %s", rm_page_value(page, joules / seconds, "W"),
                          rm_page_value(page, joules, "J"));
    }
    return line;
}

/* The energy of the component of a metric, in joules: "node.energy.cpu". */
static double joules_of(const struct rm_subject *subject, const char *metric)
{
    const char *name = strrchr(metric, '.');
    for (size_t i = 0; i < RM_ENERGY_PARTS && name != NULL; i++) {
        const resmon_energy_part part = rm_run_energy_part(subject->run, i);
        if (strcmp(part.name, name + 1) == 0) {
            return part.node_j;
        }
    }
    return RM_NAN;
}

static struct rm_chart *power_chart(struct rm_subject *subject)
{
    const struct rows rows = rows_of("power", 0, false);
    const resmon_column *share[MOST_NAMES];
    const struct rm_view_row *first = NULL;
    size_t shares = 0;
    struct rm_chart *chart = chart_of_group(subject, "power");
    if (!subject->has_energy || chart == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < rows.count; i++) {
        const struct rm_view_row *row = &rows.items[i];
        const resmon_column *column = rm_subject_column(subject, metric_of(row));
        if (column != NULL && row->metric->level == RESMON_LEVEL_TREE) {
            first = first == NULL ? row : first;
            share[shares++] = column;
        } else if (column != NULL) {
            add_line(chart, power_line(subject, metric_of(row), row, &column, 1,
                                       joules_of(subject, metric_of(row))));
        }
    }
    if (shares > 0) {
        add_line(chart,
                 power_line(subject, "tree.energy", first, share, shares, subject->energy.tree_j));
    }
    chart->note =
        rm_page_print(subject->page, "of the machine by component, and the program's share; %s",
                      rm_word_of(RM_TYPE_PROVENANCE, subject->energy.provenance));
    return chart;
}

/* ---- GPUs and other metrics ------------------------------------------------------------- */

static struct rm_chart *gpu_chart(struct rm_subject *subject, const char *group, const char *note)
{
    const struct rows rows = rows_of(group, 0, false);
    struct rm_chart *chart = chart_of_group(subject, group);
    for (size_t i = 0; i < rows.count && chart != NULL; i++) {
        const struct rm_view_row *row = &rows.items[i];
        const resmon_column *column;
        int colour = 0;
        for (size_t at = 0;
             (column = rm_subject_next_instance(subject, metric_of(row), &at)) != NULL;) {
            const char *label = rm_page_print(subject->page, "%s %s", row->label, column->instance);
            add_line(chart, line_of(subject, column, label, colour++, chart->unit, 1.0));
        }
    }
    if (chart != NULL) {
        chart->note = note;
    }
    return optional(subject, chart);
}

static struct rm_chart *other_chart(struct rm_subject *subject, const struct rm_view_row *row)
{
    const resmon_column *column;
    int colour = 0;
    struct rm_chart *chart =
        new_chart(subject->page, metric_of(row), row->label, row->unit, subject->run->column_count);
    for (size_t at = 0; chart != NULL && (column = rm_subject_next_instance(subject, metric_of(row),
                                                                            &at)) != NULL;) {
        const char *label = column->instance[0] != '\0' ? column->instance : row->label;
        add_line(chart, line_of(subject, column, label, colour++, row->unit, 1.0 / row->divisor));
    }
    if (chart != NULL) {
        chart->note = rm_metric_help(row->metric);
    }
    return optional(subject, chart);
}

/* ---- all of a run ----------------------------------------------------------------------- */

static struct rm_charts new_charts(struct rm_page *page, size_t room)
{
    struct rm_charts charts = {.items = rm_page_alloc(page, room, sizeof(struct rm_chart *))};
    charts.room = charts.items != NULL ? room : 0;
    return charts;
}

static void add_chart(struct rm_charts *charts, struct rm_chart *chart)
{
    if (chart != NULL && charts->count < charts->room) {
        charts->items[charts->count++] = chart;
    }
}

struct rm_charts rm_charts_of_run(struct rm_subject *subject)
{
    struct rm_view_row row;
    struct rm_charts charts =
        new_charts(subject->page, 16 + subject->run->column_count + subject->plot_count);
    add_chart(&charts, cpu_chart(subject));
    add_chart(&charts, memory_chart(subject));
    add_chart(&charts, io_chart(subject, "read"));
    add_chart(&charts, io_chart(subject, "write"));
    add_chart(&charts, optional(subject, power_chart(subject)));
    add_chart(&charts, gpu_chart(subject, "gpu", "share of the time in which a kernel ran"));
    add_chart(&charts, gpu_chart(subject, "gpu_memory", ""));
    add_chart(&charts, network_chart(subject));
    add_chart(&charts, pressure_chart(subject));
    for (size_t index = 0; rm_view_next(RM_VIEW_CHART, RM_VIEW_OTHER, &index, &row);) {
        add_chart(&charts, other_chart(subject, &row));
    }
    for (size_t i = 0; i < subject->plot_count; i++) {
        row = rm_view_chart_of(subject->plots[i]);
        add_chart(&charts, other_chart(subject, &row));
    }
    return charts;
}

/* ---- several runs ----------------------------------------------------------------------- */

/* A row of several runs, and the function that makes the line of one run. */
struct compared {
    struct rm_view_row row;
    struct rm_chart_line *(*line)(struct rm_subject *subject, const struct rm_view_row *row);
};

static struct rm_chart_line *plain_line(struct rm_subject *subject, const struct rm_view_row *row)
{
    return line_of(subject, rm_subject_column(subject, metric_of(row)), "", 0, row->unit,
                   1.0 / row->divisor);
}

static struct rm_chart_line *share_of_power(struct rm_subject *subject,
                                            const struct rm_view_row *row)
{
    const struct rm_chart *chart = power_chart(subject);
    (void)row;
    for (size_t i = 0; chart != NULL && !is_quiet(chart) && i < chart->count; i++) {
        if (strcmp(chart->lines[i]->key, "tree.energy") == 0) {
            return chart->lines[i];
        }
    }
    return NULL;
}

/* The sum of all GPUs of a run, by row. */
struct gpus {
    double *sums, *counts; /* by row: the sum and the number of values */
    double mean;           /* the sum of the means */
    unsigned count;
};

static void add_gpu(const struct resmon_run *run, const resmon_column *column, struct gpus *gpus)
{
    const double *values = rm_run_series(run, (size_t)(column - run->columns), RESMON_SERIES_MEAN);
    for (size_t row = 0; row < run->row_count; row++) {
        gpus->sums[row] += isnan(values[row]) ? 0.0 : values[row];
        gpus->counts[row] += isnan(values[row]) ? 0.0 : 1.0;
    }
    gpus->mean += column->mean;
    gpus->count++;
}

/* Slices (MIG) are left out: they are parts of GPUs that are included. */
static struct gpus gpus_of(struct rm_subject *subject, const char *metric)
{
    const size_t rows = subject->run->row_count;
    struct gpus gpus = {.sums = rm_page_alloc(subject->page, rows, sizeof(double)),
                        .counts = rm_page_alloc(subject->page, rows, sizeof(double))};
    const resmon_column *column;
    for (size_t at = 0; rows > 0 && !subject->page->is_broken &&
                        (column = rm_subject_next_instance(subject, metric, &at)) != NULL;) {
        if (strchr(column->instance, ':') == NULL) {
            add_gpu(subject->run, column, &gpus);
        }
    }
    return gpus;
}

/* The sum of the memory of all GPUs, or the mean of their use. */
static struct rm_chart_line *line_of_gpus(struct rm_subject *subject, const struct rm_view_row *row)
{
    struct rm_page *page = subject->page;
    bool is_sum = strcmp(row->group, "gpu_memory") == 0;
    const struct gpus gpus = gpus_of(subject, metric_of(row));
    struct rm_chart_line *line = new_line(page, metric_of(row), "", 0);
    if (line == NULL || gpus.count == 0) {
        return NULL;
    }
    for (size_t r = 0; r < subject->run->row_count; r++) {
        double of = is_sum ? 1.0 : gpus.counts[r];
        gpus.sums[r] = gpus.counts[r] > 0.0 ? gpus.sums[r] / of : RM_NAN;
    }
    line->points = rm_points_of_rows(page, subject->run, gpus.sums, subject->most_points);
    line->summary = rm_page_print(
        page, "mean %s, %u GPUs",
        rm_page_value(page, gpus.mean / (is_sum ? 1.0 : gpus.count), row->unit), gpus.count);
    return line;
}

/* "; not measured: n1, n2 and 3 more". */
static const char *absent_text(struct rm_page *page, const struct rm_subject *subjects,
                               struct rm_chart_line *const *lines, size_t count)
{
    const char *names[4];
    size_t absent = 0, named = 0;
    for (size_t i = 0; i < count; i++) {
        absent += lines[i] == NULL ? 1 : 0;
        if (lines[i] == NULL && named < RM_ARRAY_LEN(names)) {
            names[named++] = subjects[i].label;
        }
    }
    if (absent == 0 || absent == count) {
        return "";
    }
    const char *text =
        rm_page_print(page, "; not measured: %s", rm_page_join(page, ", ", names, named));
    return absent > named ? rm_page_print(page, "%s and %zu more", text, absent - named) : text;
}

static void compare(struct rm_charts *charts, struct rm_subject *subjects, size_t count,
                    const struct rm_view_row *head, const char *note,
                    const struct compared *compared)
{
    struct rm_page *page = subjects[0].page;
    struct rm_chart_line **lines = rm_page_alloc(page, count, sizeof(struct rm_chart_line *));
    struct rm_chart *chart = new_chart(page, head->group, head->label, head->unit, count);
    for (size_t i = 0; i < count && lines != NULL; i++) {
        lines[i] = compared->line(&subjects[i], &compared->row);
        if (lines[i] != NULL) {
            lines[i]->key = head->group;
            lines[i]->run = i;
            lines[i]->label = subjects[i].label;
            lines[i]->colour = (int)i;
            lines[i]->points.low = lines[i]->points.high = NULL;
        }
        add_line(chart, lines[i]);
    }
    if (chart == NULL || lines == NULL) {
        return;
    }
    chart->note = rm_page_print(page, "%s%s", note, absent_text(page, subjects, lines, count));
    if (rm_chart_has_points(chart)) {
        add_chart(charts, chart);
    }
}

static bool is_of_gpus(const char *group)
{
    return strcmp(group, "gpu") == 0 || strcmp(group, "gpu_memory") == 0;
}

/* The first row of a group for which any run has values. */
static bool find_compared(const struct rm_subject *subjects, size_t count, const char *group,
                          struct rm_view_row *row)
{
    for (size_t index = 0; rm_view_next(RM_VIEW_COMPARE, group, &index, row);) {
        for (size_t i = 0; i < count; i++) {
            size_t at = 0;
            if (rm_subject_next_instance(&subjects[i], metric_of(row), &at) != NULL) {
                return true;
            }
        }
    }
    return false;
}

struct rm_charts rm_charts_of_runs(struct rm_subject *subjects, size_t count)
{
    struct rm_charts charts = new_charts(subjects[0].page, 32);
    struct rm_view_row head;
    for (int of_gpus = 0; of_gpus < 2; of_gpus++) {
        for (size_t i = 0; rm_view_row(i, &head); i++) {
            struct compared compared = {.line = of_gpus ? line_of_gpus : plain_line};
            if (head.view == RM_VIEW_COMPARE && head.metric == NULL &&
                is_of_gpus(head.group) == (of_gpus == 1) &&
                find_compared(subjects, count, head.group, &compared.row)) {
                compare(&charts, subjects, count, &head, compared.row.label, &compared);
            }
        }
        if (!of_gpus) {
            const struct compared power = {.line = share_of_power};
            head = head_of(RM_VIEW_CHART, "power");
            head.group = "power";
            compare(&charts, subjects, count, &head, "the program's share of the machine's",
                    &power);
        }
    }
    return charts;
}

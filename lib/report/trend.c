/* SPDX-License-Identifier: MIT */
#include "report/trend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/human.h"
#include "report/table.h"

#define COLUMNS       6
#define STRIP_COLUMNS 40U

static const char *const headings[COLUMNS] = {"",           "first",   "last",
                                              "benchmarks", "changes", "trend"};

/* ---- pieces ------------------------------------------------------------------------------- */

static void put_time(char text[32], int64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    struct tm parts;
    text[0] = '\0';
    if (realtime_ns > 0 && gmtime_r(&seconds, &parts) != NULL) {
        (void)strftime(text, 32, "%Y-%m-%d %H:%M UTC", &parts);
    }
}

void rm_trend_say_title(char text[RM_SENTENCE_BYTES], const struct rm_trend *trend)
{
    char first[32] = "", last[32] = "";
    if (trend->count > 0) {
        put_time(first, trend->documents[0].realtime_ns);
        put_time(last, trend->documents[trend->count - 1].realtime_ns);
    }
    bool has_times = first[0] != '\0' && last[0] != '\0';
    (void)snprintf(text, RM_SENTENCE_BYTES, "%zu benchmark%s%s%s%s%s", trend->count,
                   trend->count == 1 ? "" : "s", has_times ? ", from " : "", has_times ? first : "",
                   has_times ? " to " : "", has_times ? last : "");
}

void rm_trend_say_figure(char text[RM_SENTENCE_BYTES], const struct rm_trend_series *series)
{
    (void)snprintf(text, RM_SENTENCE_BYTES, "%.500s%s%s", series->path,
                   series->path[0] != '\0' ? ": " : "", rm_figures[series->figure].title);
}

void rm_trend_say_place(char text[RM_SENTENCE_BYTES], const struct rm_trend_series *series)
{
    const struct rm_group_machine *machine = &series->group->machine;
    int used = snprintf(text, RM_SENTENCE_BYTES, "%.600s", series->group->name);
    if (machine->cpu_model[0] != '\0') {
        used += snprintf(text + used, RM_SENTENCE_BYTES - (size_t)used, ", on %.200s",
                         machine->cpu_model);
    }
    if (machine->cpus > 0.0) {
        used +=
            snprintf(text + used, RM_SENTENCE_BYTES - (size_t)used, ", %.0f CPUs", machine->cpus);
    }
    if (machine->kernel[0] != '\0') {
        (void)snprintf(text + used, RM_SENTENCE_BYTES - (size_t)used, ", kernel %.100s",
                       machine->kernel);
    }
}

void rm_trend_say_document(char text[RM_SENTENCE_BYTES], const struct rm_trend_document *document)
{
    char time[32];
    put_time(time, document->realtime_ns);
    (void)snprintf(text, RM_SENTENCE_BYTES, "%.200s%s%s%s", document->label,
                   time[0] != '\0' ? " (" : "", time, time[0] != '\0' ? ")" : "");
}

void rm_trend_say_change(char text[RM_SENTENCE_BYTES], const struct rm_trend *trend,
                         const struct rm_trend_series *series, const struct rm_trend_change *change)
{
    char where[RM_SENTENCE_BYTES], before[RM_HUMAN_BYTES], after[RM_HUMAN_BYTES],
        by[RM_HUMAN_BYTES], share[RM_HUMAN_BYTES] = "", p[RM_HUMAN_BYTES];
    const char *unit = rm_figures[series->figure].unit;
    double percent = 100.0 * change->shift.value / change->before;
    const char *sign = change->shift.value < 0.0 ? "-" : "+";
    rm_trend_say_document(where, &trend->documents[series->points[change->at].document]);
    rm_human_value(before, change->before, unit, false);
    rm_human_value(after, change->after, unit, false);
    rm_human_value(by, fabs(change->shift.value), unit, false);
    rm_human_fixed(p, change->p, 3);
    if (change->before > 0.0 && isfinite(percent)) {
        rm_human_fixed(share, fabs(percent), 1);
    }
    (void)snprintf(text, RM_SENTENCE_BYTES, "at %.300s: %s, then %s: %s%s%s%s%s%s, p %s", where,
                   before, after, sign, share[0] != '\0' ? share : by,
                   share[0] != '\0' ? " % (" : "", share[0] != '\0' ? sign : "",
                   share[0] != '\0' ? by : "", share[0] != '\0' ? ")" : "", p);
}

bool rm_trend_is_same_place(const struct rm_trend_series *one, const struct rm_trend_series *other)
{
    char text[512];
    return strcmp(one->group->name, other->group->name) == 0 &&
           rm_group_is_same_machine(&one->group->machine, &other->group->machine, text,
                                    sizeof text);
}

bool rm_trend_is_first_of_place(const struct rm_trend *trend, size_t index)
{
    size_t k = 0;
    while (k < index && !rm_trend_is_same_place(&trend->series[k], &trend->series[index])) {
        k++;
    }
    return k == index;
}

/* ---- the table ---------------------------------------------------------------------------- */

/* Medians from low to high as eight levels, the last ones to the right. */
static void put_strip(char *text, const struct rm_trend_series *series)
{
    static const char *const levels[] = {"_", ".", "-", "=", "*", "%", "#", "@"};
    size_t first = series->count > STRIP_COLUMNS ? series->count - STRIP_COLUMNS : 0;
    double low = HUGE_VAL, high = -HUGE_VAL;
    text[0] = '\0';
    for (size_t i = first; i < series->count; i++) {
        low = fmin(low, series->points[i].median.value);
        high = fmax(high, series->points[i].median.value);
    }
    for (size_t i = first; i < series->count; i++) {
        double share = high > low ? (series->points[i].median.value - low) / (high - low) : 0.0;
        text[i - first] = levels[(size_t)(share * 7.99)][0];
        text[i - first + 1] = '\0';
    }
}

static void fill(char (*cells)[RM_TABLE_CELL_BYTES], const struct rm_trend_series *series)
{
    char text[RM_SENTENCE_BYTES], value[RM_HUMAN_BYTES];
    const char *unit = rm_figures[series->figure].unit;
    rm_trend_say_figure(text, series);
    (void)snprintf(cells[0], RM_TABLE_CELL_BYTES, "%.60s", text);
    rm_human_value(value, series->points[0].median.value, unit, false);
    (void)snprintf(cells[1], RM_TABLE_CELL_BYTES, "%s", value);
    rm_human_value(value, series->points[series->count - 1].median.value, unit, false);
    (void)snprintf(cells[2], RM_TABLE_CELL_BYTES, "%s", value);
    (void)snprintf(cells[3], RM_TABLE_CELL_BYTES, "%zu", series->count);
    (void)snprintf(cells[4], RM_TABLE_CELL_BYTES, "%zu", series->change_count);
    put_strip(cells[5], series);
}

/* Of series `first` and those of the same place. */
static void write_place(struct rm_buffer *buffer, const struct rm_trend *trend, size_t first,
                        size_t width)
{
    char text[RM_SENTENCE_BYTES], figure[RM_SENTENCE_BYTES];
    struct rm_table table;
    rm_trend_say_place(text, &trend->series[first]);
    rm_buffer_printf(buffer, "\n%s\n\n", text);
    rm_table_begin(&table, headings, COLUMNS, 1);
    table.width = width;
    table.is_left[COLUMNS - 1] = true;
    for (size_t i = first; i < trend->series_count; i++) {
        char(*cells)[RM_TABLE_CELL_BYTES] =
            rm_trend_is_same_place(&trend->series[first], &trend->series[i]) ? rm_table_row(&table)
                                                                             : NULL;
        if (cells != NULL) {
            fill(cells, &trend->series[i]);
        }
    }
    rm_table_end(&table, buffer);
    for (size_t i = first; i < trend->series_count; i++) {
        const struct rm_trend_series *series = &trend->series[i];
        bool is_here = rm_trend_is_same_place(&trend->series[first], series);
        for (size_t k = 0; is_here && k < series->change_count; k++) {
            rm_trend_say_figure(figure, series);
            rm_trend_say_change(text, trend, series, &series->changes[k]);
            rm_buffer_printf(buffer, "  %s %s\n", figure, text);
        }
    }
}

void rm_trend_write_text(struct rm_buffer *buffer, const struct rm_trend *trend, size_t width)
{
    char text[RM_SENTENCE_BYTES];
    rm_trend_say_title(text, trend);
    rm_buffer_printf(buffer, "%s\n", text);
    for (size_t i = 0; i < trend->series_count; i++) {
        if (rm_trend_is_first_of_place(trend, i)) {
            write_place(buffer, trend, i, width);
        }
    }
    if (trend->left_out > 0) {
        rm_buffer_printf(
            buffer, "\n%zu values of benchmarks are left out: only the first %u series are shown\n",
            trend->left_out, RM_TREND_SERIES);
    }
    if (trend->machines > 1) {
        rm_buffer_printf(buffer, "\n%zu kinds of machines: what they measured is not compared\n",
                         trend->machines);
    }
}

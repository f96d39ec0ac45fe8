/* SPDX-License-Identifier: MIT */
#include "page/numbers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define COLOURS     8
#define MOST_BYTES  ((size_t)64 << 20)
#define TIME_STEPS  1e5 /* of the whole that are told apart */
#define MEAN_DIGITS 4
#define BAND_DIGITS 3

/* ---- numbers ---------------------------------------------------------------------------- */

void rm_numbers_put(struct rm_buffer *out, double value, int decimals)
{
    char text[400];
    int length = snprintf(text, sizeof text, "%.*f", decimals, value);
    rm_text_point(text);
    while (decimals > 0 && length > 1 && text[length - 1] == '0') {
        length--;
    }
    length -= length > 1 && text[length - 1] == '.' ? 1 : 0;
    rm_buffer_add(out, text, (size_t)length);
}

static void put_rounded(struct rm_buffer *out, double value, int digits)
{
    char text[64];
    if (!isfinite(value)) {
        rm_buffer_puts(out, "null");
        return;
    }
    (void)snprintf(text, sizeof text, "%.*g", digits, value);
    rm_text_point(text);
    rm_buffer_puts(out, text);
}

static void put_list(struct rm_buffer *out, const double *values, size_t count, int digits)
{
    rm_buffer_puts(out, "[");
    for (size_t i = 0; i < count; i++) {
        rm_buffer_puts(out, i > 0 ? "," : "");
        put_rounded(out, values[i], digits);
    }
    rm_buffer_puts(out, "]");
}

/* ---- lines ------------------------------------------------------------------------------ */

void rm_numbers_open(struct rm_numbers *numbers, struct rm_page *page, double seconds)
{
    double step = (seconds > 1e-6 ? seconds : 1e-6) / TIME_STEPS;
    double places = -floor(log10(step));
    *numbers = (struct rm_numbers){.page = page,
                                   .places = places < 0.0   ? 0
                                             : places > 9.0 ? 9
                                                            : (int)places};
    rm_buffer_init(&numbers->lines, MOST_BYTES);
}

void rm_numbers_close(struct rm_numbers *numbers)
{
    rm_buffer_free(&numbers->lines);
    rm_free(numbers->times);
}

static bool have_same_times(const struct rm_points *one, const struct rm_points *other)
{
    return one->count == other->count &&
           memcmp(one->times, other->times, one->count * sizeof *one->times) == 0;
}

/* The number of the list of times of a line. */
static size_t time_of(struct rm_numbers *numbers, const struct rm_chart_line *line)
{
    for (size_t i = 0; i < numbers->time_count; i++) {
        if (have_same_times(&numbers->times[i]->points, &line->points)) {
            return i;
        }
    }
    const struct rm_chart_line **times = rm_grow(
        numbers->times, numbers->time_count, &numbers->time_room, sizeof(struct rm_chart_line *));
    if (times == NULL) {
        numbers->page->is_broken = true;
        return 0;
    }
    numbers->times = times;
    numbers->times[numbers->time_count] = line;
    return numbers->time_count++;
}

void rm_numbers_add(struct rm_numbers *numbers, const struct rm_chart_line *line)
{
    struct rm_buffer *out = &numbers->lines;
    const struct rm_points *points = &line->points;
    rm_buffer_puts(out, out->length > 0 ? "," : "");
    rm_buffer_json(out, line->key);
    rm_buffer_printf(out, ":[%zu,", time_of(numbers, line));
    put_list(out, points->mean, points->count, MEAN_DIGITS);
    if (points->low != NULL) {
        rm_buffer_puts(out, ",");
        put_list(out, points->low, points->count, BAND_DIGITS);
        rm_buffer_puts(out, ",");
        put_list(out, points->high, points->count, BAND_DIGITS);
    }
    rm_buffer_puts(out, "]");
}

void rm_numbers_write(struct rm_numbers *numbers, struct rm_buffer *out)
{
    rm_buffer_puts(out, "\"times\":[");
    for (size_t i = 0; i < numbers->time_count; i++) {
        const struct rm_points *points = &numbers->times[i]->points;
        rm_buffer_puts(out, i > 0 ? ",[" : "[");
        for (size_t k = 0; k < points->count; k++) {
            rm_buffer_puts(out, k > 0 ? "," : "");
            rm_numbers_put(out, points->times[k], numbers->places);
        }
        rm_buffer_puts(out, "]");
    }
    rm_buffer_puts(out, "],\"lines\":{");
    rm_buffer_puts(out, numbers->lines.text != NULL ? numbers->lines.text : "");
    rm_buffer_puts(out, "}");
    numbers->page->is_broken |= numbers->lines.status != RESMON_OK;
}

/* ---- charts ----------------------------------------------------------------------------- */

void rm_numbers_write_chart(struct rm_buffer *out, const struct rm_chart *chart, const char *place,
                            bool of_runs)
{
    rm_buffer_puts(out, "{\"at\":");
    rm_buffer_json(out, place);
    rm_buffer_puts(out, ",\"unit\":");
    rm_buffer_json(out, chart->unit);
    rm_buffer_puts(out, ",\"lines\":[");
    for (size_t i = 0; i < chart->count; i++) {
        const struct rm_chart_line *line = chart->lines[i];
        rm_buffer_puts(out, i > 0 ? ",[" : "[");
        if (of_runs) {
            rm_buffer_printf(out, "%zu,%d,0,", line->run, line->colour % COLOURS);
            rm_buffer_json(out, line->key);
        } else {
            rm_buffer_json(out, line->key);
            if (line->colour < 0) {
                rm_buffer_puts(out, ",\"L\"");
            } else {
                rm_buffer_printf(out, ",%d", line->colour % COLOURS);
            }
            rm_buffer_printf(out, ",%d", line->is_level ? 1 : 0);
        }
        rm_buffer_puts(out, "]");
    }
    rm_buffer_puts(out, "]}");
}

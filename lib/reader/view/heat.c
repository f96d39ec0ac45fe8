/* SPDX-License-Identifier: MIT */
#include "view/heat.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "metric/view.h"
#include "view/html.h"
#include "view/plots.h"

#define MOST_LINES   512 /* of a picture: of more nodes, neighbours share one */
#define MOST_NAMES   48  /* nodes that have their names beside the picture */
#define LINE_PIXELS  16  /* of such a node */
#define WHOLE_PIXELS 480 /* of all of more nodes */
#define COLOURS      256 /* of which 0 is: not known */
#define HEAD_BYTES   54  /* of a BMP file, before its colours */

/* A picture: a byte for each node and cell of time, from the top left. */
struct picture {
    size_t lines, columns;
    unsigned char *bytes;
};

struct map {
    struct rm_buffer *out;
    struct rm_page *page;
    const struct resmon_run *run;
    const char *title, *unit;
    struct rm_view_row row;
    int64_t all; /* the column of all nodes */
    double most; /* that the darkest colour stands for, in `unit` */
};

/* ---- colours -------------------------------------------------------------------------------- */

/* viridis, by S. van der Walt and N. Smith, 2015 (CC0), which is as even for the eye in grey. */
static const unsigned char viridis[][3] = {
    {68, 1, 84},    {72, 40, 120},  {62, 74, 137},  {49, 104, 142}, {38, 130, 142},
    {31, 158, 137}, {53, 183, 121}, {110, 206, 88}, {181, 222, 43}, {253, 231, 37}};
static const unsigned char unknown[3] = {214, 218, 224};

static void colour_at(double share, unsigned char rgb[3])
{
    const size_t last = RM_ARRAY_LEN(viridis) - 1;
    double at = share * (double)last;
    size_t below = (size_t)at;
    below = below < last ? below : last - 1;
    for (int i = 0; i < 3; i++) {
        double from = viridis[below][i], to = viridis[below + 1][i];
        rgb[i] = (unsigned char)lround(from + (to - from) * (at - (double)below));
    }
}

/* ---- the file of a picture ------------------------------------------------------------------ */

static void put_number(unsigned char *at, uint32_t number)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (unsigned char)(number >> 8 * i);
    }
}

/* Windows BMP with a table of colours: no compression, and lines from the bottom up. */
static unsigned char *make_file(const struct map *map, const struct picture *picture,
                                size_t *ret_bytes)
{
    size_t stride = (picture->columns + 3) / 4 * 4, table = HEAD_BYTES + 4 * COLOURS;
    unsigned char *file = rm_page_alloc(map->page, table + stride * picture->lines, 1);
    if (file == NULL) {
        return NULL;
    }
    *ret_bytes = table + stride * picture->lines;
    file[0] = 'B';
    file[1] = 'M';
    put_number(file + 2, (uint32_t)*ret_bytes);
    put_number(file + 10, (uint32_t)table);
    put_number(file + 14, 40); /* bytes of what follows */
    put_number(file + 18, (uint32_t)picture->columns);
    put_number(file + 22, (uint32_t)picture->lines);
    put_number(file + 26, 8U << 16 | 1); /* bits of a pixel, and planes */
    for (size_t i = 0; i < COLOURS; i++) {
        unsigned char rgb[3];
        memcpy(rgb, unknown, sizeof rgb);
        if (i > 0) {
            colour_at((double)(i - 1) / (COLOURS - 2), rgb);
        }
        put_number(file + HEAD_BYTES + 4 * i,
                   (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2]);
    }
    for (size_t line = 0; line < picture->lines; line++) {
        memcpy(file + table + stride * line,
               picture->bytes + picture->columns * (picture->lines - 1 - line), picture->columns);
    }
    return file;
}

/* ---- what is in it -------------------------------------------------------------------------- */

/* Of the metric's column of a node; NULL: it has none. */
static const double *series_of(const struct map *map, size_t node)
{
    int64_t column = rm_run_node_column(map->run, map->all, node);
    return column >= 0 ? rm_run_series(map->run, (size_t)column, RESMON_SERIES_MEAN) : NULL;
}

static unsigned char shade_of(const struct map *map, double value)
{
    double share = value / map->row.divisor / map->most;
    share = fmin(fmax(share, 0.0), 1.0);
    return isnan(value) ? 0 : (unsigned char)(1 + lround(share * (COLOURS - 2)));
}

/* Of nodes that share a line, the highest is shown. */
static bool draw(const struct map *map, struct picture *picture)
{
    size_t nodes = map->run->node_count;
    picture->columns = map->run->row_count;
    picture->lines = nodes < MOST_LINES ? nodes : MOST_LINES;
    picture->bytes = rm_page_alloc(map->page, picture->lines * picture->columns, 1);
    for (size_t node = 0; node < nodes && picture->bytes != NULL; node++) {
        unsigned char *line = picture->bytes + node * picture->lines / nodes * picture->columns;
        const double *series = series_of(map, node);
        for (size_t i = 0; series != NULL && i < picture->columns; i++) {
            unsigned char shade = shade_of(map, series[i]);
            line[i] = shade > line[i] ? shade : line[i];
        }
    }
    return picture->bytes != NULL;
}

/* ---- around it ------------------------------------------------------------------------------ */

static void put_names(const struct map *map)
{
    const struct resmon_run *run = map->run;
    rm_buffer_puts(map->out, "<div class=nodes>");
    for (size_t i = 0; i < run->node_count && run->node_count <= MOST_NAMES; i++) {
        rm_html_element(map->out, "<span><bdi>",
                        rm_page_shown_at_most(map->page, run->nodes[i].name, 40), "</bdi></span>");
    }
    if (run->node_count > MOST_NAMES) {
        rm_html_element(map->out, "<span><bdi>",
                        rm_page_shown_at_most(map->page, run->nodes[0].name, 40), "</bdi></span>");
        rm_html_element(map->out, "<span><bdi>",
                        rm_page_shown_at_most(map->page, run->nodes[run->node_count - 1].name, 40),
                        "</bdi></span>");
    }
    rm_buffer_puts(map->out, "</div>");
}

static void put_time(const struct map *map)
{
    const char *texts[RM_AXIS_TICKS];
    struct rm_axis axis;
    double end_s = rm_subject_seconds(map->run);
    if (!rm_axis_open(&axis, 0.0, end_s, "s")) {
        return;
    }
    axis.low = 0.0;
    axis.high = end_s;
    size_t count = 0;
    for (size_t i = 0; i < axis.tick_count; i++) {
        if (axis.ticks[i] >= 0.0 && axis.ticks[i] <= 0.97 * end_s) {
            axis.ticks[count++] = axis.ticks[i];
        }
    }
    axis.tick_count = count;
    for (size_t i = 0; i < count; i++) {
        texts[i] = rm_page_value(map->page, axis.ticks[i], "s");
    }
    rm_axis_put_ticks(map->out, &axis, texts);
}

static void put_key(const struct map *map)
{
    rm_buffer_puts(map->out, "<span class=shades>0 <i style=\"background:linear-gradient(90deg");
    for (size_t i = 0; i < RM_ARRAY_LEN(viridis); i++) {
        rm_buffer_printf(map->out, ",rgb(%d %d %d)", viridis[i][0], viridis[i][1], viridis[i][2]);
    }
    rm_html_element(map->out, ")\"></i> ", rm_page_value(map->page, map->most, map->unit),
                    " <i class=none></i> not known</span>");
}

static void put_map(const struct map *map)
{
    struct picture picture;
    size_t bytes = 0, nodes = map->run->node_count;
    unsigned char *file = draw(map, &picture) ? make_file(map, &picture, &bytes) : NULL;
    if (file == NULL) {
        return;
    }
    size_t pixels = nodes <= MOST_NAMES ? nodes * LINE_PIXELS : WHOLE_PIXELS;
    rm_html_element(map->out, "<figure class=heat><figcaption><b>", map->title, "</b> <small>");
    rm_html_element(map->out, "", map->row.label, "</small>");
    put_key(map);
    rm_buffer_printf(map->out, "</figcaption><div class=map style=\"height:%zupx\">", pixels);
    put_names(map);
    rm_html_element(map->out, "<img alt=\"", map->title,
                    " of each node over time\" src=\"data:image/bmp;base64,");
    rm_buffer_base64(map->out, file, bytes, false);
    rm_buffer_puts(map->out, "\"></div>");
    put_time(map);
    rm_buffer_puts(map->out, "</figure>");
}

/* ---- which of them -------------------------------------------------------------------------- */

/* 100 of shares, else the highest that is shown; false: there is nothing to see. */
static bool find_most(struct map *map)
{
    map->all = rm_run_column_of(map->run, map->row.metric->id, "");
    map->most = 0.0;
    for (size_t node = 0; node < map->run->node_count; node++) {
        const double *series = series_of(map, node);
        for (size_t row = 0; series != NULL && row < map->run->row_count; row++) {
            map->most = fmax(map->most, series[row] / map->row.divisor);
        }
    }
    bool has_any = map->most > 0.0;
    map->most = has_any && strcmp(map->unit, "%") == 0 ? fmax(100.0, map->most) : map->most;
    return has_any;
}

void rm_heat_draw(struct rm_buffer *out, const struct rm_page_block *block)
{
    const struct rm_subject *subject = block->what;
    struct map map = {.out = out, .page = subject->page, .run = subject->run};
    struct rm_view_row head;
    for (size_t i = 0; subject->run->node_count > 0 && rm_view_row(i, &head); i++) {
        size_t at = i;
        if (head.view != RM_VIEW_JOB || head.metric != NULL) {
            continue;
        }
        map.title = head.label;
        map.unit = head.unit;
        while (rm_view_next(RM_VIEW_JOB, head.group, &at, &map.row)) {
            if (find_most(&map)) {
                put_map(&map);
                break;
            }
        }
    }
}

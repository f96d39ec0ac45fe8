/* SPDX-License-Identifier: MIT */
#include "merge/grid.h"

#include <math.h>

#include "base/clock.h"
#include "base/compiler.h"

/* Of two times, also those before 1970. */
static int64_t floor_of(int64_t time_ns, int64_t width_ns)
{
    int64_t quotient = time_ns / width_ns;
    return quotient - (time_ns % width_ns < 0 ? 1 : 0);
}

struct rm_grid_span rm_grid_span_of(int64_t width_ns, int64_t from_ns, int64_t to_ns)
{
    int64_t first = floor_of(from_ns, width_ns);
    int64_t last = to_ns > from_ns ? floor_of(to_ns - 1, width_ns) : first;
    return (struct rm_grid_span){first, (size_t)(last - first) + 1};
}

struct rm_grid_span rm_grid_span_around(struct rm_grid_span one, struct rm_grid_span other)
{
    int64_t one_end = one.first + (int64_t)one.count;
    int64_t other_end = other.first + (int64_t)other.count;
    int64_t first = one.first < other.first ? one.first : other.first;
    int64_t end = one_end > other_end ? one_end : other_end;
    return (struct rm_grid_span){first, (size_t)(end - first)};
}

struct rm_grid_span rm_grid_span_halved(struct rm_grid_span span)
{
    int64_t first = floor_of(span.first, 2);
    int64_t last = floor_of(span.first + (int64_t)span.count - 1, 2);
    return (struct rm_grid_span){first, (size_t)(last - first) + 1};
}

struct rm_grid_cell rm_grid_cell_empty(void)
{
    return (struct rm_grid_cell){.low = RM_NAN, .high = RM_NAN};
}

void rm_grid_add(struct rm_grid_cell *cells, struct rm_grid_span span, int64_t width_ns,
                 const struct rm_grid_row *row)
{
    struct rm_grid_span touched = rm_grid_span_of(width_ns, row->from_ns, row->to_ns);
    for (size_t i = 0; i < touched.count; i++) {
        int64_t number = touched.first + (int64_t)i;
        int64_t from_ns = number * width_ns, to_ns = from_ns + width_ns;
        if (number < span.first || number >= span.first + (int64_t)span.count) {
            continue;
        }
        struct rm_grid_cell *cell = &cells[number - span.first];
        from_ns = from_ns > row->from_ns ? from_ns : row->from_ns;
        to_ns = to_ns < row->to_ns ? to_ns : row->to_ns;
        double seconds = (double)(to_ns - from_ns) / (double)RM_NS_PER_S;
        cell->sum += row->mean * seconds;
        cell->seconds += seconds;
        cell->low = fmin(cell->low, row->low); /* of a number and NaN, the number */
        cell->high = fmax(cell->high, row->high);
    }
}

static void add_cell(struct rm_grid_cell *cell, const struct rm_grid_cell *later)
{
    cell->sum += later->sum;
    cell->seconds += later->seconds;
    cell->low = fmin(cell->low, later->low);
    cell->high = fmax(cell->high, later->high);
}

struct rm_grid_span rm_grid_halve(struct rm_grid_cell *cells, struct rm_grid_span span)
{
    struct rm_grid_span halved = rm_grid_span_halved(span);
    size_t done = 0;
    for (size_t i = 0; i < halved.count; i++) {
        size_t end = (size_t)(2 * (halved.first + (int64_t)i) + 2 - span.first);
        struct rm_grid_cell sum = cells[done++];
        if (done < end && done < span.count) {
            add_cell(&sum, &cells[done++]);
        }
        cells[i] = sum;
    }
    return halved;
}

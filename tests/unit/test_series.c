/* SPDX-License-Identifier: MIT */
/*
 * store/series: whatever is kept of a run is what a naive copy of all of its samples says, after
 * any number of halvings, and at every instant at which the writer may be killed.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "test.h"

#include <resmon/metric.h>

#include "made_block.h"
#include "random.h"
#include "single_step.h"
#include "store/layout.h"
#include "store/series.h"

enum { GAUGE, GAUGE_WITH_GAPS, INTERVAL_GAUGE, COUNTER, RESTLESS_COUNTER, COLUMNS };

#define WRAP 4294967296.0
#define MOST 20000
#define SUM_EPSILON                                                              \
    1e-12 /* relative to the sum of magnitudes: only the order of adding differs \
           */

/* ---- the naive copy ------------------------------------------------------------------------ */

/* What one sample adds to one column, by the definitions of bucket.h. */
struct history {
    size_t samples;
    int64_t t[MOST];
    double values[MOST][COLUMNS];
    struct rm_cell adds[MOST][COLUMNS];
    /* Of the reading before. */
    int64_t t_before[COLUMNS];
    int has_before[COLUMNS];
    double raw[COLUMNS];
    double grown[COLUMNS];
    uint64_t resets[COLUMNS];
};

static double naive_growth(struct history *h, int column, double value)
{
    double more = value - h->raw[column];
    if (more < 0.0 && column == RESTLESS_COUNTER && h->raw[column] > WRAP / 2 && value < WRAP / 2) {
        return more + WRAP;
    }
    if (more < 0.0) {
        h->resets[column]++;
        return NAN; /* nothing is known of the time between */
    }
    return more;
}

static struct rm_cell naive_add(struct history *h, int column, double value, int64_t t)
{
    struct rm_cell cell = rm_cell_empty();
    int is_counter = column == COUNTER || column == RESTLESS_COUNTER;
    if (isnan(value)) {
        if (column == INTERVAL_GAUGE && h->has_before[column] != 1) {
            h->t_before[column] = t;
            h->has_before[column] = -1; /* an attempt, no reading */
        }
        return cell;
    }
    double dt = h->has_before[column] != 0 ? (double)(t - h->t_before[column]) / 1e9 : 0.0;
    if (!is_counter) {
        cell = (struct rm_cell){value, value, value, value * dt, dt};
    } else if (h->has_before[column] == 0) {
        cell.last = 0.0;
    } else {
        double more = naive_growth(h, column, value);
        h->grown[column] += isnan(more) ? 0.0 : more;
        cell.last = h->grown[column];
        cell.sum = isnan(more) ? 0.0 : more;
        cell.weight = isnan(more) ? 0.0 : dt;
        if (dt >= RM_STATS_LEAST_RATE_S) {
            cell.min = cell.max = more / dt;
        }
    }
    h->raw[column] = value;
    h->t_before[column] = t;
    h->has_before[column] = 1;
    return cell;
}

static void remember(struct history *h, int64_t t, const double values[COLUMNS])
{
    size_t i = h->samples++;
    h->t[i] = t;
    memcpy(h->values[i], values, sizeof h->values[i]);
    for (int c = 0; c < COLUMNS; c++) {
        h->adds[i][c] = naive_add(h, c, values[c], t);
    }
}

/* ---- comparing ----------------------------------------------------------------------------- */

static void assert_same(double kept, double naive, const char *what, int column, size_t from)
{
    if (!(kept == naive || (isnan(kept) && isnan(naive)))) {
        fail_msg("%s of column %d from sample %zu: %.17g, not %.17g", what, column, from, kept,
                 naive);
    }
}

static void assert_sum(double kept, long double naive, long double magnitude, const char *what,
                       int column, size_t from)
{
    if (!(fabsl((long double)kept - naive) <= SUM_EPSILON * magnitude)) {
        fail_msg("%s of column %d from sample %zu: %.17g, not %.17Lg", what, column, from, kept,
                 naive);
    }
}

static void check_cell(const struct history *h, const struct rm_cell *cell, int column, size_t from,
                       size_t to)
{
    double last = NAN, min = NAN, max = NAN;
    long double sum = 0, magnitude = 0, weight = 0;
    for (size_t i = from; i < to; i++) {
        const struct rm_cell *add = &h->adds[i][column];
        last = isnan(add->last) ? last : add->last;
        min = isnan(min) || add->min < min ? (isnan(add->min) ? min : add->min) : min;
        max = isnan(max) || add->max > max ? (isnan(add->max) ? max : add->max) : max;
        sum += add->sum;
        magnitude += fabs(add->sum);
        weight += add->weight;
    }
    assert_same(cell->last, last, "last", column, from);
    assert_same(cell->min, min, "min", column, from);
    assert_same(cell->max, max, "max", column, from);
    assert_sum(cell->sum, sum, magnitude, "sum", column, from);
    assert_sum(cell->weight, weight, weight, "weight", column, from);
}

/* Walks rows in order; each must be the next samples of the history, whole. */
struct walk {
    const struct history *history;
    size_t next;
    size_t rows;
    uint64_t stride; /* of every row; 0: rows may differ */
};

static void check_bucket(struct walk *walk, const struct rm_span *span, const struct rm_cell *cells)
{
    const struct history *h = walk->history;
    size_t from = walk->next;
    assert_true(span->n > 0 && span->n <= h->samples - from);
    size_t to = from + (size_t)span->n;
    assert_int_equal(span->t_first, h->t[from]);
    assert_int_equal(span->t_last, h->t[to - 1]);
    for (int c = 0; c < COLUMNS; c++) {
        check_cell(h, &cells[c], c, from, to);
    }
    walk->next = to;
    walk->rows++;
}

static void check_row(void *context, const struct rm_row *row)
{
    struct walk *walk = context;
    if (walk->stride != 0) {
        assert_int_equal(row->span.n, walk->stride);
        assert_int_equal(walk->next % walk->stride, 0);
    }
    check_bucket(walk, &row->span, row->cells);
}

static void check_open_bucket(struct walk *walk, const struct rm_commit *state)
{
    struct rm_cell cells[COLUMNS];
    if (state->open.n == 0) {
        return;
    }
    for (int c = 0; c < COLUMNS; c++) {
        cells[c] = rm_series_columns(state)[c].open;
    }
    check_bucket(walk, &state->open, cells);
}

static void check_statistics(const struct history *h, const struct rm_commit *state)
{
    const struct rm_column_state *columns = rm_series_columns(state);
    for (int c = 0; c < COLUMNS; c++) {
        uint64_t n = 0;
        for (size_t i = 0; i < h->samples; i++) {
            n += isnan(h->values[i][c]) ? 0 : 1;
        }
        assert_int_equal(columns[c].stats.n, n);
        assert_int_equal(columns[c].stats.resets, h->resets[c]);
        check_cell(h, &columns[c].stats.all, c, 0, h->samples);
    }
}

static void check_all(const struct rm_block *block, const struct history *h)
{
    const struct rm_commit *state = rm_series_state(block);
    struct walk walk = {.history = h, .stride = state->stride};
    assert_int_equal(state->samples, h->samples);
    assert_int_equal(state->stride, UINT64_C(1) << state->halvings);
    assert_true(state->rows <= block->header->sizes.rows);
    rm_series_visit(block, check_row, &walk);
    assert_int_equal(walk.rows, state->rows);
    check_open_bucket(&walk, state);
    assert_int_equal(walk.next, h->samples);
    check_statistics(h, state);
}

/* ---- random runs --------------------------------------------------------------------------- */

struct source {
    struct random random;
    int64_t t;
    double counter, restless;
    uint64_t samples;
    uint8_t notes[COLUMNS]; /* of the series that its samples go to */
};

/* Now and then, and for some hundred samples almost always. */
static bool is_gap(struct source *s, uint32_t one_in)
{
    bool is_rarely_read = s->samples / 300 % 2 == 1;
    return is_rarely_read ? random_below(&s->random, 20) != 0
                          : random_below(&s->random, one_in) == 0;
}

/* Twelve decades, both signs. */
static double random_level(struct random *random)
{
    return (random_unit(random) - 0.3) * pow(10.0, (double)random_below(random, 12) - 3.0);
}

static int64_t next_sample(struct source *s, double values[COLUMNS])
{
    struct random *random = &s->random;
    s->t += random_below(random, 50) == 0 ? 0 : 1 + (int64_t)random_below(random, 1000000000);
    s->counter += random_below(random, 3) == 0 ? 0.0 : random_unit(random) * 1e6;
    s->restless = floor(s->restless + random_unit(random) * 2e8);
    if (s->restless >= WRAP) {
        s->restless -= WRAP;
    } else if (random_below(random, 40) == 0) {
        s->restless = floor(s->restless * 0.9); /* a reset, not a wrap */
    }
    values[GAUGE] = random_level(random);
    s->samples++;
    values[GAUGE_WITH_GAPS] = is_gap(s, 4) ? NAN : random_level(random);
    values[INTERVAL_GAUGE] = s->t == 0 || is_gap(s, 5) ? NAN : 100.0 * random_unit(random);
    values[COUNTER] = is_gap(s, 6) ? NAN : s->counter;
    values[RESTLESS_COUNTER] = s->restless;
    return s->t;
}

static struct rm_block_sizes series_sizes(uint64_t rows)
{
    struct rm_block_sizes sizes = small_sizes();
    sizes.columns = COLUMNS;
    sizes.rows = rows;
    return sizes;
}

static void begin(struct rm_block *block)
{
    struct rm_column *columns = rm_block_record(block, RM_SECTION_COLUMNS, 0);
    columns[GAUGE].kind = columns[GAUGE_WITH_GAPS].kind = RESMON_GAUGE;
    columns[INTERVAL_GAUGE].kind = RESMON_GAUGE;
    columns[INTERVAL_GAUGE].is_interval = 1;
    columns[COUNTER].kind = columns[RESTLESS_COUNTER].kind = RESMON_COUNTER;
    columns[RESTLESS_COUNTER].wrap = WRAP;
    rm_series_begin(block);
}

static void add_sample(struct rm_block *block, struct history *h, struct source *source)
{
    const struct rm_sampler_cost cost = {.late = h->samples};
    double values[COLUMNS], delivered[COLUMNS];
    int64_t t = next_sample(source, values);
    remember(h, t, values);
    struct rm_sample sample = {.t_ns = t,
                               .clock = {(uint64_t)t, t},
                               .values = values,
                               .ret_values = delivered,
                               .notes = source->notes};
    rm_series_add(block, &sample, &cost);
    for (int c = 0; c < COLUMNS; c++) {
        assert_same(delivered[c], h->adds[h->samples - 1][c].last, "delivered value", c,
                    h->samples - 1);
    }
    assert_int_equal(rm_series_state(block)->cost.late, cost.late);
    assert_int_equal(rm_series_state(block)->t_ns, t);
}

TEST(any_number_of_halvings_keeps_everything)
{
    static const uint64_t row_counts[] = {2, 4, 16, 64};
    struct history *h = malloc(sizeof *h);
    assert_non_null(h);
    for (size_t r = 0; r < sizeof row_counts / sizeof row_counts[0]; r++) {
        struct rm_block_sizes sizes = series_sizes(row_counts[r]);
        struct rm_block block = made_block(&sizes);
        struct source source = {.random = {17 + r}};
        memset(h, 0, sizeof *h);
        begin(&block);
        check_all(&block, h);
        while (h->samples < MOST) {
            add_sample(&block, h, &source);
            if (h->samples <= 300 || h->samples % 997 == 0 || h->samples == MOST) {
                check_all(&block, h);
            }
        }
        /* It did halve, about as often as 20000 samples want: the test tests something. */
        assert_true(rm_series_state(&block)->halvings >= 8);
        assert_true(h->resets[RESTLESS_COUNTER] > 10);
        free_block(&block);
    }
    free(h);
}

TEST(a_spike_of_one_sample_survives)
{
    struct rm_block_sizes sizes = small_sizes();
    struct rm_block block = made_block(&sizes);
    struct rm_column *column = rm_block_record(&block, RM_SECTION_COLUMNS, 0);
    const struct rm_sampler_cost cost = {0};
    column->kind = RESMON_GAUGE;
    rm_series_begin(&block);
    for (int64_t i = 0; i < 1000; i++) {
        double value = i == 501 ? 1e12 : 1.0;
        struct rm_sample sample = {.t_ns = i * 1000000000, .values = &value};
        rm_series_add(&block, &sample, &cost);
    }
    const struct rm_commit *now = rm_series_state(&block);
    assert_true(rm_series_columns(now)[0].stats.all.max == 1e12);
    double highest = rm_series_columns(now)[0].open.max;
    for (uint64_t i = 0; i < now->rows; i++) {
        const struct rm_row *row = rm_block_record(&block, RM_SECTION_ROWS, i);
        highest = rm_greater(highest, row->cells[0].max);
    }
    assert_true(highest == 1e12);
    free_block(&block);
}

/* ---- killed in the middle ------------------------------------------------------------------ */

/* After a kill, rows may be merged and unmerged ones, but are still all samples, each once. */
static void check_after_kill(const struct rm_block *block, const struct history *h)
{
    const struct rm_commit *state = rm_series_state(block);
    struct walk walk = {.history = h};
    rm_series_visit(block, check_row, &walk);
    assert_int_equal(walk.next + state->open.n, state->samples);
    check_open_bucket(&walk, state);
}

/* Fills table and open bucket so that the next sample halves. */
static void fill(struct rm_block *block, struct history *h, struct source *source)
{
    for (;;) {
        const struct rm_commit *state = rm_series_state(block);
        if (state->halvings >= 2 && state->rows == block->header->sizes.rows &&
            state->open.n == state->stride) {
            return;
        }
        add_sample(block, h, source);
    }
}

static void merge_pair_as_documented(struct rm_block *block, uint64_t pair)
{
    uint64_t rows = block->header->sizes.rows;
    const struct rm_row *early = rm_block_record(block, RM_SECTION_ROWS, 2 * pair);
    const struct rm_row *late = rm_block_record(block, RM_SECTION_ROWS, 2 * pair + 1);
    struct rm_row *target = rm_block_record(block, RM_SECTION_ROWS, pair == 0 ? rows : pair);
    target->span = rm_span_merge(&early->span, &late->span);
    for (int c = 0; c < COLUMNS; c++) {
        target->cells[c] = rm_cell_merge(&early->cells[c], &late->cells[c]);
    }
}

struct stepped {
    struct rm_block block;
    struct history *history;
    struct source source;
    uint64_t seen_progress;
};

/* The history already knows the sample that is being added. */
static void add_next(void *context)
{
    struct stepped *s = context;
    const struct rm_sampler_cost cost = {0};
    size_t last = s->history->samples - 1;
    struct rm_sample sample = {
        .t_ns = s->history->t[last], .values = s->history->values[last], .notes = s->source.notes};
    rm_series_add(&s->block, &sample, &cost);
}

static void look_after_kill(void *context)
{
    struct stepped *s = context;
    check_after_kill(&s->block, s->history);
    uint64_t progress = s->block.header->merge_progress & UINT32_MAX;
    s->seen_progress = progress > s->seen_progress ? progress : s->seen_progress;
}

TEST(killed_at_any_instruction_of_a_halving)
{
    struct rm_block_sizes sizes = series_sizes(8);
    uint64_t bytes;
    double values[COLUMNS];
    assert_ok(rm_block_measure(&sizes, &bytes));
    void *memory = shared_memory(bytes);
    struct stepped s = {.history = calloc(1, sizeof *s.history), .source = {.random = {7}}};
    rm_block_format(&s.block, memory, &sizes);
    begin(&s.block);
    fill(&s.block, s.history, &s.source);
    s.block.header->merge_progress = 0;
    uint64_t samples = s.history->samples;
    int64_t t = next_sample(&s.source, values);
    remember(s.history, t, values);
    size_t looks = single_step(memory, bytes, add_next, look_after_kill, &s);
    assert_true(looks > 100);
    assert_int_equal(s.seen_progress, sizes.rows / 2);
    assert_int_equal(rm_series_state(&s.block)->samples, samples + 1);
    check_all(&s.block, s.history);
    free(s.history);
    (void)munmap(memory, bytes);
}

TEST(a_damaged_progress_is_bounded)
{
    struct history *h = calloc(1, sizeof *h);
    struct rm_block_sizes sizes = series_sizes(4);
    struct rm_block block = made_block(&sizes);
    struct source source = {.random = {3}};
    begin(&block);
    fill(&block, h, &source);
    struct rm_commit *now = rm_block_record(&block, RM_SECTION_STATES, block.header->commit & 1);
    block.header->merge_progress = (now->halvings + 1) << 32 | UINT32_MAX;
    now->rows = UINT64_MAX;
    /* Rows are those of the section, whatever the numbers say; ASan watches the reads. */
    struct walk walk = {.history = h};
    merge_pair_as_documented(&block, 0);
    merge_pair_as_documented(&block, 1);
    rm_series_visit(&block, check_row, &walk);
    assert_int_equal(walk.rows, 2);
    free_block(&block);
    free(h);
}

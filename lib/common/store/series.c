/* SPDX-License-Identifier: MIT */
#include "store/series.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <resmon/metric.h>

#include "base/compiler.h"

/*
 * Halving in place, readable at every instant. Pair i (rows 2i, 2i+1) merges into row i. For i >= 1
 * an earlier pair has already consumed row i, so writing it destroys no row that a reader still
 * needs. Row 0 is the exception: its result goes to the spare row until all pairs are merged. The
 * progress word contains the number of the halving. So a reader can distinguish a halving under way
 * (one more than in the state) from a halving whose state is already published.
 */

static struct rm_row *row_at(const struct rm_block *block, uint64_t index)
{
    return rm_block_record(block, RM_SECTION_ROWS, index);
}

static struct rm_commit *state_at(const struct rm_block *block, uint64_t commit)
{
    return rm_block_record(block, RM_SECTION_STATES, commit & 1);
}

static struct rm_column_state *columns_of(struct rm_commit *commit)
{
    return (struct rm_column_state *)(commit + 1);
}

void rm_series_begin(struct rm_block *block)
{
    for (uint64_t copy = 0; copy < 2; copy++) {
        struct rm_commit *state = state_at(block, copy);
        struct rm_column_state *columns = columns_of(state);
        *state = (struct rm_commit){.stride = 1};
        for (uint64_t c = 0; c < block->header->sizes.columns; c++) {
            columns[c].stats = rm_stats_empty();
            columns[c].open = rm_cell_empty();
        }
    }
}

static void merge_rows(struct rm_row *target, const struct rm_row *early, const struct rm_row *late,
                       uint64_t columns)
{
    target->span = rm_span_merge(&early->span, &late->span);
    for (uint64_t c = 0; c < columns; c++) {
        target->cells[c] = rm_cell_merge(&early->cells[c], &late->cells[c]);
    }
}

/* Halves the `rows` (even) complete rows; the caller publishes the new state. */
static void halve(struct rm_block *block, const struct rm_commit *old)
{
    uint64_t columns = block->header->sizes.columns;
    uint64_t number = (old->halvings + 1) << 32;
    struct rm_row *spare = row_at(block, block->header->sizes.rows);
    for (uint64_t pair = 0; pair < old->rows / 2; pair++) {
        struct rm_row *target = pair == 0 ? spare : row_at(block, pair);
        merge_rows(target, row_at(block, 2 * pair), row_at(block, 2 * pair + 1), columns);
        RM_STORE_RELEASE(&block->header->merge_progress, number | (pair + 1));
    }
    memcpy(row_at(block, 0), spare, block->header->sections[RM_SECTION_ROWS].record_bytes);
}

/* Most columns are not read at most samples. Then both states of such a column soon are the same,
 * and the column need not be written or compared. A byte for each column records this. */
#define NOTE_SAME  1U /* the column is the same in both states */
#define NOTE_EMPTY 2U /* and its open bucket is empty */

static bool may_be_left(uint8_t note, double value, int starts_bucket)
{
    return (note & NOTE_SAME) != 0 && !isfinite(value) &&
           (!starts_bucket || (note & NOTE_EMPTY) != 0);
}

static bool is_empty(const struct rm_cell *cell)
{
    return isnan(cell->last) && cell->weight == 0.0;
}

/* A column that was not read does not change, with two exceptions. rm_stats_take() changes it
 * before the first reading of an interval; and a bucket may begin after a bucket that is not empty.
 */
static uint8_t note_of(const struct rm_column_state *old, const struct rm_column_state *new,
                       double value, struct rm_counting counting, int starts_bucket)
{
    bool is_same = !isfinite(value) && (!counting.is_interval || new->stats.n > 0) &&
                   (!starts_bucket || is_empty(&old->open));
    return (uint8_t)((is_same ? NOTE_SAME : 0U) | (is_empty(&new->open) ? NOTE_EMPTY : 0U));
}

/* Writes the full open bucket behind the complete rows. The row is invisible until the commit. */
static void flush_open(struct rm_block *block, const struct rm_commit *old,
                       const struct rm_column_state *columns, const uint8_t *notes)
{
    struct rm_row *row = row_at(block, old->rows);
    row->span = old->open;
    for (uint64_t c = 0; c < block->header->sizes.columns; c++) {
        bool is_known = notes != NULL && (notes[c] & NOTE_EMPTY) != 0;
        row->cells[c] = is_known ? rm_cell_empty() : columns[c].open;
    }
}

/* Stores a full open bucket as a row, or halves the rows first. Returns true if the next sample
 * starts a new bucket. */
static int make_room(struct rm_block *block, const struct rm_commit *old, struct rm_commit *new,
                     const struct rm_column_state *columns, const uint8_t *notes)
{
    if (old->open.n < old->stride) {
        return old->open.n == 0;
    }
    if (old->rows == block->header->sizes.rows) {
        halve(block, old);
        new->rows = old->rows / 2;
        new->stride = old->stride * 2;
        new->halvings = old->halvings + 1;
        return 0; /* with twice the stride, the open bucket is half full */
    }
    flush_open(block, old, columns, notes);
    new->rows = old->rows + 1;
    return 1;
}

_Static_assert(RM_RECENT_SAMPLES <= RM_SKETCH_MOST_MORE, "a sketch takes not as many beside it");

static double *recent_at(const struct rm_block *block, uint64_t sample)
{
    return rm_block_record(block, RM_SECTION_RECENT, sample % RM_RECENT_SAMPLES);
}

static void flush_recent(struct rm_block *block)
{
    struct rm_sketch *sketches = rm_block_record(block, RM_SECTION_SKETCHES, 0);
    for (uint64_t c = 0; c < block->header->sizes.columns; c++) {
        for (uint64_t sample = 0; sample < RM_RECENT_SAMPLES; sample++) {
            double quantity = recent_at(block, sample)[c];
            if (!isnan(quantity)) {
                rm_sketch_add(&sketches[c], quantity);
            }
        }
    }
}

static void deliver(const struct rm_sample *sample, uint64_t column, double value)
{
    if (sample->ret_values != NULL) {
        sample->ret_values[column] = value;
    }
}

static void add_values(struct rm_block *block, const struct rm_sample *sample,
                       const struct rm_column_state *old, struct rm_column_state *new,
                       double *recent, int starts_bucket)
{
    const struct rm_column *columns = rm_block_record(block, RM_SECTION_COLUMNS, 0);
    for (uint64_t c = 0; c < block->header->sizes.columns; c++) {
        recent[c] = RM_NAN;
        if (sample->notes != NULL &&
            may_be_left(sample->notes[c], sample->values[c], starts_bucket)) {
            deliver(sample, c, RM_NAN);
            continue;
        }
        struct rm_counting counting = {columns[c].kind == RESMON_COUNTER,
                                       columns[c].is_interval != 0, columns[c].wrap,
                                       columns[c].most_rate};
        new[c].stats = old[c].stats;
        struct rm_reading reading =
            rm_stats_take(&new[c].stats, counting, sample->values[c], sample->t_ns);
        new[c].open = starts_bucket ? reading.cell : rm_cell_merge(&old[c].open, &reading.cell);
        recent[c] = reading.quantity;
        deliver(sample, c, reading.cell.last);
        if (sample->notes != NULL) {
            sample->notes[c] =
                note_of(&old[c], &new[c], sample->values[c], counting, starts_bucket);
        }
    }
}

void rm_series_add(struct rm_block *block, const struct rm_sample *sample,
                   const struct rm_sampler_cost *cost)
{
    struct rm_block_header *header = block->header;
    const struct rm_commit *old = state_at(block, header->commit);
    struct rm_commit *new = state_at(block, header->commit + 1);
    const struct rm_column_state *old_columns = rm_series_columns(old);
    RM_FENCE_BEFORE_REFILL();
    *new = *old;
    int starts_bucket = make_room(block, old, new, old_columns, sample->notes);
    if (starts_bucket) {
        new->open = (struct rm_span){.t_first = sample->t_ns};
    }
    new->open.t_last = sample->t_ns;
    new->open.n++;
    new->t_ns = sample->t_ns;
    new->clock = sample->clock;
    new->samples++;
    new->cost = *cost;
    add_values(block, sample, old_columns, columns_of(new), recent_at(block, old->samples),
               starts_bucket);
    if (new->samples % RM_RECENT_SAMPLES == 0) {
        flush_recent(block);
    }
    RM_STORE_RELEASE(&header->commit, header->commit + 1);
}

const struct rm_commit *rm_series_state(const struct rm_block *block)
{
    return state_at(block, RM_LOAD_ACQUIRE(&block->header->commit));
}

size_t rm_series_recent(const struct rm_block *block, uint64_t column,
                        double ret_values[RM_RECENT_SAMPLES])
{
    const uint64_t waiting = rm_series_state(block)->samples % RM_RECENT_SAMPLES;
    size_t count = 0;
    for (uint64_t sample = 0; sample < waiting; sample++) {
        double quantity = recent_at(block, sample)[column];
        if (!isnan(quantity)) {
            ret_values[count++] = quantity;
        }
    }
    return count;
}

const struct rm_sketch *rm_series_sketch(const struct rm_block *block, uint64_t column)
{
    bool is_there = column < block->header->sections[RM_SECTION_SKETCHES].count; /* not cut */
    return rm_series_state(block)->samples < RM_RECENT_SAMPLES || !is_there
               ? NULL
               : rm_block_record(block, RM_SECTION_SKETCHES, column);
}

const struct rm_column_state *rm_series_columns(const struct rm_commit *commit)
{
    return (const struct rm_column_state *)(commit + 1);
}

void rm_series_visit(const struct rm_block *block,
                     void (*visit)(void *context, const struct rm_row *row), void *context)
{
    const struct rm_commit *state = rm_series_state(block);
    uint64_t max_rows = block->header->sizes.rows;
    uint64_t rows = state->rows < max_rows ? state->rows : max_rows;
    uint64_t progress = RM_LOAD_ACQUIRE(&block->header->merge_progress);
    uint64_t merged = 0;
    if (progress >> 32 == state->halvings + 1) {
        merged = progress & UINT32_MAX;
        merged = merged < rows / 2 ? merged : rows / 2;
    }
    for (uint64_t i = 0; i < merged; i++) {
        visit(context, i == 0 ? row_at(block, max_rows) : row_at(block, i));
    }
    for (uint64_t i = 2 * merged; i < rows; i++) {
        visit(context, row_at(block, i));
    }
}

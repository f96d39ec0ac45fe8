/* SPDX-License-Identifier: MIT */
#include "store/sketch.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023

/*
 * log2(1 + m) is close to (4 m - m^2) / 3. The ratio of their slopes is within 0.92 ... 1.04. The
 * sketch has 38 bins per octave to absorb this (34.7 would be enough for the exact logarithm).
 */
static double to_bin_scale(double m)
{
    return (4.0 - m) * m / 3.0;
}

static double from_bin_scale(double s)
{
    return 2.0 - sqrt(4.0 - 3.0 * s);
}

static size_t bin_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int octave = (int)(bits >> MANTISSA_BITS) - EXPONENT_BIAS; /* sign bit: not for value <= 0 */
    if (!(value > 0.0) || octave < RM_SKETCH_LOW_OCTAVE) {
        return 0;
    }
    if (octave >= RM_SKETCH_HIGH_OCTAVE) {
        return RM_SKETCH_BINS - 1;
    }
    double m = (double)(bits & ((UINT64_C(1) << MANTISSA_BITS) - 1)) * 0x1p-52;
    size_t within = (size_t)(to_bin_scale(m) * RM_SKETCH_OCTAVE_BINS);
    return 1 + (size_t)(octave - RM_SKETCH_LOW_OCTAVE) * RM_SKETCH_OCTAVE_BINS + within;
}

/* The value that has the same relative distance to both ends of the bin. */
static double middle_of(size_t bin)
{
    if (bin == 0) {
        return 0.0;
    }
    size_t index = bin - 1;
    int octave = RM_SKETCH_LOW_OCTAVE + (int)(index / RM_SKETCH_OCTAVE_BINS);
    double within = (double)(index % RM_SKETCH_OCTAVE_BINS);
    double low = 1.0 + from_bin_scale(within / RM_SKETCH_OCTAVE_BINS);
    double high = 1.0 + from_bin_scale((within + 1.0) / RM_SKETCH_OCTAVE_BINS);
    return ldexp(2.0 * low * high / (low + high), octave);
}

/* Halves all bins when one is full; the proportions stay the same. */
static RM_COLD void halve(struct rm_sketch *sketch)
{
    for (size_t i = 0; i < RM_SKETCH_BINS; i++) {
        RM_STORE(&sketch->bins[i], RM_LOAD(&sketch->bins[i]) / 2);
    }
}

/* One instruction reads and writes, so the first touch of a page is one page fault and not two. */
void rm_sketch_add(struct rm_sketch *sketch, double value)
{
    uint32_t *bin = &sketch->bins[bin_of(value)];
    if (RM_UNLIKELY(RM_FETCH_ADD(bin, 1) == UINT32_MAX - 1)) {
        halve(sketch);
    }
}

/* The counts of a range of bins; and the bins of some more values, in order. */
struct counted {
    const struct rm_sketch *sketch; /* NULL: the sketch is empty */
    size_t first, last;
    size_t more[RM_SKETCH_MOST_MORE];
    size_t more_count;
};

static uint64_t count_in(const struct counted *counted, size_t bin)
{
    return counted->sketch != NULL ? RM_LOAD(&counted->sketch->bins[bin]) : 0;
}

/* Insertion sort: there are few values. */
static void take_more(struct counted *counted, const double *values, size_t count)
{
    for (size_t i = 0; i < count && i < RM_SKETCH_MOST_MORE; i++) {
        size_t at = counted->more_count++;
        const size_t bin = bin_of(values[i]);
        for (; at > 0 && counted->more[at - 1] > bin; at--) {
            counted->more[at] = counted->more[at - 1];
        }
        counted->more[at] = bin;
    }
}

/* The bin of the value of this rank (from 0) in ascending order. */
static size_t bin_at(const struct counted *counted, uint64_t rank)
{
    uint64_t seen = 0;
    size_t more = 0;
    for (size_t bin = counted->first; bin < counted->last; bin++) {
        seen += count_in(counted, bin);
        for (; more < counted->more_count && counted->more[more] <= bin; more++) {
            seen++;
        }
        if (seen > rank) {
            return bin;
        }
    }
    return counted->last;
}

double rm_sketch_quantile(const struct rm_sketch *sketch, const double *more, size_t more_count,
                          double q, double low, double high)
{
    struct counted counted = {.sketch = sketch, .first = bin_of(low), .last = bin_of(high)};
    take_more(&counted, more, more_count);
    uint64_t total = counted.more_count;
    for (size_t bin = counted.first; sketch != NULL && bin <= counted.last; bin++) {
        total += count_in(&counted, bin);
    }
    if (total == 0) {
        return RM_NAN;
    }
    /* Nearest rank: the smallest value such that at least a fraction q of all values do not exceed
     * it. */
    double exact = ceil(q * (double)total) - 1.0;
    return middle_of(bin_at(&counted, exact > 0.0 ? (uint64_t)exact : 0));
}

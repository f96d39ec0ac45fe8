/* SPDX-License-Identifier: MIT */
#include "store/sketch.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023

/*
 * log2(1 + m) is close to (4 m - m^2) / 3: its slope over that of the logarithm stays within
 * 0.92 ... 1.04 (relative), which 38 bins per octave absorb (34.7 would do for the exact one).
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

/* The value that is relatively as near to both ends of the bin. */
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

/* A full bin halves them all: the proportions stay. */
static RM_COLD void halve(struct rm_sketch *sketch)
{
    for (size_t i = 0; i < RM_SKETCH_BINS; i++) {
        RM_STORE(&sketch->bins[i], RM_LOAD(&sketch->bins[i]) / 2);
    }
}

/* One instruction reads and writes: a page's first touch is one fault, not one for each. */
void rm_sketch_add(struct rm_sketch *sketch, double value)
{
    uint32_t *bin = &sketch->bins[bin_of(value)];
    if (RM_UNLIKELY(RM_FETCH_ADD(bin, 1) == UINT32_MAX - 1)) {
        halve(sketch);
    }
}

double rm_sketch_quantile(const struct rm_sketch *sketch, double q, double low, double high)
{
    const size_t first = bin_of(low), last = bin_of(high);
    uint64_t total = 0;
    for (size_t i = first; i <= last; i++) {
        total += RM_LOAD(&sketch->bins[i]);
    }
    if (total == 0) {
        return RM_NAN;
    }
    /* Nearest rank: the smallest value that at least q of all do not exceed. */
    double exact = ceil(q * (double)total) - 1.0;
    uint64_t rank = exact > 0.0 ? (uint64_t)exact : 0;
    uint64_t seen = 0;
    for (size_t i = first; i <= last; i++) {
        seen += RM_LOAD(&sketch->bins[i]);
        if (seen > rank) {
            return middle_of(i);
        }
    }
    return middle_of(last);
}

/* SPDX-License-Identifier: MIT */
/*
 * Owns quantiles in fixed memory: a histogram with bins of equal relative width (a DDSketch whose
 * logarithm is a parabola per octave), so that every quantile is within 1 % of a value that was
 * seen.  C. Masson, J. E. Rim, H. K. Lee: DDSketch, VLDB 2019.
 */
#ifndef RM_STORE_SKETCH_H
#define RM_STORE_SKETCH_H

#include <stddef.h>
#include <stdint.h>

/* 38 bins per octave: the widest, at the steep end of the parabola, is 2 * 0.982 % wide. */
#define RM_SKETCH_OCTAVE_BINS 38
#define RM_SKETCH_LOW_OCTAVE  (-20) /* below 2^-20 (1e-6) counts as 0 */
#define RM_SKETCH_HIGH_OCTAVE 47    /* above 2^47 (1.4e14) counts as 2^47 */
#define RM_SKETCH_BINS        (1 + (RM_SKETCH_HIGH_OCTAVE - RM_SKETCH_LOW_OCTAVE) * RM_SKETCH_OCTAVE_BINS)

struct rm_sketch {
    uint32_t bins[RM_SKETCH_BINS]; /* bins[0]: zero, negative and tiny values */
};

/** Counts a finite value.  One store: a reader at any time sees a valid sketch. */
void rm_sketch_add(struct rm_sketch *sketch, double value);

/* Values that are not counted yet, and among which quantiles are looked for, too. */
#define RM_SKETCH_MOST_MORE 16

/** The value at quantile `q` (0 ... 1) of those from `low` to `high` in the sketch (NULL: it is
 * empty) and of `more`; NaN: there is none.  Only the bins in between are read: pages that nobody
 * wrote to stay untouched. */
double rm_sketch_quantile(const struct rm_sketch *sketch, const double *more, size_t more_count,
                          double q, double low, double high);

#endif

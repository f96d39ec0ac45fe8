/* SPDX-License-Identifier: MIT */
/*
 * Owns quantiles in fixed memory: a histogram with bins of equal relative width. It is a DDSketch
 * whose logarithm is approximated by a parabola in each octave. So each quantile is within 1 % of a
 * value that was counted. C. Masson, J. E. Rim, H. K. Lee: DDSketch, VLDB 2019.
 */
#ifndef RM_STORE_SKETCH_H
#define RM_STORE_SKETCH_H

#include <stddef.h>
#include <stdint.h>

/* 38 bins per octave. The widest bin, at the steep end of the parabola, is 2 * 0.982 % wide. */
#define RM_SKETCH_OCTAVE_BINS 38
#define RM_SKETCH_LOW_OCTAVE  (-20) /* below 2^-20 (1e-6) counts as 0 */
#define RM_SKETCH_HIGH_OCTAVE 47    /* above 2^47 (1.4e14) counts as 2^47 */
#define RM_SKETCH_BINS        (1 + (RM_SKETCH_HIGH_OCTAVE - RM_SKETCH_LOW_OCTAVE) * RM_SKETCH_OCTAVE_BINS)

struct rm_sketch {
    uint32_t bins[RM_SKETCH_BINS]; /* bins[0]: zero, negative and tiny values */
};

/** Counts a finite value by a single store, so a concurrent reader always sees a valid sketch. */
void rm_sketch_add(struct rm_sketch *sketch, double value);

/* Highest number of values that are not in the sketch yet but count for its quantiles. */
#define RM_SKETCH_MOST_MORE 16

/** The quantile `q` (0 ... 1) of the values in the sketch from `low` to `high` (NULL: the sketch is
 * empty) and of the values `more`; NaN if there are no values. Only the bins in this range are
 * read, so pages that were never written stay untouched. */
double rm_sketch_quantile(const struct rm_sketch *sketch, const double *more, size_t more_count,
                          double q, double low, double high);

#endif

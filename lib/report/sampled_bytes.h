/* SPDX-License-Identifier: MIT */
/*
 * Owns how amounts from few samples are shown: with a mark where they may be off by more than a
 * tenth, and as a bound where they are worth no more than that.
 */
#ifndef RM_REPORT_SAMPLED_BYTES_H
#define RM_REPORT_SAMPLED_BYTES_H

#include <stdbool.h>

#include "base/human.h"

/* Bytes, from samples. */
struct rm_sampled_bytes {
    double bytes;
    double error; /* standard error; 0: exact */
    double most;  /* what there is at all; NaN: not known */
};

#define RM_SAMPLED_BYTES_TEXT (2 * RM_HUMAN_BYTES + 8)

/** "3.0 MiB"; "~3.0 MiB": 95 of 100 such lie within its own size of the truth, but not within a
 * tenth of it; "<9.2 MiB": less than that, in 97.5 of 100.  true: there is a mark. */
bool rm_sampled_bytes_print(char text[RM_SAMPLED_BYTES_TEXT],
                            const struct rm_sampled_bytes *estimate);

/** "1.1 to 6.4 MiB", in 95 of 100 cases; "" of what has no mark. */
void rm_sampled_bytes_print_range(char text[RM_SAMPLED_BYTES_TEXT],
                                  const struct rm_sampled_bytes *estimate);

/** What the marks say, as a line below a table. */
extern const char *const rm_sampled_bytes_legend;

#endif

/* SPDX-License-Identifier: MIT */
#include "compare/shift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for a comparison");
}

static int by_value(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static double middle_of(const double *ordered, size_t count)
{
    return count == 0 ? RM_NAN : (ordered[(count - 1) / 2] + ordered[count / 2]) / 2.0;
}

resmon_status rm_shift_of(struct rm_ranks *ranks, struct rm_values one, struct rm_values other,
                          double confidence, struct rm_between *ret_shift)
{
    size_t pairs = one.count * other.count, k = 0;
    *ret_shift = (struct rm_between){RM_NAN, RM_NAN, RM_NAN};
    if (pairs == 0) {
        return RESMON_OK;
    }
    resmon_status status =
        rm_ranks_bound(ranks, one.count, other.count, (1.0 - confidence) / 2.0, &k);
    double *differences = rm_alloc(pairs, sizeof *differences);
    if (status != RESMON_OK || differences == NULL) {
        rm_free(differences);
        return status != RESMON_OK ? status : out_of_memory();
    }
    for (size_t i = 0; i < pairs; i++) {
        differences[i] = other.at[i % other.count] - one.at[i / other.count];
    }
    qsort(differences, pairs, sizeof *differences, by_value);
    ret_shift->value = middle_of(differences, pairs);
    if (k > 0) {
        ret_shift->low = differences[k - 1];
        ret_shift->high = differences[pairs - k];
    }
    rm_free(differences);
    return RESMON_OK;
}

/* ---- one group ---------------------------------------------------------------------------- */

/* The largest i so that the true median is below the i-th value, or above the i-th from the end, at
 * most as often as `tail` each: a count of fair coins. */
static size_t bound_of_median(size_t count, double tail)
{
    double sum = 0.0, log_of = -(double)count * log(2.0); /* of the probability of i heads */
    size_t i = 0;
    for (; i < count; i++) {
        sum += exp(log_of);
        if (sum > tail) {
            break;
        }
        log_of += log((double)(count - i) / (double)(i + 1));
    }
    return i;
}

static double *ordered_copy(struct rm_values values)
{
    double *copy = rm_alloc(values.count + 1, sizeof *copy);
    if (copy != NULL && values.count > 0) {
        memcpy(copy, values.at, values.count * sizeof *copy);
        qsort(copy, values.count, sizeof *copy, by_value);
    }
    return copy;
}

resmon_status rm_median_of(struct rm_values values, double confidence,
                           struct rm_between *ret_median)
{
    double *ordered = ordered_copy(values);
    *ret_median = (struct rm_between){RM_NAN, RM_NAN, RM_NAN};
    if (ordered == NULL) {
        return out_of_memory();
    }
    size_t bound = bound_of_median(values.count, (1.0 - confidence) / 2.0);
    ret_median->value = middle_of(ordered, values.count);
    if (bound > 0 && 2 * bound <= values.count) {
        ret_median->low = ordered[bound - 1];
        ret_median->high = ordered[values.count - bound];
    }
    rm_free(ordered);
    return RESMON_OK;
}

resmon_status rm_spread_of(struct rm_values values, double *ret_spread)
{
    double *ordered = ordered_copy(values);
    *ret_spread = RM_NAN;
    if (ordered == NULL) {
        return out_of_memory();
    }
    double median = middle_of(ordered, values.count);
    for (size_t i = 0; i < values.count; i++) {
        ordered[i] = fabs(ordered[i] - median);
    }
    qsort(ordered, values.count, sizeof *ordered, by_value);
    *ret_spread = values.count > 1 ? 1.4826 * middle_of(ordered, values.count) : RM_NAN;
    rm_free(ordered);
    return RESMON_OK;
}

/* SPDX-License-Identifier: MIT */
#include "compare/ranks.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"

/* ---- the test -------------------------------------------------------------------------------- */

#define RM_RANKS_EXACT      50U
#define RM_RANKS_EXACT_TIES 25U

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for a comparison");
}

/* ---- the normal distribution -------------------------------------------------------------- */

/* The standard normal distribution: the probability above z, and (below) z for a given
 * probability. */
static double rm_normal_above(double z)
{
    return 0.5 * erfc(z / sqrt(2.0));
}

static double rm_normal_quantile_above(double share)
{
    double low = -40.0, high = 40.0;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2.0;
        if (rm_normal_above(middle) > share) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (low + high) / 2.0;
}

/* ---- the distribution without equal values ------------------------------------------------ */

void rm_ranks_free(struct rm_ranks *ranks)
{
    rm_free(ranks->at_most);
    *ranks = (struct rm_ranks){.at_most = NULL};
}

/* Counts the orders of n and m values for each U.  An order ends either with one of the n, which is
 * above all m, or with one of the m.  Mann and Whitney, 1947, equation (5). */
static void count_orders(double *counts, size_t n, size_t m, size_t width)
{
    for (size_t j = 0; j <= m; j++) {
        counts[j * width] = 1.0;
    }
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            double *row = counts + j * width;
            const double *before = row - width;
            for (size_t u = width; u-- > 0;) {
                row[u] = (u >= j ? row[u - j] : 0.0) + before[u];
            }
        }
    }
}

static resmon_status prepare(struct rm_ranks *ranks, size_t n, size_t m)
{
    if (ranks->at_most != NULL && ranks->n == n && ranks->m == m) {
        return RESMON_OK;
    }
    rm_ranks_free(ranks);
    size_t width = n * m / 2 + 1;
    double *counts = rm_alloc((m + 1) * width, sizeof *counts);
    ranks->at_most = rm_alloc(width, sizeof *ranks->at_most);
    if (counts == NULL || ranks->at_most == NULL) {
        rm_free(counts);
        rm_ranks_free(ranks);
        return out_of_memory();
    }
    count_orders(counts, n, m, width);
    double sum = 0.0;
    for (size_t u = 0; u < width; u++) {
        sum += counts[m * width + u];
        ranks->at_most[u] = sum;
    }
    rm_free(counts);
    ranks->n = n;
    ranks->m = m;
    ranks->orders = 1.0;
    for (size_t i = 1; i <= n; i++) {
        ranks->orders *= (double)(m + i) / (double)i;
    }
    return RESMON_OK;
}

/* ---- ranks -------------------------------------------------------------------------------- */

struct item {
    double value;
    bool is_of_one;
};

/* The ranks of all values of both groups. */
struct ranking {
    struct item *items;
    unsigned *doubled; /* twice the ranks, which start at 1; equal values have their mean rank */
    size_t count, of_one;
    unsigned sum;    /* of the doubled ranks of the first group */
    double tie_term; /* sum of t^3 - t over groups of t equal values */
};

static int by_value(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

static void put_items(struct ranking *ranking, struct rm_values values, bool is_of_one)
{
    for (size_t i = 0; i < values.count; i++) {
        ranking->items[ranking->count++] = (struct item){values.at[i], is_of_one};
    }
}

static resmon_status rank(struct rm_values one, struct rm_values other, struct ranking *ranking)
{
    const size_t all = one.count + other.count;
    *ranking = (struct ranking){.items = rm_alloc(all, sizeof *ranking->items),
                                .doubled = rm_alloc(all, sizeof *ranking->doubled),
                                .of_one = one.count};
    if (ranking->items == NULL || ranking->doubled == NULL) {
        return out_of_memory();
    }
    put_items(ranking, one, true);
    put_items(ranking, other, false);
    qsort(ranking->items, all, sizeof *ranking->items, by_value);
    for (size_t first = 0, end; first < all; first = end) {
        for (end = first + 1; end < all && ranking->items[end].value == ranking->items[first].value;
             end++) {
        }
        double ties = (double)(end - first);
        ranking->tie_term += ties * ties * ties - ties;
        for (size_t i = first; i < end; i++) {
            ranking->doubled[i] = (unsigned)(first + 1 + end);
            ranking->sum += ranking->items[i].is_of_one ? ranking->doubled[i] : 0;
        }
    }
    return RESMON_OK;
}

/* U of the first group: the number of pairs in which its value is larger.  A pair of equal values
 * counts half. */
static double u_of(const struct ranking *ranking)
{
    double n = (double)ranking->of_one;
    return (double)ranking->sum / 2.0 - n * (n + 1.0) / 2.0;
}

/* ---- the test ----------------------------------------------------------------------------- */

static double two_sided(double lower, double upper)
{
    double p = 2.0 * (lower < upper ? lower : upper);
    return p < 1.0 ? p : 1.0;
}

static resmon_status test_exactly(struct rm_ranks *ranks, const struct ranking *ranking,
                                  double *ret_p)
{
    size_t n = ranking->of_one, m = ranking->count - n;
    resmon_status status = prepare(ranks, n, m);
    if (status == RESMON_OK) {
        double pairs = (double)n * (double)m, u = u_of(ranking);
        double least = u < pairs - u ? u : pairs - u;
        double lower = ranks->at_most[(size_t)least] / ranks->orders;
        *ret_p = two_sided(lower, lower);
    }
    return status;
}

/* For each sum, counts the choices of `of_one` ranks with that sum: choices without the last rank,
 * and choices with it. */
static void count_sums(const struct ranking *ranking, double *counts, size_t width)
{
    counts[0] = 1.0;
    for (size_t i = 0; i < ranking->count; i++) {
        const size_t own = ranking->doubled[i];
        for (size_t k = ranking->of_one; k > 0; k--) {
            double *row = counts + k * width;
            const double *before = row - width;
            for (size_t s = width; s-- > own;) {
                row[s] += before[s - own];
            }
        }
    }
}

static resmon_status test_with_ties(const struct ranking *ranking, double *ret_p)
{
    size_t width = ranking->count * (ranking->count + 1) + 1; /* sums from 0 to the largest */
    double *counts = rm_alloc((ranking->of_one + 1) * width, sizeof *counts);
    if (counts == NULL) {
        return out_of_memory();
    }
    count_sums(ranking, counts, width);
    double below = 0.0, at = 0.0, above = 0.0;
    const double *row = counts + ranking->of_one * width;
    for (size_t s = 0; s < width; s++) {
        below += s < ranking->sum ? row[s] : 0.0;
        at += s == ranking->sum ? row[s] : 0.0;
        above += s > ranking->sum ? row[s] : 0.0;
    }
    rm_free(counts);
    double all = below + at + above;
    *ret_p = two_sided((below + at) / all, (above + at) / all);
    return RESMON_OK;
}

/* E. L. Lehmann: Nonparametrics, 1975, appendix 4. */
static double test_nearly(const struct ranking *ranking)
{
    double n = (double)ranking->of_one, m = (double)ranking->count - n, all = n + m;
    double variance = n * m / 12.0 * (all + 1.0 - ranking->tie_term / (all * (all - 1.0)));
    double apart = fabs(u_of(ranking) - n * m / 2.0) - 0.5;
    if (variance <= 0.0) {
        return 1.0;
    }
    double above = rm_normal_above((apart > 0.0 ? apart : 0.0) / sqrt(variance));
    return two_sided(above, above);
}

resmon_status rm_ranks_test(struct rm_ranks *ranks, struct rm_values one, struct rm_values other,
                            double *ret_p)
{
    struct ranking ranking;
    *ret_p = 1.0;
    if (one.count == 0 || other.count == 0) {
        return RESMON_OK;
    }
    resmon_status status = rank(one, other, &ranking);
    size_t most = one.count > other.count ? one.count : other.count;
    if (status != RESMON_OK) {
        rm_free(ranking.items);
        rm_free(ranking.doubled);
        return status;
    }
    if (ranking.tie_term == 0.0 && most <= RM_RANKS_EXACT) {
        status = test_exactly(ranks, &ranking, ret_p);
    } else if (ranking.tie_term > 0.0 && most <= RM_RANKS_EXACT_TIES) {
        status = test_with_ties(&ranking, ret_p);
    } else {
        *ret_p = test_nearly(&ranking);
    }
    rm_free(ranking.items);
    rm_free(ranking.doubled);
    return status;
}

/*
 * The largest k with P(U < k) <= `tail` for groups of these sizes without equal values.  In the
 * ordered differences (n * m), number k from below and number k from above bound the shift between
 * the groups.  0: there is no such k.  RESMON_ENOMEM.
 */
static resmon_status rm_ranks_bound(struct rm_ranks *ranks, size_t n, size_t m, double tail,
                                    size_t *ret_k)
{
    *ret_k = 0;
    if (n > RM_RANKS_EXACT || m > RM_RANKS_EXACT) {
        double pairs = (double)n * (double)m;
        double spread = sqrt(pairs * (double)(n + m + 1) / 12.0);
        double k = floor(pairs / 2.0 - rm_normal_quantile_above(tail) * spread);
        *ret_k = k > 0.0 ? (size_t)k : 0;
        return RESMON_OK;
    }
    resmon_status status = n > 0 && m > 0 ? prepare(ranks, n, m) : RESMON_OK;
    for (size_t u = 0; status == RESMON_OK && n > 0 && m > 0 && u < n * m / 2 + 1 &&
                       ranks->at_most[u] / ranks->orders <= tail;
         u++) {
        *ret_k = u + 1;
    }
    return status;
}

/* ---- shifts and medians ---------------------------------------------------------------------- */

static int ascending(const void *left, const void *right)
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
    if (one.count == 0 || other.count == 0) {
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
    qsort(differences, pairs, sizeof *differences, ascending);
    ret_shift->value = middle_of(differences, pairs);
    if (k > 0) {
        ret_shift->low = differences[k - 1];
        ret_shift->high = differences[pairs - k];
    }
    rm_free(differences);
    return RESMON_OK;
}

/* ---- one group ---------------------------------------------------------------------------- */

/* The largest i for which two probabilities are each at most `tail`: that the true median is below
 * the i-th value, and that it is above the i-th value from the end.  Each is the binomial
 * distribution of fair coins. */
static size_t bound_of_median(size_t count, double tail)
{
    double sum = 0.0, log_of = -(double)count * log(2.0); /* log of the probability of i heads */
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
        qsort(copy, values.count, sizeof *copy, ascending);
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
    qsort(ordered, values.count, sizeof *ordered, ascending);
    *ret_spread = values.count > 1 ? 1.4826 * middle_of(ordered, values.count) : RM_NAN;
    rm_free(ordered);
    return RESMON_OK;
}

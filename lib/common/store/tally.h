/* SPDX-License-Identifier: MIT */
/*
 * Owns the sums of a summing meter (CPU time, I/O, counters) at a node where the meter was read at
 * some of the calls, drawn at random; and the estimates for all calls. Pure.
 *
 * Call i was metered with the chance p_i, which was fixed before the call (store/pace.h). The
 * amount x_i of a field is predicted for each call as r_i e_i. The extent e_i is 1 or the call's
 * wall time, and is known for each call. The rate r_i is the rate of the metered calls before call
 * i. Then
 *
 *     T = sum over all calls of r_i e_i + sum over metered calls of (x_i - r_i e_i) / p_i
 *
 * has the true sum as its expectation, for any amounts. T is a difference estimator on
 * Horvitz-Thompson sampling (Saerndal, Swensson, Wretman 1992, section 6.3), whose errors are a
 * martingale. Amounts proportional to their extents are found exactly. Calls without the meter need
 * no work, because r changes at metered calls only. An estimate of the variance of T without bias
 * is
 *
 *     V = sum over metered calls of (1 - p_i) (x_i - r_i e_i)^2 / p_i^2
 */
#ifndef RM_STORE_TALLY_H
#define RM_STORE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/records.h>

/* Members of these structs are 8 bytes each: see store/published.h. */
struct rm_tally {
    uint64_t calls; /* metered calls */
    uint64_t drawn; /* metered calls whose chance was below 1 */
    uint64_t seen;  /* extent that the fields' totals cover */
    double extent;  /* sum of extent / chance of the metered calls; 0 once settled */
};

struct rm_field {
    uint64_t sum;    /* sum of the metered calls: a certain lower bound */
    double total;    /* T */
    double variance; /* V */
    double squares;  /* sum of the squared summands of V */
    double rate;     /* r */
};

/* The amount of a call is proportional to its duration, or is about the same for each call. */
enum rm_extent { RM_EXTENT_TICKS, RM_EXTENT_CALLS };

/* Pointers to the tally of a meter and its fields. */
struct rm_tallied {
    struct rm_tally *tally;
    struct rm_field *fields;
    size_t count; /* number of fields */
    enum rm_extent extent;
};

/* All calls of a node and their time: the extents. */
struct rm_tally_all {
    uint64_t calls, ticks;
};

/* A call that was metered. */
struct rm_tally_call {
    double chance;
    uint64_t ticks;
    struct rm_tally_all all; /* this call included */
};

/* The values with which a call updates the fields of its meter. */
struct rm_tally_step {
    double grown;  /* extent since the previous metered call, this call included */
    double own;    /* extent of the call */
    double weight; /* 1 / p */
    double spread; /* (1 - p) / p^2 */
    double learnt; /* weight over the total extent, this call included */
};

/** Adds a call to a tally. The caller updates the fields by rm_field_after(). */
struct rm_tally_step rm_tally_step(struct rm_tally *tally, enum rm_extent extent,
                                   const struct rm_tally_call *call);

/** The field after a call with this amount. The rate before the call predicts this call; the rate
 * after it predicts later calls. */
static inline struct rm_field rm_field_after(struct rm_field field,
                                             const struct rm_tally_step *step, uint64_t amount)
{
    double error = (double)amount - field.rate * step->own;
    double term = step->spread * error * error;
    return (struct rm_field){.sum = field.sum + amount,
                             .total = field.total + field.rate * step->grown + error * step->weight,
                             .variance = field.variance + term,
                             .squares = field.squares + term * term,
                             .rate = field.rate + error * step->learnt};
}

/** Adds the amounts of a metered call: one amount for each field of the meter. */
void rm_tally_add(struct rm_tallied tallied, const struct rm_tally_call *call,
                  const uint64_t *amounts);

/** Extends the totals to all calls of the node, if at least one was metered, and clears the rates.
 * Then tallies of different nodes can be merged. If each call was metered, the total is the sum.
 * The total is also the sum if there is one metered call more than calls: in a running program, the
 * two counts may be copied at different moments. */
void rm_tally_settle(struct rm_tallied tallied, struct rm_tally_all all);

/** Adds another tally of the same meter; both tallies are settled. */
void rm_tally_merge(struct rm_tallied tallied, const struct rm_tally *tally,
                    const struct rm_field *fields);

/**
 * The estimate of a field over `all` calls, once settled. It is the exact sum if each call was
 * metered. Otherwise it is T with its 95 % confidence interval, T +- t(0.975, n - 1) sqrt(V), cut
 * at the certain sum. Here n is the effective number of summands of V: their sum squared over the
 * sum of their squares. With fewer than RM_TALLY_FEW calls that were drawn, V may reflect only the
 * common calls: then `high` is NaN and `low` is the certain sum. The interval is the same if some
 * of the merged nodes had no metered call (a thread had no counters). The amounts of these nodes
 * are taken as proportional to their extent.
 */
resmon_estimate rm_tally_estimate(const struct rm_tally *tally, const struct rm_field *field,
                                  enum rm_extent extent, struct rm_tally_all all);

#define RM_TALLY_FEW 30

/** Limits an estimate to a bound known from elsewhere, but not below the estimate's low end. A
 * bound that is not finite has no effect, and an estimate that is not known stays unknown. */
void rm_estimate_clamp(resmon_estimate *estimate, double high);

/** The estimate multiplied by `factor`. */
static inline resmon_estimate rm_estimate_scaled(resmon_estimate estimate, double factor)
{
    return (resmon_estimate){estimate.value * factor, estimate.low * factor,
                             estimate.high * factor};
}

/** Whether the error of an estimate may exceed its value: then it is too vague to be shown. */
static inline bool rm_estimate_is_vague(const resmon_estimate *estimate)
{
    return !(estimate->high - estimate->low <= estimate->value);
}

#endif

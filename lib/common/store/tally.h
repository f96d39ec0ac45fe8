/* SPDX-License-Identifier: MIT */
/*
 * Owns what a meter that sums (CPU time, I/O, counters) found at a node where it was taken at some
 * of the calls, drawn at random, and what that says of all of them.  Pure.
 *
 * Call i was metered with the chance p_i, which was fixed before the call (store/pace.h).  The
 * amount x_i of a field is predicted for every call as r_i e_i: the extent e_i, known of every
 * call, is 1 or the call's wall time, and the rate r_i is that of the metered calls before it. Then
 *
 *     T = sum over all calls of r_i e_i + sum over metered calls of (x_i - r_i e_i) / p_i
 *
 * has the true sum as its expectation, whatever the amounts are: a difference estimator on
 * Horvitz-Thompson sampling (Saerndal, Swensson, Wretman 1992, section 6.3), whose errors are a
 * martingale.  Amounts that go with their extents are found exactly.  Calls without the meter need
 * nothing, for r changes at metered calls only.  Of the variance of T,
 *
 *     V = sum over metered calls of (1 - p_i) (x_i - r_i e_i)^2 / p_i^2
 *
 * is an estimate without bias.
 */
#ifndef RM_STORE_TALLY_H
#define RM_STORE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/records.h>

/* Members of these are 8 bytes each: see store/published.h. */
struct rm_tally {
    uint64_t calls; /* metered */
    uint64_t drawn; /* of those, with a chance below 1 */
    uint64_t seen;  /* extent that the fields' totals are of */
    double extent;  /* of the metered calls, each over its chance; 0 once settled */
};

struct rm_field {
    uint64_t sum;    /* of the metered calls: certain */
    double total;    /* T */
    double variance; /* V */
    double squares;  /* of the summands of V, summed */
    double rate;     /* r */
};

/* The amount of a call goes with the time that it took, or is much the same in each. */
enum rm_extent { RM_EXTENT_TICKS, RM_EXTENT_CALLS };

/* The tally of a meter and its fields, wherever they stand. */
struct rm_tallied {
    struct rm_tally *tally;
    struct rm_field *fields;
    size_t count; /* of fields */
    enum rm_extent extent;
};

/* What a node has in all, which extents are of. */
struct rm_tally_all {
    uint64_t calls, ticks;
};

/* A call that was metered. */
struct rm_tally_call {
    double chance;
    uint64_t ticks;
    struct rm_tally_all all; /* with this one */
};

/* What a call means for the fields of its meter. */
struct rm_tally_step {
    double grown;  /* extent since the metered call before it, this one's included */
    double own;    /* extent of the call */
    double weight; /* 1 / p */
    double spread; /* (1 - p) / p^2 */
    double learnt; /* weight over the extent that is known with this call */
};

/** Adds a call to a tally, whose fields are for the caller: rm_field_after(). */
struct rm_tally_step rm_tally_step(struct rm_tally *tally, enum rm_extent extent,
                                   const struct rm_tally_call *call);

/** A field with the amount of a call.  The rate of the calls before predicts this one, and the rate
 * after it the ones to come. */
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

/** Adds what a meter found in a call: as many amounts as it has fields. */
void rm_tally_add(struct rm_tallied tallied, const struct rm_tally_call *call,
                  const uint64_t *amounts);

/** Brings the totals up to all calls of the node, if one of them was metered, and forgets the
 * rates: ready to be merged with another node's.  Where each call was metered, the total is the
 * sum; so it is where one more was than there are calls: of a program that goes on, the two may
 * have been copied apart. */
void rm_tally_settle(struct rm_tallied tallied, struct rm_tally_all all);

/** Adds another tally of the same meter; both are settled. */
void rm_tally_merge(struct rm_tallied tallied, const struct rm_tally *tally,
                    const struct rm_field *fields);

/**
 * What is known of a field, of `all` calls, once settled: the very sum where each was metered, else
 * T and the interval in which the truth is with 95 %, T +- t(0.975, n - 1) sqrt(V), which does
 * not reach below the certain sum.  n is how many summands of V matter: their sum squared over the
 * sum of their squares.  With fewer than RM_TALLY_FEW calls that were drawn, V may be of the common
 * ones among the calls only: `high` is NaN then, and `low` the certain sum.  So they are where
 * there was no metered call in some of the nodes that were merged (a thread had no counters): what
 * these had is taken to go with their extent.
 */
resmon_estimate rm_tally_estimate(const struct rm_tally *tally, const struct rm_field *field,
                                  enum rm_extent extent, struct rm_tally_all all);

#define RM_TALLY_FEW 30

/** Keeps an estimate below a bound that is known otherwise, as far as its low end allows; what is
 * not finite is no bound, and a figure that is not known stays so. */
void rm_estimate_clamp(resmon_estimate *estimate, double high);

/** The estimate of what is `factor` times as much. */
static inline resmon_estimate rm_estimate_scaled(resmon_estimate estimate, double factor)
{
    return (resmon_estimate){estimate.value * factor, estimate.low * factor,
                             estimate.high * factor};
}

/** Whether an estimate may be off by more than itself: too vague to be shown as a figure. */
static inline bool rm_estimate_is_vague(const resmon_estimate *estimate)
{
    return !(estimate->high - estimate->low <= estimate->value);
}

#endif

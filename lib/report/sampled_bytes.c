/* SPDX-License-Identifier: MIT */
#include "report/sampled_bytes.h"

#include <stdio.h>

#include "run/profile.h"

#define EXACT_ENOUGH 0.1 /* half of the interval, of the amount */
#define OF_NO_WORTH  1.0

const char *const rm_sampled_bytes_legend =
    "  ~: from few samples, with its 95 % interval; <: an upper bound, from very few samples\n";

static double half_of(const struct rm_sampled_bytes *estimate, struct rm_stack_interval interval)
{
    return estimate->bytes > 0.0 ? 0.5 * (interval.high - interval.low) / estimate->bytes : 0.0;
}

bool rm_sampled_bytes_print(char text[RM_SAMPLED_BYTES_TEXT],
                            const struct rm_sampled_bytes *estimate)
{
    char amount[RM_HUMAN_BYTES];
    struct rm_stack_interval interval =
        rm_stack_interval_of(estimate->bytes, estimate->error, estimate->most);
    double half = half_of(estimate, interval);
    bool is_bound = half > OF_NO_WORTH;
    rm_human_bytes(amount, is_bound ? interval.high : estimate->bytes);
    (void)snprintf(text, RM_SAMPLED_BYTES_TEXT, "%s%s",
                   is_bound              ? "<"
                   : half > EXACT_ENOUGH ? "~"
                                         : "",
                   amount);
    return half > EXACT_ENOUGH;
}

void rm_sampled_bytes_print_range(char text[RM_SAMPLED_BYTES_TEXT],
                                  const struct rm_sampled_bytes *estimate)
{
    char low[RM_HUMAN_BYTES], high[RM_HUMAN_BYTES];
    struct rm_stack_interval interval =
        rm_stack_interval_of(estimate->bytes, estimate->error, estimate->most);
    text[0] = '\0';
    if (half_of(estimate, interval) > EXACT_ENOUGH) {
        rm_human_bytes(low, interval.low);
        rm_human_bytes(high, interval.high);
        (void)snprintf(text, RM_SAMPLED_BYTES_TEXT, "%s to %s", low, high);
    }
}

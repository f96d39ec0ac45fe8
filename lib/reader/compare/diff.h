/* SPDX-License-Identifier: MIT */
/*
 * Owns the comparison of two groups of runs.  For each value of the run and of each scope it
 * computes the difference and its confidence interval.  For values with a rule of a gate, it
 * decides whether the value is worse.  Pure.
 *
 * Counted values are compared directly, unless their range within a side exceeds the allowance of
 * the rule.  Other values are worse if the test of rm_ranks_test() is significant and the shift
 * exceeds the allowance.  The test is adjusted for the number of rules in the gate (S. Holm: A
 * Simple Sequentially Rejective Multiple Test Procedure, 1979).  A value is not worse if the upper
 * end of its interval does not exceed the allowance.  In all other cases the verdict is
 * CANNOT_TELL.
 */
#ifndef RM_COMPARE_DIFF_H
#define RM_COMPARE_DIFF_H

#include "compare/gate.h"
#include "compare/group.h"
#include "compare/ranks.h"

#define RM_DIFF_ALPHA      0.05
#define RM_DIFF_CONFIDENCE 0.95

/* In increasing order: the verdict of several rows is the highest of their verdicts. */
enum rm_verdict { RM_VERDICT_NONE, RM_VERDICT_NOT_WORSE, RM_VERDICT_CANNOT_TELL, RM_VERDICT_WORSE };

struct rm_diff_row {
    const char *path;
    enum rm_figure_id figure;
    bool is_counted; /* is compared directly; with a rule, only if it allows `range` */
    double range;    /* highest minus lowest value in a side; the larger of the two sides */
    size_t before_count, after_count; /* runs that know the value */
    struct rm_between before, after;  /* medians */
    struct rm_between shift;          /* after - before */
    double p;                         /* probability of such a difference by chance; NaN: no test */
    double p_of_all; /* adjusted for the number of rules; NaN: no rule, or no test */
    const struct rm_gate_rule *rule; /* NULL: none */
    double allowance;                /* what the rule allows, in the unit of the value */
    enum rm_verdict verdict;
    uint64_t runs_wanted; /* on each side, for a verdict; 0: not known, or there is a verdict */
};

struct rm_diff {
    const struct rm_group *before, *after;
    const struct rm_gate *gate;
    struct rm_diff_row *rows; /* rows of the run come first */
    size_t row_count, row_room;
    const char **gone,
        **fresh; /* paths of scopes that only one side has, without scopes inside such scopes */
    size_t gone_count, fresh_count;
    bool is_used[RM_GATE_RULES]; /* rules that match a row */
    char machines[512];          /* how the machines of the sides differ; "": they do not */
    enum rm_verdict verdict;
};

/** The groups and the gate must live as long as the comparison.  The gate may have no rules.
 * RESMON_EINVAL: a group has no run; RESMON_ENOMEM.  The comparison must be freed in any case. */
resmon_status rm_diff_make(struct rm_diff *diff, const struct rm_group *before,
                           const struct rm_group *after, const struct rm_gate *gate);
void rm_diff_free(struct rm_diff *diff);

/** How many rows have this verdict. */
size_t rm_diff_count(const struct rm_diff *diff, enum rm_verdict verdict);

/** The probable new name of scope `index` of `gone`.  It is known only if its parent scope lost one
 * scope and gained one scope; else NULL. */
const char *rm_diff_renamed(const struct rm_diff *diff, size_t index);

#endif

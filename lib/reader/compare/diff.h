/* SPDX-License-Identifier: MIT */
/*
 * Owns the comparison of two groups of runs: for each figure of the run and of each scope the
 * difference with its interval, and by the rules of a gate whether it is worse.  Pure.
 *
 * Counted figures are compared as they are, unless they differ within a side by more than the rule
 * allows.  Others are worse when the test of rm_ranks_test() says
 * that they differ, with all rules of the gate taken together (S. Holm: A Simple Sequentially
 * Rejective Multiple Test Procedure, 1979), and the shift exceeds what the rule allows; not worse
 * when the upper end of its interval does not; and else nobody can tell.
 */
#ifndef RM_COMPARE_DIFF_H
#define RM_COMPARE_DIFF_H

#include "compare/gate.h"
#include "compare/group.h"
#include "compare/ranks.h"

#define RM_DIFF_ALPHA      0.05
#define RM_DIFF_CONFIDENCE 0.95

/* In this order: of several the last of these is that of all. */
enum rm_verdict { RM_VERDICT_NONE, RM_VERDICT_NOT_WORSE, RM_VERDICT_CANNOT_TELL, RM_VERDICT_WORSE };

struct rm_diff_row {
    const char *path;
    enum rm_figure_id figure;
    bool is_counted; /* and, with a rule, varies within a side by no more than that allows */
    double range;    /* the larger one of the two sides: from the lowest to the highest */
    size_t before_count, after_count; /* runs that know it */
    struct rm_between before, after;  /* medians */
    struct rm_between shift;          /* after - before */
    double p;                         /* that they differ so by chance; NaN: no test */
    double p_of_all;                  /* with all rules taken together; NaN: no rule, or no test */
    const struct rm_gate_rule *rule;  /* NULL: none */
    double allowance;                 /* of the rule */
    enum rm_verdict verdict;
    uint64_t runs_wanted; /* a side, to tell; 0: not known, or told */
};

struct rm_diff {
    const struct rm_group *before, *after;
    const struct rm_gate *gate;
    struct rm_diff_row *rows; /* of the run first */
    size_t row_count, row_room;
    const char **gone,
        **fresh; /* paths of scopes that one side has, without those inside of such */
    size_t gone_count, fresh_count;
    bool is_used[RM_GATE_RULES]; /* rules that found something */
    char machines[512];          /* how these differ; "": they do not */
    enum rm_verdict verdict;
};

/** The groups and the gate, which may have no rules, must live as long.  RESMON_EINVAL: a group has
 * no run; RESMON_ENOMEM.  Free it in any case. */
resmon_status rm_diff_make(struct rm_diff *diff, const struct rm_group *before,
                           const struct rm_group *after, const struct rm_gate *gate);
void rm_diff_free(struct rm_diff *diff);

/** How many rows have this verdict. */
size_t rm_diff_count(const struct rm_diff *diff, enum rm_verdict verdict);

/** What scope `index` of those that are gone may be called now: the only new one where it was the
 * only one that is gone; NULL: nobody can tell. */
const char *rm_diff_renamed(const struct rm_diff *diff, size_t index);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the thresholds of a gate: by how much a value may be worse.  Pure.
 *
 *   wall>5%+10ms               more than 5 % and more than 10 ms
 *   peak>2%+1MiB
 *   energy>5%
 *   calls>0
 *   scope:train/step wall>3%   of a scope by its path; * and ? match any names
 *
 * Each rule is on its own line, or rules are separated by commas; # begins a comment.
 */
#ifndef RM_COMPARE_GATE_H
#define RM_COMPARE_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "compare/figures.h"

#define RM_GATE_RULES 64U
#define RM_GATE_SCOPE 256U
#define RM_GATE_TEXT  320U

struct rm_gate_rule {
    char text[RM_GATE_TEXT];   /* as it was given */
    char scope[RM_GATE_SCOPE]; /* pattern of paths; "": the run */
    enum rm_figure_id figure;
    double share;  /* of the value of the first side */
    double amount; /* in the unit of the value */
};

struct rm_gate {
    struct rm_gate_rule *rules; /* up to RM_GATE_RULES */
    size_t count, room;
};

/** The default rules: wall time, CPU time and peak of the run. */
extern const char rm_gate_default[];

/** Adds the rules of a text.  RESMON_ENOMEM; RESMON_ENOSPC: too many rules; RESMON_EINVAL: the
 * message contains the wrong rule and the correct form. */
resmon_status rm_gate_read(struct rm_gate *gate, const char *text);

void rm_gate_free(struct rm_gate *gate);

/** The first rule for a value of a path ("": the run); NULL: there is no such rule. */
const struct rm_gate_rule *rm_gate_find(const struct rm_gate *gate, const char *path,
                                        enum rm_figure_id figure);

/** The allowed growth from `before`: the larger of share and amount, as both must be exceeded. */
double rm_gate_allowance(const struct rm_gate_rule *rule, double before);

#endif

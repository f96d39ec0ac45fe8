/* SPDX-License-Identifier: MIT */
/*
 * Owns the thresholds of a gate: by how much a figure may be worse.  Pure.
 *
 *   wall>5%+10ms               more than 5 % and more than 10 ms
 *   peak>2%+1MiB
 *   energy>5%
 *   calls>0
 *   scope:train/step wall>3%   of a scope by its path; * and ? stand for any names
 *
 * Rules stand in lines, or behind each other with a comma between; # begins a comment.
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
    char text[RM_GATE_TEXT];   /* as it was said */
    char scope[RM_GATE_SCOPE]; /* pattern of paths; "": the run */
    enum rm_figure_id figure;
    double share;  /* of what the first side has */
    double amount; /* in the figure's unit */
};

struct rm_gate {
    struct rm_gate_rule *rules; /* up to RM_GATE_RULES */
    size_t count, room;
};

/** What is taken if nobody says anything: wall time, CPU time and peak of the run. */
extern const char rm_gate_default[];

/** Adds the rules of a text.  RESMON_ENOMEM; RESMON_ENOSPC: too many; RESMON_EINVAL says which one
 * is wrong, and what would be right. */
resmon_status rm_gate_read(struct rm_gate *gate, const char *text);

void rm_gate_free(struct rm_gate *gate);

/** The first rule for a figure of a path ("": the run); NULL: there is none. */
const struct rm_gate_rule *rm_gate_find(const struct rm_gate *gate, const char *path,
                                        enum rm_figure_id figure);

/** What a figure may grow by from `before`: the larger one of share and amount, as both must be
 * exceeded. */
double rm_gate_allowance(const struct rm_gate_rule *rule, double before);

#endif

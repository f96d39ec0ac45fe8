/* SPDX-License-Identifier: MIT */
/*
 * Owns the figures of a run that are asked for first, settled where there are several ways to know
 * them.
 */
#ifndef RM_RUN_HEADLINE_H
#define RM_RUN_HEADLINE_H

#include "base/compiler.h"
#include "run/run.h"

/** They are made of columns (view HEADLINE of metric/views.def), scopes and energy. */
RM_SHARED resmon_headline rm_run_headline(const struct resmon_run *run);

/** The highest RSS of several processes at once, as samples saw it; NaN: there was one, or it alone
 * had more than samples ever saw of all. */
RM_SHARED double rm_run_memory_at_once(const struct resmon_run *run,
                                       const resmon_headline *headline);

#endif

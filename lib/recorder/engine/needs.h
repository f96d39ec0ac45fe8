/* SPDX-License-Identifier: MIT */
/*
 * Owns what outputs need of a monitor's options, where these say nothing, and what is to be told
 * of options that have no effect or a price.
 * Called by monitor.c.
 */
#ifndef RM_ENGINE_NEEDS_H
#define RM_ENGINE_NEEDS_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "setup/options.h"

struct rm_needs {
    uint64_t stacks, events;
};

/** See rm_monitor_need(). */
resmon_status rm_needs_add(struct rm_needs *needs, const struct rm_options *options,
                           const char *what, uint64_t stacks, uint64_t events);

/** Writes the needs into options that say nothing. */
void rm_needs_settle(const struct rm_needs *needs, struct rm_options *options);

/** What was asked for and has no effect, or takes much memory, a line each.  `row_bytes`: what a
 * row of the table takes. */
void rm_needs_remark(const struct rm_needs *needs, const struct rm_options *options,
                     uint64_t row_bytes, char *text, size_t room);

#endif

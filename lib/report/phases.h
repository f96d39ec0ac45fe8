/* SPDX-License-Identifier: MIT */
/*
 * Owns the tables of phases: scopes by path, and by name.
 */
#ifndef RM_REPORT_PHASES_H
#define RM_REPORT_PHASES_H

#include <resmon/energy.h>

#include "base/buffer.h"
#include "report/table.h"
#include "run/run.h"

/* A figure of scopes, as tables have it. */
struct rm_phase_column {
    const char *heading;
    bool is_brief; /* asked for first */
    bool (*has)(const resmon_run_scope *scope);
    void (*set)(char text[RM_TABLE_CELL_BYTES], const resmon_run_scope *scope,
                const resmon_energy *energy);
};

/** Those that are asked for first in front; NULL past the last. */
const struct rm_phase_column *rm_phase_column(size_t index);

/** Appends both tables in full; nothing of a run without scopes. */
void rm_report_phases(struct rm_buffer *buffer, const struct resmon_run *run, size_t width);

/** Appends a line for each scope, with what is asked for first; of many, those that took longest.
 */
void rm_report_phases_briefly(struct rm_buffer *buffer, const struct resmon_run *run, size_t width);

#endif

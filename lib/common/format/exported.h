/* SPDX-License-Identifier: MIT */
/*
 * Owns what monitoring systems (Prometheus, OpenTelemetry) get of a run: the last values of its
 * metrics, its scopes, its bounds and its sources.  The formats determine names, units and labels.
 */
#ifndef RM_FORMAT_EXPORTED_H
#define RM_FORMAT_EXPORTED_H

#include <stddef.h>

#include <resmon/status.h>

#include "format/exposition.h"
#include "run/run.h"

#define RM_EXPORTED_MOST_SCOPES 1000

struct rm_exported_family {
    const char *name; /* "proc.mem.rss", "scope.cpu" */
    const char *unit; /* as in the table of metrics: "B", "%" */
    const char *help;
    enum rm_family_kind kind;
};

/* "device", "mountpoint"; "scope": its path, with '/' and '\' in names escaped by '\'; "event",
 * "what", "source", "version". */
struct rm_exported_label {
    const char *name, *value;
};

struct rm_exporter {
    void *context;
    /* The values that follow are of `family`, which is valid until the next call.  Families without
     * a value occur. */
    void (*family)(void *context, const struct rm_exported_family *family);
    /* The value may be NaN or infinite, that of a counter also negative. */
    void (*value)(void *context, const struct rm_exported_label *labels, size_t count,
                  double value);
    /* Each scope, before the values; NULL: not wanted. */
    void (*scope)(void *context, const char *path, const resmon_run_scope *scope);
};

/** Passes all values.  A value that is not known, or of a source that cannot be read any more, is
 * left out; and while the program runs, estimates that could decrease.  One process of a job per
 * host has the metrics of the host.  RESMON_ENOMEM. */
resmon_status rm_export_values(const struct resmon_run *run, const struct rm_exporter *exporter);

/** The labels "node", "job_id", "rank", "pid" of all values: the value of one, or NULL. */
const char *rm_exported_fact(const struct resmon_run *run, const char *label);

#endif

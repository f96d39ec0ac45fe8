/* SPDX-License-Identifier: MIT */
/*
 * Owns the table of the library's sinks (sinks.def): their names, options, what they need of a
 * monitor; and makes them, of a struct or of a text.
 */
#ifndef RM_SINK_SINKS_H
#define RM_SINK_SINKS_H

#include <resmon/emissions.h>
#include <resmon/mlflow.h>
#include <resmon/prometheus.h>
#include <resmon/report.h>
#include <resmon/stack.h>
#include <resmon/trace.h>

#include "base/option.h"
#include "base/struct_size.h"
#include "sink/sink.h"

struct rm_sink_kind {
    struct rm_option_set set;
    struct rm_struct_size size; /* of the struct of its options */
    /* Of that struct, checked and completed. */
    resmon_status (*make)(const void *options, struct rm_sink *ret_sink);
    uint64_t stacks; /* RESMON_STACKS_*: it shows one of these, and has all taken if nobody says */
    uint64_t
        events; /* scope instances of each thread that are kept for it if nobody says how many */
    uint64_t parts;        /* RESMON_PART_* of the run that it looks at */
    const char *files;     /* endings of the names of its files, " " between; NULL: none */
    uint64_t export_flags; /* of its options, for a run that is over */
    /* Sends a run that is over; NULL: it gets it as at the stop of a monitor. */
    resmon_status (*push)(const resmon_run *run, const void *options);
};

/** NULL past the end; in the order of the table.  By its name: NULL: there is none. */
const struct rm_sink_kind *rm_sink_kind_at(size_t index);
const struct rm_sink_kind *rm_sink_kind_find(const char *name);

/** The sink of which a file is by its name, the longest ending first; NULL: of none. */
const struct rm_sink_kind *rm_sink_kind_of_file(const char *path);

/** Gives it a run that is over, as a monitor does at its stop; `given` as rm_sink_make(). */
resmon_status rm_sink_export(const struct rm_sink_kind *kind, const void *given,
                             const resmon_run *run);

/** Checks and completes options that a program filled in (NULL: nothing is said).  RESMON_EINVAL,
 * RESMON_ERANGE. */
resmon_status rm_sink_take(const struct rm_sink_kind *kind, const void *given, void *ret_options);

/* clang-format off */
/* Who makes each sink of its options, which are complete; the lines of the table say which struct.
 * RESMON_EINVAL, RESMON_ENOENT, RESMON_EACCES, RESMON_ENOTSUP, RESMON_ENOMEM. */
#define RM_SINK(name) \
    resmon_status rm_##name##_sink_new(const RM_OWNER *options, struct rm_sink *ret_sink);
#define RM_OPTION(key, type, member, traits, help)
#define RM_SINK_END(name, main, flags, parts, needs, help)
#include "sink/sinks.def"
/* clang-format on */

/* Options of a sink that were read from a text. */
struct rm_sink_options {
    void *values; /* the struct */
    char *room;   /* for texts */
    resmon_prometheus_label labels[RM_OPTION_LABELS_MOST];
};

/** Reads "value,key=value,key,...", not yet checked as a whole.  Free what was read. */
resmon_status rm_sink_parse(const struct rm_sink_kind *kind, const char *text,
                            struct rm_sink_options *ret_options);
void rm_sink_options_free(struct rm_sink_options *options);

/** Makes a sink of a struct that a program filled in (NULL: nothing is said). */
resmon_status rm_sink_make(const struct rm_sink_kind *kind, const void *given,
                           struct rm_sink *ret_sink);

#endif

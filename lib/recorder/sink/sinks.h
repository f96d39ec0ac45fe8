/* SPDX-License-Identifier: MIT */
/*
 * Owns the interface of this layer: the table of the library's sinks (sinks.def) with their names,
 * their options and what they need of a monitor; how they are made, of a struct or of a text; and
 * what some of them do with a run that is over.
 */
#ifndef RM_SINK_SINKS_H
#define RM_SINK_SINKS_H

#include <resmon/emissions.h>
#include <resmon/mlflow.h>
#include <resmon/prometheus.h>
#include <resmon/report.h>
#include <resmon/sink.h>
#include <resmon/stack.h>
#include <resmon/trace.h>

#include "base/buffer.h"
#include "base/option.h"
#include "base/struct_size.h"

/* ---- a sink --------------------------------------------------------------------------------- */

/* The form in which this layer hands its sinks to the engine, which knows no other.  The engine
 * sets ops.struct_size, and calls ops.close(context) in the end. */
struct rm_sink {
    resmon_sink_ops ops;
    void *context;
    const char *file; /* written by this sink alone until it is closed, absolute; NULL: none */
    uint64_t snapshot_parts; /* RESMON_PART_* that `snapshot` looks at; 0: those of `stop` */
    bool wants_draft; /* `snapshot` also gets the finished run before its stacks have names */
    /* Gives it a function that adds facts to the run; NULL: it has none to add. */
    void (*take_note)(void *context, void (*note)(const char *key, const char *value));
};

/* ---- the table ------------------------------------------------------------------------------ */

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

/* ---- sinks that save a run to a file --------------------------------------------------------- */

struct rm_saver {
    const char *name;                         /* of the sink */
    const char *pattern;                      /* of the path */
    uint64_t interval_ms;                     /* 0: only at the end */
    bool is_late;                             /* its directory may not be there yet */
    resmon_status (*begin)(const char *path); /* before the first save; NULL: nothing */
    resmon_status (*save)(const resmon_run *run, const char *path);
};

/** Checks the path already, as the end of a program is late for bad news: RESMON_EINVAL,
 * RESMON_ENOENT, RESMON_EACCES as rm_outfile_settle(); RESMON_ENOMEM. */
resmon_status rm_saver_new(const struct rm_saver *saver, struct rm_sink *ret_sink);

/* ---- runs that are over ---------------------------------------------------------------------- */

/** Adds a line to codecarbon's emissions.csv; `path` is expanded by the caller. */
resmon_status rm_emissions_append(const resmon_run *run, uint64_t flags, const char *path);

/** Sends a run to MLflow; the options are complete (rm_sink_take()). */
resmon_status rm_mlflow_push(const resmon_run *run, const resmon_mlflow_options *options);

/** Adds what a push would send, as JSON, for a store that only MLflow's package can write to. */
resmon_status rm_mlflow_requests(const resmon_run *run, const resmon_mlflow_options *options,
                                 struct rm_buffer *text);

#endif

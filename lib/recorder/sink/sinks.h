/* SPDX-License-Identifier: MIT */
/*
 * Owns the interface of this layer: the table of the library's sinks (sinks.def), with their names,
 * their options and their requirements of a monitor; creation of sinks from a struct or a text; and
 * the handling of finished runs by some of them.
 */
#ifndef RM_SINK_SINKS_H
#define RM_SINK_SINKS_H

#include <resmon/emissions.h>
#include <resmon/mlflow.h>
#include <resmon/otlp.h>
#include <resmon/prometheus.h>
#include <resmon/report.h>
#include <resmon/sink.h>
#include <resmon/stack.h>
#include <resmon/trace.h>

#include "base/buffer.h"
#include "base/option.h"
#include "base/struct_size.h"

/* ---- a sink --------------------------------------------------------------------------------- */

/* A sink as the engine gets it; the engine depends on no other part of this layer.  It sets
 * ops.struct_size, and calls ops.close(context) at the end. */
struct rm_sink {
    resmon_sink_ops ops;
    void *context;
    const char *file; /* absolute path of the file that only this sink writes until it is closed;
                         NULL: none */
    uint64_t snapshot_parts; /* RESMON_PART_* that `snapshot` uses; 0: the same as `stop` */
    bool wants_draft; /* `snapshot` also gets the finished run before its stacks are symbolized */
    /* Sets the function with which the sink adds facts to the run; NULL: the sink adds none. */
    void (*take_note)(void *context, void (*note)(const char *key, const char *value));
};

/* ---- the table ------------------------------------------------------------------------------ */

struct rm_sink_kind {
    struct rm_option_set set;
    struct rm_struct_size size; /* size of the struct of its options */
    /* Creates a sink; `options` is the struct, checked and completed. */
    resmon_status (*make)(const void *options, struct rm_sink *ret_sink);
    uint64_t stacks; /* RESMON_STACKS_*: it shows one of these; the monitor takes all of them
                        unless its options set stacks */
    uint64_t events; /* scope instances per thread that the monitor keeps for it unless its options
                        set a number */
    uint64_t parts;  /* RESMON_PART_* of the run that it uses */
    const char *files;     /* endings of its file names, separated by " "; NULL: none */
    uint64_t export_flags; /* flags of its options that are set for a finished run */
    /* Sends a finished run; NULL: the sink gets the run as at the stop of a monitor. */
    resmon_status (*push)(const resmon_run *run, const void *options);
};

/** The kind at an index, in the order of the table, or NULL past the end; and the kind with a
 * name, or NULL. */
const struct rm_sink_kind *rm_sink_kind_at(size_t index);
const struct rm_sink_kind *rm_sink_kind_find(const char *name);

/** The kind of sink that writes a file with this name, by the longest ending; NULL: none. */
const struct rm_sink_kind *rm_sink_kind_of_file(const char *path);

/** Passes a finished run to a sink, as a monitor does when it stops; `given` as in
 * rm_sink_make(). */
resmon_status rm_sink_export(const struct rm_sink_kind *kind, const void *given,
                             const resmon_run *run);

/** Checks and completes options that a program has set (NULL: defaults).  RESMON_EINVAL,
 * RESMON_ERANGE. */
resmon_status rm_sink_take(const struct rm_sink_kind *kind, const void *given, void *ret_options);

/* clang-format off */
/* Functions that create a sink from complete options; the table has the struct of each.
 * RESMON_EINVAL, RESMON_ENOENT, RESMON_EACCES, RESMON_ENOTSUP, RESMON_ENOMEM. */
#define RM_SINK(name) \
    resmon_status rm_##name##_sink_new(const RM_OWNER *options, struct rm_sink *ret_sink);
#define RM_OPTION(key, type, member, traits, help)
#define RM_SINK_END(name, main, flags, parts, needs, help)
#include "sink/sinks.def"
/* clang-format on */

/* Options of a sink, read from a text. */
struct rm_sink_options {
    void *values; /* the struct */
    char *room;   /* memory for texts */
    resmon_label labels[RM_OPTION_LABELS_MOST];
};

/** Reads "value,key=value,key,...".  The options are not checked as a whole.  Free them with
 * rm_sink_options_free(). */
resmon_status rm_sink_parse(const struct rm_sink_kind *kind, const char *text,
                            struct rm_sink_options *ret_options);
void rm_sink_options_free(struct rm_sink_options *options);

/** Creates a sink from a struct that a program has set (NULL: defaults). */
resmon_status rm_sink_make(const struct rm_sink_kind *kind, const void *given,
                           struct rm_sink *ret_sink);

/* ---- sinks that save a run to a file --------------------------------------------------------- */

struct rm_saver {
    const char *name;                         /* of the sink */
    const char *pattern;                      /* of the path */
    uint64_t interval_ms;                     /* 0: only at the end */
    bool is_late;                             /* its directory may not exist yet */
    resmon_status (*begin)(const char *path); /* called before the first save; NULL: nothing to
                                                 do */
    resmon_status (*save)(const resmon_run *run, const char *path);
};

/** Creates a saver, and checks its path, since a failure at the end of a program would come too
 * late.  RESMON_EINVAL, RESMON_ENOENT, RESMON_EACCES as rm_outfile_settle(); RESMON_ENOMEM. */
resmon_status rm_saver_new(const struct rm_saver *saver, struct rm_sink *ret_sink);

/* ---- finished runs --------------------------------------------------------------------------- */

/** Adds a line to an emissions.csv of codecarbon; the caller has expanded `path`. */
resmon_status rm_emissions_append(const resmon_run *run, uint64_t flags, const char *path);

/** Sends a run to MLflow; the options are complete (rm_sink_take()). */
resmon_status rm_mlflow_push(const resmon_run *run, const resmon_mlflow_options *options);

/** Appends the requests of a push as JSON, for an artifact store that only MLflow's package can
 * write to. */
resmon_status rm_mlflow_requests(const resmon_run *run, const resmon_mlflow_options *options,
                                 struct rm_buffer *text);

#endif

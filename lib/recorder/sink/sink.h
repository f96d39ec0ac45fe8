/* SPDX-License-Identifier: MIT */
/*
 * Owns the form in which this layer hands its sinks to the engine, which knows no other.
 */
#ifndef RM_SINK_SINK_H
#define RM_SINK_SINK_H

#include <stdbool.h>

#include <resmon/sink.h>

/* Whoever takes it sets ops.struct_size, and calls ops.close(context) in the end. */
struct rm_sink {
    resmon_sink_ops ops;
    void *context;
    const char *file; /* that is its alone to write, absolute, until it is closed; NULL: none */
    uint64_t snapshot_parts; /* RESMON_PART_* that `snapshot` looks at; 0: those of `stop` */
    bool wants_draft; /* `snapshot` also shows it the finished run before its stacks have names */
    /* Gives it a way to put facts of the run down; NULL: it has none to tell. */
    void (*take_note)(void *context, void (*note)(const char *key, const char *value));
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the form in which this layer hands its sinks to the engine, which knows no other.
 */
#ifndef RM_SINK_SINK_H
#define RM_SINK_SINK_H

#include <resmon/sink.h>

/* Whoever takes it sets ops.struct_size, and calls ops.close(context) in the end. */
struct rm_sink {
    resmon_sink_ops ops;
    void *context;
};

#endif

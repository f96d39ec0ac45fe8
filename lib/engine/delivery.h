/* SPDX-License-Identifier: MIT */
/*
 * Owns the way from samples to sinks: a bounded queue, and the thread rm-send that alone calls
 * them.
 */
#ifndef RM_ENGINE_DELIVERY_H
#define RM_ENGINE_DELIVERY_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

#include <resmon/sink.h>

#include "base/ring.h"

#define RM_MAX_SINKS 32

struct rm_delivery_sink {
    resmon_sink_ops ops;
    void *context;
    char name[64];
    bool is_off; /* it failed */
};

struct rm_delivery {
    struct rm_delivery_sink sinks[RM_MAX_SINKS];
    size_t sink_count;
    struct rm_ring ring; /* from the sampling thread to rm-send */
    size_t column_count;
    resmon_run *columns; /* what sinks are shown with each row */
    sem_t wake;          /* posted for each row, and to stop */
    pthread_t thread;
    bool has_thread;
    bool is_stopping;      /* atomic: set before the last wake */
    resmon_run *final_run; /* with is_stopping; owned by the caller of stop */
};

void rm_delivery_init(struct rm_delivery *delivery);

/** RESMON_EINVAL for a short or foreign table, RESMON_ENOSPC past RM_MAX_SINKS. */
resmon_status rm_delivery_add(struct rm_delivery *delivery, const resmon_sink_ops *ops,
                              void *context);

/** Starts the thread; `columns` passes to the delivery on success. */
resmon_status rm_delivery_start(struct rm_delivery *delivery, resmon_run *columns,
                                size_t column_count);

/** On the sampling thread: puts a row or a tag into the queue. */
void rm_delivery_row(void *delivery, int64_t t_ns, const double *values);
void rm_delivery_tag(void *delivery, int64_t t_ns, const char *label);
uint64_t rm_delivery_dropped(void *delivery);

/** After the last sample: waits until sinks had everything, and shows them the finished run. */
void rm_delivery_stop(struct rm_delivery *delivery, resmon_run *run);

/** Closes the sinks (not in the child of a fork) and frees. */
void rm_delivery_close(struct rm_delivery *delivery, bool is_inherited);

#endif

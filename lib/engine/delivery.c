/* SPDX-License-Identifier: MIT */
#include "engine/delivery.h"

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "base/text.h"
#include "base/thread.h"
#include "store/run.h"
#include "store/tags.h"

#define QUEUE_RECORDS 128

enum record_kind { RECORD_ROW, RECORD_TAG };

struct record {
    int64_t t_ns;
    enum record_kind kind;
    /* then the values of a row, or the label of a tag */
    double values[];
};

void rm_delivery_init(struct rm_delivery *delivery)
{
    *delivery = (struct rm_delivery){0};
    (void)sem_init(&delivery->wake, 0, 0);
}

resmon_status rm_delivery_add(struct rm_delivery *delivery, const resmon_sink_ops *ops,
                              void *context)
{
    resmon_sink_ops known;
    resmon_status status = rm_struct_take(ops, RM_STRUCT_SIZE(resmon_sink_ops), &known);
    if (status != RESMON_OK) {
        return status;
    }
    if (delivery->sink_count == RM_MAX_SINKS) {
        return rm_error(RESMON_ENOSPC, "a monitor has at most %d sinks", RM_MAX_SINKS);
    }
    struct rm_delivery_sink *sink = &delivery->sinks[delivery->sink_count++];
    *sink = (struct rm_delivery_sink){.ops = known, .context = context};
    (void)rm_text_set(sink->name, sizeof sink->name, known.name != NULL ? known.name : "callback");
    return RESMON_OK;
}

/* A sink that fails is left out from then on; the others and the run go on. */
static void check(struct rm_delivery_sink *sink, resmon_status status, const char *what)
{
    if (status < RESMON_OK) {
        sink->is_off = true;
        rm_log(RESMON_LOG_WARNING, "sink %s is switched off: %s failed with %s", sink->name, what,
               resmon_status_name(status));
    }
}

static void call_start(struct rm_delivery *delivery)
{
    for (size_t i = 0; i < delivery->sink_count; i++) {
        struct rm_delivery_sink *sink = &delivery->sinks[i];
        if (sink->ops.start != NULL) {
            check(sink, sink->ops.start(sink->context, delivery->columns), "start");
        }
    }
}

static void call_record(struct rm_delivery *delivery, const struct record *record)
{
    resmon_rows rows = {
        .struct_size = sizeof rows,
        .run = delivery->columns,
        .row_count = 1,
        .column_count = delivery->column_count,
        .t_ns = &record->t_ns,
        .values = record->values,
        .dropped_rows = RM_LOAD(&delivery->ring.dropped),
    };
    for (size_t i = 0; i < delivery->sink_count; i++) {
        struct rm_delivery_sink *sink = &delivery->sinks[i];
        if (sink->is_off) {
            continue;
        }
        if (record->kind == RECORD_TAG && sink->ops.tag != NULL) {
            check(sink, sink->ops.tag(sink->context, record->t_ns, (const char *)record->values),
                  "tag");
        }
        if (record->kind == RECORD_ROW && sink->ops.rows != NULL) {
            check(sink, sink->ops.rows(sink->context, &rows), "rows");
        }
    }
}

static void call_stop(struct rm_delivery *delivery)
{
    for (size_t i = 0; i < delivery->sink_count; i++) {
        struct rm_delivery_sink *sink = &delivery->sinks[i];
        if (!sink->is_off && sink->ops.stop != NULL && delivery->final_run != NULL) {
            check(sink, sink->ops.stop(sink->context, delivery->final_run), "stop");
        }
        if (!sink->is_off && sink->ops.flush != NULL) {
            check(sink, sink->ops.flush(sink->context), "flush");
        }
    }
}

static void *run_thread(void *context)
{
    struct rm_delivery *delivery = context;
    bool is_stopping = false;
    call_start(delivery);
    while (!is_stopping) {
        (void)sem_wait(&delivery->wake);
        /* Asked before the queue is emptied: what was put in before the stop is delivered. */
        is_stopping = __atomic_load_n(&delivery->is_stopping, __ATOMIC_ACQUIRE);
        const struct record *record;
        while ((record = rm_ring_peek(&delivery->ring)) != NULL) {
            call_record(delivery, record);
            rm_ring_release(&delivery->ring);
        }
    }
    call_stop(delivery);
    rm_thread_leave();
    return NULL;
}

resmon_status rm_delivery_start(struct rm_delivery *delivery, resmon_run *columns,
                                size_t column_count)
{
    size_t payload = column_count * sizeof(double);
    payload = payload > RM_TAG_LABEL_BYTES ? payload : RM_TAG_LABEL_BYTES;
    delivery->column_count = column_count;
    resmon_status status =
        rm_ring_init(&delivery->ring, sizeof(struct record) + payload, QUEUE_RECORDS);
    if (status != RESMON_OK) {
        return status;
    }
    delivery->columns = columns;
    status = rm_thread_start(&delivery->thread, "rm-send", run_thread, delivery);
    if (status != RESMON_OK) {
        delivery->columns = NULL;
        return status;
    }
    delivery->has_thread = true;
    return RESMON_OK;
}

void rm_delivery_row(void *context, int64_t t_ns, const double *values)
{
    struct rm_delivery *delivery = context;
    struct record *record = rm_ring_reserve(&delivery->ring);
    if (record != NULL) {
        record->t_ns = t_ns;
        record->kind = RECORD_ROW;
        memcpy(record->values, values, delivery->column_count * sizeof *values);
        rm_ring_commit(&delivery->ring);
    }
    (void)sem_post(&delivery->wake);
}

void rm_delivery_tag(void *context, int64_t t_ns, const char *label)
{
    struct rm_delivery *delivery = context;
    struct record *record = rm_ring_reserve(&delivery->ring);
    if (record != NULL) {
        record->t_ns = t_ns;
        record->kind = RECORD_TAG;
        (void)rm_text_set((char *)record->values, RM_TAG_LABEL_BYTES, label);
        rm_ring_commit(&delivery->ring);
    }
}

uint64_t rm_delivery_dropped(void *context)
{
    struct rm_delivery *delivery = context;
    return RM_LOAD(&delivery->ring.dropped);
}

void rm_delivery_stop(struct rm_delivery *delivery, resmon_run *run)
{
    if (!delivery->has_thread) {
        return;
    }
    delivery->final_run = run;
    __atomic_store_n(&delivery->is_stopping, true, __ATOMIC_RELEASE);
    (void)sem_post(&delivery->wake);
    (void)pthread_join(delivery->thread, NULL);
    delivery->has_thread = false;
    delivery->final_run = NULL;
}

void rm_delivery_close(struct rm_delivery *delivery, bool is_inherited)
{
    if (!is_inherited) {
        rm_delivery_stop(delivery, NULL);
        for (size_t i = 0; i < delivery->sink_count; i++) {
            if (delivery->sinks[i].ops.close != NULL) {
                delivery->sinks[i].ops.close(delivery->sinks[i].context);
            }
        }
    }
    rm_ring_free(&delivery->ring);
    rm_run_free(delivery->columns);
    if (!is_inherited) {
        (void)sem_destroy(&delivery->wake);
    }
}

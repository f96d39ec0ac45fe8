/* SPDX-License-Identifier: MIT */
/*
 * Owns the bodies of the requests to MLflow that a plan becomes: portions of it in JSON, made one
 * after the other; and of the request before them, that makes the run.
 * Called by sink/mlflow.c.
 */
#ifndef RM_NET_MLFLOW_ITEMS_H
#define RM_NET_MLFLOW_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "net/mlflow_client.h"
#include "net/mlflow_plan.h"

/* How far one has come. */
struct rm_mlflow_cursor {
    enum rm_mlflow_stage stage;
    size_t index;    /* in the stage */
    size_t step_row; /* of series: the rows before it have `step` samples */
    int64_t step;
};

/**
 * Makes the item at the cursor in `body`, with at most `most` metrics, and moves the cursor behind
 * it; RESMON_OK with *ret_has_item false at the end.
 */
resmon_status rm_mlflow_items_next(const struct rm_mlflow_plan *plan,
                                   struct rm_mlflow_cursor *cursor, size_t most,
                                   struct rm_buffer *body, struct rm_mlflow_item *ret_item,
                                   bool *ret_has_item);

/** What makes the run, but for the experiment. */
resmon_status rm_mlflow_items_create(const struct rm_mlflow_config *config,
                                     const struct resmon_run *run,
                                     const struct rm_mlflow_place *place, const char *uuid,
                                     struct rm_buffer *body);

#endif

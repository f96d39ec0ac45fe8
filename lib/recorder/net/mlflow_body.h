/* SPDX-License-Identifier: MIT */
/*
 * Owns what of a run goes to MLflow, under which names, and in which requests: the place of this
 * process in the run at MLflow, the values that are sent once, the series of MLflow's "System
 * metrics", and the bodies of the requests in JSON.  Bodies are made one after the other, so that
 * memory stays small, and from any point on, so that a body that was not sent can be made again.
 * Called by sink/mlflow.c.  mlflow_points.c makes plans, mlflow_body.c the bodies.
 */
#ifndef RM_NET_MLFLOW_BODY_H
#define RM_NET_MLFLOW_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/run.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "format/json.h"
#include "net/mlflow_client.h"
#include "net/mlflow_config.h"
#include "run/run.h"

#define RM_MLFLOW_LONGEST_KEY 250           /* bytes that a server takes */
#define RM_MLFLOW_SYSTEM      "system/"     /* of keys in the tab "System metrics" */
#define RM_MLFLOW_POINT_HEAD  "{\"key\":\"" /* of a point in JSON, up to its key */
#define RM_MLFLOW_POINT_VALUE "\",\"value\":"

/** A name as MLflow allows it, in `target` of `room` bytes (3 to 251): of letters, digits and
 * "_.- :/", without empty, "." and ".." parts. */
void rm_mlflow_clean_name(char *target, size_t room, const char *name);

/* The place of this process among the processes that share a run at MLflow. */
struct rm_mlflow_place {
    int64_t node_index;
    char node_name[128];
    char job[256]; /* key; "": none */
    bool is_first; /* makes the run, and sends what is the same for all */
    bool is_reporter;
};

/** From the facts of the run; the configured node index (-1: none) goes before them.  Without a job
 * and without a run to attach to there is nobody to share with: each is the first. */
struct rm_mlflow_place rm_mlflow_place_of(const struct rm_mlflow_config *config,
                                          const struct resmon_run *run);

#define RM_MLFLOW_ARTIFACT_BYTES 64U

/** Where among the artifacts of the run at MLflow the run document is: "resmon/run.json". */
void rm_mlflow_artifact_path(const struct rm_mlflow_config *config, int64_t node_index,
                             char path[RM_MLFLOW_ARTIFACT_BYTES]);

/* ---- the plan ------------------------------------------------------------------------------- */

/* What is sent, in this order. */
enum rm_mlflow_stage {
    RM_MLFLOW_STAGE_SUMMARY,
    RM_MLFLOW_STAGE_PARAMS, /* of a run that is not ours: parameters that the server refuses must
                               not take the rest along */
    RM_MLFLOW_STAGE_SERIES,
    RM_MLFLOW_STAGE_ARTIFACT,
    RM_MLFLOW_STAGE_PAGE,
    RM_MLFLOW_STAGE_NOTE,
    RM_MLFLOW_STAGE_UPDATE,
    RM_MLFLOW_STAGE_END
};

struct rm_mlflow_point {
    const char *key;
    double value;
    int64_t step;  /* index of its node */
    bool is_known; /* the run at MLflow has it already */
};

struct rm_mlflow_series {
    const char *head; /* of each of its points in JSON, up to the value */
    size_t head_length;
    const double *values;
    double divisor;
    double known_step, known_ms; /* of the last point that MLflow has already; step -1: none */
};

#define RM_MLFLOW_COUNTER_BYTES 72  /* a name of libpfm4, "_seconds", "_2" */
#define RM_MLFLOW_SERIES_KEYS   128 /* 17 GPUs beside the series of the node */

struct rm_mlflow_plan {
    const struct rm_mlflow_config *config;
    const struct resmon_run *run;
    struct rm_mlflow_place place;
    bool is_made;      /* the run at MLflow is ours: parameters are free, and we finish it */
    bool is_described; /* it gets a description, and a merged run a page */
    struct rm_arena arena;
    resmon_status status;           /* of building the plan: the first failure */
    struct rm_mlflow_point *points; /* of the summary */
    size_t point_count;
    size_t scopes_left_out;
    struct rm_mlflow_series series[RM_MLFLOW_SERIES_KEYS];
    size_t series_count;
    size_t first_row; /* of the series: rows before were sent */
    size_t row_end;
    enum rm_mlflow_stage last_stage;
    char artifact[RM_MLFLOW_ARTIFACT_BYTES];
    char page_path[64];
};

/** A plan for a finished run; rows that ended before `after_ns` were sent already. */
resmon_status rm_mlflow_plan_init(struct rm_mlflow_plan *plan,
                                  const struct rm_mlflow_config *config,
                                  const struct resmon_run *run, int64_t after_ns);
void rm_mlflow_plan_free(struct rm_mlflow_plan *plan);

/** Leaves out the points that the run at MLflow has already by `known`, a JSON array of the last
 * point of each key.  Not NULL: MLflow may also have this point, the last one of the summary,
 * behind a point of another node. */
const struct rm_mlflow_point *rm_mlflow_plan_skip(struct rm_mlflow_plan *plan,
                                                  const struct rm_json *known);

/** Leaves the points of the summary out. */
void rm_mlflow_plan_skip_summary(struct rm_mlflow_plan *plan);

/** The name of a point. */
void rm_mlflow_point_key(const struct rm_mlflow_plan *plan, const struct rm_mlflow_point *point,
                         char key[RM_MLFLOW_LONGEST_KEY + 1]);

/** Time of the points of a summary. */
int64_t rm_mlflow_end_ms(const struct resmon_run *run);

/* ---- bodies of requests --------------------------------------------------------------------- */

/* How much of a plan has been made into requests. */
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

/** The body of the request that makes the run at MLflow, but for the experiment. */
resmon_status rm_mlflow_items_create(const struct rm_mlflow_config *config,
                                     const struct resmon_run *run,
                                     const struct rm_mlflow_place *place, const char *uuid,
                                     struct rm_buffer *body);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns which parts of a run are sent to MLflow, under which names, and in which requests: the place
 * of this process in the run at MLflow, the values that are sent once, the series of MLflow's
 * "System metrics", and the bodies of the requests in JSON.  Bodies are made one after the other,
 * so that memory stays small.  They can be made from any point on, so that a body that was not sent
 * can be made again.  Called by sink/mlflow.c. mlflow_points.c makes plans, mlflow_body.c the
 * bodies.
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

#define RM_MLFLOW_LONGEST_KEY 250           /* bytes that a server accepts */
#define RM_MLFLOW_SYSTEM      "system/"     /* prefix of keys in the tab "System metrics" */
#define RM_MLFLOW_POINT_HEAD  "{\"key\":\"" /* begin of a point in JSON, up to its key */
#define RM_MLFLOW_POINT_VALUE "\",\"value\":"

/** Writes a name that MLflow allows to `target` of `room` bytes (3 to 251): letters, digits and
 * "_.- :/", without the path segments "", "." and "..". */
void rm_mlflow_clean_name(char *target, size_t room, const char *name);

/* The place of this process among the processes that share a run at MLflow. */
struct rm_mlflow_place {
    int64_t node_index;
    char node_name[128];
    char job[256]; /* key; "": none */
    bool is_first; /* this process makes the run, and sends the values that are the same for all
                      processes */
    bool is_reporter;
};

/** Reads the place from the facts of the run; a configured node index (-1: none) takes
 * precedence.  Without a job and without a run to attach to, the run is not shared, and each
 * process is the first. */
struct rm_mlflow_place rm_mlflow_place_of(const struct rm_mlflow_config *config,
                                          const struct resmon_run *run);

#define RM_MLFLOW_ARTIFACT_BYTES 64U

/** Path of the run document among the artifacts of the run at MLflow: "resmon/run.json". */
void rm_mlflow_artifact_path(const struct rm_mlflow_config *config, int64_t node_index,
                             char path[RM_MLFLOW_ARTIFACT_BYTES]);

/* ---- the plan ------------------------------------------------------------------------------- */

/* Stages of sending, in this order. */
enum rm_mlflow_stage {
    RM_MLFLOW_STAGE_SUMMARY,
    RM_MLFLOW_STAGE_PARAMS, /* for a run that this library did not make: separate, as the server
                               may refuse the parameters */
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
    bool is_known; /* the run at MLflow already has it */
};

struct rm_mlflow_series {
    const char *head; /* of each point in JSON, up to the value */
    size_t head_length;
    const double *values;
    double divisor;
    double known_step, known_ms; /* of the last point that MLflow already has; step -1: none */
};

#define RM_MLFLOW_COUNTER_BYTES 72  /* a name of libpfm4, "_seconds", "_2" */
#define RM_MLFLOW_SERIES_KEYS   128 /* series of the node and of 17 GPUs */

struct rm_mlflow_plan {
    const struct rm_mlflow_config *config;
    const struct resmon_run *run;
    struct rm_mlflow_place place;
    bool is_made;      /* this library made the run at MLflow: it sets all parameters, and
                          finishes the run */
    bool is_described; /* the run gets a description, and a merged run a page */
    struct rm_arena arena;
    resmon_status status;           /* first failure while the plan was built */
    struct rm_mlflow_point *points; /* of the summary */
    size_t point_count;
    size_t scopes_left_out;
    struct rm_mlflow_series series[RM_MLFLOW_SERIES_KEYS];
    size_t series_count;
    size_t first_row; /* of the series; earlier rows were sent */
    size_t row_end;
    enum rm_mlflow_stage last_stage;
    char artifact[RM_MLFLOW_ARTIFACT_BYTES];
    char page_path[64];
};

/** Makes a plan for a run.  Rows that ended at or before `after_ns` were already sent. */
resmon_status rm_mlflow_plan_init(struct rm_mlflow_plan *plan,
                                  const struct rm_mlflow_config *config,
                                  const struct resmon_run *run, int64_t after_ns);
void rm_mlflow_plan_free(struct rm_mlflow_plan *plan);

/** Removes the points that the run at MLflow already has, by `known`, a JSON array of the last
 * point of each key.  If the result is not NULL, MLflow may have the whole summary: the result is
 * its last point, which a point of another node may hide in `known`. */
const struct rm_mlflow_point *rm_mlflow_plan_skip(struct rm_mlflow_plan *plan,
                                                  const struct rm_json *known);

/** Removes the points of the summary. */
void rm_mlflow_plan_skip_summary(struct rm_mlflow_plan *plan);

/** The key of a point. */
void rm_mlflow_point_key(const struct rm_mlflow_plan *plan, const struct rm_mlflow_point *point,
                         char key[RM_MLFLOW_LONGEST_KEY + 1]);

/** Time of the points of the summary. */
int64_t rm_mlflow_end_ms(const struct resmon_run *run);

/* ---- bodies of requests --------------------------------------------------------------------- */

/* Position in a plan: the parts before it are in requests already. */
struct rm_mlflow_cursor {
    enum rm_mlflow_stage stage;
    size_t index;    /* index of the point in the stage */
    size_t step_row; /* of series: the rows before it have `step` samples in total */
    int64_t step;
};

/**
 * Writes the item at the cursor to `body`, with at most `most` metrics, and advances the cursor
 * past it; RESMON_OK with *ret_has_item false: no more items.
 */
resmon_status rm_mlflow_items_next(const struct rm_mlflow_plan *plan,
                                   struct rm_mlflow_cursor *cursor, size_t most,
                                   struct rm_buffer *body, struct rm_mlflow_item *ret_item,
                                   bool *ret_has_item);

/** Body of the request that makes the run at MLflow, without the experiment. */
resmon_status rm_mlflow_items_create(const struct rm_mlflow_config *config,
                                     const struct resmon_run *run,
                                     const struct rm_mlflow_place *place, const char *uuid,
                                     struct rm_buffer *body);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns what of a run goes to MLflow, and under which names: the place of this process in it, and
 * the series that are shown in MLflow's "System metrics", with their units.  Requests are made of
 * it one after the other, so that memory stays small, and from any point on, so that what was not
 * sent can be made again (net/mlflow_items).
 */
#ifndef RM_NET_MLFLOW_PLAN_H
#define RM_NET_MLFLOW_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/run.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "format/json.h"
#include "net/mlflow_config.h"
#include "run/run.h"

#define RM_MLFLOW_LONGEST_KEY 250           /* bytes that a server takes */
#define RM_MLFLOW_SYSTEM      "system/"     /* of keys in the tab "System metrics" */
#define RM_MLFLOW_POINT_HEAD  "{\"key\":\"" /* of a point in JSON, up to its key */

/** A name as MLflow allows it, in `target` of `room` bytes (at most 251): of letters, digits and
 * "_.- :/", without empty, "." and ".." parts. */
void rm_mlflow_clean_name(char *target, size_t room, const char *name);

/** Of a metric that the table of views does not name, with its instance: "node.fs.used_/home".
 * There is room before it, within the longest key, for "system/resmon/run/". */
void rm_mlflow_column_name(char name[RM_MLFLOW_LONGEST_KEY], const resmon_column *column);

/* The place of this process among those that share a run. */
struct rm_mlflow_place {
    int64_t node_index;
    char node_name[128];
    char job[256]; /* key; "": none */
    bool is_first; /* makes the run, and says what is the same for all */
    bool is_reporter;
};

/** From the facts of the run; the configured node index (-1: none) goes before them.  Without a job
 * and without a run to attach to there is nobody to share with: each is the first. */
struct rm_mlflow_place rm_mlflow_place_of(const struct rm_mlflow_config *config,
                                          const struct resmon_run *run);

#define RM_MLFLOW_ARTIFACT_BYTES 64U

/** Where among the run's artifacts its document is: "resmon/run.json". */
void rm_mlflow_artifact_path(const struct rm_mlflow_config *config, int64_t node_index,
                             char path[RM_MLFLOW_ARTIFACT_BYTES]);

/* What is sent, in this order. */
enum rm_mlflow_stage {
    RM_MLFLOW_STAGE_SUMMARY,
    RM_MLFLOW_STAGE_PARAMS, /* of a run that is not ours: what is refused there must not take the
                               rest along */
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
    int64_t step;  /* which node it is of */
    bool is_known; /* the run has it already */
};

struct rm_mlflow_series {
    char *head; /* of each of its points, up to the value */
    size_t head_length;
    const double *values;
    double divisor;
    double known_step, known_ms; /* of the last point that the run has already; -1: none */
};

#define RM_MLFLOW_COUNTER_BYTES 72  /* a name of libpfm4, "_seconds", "_2" */
#define RM_MLFLOW_SERIES_KEYS   128 /* 17 GPUs beside what is of the node */

struct rm_mlflow_plan {
    const struct rm_mlflow_config *config;
    const struct resmon_run *run;
    struct rm_mlflow_place place;
    bool is_made; /* the run is ours: parameters are free, and it is finished */
    /* Of who made the plan; NULL: none. */
    const char *note;             /* description of the run, in Markdown */
    const struct rm_buffer *page; /* about it, in HTML */
    struct rm_arena arena;
    struct rm_mlflow_point *points; /* of the summary */
    size_t point_count;
    size_t scopes_left_out;
    char counters[RM_SCOPE_COUNTERS][RM_MLFLOW_COUNTER_BYTES];
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

/** Leaves out what `known`, a JSON array of the last point of each key, says that the run has
 * already.  Not NULL: the last point of the summary may be there too, behind that of another
 * node. */
const struct rm_mlflow_point *rm_mlflow_plan_skip(struct rm_mlflow_plan *plan,
                                                  const struct rm_json *known);

/** Leaves the points of the summary out. */
void rm_mlflow_plan_skip_summary(struct rm_mlflow_plan *plan);

/** The name of a point. */
void rm_mlflow_point_key(const struct rm_mlflow_plan *plan, const struct rm_mlflow_point *point,
                         char key[RM_MLFLOW_LONGEST_KEY + 1]);

/** Time of the points of a summary. */
int64_t rm_mlflow_end_ms(const struct resmon_run *run);

#endif

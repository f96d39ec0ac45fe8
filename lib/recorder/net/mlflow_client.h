/* SPDX-License-Identifier: MIT */
/*
 * Owns the calls to an MLflow server, the meaning of its answers, and how the run that results
 * belong to is found or made, without ever making two.
 */
#ifndef RM_NET_MLFLOW_CLIENT_H
#define RM_NET_MLFLOW_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "format/json.h"
#include "net/mlflow_config.h"

/* What is sent to a run. */
enum rm_mlflow_call {
    RM_MLFLOW_LOG_BATCH,
    RM_MLFLOW_ARTIFACT, /* the body is the file */
    RM_MLFLOW_UPDATE,
    RM_MLFLOW_PARAMS, /* parameters that a run may have with other values */
    RM_MLFLOW_NOTE,   /* the tag that is the run's description; not where it has one */
    RM_MLFLOW_CALLS
};

#define RM_MLFLOW_NOTE_TAG "mlflow.note.content" /* which the page shows as Markdown */

struct rm_mlflow_item {
    enum rm_mlflow_call call;
    const char *path; /* of an artifact: "resmon/run.json" */
    const char *body; /* JSON: what follows "run_id" in its object: "\"metrics\":[...]}" */
    size_t length;
};

/** The name of a call, for programs that send it by other means. */
const char *rm_mlflow_call_name(enum rm_mlflow_call call);

/* How the run is found or made. */
enum rm_mlflow_way {
    RM_MLFLOW_MAKE,  /* nobody else can have made it */
    RM_MLFLOW_LOOK,  /* another process of the job may have made it; else this one does */
    RM_MLFLOW_AWAIT, /* another process of the job makes it */
};

/* Which run: how it is found, and made. */
struct rm_mlflow_wanted {
    char uuid[33]; /* of this sink: finds the run again after an answer that was lost */
    char job[256]; /* key of the job that shares a run; "": none */
    bool is_first; /* this is the process of the job that makes it, while the job runs */
    enum rm_mlflow_way way;
    int64_t wait_ns;  /* for LOOK: how long the job's run is waited for */
    bool may_exist;   /* this sink may have made it already */
    const char *body; /* of the call that makes it, but for the experiment: "\"run_name\":...}" */
};

struct rm_mlflow_client {
    const struct rm_mlflow_config *config;
    struct rm_http *http;
    struct rm_http_reply reply;
    struct rm_json *answer;                 /* the reply parsed; NULL: it is no JSON */
    struct rm_buffer name;                  /* of a GET, with its query: "runs/get?run_id=..." */
    struct rm_buffer body;                  /* of the call now; kept, as batch follows batch */
    char experiment_id[RM_MLFLOW_ID_BYTES]; /* "": not known yet */
    char run_id[RM_MLFLOW_ID_BYTES];
    char artifact_uri[RM_MLFLOW_URI_BYTES];
    bool wants_points;                  /* the points of a run that is found are kept */
    struct rm_json *found;              /* the answer that has them; NULL: none */
    const struct rm_json *known_points; /* of `found`: the last one of each key */
    bool has_note;                      /* the run, which was there, has a description */
    bool may_exist;  /* a call that makes the run may have been obeyed, whatever the answer was */
    bool is_refused; /* the last failure was the server's decision: again is of no use as it is */
};

/** Takes the client over. */
void rm_mlflow_client_init(struct rm_mlflow_client *client, const struct rm_mlflow_config *config,
                           struct rm_http *http);
void rm_mlflow_client_free(struct rm_mlflow_client *client);

/** Finds or makes the run, with at most one call for the experiment and one for the run when there
 * is no failure. */
resmon_status rm_mlflow_find_run(struct rm_mlflow_client *client,
                                 const struct rm_mlflow_wanted *wanted, int64_t deadline_ns);

/** Whether artifacts of the run go to a store that only MLflow's package can write to. */
bool rm_mlflow_needs_package(const struct rm_mlflow_client *client);

/** Whether the run has a point of that key at that step and time. */
resmon_status rm_mlflow_has_point(struct rm_mlflow_client *client, const char *key, int64_t step,
                                  int64_t time_ms, int64_t deadline_ns, bool *ret_has);

/** Sends one item to it.  RESMON_ENOTSUP: the server does not take artifacts; RESMON_EFORMAT: the
 * answer is not from an MLflow server. */
resmon_status rm_mlflow_send(struct rm_mlflow_client *client, const struct rm_mlflow_item *item,
                             int64_t deadline_ns);

/** Whether an item that failed may be dropped: the server refused parameters that the run has with
 * other values, a description, or artifacts that it does not take. */
bool rm_mlflow_is_optional(const struct rm_mlflow_client *client, const struct rm_mlflow_item *item,
                           resmon_status status);

#endif

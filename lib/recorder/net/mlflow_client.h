/* SPDX-License-Identifier: MIT */
/*
 * Owns the calls to an MLflow server, the interpretation of its replies, and how the run for the
 * results is found or made, never twice.
 */
#ifndef RM_NET_MLFLOW_CLIENT_H
#define RM_NET_MLFLOW_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "format/json.h"
#include "net/mlflow_config.h"

/* Kinds of calls that send to a run. */
enum rm_mlflow_call {
    RM_MLFLOW_LOG_BATCH,
    RM_MLFLOW_ARTIFACT, /* the body is the file */
    RM_MLFLOW_UPDATE,
    RM_MLFLOW_PARAMS, /* parameters; the run may have other values for them */
    RM_MLFLOW_NOTE,   /* the tag for the description of the run; not sent if the run has one */
    RM_MLFLOW_CALLS
};

#define RM_MLFLOW_NOTE_TAG "mlflow.note.content" /* the page renders it as Markdown */

struct rm_mlflow_item {
    enum rm_mlflow_call call;
    const char *path; /* of an artifact: "resmon/run.json" */
    const char *body; /* JSON: the text after "run_id" in its object: "\"metrics\":[...]}" */
    size_t length;
};

/** The name of a call, for programs that send requests by other means. */
const char *rm_mlflow_call_name(enum rm_mlflow_call call);

/* How to find or make the run. */
enum rm_mlflow_way {
    RM_MLFLOW_MAKE,  /* no other process can have made it */
    RM_MLFLOW_LOOK,  /* another process of the job may have made it; if not, this one makes it */
    RM_MLFLOW_AWAIT, /* another process of the job makes it */
};

/* The run to find or make. */
struct rm_mlflow_wanted {
    char uuid[33]; /* of this sink; finds the run again after a lost reply */
    char job[256]; /* key of the job that shares a run; "": none */
    bool is_first; /* while the job runs, this process of the job makes the run */
    enum rm_mlflow_way way;
    int64_t wait_ns;  /* for LOOK: how long to wait for the job's run */
    bool may_exist;   /* this sink may have made it already */
    const char *body; /* body of the call that makes it, without the experiment:
                         "\"run_name\":...}" */
};

struct rm_mlflow_client {
    const struct rm_mlflow_config *config;
    struct rm_http *http;
    struct rm_http_reply reply;
    struct rm_json *answer;                 /* the parsed reply; NULL: it is not JSON */
    struct rm_buffer name;                  /* path of a GET, with its query:
                                               "runs/get?run_id=..." */
    struct rm_buffer body;                  /* body of the current call; the memory is reused for
                                               the next batch */
    char experiment_id[RM_MLFLOW_ID_BYTES]; /* "": not known yet */
    char run_id[RM_MLFLOW_ID_BYTES];
    char artifact_uri[RM_MLFLOW_URI_BYTES];
    bool wants_points;                  /* keep the points of a run that was found */
    struct rm_json *found;              /* the reply with the points; NULL: none */
    const struct rm_json *known_points; /* in `found`: the last point of each key */
    bool has_note;                      /* the run existed before, and has a description */
    bool may_exist;  /* the server may have made the run, whatever its reply was */
    bool is_refused; /* the server refused the last request: the same request would fail again */
};

/** Takes ownership of `http`. */
void rm_mlflow_client_init(struct rm_mlflow_client *client, const struct rm_mlflow_config *config,
                           struct rm_http *http);
void rm_mlflow_client_free(struct rm_mlflow_client *client);

/** Finds or makes the run.  Without failures, it makes one call at most for the experiment and
 * one for the run. */
resmon_status rm_mlflow_find_run(struct rm_mlflow_client *client,
                                 const struct rm_mlflow_wanted *wanted, int64_t deadline_ns);

/** Whether only MLflow's own package can write to the artifact store of the run. */
bool rm_mlflow_needs_package(const struct rm_mlflow_client *client);

/** Whether the run has a point of this key at this step and time. */
resmon_status rm_mlflow_has_point(struct rm_mlflow_client *client, const char *key, int64_t step,
                                  int64_t time_ms, int64_t deadline_ns, bool *ret_has);

/** Sends one item to the run.  RESMON_ENOTSUP: the server does not accept artifacts;
 * RESMON_EFORMAT: the reply is not from an MLflow server. */
resmon_status rm_mlflow_send(struct rm_mlflow_client *client, const struct rm_mlflow_item *item,
                             int64_t deadline_ns);

/** Whether an item that failed may be dropped: the server refused a description, artifacts that
 * it does not accept, or parameters for which the run has other values. */
bool rm_mlflow_is_optional(const struct rm_mlflow_client *client, const struct rm_mlflow_item *item,
                           resmon_status status);

#endif

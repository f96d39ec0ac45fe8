/* SPDX-License-Identifier: MIT */
/*
 * Owns where and how results go to MLflow: the options, and the environment variables and the
 * credentials file of MLflow's own client, as one checked configuration.  Credentials go straight
 * into the HTTP client and stay nowhere else.
 */
#ifndef RM_NET_MLFLOW_CONFIG_H
#define RM_NET_MLFLOW_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/mlflow.h>

#include "net/http.h"
#include "os/outfile.h"

#define RM_MLFLOW_ID_BYTES   260
#define RM_MLFLOW_NAME_BYTES 512
#define RM_MLFLOW_URI_BYTES  2048

struct rm_mlflow_config {
    uint64_t flags;
    char uri[RM_MLFLOW_URI_BYTES]; /* without credentials and without a last '/' */
    char experiment[RM_MLFLOW_NAME_BYTES];
    char experiment_id[RM_MLFLOW_ID_BYTES];
    char run_id[RM_MLFLOW_ID_BYTES]; /* to attach to; "": none */
    char monitor[16]; /* of keys: of a further monitor of this process in the run "monitor_2/" */
    char run_name[RM_MLFLOW_NAME_BYTES];
    char user[128]; /* who is named as the user of a run */
    char workspace[RM_MLFLOW_NAME_BYTES];
    char node_id[128];         /* MLFLOW_SYSTEM_METRICS_NODE_ID, in place of node_<index> */
    char context[8192];        /* MLFLOW_RUN_CONTEXT: JSON of more tags */
    char spool[RM_PATH_BYTES]; /* where the document of a run waits that was not sent */
    int64_t node_index;        /* -1: not given */
    size_t batch_metrics;
    uint64_t interval_ms;
    int64_t budget_ns;
};

/** Reads both (the options are complete), checks, and opens the client; `ret_config` is large: not
 * for the stack. */
resmon_status rm_mlflow_config_open(const resmon_mlflow_options *options,
                                    struct rm_mlflow_config *ret_config, struct rm_http **ret_http);

/** Whether it may be the id of a run or an experiment, or empty. */
bool rm_mlflow_is_id(const char *text);

#endif

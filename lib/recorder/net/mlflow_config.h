/* SPDX-License-Identifier: MIT */
/*
 * Owns the configuration of sending to MLflow, checked: from the options, and from the environment
 * variables and the credentials file of MLflow's own client.  Credentials are passed directly to
 * the HTTP client, and are stored nowhere else.
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
    char uri[RM_MLFLOW_URI_BYTES]; /* without credentials and without a final '/' */
    char experiment[RM_MLFLOW_NAME_BYTES];
    char experiment_id[RM_MLFLOW_ID_BYTES];
    char run_id[RM_MLFLOW_ID_BYTES]; /* of the run to attach to; "": none */
    char monitor[16]; /* prefix of keys of a further monitor of this process in the same run:
                         "monitor_2/" */
    char run_name[RM_MLFLOW_NAME_BYTES];
    char user[128]; /* name of the user of a run */
    char workspace[RM_MLFLOW_NAME_BYTES];
    char node_id[128];         /* MLFLOW_SYSTEM_METRICS_NODE_ID, instead of node_<index> */
    char context[8192];        /* MLFLOW_RUN_CONTEXT: additional tags as JSON */
    char spool[RM_PATH_BYTES]; /* path for the document of a run that could not be sent */
    int64_t node_index;        /* -1: not given */
    size_t batch_metrics;
    uint64_t interval_ms;
    int64_t budget_ns;
};

/** Reads the options, which are complete, and the environment, checks them, and opens the
 * client.  `ret_config` is too large for the stack. */
resmon_status rm_mlflow_config_open(const resmon_mlflow_options *options,
                                    struct rm_mlflow_config *ret_config, struct rm_http **ret_http);

/** Whether a text may be the id of a run or an experiment, or is empty. */
bool rm_mlflow_is_id(const char *text);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * resmon/mlflow.h - sends results to an MLflow tracking server, over its REST API (2.0).
 *
 *     resmon_monitor *monitor;
 *     resmon_monitor_new(NULL, &monitor);
 *     resmon_monitor_add_mlflow(monitor, NULL);
 *     resmon_monitor_start(monitor);
 *
 * With `options` NULL, the environment has all settings.  Without code: `RESMON=mlflow` with
 * MLFLOW_TRACKING_URI.
 *
 * Metrics.  At the end of the run these values are sent, in one request if they fit:
 *
 * - The 18 values of the node (<resmon/summary.h>) as "system/<name>".  The step is the index of
 *   the node: a job with many nodes is one MLflow run, with one line per value over its nodes.
 * - Values of the run: "system/resmon/run/wall_seconds", "cpu_seconds", "rss_peak_megabytes",
 *   "read_megabytes" and "write_megabytes" (1 MB = 10^6 B).
 * - Values of the 128 scopes with the longest wall time: "system/resmon/scope/<path>/wall_seconds"
 *   (open calls included), "calls", "cpu_seconds" (of the process and its children),
 *   "thread_cpu_seconds" and so on, and performance counters ("instructions", "cache_misses",
 *   "task_clock_seconds").  The step is the index of the node.
 *
 * MLflow shows names that begin with "system/" in the tab "System metrics", not among the metrics
 * of the model.  With RESMON_MLFLOW_MODEL_METRICS the names have no "system/".
 *
 * Series.  With RESMON_MLFLOW_SERIES or MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING=true, series of
 * samples are sent while the program runs, as "system/node_<index>/<name>".  Names are MLflow's own
 * where they exist ("cpu_utilization_percentage", ...).  resmon_view_at() lists the metrics, in the
 * view "mlflow".  Metrics of its group "other" also have one value at the end of the run,
 * as "system/resmon/run/<metric>": the total of a counter, or the mean of a gauge.
 *
 * Also sent are:
 *
 * - facts about machine, run and carbon intensity, as parameters and tags;
 * - the run document, as the artifact "resmon/run.json" ("resmon/node_<index>.json" for nodes after
 *   the first).  The server must serve artifacts itself, or keep them in a directory of this
 *   machine.  For other stores (s3:, dbfs:) the Python package uses MLflow's own client;
 * - the HTML report of a merged run, as the artifact "resmon/report.html";
 * - the brief report (<resmon/report.h>), as the description of the run if it has none.
 *
 * Which MLflow run.  If MLFLOW_RUN_ID or the option run_id is set, results are attached to that
 * run, and its status does not change unless RESMON_MLFLOW_FINISH is set.  Otherwise a run is
 * created; it ends with the status FINISHED, FAILED or KILLED (<resmon/end.h>).  In a job with many
 * processes (<resmon/job.h>) rank 0 creates the run, the others find it, and one process per node
 * reports.  Processes may have several monitors with this sink (including the monitor of RESMON):
 * the first monitors share one run, the second monitors another, and so on.
 *
 * If the server cannot be reached, or refuses, the run document is stored in the file of the option
 * `spool`, with the settings above but without credentials; resmon_run_push_mlflow() sends it
 * later, and continues a run that was begun there: what the server has is not sent again.  Numbers
 * keep all their digits; NaN is not sent.  No password and no token is written or logged.
 */
#ifndef RESMON_MLFLOW_H
#define RESMON_MLFLOW_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

#define RESMON_MLFLOW_SERIES       UINT64_C(1) /**< series of samples, also during the run */
#define RESMON_MLFLOW_NO_ARTIFACT  UINT64_C(2) /**< send no run document */
#define RESMON_MLFLOW_NO_SPOOL     UINT64_C(4) /**< store nothing if sending fails, and report it */
#define RESMON_MLFLOW_FINISH       UINT64_C(8) /**< end an attached MLflow run, too */
#define RESMON_MLFLOW_INSECURE_TLS UINT64_C(16) /**< do not verify the server's certificate */
/** Sends nothing: the run document goes to the file of `spool`, for resmon_run_push_mlflow() on a
 * machine that reaches the server.  No tracking URI is required. */
#define RESMON_MLFLOW_SPOOL_ONLY UINT64_C(32)
/** Names have no "system/": MLflow shows the values among the metrics of the model. */
#define RESMON_MLFLOW_MODEL_METRICS UINT64_C(64)

/**
 * Where and how results are sent.  NULL and 0 mean the value of the environment, otherwise the
 * default.  Variables are those of MLflow's own client, with the same meaning.  Strings are copied.
 * Since 0.1.
 */
typedef struct resmon_mlflow_options {
    size_t struct_size;
    uint64_t flags;            /**< RESMON_MLFLOW_* */
    const char *tracking_uri;  /**< http or https; MLFLOW_TRACKING_URI */
    const char *experiment;    /**< name, created if it does not exist; MLFLOW_EXPERIMENT_NAME */
    const char *experiment_id; /**< MLFLOW_EXPERIMENT_ID; without name and id: "0", the default */
    const char *run_id;        /**< existing run to attach to; MLFLOW_RUN_ID */
    const char *run_name;      /**< name of a created run; default: the name of the monitor, or of
                                    the program */
    const char *user;          /**< MLFLOW_TRACKING_USERNAME, or ~/.mlflow/credentials */
    const char *password;      /**< MLFLOW_TRACKING_PASSWORD, or ~/.mlflow/credentials */
    const char *token;         /**< MLFLOW_TRACKING_TOKEN; ignored if user and password are set */
    const char *ca_path;       /**< file or directory; MLFLOW_TRACKING_SERVER_CERT_PATH */
    const char *client_cert;   /**< PEM file with key; MLFLOW_TRACKING_CLIENT_CERT_PATH */
    const char *workspace;     /**< MLFLOW_WORKSPACE */
    const char *spool;         /**< file for the document of a run that was not sent, as in
                                    resmon_run_save(), of mode 0600; a file that is there gets the
                                    name `spool`.1, .2, ...; default "resmon-mlflow-%h-%p.json" in
                                    the initial directory */
    int64_t node_index;        /**< 1 + index of the node; 0: as in the job, otherwise index 0 */
    uint64_t batch_metrics; /**< metrics per request, 1 ... 1000; default 1000, for hosts of Azure
                                 ML 200 */
    uint64_t interval_ms;   /**< time between series during the run; default
                                 MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL, else 10000, times
                                 MLFLOW_SYSTEM_METRICS_SAMPLES_BEFORE_LOGGING */
    uint64_t timeout_ms;    /**< limit of one request; default MLFLOW_HTTP_REQUEST_TIMEOUT, else
                                 120000; a monitor never exceeds its stop_timeout_ms */
    uint64_t budget_ms;     /**< limit of a whole call of resmon_run_push_mlflow(); default 60000 */
} resmon_mlflow_options;

/**
 * Adds MLflow as a sink of the monitor, before start.  `options` may be NULL.
 * No request is sent yet: requests begin with resmon_monitor_start(), on the library's own thread.
 * RESMON_EINVAL: no tracking URI, a URI that is not http or https, or options or variables that
 * contradict each other; RESMON_ENOTSUP: this build has no libcurl or no cJSON, or libcurl
 * cannot be loaded; and the errors of resmon_monitor_add_sink().
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_mlflow(resmon_monitor *monitor,
                                                   const resmon_mlflow_options *options);

/**
 * Sends a finished run, from a run document or from the recording of a killed job.
 * It goes to the MLflow run that its program created or was attached to, which the document or
 * recording contains.  If there is none, a run is created; its status is the end of the run:
 * FINISHED, FAILED or KILLED (<resmon/end.h>).  Points that the MLflow run has already are not sent
 * again, so a call that failed or was interrupted may be repeated.  `options` may be NULL.  Blocks
 * until everything is sent, or the budget is spent.  Nothing is written to a file.
 *
 * RESMON_EINVAL: also with RESMON_MLFLOW_SPOOL_ONLY; RESMON_ENET; RESMON_ETIMEDOUT; RESMON_EACCES:
 * status 401 or 403; RESMON_EREMOTE: another error of the server (404, 5xx, ...); RESMON_EFORMAT:
 * the server is not an MLflow server; and the errors of resmon_monitor_add_mlflow() about options.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_push_mlflow(const resmon_run *run,
                                                const resmon_mlflow_options *options);

/** As resmon_run_push_mlflow(), with options as text as in resmon_monitor_add(monitor, "mlflow",
 * ...), and its errors.  RESMON_EINVAL: also if `options` is NULL.  Thread class: any thread. Since
 * 0.1. */
RESMON_API resmon_status resmon_run_push_mlflow_text(const resmon_run *run, const char *options);

/**
 * Renders what resmon_run_push_mlflow_text() would send, as a JSON object, for a store that only
 * MLflow's own package can write to:
 *
 * - "run_id": run to attach to, or ""; otherwise "experiment", "experiment_id", and "create": the
 *   members of runs/create.  "uuid" is the value of the tag "resmon.uuid", by which a
 *   run that is there already is found;
 * - "requests": in order, each with "call" ("log-batch", "params", "set-tag", "update": "body" has
 *   the members of that request; "artifact": "body" is the text of the file "path").
 *
 * No server is asked.  Free `ret_text` with resmon_text_free() of <resmon/report.h>.
 * RESMON_EINVAL: an argument is NULL; and the errors of resmon_monitor_add_mlflow() about options;
 * RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_mlflow_requests(const resmon_run *run, const char *options,
                                                    char **ret_text);

RESMON_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * resmon/mlflow.h - results to an MLflow tracking server, over its REST API (2.0).
 *
 *     resmon_monitor_add_mlflow(monitor, NULL);      everything from the environment
 *
 * or, without code, `RESMON=mlflow` beside MLFLOW_TRACKING_URI.  At the end of the run go out:
 *
 *   - the 18 figures of the node (<resmon/summary.h>) as "system/<name>", with step = index of the
 *     node, so that a job on many nodes is one line over its nodes in one run; of the run
 *     "system/resmon/run/wall_seconds", "cpu_seconds", "rss_peak_megabytes", "read_megabytes" and
 *     "write_megabytes" (1 MB = 10^6 B); of the 128 scopes that took longest
 *     "system/resmon/scope/<path>/wall_seconds" (with what is still open), "calls", "cpu_seconds"
 *     (of the process and its children), "thread_cpu_seconds" and so on, and what their performance
 *     counters counted ("instructions", "cache_misses", "task_clock_seconds"); step as above; all
 *     of this in one request, if a request may hold it.  What begins with "system/" is drawn in
 *     MLflow's tab "System metrics", and not among the metrics of the model, unless
 *     RESMON_MLFLOW_MODEL_METRICS asks for that: then the names are without "system/";
 *   - with RESMON_MLFLOW_SERIES, or MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING=true, series of samples as
 *     "system/node_<index>/<name>", with MLflow's own names where it has them
 *     ("cpu_utilization_percentage", ...): they grow there while the program runs;
 *     resmon_view_at() lists which metrics, in the view "mlflow", where those of group "other" go
 *     as "system/resmon/run/<metric>", too;
 *   - facts about machine, run and carbon intensity as parameters and tags; the run document as
 *     the artifact "resmon/run.json" ("resmon/node_<index>.json" for nodes but the first), where
 *     the server serves artifacts itself, or keeps them in a directory of this machine
 *     (elsewhere - s3:, dbfs: - the Python package gives it to MLflow's own client);
 *   - the brief report (<resmon/report.h>) as the description of the run, where it has none.
 *
 * Which run: MLFLOW_RUN_ID, or the option, if given: that run is attached to, and its status is
 * left to whoever made it.  Otherwise a run is created, and ended with the status FINISHED, FAILED
 * or KILLED (<resmon/end.h>).  In a job of many processes (<resmon/job.h>) rank 0 creates it and
 * the others find it; one process of each node reports.  Where processes have several monitors with
 * this sink, that of RESMON among them, the first ones share a run, the second ones another, and so
 * on.
 *
 * What cannot be sent in time is put into a spool file, in order, and sent later by
 * resmon_mlflow_replay().  Numbers arrive with all their digits; a NaN is not sent.  Nothing
 * written, logged or spooled holds a password or a token.
 */
#ifndef RESMON_MLFLOW_H
#define RESMON_MLFLOW_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

#define RESMON_MLFLOW_SERIES       UINT64_C(1)  /**< series of samples too, also while it runs */
#define RESMON_MLFLOW_NO_ARTIFACT  UINT64_C(2)  /**< no run document */
#define RESMON_MLFLOW_NO_SPOOL     UINT64_C(4)  /**< what cannot be sent is lost, and said */
#define RESMON_MLFLOW_FINISH       UINT64_C(8)  /**< finish also a run that was attached to */
#define RESMON_MLFLOW_INSECURE_TLS UINT64_C(16) /**< the server's certificate is not verified */
/** Nothing is sent: all goes into the spool file, for resmon_mlflow_replay() from a machine that
 * reaches the server.  A tracking URI need not be known. */
#define RESMON_MLFLOW_SPOOL_ONLY UINT64_C(32)
/** The figures stand among those of the model, under the names above without "system/". */
#define RESMON_MLFLOW_MODEL_METRICS UINT64_C(64)

/**
 * Where results go, and how.  NULL and 0 mean: what the environment says, else the default.  The
 * variables are those of MLflow's own client, with its meaning.  Strings are copied.  Since 0.1.
 */
typedef struct resmon_mlflow_options {
    size_t struct_size;
    uint64_t flags;            /**< RESMON_MLFLOW_* */
    const char *tracking_uri;  /**< http or https; MLFLOW_TRACKING_URI */
    const char *experiment;    /**< by name, created if absent; MLFLOW_EXPERIMENT_NAME */
    const char *experiment_id; /**< MLFLOW_EXPERIMENT_ID; without either: "0", the default one */
    const char *run_id;        /**< to attach to; MLFLOW_RUN_ID */
    const char *run_name;      /**< of a run that is created; default: the monitor's name, or the
                                    program's */
    const char *user;          /**< MLFLOW_TRACKING_USERNAME, or ~/.mlflow/credentials */
    const char *password;      /**< MLFLOW_TRACKING_PASSWORD, or ~/.mlflow/credentials */
    const char *token;         /**< MLFLOW_TRACKING_TOKEN; not used beside user and password */
    const char *ca_path;       /**< file or directory; MLFLOW_TRACKING_SERVER_CERT_PATH */
    const char *client_cert;   /**< PEM file with key; MLFLOW_TRACKING_CLIENT_CERT_PATH */
    const char *workspace;     /**< MLFLOW_WORKSPACE */
    const char *spool;         /**< file for what cannot be sent, as in resmon_run_save(); default
                                    "resmon-mlflow-%h-%p.spool" in the directory of the start */
    int64_t node_index;        /**< 1 + the index of the node; 0: as the job says, else 0 */
    uint64_t batch_metrics; /**< metrics in a request, 1 ... 1000; default 1000, and 200 for hosts
                                 of Azure ML */
    uint64_t interval_ms;   /**< between series while it runs; default
                                 MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL, else 10000, times
                                 MLFLOW_SYSTEM_METRICS_SAMPLES_BEFORE_LOGGING */
    uint64_t timeout_ms;    /**< of one request; default MLFLOW_HTTP_REQUEST_TIMEOUT, else 120000;
                                 in a monitor never past its stop_timeout_ms */
    uint64_t budget_ms;     /**< of resmon_run_push_mlflow() and resmon_mlflow_replay() as a
                                 whole; default 60000 */
} resmon_mlflow_options;

/**
 * Sends the monitor's results to MLflow.  `options` may be NULL.  Nothing is asked of the server
 * yet; that begins with resmon_monitor_start(), on the library's own thread. RESMON_EINVAL: no
 * tracking URI, or one that is not http or https, options or variables that contradict each other;
 * RESMON_ENOTSUP: this build has no network, no libcurl or no JSON, or libcurl cannot be loaded;
 * and as resmon_monitor_add_sink(). Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_mlflow(resmon_monitor *monitor,
                                                   const resmon_mlflow_options *options);

/**
 * Sends a run that is over, of a run document or of the recording of a job that was killed.  It
 * goes to the MLflow run that its program made or was attached to, as document and recording say;
 * where there is none, one is made.  That gets the status of the run's end: FINISHED, FAILED, or
 * KILLED
 * (<resmon/end.h>).  Blocks until all is sent or spooled.
 *
 * RESMON_ENET, RESMON_ETIMEDOUT, RESMON_EACCES (401, 403), RESMON_EREMOTE (404, 5xx, ...),
 * RESMON_EFORMAT (who answered is no MLflow server), RESMON_EREMOTE: not all was sent; the text
 * says why, and where the rest was put. Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_push_mlflow(const resmon_run *run,
                                                const resmon_mlflow_options *options);

/** resmon_run_push_mlflow() with options as text, as in resmon_monitor_add(monitor, "mlflow", ...).
 * Failures also as there.  Thread class: any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_push_mlflow_text(const resmon_run *run, const char *options);

/** What became of a spool file.  Since 0.1. */
typedef struct resmon_mlflow_replay_info {
    size_t struct_size;
    uint64_t requests; /**< in the file */
    uint64_t sent;     /**< by this call */
    uint64_t refused;  /**< by the server for good; they stay in the file */
    char run_id[260];  /**< of the MLflow run they belong to; "" when it could not be asked for */
} resmon_mlflow_replay_info;

/**
 * Sends what a spool file holds, in order, each request once: what is sent is marked in the file at
 * once, and the file is removed when all is sent.  `options` give credentials and limits (NULL: the
 * environment); server, experiment and run are those of the file, unless `options` name a
 * tracking_uri or a run_id.  `ret_info` may be NULL, and is filled in also when it fails.  A spool
 * file begins with the words "resmon-mlflow-spool ".
 *
 * RESMON_ENOENT, RESMON_EFORMAT: no such file, or none of ours, or one that was cut or
 * changed (what comes before the damage is sent, and the file stays); RESMON_EACCES also: it is
 * another user's, and `options` name no tracking_uri; RESMON_EBUSY: another process is sending it;
 * and as resmon_run_push_mlflow(): what was not sent is still there.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_mlflow_replay(const char *path,
                                              const resmon_mlflow_options *options,
                                              resmon_mlflow_replay_info *ret_info);

/** resmon_mlflow_replay() with options as text.  Thread class: any thread.  Since 0.1. */
RESMON_API resmon_status resmon_mlflow_replay_text(const char *path, const char *options,
                                                   resmon_mlflow_replay_info *ret_info);

RESMON_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * resmon/promql.h - metrics of a Kubernetes pod from the Prometheus of its cluster.  In
 * libresmon-reader.
 *
 *     resmon_promql_options options = {.struct_size = sizeof options};
 *     resmon_pod_peak peak = {.struct_size = sizeof peak};
 *     options.url = "http://prometheus:9090";
 *     resmon_promql_pod_peak(&options, "default", "train-0", 3600.0, &peak);
 *
 * For programs in a pod, such as a notebook.  The cluster must run Prometheus with the metrics of
 * cAdvisor (each kubelet has them); for GPUs, of the DCGM exporter; and for energy, of Kepler. Each
 * call sends queries and blocks until the server has answered.  Names are escaped in queries.
 */
#ifndef RESMON_PROMQL_H
#define RESMON_PROMQL_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

#define RESMON_PROMQL_INSECURE_TLS UINT64_C(1) /**< do not verify the server's certificate */

/** Server and credentials.  Since 0.1. */
typedef struct resmon_promql_options {
    size_t struct_size;
    uint64_t flags;      /**< RESMON_PROMQL_* */
    const char *url;     /**< "http://prometheus:9090"; user:password@ before the host is used and
                              never shown */
    const char *token;   /**< bearer token; NULL: none */
    const char *ca_path; /**< file or directory of trusted certificates; default: those of the
                              system */
    uint64_t timeout_ms; /**< limit of a whole call; default 30000 */
} resmon_promql_options;

/**
 * Evaluates an instant query at `unix_s` (seconds since 1970; 0: now).
 * If the result has several series, `ret_value` is the largest value.
 * RESMON_ENOENT: no series, or none with a number; RESMON_EREMOTE: error of the server, in its own
 * words; RESMON_ENET; RESMON_ETIMEDOUT; RESMON_EACCES: status 401 or 403; RESMON_EFORMAT: the
 * answer is not from a Prometheus; RESMON_EINVAL: an argument is NULL or invalid; RESMON_ENOTSUP:
 * this build has no libcurl or no cJSON.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_promql_value(const resmon_promql_options *options,
                                             const char *query, double unix_s, double *ret_value);

/** Highest usage of a pod.  NaN: no such series.  Since 0.1. */
typedef struct resmon_pod_peak {
    size_t struct_size;
    double cpu_cores;        /**< highest rate over one minute, sum of all containers; requires two
                                  scrapes per minute */
    double memory_bytes;     /**< highest working set of one container */
    double gpu_percent;      /**< highest use of one GPU (DCGM_FI_DEV_GPU_UTIL) */
    double gpu_memory_bytes; /**< highest memory use of one GPU (DCGM_FI_DEV_FB_USED) */
} resmon_pod_peak;

/**
 * Gets the peaks of a pod over the last `window_s` seconds, 1 ... 1e10.
 * Sources: container_cpu_usage_seconds_total and container_memory_working_set_bytes (cAdvisor), and
 * the DCGM exporter, whose pods are in the labels exported_namespace and exported_pod, or in
 * namespace and pod if Prometheus honors the exporter's labels.
 * RESMON_ENOENT: all are unknown; RESMON_ERANGE: `window_s` is out of range; and the errors of
 * resmon_promql_value().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_promql_pod_peak(const resmon_promql_options *options,
                                                const char *kube_namespace, const char *pod,
                                                double window_s, resmon_pod_peak *ret_peak);

/** Energy of one or several pods by component, in J.  NaN: no such series.  Since 0.1. */
typedef struct resmon_pod_energy {
    size_t struct_size;
    double total_j; /**< as reported by Kepler before 0.10.  Later versions have no total: it is
                         package + DRAM + GPU then, without DRAM or GPU if unknown */
    double core_j;
    double uncore_j;
    double package_j; /**< includes core and uncore */
    double dram_j;
    double other_j; /**< Kepler before 0.10 only */
    double gpu_j;
    double mean_w; /**< total_j / length of the window, in W */
} resmon_pod_energy;

/**
 * Gets the energy of a pod between two times, 1 ... 1e10 seconds apart.
 * It is the increase of Kepler's counters over the window: kepler_pod_cpu_joules_total and
 * kepler_container_gpu_joules_total since Kepler 0.10, kepler_container_*_joules_total before;
 * those that the server has are used.  Since 0.10 the energy of a pod is its share of the node's
 * energy above idle; before, it includes a share of the idle energy.
 * RESMON_ENOENT: all components are unknown; RESMON_ERANGE: the window is out of range; and the
 * errors of resmon_promql_value(). Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_promql_pod_energy(const resmon_promql_options *options,
                                                  const char *kube_namespace, const char *pod,
                                                  double from_unix_s, double to_unix_s,
                                                  resmon_pod_energy *ret_energy);

/**
 * Gets the total energy of all pods of a namespace that had a label in the window.
 * `selector` has the form of kubectl -l: "job-name=train" selects the pods of a Kubernetes job. The
 * labels are those of kube_pod_labels of kube-state-metrics, which only has the labels that it was
 * started with (--metric-labels-allowlist=pods=[job-name]).
 * RESMON_EINVAL: also if `selector` is not one LABEL=VALUE; and the errors of
 * resmon_promql_pod_energy().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_promql_pods_energy(const resmon_promql_options *options,
                                                   const char *kube_namespace, const char *selector,
                                                   double from_unix_s, double to_unix_s,
                                                   resmon_pod_energy *ret_energy);

RESMON_END_DECLS

#endif

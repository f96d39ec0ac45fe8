/* SPDX-License-Identifier: MIT */
/*
 * resmon/promql.h - metrics of a Kubernetes pod from the Prometheus of its cluster.
 *
 * For programs in a pod (a notebook, for one) whose cluster runs Prometheus, with cAdvisor's
 * metrics (every kubelet has them) and, for energy, with Kepler.  Each call asks the server and
 * waits for the answer; names go into the queries escaped.
 */
#ifndef RESMON_PROMQL_H
#define RESMON_PROMQL_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

#define RESMON_PROMQL_INSECURE_TLS UINT64_C(1) /**< the server's certificate is not verified */

/** Which server, and how to talk to it.  Since 0.1. */
typedef struct resmon_promql_options {
    size_t struct_size;
    uint64_t flags;      /**< RESMON_PROMQL_* */
    const char *url;     /**< "http://prometheus:9090"; user:password@ before the host is used and
                              shown nowhere */
    const char *token;   /**< bearer token */
    const char *ca_path; /**< file or directory of trusted certificates; default: the system's */
    uint64_t timeout_ms; /**< of a call as a whole; default 30000 */
} resmon_promql_options;

/**
 * The value of an instant query at `unix_s` (0: now): of several series the largest.
 * RESMON_ENOENT: no series, or none with a number; RESMON_EREMOTE: the server's words; RESMON_ENET,
 * RESMON_ETIMEDOUT, RESMON_EACCES (401, 403), RESMON_EFORMAT: no answer of a Prometheus;
 * RESMON_EINVAL; RESMON_ENOTSUP: this build has no network, no libcurl or no JSON.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_promql_value(const resmon_promql_options *options,
                                             const char *query, double unix_s, double *ret_value);

/** The most that a pod used at once.  NaN: no such series.  Since 0.1. */
typedef struct resmon_pod_peak {
    size_t struct_size;
    double cpu_cores;    /**< highest rate over a minute, all containers together;
                              needs two scrapes a minute */
    double memory_bytes; /**< highest working set of a container */
} resmon_pod_peak;

/**
 * Peaks of the pod over the last `window_s` seconds, from container_cpu_usage_seconds_total and
 * container_memory_working_set_bytes (cAdvisor).  Failures as resmon_promql_value(); RESMON_ENOENT
 * when neither is known.  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_promql_pod_peak(const resmon_promql_options *options,
                                                const char *kube_namespace, const char *pod,
                                                double window_s, resmon_pod_peak *ret_peak);

/** Energy of a pod, or of several, by component, in J.  NaN: no such series.  Since 0.1. */
typedef struct resmon_pod_energy {
    size_t struct_size;
    double total_j; /**< as Kepler before 0.10 says it; later ones do not: package + DRAM + GPU, of
                         those that are known */
    double core_j;
    double uncore_j;
    double package_j; /**< with core and uncore */
    double dram_j;
    double other_j; /**< before 0.10 only */
    double gpu_j;
    double mean_w; /**< total_j by the length of the window, in W */
} resmon_pod_energy;

/**
 * Energy of the pod between two times, from the counters of Kepler: kepler_pod_cpu_joules_total and
 * kepler_container_gpu_joules_total since 0.10, kepler_container_*_joules_total before, whichever
 * the server has: the increase over the window.  Kepler since 0.10 gives pods their share of what
 * the node draws beyond idling; before, a share of idling, too.
 * Failures as resmon_promql_value(); RESMON_ENOENT when none is known.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_promql_pod_energy(const resmon_promql_options *options,
                                                  const char *kube_namespace, const char *pod,
                                                  double from_unix_s, double to_unix_s,
                                                  resmon_pod_energy *ret_energy);

/**
 * The same of all pods of the namespace that had a label of this value in the window, together, by
 * a selector as kubectl -l takes it: "job-name=train" has the pods of a Kubernetes job.  Labels are
 * those of kube_pod_labels: of kube-state-metrics, which has the labels that it was started with
 * (--metric-labels-allowlist=pods=[job-name]).  RESMON_EINVAL: that is no selector of one label.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_promql_pods_energy(const resmon_promql_options *options,
                                                   const char *kube_namespace, const char *selector,
                                                   double from_unix_s, double to_unix_s,
                                                   resmon_pod_energy *ret_energy);

RESMON_END_DECLS

#endif

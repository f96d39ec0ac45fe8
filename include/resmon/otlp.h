/* SPDX-License-Identifier: MIT */
/*
 * resmon/otlp.h - sends the metrics of a run by OTLP, the protocol of OpenTelemetry: to an
 * OpenTelemetry Collector, Grafana Alloy, Prometheus (from 2.47 on, with its OTLP receiver), or a
 * service that takes OTLP over HTTP.
 *
 *     resmon_monitor_add_otlp(monitor, NULL);
 *
 * With `options` NULL, the environment has all settings.  Without code: `RESMON=otlp` with
 * OTEL_EXPORTER_OTLP_ENDPOINT.  Requests are protocol buffers (http/protobuf), sent to
 * ENDPOINT/v1/metrics every interval_ms and at the end.
 *
 * Names.  A metric that OpenTelemetry's semantic conventions have
 * (https://opentelemetry.io/docs/specs/semconv/system/) has that name, with its attributes:
 *
 *     proc.cpu.user, .system    process.cpu.time {cpu.mode}
 *     proc.mem.rss              process.memory.usage
 *     proc.io.read_bytes        process.disk.io {disk.io.direction}
 *     node.cpu.*                system.cpu.time {cpu.mode}
 *     node.fs.used              system.filesystem.usage {system.filesystem.mountpoint, .state}
 *     node.mem.percent          system.memory.utilization, a ratio (value / 100)
 *
 * All others are called "resmon." and their own name: "resmon.tree.mem.rss", "resmon.gpu.power".
 * Units are those of UCUM ("By", "s", "Cel", "%"); counts have none.  Counters are cumulative sums
 * since the start of the run; instances are the attribute "device", or
 * "system.filesystem.mountpoint".
 *
 * Scopes are the histogram "resmon.scope.duration" {scope="index/read"}, in seconds: number, sum,
 * minimum and maximum of the wall times of finished calls, in one bucket.  Other values of scopes
 * are "resmon.scope.cpu" (of the process and its children), "resmon.scope.thread_cpu",
 * "resmon.scope.rss_peak", "resmon.scope.energy" and so on, as in <resmon/prometheus.h>, whose
 * rules for paths, estimates, unknown values and the metrics of the host also hold here.
 *
 * The resource has service.name (by default the name of the run or program), service.instance.id
 * ("HOST:PID:START", as a process may have several monitors), host.name, process.pid, in a batch
 * job resmon.job.id and resmon.job.rank, and the labels of the run (labels in <resmon/monitor.h>).
 *
 * Variables.  These have the meaning that OpenTelemetry gives them; the forms
 * OTEL_EXPORTER_OTLP_METRICS_* precede: OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _TIMEOUT,
 * _CERTIFICATE, _CLIENT_CERTIFICATE, _CLIENT_KEY, _PROTOCOL (grpc is refused unless an endpoint is
 * given as an option); OTEL_METRIC_EXPORT_INTERVAL, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES.
 * Requests are not compressed.
 */
#ifndef RESMON_OTLP_H
#define RESMON_OTLP_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** Do not verify the server's certificate. */
#define RESMON_OTLP_INSECURE_TLS UINT64_C(1)

/** Options of resmon_monitor_add_otlp().  NULL and 0 mean the value of the environment, otherwise
 * the default.  Strings are copied.  Since 0.1. */
typedef struct resmon_otlp_options {
    size_t struct_size;
    uint64_t flags;       /**< RESMON_OTLP_* */
    const char *endpoint; /**< "http://host:4318"; "/v1/metrics" is added unless it ends so.
                               user:password@ before the host is used and never shown.  Default:
                               OTEL_EXPORTER_OTLP_METRICS_ENDPOINT (nothing is added), else
                               OTEL_EXPORTER_OTLP_ENDPOINT, else "http://localhost:4318" */
    const char *headers;  /**< "Name=value,Name=value", percent-encoded, at most 8; never shown */
    const char *service;  /**< service.name; OTEL_SERVICE_NAME */
    const char *ca_path;  /**< file or directory of trusted certificates; default: those of the
                               system */
    const char *client_cert; /**< PEM file with key */
    uint64_t interval_ms;    /**< time between requests during the run, 1 ... 86400000; default
                                  OTEL_METRIC_EXPORT_INTERVAL, else 60000 */
    uint64_t timeout_ms;     /**< limit of one request, 1 ... 86400000; default
                                  OTEL_EXPORTER_OTLP_TIMEOUT, else 10000 */
} resmon_otlp_options;

/**
 * Adds OTLP as a sink of the monitor, before start.  `options` may be NULL.
 * No request is sent yet: requests are sent on the library's own thread.
 * RESMON_EINVAL, RESMON_ERANGE: an option or variable is invalid, see the error text;
 * RESMON_ENOTSUP: a variable asks for grpc, this build has no libcurl, or it cannot be loaded; and
 * the errors of resmon_monitor_add_sink().
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_otlp(resmon_monitor *monitor,
                                                 const resmon_otlp_options *options);

RESMON_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/*
 * resmon/resmon.h - includes all headers of libresmon.
 *
 *     RESMON_SCOPE("load");
 *     resmon_monitor *monitor;
 *     resmon_status status = resmon_monitor_new(NULL, &monitor);
 *
 * Start with RESMON_SCOPE() in <resmon/scope.h> and resmon_monitor_new() in <resmon/monitor.h>.
 * Or only set scopes in the code, and set the environment variable RESMON to
 * "json=run.json,summary".
 */
#ifndef RESMON_RESMON_H
#define RESMON_RESMON_H

#include <resmon/arrow.h>
#include <resmon/baseline.h>
#include <resmon/carbon.h>
#include <resmon/compare.h>
#include <resmon/doctor.h>
#include <resmon/emissions.h>
#include <resmon/end.h>
#include <resmon/energy.h>
#include <resmon/http.h>
#include <resmon/job.h>
#include <resmon/merge.h>
#include <resmon/metric.h>
#include <resmon/mlflow.h>
#include <resmon/monitor.h>
#include <resmon/option.h>
#include <resmon/otlp.h>
#include <resmon/prometheus.h>
#include <resmon/promql.h>
#include <resmon/report.h>
#include <resmon/run.h>
#include <resmon/scope.h>
#include <resmon/sink.h>
#include <resmon/stack.h>
#include <resmon/status.h>
#include <resmon/summary.h>
#include <resmon/table.h>
#include <resmon/trace.h>
#include <resmon/version.h>
#include <resmon/watch.h>

#endif

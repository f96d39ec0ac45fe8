/* SPDX-License-Identifier: MIT */
/*
 * Owns the sink that puts a run's figures to a Prometheus Pushgateway.
 */
#ifndef RM_SINK_PUSHGATEWAY_H
#define RM_SINK_PUSHGATEWAY_H

#include <resmon/prometheus.h>

#include "sink/sink.h"

resmon_status rm_pushgateway_sink_new(const resmon_pushgateway_options *options,
                                      struct rm_sink *ret_sink);

#endif

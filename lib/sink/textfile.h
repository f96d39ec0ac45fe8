/* SPDX-License-Identifier: MIT */
/*
 * Owns the sink that keeps a file of a run's last values for the textfile collector of
 * node_exporter, and removes it in the end.
 */
#ifndef RM_SINK_TEXTFILE_H
#define RM_SINK_TEXTFILE_H

#include <resmon/prometheus.h>

#include "sink/sink.h"

resmon_status rm_prometheus_sink_new(const resmon_prometheus_options *options,
                                     struct rm_sink *ret_sink);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns questions to a Prometheus server: instant queries, and what their answers say.
 */
#ifndef RM_PROMQL_PROMQL_H
#define RM_PROMQL_PROMQL_H

#include <resmon/promql.h>

#include "base/buffer.h"

struct rm_promql;

resmon_status rm_promql_open(const resmon_promql_options *options, struct rm_promql **ret_promql);
void rm_promql_close(struct rm_promql *promql);

/** The value of a query; failures as resmon_promql_value(). */
resmon_status rm_promql_value(struct rm_promql *promql, const char *query, double unix_s,
                              double *ret_value);

#endif

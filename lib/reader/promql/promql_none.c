/* SPDX-License-Identifier: MIT */
/* In place of promql/promql.c when the library is built without JSON, which the answers of
 * Prometheus need. */
#include "promql/promql.h"

#include "base/feature.h"

resmon_status rm_promql_open(const resmon_promql_options *options, struct rm_promql **ret_promql)
{
    (void)options, (void)ret_promql;
    return rm_feature_need(RM_FEATURE_CJSON);
}

void rm_promql_close(struct rm_promql *promql)
{
    (void)promql;
}

resmon_status rm_promql_value(struct rm_promql *promql, const char *query, double unix_s,
                              double *ret_value)
{
    (void)query, (void)unix_s, (void)ret_value;
    return rm_promql_open(NULL, &promql);
}

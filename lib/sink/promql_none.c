/* SPDX-License-Identifier: MIT */
/* In place of sink/promql.c when the library is built without JSON. */
#include "sink/promql.h"

#include "base/status.h"

resmon_status rm_promql_open(const resmon_promql_options *options, struct rm_promql **ret_promql)
{
    (void)options, (void)ret_promql;
    return rm_error(RESMON_ENOTSUP, "this libresmon was built without JSON (cJSON), which the "
                                    "answers of Prometheus need");
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

void rm_promql_quote(struct rm_buffer *query, const char *text)
{
    rm_buffer_json(query, text);
}

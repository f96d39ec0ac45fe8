/* SPDX-License-Identifier: MIT */
/*
 * The tables of options, sinks and metrics, a line for each, of fields that tabs part: what texts
 * are made from and checked against (check_options.py).
 */
#include <stdio.h>

#include <resmon/resmon.h>

int main(void)
{
    resmon_sink_kind kind = {.struct_size = sizeof kind};
    for (size_t i = 0; resmon_sink_kind_at(i, &kind) == RESMON_OK; i++) {
        printf("sink\t%s\t%s\t%s\n", kind.name, kind.main, kind.help);
    }
    resmon_option option = {.struct_size = sizeof option};
    for (size_t i = 0; resmon_option_at(i, &option) == RESMON_OK; i++) {
        printf("option\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n", option.owner, option.key,
               option.type, (int)option.is_needed, (int)option.has_bare, option.low, option.high,
               option.default_text, option.values, option.help);
    }
    resmon_metric metric = {.struct_size = sizeof metric};
    for (size_t i = 0; resmon_metric_at(i, &metric) == RESMON_OK; i++) {
        printf("metric\t%s\t%s\t%s\t%s\n", metric.name, metric.unit,
               metric.kind == RESMON_COUNTER ? "counter" : "gauge", metric.help);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

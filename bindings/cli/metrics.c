/* SPDX-License-Identifier: MIT */
/* resmon metrics: what there is to measure. */
#include <string.h>

#include <resmon/metric.h>

#include "arguments.h"
#include "say.h"
#include "table.h"

static const struct cli_column columns[] = {
    {"name", "metric", false}, {"unit", "unit", false}, {"kind", "kind", false},
    {"level", "of", false},    {"origin", NULL, false}, {"help", "description", false},
};

static const char *word_of(int32_t code, const char *const *words, size_t count)
{
    return code > 0 && (size_t)code <= count ? words[code - 1] : "";
}

static bool is_wanted(const struct cli_arguments *arguments, const char *name)
{
    bool is_one = arguments->word_count == 0;
    for (size_t i = 0; i < arguments->word_count; i++) {
        is_one |= strstr(name, arguments->words[i]) != NULL;
    }
    return is_one;
}

int cli_metrics(const struct cli_arguments *arguments)
{
    static const char *const kinds[] = {"gauge", "counter"};
    static const char *const levels[] = {"process", "tree", "cgroup", "node", "device"};
    struct cli_table table = {.columns = columns,
                              .column_count = sizeof columns / sizeof *columns,
                              .as_json = cli_has(arguments, "json")};
    for (size_t i = 0; i < resmon_metric_count(); i++) {
        resmon_metric metric = {.struct_size = sizeof metric};
        if (resmon_metric_at(i, &metric) != RESMON_OK || !is_wanted(arguments, metric.name)) {
            continue;
        }
        cli_table_text(&table, metric.name);
        cli_table_text(&table, metric.unit);
        cli_table_text(&table, word_of(metric.kind, kinds, 2));
        cli_table_text(&table, word_of(metric.level, levels, 5));
        cli_table_text(&table, metric.origin);
        cli_table_text(&table, metric.help);
    }
    if (table.cell_count == 0) {
        cli_say("metrics", "there is no metric whose name contains '%.64s'", arguments->words[0]);
        return CLI_FAILED;
    }
    return cli_table_print(&table, "metrics") ? 0 : CLI_FAILED;
}

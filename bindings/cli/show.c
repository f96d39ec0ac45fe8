/* SPDX-License-Identifier: MIT */
/* resmon show: one table of a run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <resmon/energy.h>
#include <resmon/resmon.h>

#include "arguments.h"
#include "output.h"
#include "say.h"
#include "table.h"

#define TEXT(key, title)  \
    {                     \
        key, title, false \
    }
#define FIGURE(key, title) \
    {                      \
        key, title, true   \
    }

/* ---- metrics ------------------------------------------------------------------------------ */

static const struct cli_column metric_columns[] = {
    TEXT("metric", "metric"), TEXT("instance", "instance"), TEXT("unit", NULL),
    FIGURE("last", "last"),   FIGURE("min", "min"),         FIGURE("mean", "mean"),
    FIGURE("max", "max"),     FIGURE("p95", "p95"),         FIGURE("n", "readings"),
};

/* Of a counter all but the last are rates. */
static void add_metric(struct cli_table *table, const resmon_column *column)
{
    char rate[64];
    bool is_counter = column->kind == RESMON_COUNTER;
    (void)snprintf(rate, sizeof rate, "%s%s", column->unit, is_counter ? "/s" : "");
    cli_table_text(table, column->metric);
    cli_table_text(table, column->instance);
    cli_table_text(table, column->unit);
    cli_table_value(table, column->last, column->unit);
    cli_table_value(table, column->min, rate);
    cli_table_value(table, column->mean, rate);
    cli_table_value(table, column->max, rate);
    cli_table_value(table, column->p95, rate);
    cli_table_value(table, (double)column->n, "1");
}

static void add_metrics(struct cli_table *table, const resmon_run *run, const char *match)
{
    for (size_t i = 0; i < resmon_run_column_count(run); i++) {
        resmon_column column = {.struct_size = sizeof column};
        if (resmon_run_get_column(run, i, &column) == RESMON_OK && column.n > 0 &&
            strstr(column.metric, match) != NULL) {
            add_metric(table, &column);
        }
    }
}

/* ---- scopes ------------------------------------------------------------------------------- */

static const struct cli_column scope_columns[] = {
    TEXT("path", NULL),
    TEXT("name", "scope"),
    FIGURE("calls", "calls"),
    FIGURE("wall_s", "wall"),
    FIGURE("self_s", "self"),
    FIGURE("wall_max_s", "longest"),
    FIGURE("cpu_s", "thread CPU"),
    FIGURE("pcpu_s", "CPU"),
    FIGURE("rss_peak_bytes", "peak RSS"),
    FIGURE("energy_j", "energy"),
};

static void put_path(const resmon_run *run, int64_t index, char *text, size_t bytes)
{
    resmon_run_scope scope = {.struct_size = sizeof scope};
    if (index < 0 || resmon_run_get_scope(run, (size_t)index, &scope) != RESMON_OK) {
        text[0] = '\0';
        return;
    }
    put_path(run, scope.parent, text, bytes);
    size_t length = strlen(text);
    if (length > 0 && length + 1 < bytes) {
        text[length++] = '/';
    }
    for (const char *name = scope.name; *name != '\0' && length + 2 < bytes; name++) {
        if (*name == '/' || *name == '\\') { /* told from those between names */
            text[length++] = '\\';
        }
        text[length++] = *name;
    }
    text[length] = '\0';
}

static void add_scope(struct cli_table *table, const resmon_run *run, size_t index,
                      const resmon_run_scope *scope)
{
    char path[1024], name[512];
    put_path(run, (int64_t)index, path, sizeof path);
    int indent = table->as_json ? 0 : (int)(2 * (scope->depth < 32 ? scope->depth : 32));
    (void)snprintf(name, sizeof name, "%*s%s", indent, "", scope->name);
    cli_table_text(table, path);
    cli_table_text(table, name);
    cli_table_value(table, (double)scope->calls, "1");
    cli_table_value(table, scope->wall_ns * 1e-9, "s");
    cli_table_value(table, scope->self_ns * 1e-9, "s");
    cli_table_value(table, scope->wall_max_ns * 1e-9, "s");
    cli_table_value(table, scope->cpu_ns.value * 1e-9, "s");
    cli_table_value(table, scope->pcpu_ns.value * 1e-9, "s");
    cli_table_value(table, scope->rss_peak_bytes, "B");
    cli_table_value(table, scope->energy_j, "J");
}

static void add_scopes(struct cli_table *table, const resmon_run *run, const char *match)
{
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        resmon_run_scope scope = {.struct_size = sizeof scope};
        if (resmon_run_get_scope(run, i, &scope) == RESMON_OK &&
            strstr(scope.name, match) != NULL) {
            add_scope(table, run, i, &scope);
        }
    }
}

/* ---- tags, sources, facts, energy --------------------------------------------------------- */

static const struct cli_column tag_columns[] = {FIGURE("t_s", "time"), TEXT("label", "label")};

static void add_tags(struct cli_table *table, const resmon_run *run, const char *match)
{
    for (size_t i = 0; i < resmon_run_tag_count(run); i++) {
        resmon_run_tag tag = {.struct_size = sizeof tag};
        if (resmon_run_get_tag(run, i, &tag) == RESMON_OK && strstr(tag.label, match) != NULL) {
            cli_table_value(table, (double)tag.t_ns * 1e-9, "s");
            cli_table_text(table, tag.label);
        }
    }
}

static const struct cli_column source_columns[] = {
    TEXT("source", "source"),     TEXT("provenance", "provenance"), FIGURE("reads", "reads"),
    FIGURE("failures", "failed"), FIGURE("cost_s", "cost"),         TEXT("status", NULL),
    TEXT("reason", "reason"),
};

static void add_sources(struct cli_table *table, const resmon_run *run, const char *match)
{
    for (size_t i = 0; i < resmon_run_source_count(run); i++) {
        resmon_run_source source = {.struct_size = sizeof source};
        if (resmon_run_get_source(run, i, &source) != RESMON_OK ||
            strstr(source.name, match) == NULL) {
            continue;
        }
        cli_table_text(table, source.name);
        cli_table_text(table, source.status == RESMON_OK ? resmon_provenance_name(source.provenance)
                                                         : "absent");
        cli_table_value(table, (double)source.reads, "1");
        cli_table_value(table, (double)source.failures, "1");
        cli_table_value(table, (double)source.cost_ns * 1e-9, "s");
        cli_table_text(table, resmon_status_name(source.status));
        cli_table_text(table, source.reason);
    }
}

static const struct cli_column fact_columns[] = {TEXT("group", "of"), TEXT("key", "fact"),
                                                 TEXT("value", "value")};

static void add_facts(struct cli_table *table, const resmon_run *run, const char *match)
{
    for (size_t i = 0; i < resmon_run_fact_count(run); i++) {
        resmon_run_fact_entry fact = {.struct_size = sizeof fact};
        if (resmon_run_get_fact(run, i, &fact) == RESMON_OK && strstr(fact.key, match) != NULL) {
            cli_table_text(table, fact.group);
            cli_table_text(table, fact.key);
            cli_table_text(table, fact.value);
        }
    }
}

static const struct cli_column energy_columns[] = {
    TEXT("component", "component"),  FIGURE("node_j", "the machine"),
    FIGURE("tree_j", "the program"), TEXT("provenance", "provenance"),
    TEXT("method", "method"),
};

static void add_energy(struct cli_table *table, const resmon_run *run, const char *match)
{
    for (size_t i = 0; i < resmon_run_energy_part_count(run); i++) {
        resmon_energy_part part = {.struct_size = sizeof part};
        if (resmon_run_get_energy_part(run, i, &part) == RESMON_OK &&
            strstr(part.name, match) != NULL) {
            cli_table_text(table, part.name);
            cli_table_value(table, part.node_j, "J");
            cli_table_value(table, part.tree_j, "J");
            cli_table_text(table, resmon_provenance_name(part.provenance));
            cli_table_text(table, part.method);
        }
    }
}

/* ---- processes ---------------------------------------------------------------------------- */

static const struct cli_column process_columns[] = {
    TEXT("name", "process"),
    FIGURE("pid", "pid"),
    FIGURE("parent_pid", "parent"),
    FIGURE("start_s", "began"),
    FIGURE("wall_s", "wall"),
    FIGURE("cpu_s", "CPU"),
    TEXT("cpu", NULL),
    FIGURE("rss_peak_bytes", "peak RSS"),
    TEXT("peak", NULL),
    TEXT("end", "end"),
    FIGURE("exit_status", "status"),
    FIGURE("signal", "signal"),
};

static void add_processes(struct cli_table *table, const resmon_run *run, const char *match)
{
    for (size_t i = 0; i < resmon_run_process_count(run); i++) {
        resmon_run_process process = {.struct_size = sizeof process};
        if (resmon_run_get_process(run, i, &process) != RESMON_OK ||
            strstr(process.name, match) == NULL) {
            continue;
        }
        cli_table_text(table, process.name);
        cli_table_value(table, (double)process.pid, NULL);
        cli_table_value(table, (double)process.parent_pid, NULL);
        cli_table_value(table, (double)process.start_ns * 1e-9, "s");
        cli_table_value(table, (double)process.duration_ns * 1e-9, "s");
        cli_table_value(table, process.cpu_s, "s");
        cli_table_text(table, resmon_provenance_name(process.cpu_provenance));
        cli_table_value(table, process.rss_peak_bytes, "B");
        cli_table_text(table, resmon_provenance_name(process.rss_peak_provenance));
        cli_table_text(table, resmon_end_name(process.reason));
        cli_table_value(table, process.exit_status, NULL);
        cli_table_value(table, process.signal_number, NULL);
    }
}

/* ---- nodes and ranks of a merged run ------------------------------------------------------ */

static const struct cli_column node_columns[] = {
    TEXT("name", "node"),     TEXT("state", "state"),
    FIGURE("ranks", "ranks"), FIGURE("start_s", "began"),
    FIGURE("wall_s", "wall"), FIGURE("clock_error_s", "clock off by"),
    FIGURE("cpus", "CPUs"),   FIGURE("memory_bytes", "memory"),
    FIGURE("gpus", "GPUs"),   TEXT("cpu_model", "processors"),
};

/* What is not known of one that is missing. */
static double seconds_of(int64_t ns, bool is_known)
{
    return is_known ? (double)ns * 1e-9 : (double)NAN;
}

static void add_nodes(struct cli_table *table, const resmon_run *run, const char *match)
{
    for (size_t i = 0; i < resmon_run_node_count(run); i++) {
        resmon_run_node node = {.struct_size = sizeof node};
        if (resmon_run_get_node(run, i, &node) != RESMON_OK || strstr(node.name, match) == NULL) {
            continue;
        }
        bool is_there = node.duration_ns >= 0;
        cli_table_text(table, node.name);
        cli_table_text(table, node.state);
        cli_table_value(table, (double)node.ranks, NULL);
        cli_table_value(table, seconds_of(node.start_ns, is_there), "s");
        cli_table_value(table, seconds_of(node.duration_ns, is_there), "s");
        cli_table_value(table, node.clock_error_ns * 1e-9, "s");
        cli_table_value(table, node.cpus, NULL);
        cli_table_value(table, node.memory_bytes, "B");
        cli_table_value(table, node.gpus, NULL);
        cli_table_text(table, node.cpu_model);
    }
}

static const struct cli_column rank_columns[] = {
    FIGURE("rank", "rank"),          TEXT("node", "node"),
    TEXT("name", "program"),         FIGURE("pid", "pid"),
    FIGURE("start_s", "began"),      FIGURE("wall_s", "wall"),
    FIGURE("cpu_s", "CPU"),          FIGURE("rss_peak_bytes", "peak RSS"),
    FIGURE("energy_j", "energy"),    TEXT("end", "end"),
    FIGURE("exit_status", "status"), FIGURE("signal", "signal"),
};

static void add_ranks(struct cli_table *table, const resmon_run *run, const char *match)
{
    for (size_t i = 0; i < resmon_run_rank_count(run); i++) {
        resmon_run_rank rank = {.struct_size = sizeof rank};
        resmon_run_node node = {.struct_size = sizeof node};
        if (resmon_run_get_rank(run, i, &rank) != RESMON_OK ||
            resmon_run_get_node(run, (size_t)rank.node, &node) != RESMON_OK ||
            strstr(node.name, match) == NULL) {
            continue;
        }
        cli_table_value(table, (double)rank.rank, NULL);
        cli_table_text(table, node.name);
        cli_table_text(table, rank.name);
        cli_table_value(table, (double)rank.pid, NULL);
        cli_table_value(table, (double)rank.start_ns * 1e-9, "s");
        cli_table_value(table, (double)rank.duration_ns * 1e-9, "s");
        cli_table_value(table, rank.cpu_s, "s");
        cli_table_value(table, rank.rss_peak_bytes, "B");
        cli_table_value(table, rank.energy_j, "J");
        cli_table_text(table, resmon_end_name(rank.reason));
        cli_table_value(table, rank.exit_status, NULL);
        cli_table_value(table, rank.signal_number, NULL);
    }
}

/* ---- the verb ----------------------------------------------------------------------------- */

#define SHOWN(name, what)                                                                 \
    {                                                                                     \
#name, what##_columns, sizeof what##_columns / sizeof *what##_columns, add_##name \
    }

static const struct {
    const char *name;
    const struct cli_column *columns;
    size_t column_count;
    void (*add)(struct cli_table *table, const resmon_run *run, const char *match);
} tables[] = {
    SHOWN(metrics, metric),    SHOWN(scopes, scope), SHOWN(tags, tag),
    SHOWN(sources, source),    SHOWN(facts, fact),   SHOWN(energy, energy),
    SHOWN(processes, process), SHOWN(nodes, node),   SHOWN(ranks, rank),
};

#define TABLES (sizeof tables / sizeof *tables)

static size_t find_table(const struct cli_arguments *arguments)
{
    size_t i = 0;
    const char *name = arguments->word_count > 1 ? arguments->words[1] : tables[0].name;
    while (i < TABLES && strcmp(tables[i].name, name) != 0) {
        i++;
    }
    if (i == TABLES) {
        cli_say("show",
                "there is no table '%.32s': metrics, scopes, tags, sources, facts, energy, "
                "processes, nodes, ranks",
                name);
    }
    return i;
}

int cli_show(const struct cli_arguments *arguments)
{
    const char *match = cli_value(arguments, "match");
    bool as_json = cli_has(arguments, "json");
    size_t which = TABLES;
    if (!cli_needs_words(arguments, 1, 2) || (which = find_table(arguments)) == TABLES) {
        return cli_wrong(arguments->command);
    }
    resmon_run *run = cli_output_load("show", arguments->words[0]);
    if (run == NULL) {
        return CLI_FAILED;
    }
    struct cli_table table = {.columns = tables[which].columns,
                              .column_count = tables[which].column_count,
                              .as_json = as_json};
    tables[which].add(&table, run, match != NULL ? match : "");
    if (table.cell_count == 0 && !as_json) {
        cli_say("show", "%s has no %s%s%s", arguments->words[0], tables[which].name,
                match != NULL ? " with " : "", match != NULL ? match : "");
    }
    bool is_printed = (table.cell_count == 0 && !as_json) || cli_table_print(&table, "show");
    resmon_run_free(run);
    return is_printed ? 0 : CLI_FAILED;
}

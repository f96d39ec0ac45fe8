/* SPDX-License-Identifier: MIT */
/*
 * A run that nobody recorded, for tests of what is written from one: hostile names, numbers at the
 * ends of their range, things that come twice.
 */
#ifndef RESMON_TESTS_MADE_RUN_H
#define RESMON_TESTS_MADE_RUN_H

#include <math.h>
#include <string.h>

#include <resmon/metric.h>

#include "made_table.h"
#include "run/record.h"
#include "run/run.h"

#define MADE_START_NS INT64_C(1763670000000000000)
#define MADE_ROWS     4
#define HOSTILE_NAME  "a \"b\" \\ c/d\n# EOF\nevil 1 {} \xc3\xa9 \xff"

struct made_column {
    const char *metric, *instance, *source;
    double values[MADE_ROWS]; /* LAST and MEAN */
};

static const struct made_column made_columns[] = {
    {"proc.cpu.time", "", "up", {0.0, 0.1, 0.25, 1e9}},
    {"proc.mem.rss", "", "up", {4096.0, (double)NAN, 9007199254740993.0, 1e300}},
    {"proc.cpu.percent", "", "up", {0.0, 12.5, 100.0, 250.0}},
    {"proc.threads", "", "up", {5e-324, -0.0, (double)INFINITY, -1.5}},
    {"proc.fds", "", "down", {1, 2, 3, 4}},
    {"proc.fault.minor", "", "down", {1, 2, 3, 4}},
    {"proc.fault.major", "", "up", {-1, (double)NAN, (double)INFINITY, -5}},
    {"proc.mem.swap", "", "up", {(double)NAN, (double)NAN, (double)NAN, (double)NAN}},
    {"node.fs.used", "/", "up", {1, 1, 1, 1}},
    {"node.fs.used", HOSTILE_NAME, "up", {2, 2, 2, 2}},
    {"node.fs.used", "/", "up", {3, 3, 3, 3}},
    {"node.fs.free", "/", "up", {4, 4, 4, 4}},
    {"evil\nmetric 1", "x", "up", {5, 5, 5, 5}},
    {"", "", "", {6, 6, 6, 6}},
};

static inline void made_facts(struct resmon_run *run)
{
    static const struct rm_fact facts[] = {
        {"run", "library", "0.1.0", RM_FACT_TEXT},
        {"run", "pid", "4711", RM_FACT_NUMBER},
        {"machine", "host_name", "n\"1\\\n2", RM_FACT_TEXT},
        {"job", "id", "", RM_FACT_TEXT},
    };
    run->facts = rm_arena_alloc(&run->strings, 4, sizeof *run->facts);
    memcpy(run->facts, facts, sizeof facts);
    run->fact_count = 4;
}

static inline void made_series(struct resmon_run *run)
{
    static const int64_t ends[MADE_ROWS] = {0, 1500000000, 1500000000, 3000000001};
    size_t count = sizeof made_columns / sizeof made_columns[0];
    made_table(run, count, MADE_ROWS);
    memcpy(run->t_first, ends, sizeof ends);
    memcpy(run->t_last, ends, sizeof ends);
    for (size_t c = 0; c < count; c++) {
        const struct made_column *made = &made_columns[c];
        run->columns[c] = (resmon_column){.metric = made->metric,
                                          .unit = "parsec\n",
                                          .instance = made->instance,
                                          .source = made->source,
                                          .kind = 77};
        rm_record_clear(RM_RECORD_statistics, &run->columns[c]);
        run->columns[c].last = made->values[MADE_ROWS - 1];
        for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
            memcpy(rm_run_series(run, c, kind), made->values, sizeof made->values);
        }
    }
}

static inline void made_sources(struct resmon_run *run)
{
    run->sources = rm_arena_alloc(&run->strings, 4, sizeof *run->sources);
    run->sources[0] = (resmon_run_source){.name = "up", .reason = ""};
    run->sources[1] =
        (resmon_run_source){.name = "down", .reason = "no", .status = RESMON_EACCES, .failures = 3};
    run->sources[2] = (resmon_run_source){.name = "up", .reason = "", .failures = 9};
    run->sources[3] = (resmon_run_source){.name = HOSTILE_NAME, .reason = ""};
    run->source_count = 4;
}

/* `count` scopes: "top", below it a few that are hard to tell apart, then "s0", "s1", ... */
static inline void made_scopes(struct resmon_run *run, size_t count)
{
    static const struct {
        const char *name;
        int64_t parent;
    } first[] = {{"top", -1},  {"a/b", 0},        {"a", 0}, {"b", 2},
                 {"a\\/b", 0}, {HOSTILE_NAME, 0}, {"", 0},  {"top", -1}};
    run->scopes = rm_arena_alloc(&run->strings, count, sizeof *run->scopes);
    for (size_t i = 0; i < count; i++) {
        bool is_first = i < sizeof first / sizeof first[0];
        char name[24];
        (void)snprintf(name, sizeof name, "s%zu", i);
        resmon_run_scope *scope = &run->scopes[i];
        *scope = (resmon_run_scope){
            .name = is_first ? first[i].name : rm_arena_text(&run->strings, name, sizeof name),
            .file = "",
            .function = "",
            .parent = is_first ? first[i].parent : -1,
            .calls = i + 1,
            .wall_ns = 1500000000.0,
            .cpu_calls = i == 0 || i == 2 ? 1 : 0,
            .cpu_ns = {250000000.0, 250000000.0, 250000000.0},
            .pcpu_calls = i == 0 || i == 2 ? i == 0 ? 1 : 2 : 0,
            .pcpu_ns = {750000000.0, 500000000.0, 1000000000.0},
            .pcpu_provenance = i == 0 ? RESMON_PROVENANCE_MEASURED : RESMON_PROVENANCE_SAMPLED,
            .cpu_provenance = i == 0 ? RESMON_PROVENANCE_MEASURED : RESMON_PROVENANCE_SAMPLED,
            .rss_calls = i == 0 ? 1 : 0,
            .rss_peak_bytes = 123456.0,
        };
    }
    run->scope_count = count;
}

/* Free with rm_run_free(). */
static inline struct resmon_run *made_run(const char *state, size_t scopes)
{
    struct resmon_run *run = rm_run_new();
    if (run != NULL) {
        run->info.state = state;
        run->info.label = "";
        run->info.start_realtime_ns = MADE_START_NS;
        run->info.duration_ns = INT64_C(3000000001);
        run->info.samples = 31;
        made_facts(run);
        made_series(run);
        made_sources(run);
        made_scopes(run, scopes);
    }
    return run;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Reading of export/bench_document.h: outside input. */
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "export/bench_document.h"
#include "format/json.h"
#include "format/record_json.h"

#define MOST_RUNS 1000000U

static resmon_status no_bench(const char *what)
{
    return rm_error(RESMON_EFORMAT, "this is not a benchmark: %s", what);
}

/* A number that an int32_t can hold, or 0. */
static int32_t small(const struct rm_json *value)
{
    double number = rm_json_number(value);
    return number >= -2147483648.0 && number <= 2147483647.0 ? (int32_t)number : 0;
}

/* Of hyperfine's documents these are all there is. */
static const struct {
    const char *key;
    enum rm_figure_id id;
} plain[] = {{"times", RM_FIGURE_wall}, {"memory_usage_byte", RM_FIGURE_peak}};

/* ---- rows --------------------------------------------------------------------------------- */

/* Where each row is, run by run. */
struct cursor {
    const char *path;
    enum rm_figure_id figure;
    bool is_counted;
    const struct rm_json *at; /* the value of the run at hand */
};

static size_t read_rows(const struct rm_json *result, struct cursor *cursors)
{
    size_t count = 0;
    const struct rm_json *figures = rm_json_get(result, "figures");
    for (const struct rm_json *row = rm_json_first(figures); row != NULL; row = rm_json_next(row)) {
        const char *path = rm_json_text(rm_json_get(row, "scope"));
        const char *key = rm_json_text(rm_json_get(row, "figure"));
        enum rm_figure_id id = key != NULL ? rm_figure_find(key, strlen(key)) : RM_FIGURE_COUNT;
        if (path != NULL && id != RM_FIGURE_COUNT) {
            cursors[count++] =
                (struct cursor){path, id, rm_json_number(rm_json_get(row, "is_counted")) == 1.0,
                                rm_json_first(rm_json_get(row, "values"))};
        }
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(plain) && figures == NULL; i++) {
        cursors[count++] = (struct cursor){"", plain[i].id, rm_figures[plain[i].id].is_counted,
                                           rm_json_first(rm_json_get(result, plain[i].key))};
    }
    return count;
}

static resmon_status put_run(struct rm_group *group, struct cursor *cursors, size_t count)
{
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < count && status == RESMON_OK; i++) {
        struct cursor *cursor = &cursors[i];
        if (cursor->at != NULL) {
            status = rm_group_put(group, cursor->path, cursor->figure, cursor->is_counted,
                                  rm_json_number(cursor->at));
            cursor->at = rm_json_next(cursor->at);
        }
    }
    return status;
}

/* ---- results ------------------------------------------------------------------------------ */

static const char *text_of(struct rm_group *group, const struct rm_json *object, const char *key)
{
    const char *text = rm_json_text(rm_json_get(object, key));
    return rm_arena_text(&group->strings, text != NULL ? text : "",
                         text != NULL ? strlen(text) : 0);
}

static bool read_machine(struct rm_group *group, const struct rm_json *machine)
{
    group->machine = (struct rm_group_machine){
        .cpu_model = text_of(group, machine, "cpu_model"),
        .governor = text_of(group, machine, "cpu_governor"),
        .kernel = text_of(group, machine, "kernel"),
        .host = text_of(group, machine, "host_name"),
        .cpus = rm_json_number(rm_json_get(machine, "cpus")),
        .memory_bytes = rm_json_number(rm_json_get(machine, "memory_bytes")),
    };
    return group->machine.cpu_model != NULL && group->machine.governor != NULL &&
           group->machine.kernel != NULL && group->machine.host != NULL;
}

static resmon_status read_runs(struct rm_group *group, const struct rm_json *result,
                               struct cursor *cursors, size_t count)
{
    resmon_status status = RESMON_OK;
    size_t runs = rm_json_count(rm_json_get(result, "times"));
    const struct rm_json *code = rm_json_first(rm_json_get(result, "exit_codes"));
    if (runs == 0 || runs > MOST_RUNS) {
        return no_bench("a result has no \"times\"");
    }
    for (size_t run = 0; run < runs && status == RESMON_OK; run++) {
        status = rm_group_add_empty(group, (struct rm_group_run){small(code), 0});
        status = status == RESMON_OK ? put_run(group, cursors, count) : status;
        code = code != NULL ? rm_json_next(code) : NULL;
    }
    return status;
}

static resmon_status read_result(const struct rm_json *result, struct rm_groups *groups)
{
    const char *name = rm_json_text(rm_json_get(result, "command"));
    if (name == NULL) {
        return no_bench("a result has no \"command\"");
    }
    struct rm_group *group = rm_groups_add(groups, name);
    size_t room = rm_json_count(rm_json_get(result, "figures")) + RM_ARRAY_LEN(plain);
    struct cursor *cursors = rm_alloc(room, sizeof *cursors);
    bool is_whole =
        group != NULL && cursors != NULL && read_machine(group, rm_json_get(result, "machine"));
    resmon_status status = is_whole ? read_runs(group, result, cursors, read_rows(result, cursors))
                                    : rm_error(RESMON_ENOMEM, "out of memory for a benchmark");
    if (is_whole) {
        group->realtime_ns = rm_record_read_time(rm_json_get(result, "start"));
    }
    rm_free(cursors);
    return status;
}

resmon_status rm_bench_document_read(const char *text, size_t length, struct rm_groups *groups)
{
    struct rm_json *document = NULL;
    resmon_status status = rm_json_check();
    status = status == RESMON_OK ? rm_json_parse(text, length, &document) : status;
    const struct rm_json *results = rm_json_get(document, "results");
    if (status == RESMON_OK && rm_json_count(results) == 0) {
        status = no_bench("it has no \"results\"");
    }
    for (const struct rm_json *result = rm_json_first(results);
         status == RESMON_OK && result != NULL; result = rm_json_next(result)) {
        status = read_result(result, groups);
    }
    rm_json_free(document);
    return status;
}

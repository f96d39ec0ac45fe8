/* SPDX-License-Identifier: MIT */
#include "export/comparison_document.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/number.h"
#include "base/status.h"
#include "compare/ranks.h"
#include "format/json.h"
#include "format/json_writer.h"
#include "format/record_json.h"

/* ---- groups of runs, written ----------------------------------------------------------------- */

#define FORMAT "0.1"

/* ---- writing ------------------------------------------------------------------------------ */

static double value_at(const struct rm_group_row *row, size_t run)
{
    return row != NULL && run < row->count ? row->values[run] : RM_NAN;
}

static void put_values(struct rm_json_writer *writer, const char *key, const struct rm_group *group,
                       const struct rm_group_row *row)
{
    rm_json_open_array(writer, key);
    for (size_t run = 0; run < group->run_count; run++) {
        rm_json_put_double(writer, NULL, value_at(row, run));
    }
    rm_json_close_array(writer);
}

struct moments {
    double mean, stddev, least, most;
    size_t count;
};

/* The standard deviation of a sample, with n - 1 in the denominator, as in hyperfine. */
static struct moments moments_of(const struct rm_group_row *row)
{
    struct moments found = {RM_NAN, RM_NAN, RM_NAN, RM_NAN, 0};
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; row != NULL && i < row->count; i++) {
        double value = row->values[i];
        if (!isnan(value)) {
            sum += value;
            found.least = fmin(found.least, value); /* fmin() ignores NaN */
            found.most = fmax(found.most, value);
            found.count++;
        }
    }
    found.mean = found.count > 0 ? sum / (double)found.count : RM_NAN;
    for (size_t i = 0; row != NULL && i < row->count; i++) {
        double apart = row->values[i] - found.mean;
        squares += isnan(apart) ? 0.0 : apart * apart;
    }
    found.stddev = found.count > 1 ? sqrt(squares / (double)(found.count - 1)) : RM_NAN;
    return found;
}

static resmon_status median_of(const struct rm_group_row *row, struct rm_between *ret_median)
{
    double *copy = NULL;
    struct rm_values values;
    *ret_median = (struct rm_between){RM_NAN, RM_NAN, RM_NAN};
    if (row == NULL) {
        return RESMON_OK;
    }
    resmon_status status = rm_group_known(row, &copy, &values);
    status = status == RESMON_OK ? rm_median_of(values, 0.95, ret_median) : status;
    rm_free(copy);
    return status;
}

/* The members of hyperfine's documents, under their names. */
static resmon_status put_hyperfine(struct rm_json_writer *writer, const struct rm_group *group)
{
    const struct rm_group_row *wall = rm_group_find(group, "", RM_FIGURE_wall);
    const struct moments moments = moments_of(wall);
    struct rm_between median;
    resmon_status status = median_of(wall, &median);
    rm_json_put_text(writer, "command", group->name);
    rm_json_put_double(writer, "mean", moments.mean);
    rm_json_put_double(writer, "stddev", moments.stddev);
    rm_json_put_double(writer, "median", median.value);
    rm_json_put_double(writer, "user", moments_of(rm_group_find(group, "", RM_FIGURE_user)).mean);
    rm_json_put_double(writer, "system",
                       moments_of(rm_group_find(group, "", RM_FIGURE_system)).mean);
    rm_json_put_double(writer, "min", moments.least);
    rm_json_put_double(writer, "max", moments.most);
    put_values(writer, "times", group, wall);
    put_values(writer, "memory_usage_byte", group, rm_group_find(group, "", RM_FIGURE_peak));
    rm_json_open_array(writer, "exit_codes");
    for (size_t run = 0; run < group->run_count; run++) {
        const struct rm_group_run *ended = &group->runs[run];
        rm_json_put_i64(writer, NULL,
                        ended->signal_number != 0 ? 128 + ended->signal_number
                                                  : ended->exit_status);
    }
    rm_json_close_array(writer);
    rm_json_open_object(writer, "parameters");
    rm_json_close_object(writer);
    return status;
}

static void put_machine(struct rm_json_writer *writer, const struct rm_group_machine *machine)
{
    rm_json_open_object(writer, "machine");
    rm_json_put_text(writer, "host_name", machine->host);
    rm_json_put_text(writer, "cpu_model", machine->cpu_model);
    rm_json_put_text(writer, "cpu_governor", machine->governor);
    rm_json_put_text(writer, "kernel", machine->kernel);
    rm_json_put_double(writer, "cpus", machine->cpus);
    rm_json_put_double(writer, "memory_bytes", machine->memory_bytes);
    rm_json_close_object(writer);
}

static resmon_status put_group(struct rm_json_writer *writer, const struct rm_group *group)
{
    rm_json_break(writer);
    rm_json_open_object(writer, NULL);
    resmon_status status = put_hyperfine(writer, group);
    put_machine(writer, &group->machine);
    if (group->realtime_ns > 0) {
        rm_record_put_time(writer, "start", group->realtime_ns);
    }
    rm_json_open_array(writer, "figures");
    for (size_t i = 0; i < group->row_count; i++) {
        const struct rm_group_row *row = &group->rows[i];
        rm_json_break(writer);
        rm_json_open_object(writer, NULL);
        rm_json_put_text(writer, "scope", row->path);
        rm_json_put_text(writer, "figure", rm_figures[row->figure].key);
        rm_json_put_text(writer, "unit", rm_figures[row->figure].unit);
        rm_json_put_u64(writer, "is_counted", row->is_counted ? 1 : 0);
        put_values(writer, "values", group, row);
        rm_json_close_object(writer);
    }
    rm_json_close_array(writer);
    rm_json_close_object(writer);
    return status;
}

resmon_status rm_bench_document_write(const struct rm_groups *groups,
                                      const struct rm_output *output)
{
    struct rm_json_writer writer;
    resmon_status status = RESMON_OK;
    rm_json_start(&writer, output);
    rm_json_open_object(&writer, NULL);
    rm_json_put_text(&writer, "resmon_bench", FORMAT);
    rm_json_open_array(&writer, "results");
    for (size_t i = 0; i < groups->count && status == RESMON_OK; i++) {
        status = put_group(&writer, &groups->at[i]);
    }
    rm_json_close_array(&writer);
    rm_json_close_object(&writer);
    resmon_status written = rm_json_finish(&writer);
    return status == RESMON_OK ? written : status;
}

/* ---- formats of other tools --------------------------------------------------------------- */

/* The values of the run that dashboards usually follow. */
static const enum rm_figure_id watched[] = {RM_FIGURE_wall, RM_FIGURE_cpu, RM_FIGURE_peak,
                                            RM_FIGURE_energy};

resmon_status rm_bench_write_bmf(const struct rm_groups *groups, const struct rm_output *output)
{
    struct rm_json_writer writer;
    resmon_status status = RESMON_OK;
    rm_json_start(&writer, output);
    rm_json_open_object(&writer, NULL);
    for (size_t i = 0; i < groups->count; i++) {
        rm_json_open_object(&writer, groups->at[i].name);
        for (size_t k = 0; k < RM_ARRAY_LEN(watched) && status == RESMON_OK; k++) {
            const struct rm_group_row *row = rm_group_find(&groups->at[i], "", watched[k]);
            struct rm_between median;
            status = median_of(row, &median);
            if (isnan(median.value)) {
                continue;
            }
            rm_json_open_object(&writer, rm_figures[watched[k]].key);
            rm_json_put_double(&writer, "value", median.value);
            if (!isnan(median.low)) {
                rm_json_put_double(&writer, "lower_value", median.low);
                rm_json_put_double(&writer, "upper_value", median.high);
            }
            rm_json_close_object(&writer);
        }
        rm_json_close_object(&writer);
    }
    rm_json_close_object(&writer);
    resmon_status written = rm_json_finish(&writer);
    return status == RESMON_OK ? written : status;
}

static void put_github(struct rm_json_writer *writer, const struct rm_group *group,
                       enum rm_figure_id id, const struct rm_between *median)
{
    char text[512], low[RM_NUMBER_BYTES], high[RM_NUMBER_BYTES];
    (void)snprintf(text, sizeof text, "%.400s: %s", group->name, rm_figures[id].title);
    rm_json_open_object(writer, NULL);
    rm_json_put_text(writer, "name", text);
    rm_json_put_text(writer, "unit", rm_figures[id].unit);
    rm_json_put_double(writer, "value", median->value);
    if (!isnan(median->low)) {
        (void)rm_number_double(low, median->low);
        (void)rm_number_double(high, median->high);
        (void)snprintf(text, sizeof text, "%s to %s", low, high);
        rm_json_put_text(writer, "range", text);
    }
    rm_json_close_object(writer);
}

resmon_status rm_bench_write_github(const struct rm_groups *groups, const struct rm_output *output)
{
    struct rm_json_writer writer;
    resmon_status status = RESMON_OK;
    rm_json_start(&writer, output);
    rm_json_open_array(&writer, NULL);
    for (size_t i = 0; i < groups->count; i++) {
        for (size_t k = 0; k < RM_ARRAY_LEN(watched) && status == RESMON_OK; k++) {
            struct rm_between median;
            status = median_of(rm_group_find(&groups->at[i], "", watched[k]), &median);
            if (!isnan(median.value)) {
                put_github(&writer, &groups->at[i], watched[k], &median);
            }
        }
    }
    rm_json_close_array(&writer);
    resmon_status written = rm_json_finish(&writer);
    return status == RESMON_OK ? written : status;
}

/* ---- Go's benchmarks ---------------------------------------------------------------------- */

static resmon_status print(const struct rm_output *output, const char *text)
{
    return rm_output_write(output, text, strlen(text));
}

/* A name must have no spaces, and '/' begins a key of Go's names: benchstat makes columns of
 * "command". */
static resmon_status print_name(const struct rm_output *output, const char *name)
{
    char text[256];
    size_t used = 0;
    for (const char *at = name; *at != '\0' && used + 1 < sizeof text; at++) {
        text[used++] = *at > ' ' && *at != 0x7f && *at != '/' ? *at : '_';
    }
    text[used] = '\0';
    resmon_status status = print(output, "BenchmarkRun/command=");
    return status == RESMON_OK ? print(output, text) : status;
}

static const struct {
    enum rm_figure_id id;
    const char *unit; /* as benchstat names units */
} go_units[] = {{RM_FIGURE_wall, "sec/op"},
                {RM_FIGURE_cpu, "cpu-sec/op"},
                {RM_FIGURE_peak, "peak-B/op"},
                {RM_FIGURE_energy, "J/op"}};

static resmon_status print_run(const struct rm_output *output, const struct rm_group *group,
                               size_t run)
{
    resmon_status status = print_name(output, group->name);
    status = status == RESMON_OK ? print(output, " 1") : status;
    for (size_t i = 0; i < RM_ARRAY_LEN(go_units) && status == RESMON_OK; i++) {
        char text[64], number[RM_NUMBER_BYTES];
        double value = value_at(rm_group_find(group, "", go_units[i].id), run);
        if (!isnan(value)) {
            (void)rm_number_double(number, value);
            (void)snprintf(text, sizeof text, " %s %s", number, go_units[i].unit);
            status = print(output, text);
        }
    }
    return status == RESMON_OK ? print(output, "\n") : status;
}

resmon_status rm_bench_write_go(const struct rm_groups *groups, const struct rm_output *output)
{
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < groups->count; i++) {
        for (size_t run = 0; run < groups->at[i].run_count && status == RESMON_OK; run++) {
            status = print_run(output, &groups->at[i], run);
        }
    }
    return status;
}

/* ---- groups of runs, read -------------------------------------------------------------------- */

#define MOST_RUNS 1000000U

static resmon_status no_bench(const char *what)
{
    return rm_error(RESMON_EFORMAT, "this is not a benchmark: %s", what);
}

/* A number that an int32_t can hold, or 0. */
static int32_t small(double number)
{
    return number >= -2147483648.0 && number <= 2147483647.0 ? (int32_t)number : 0;
}

/* The only values in hyperfine's documents. */
static const struct {
    const char *key;
    enum rm_figure_id id;
} plain[] = {{"times", RM_FIGURE_wall}, {"memory_usage_byte", RM_FIGURE_peak}};

/* ---- rows --------------------------------------------------------------------------------- */

/* The values of a row. */
struct cursor {
    const char *path;
    enum rm_figure_id figure;
    bool is_counted;
    const double *values; /* by run */
    size_t count;
};

static struct cursor cursor_of(const char *path, enum rm_figure_id figure, bool is_counted,
                               const struct rm_json *values)
{
    struct cursor cursor = {.path = path, .figure = figure, .is_counted = is_counted};
    cursor.values = rm_json_numbers(values, &cursor.count);
    return cursor;
}

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
                cursor_of(path, id, rm_json_number(rm_json_get(row, "is_counted")) == 1.0,
                          rm_json_get(row, "values"));
        }
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(plain) && figures == NULL; i++) {
        cursors[count++] = cursor_of("", plain[i].id, rm_figures[plain[i].id].is_counted,
                                     rm_json_get(result, plain[i].key));
    }
    return count;
}

static resmon_status put_run(struct rm_group *group, const struct cursor *cursors, size_t count,
                             size_t run)
{
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < count && status == RESMON_OK; i++) {
        const struct cursor *cursor = &cursors[i];
        if (run < cursor->count) {
            status = rm_group_put(group, cursor->path, cursor->figure, cursor->is_counted,
                                  cursor->values[run]);
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
                               const struct cursor *cursors, size_t count)
{
    resmon_status status = RESMON_OK;
    size_t code_count;
    const double *codes = rm_json_numbers(rm_json_get(result, "exit_codes"), &code_count);
    size_t runs = rm_json_count(rm_json_get(result, "times"));
    if (runs == 0 || runs > MOST_RUNS) {
        return no_bench("a result has no \"times\"");
    }
    for (size_t run = 0; run < runs && status == RESMON_OK; run++) {
        int32_t code = run < code_count ? small(codes[run]) : 0;
        status = rm_group_add_empty(group, (struct rm_group_run){code, 0});
        status = status == RESMON_OK ? put_run(group, cursors, count, run) : status;
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

/* ---- comparisons ----------------------------------------------------------------------------- */

/* "worse", "not_worse", "cannot_tell", "none".  Static. */
static const char *rm_diff_word(enum rm_verdict verdict)
{
    static const char *const words[] = {"none", "not_worse", "cannot_tell", "worse"};
    return words[verdict];
}

static void put_side(struct rm_json_writer *writer, const char *key, const struct rm_group *group)
{
    rm_json_open_object(writer, key);
    rm_json_put_text(writer, "name", group->name);
    rm_json_put_u64(writer, "runs", group->run_count);
    rm_json_put_text(writer, "host_name", group->machine.host);
    rm_json_put_text(writer, "cpu_model", group->machine.cpu_model);
    rm_json_put_text(writer, "kernel", group->machine.kernel);
    rm_json_close_object(writer);
}

static void put_between(struct rm_json_writer *writer, const char *key,
                        const struct rm_between *between, size_t runs)
{
    rm_json_open_object(writer, key);
    rm_json_put_double(writer, "value", between->value);
    rm_json_put_double(writer, "low", between->low);
    rm_json_put_double(writer, "high", between->high);
    if (runs > 0) {
        rm_json_put_u64(writer, "runs", runs);
    }
    rm_json_close_object(writer);
}

static void put_row(struct rm_json_writer *writer, const struct rm_diff_row *row)
{
    rm_json_break(writer);
    rm_json_open_object(writer, NULL);
    rm_json_put_text(writer, "scope", row->path);
    rm_json_put_text(writer, "figure", rm_figures[row->figure].key);
    rm_json_put_text(writer, "unit", rm_figures[row->figure].unit);
    rm_json_put_u64(writer, "is_counted", row->is_counted ? 1 : 0);
    put_between(writer, "before", &row->before, row->before_count);
    put_between(writer, "after", &row->after, row->after_count);
    put_between(writer, "shift", &row->shift, 0);
    rm_json_put_double(writer, "p", row->p);
    rm_json_put_double(writer, "p_of_all_rules", row->p_of_all);
    if (row->rule != NULL) {
        rm_json_put_text(writer, "rule", row->rule->text);
        rm_json_put_double(writer, "allowance", row->allowance);
        rm_json_put_text(writer, "verdict", rm_diff_word(row->verdict));
        rm_json_put_u64(writer, "runs_wanted", row->runs_wanted);
    }
    rm_json_close_object(writer);
}

static void put_paths(struct rm_json_writer *writer, const char *key, const char *const *paths,
                      size_t count)
{
    rm_json_open_array(writer, key);
    for (size_t i = 0; i < count; i++) {
        rm_json_put_text(writer, NULL, paths[i]);
    }
    rm_json_close_array(writer);
}

resmon_status rm_diff_document_write(const struct rm_diff *diff, const struct rm_output *output)
{
    struct rm_json_writer writer;
    rm_json_start(&writer, output);
    rm_json_open_object(&writer, NULL);
    rm_json_put_text(&writer, "verdict", rm_diff_word(diff->verdict));
    put_side(&writer, "before", diff->before);
    put_side(&writer, "after", diff->after);
    rm_json_put_text(&writer, "machines_differ", diff->machines);
    put_paths(&writer, "scopes_gone", diff->gone, diff->gone_count);
    put_paths(&writer, "scopes_new", diff->fresh, diff->fresh_count);
    rm_json_open_array(&writer, "rules_without_figures");
    for (size_t i = 0; i < diff->gate->count; i++) {
        if (!diff->is_used[i]) {
            rm_json_put_text(&writer, NULL, diff->gate->rules[i].text);
        }
    }
    rm_json_close_array(&writer);
    rm_json_open_array(&writer, "figures");
    for (size_t i = 0; i < diff->row_count; i++) {
        put_row(&writer, &diff->rows[i]);
    }
    rm_json_close_array(&writer);
    rm_json_close_object(&writer);
    return rm_json_finish(&writer);
}

/* ---- trends ---------------------------------------------------------------------------------- */

static void put_documents(struct rm_json_writer *writer, const struct rm_trend *trend)
{
    rm_json_open_array(writer, "benchmarks");
    for (size_t i = 0; i < trend->count; i++) {
        rm_json_break(writer);
        rm_json_open_object(writer, NULL);
        rm_json_put_text(writer, "label", trend->documents[i].label);
        if (trend->documents[i].realtime_ns > 0) {
            rm_record_put_time(writer, "start", trend->documents[i].realtime_ns);
        }
        rm_json_close_object(writer);
    }
    rm_json_close_array(writer);
}

static void put_points(struct rm_json_writer *writer, const struct rm_trend_series *series)
{
    rm_json_open_array(writer, "benchmarks");
    for (size_t i = 0; i < series->count; i++) {
        rm_json_put_u64(writer, NULL, series->points[i].document);
    }
    rm_json_close_array(writer);
    rm_json_open_array(writer, "medians");
    for (size_t i = 0; i < series->count; i++) {
        rm_json_put_double(writer, NULL, series->points[i].median.value);
    }
    rm_json_close_array(writer);
}

static void put_changes(struct rm_json_writer *writer, const struct rm_trend_series *series)
{
    rm_json_open_array(writer, "changes");
    for (size_t i = 0; i < series->change_count; i++) {
        const struct rm_trend_change *change = &series->changes[i];
        rm_json_open_object(writer, NULL);
        rm_json_put_u64(writer, "benchmark", series->points[change->at].document);
        rm_json_put_double(writer, "before", change->before);
        rm_json_put_double(writer, "after", change->after);
        rm_json_put_double(writer, "shift", change->shift.value);
        rm_json_put_double(writer, "shift_low", change->shift.low);
        rm_json_put_double(writer, "shift_high", change->shift.high);
        rm_json_put_double(writer, "p", change->p);
        rm_json_close_object(writer);
    }
    rm_json_close_array(writer);
}

static void put_series(struct rm_json_writer *writer, const struct rm_trend_series *series)
{
    const struct rm_group_machine *machine = &series->group->machine;
    rm_json_break(writer);
    rm_json_open_object(writer, NULL);
    rm_json_put_text(writer, "command", series->group->name);
    rm_json_put_text(writer, "cpu_model", machine->cpu_model);
    rm_json_put_text(writer, "kernel", machine->kernel);
    rm_json_put_text(writer, "scope", series->path);
    rm_json_put_text(writer, "figure", rm_figures[series->figure].key);
    rm_json_put_text(writer, "unit", rm_figures[series->figure].unit);
    put_points(writer, series);
    put_changes(writer, series);
    rm_json_close_object(writer);
}

resmon_status rm_trend_document_write(const struct rm_trend *trend, const struct rm_output *output)
{
    struct rm_json_writer writer;
    rm_json_start(&writer, output);
    rm_json_open_object(&writer, NULL);
    rm_json_put_text(&writer, "resmon_trend", FORMAT);
    put_documents(&writer, trend);
    rm_json_open_array(&writer, "series");
    for (size_t i = 0; i < trend->series_count; i++) {
        put_series(&writer, &trend->series[i]);
    }
    rm_json_close_array(&writer);
    rm_json_close_object(&writer);
    return rm_json_finish(&writer);
}

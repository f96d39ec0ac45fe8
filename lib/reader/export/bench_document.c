/* SPDX-License-Identifier: MIT */
#include "export/bench_document.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/number.h"
#include "compare/shift.h"
#include "format/json_writer.h"
#include "format/record_json.h"

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

/* The deviation of a sample, by the number of runs less one, as hyperfine has it. */
static struct moments moments_of(const struct rm_group_row *row)
{
    struct moments found = {RM_NAN, RM_NAN, RM_NAN, RM_NAN, 0};
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; row != NULL && i < row->count; i++) {
        double value = row->values[i];
        if (!isnan(value)) {
            sum += value;
            found.least = fmin(found.least, value); /* not of NaN */
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

/* What hyperfine writes, by its names. */
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

/* ---- forms of others ---------------------------------------------------------------------- */

/* Of the run: what people watch. */
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

/* Names have no spaces, and '/' begins a key of theirs: benchstat makes columns of "command". */
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
    const char *unit; /* as benchstat knows them */
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

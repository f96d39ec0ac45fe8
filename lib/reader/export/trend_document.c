/* SPDX-License-Identifier: MIT */
#include "export/trend_document.h"

#include "format/json_writer.h"
#include "format/record_json.h"

#define FORMAT "0.1"

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

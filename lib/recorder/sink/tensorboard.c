/* SPDX-License-Identifier: MIT */
/*
 * Owns the sink that writes event files of TensorBoard: records of TFRecord
 * (https://www.tensorflow.org/tutorials/load_data/tfrecord) with messages of event.proto, each with
 * one scalar for each value.  Scalars are called "proc/mem.rss (B)", "gpu/power 0 (W)",
 * "scope/wall train/step (s)"; their step is the time since the start, in milliseconds.
 */
#include "sink/sinks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "format/exported.h"
#include "format/protobuf.h"
#include "job/path_pattern.h"
#include "os/outfile.h"
#include "run/run.h"

#define LARGEST_EVENT ((size_t)64 << 20)
#define TAG_BYTES     2048
#define DENSITY       256 /* samples of the second half of a run, about */

enum event_field { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum summary_field { SUMMARY_VALUE = 1 };
enum value_field { VALUE_TAG = 1, VALUE_NUMBER = 2 };

struct tensorboard {
    char directory[RM_PATH_BYTES];
    struct rm_appendfile file;
    bool is_open;
    bool has_rows;
    int64_t latest_ns;        /* time of the latest sample in the file */
    int64_t latest_scopes_ns; /* and of the latest values of scopes */

    struct rm_exported_family family; /* the current one */
    struct rm_buffer record, event, summary, value;
};

/* ---- records --------------------------------------------------------------------------------- */

/* CRC-32C of bytes, as TFRecord masks it.  Bit by bit: an event has a few kilobytes. */
static uint32_t masked_crc(const char *bytes, size_t length)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0x82F63B78U & (0U - (crc & 1U)));
        }
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xA282EAD8U;
}

/* Length, its sum, the event, and its sum; little-endian, as the host. */
static resmon_status add_record(struct tensorboard *tensorboard)
{
    struct rm_buffer *record = &tensorboard->record;
    const struct rm_buffer *event = &tensorboard->event;
    if (event->status != RESMON_OK) {
        return event->status;
    }
    uint64_t length = event->length;
    uint32_t sums[] = {masked_crc((const char *)&length, sizeof length),
                       masked_crc(event->text, event->length)};
    rm_buffer_clear(record);
    rm_buffer_add(record, (const char *)&length, sizeof length);
    rm_buffer_add(record, (const char *)&sums[0], sizeof sums[0]);
    rm_buffer_add(record, event->text, event->length);
    rm_buffer_add(record, (const char *)&sums[1], sizeof sums[1]);
    return record->status == RESMON_OK
               ? rm_appendfile_add(&tensorboard->file, record->text, record->length)
               : record->status;
}

static void begin_event(struct tensorboard *tensorboard, const resmon_run *run, int64_t t_ns)
{
    rm_buffer_clear(&tensorboard->event);
    rm_buffer_clear(&tensorboard->summary);
    rm_protobuf_double(&tensorboard->event, EVENT_TIME,
                       (double)(run->info.start_realtime_ns + t_ns) / 1e9);
    rm_protobuf_number(&tensorboard->event, EVENT_STEP, (uint64_t)(t_ns / RM_NS_PER_MS));
}

static resmon_status end_event(struct tensorboard *tensorboard)
{
    if (tensorboard->summary.length == 0) {
        return tensorboard->summary.status;
    }
    rm_protobuf_part(&tensorboard->event, EVENT_SUMMARY, &tensorboard->summary);
    return add_record(tensorboard);
}

/* ---- scalars --------------------------------------------------------------------------------- */

/* TensorBoard has a group for each first part of a name: "gpu/power 0 (W)". */
static void put_scalar(struct tensorboard *tensorboard, const char *name, const char *instance,
                       const char *unit, double number)
{
    char tag[TAG_BYTES];
    float value = (float)number;
    if (!isfinite(value)) {
        return;
    }
    bool has_unit = strcmp(unit, "1") != 0 && unit[0] != '\0';
    (void)snprintf(tag, sizeof tag, "%s%s%s%s%s%s", name, instance[0] != '\0' ? " " : "", instance,
                   has_unit ? " (" : "", has_unit ? unit : "", has_unit ? ")" : "");
    char *dot = strchr(tag, '.');
    if (dot != NULL) {
        *dot = '/';
    }
    rm_protobuf_text(&tensorboard->value, VALUE_TAG, tag);
    rm_protobuf_float(&tensorboard->value, VALUE_NUMBER, value);
    rm_protobuf_part(&tensorboard->summary, SUMMARY_VALUE, &tensorboard->value);
}

static void begin_family(void *context, const struct rm_exported_family *family)
{
    struct tensorboard *tensorboard = context;
    tensorboard->family = *family;
}

static void put_value(void *context, const struct rm_exported_label *labels, size_t count,
                      double value)
{
    struct tensorboard *tensorboard = context;
    char instance[TAG_BYTES / 2], clean[TAG_BYTES / 2];
    if (count > 0 && strcmp(labels[0].name, "scope") == 0) {
        (void)snprintf(instance, sizeof instance, "%s%s%s", labels[0].value, count > 1 ? " " : "",
                       count > 1 ? labels[1].value : "");
        (void)rm_text_set(clean, sizeof clean, instance);
        put_scalar(tensorboard, tensorboard->family.name, clean, tensorboard->family.unit, value);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void put_column(struct tensorboard *tensorboard, const resmon_run *run, size_t column,
                       size_t row)
{
    const resmon_column *of = &run->columns[column];
    char name[RM_LABEL_VALUE_BYTES], instance[RM_LABEL_VALUE_BYTES], unit[32];
    int32_t series = rm_run_series_meant(of, RESMON_SERIES_VALUE);
    (void)rm_text_set(name, sizeof name, of->metric);
    (void)rm_text_set(instance, sizeof instance, of->instance);
    (void)rm_text_set(unit, sizeof unit, of->unit);
    put_scalar(tensorboard, name, instance, unit, rm_run_series(run, column, series)[row]);
}

/* Adds samples since the last ones.  At first all are added; later on, one when the time since the
 * one before is a share of the time since the start, so that a file grows with the logarithm of the
 * time.  The same holds for scopes. */
static resmon_status add_rows(struct tensorboard *tensorboard, const resmon_run *run)
{
    resmon_status status = RESMON_OK;
    for (size_t row = 0; row < run->row_count && status == RESMON_OK; row++) {
        int64_t t_ns = run->t_last[row];
        if (tensorboard->has_rows && t_ns - tensorboard->latest_ns <= t_ns / DENSITY) {
            continue;
        }
        begin_event(tensorboard, run, t_ns);
        for (size_t column = 0; column < run->column_count; column++) {
            put_column(tensorboard, run, column, row);
        }
        status = end_event(tensorboard);
        tensorboard->latest_ns = t_ns;
        tensorboard->has_rows = true;
    }
    return status;
}

static resmon_status add_scopes(struct tensorboard *tensorboard, const resmon_run *run)
{
    const struct rm_exporter exporter = {
        .context = tensorboard, .family = begin_family, .value = put_value};
    begin_event(tensorboard, run, run->info.duration_ns);
    resmon_status status = rm_export_values(run, &exporter);
    return status == RESMON_OK ? end_event(tensorboard) : status;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* The name must contain "tfevents".  Another run has another name; the same one replaces its file.
 */
static resmon_status open_file(struct tensorboard *tensorboard, const resmon_run *run)
{
    char path[RM_PATH_BYTES + 512];
    char node[128];
    int64_t start_ns = run->info.start_realtime_ns;
    (void)rm_text_set(node, sizeof node, rm_run_node_name(run));
    for (char *slash = strchr(node, '/'); slash != NULL; slash = strchr(slash, '/')) {
        *slash = '_';
    }
    (void)snprintf(path, sizeof path, "%s/events.out.tfevents.%010lld.%s.%lld.%09lld.resmon",
                   tensorboard->directory, (long long)(start_ns / RM_NS_PER_S), node,
                   (long long)rm_run_pid(run), (long long)(start_ns % RM_NS_PER_S));
    resmon_status status = rm_appendfile_open(&tensorboard->file, path);
    tensorboard->is_open = status == RESMON_OK;
    return status;
}

static resmon_status start(void *context, const resmon_run *run)
{
    struct tensorboard *tensorboard = context;
    resmon_status status = open_file(tensorboard, run);
    if (status == RESMON_OK) {
        begin_event(tensorboard, run, 0);
        rm_protobuf_text(&tensorboard->event, EVENT_FILE_VERSION, "brain.Event:2");
        status = add_record(tensorboard);
    }
    return status;
}

static resmon_status add_all(struct tensorboard *tensorboard, const resmon_run *run, bool is_last)
{
    if (!tensorboard->is_open) {
        return RESMON_OK;
    }
    int64_t now_ns = run->info.duration_ns;
    resmon_status status = add_rows(tensorboard, run);
    if (status == RESMON_OK &&
        (is_last || now_ns - tensorboard->latest_scopes_ns > now_ns / DENSITY)) {
        tensorboard->latest_scopes_ns = now_ns;
        status = add_scopes(tensorboard, run);
    }
    return status;
}

static resmon_status snapshot(void *context, const resmon_run *run)
{
    return add_all(context, run, false);
}

static resmon_status stop(void *context, const resmon_run *run)
{
    struct tensorboard *tensorboard = context;
    resmon_status status = add_all(tensorboard, run, true);
    return status == RESMON_OK && tensorboard->is_open ? rm_appendfile_sync(&tensorboard->file)
                                                       : status;
}

static void close_sink(void *context)
{
    struct tensorboard *tensorboard = context;
    struct rm_buffer *const buffers[] = {&tensorboard->record, &tensorboard->event,
                                         &tensorboard->summary, &tensorboard->value};
    if (tensorboard->is_open) {
        rm_appendfile_close(&tensorboard->file);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(buffers); i++) {
        rm_buffer_free(buffers[i]);
    }
    rm_free(tensorboard);
}

/* ---- creation -------------------------------------------------------------------------------- */

/* Makes the directory, as TensorBoard's own writers do, and checks that it can be written. */
static resmon_status settle(struct tensorboard *tensorboard, const char *pattern)
{
    char expanded[RM_PATH_BYTES];
    char *path = tensorboard->file.path; /* as room */
    static const char name[] = "/events.out.tfevents";
    resmon_status status = rm_path_expand(pattern, expanded);
    if (status == RESMON_OK && strlen(expanded) + sizeof name > sizeof expanded) {
        status = rm_error(RESMON_ERANGE, "the path of the directory for TensorBoard is too long");
    }
    if (status == RESMON_OK) {
        memcpy(expanded + strlen(expanded), name, sizeof name);
        status = rm_outfile_make_directories(expanded, 0);
    }
    if (status == RESMON_OK) {
        status = rm_outfile_settle(expanded, path);
    }
    if (status == RESMON_OK) {
        memcpy(tensorboard->directory, path, strlen(path) - (sizeof name - 1)); /* any bytes */
    }
    return status;
}

resmon_status rm_tensorboard_sink_new(const resmon_page_file_options *options,
                                      struct rm_sink *ret_sink)
{
    struct tensorboard *tensorboard = rm_alloc(1, sizeof *tensorboard);
    if (tensorboard == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for TensorBoard");
    }
    struct rm_buffer *const buffers[] = {&tensorboard->record, &tensorboard->event,
                                         &tensorboard->summary, &tensorboard->value};
    for (size_t i = 0; i < RM_ARRAY_LEN(buffers); i++) {
        rm_buffer_init(buffers[i], LARGEST_EVENT);
    }
    resmon_status status = settle(tensorboard, options->path);
    if (status != RESMON_OK) {
        close_sink(tensorboard);
        return status;
    }
    *ret_sink = (struct rm_sink){
        .ops = {.name = "tensorboard",
                .start = start,
                .stop = stop,
                .close = close_sink,
                .snapshot = snapshot,
                .snapshot_interval_ms = options->interval_ms},
        .context = tensorboard,
    };
    return RESMON_OK;
}

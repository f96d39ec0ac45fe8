/* SPDX-License-Identifier: MIT */
#include "net/otlp_body.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "format/exported.h"
#include "format/protobuf.h"
#include "run/run.h"

#define SCHEMA "https://opentelemetry.io/schemas/1.44.0"

/* Fields of the messages, by opentelemetry-proto 1.0 and later. */
enum request_field { REQUEST_RESOURCE_METRICS = 1 };
enum resource_metrics_field {
    RESOURCE_METRICS_RESOURCE = 1,
    RESOURCE_METRICS_SCOPE_METRICS = 2,
    RESOURCE_METRICS_SCHEMA = 3,
};
enum resource_field { RESOURCE_ATTRIBUTES = 1 };
enum scope_metrics_field {
    SCOPE_METRICS_SCOPE = 1,
    SCOPE_METRICS_METRICS = 2,
    SCOPE_METRICS_SCHEMA
};
enum scope_field { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum metric_field {
    METRIC_NAME = 1,
    METRIC_DESCRIPTION = 2,
    METRIC_UNIT = 3,
    METRIC_GAUGE = 5,
    METRIC_SUM = 7,
    METRIC_HISTOGRAM = 9,
};
enum data_field { DATA_POINTS = 1, DATA_TEMPORALITY = 2, DATA_IS_MONOTONIC = 3 };
enum number_point_field {
    NUMBER_START = 2,
    NUMBER_TIME = 3,
    NUMBER_DOUBLE = 4,
    NUMBER_ATTRIBUTES = 7,
};
enum histogram_point_field {
    HISTOGRAM_START = 2,
    HISTOGRAM_TIME = 3,
    HISTOGRAM_COUNT = 4,
    HISTOGRAM_SUM = 5,
    HISTOGRAM_ATTRIBUTES = 9,
    HISTOGRAM_MIN = 11,
    HISTOGRAM_MAX = 12,
};
enum attribute_field { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2 };
enum value_field { VALUE_TEXT = 1, VALUE_INTEGER = 3 };
enum reply_field { REPLY_PARTIAL_SUCCESS = 1 };
enum partial_field { PARTIAL_REJECTED = 1, PARTIAL_MESSAGE = 2 };
enum status_field { STATUS_MESSAGE = 2 };

#define CUMULATIVE 2 /* AGGREGATION_TEMPORALITY_CUMULATIVE */

/* ---- names ---------------------------------------------------------------------------------- */

/* https://opentelemetry.io/docs/specs/semconv/system/, where a metric means the same.  Rows with
 * one name are in the order of the table of metrics. */
static const struct convention {
    const char *metric;
    const char *name, *unit;
    const char *key, *value; /* attribute; NULL: none */
    bool is_gauge;           /* else a sum */
} conventions[] = {
    {"proc.cpu.user", "process.cpu.time", "s", "cpu.mode", "user", false},
    {"proc.cpu.system", "process.cpu.time", "s", "cpu.mode", "system", false},
    {"proc.cpu.affinity_percent", "process.cpu.utilization", "1", NULL, NULL, true},
    {"proc.mem.rss", "process.memory.usage", "By", NULL, NULL, false},
    {"proc.mem.vms", "process.memory.virtual", "By", NULL, NULL, false},
    {"proc.fault.minor", "process.paging.faults", "{fault}", "system.paging.fault.type", "minor",
     false},
    {"proc.fault.major", "process.paging.faults", "{fault}", "system.paging.fault.type", "major",
     false},
    {"proc.ctx.voluntary", "process.context_switches", "{context_switch}",
     "process.context_switch.type", "voluntary", false},
    {"proc.ctx.involuntary", "process.context_switches", "{context_switch}",
     "process.context_switch.type", "involuntary", false},
    {"proc.threads", "process.thread.count", "{thread}", NULL, NULL, false},
    {"proc.fds", "process.unix.file_descriptor.count", "{file_descriptor}", NULL, NULL, false},
    {"proc.io.read_bytes", "process.disk.io", "By", "disk.io.direction", "read", false},
    {"proc.io.write_bytes", "process.disk.io", "By", "disk.io.direction", "write", false},
    {"node.cpu.online", "system.cpu.logical.count", "{cpu}", NULL, NULL, false},
    {"node.cpu.user", "system.cpu.time", "s", "cpu.mode", "user", false},
    {"node.cpu.nice", "system.cpu.time", "s", "cpu.mode", "nice", false},
    {"node.cpu.system", "system.cpu.time", "s", "cpu.mode", "system", false},
    {"node.cpu.idle", "system.cpu.time", "s", "cpu.mode", "idle", false},
    {"node.cpu.iowait", "system.cpu.time", "s", "cpu.mode", "iowait", false},
    {"node.cpu.irq", "system.cpu.time", "s", "cpu.mode", "interrupt", false},
    {"node.cpu.softirq", "system.cpu.time", "s", "cpu.mode", "softirq", false},
    {"node.cpu.steal", "system.cpu.time", "s", "cpu.mode", "steal", false},
    {"node.mem.total", "system.memory.limit", "By", NULL, NULL, false},
    {"node.mem.available", "system.memory.linux.available", "By", NULL, NULL, false},
    {"node.mem.percent", "system.memory.utilization", "1", "system.memory.state", "used", true},
    {"node.mem.shmem", "system.memory.linux.shared", "By", NULL, NULL, false},
    {"node.swap.used", "system.paging.usage", "By", "system.paging.state", "used", false},
    {"node.swap.percent", "system.paging.utilization", "1", "system.paging.state", "used", true},
    {"node.disk.read_bytes", "system.disk.io", "By", "disk.io.direction", "read", false},
    {"node.disk.write_bytes", "system.disk.io", "By", "disk.io.direction", "write", false},
    {"node.disk.reads", "system.disk.operations", "{operation}", "disk.io.direction", "read",
     false},
    {"node.disk.writes", "system.disk.operations", "{operation}", "disk.io.direction", "write",
     false},
    {"node.disk.busy", "system.disk.io_time", "s", NULL, NULL, false},
    {"node.fs.used", "system.filesystem.usage", "By", "system.filesystem.state", "used", false},
    {"node.fs.free", "system.filesystem.usage", "By", "system.filesystem.state", "free", false},
    {"node.fs.percent", "system.filesystem.utilization", "1", "system.filesystem.state", "used",
     true},
    {"node.net.all.sent", "system.network.io", "By", "network.io.direction", "transmit", false},
    {"node.net.all.recv", "system.network.io", "By", "network.io.direction", "receive", false},
    {"node.net.all.packets_sent", "system.network.packet.count", "{packet}", "network.io.direction",
     "transmit", false},
    {"node.net.all.packets_recv", "system.network.packet.count", "{packet}", "network.io.direction",
     "receive", false},
};

static const struct convention *convention_of(const char *metric)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(conventions); i++) {
        if (strcmp(conventions[i].metric, metric) == 0) {
            return &conventions[i];
        }
    }
    return NULL;
}

/* A unit of the table of metrics as UCUM writes it.  A count has none, as receivers take 1 for a
 * ratio. */
static const char *unit_of(const char *unit)
{
    static const struct {
        const char *own, *ucum;
    } units[] = {{"B", "By"}, {"1", ""}, {"C", "Cel"}};
    for (size_t i = 0; i < RM_ARRAY_LEN(units); i++) {
        if (strcmp(units[i].own, unit) == 0) {
            return units[i].ucum;
        }
    }
    return unit;
}

/* Names of labels; those that are not listed stay. */
static const char *key_of(const char *label)
{
    return strcmp(label, "mountpoint") == 0 ? "system.filesystem.mountpoint" : label;
}

/* ---- state ---------------------------------------------------------------------------------- */

#define NAME_BYTES 128

struct metric {
    char name[NAME_BYTES];
    const char *description, *unit;
    enum metric_field data; /* METRIC_GAUGE, METRIC_SUM or METRIC_HISTOGRAM */
    bool is_monotonic;
    double divisor;         /* of the values of the current family */
    const char *key, *text; /* attribute of its values; NULL: none */
    bool is_left_out;
};

struct writing {
    uint64_t start_ns, time_ns; /* since 1970 */
    struct metric metric;       /* the current one; name "": none */
    /* Messages, each inside the previous one: the metrics so far; the current metric; its data with
     * its points; a point; an attribute, and its value. */
    struct rm_buffer metrics, whole, data, point, attribute, value;
};

/* Returns the buffers from the outermost one. */
static size_t buffers_of(struct writing *writing, struct rm_buffer *list[6])
{
    struct rm_buffer *const all[] = {&writing->metrics, &writing->whole,     &writing->data,
                                     &writing->point,   &writing->attribute, &writing->value};
    memcpy(list, all, sizeof all);
    return RM_ARRAY_LEN(all);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void end_attribute(struct writing *writing, struct rm_buffer *to, uint32_t field,
                          const char *key)
{
    rm_protobuf_text(&writing->attribute, ATTRIBUTE_KEY, key);
    rm_protobuf_part(&writing->attribute, ATTRIBUTE_VALUE, &writing->value);
    rm_protobuf_part(to, field, &writing->attribute);
}

/* The text must be valid UTF-8. */
static void put_attribute(struct writing *writing, struct rm_buffer *to, uint32_t field,
                          const char *key, const char *text)
{
    rm_protobuf_text(&writing->value, VALUE_TEXT, text);
    end_attribute(writing, to, field, key);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void end_metric(struct writing *writing)
{
    const struct metric *metric = &writing->metric;
    if (writing->data.length > 0) {
        if (metric->data != METRIC_GAUGE) {
            rm_protobuf_number(&writing->data, DATA_TEMPORALITY, CUMULATIVE);
        }
        if (metric->data == METRIC_SUM) {
            rm_protobuf_number(&writing->data, DATA_IS_MONOTONIC, metric->is_monotonic);
        }
        rm_protobuf_text(&writing->whole, METRIC_NAME, metric->name);
        rm_protobuf_text(&writing->whole, METRIC_DESCRIPTION, metric->description);
        rm_protobuf_text(&writing->whole, METRIC_UNIT, metric->unit);
        rm_protobuf_part(&writing->whole, metric->data, &writing->data);
        rm_protobuf_part(&writing->metrics, SCOPE_METRICS_METRICS, &writing->whole);
    }
    writing->metric = (struct metric){0};
}

static struct metric metric_of(const struct rm_exported_family *family)
{
    const struct convention *convention = convention_of(family->name);
    bool is_counter = family->kind == RM_FAMILY_COUNTER;
    struct metric metric = {
        .description = family->help,
        .unit = unit_of(family->unit),
        .data = is_counter ? METRIC_SUM : METRIC_GAUGE,
        .is_monotonic = is_counter,
        .divisor = 1.0,
        /* They are in resmon.scope.duration, and the version is in the scope. */
        .is_left_out = family->kind == RM_FAMILY_INFO || strcmp(family->name, "scope.calls") == 0 ||
                       strcmp(family->name, "scope.wall") == 0,
    };
    if (convention != NULL) {
        metric.unit = convention->unit;
        metric.divisor = strcmp(family->unit, "%") == 0 ? 100.0 : 1.0;
        metric.data = convention->is_gauge ? METRIC_GAUGE : METRIC_SUM;
        metric.key = convention->key;
        metric.text = convention->value;
    }
    (void)snprintf(metric.name, sizeof metric.name, "%s%s", convention != NULL ? "" : "resmon.",
                   convention != NULL ? convention->name : family->name);
    return metric;
}

/* Families of one name are one metric; the description is that of the first. */
static void begin_family(void *context, const struct rm_exported_family *family)
{
    struct writing *writing = context;
    struct metric metric = metric_of(family);
    if (strcmp(metric.name, writing->metric.name) == 0) {
        metric.description = writing->metric.description;
    } else {
        end_metric(writing);
    }
    writing->metric = metric;
}

static void put_label(struct writing *writing, uint32_t field,
                      const struct rm_exported_label *label)
{
    char clean[RM_LABEL_VALUE_BYTES];
    const char *text = label->value;
    if (strcmp(label->name, "scope") != 0) { /* a path may be longer, and is clean */
        rm_label_value_set(clean, label->value);
        text = clean;
    }
    put_attribute(writing, &writing->point, field, key_of(label->name), text);
}

static void put_value(void *context, const struct rm_exported_label *labels, size_t count,
                      double value)
{
    struct writing *writing = context;
    const struct metric *metric = &writing->metric;
    if (metric->is_left_out || !isfinite(value) || (metric->is_monotonic && value < 0.0)) {
        return;
    }
    if (metric->data == METRIC_SUM) {
        rm_protobuf_fixed(&writing->point, NUMBER_START, writing->start_ns);
    }
    rm_protobuf_fixed(&writing->point, NUMBER_TIME, writing->time_ns);
    rm_protobuf_double(&writing->point, NUMBER_DOUBLE, value / metric->divisor);
    if (metric->key != NULL) {
        put_attribute(writing, &writing->point, NUMBER_ATTRIBUTES, metric->key, metric->text);
    }
    for (size_t i = 0; i < count; i++) {
        put_label(writing, NUMBER_ATTRIBUTES, &labels[i]);
    }
    rm_protobuf_part(&writing->data, DATA_POINTS, &writing->point);
}

/* A histogram of one bucket: number, sum, lowest and highest of the wall times of finished calls.
 */
static void put_scope(void *context, const char *path, const resmon_run_scope *scope)
{
    struct writing *writing = context;
    struct rm_buffer *point = &writing->point;
    double sum_s = (scope->wall_ns - scope->open_ns) / 1e9;
    if (writing->metric.data != METRIC_HISTOGRAM) {
        end_metric(writing);
        writing->metric = (struct metric){.name = "resmon.scope.duration",
                                          .description = "wall time of finished calls of the scope",
                                          .unit = "s",
                                          .data = METRIC_HISTOGRAM};
    }
    rm_protobuf_fixed(point, HISTOGRAM_START, writing->start_ns);
    rm_protobuf_fixed(point, HISTOGRAM_TIME, writing->time_ns);
    rm_protobuf_fixed(point, HISTOGRAM_COUNT,
                      scope->calls > scope->open ? scope->calls - scope->open : 0);
    if (isfinite(sum_s) && sum_s >= 0.0) {
        rm_protobuf_double(point, HISTOGRAM_SUM, sum_s);
    }
    if (isfinite(scope->wall_min_ns)) {
        rm_protobuf_double(point, HISTOGRAM_MIN, scope->wall_min_ns / 1e9);
    }
    if (isfinite(scope->wall_max_ns) && scope->open == 0) {
        rm_protobuf_double(point, HISTOGRAM_MAX, scope->wall_max_ns / 1e9);
    }
    put_attribute(writing, point, HISTOGRAM_ATTRIBUTES, "scope", path);
    rm_protobuf_part(&writing->data, DATA_POINTS, point);
}

/* ---- the resource ---------------------------------------------------------------------------- */

#define KEY_BYTES  128
#define MOST_KEYS  64
#define SERVICE    "service.name"
#define INSTANCE   "service.instance.id"
#define LIST_BYTES RM_LABEL_VALUE_BYTES

/* The attributes of the resource so far: the first value of a key counts. */
struct keys {
    uint64_t hashes[MOST_KEYS];
    size_t count;
};

static bool add_key(struct keys *keys, const char *key)
{
    uint64_t hash = rm_hash_bytes(RM_HASH_START, key, strlen(key));
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->hashes[i] == hash) {
            return false;
        }
    }
    if (keys->count == MOST_KEYS || key[0] == '\0') {
        return false;
    }
    keys->hashes[keys->count++] = hash;
    return true;
}

static void put_resource_text(struct writing *writing, struct keys *keys, struct rm_buffer *to,
                              const char *key, const char *text)
{
    char clean[RM_LABEL_VALUE_BYTES];
    char clean_key[KEY_BYTES];
    (void)rm_text_set(clean_key, sizeof clean_key, key);
    if (text != NULL && text[0] != '\0' && add_key(keys, clean_key)) {
        rm_label_value_set(clean, text);
        put_attribute(writing, to, RESOURCE_ATTRIBUTES, clean_key, clean);
    }
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c != '\0' ? strchr(digits, c | (c >= 'A' && c <= 'F' ? 0x20 : 0)) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* Decodes percent-encoding; spaces around the text are no part of it. */
static resmon_status decode(const char *text, size_t length, char *target, size_t room)
{
    size_t used = 0;
    for (; length > 0 && text[length - 1] == ' '; length--) {
    }
    for (size_t i = strspn(text, " "); i < length; i++) {
        char byte = text[i];
        if (byte == '%') {
            int high = i + 2 < length ? hex_digit(text[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
            byte = low >= 0 ? (char)(unsigned char)(high * 16 + low) : '\0';
            if (byte == '\0') {
                return rm_error(RESMON_EFORMAT, "'%%' without two hexadecimal digits");
            }
            i += 2;
        }
        if (used + 1 >= room) {
            return rm_error(RESMON_ERANGE, "a part is longer than %zu bytes", room - 1);
        }
        target[used++] = byte;
    }
    target[used] = '\0';
    return RESMON_OK;
}

resmon_status rm_otlp_pair_next(const char **at, char *key, size_t key_room, char *value,
                                size_t value_room)
{
    *at += strspn(*at, ", ");
    size_t length = strcspn(*at, ",");
    const char *equal = memchr(*at, '=', length);
    key[0] = value[0] = '\0';
    if (length == 0) {
        return RESMON_OK;
    }
    if (equal == NULL || equal == *at) {
        return rm_error(RESMON_EFORMAT, "a part is not \"key=value\"");
    }
    resmon_status status = decode(*at, (size_t)(equal - *at), key, key_room);
    if (status == RESMON_OK) {
        status = decode(equal + 1, length - (size_t)(equal + 1 - *at), value, value_room);
    }
    *at += length;
    return status;
}

static void put_user_attributes(struct writing *writing, struct keys *keys, struct rm_buffer *to,
                                const char *list)
{
    char key[KEY_BYTES], value[LIST_BYTES];
    do {
        if (rm_otlp_pair_next(&list, key, sizeof key, value, sizeof value) != RESMON_OK) {
            return; /* checked before */
        }
        put_resource_text(writing, keys, to, key, value);
    } while (key[0] != '\0');
}

static void put_resource(struct writing *writing, const resmon_run *run,
                         const struct rm_otlp_resource *resource, struct rm_buffer *to)
{
    static const struct {
        const char *key, *label;
    } facts[] = {{"host.name", "node"}, {"resmon.job.id", "job_id"}, {"resmon.job.rank", "rank"}};
    char instance[RM_LABEL_VALUE_BYTES + 64];
    struct keys keys = {.count = 0};
    const char *node = rm_run_node_name(run);
    int64_t pid = rm_run_pid(run);
    put_resource_text(writing, &keys, to, SERVICE, resource->service);
    put_user_attributes(writing, &keys, to, resource->attributes);
    put_resource_text(writing, &keys, to, SERVICE, rm_run_title(run));
    (void)snprintf(instance, sizeof instance, "%.*s:%lld:%lld", RM_LABEL_VALUE_BYTES - 1, node,
                   (long long)pid, (long long)run->info.start_realtime_ns);
    put_resource_text(writing, &keys, to, INSTANCE, pid > 0 ? instance : NULL);
    for (size_t i = 0; i < RM_ARRAY_LEN(facts); i++) {
        put_resource_text(writing, &keys, to, facts[i].key, rm_exported_fact(run, facts[i].label));
    }
    if (pid > 0 && add_key(&keys, "process.pid")) {
        rm_protobuf_number(&writing->value, VALUE_INTEGER, (uint64_t)pid);
        end_attribute(writing, to, RESOURCE_ATTRIBUTES, "process.pid");
    }
    for (size_t i = 0; i < run->fact_count; i++) {
        if (strcmp(run->facts[i].group, RM_FACT_LABELS) == 0) {
            put_resource_text(writing, &keys, to, run->facts[i].key, run->facts[i].value);
        }
    }
}

/* ---- the request ------------------------------------------------------------------------------
 */

/* Adds the messages around the metrics. */
static void put_request(struct writing *writing, const resmon_run *run,
                        const struct rm_otlp_resource *resource, struct rm_buffer *buffer)
{
    struct rm_buffer *scope = &writing->whole, *outer = &writing->data, *part = &writing->point;
    rm_protobuf_text(part, SCOPE_NAME, "libresmon");
    rm_protobuf_text(part, SCOPE_VERSION, rm_run_fact_text(run, "run", "library"));
    rm_protobuf_part(scope, SCOPE_METRICS_SCOPE, part);
    if (writing->metrics.length > 0) {
        rm_buffer_add(scope, writing->metrics.text, writing->metrics.length);
    }
    rm_protobuf_text(scope, SCOPE_METRICS_SCHEMA, SCHEMA);
    put_resource(writing, run, resource, part);
    rm_protobuf_part(outer, RESOURCE_METRICS_RESOURCE, part);
    rm_protobuf_part(outer, RESOURCE_METRICS_SCOPE_METRICS, scope);
    rm_protobuf_text(outer, RESOURCE_METRICS_SCHEMA, SCHEMA);
    rm_protobuf_part(buffer, REQUEST_RESOURCE_METRICS, outer);
}

resmon_status rm_otlp_write(const resmon_run *run, const struct rm_otlp_resource *resource,
                            struct rm_buffer *buffer)
{
    struct rm_buffer *parts[6];
    struct writing writing = {
        .start_ns = (uint64_t)run->info.start_realtime_ns,
        .time_ns = (uint64_t)(run->info.start_realtime_ns + run->info.duration_ns),
    };
    const struct rm_exporter exporter = {&writing, begin_family, put_value, put_scope};
    size_t count = buffers_of(&writing, parts);
    for (size_t i = 0; i < count; i++) {
        rm_buffer_init(parts[i], buffer->bound);
    }
    resmon_status status = rm_export_values(run, &exporter);
    end_metric(&writing);
    put_request(&writing, run, resource, buffer);
    for (size_t i = 0; i < count; i++) {
        status = status == RESMON_OK ? parts[i]->status : status;
        rm_buffer_free(parts[i]);
    }
    return status == RESMON_OK ? buffer->status : status;
}

/* ---- replies ----------------------------------------------------------------------------------
 */

static void take_text(const struct rm_protobuf_field *field, char *text, size_t room)
{
    (void)rm_text_copy(text, room, field->bytes, field->length);
}

static void read_partial(const struct rm_protobuf_field *message, uint64_t *rejected, char *text,
                         size_t room)
{
    struct rm_protobuf_field field;
    const char *at = message->bytes, *end = at + message->length;
    while (rm_protobuf_next(&at, end, &field)) {
        if (field.number == PARTIAL_REJECTED && field.bytes == NULL) {
            *rejected = field.value;
        } else if (field.number == PARTIAL_MESSAGE && field.bytes != NULL) {
            take_text(&field, text, room);
        }
    }
}

/* A refusal is a google.rpc.Status, or the text of something in between. */
void rm_otlp_read_reply(bool is_success, const char *bytes, size_t length, uint64_t *ret_rejected,
                        char *text, size_t room)
{
    struct rm_protobuf_field field;
    const char *at = bytes, *end = bytes + length;
    text[0] = '\0';
    *ret_rejected = 0;
    while (rm_protobuf_next(&at, end, &field)) {
        if (is_success && field.number == REPLY_PARTIAL_SUCCESS && field.bytes != NULL) {
            read_partial(&field, ret_rejected, text, room);
        } else if (!is_success && field.number == STATUS_MESSAGE && field.bytes != NULL) {
            take_text(&field, text, room);
        }
    }
    if (!is_success && text[0] == '\0') {
        (void)rm_text_copy(text, room, bytes, strcspn(bytes, "\r\n"));
    }
}

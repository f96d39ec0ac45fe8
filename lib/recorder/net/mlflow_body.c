/* SPDX-License-Identifier: MIT */
#include "net/mlflow_body.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/number.h"
#include "base/option.h"
#include "base/text.h"
#include "format/document.h"
#include "os/reader.h"

/* ---- points and pairs in JSON -----------------------------------------------------------------
 */

#define MOST_NODE_TAGS 56  /* a server accepts 100 tags in a request; 32 are labels */
#define VALUE_BYTES    512 /* of a parameter or tag of this library */

static const char *comma(const struct rm_buffer *body)
{
    return body->length > 0 && body->text[body->length - 1] == '[' ? "" : ",";
}

/* The part of a point after its value. */
struct point_tail {
    char text[2 * RM_NUMBER_BYTES + 32];
    size_t length;
    double step, ms;
};

/* Without printf(), for speed: series have one for each row. */
static void make_tail(struct point_tail *tail, int64_t t_ms, int64_t step)
{
    static const char before[] = ",\"timestamp\":";
    static const char between[] = ",\"step\":";
    tail->step = (double)step;
    tail->ms = (double)t_ms;
    char *at = tail->text;
    memcpy(at, before, sizeof before - 1);
    at += sizeof before - 1;
    at += rm_number_i64(at, t_ms);
    memcpy(at, between, sizeof between - 1);
    at += sizeof between - 1;
    at += rm_number_i64(at, step);
    *at++ = '}';
    tail->length = (size_t)(at - tail->text);
}

static void put_point(struct rm_buffer *body, const char *head, size_t head_length, double value,
                      const struct point_tail *tail)
{
    const char *before = comma(body);
    char *begin = rm_buffer_room(body, 1 + head_length + RM_NUMBER_BYTES + tail->length);
    if (begin == NULL) {
        return;
    }
    char *at = begin;
    *at = ',';
    at += before[0] != '\0' ? 1 : 0;
    memcpy(at, head, head_length);
    at += head_length;
    at += rm_number_double(at, value);
    memcpy(at, tail->text, tail->length);
    at += tail->length;
    rm_buffer_advance(body, (size_t)(at - begin));
}

/* A server refuses duplicate keys. */
static bool has_key(const struct rm_buffer *body, const char *clean_key)
{
    char start[RM_MLFLOW_LONGEST_KEY + 16];
    (void)snprintf(start, sizeof start, RM_MLFLOW_POINT_HEAD "%s\"", clean_key);
    return body->text != NULL && strstr(body->text, start) != NULL;
}

static void put_pair(struct rm_buffer *body, const char *key, const char *value)
{
    char clean_key[RM_MLFLOW_LONGEST_KEY + 1];
    char clean_value[VALUE_BYTES];
    if (value == NULL || value[0] == '\0') {
        return;
    }
    rm_mlflow_clean_name(clean_key, sizeof clean_key, key);
    if (has_key(body, clean_key)) {
        return;
    }
    (void)rm_text_set(clean_value, sizeof clean_value, value);
    rm_buffer_printf(body, "%s" RM_MLFLOW_POINT_HEAD "%s" RM_MLFLOW_POINT_VALUE, comma(body),
                     clean_key);
    rm_buffer_json(body, clean_value);
    rm_buffer_puts(body, "}");
}

/* ---- the summary in requests --------------------------------------------------------------------
 */

/* Parameters that are the same for all nodes. */
static void put_params(struct rm_buffer *body, const struct rm_mlflow_plan *plan)
{
    static const struct {
        const char *key, *group, *fact;
    } rows[] = {
        {"resmon.version", "run", "library"},
        {"resmon.interval_ms", "settings", "interval_ms"},
        {"resmon.scopes", "settings", "scopes"},
        {"resmon.job.system", "job", "system"},
        {"resmon.job.id", "job", "id"},
        {"resmon.job.nodes", "job", "node_count"},
        {"resmon.job.ranks", "job", "rank_count"},
        {"resmon.g_per_kwh", "energy", "g_per_kwh"},
        {"resmon.pue", "energy", "pue"},
        {"resmon.place", "energy", "place"},
    };
    rm_buffer_puts(body, "\"params\":[");
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "%s%s", plan->config->monitor, rows[i].key);
        put_pair(body, key, rm_run_fact_text(plan->run, rows[i].group, rows[i].fact));
    }
    rm_buffer_puts(body, "]");
}

static void put_node_tag(struct rm_buffer *body, int64_t node, const char *name, const char *value)
{
    char key[64];
    (void)snprintf(key, sizeof key, "resmon.node.%" PRId64 "%s%s", node, name[0] != '\0' ? "." : "",
                   name);
    put_pair(body, key, value);
}

/* Facts of the node of this process. */
static void put_own_tags(struct rm_buffer *body, const struct rm_mlflow_plan *plan)
{
    static const char *const facts[] = {"cpu_model", "cpus", "memory_bytes", "kernel", "os"};
    int64_t node = plan->place.node_index;
    put_node_tag(body, node, "", plan->place.node_name);
    for (size_t i = 0; i < RM_ARRAY_LEN(facts); i++) {
        put_node_tag(body, node, facts[i], rm_run_fact_text(plan->run, "machine", facts[i]));
    }
}

static void put_tags(struct rm_buffer *body, const struct rm_mlflow_plan *plan)
{
    const struct resmon_run *run = plan->run;
    rm_buffer_puts(body, "\"tags\":[");
    if (run->node_count == 0) {
        put_own_tags(body, plan);
    }
    for (size_t i = 0; i < run->node_count && i < MOST_NODE_TAGS; i++) {
        put_node_tag(body, (int64_t)i, "", run->nodes[i].name);
    }
    size_t labels = 0; /* that users gave the run */
    for (size_t i = 0; i < run->fact_count && labels < RM_OPTION_LABELS_MOST; i++) {
        if (strcmp(run->facts[i].group, RM_FACT_LABELS) == 0) {
            put_pair(body, run->facts[i].key, run->facts[i].value);
            labels++;
        }
    }
    if (plan->scopes_left_out > 0) {
        char count[32];
        (void)snprintf(count, sizeof count, "%zu", plan->scopes_left_out);
        put_node_tag(body, plan->place.node_index, "scopes_left_out", count);
    }
    rm_buffer_puts(body, "]");
}

/* Keys are clean, so no escapes are needed. */
static void put_summary_point(struct rm_buffer *body, const struct rm_mlflow_plan *plan,
                              const struct rm_mlflow_point *point)
{
    char key[RM_MLFLOW_LONGEST_KEY + 1], head[RM_MLFLOW_LONGEST_KEY + 32];
    struct point_tail tail;
    rm_mlflow_point_key(plan, point, key);
    int length = snprintf(head, sizeof head, RM_MLFLOW_POINT_HEAD "%s" RM_MLFLOW_POINT_VALUE, key);
    make_tail(&tail, rm_mlflow_end_ms(plan->run), point->step);
    put_point(body, head, (size_t)length, point->value, &tail);
}

#define MOST_PAIRS         \
    (20 + MOST_NODE_TAGS + \
     RM_OPTION_LABELS_MOST) /* parameters and tags of this library in one request */
#define LEAST_LIMIT 200     /* values in a request that all known servers accept */

static void make_summary(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                         size_t most, struct rm_buffer *body)
{
    size_t room = most <= LEAST_LIMIT - MOST_PAIRS
                      ? most
                      : (most > LEAST_LIMIT ? most : LEAST_LIMIT) - MOST_PAIRS;
    size_t left = plan->point_count - cursor->index;
    size_t end = left > room ? cursor->index + room : plan->point_count;
    rm_buffer_puts(body, "\"metrics\":[");
    for (; cursor->index < end; cursor->index++) {
        if (!plan->points[cursor->index].is_known) {
            put_summary_point(body, plan, &plan->points[cursor->index]);
        }
    }
    rm_buffer_puts(body, "]");
    if (end == plan->point_count) {
        if (plan->is_made && plan->place.is_first) {
            rm_buffer_puts(body, ",");
            put_params(body, plan);
        }
        rm_buffer_puts(body, ",");
        put_tags(body, plan);
    }
    rm_buffer_puts(body, "}");
}

/* ---- series in requests ------------------------------------------------------------------------
 */

/* A point's step is the index of the row's last sample.  It rises even if rows are merged
 * between two requests. */
static void count_steps(const struct resmon_run *run, size_t row, struct rm_mlflow_cursor *cursor)
{
    for (; cursor->step_row <= row; cursor->step_row++) {
        uint64_t room = (uint64_t)(INT64_MAX - cursor->step);
        uint64_t samples = run->row_samples[cursor->step_row];
        cursor->step += (int64_t)(samples < room ? samples : room);
    }
}

static size_t series_points(const struct rm_mlflow_plan *plan)
{
    return (plan->row_end - plan->first_row) * plan->series_count;
}

/* Row by row, so that a request covers an interval of time.  False: no more points. */
static bool make_series(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                        size_t most, struct rm_buffer *body)
{
    size_t end = series_points(plan);
    size_t count = 0;
    rm_buffer_puts(body, "\"metrics\":[");
    while (cursor->index < end && count < most) {
        struct point_tail tail;
        size_t row = plan->first_row + cursor->index / plan->series_count;
        count_steps(plan->run, row, cursor);
        make_tail(&tail, rm_run_realtime_ns(plan->run, plan->run->t_last[row]) / RM_NS_PER_MS,
                  cursor->step - 1);
        for (size_t key = cursor->index % plan->series_count;
             key < plan->series_count && count < most; key++, cursor->index++) {
            const struct rm_mlflow_series *series = &plan->series[key];
            double value = series->values[row] / series->divisor;
            bool is_known = tail.step <= series->known_step && tail.ms <= series->known_ms;
            if (isfinite(value) && !is_known) {
                put_point(body, series->head, series->head_length, value, &tail);
                count++;
            }
        }
    }
    rm_buffer_puts(body, "]}");
    return count > 0;
}

/* ---- the description of a run at MLflow ---------------------------------------------------------
 */

#define LONGEST_NOTE 4900 /* bytes: MLflow 2 accepts 5000 in a tag */
#define LARGEST_PAGE ((size_t)64 << 20)
#define COLUMNS      90     /* width of the page without a scroll bar */
#define AS_IS        "    " /* Markdown keeps all spaces of a line with this prefix */
#define LAST         AS_IS "..\n"

/* Adds whole lines up to the bound. */
static void put_lines(struct rm_buffer *note, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (note->length + strlen(AS_IS) + length + strlen("\n" LAST) > LONGEST_NOTE) {
            rm_buffer_puts(note, LAST);
            return;
        }
        rm_buffer_puts(note, AS_IS);
        rm_buffer_add(note, text, length);
        rm_buffer_puts(note, "\n");
        text += length + (text[length] == '\n');
    }
}

/* The brief report, as on a terminal; false: this build has no reports, or out of memory. */
static bool make_note(const struct resmon_run *run, struct rm_buffer *body)
{
    const struct rm_reader *reader = rm_reader();
    struct rm_buffer report, note;
    rm_buffer_init(&report, (size_t)1 << 20);
    rm_buffer_init(&note, LONGEST_NOTE + 1);
    if (reader != NULL && reader->write(&report, run, RM_READER_BRIEF, COLUMNS) == RESMON_OK &&
        report.text != NULL) {
        put_lines(&note, report.text);
    }
    bool has_note = note.status == RESMON_OK && note.length > 0;
    if (has_note) {
        rm_buffer_puts(body, "\"key\":\"" RM_MLFLOW_NOTE_TAG "\",\"value\":");
        rm_buffer_json(body, note.text);
        rm_buffer_puts(body, "}");
    }
    rm_buffer_free(&report);
    rm_buffer_free(&note);
    return has_note;
}

/* The full report of a merged run, which does not fit into a tag; false: as in make_note(). */
static bool make_page(const struct resmon_run *run, struct rm_buffer *body)
{
    const struct rm_reader *reader = rm_reader();
    bool has_page = reader != NULL && reader->write(body, run, RM_READER_HTML, 0) == RESMON_OK &&
                    body->length <= LARGEST_PAGE;
    if (!has_page) {
        rm_buffer_clear(body);
    }
    return has_page;
}

/* ---- items ------------------------------------------------------------------------------------
 */

/* MLflow's "killed by user" is used for an interrupt, and for a program that has disappeared. */
static const char *status_of(const struct resmon_run *run)
{
    const resmon_run_end end = rm_run_end(run);
    switch (end.reason) {
    case RESMON_END_FAILED:
        return "FAILED";
    case RESMON_END_UNKNOWN: /* a stopped monitor of another process is the regular end of this
                                run */
        return strcmp(run->info.state, "stopped") == 0 ? "FINISHED" : "KILLED";
    case RESMON_END_INTERRUPTED:
    case RESMON_END_KILLED:
        return "KILLED";
    default:
        return "FINISHED";
    }
}

static void put_document(struct rm_buffer *body, const struct resmon_run *run)
{
    resmon_status status = rm_document_print(run, body);
    body->status = body->status == RESMON_OK ? status : body->status;
}

/* False: the stage has nothing (more) to send. */
static bool make_item(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                      size_t most, struct rm_buffer *body)
{
    const uint64_t flags = plan->config->flags;
    bool is_first = plan->place.is_first;
    bool has_artifacts = (flags & RESMON_MLFLOW_NO_ARTIFACT) == 0;
    switch (cursor->stage) {
    case RM_MLFLOW_STAGE_SUMMARY:
        make_summary(plan, cursor, most, body);
        return true;
    case RM_MLFLOW_STAGE_PARAMS:
        if (plan->is_made || !is_first) {
            return false;
        }
        put_params(body, plan);
        rm_buffer_puts(body, "}");
        return true;
    case RM_MLFLOW_STAGE_SERIES:
        return make_series(plan, cursor, most, body);
    case RM_MLFLOW_STAGE_ARTIFACT:
        if (has_artifacts) {
            put_document(body, plan->run);
        }
        return has_artifacts;
    case RM_MLFLOW_STAGE_PAGE:
        return has_artifacts && plan->is_described && plan->run->node_count > 0 &&
               make_page(plan->run, body);
    case RM_MLFLOW_STAGE_NOTE:
        return is_first && plan->is_described && make_note(plan->run, body);
    default:
        if (!is_first || !(plan->is_made || (flags & RESMON_MLFLOW_FINISH) != 0)) {
            return false;
        }
        rm_buffer_printf(body, "\"status\":\"%s\",\"end_time\":%" PRId64 "}", status_of(plan->run),
                         rm_mlflow_end_ms(plan->run));
        return true;
    }
}

resmon_status rm_mlflow_items_next(const struct rm_mlflow_plan *plan,
                                   struct rm_mlflow_cursor *cursor, size_t most,
                                   struct rm_buffer *body, struct rm_mlflow_item *ret_item,
                                   bool *ret_has_item)
{
    static const enum rm_mlflow_call calls[RM_MLFLOW_STAGE_END] = {
        [RM_MLFLOW_STAGE_SUMMARY] = RM_MLFLOW_LOG_BATCH,
        [RM_MLFLOW_STAGE_PARAMS] = RM_MLFLOW_PARAMS,
        [RM_MLFLOW_STAGE_SERIES] = RM_MLFLOW_LOG_BATCH,
        [RM_MLFLOW_STAGE_ARTIFACT] = RM_MLFLOW_ARTIFACT,
        [RM_MLFLOW_STAGE_PAGE] = RM_MLFLOW_ARTIFACT,
        [RM_MLFLOW_STAGE_NOTE] = RM_MLFLOW_NOTE,
        [RM_MLFLOW_STAGE_UPDATE] = RM_MLFLOW_UPDATE,
    };
    /* Number of points, for stages that may take several requests. */
    const size_t points[RM_MLFLOW_STAGE_END] = {
        [RM_MLFLOW_STAGE_SUMMARY] = plan->point_count,
        [RM_MLFLOW_STAGE_SERIES] = series_points(plan),
    };
    *ret_has_item = false;
    while (cursor->stage <= plan->last_stage && !*ret_has_item) {
        enum rm_mlflow_stage stage = cursor->stage;
        rm_buffer_clear(body);
        *ret_has_item = make_item(plan, cursor, most, body);
        if (cursor->index >= points[stage]) {
            *cursor = (struct rm_mlflow_cursor){.stage = stage + 1};
        }
        *ret_item = (struct rm_mlflow_item){.call = calls[stage],
                                            .path = stage == RM_MLFLOW_STAGE_PAGE ? plan->page_path
                                                                                  : plan->artifact,
                                            .body = body->text,
                                            .length = body->length};
        if (body->status != RESMON_OK) {
            return body->status;
        }
    }
    return RESMON_OK;
}

/* ---- making a run ----------------------------------------------------------------------- */

/* MLFLOW_RUN_CONTEXT: a JSON object whose values are texts. */
static void put_context(struct rm_buffer *body, const struct rm_mlflow_config *config)
{
    struct rm_json *json = NULL;
    if (config->context[0] == '\0' ||
        rm_json_parse(config->context, strlen(config->context), &json) != RESMON_OK) {
        return;
    }
    size_t count = 0;
    for (const struct rm_json *member = rm_json_first_member(json); member != NULL && count < 50;
         member = rm_json_next(member), count++) {
        put_pair(body, rm_json_key(member), rm_json_text(member));
    }
    rm_json_free(json);
}

resmon_status rm_mlflow_items_create(const struct rm_mlflow_config *config,
                                     const struct resmon_run *run,
                                     const struct rm_mlflow_place *place, const char *uuid,
                                     struct rm_buffer *body)
{
    const char *program = rm_run_fact_text(run, "run", "program");
    const char *executable = rm_run_fact_text(run, "run", "executable");
    bool is_script = program[0] != '\0' && strcmp(program, rm_text_base_name(executable)) != 0;
    const char *name = config->run_name[0] != '\0' ? config->run_name : rm_run_title(run);
    char clean[VALUE_BYTES];
    (void)rm_text_set(clean, sizeof clean, name);
    rm_buffer_puts(body, "\"run_name\":");
    rm_buffer_json(body, clean);
    rm_buffer_printf(body, ",\"start_time\":%" PRId64 ",\"tags\":[",
                     run->info.start_realtime_ns / RM_NS_PER_MS);
    put_pair(body, "mlflow.runName", clean);
    put_pair(body, "resmon.uuid", uuid);
    put_pair(body, "resmon.job", place->job);
    put_context(body, config); /* takes precedence over the tags below, as the first of two equal
                                  keys is used */
    put_pair(body, "mlflow.user", config->user);
    put_pair(body, "mlflow.source.name", is_script ? program : executable);
    put_pair(body, "mlflow.source.type", place->job[0] != '\0' ? "JOB" : "LOCAL");
    rm_buffer_puts(body, "]}");
    return body->status;
}

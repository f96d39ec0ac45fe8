/* SPDX-License-Identifier: MIT */
#include "net/mlflow_items.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/number.h"
#include "base/text.h"
#include "format/document.h"
#include "format/json.h"
#include "net/mlflow_plan.h"

#define MOST_NODE_TAGS 64  /* a server takes 100 tags in a request */
#define VALUE_BYTES    512 /* of a parameter or tag of ours */

static void put_number(struct rm_buffer *body, int64_t number)
{
    char text[RM_NUMBER_BYTES];
    rm_buffer_add(body, text, rm_number_i64(text, number));
}

static const char *comma(const struct rm_buffer *body)
{
    return body->length > 0 && body->text[body->length - 1] == '[' ? "" : ",";
}

/* Keys are clean: nothing in them is to be escaped. */
static void put_point_of(struct rm_buffer *body, const struct rm_mlflow_plan *plan,
                         const struct rm_mlflow_point *point)
{
    char text[RM_NUMBER_BYTES], key[RM_MLFLOW_LONGEST_KEY + 1];
    if (point->is_known) {
        return;
    }
    rm_mlflow_point_key(plan, point, key);
    rm_buffer_puts(body, comma(body));
    rm_buffer_puts(body, RM_MLFLOW_POINT_HEAD);
    rm_buffer_puts(body, key);
    rm_buffer_puts(body, "\",\"value\":");
    rm_buffer_add(body, text, rm_number_double(text, point->value));
    rm_buffer_puts(body, ",\"timestamp\":");
    put_number(body, rm_mlflow_end_ms(plan->run));
    rm_buffer_puts(body, ",\"step\":");
    put_number(body, point->step);
    rm_buffer_add(body, "}", 1);
}

/* A server refuses keys that come twice. */
static bool has_key(const struct rm_buffer *body, const char *clean_key)
{
    char start[RM_MLFLOW_LONGEST_KEY + 16];
    (void)snprintf(start, sizeof start, "{\"key\":\"%s\"", clean_key);
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
    rm_buffer_puts(body, comma(body));
    rm_buffer_puts(body, "{\"key\":");
    rm_buffer_json(body, clean_key);
    rm_buffer_puts(body, ",\"value\":");
    rm_buffer_json(body, clean_value);
    rm_buffer_puts(body, "}");
}

/* What is the same for all nodes. */
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

/* What each node says of itself. */
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
    if (plan->scopes_left_out > 0) {
        char count[32];
        (void)snprintf(count, sizeof count, "%zu", plan->scopes_left_out);
        put_node_tag(body, plan->place.node_index, "scopes_left_out", count);
    }
    rm_buffer_puts(body, "]");
}

#define MOST_PAIRS  (20 + MOST_NODE_TAGS) /* parameters and tags of ours in one request */
#define LEAST_LIMIT 200                   /* of all in one request, of the servers that we know */

static bool make_summary(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                         size_t most, struct rm_buffer *body)
{
    size_t room = most <= LEAST_LIMIT - MOST_PAIRS
                      ? most
                      : (most > LEAST_LIMIT ? most : LEAST_LIMIT) - MOST_PAIRS;
    size_t end =
        plan->point_count - cursor->index > room ? cursor->index + room : plan->point_count;
    bool is_last = end == plan->point_count;
    rm_buffer_puts(body, "\"metrics\":[");
    for (; cursor->index < end; cursor->index++) {
        put_point_of(body, plan, &plan->points[cursor->index]);
    }
    rm_buffer_puts(body, "]");
    if (is_last) {
        if (plan->is_made && plan->place.is_first) {
            rm_buffer_puts(body, ",");
            put_params(body, plan);
        }
        rm_buffer_puts(body, ",");
        put_tags(body, plan);
        *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_PARAMS};
    }
    rm_buffer_puts(body, "}");
    return true;
}

static bool make_params(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                        size_t most, struct rm_buffer *body)
{
    (void)most;
    *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_SERIES};
    if (plan->is_made || !plan->place.is_first) {
        return false;
    }
    put_params(body, plan);
    rm_buffer_puts(body, "}");
    return true;
}

/* What all points of a row end with. */
struct point_tail {
    char text[2 * RM_NUMBER_BYTES + 32];
    size_t length;
    double step, ms;
};

/* The step is the number of the row's last sample: it rises, also when rows merge between two
 * portions. */
static void make_tail(const struct resmon_run *run, size_t row, struct rm_mlflow_cursor *cursor,
                      struct point_tail *tail)
{
    for (; cursor->step_row <= row; cursor->step_row++) {
        uint64_t room = (uint64_t)(INT64_MAX - cursor->step);
        uint64_t samples = run->row_samples[cursor->step_row];
        cursor->step += (int64_t)(samples < room ? samples : room);
    }
    static const char before[] = ",\"timestamp\":";
    static const char between[] = ",\"step\":";
    int64_t t_ms = rm_run_realtime_ns(run, run->t_last[row]) / RM_NS_PER_MS;
    tail->step = (double)(cursor->step - 1);
    tail->ms = (double)t_ms;
    char *at = tail->text;
    memcpy(at, before, sizeof before - 1);
    at += sizeof before - 1;
    at += rm_number_i64(at, t_ms);
    memcpy(at, between, sizeof between - 1);
    at += sizeof between - 1;
    at += rm_number_i64(at, cursor->step - 1);
    *at++ = '}';
    tail->length = (size_t)(at - tail->text);
}

static void put_point(struct rm_buffer *body, const struct rm_mlflow_series *series, double value,
                      const struct point_tail *tail, bool is_first)
{
    char *begin = rm_buffer_room(body, 1 + series->head_length + RM_NUMBER_BYTES + tail->length);
    if (begin == NULL) {
        return;
    }
    char *at = begin;
    *at = ',';
    at += is_first ? 0 : 1;
    memcpy(at, series->head, series->head_length);
    at += series->head_length;
    at += rm_number_double(at, value);
    memcpy(at, tail->text, tail->length);
    at += tail->length;
    rm_buffer_advance(body, (size_t)(at - begin));
}

/* Row by row, so that a batch is a stretch of time. */
static bool make_series(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                        size_t most, struct rm_buffer *body)
{
    size_t rows = plan->row_end - plan->first_row;
    size_t end = rows * plan->series_count;
    size_t count = 0;
    rm_buffer_puts(body, "\"metrics\":[");
    while (cursor->index < end && count < most) {
        struct point_tail tail;
        size_t row = plan->first_row + cursor->index / plan->series_count;
        make_tail(plan->run, row, cursor, &tail);
        for (size_t key = cursor->index % plan->series_count;
             key < plan->series_count && count < most; key++, cursor->index++) {
            const struct rm_mlflow_series *series = &plan->series[key];
            double value = series->values[row] / series->divisor;
            bool is_known = tail.step <= series->known_step && tail.ms <= series->known_ms;
            if (isfinite(value) && !is_known) {
                put_point(body, series, value, &tail, count == 0);
                count++;
            }
        }
    }
    rm_buffer_puts(body, "]}");
    if (cursor->index >= end) {
        *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_ARTIFACT};
    }
    return count > 0;
}

static bool make_artifact(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                          size_t most, struct rm_buffer *body)
{
    (void)most;
    *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_PAGE};
    if ((plan->config->flags & RESMON_MLFLOW_NO_ARTIFACT) != 0) {
        return false;
    }
    resmon_status status = rm_document_print(plan->run, body);
    body->status = body->status == RESMON_OK ? status : body->status;
    return true;
}

static bool make_page(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                      size_t most, struct rm_buffer *body)
{
    (void)most;
    *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_NOTE};
    if (plan->page == NULL || (plan->config->flags & RESMON_MLFLOW_NO_ARTIFACT) != 0) {
        return false;
    }
    rm_buffer_add(body, plan->page->text, plan->page->length);
    return true;
}

static bool make_note(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                      size_t most, struct rm_buffer *body)
{
    (void)most;
    *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_UPDATE};
    if (plan->note == NULL || !plan->place.is_first) {
        return false;
    }
    rm_buffer_puts(body, "\"key\":\"" RM_MLFLOW_NOTE_TAG "\",\"value\":");
    rm_buffer_json(body, plan->note);
    rm_buffer_puts(body, "}");
    return true;
}

/* MLflow's "killed by user" is what an interrupt is, and what a program is that is gone. */
static const char *status_of(const struct resmon_run *run)
{
    const resmon_run_end end = rm_run_end(run);
    switch (end.reason) {
    case RESMON_END_FAILED:
        return "FAILED";
    case RESMON_END_UNKNOWN: /* that others are observed no longer is the end of this run */
        return strcmp(run->info.state, "stopped") == 0 ? "FINISHED" : "KILLED";
    case RESMON_END_INTERRUPTED:
    case RESMON_END_KILLED:
        return "KILLED";
    default:
        return "FINISHED";
    }
}

static bool make_update(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor,
                        size_t most, struct rm_buffer *body)
{
    (void)most;
    *cursor = (struct rm_mlflow_cursor){.stage = RM_MLFLOW_STAGE_END};
    bool finishes = plan->is_made || (plan->config->flags & RESMON_MLFLOW_FINISH) != 0;
    if (!finishes || !plan->place.is_first) {
        return false;
    }
    rm_buffer_printf(body, "\"status\":\"%s\",\"end_time\":%" PRId64 "}", status_of(plan->run),
                     rm_mlflow_end_ms(plan->run));
    return true;
}

static const struct {
    enum rm_mlflow_call call;
    bool (*make)(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor, size_t most,
                 struct rm_buffer *body);
} stages[RM_MLFLOW_STAGE_END] = {
    [RM_MLFLOW_STAGE_SUMMARY] = {RM_MLFLOW_LOG_BATCH, make_summary},
    [RM_MLFLOW_STAGE_PARAMS] = {RM_MLFLOW_PARAMS, make_params},
    [RM_MLFLOW_STAGE_SERIES] = {RM_MLFLOW_LOG_BATCH, make_series},
    [RM_MLFLOW_STAGE_ARTIFACT] = {RM_MLFLOW_ARTIFACT, make_artifact},
    [RM_MLFLOW_STAGE_PAGE] = {RM_MLFLOW_ARTIFACT, make_page},
    [RM_MLFLOW_STAGE_NOTE] = {RM_MLFLOW_NOTE, make_note},
    [RM_MLFLOW_STAGE_UPDATE] = {RM_MLFLOW_UPDATE, make_update},
};

resmon_status rm_mlflow_items_next(const struct rm_mlflow_plan *plan,
                                   struct rm_mlflow_cursor *cursor, size_t most,
                                   struct rm_buffer *body, struct rm_mlflow_item *ret_item,
                                   bool *ret_has_item)
{
    *ret_has_item = false;
    while (cursor->stage <= plan->last_stage && !*ret_has_item) {
        enum rm_mlflow_stage stage = cursor->stage;
        rm_buffer_clear(body);
        *ret_has_item = stages[stage].make(plan, cursor, most, body);
        *ret_item = (struct rm_mlflow_item){.call = stages[stage].call,
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

/* MLFLOW_RUN_CONTEXT: an object of texts. */
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
    const struct {
        const char *key, *value;
    } tags[] = {
        {"mlflow.runName", clean},
        {"resmon.uuid", uuid},
        {"resmon.job", place->job},
        {NULL, NULL}, /* what is in MLFLOW_RUN_CONTEXT goes before the rest */
        {"mlflow.user", config->user},
        {"mlflow.source.name", is_script ? program : executable},
        {"mlflow.source.type", place->job[0] != '\0' ? "JOB" : "LOCAL"},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(tags); i++) {
        if (tags[i].key == NULL) {
            put_context(body, config);
        } else {
            put_pair(body, tags[i].key, tags[i].value);
        }
    }
    rm_buffer_puts(body, "]}");
    return body->status;
}

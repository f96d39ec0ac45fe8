/* SPDX-License-Identifier: MIT */
/*
 * net/mlflow_body: which points of a run go to MLflow, under which names
 * and in which portions: each exactly once, whatever the size of a portion and wherever one begins.
 */
#include "faults.h"
#include "test.h"

#ifndef RM_HAVE_CJSON

TEST_FILE(.skipped = "this build has no JSON (cJSON), and so nothing for MLflow");

#else

#include <inttypes.h>
#include <stdbool.h>

#include "format/json.h"
#include "made_run.h"
#include "metric/metric.h"
#include "net/mlflow_body.h"
#include "random.h"
#include "run/record.h"
#include "strict_json.h"

#define MOST_POINTS 200000
#define NOW_NS      INT64_C(1763670000123456789)

/* ---- runs ----------------------------------------------------------------------------------- */

static const char *const metrics[] = {"node.cpu.percent", "node.mem.used", "node.net.all.recv",
                                      "tree.mem.rss",     "tree.cpu.time", "proc.threads"};
#define COLUMNS     (sizeof metrics / sizeof *metrics)
#define KEYS        5 /* of series: tree.mem.rss has two, the last two metrics none */

static void put_fact(struct resmon_run *run, const char *group, const char *key, const char *value,
                     char kind)
{
    struct rm_fact *facts = rm_arena_alloc(&run->strings, run->fact_count + 1, sizeof *facts);
    assert_non_null(facts);
    if (run->fact_count > 0) {
        memcpy(facts, run->facts, run->fact_count * sizeof *facts);
    }
    facts[run->fact_count++] =
        (struct rm_fact){group, key, rm_arena_text(&run->strings, value, SIZE_MAX), kind};
    run->facts = facts;
}

/* As they come from a decoder: valid UTF-8. */
static void clean_names(struct resmon_run *run)
{
    for (size_t i = 0; i < run->scope_count; i++) {
        run->scopes[i].name = rm_arena_text(&run->strings, run->scopes[i].name, SIZE_MAX);
    }
    for (size_t i = 0; i < run->source_count; i++) {
        run->sources[i].name = rm_arena_text(&run->strings, run->sources[i].name, SIZE_MAX);
    }
    for (size_t i = 0; i < run->column_count; i++) {
        run->columns[i].instance = rm_arena_text(&run->strings, run->columns[i].instance, SIZE_MAX);
    }
}

static struct resmon_run *new_run(size_t rows, size_t scopes)
{
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    run->info.state = "stopped";
    run->info.label = "";
    run->info.start_realtime_ns = NOW_NS;
    run->info.duration_ns = INT64_C(1500000000);
    made_table(run, COLUMNS, rows);
    for (size_t c = 0; c < COLUMNS; c++) {
        run->columns[c] = (resmon_column){
            .metric = rm_metric_own_text(metrics[c]), .unit = "", .instance = "", .source = ""};
        rm_record_clear(RM_RECORD_statistics, &run->columns[c]);
    }
    put_fact(run, "machine", "memory_bytes", "8000000000", RM_FACT_NUMBER);
    put_fact(run, "run", "library", "0.1", RM_FACT_TEXT);
    if (scopes > 0) {
        made_scopes(run, scopes);
    }
    clean_names(run);
    return run;
}

/* Any finite value, and now and then one that is not to be sent. */
static double some_value(struct random *random)
{
    uint64_t bits = random_u64(random);
    double value;
    memcpy(&value, &bits, sizeof value);
    uint64_t what = random_below(random, 8);
    return what == 0 ? (double)NAN : what == 1 ? (double)INFINITY : what < 4 ? value : (double)bits;
}

static struct resmon_run *random_run(size_t rows, size_t scopes, uint64_t seed)
{
    struct random random = {seed};
    struct resmon_run *run = new_run(rows, scopes);
    int64_t t_ns = 0;
    for (size_t r = 0; r < rows; r++) {
        run->t_first[r] = t_ns;
        run->row_samples[r] = 1 + random_below(&random, 3);
        t_ns += 1000000 * (int64_t)run->row_samples[r];
        run->t_last[r] = t_ns - 1000000;
        for (size_t c = 0; c < COLUMNS; c++) {
            for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
                rm_run_series(run, c, kind)[r] = some_value(&random);
            }
        }
    }
    return run;
}

static struct rm_mlflow_config config;

static void init_config(uint64_t flags)
{
    config = (struct rm_mlflow_config){.flags = flags, .node_index = -1, .batch_metrics = 1000};
}

/* ---- what goes out -------------------------------------------------------------------------- */

struct point {
    char key[256];
    double value;
    int64_t t_ms, step;
};

struct sent {
    struct point *points;
    size_t count, items, artifacts, updates;
    size_t most_metrics, most_pairs, most_all;
    size_t largest_body;
};

static size_t count_members(const struct rm_json *json, const char *key)
{
    size_t count = rm_json_count(rm_json_get(json, key));
    const struct rm_json *at = rm_json_first(rm_json_get(json, key));
    for (; at != NULL; at = rm_json_next(at)) {
        const char *name = rm_json_text(rm_json_get(at, "key"));
        assert_non_null(name);
        assert_true(name[0] != '\0' && strlen(name) <= 250);
        if (strcmp(key, "metrics") != 0) {
            assert_true(rm_json_text(rm_json_get(at, "value"))[0] != '\0');
        }
    }
    return count;
}

static void take_points(struct sent *sent, const struct rm_json *json)
{
    const struct rm_json *at = rm_json_first(rm_json_get(json, "metrics"));
    for (; at != NULL; at = rm_json_next(at)) {
        struct point *point = &sent->points[sent->count++];
        assert_true(sent->count < MOST_POINTS);
        (void)snprintf(point->key, sizeof point->key, "%s", rm_json_text(rm_json_get(at, "key")));
        point->value = rm_json_number(rm_json_get(at, "value"));
        assert_true(isfinite(point->value));
        point->t_ms = (int64_t)rm_json_number(rm_json_get(at, "timestamp"));
        point->step = (int64_t)rm_json_number(rm_json_get(at, "step"));
    }
}

static void greater(size_t *most, size_t value)
{
    *most = value > *most ? value : *most;
}

static void take_item(struct sent *sent, const struct rm_mlflow_item *item)
{
    struct rm_buffer body;
    struct rm_json *json = NULL;
    rm_buffer_init(&body, (size_t)1 << 30);
    rm_buffer_puts(&body, item->call == RM_MLFLOW_ARTIFACT ? "" : "{\"run_id\":\"x\",");
    rm_buffer_add(&body, item->body, item->length);
    assert_int_equal(strlen(item->body), item->length);
    if (!is_strict_json(body.text, body.length)) {
        fail_msg("no JSON: %.2000s", body.text);
    }
    assert_ok(rm_json_parse(body.text, body.length, &json));
    sent->items++;
    sent->artifacts += item->call == RM_MLFLOW_ARTIFACT ? 1 : 0;
    sent->updates += item->call == RM_MLFLOW_UPDATE ? 1 : 0;
    if (item->call == RM_MLFLOW_LOG_BATCH) {
        size_t found = count_members(json, "metrics");
        size_t pairs = count_members(json, "params") + count_members(json, "tags");
        assert_true(found + pairs > 0);
        greater(&sent->most_metrics, found);
        greater(&sent->most_pairs, pairs);
        greater(&sent->most_all, found + pairs);
        greater(&sent->largest_body, body.length);
        take_points(sent, json);
    }
    rm_json_free(json);
    rm_buffer_free(&body);
}

/* From the cursor to the end; at most `items` of them. */
static void send(const struct rm_mlflow_plan *plan, struct rm_mlflow_cursor *cursor, size_t most,
                 size_t items, struct sent *sent)
{
    struct rm_buffer body;
    struct rm_mlflow_item item;
    bool has_item = true;
    rm_buffer_init(&body, (size_t)1 << 30);
    while (items-- > 0 && has_item) {
        assert_ok(rm_mlflow_items_next(plan, cursor, most, &body, &item, &has_item));
        if (has_item) {
            take_item(sent, &item);
        }
    }
    rm_buffer_free(&body);
}

static struct sent new_sent(void)
{
    struct sent sent = {.points = malloc(MOST_POINTS * sizeof *sent.points)};
    assert_non_null(sent.points);
    return sent;
}

static int compare_points(const void *a, const void *b)
{
    const struct point *first = a;
    const struct point *second = b;
    int order = strcmp(first->key, second->key);
    return order != 0                      ? order
           : first->step != second->step   ? (first->step < second->step ? -1 : 1)
           : first->t_ms != second->t_ms   ? (first->t_ms < second->t_ms ? -1 : 1)
           : first->value != second->value ? (first->value < second->value ? -1 : 1)
                                           : 0;
}

static void sort(struct sent *sent)
{
    qsort(sent->points, sent->count, sizeof *sent->points, compare_points);
}

static void assert_same(struct sent *a, struct sent *b)
{
    assert_int_equal(a->count, b->count);
    sort(a);
    sort(b);
    for (size_t i = 0; i < a->count; i++) {
        if (compare_points(&a->points[i], &b->points[i]) != 0) {
            fail_msg("%s at step %" PRId64 " and %s at step %" PRId64, a->points[i].key,
                     a->points[i].step, b->points[i].key, b->points[i].step);
        }
    }
}

/* ---- the series, by another way ------------------------------------------------------------- */

static void expect_series(struct sent *expected, const struct resmon_run *run)
{
    static const struct {
        const char *key;
        size_t column;
        int kind;
        double divisor;
    } rows[KEYS] = {
        {"cpu_utilization_percentage", 0, RESMON_SERIES_MEAN, 1.0},
        {"system_memory_usage_megabytes", 1, RESMON_SERIES_MEAN, 1e6},
        {"network_receive_megabytes", 2, RESMON_SERIES_LAST, 1e6},
        {"process_memory_rss_megabytes", 3, RESMON_SERIES_MEAN, 1e6},
        {"process_memory_percentage", 3, RESMON_SERIES_MEAN, 8e9 / 100.0},
    };
    int64_t samples = 0;
    for (size_t r = 0; r < run->row_count; r++) {
        samples += (int64_t)run->row_samples[r];
        for (size_t k = 0; k < KEYS; k++) {
            double value = rm_run_series(run, rows[k].column, rows[k].kind)[r] / rows[k].divisor;
            if (isfinite(value)) {
                struct point *point = &expected->points[expected->count++];
                (void)snprintf(point->key, sizeof point->key, "system/node_0/%s", rows[k].key);
                point->value = value;
                point->t_ms = (run->info.start_realtime_ns + run->t_last[r]) / 1000000;
                point->step = samples - 1;
            }
        }
    }
}

static void check_portions(size_t rows, size_t scopes, size_t most)
{
    struct resmon_run *run = random_run(rows, scopes, 31 + rows);
    struct sent sent = new_sent();
    struct sent expected = new_sent();
    struct rm_mlflow_plan plan;
    struct rm_mlflow_cursor cursor = {0};
    const bool is_of_model = rows % 2 == 1;
    const char *group = is_of_model ? "" : "system/";
    init_config(RESMON_MLFLOW_SERIES | RESMON_MLFLOW_NO_ARTIFACT |
                (is_of_model ? RESMON_MLFLOW_MODEL_METRICS : 0));
    assert_ok(rm_mlflow_plan_init(&plan, &config, run, -1));
    send(&plan, &cursor, most, SIZE_MAX, &sent);
    assert_int_equal(cursor.stage, RM_MLFLOW_STAGE_END);
    assert_true(sent.most_metrics <= most);
    assert_true(sent.most_pairs <= 100 && sent.most_all <= 1000);
    assert_true(sent.most_all <= (most > 200 ? most : 200)); /* the least limit of a server */
    if (rows == 0 && most <= 100) { /* without series: full requests, with pairs or without */
        assert_int_equal(sent.most_metrics, plan.point_count < most ? plan.point_count : most);
    }
    assert_int_equal(sent.updates, 0); /* the run is not ours */
    expect_series(&expected, run);
    for (size_t i = 0; i < plan.point_count; i++) {
        struct point *point = &expected.points[expected.count++];
        (void)snprintf(point->key, sizeof point->key, "%s%s", group, plan.points[i].key);
        point->value = plan.points[i].value;
        point->t_ms = (NOW_NS + INT64_C(1500000000)) / 1000000;
        point->step = 0;
    }
    assert_same(&sent, &expected);
    rm_mlflow_plan_free(&plan);
    rm_run_free(run);
    free(sent.points);
    free(expected.points);
}

TEST(every_point_once_in_any_portions)
{
    static const size_t sizes[] = {1, 2, 3, 7, 19, 20, 21, 22, 100, 199, 999, 1000};
    static const size_t rows[] = {0, 1, 2, 3, 50, 333};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            check_portions(rows[k], rows[k] % 40, sizes[i]);
        }
    }
    check_portions(0, 30, 60);
    check_portions(5000, 5000, 1000);
}

/* As after a failure: the rest is made again from where one stands, in portions of another size. */
TEST(any_cursor_is_a_place_to_go_on_from)
{
    struct resmon_run *run = random_run(60, 30, 77);
    struct rm_mlflow_plan plan;
    struct sent whole = new_sent();
    struct rm_mlflow_cursor start = {0};
    init_config(RESMON_MLFLOW_SERIES);
    assert_ok(rm_mlflow_plan_init(&plan, &config, run, -1));
    plan.is_made = true;
    send(&plan, &start, 1000, SIZE_MAX, &whole);
    assert_int_equal(whole.artifacts, 1);
    assert_int_equal(whole.updates, 1);
    for (size_t items = 0, done = 0; done == 0; items += 3) {
        struct sent parts = new_sent();
        struct rm_mlflow_cursor cursor = {0};
        send(&plan, &cursor, 7, items, &parts);
        done = cursor.stage == RM_MLFLOW_STAGE_END ? 1 : 0;
        struct rm_mlflow_cursor again = cursor;
        struct sent unused = new_sent();
        send(&plan, &again, 5, SIZE_MAX, &unused);
        free(unused.points);
        send(&plan, &cursor, 13, SIZE_MAX, &parts);
        assert_int_equal(parts.artifacts, 1);
        assert_int_equal(parts.updates, 1);
        assert_same(&parts, &whole);
        free(parts.points);
    }
    free(whole.points);
    rm_mlflow_plan_free(&plan);
    rm_run_free(run);
}

/* ---- while it runs -------------------------------------------------------------------------- */

#define STORE_ROWS 16

/* A run as a store of few rows has it: rows that are full merge pairwise. */
struct store {
    struct {
        int64_t first, last;
        uint64_t samples;
    } rows[STORE_ROWS + 1];
    size_t count;
    uint64_t stride;
};

static void add_sample(struct store *store, int64_t t_ns)
{
    bool is_open = store->count > 0 && store->rows[store->count - 1].samples < store->stride;
    if (!is_open && store->count == STORE_ROWS) {
        for (size_t r = 0; r < STORE_ROWS / 2; r++) {
            store->rows[r].first = store->rows[2 * r].first;
            store->rows[r].last = store->rows[2 * r + 1].last;
            store->rows[r].samples = store->rows[2 * r].samples + store->rows[2 * r + 1].samples;
        }
        store->count /= 2;
        store->stride *= 2;
    }
    if (!is_open) {
        store->rows[store->count].first = t_ns;
        store->rows[store->count++].samples = 0;
    }
    store->rows[store->count - 1].last = t_ns;
    store->rows[store->count - 1].samples++;
}

static struct resmon_run *run_of_store(const struct store *store)
{
    struct resmon_run *run = new_run(store->count, 0);
    for (size_t r = 0; r < store->count; r++) {
        run->t_first[r] = store->rows[r].first;
        run->t_last[r] = store->rows[r].last;
        run->row_samples[r] = store->rows[r].samples;
        for (size_t c = 0; c < COLUMNS; c++) {
            for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
                rm_run_series(run, c, kind)[r] = (double)r;
            }
        }
    }
    return run;
}

/* As sink/mlflow.c does: whole rows that are new; at the end all of them. */
static int64_t send_snapshot(const struct store *store, int64_t after_ns, bool is_last,
                             struct sent *sent)
{
    struct resmon_run *run = run_of_store(store);
    struct rm_mlflow_plan plan;
    struct rm_mlflow_cursor cursor = {.stage = RM_MLFLOW_STAGE_SERIES};
    assert_ok(rm_mlflow_plan_init(&plan, &config, run, after_ns));
    plan.last_stage = RM_MLFLOW_STAGE_SERIES;
    plan.row_end = is_last || run->row_count == 0 ? run->row_count : run->row_count - 1;
    if (plan.first_row < plan.row_end) {
        send(&plan, &cursor, 11, SIZE_MAX, sent);
        after_ns = run->t_last[plan.row_end - 1];
    }
    rm_mlflow_plan_free(&plan);
    rm_run_free(run);
    return after_ns;
}

TEST(steps_rise_while_rows_merge)
{
    for (uint64_t seed = 1; seed < 40; seed++) {
        struct random random = {seed};
        struct store store = {.stride = 1};
        struct sent sent = new_sent();
        int64_t after_ns = -1;
        int64_t samples = 20 + (int64_t)random_below(&random, 500);
        init_config(RESMON_MLFLOW_SERIES);
        for (int64_t i = 0; i < samples; i++) {
            add_sample(&store, i * 1000000);
            if (random_below(&random, 9) == 0) {
                after_ns = send_snapshot(&store, after_ns, false, &sent);
            }
        }
        after_ns = send_snapshot(&store, after_ns, true, &sent);
        assert_int_equal(after_ns, (samples - 1) * 1000000);
        int64_t last_step = -1;
        size_t found = 0;
        for (size_t i = 0; i < sent.count; i++) { /* in the order in which they were sent */
            if (strcmp(sent.points[i].key, "system/node_0/cpu_utilization_percentage") == 0) {
                assert_true(sent.points[i].step > last_step);
                last_step = sent.points[i].step;
                assert_int_equal(sent.points[i].t_ms, (NOW_NS + last_step * 1000000) / 1000000);
                found++;
            }
        }
        assert_int_equal(last_step, samples - 1); /* up to the last sample */
        assert_true(found > 4);
        free(sent.points);
    }
}

TEST(nothing_new_is_nothing_to_send)
{
    struct store store = {.stride = 1};
    struct sent sent = new_sent();
    init_config(RESMON_MLFLOW_SERIES);
    assert_int_equal(send_snapshot(&store, -1, true, &sent), -1);
    add_sample(&store, 0);
    assert_int_equal(send_snapshot(&store, -1, false, &sent), -1);
    assert_int_equal(send_snapshot(&store, 0, true, &sent), 0);
    assert_int_equal(sent.items, 0);
    free(sent.points);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* What MLflow's validation asks. */
static bool is_allowed(const char *name)
{
    if (name[0] == '\0' || name[0] == '/' || strlen(name) > 250) {
        return false;
    }
    for (const char *at = name; *at != '\0';) {
        size_t length = strcspn(at, "/");
        if (length == 0 || (length == 1 && at[0] == '.') ||
            (length == 2 && at[0] == '.' && at[1] == '.')) {
            return false;
        }
        if (at[length] == '/' && at[length + 1] == '\0') {
            return false;
        }
        at += length + (at[length] == '/' ? 1 : 0);
    }
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.- :/") ==
           strlen(name);
}

static void check_name(const char *name, const char *expected)
{
    char clean[251];
    rm_mlflow_clean_name(clean, sizeof clean, name);
    assert_string_equal(clean, expected);
    assert_true(is_allowed(clean));
}

TEST(names)
{
    check_name("a", "a");
    check_name("gpu:0 mem/used-x_y.z", "gpu:0 mem/used-x_y.z");
    check_name("", "_");
    check_name("/", "_");
    check_name("///", "_");
    check_name(".", "_");
    check_name("..", "_");
    check_name("./../.", "_");
    check_name("...", "...");
    check_name("/a//b/./../c/", "a/b/c");
    check_name("a\"b\\c\nd\x01%?", "a_b_c_d___");
    check_name("\xc3\xa9", "__");
}

/* Cut anywhere, made of what means something to a path. */
TEST(names_at_any_length)
{
    static const char bytes[] = "..//ab\"\xc3";
    struct random random = {37};
    for (int i = 0; i < 200000; i++) {
        char name[300];
        char clean[300];
        size_t length = (size_t)random_below(&random, 24);
        size_t room = 2 + (size_t)random_below(&random, 20);
        for (size_t k = 0; k < length; k++) {
            name[k] = bytes[random_below(&random, sizeof bytes - 1)];
        }
        name[length] = '\0';
        memset(clean, '#', sizeof clean);
        rm_mlflow_clean_name(clean, room, name);
        if (strlen(clean) >= room || !is_allowed(clean)) {
            fail_msg("'%s' in %zu bytes: '%s'", name, room, clean);
        }
    }
}

TEST(names_of_scopes_are_unique)
{
    static const size_t counts[] = {1, 8, 127, 128, 129, 5000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct resmon_run *run = new_run(0, counts[i]);
        struct rm_mlflow_plan plan;
        for (size_t k = 8; k < counts[i]; k++) { /* all of them the same to MLflow */
            char *name = rm_arena_alloc(&run->strings, 400, 1);
            memset(name, k % 2 == 0 ? '?' : '"', 399);
            run->scopes[k].name = k % 3 == 0 ? "%" : name;
        }
        init_config(0);
        assert_ok(rm_mlflow_plan_init(&plan, &config, run, -1));
        assert_int_equal(plan.scopes_left_out, counts[i] > 128 ? counts[i] - 128 : 0);
        for (size_t a = 0; a < plan.point_count; a++) {
            assert_true(is_allowed(plan.points[a].key));
            for (size_t b = 0; b < a; b++) {
                assert_string_not_equal(plan.points[a].key, plan.points[b].key);
            }
        }
        rm_mlflow_plan_free(&plan);
        rm_run_free(run);
    }
}

/* A path of 64 scopes with long names, which a key has no room for. */
TEST(a_deep_path_is_cut)
{
    struct resmon_run *run = new_run(0, 60);
    struct rm_mlflow_plan plan;
    for (size_t i = 0; i < 60; i++) {
        run->scopes[i].name = i % 2 == 0 ? "../a/../b/.." : "..";
        run->scopes[i].parent = (int64_t)i - 1;
    }
    init_config(0);
    assert_ok(rm_mlflow_plan_init(&plan, &config, run, -1));
    assert_int_equal(plan.scopes_left_out, 0);
    for (size_t i = 0; i < plan.point_count; i++) {
        assert_true(is_allowed(plan.points[i].key));
    }
    rm_mlflow_plan_free(&plan);
    rm_run_free(run);
}

/* Of very many, those that took longest, wherever they stand. */
TEST(the_longest_scopes_are_kept)
{
    struct resmon_run *run = new_run(0, 5000);
    struct rm_mlflow_plan plan;
    size_t found = 0;
    for (size_t i = 0; i < run->scope_count; i++) {
        run->scopes[i].wall_ns = i % 50 == 49 ? 9e9 + (double)i : 1e6;
        run->scopes[i].open_ns = i % 100 == 49 ? run->scopes[i].wall_ns : 0.0; /* it counts, too */
    }
    init_config(0);
    assert_ok(rm_mlflow_plan_init(&plan, &config, run, -1));
    for (size_t i = 0; i < plan.point_count; i++) {
        bool is_wall = strncmp(plan.points[i].key, "resmon/scope/", 13) == 0 &&
                       strstr(plan.points[i].key, "/wall_seconds") != NULL;
        found += is_wall && plan.points[i].value > 1.0 ? 1 : 0;
    }
    assert_int_equal(found, 100);
    assert_int_equal(plan.scopes_left_out, 5000 - 128);
    rm_mlflow_plan_free(&plan);
    rm_run_free(run);
}

static double point_of(const struct rm_mlflow_plan *plan, const char *key)
{
    double value = (double)NAN;
    for (size_t i = 0; i < plan->point_count; i++) {
        if (strcmp(plan->points[i].key, key) == 0) {
            assert_true(isnan(value));
            value = plan->points[i].value;
        }
    }
    return value;
}

#define DEEP "resmon/scope/load/a scope that is deep inside/"

/* Beside the values of a scope, and each other: MLflow takes metrics of the same name for one. */
TEST(names_of_counters_are_unique)
{
    static const char long_name[] =
        "FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE/u:umask=0x10/0123456789";
    resmon_run_counter counters[] = {
        {.name = "cache-misses", .unit = "1", .reason = ""},
        {.name = long_name, .unit = "s", .reason = ""},
        {.name = long_name, .unit = "s", .reason = ""},
        {.name = "calls", .unit = "1", .reason = ""},
        {.name = "", .unit = "1", .reason = ""},
        {.name = "cache_misses", .unit = "1", .reason = ""},
        {.name = "cycles", .unit = "1", .reason = "no PMU", .status = RESMON_ENODEV},
    };
    enum { COUNTERS = sizeof counters / sizeof counters[0] };
    resmon_estimate counts[2][COUNTERS];
    struct resmon_run *run = new_run(0, 60);
    struct rm_mlflow_plan plan;
    run->counters = counters;
    run->counter_count = COUNTERS;
    for (size_t k = 0; k < COUNTERS; k++) {
        double error = k == 0 ? 6.0 : 0.0; /* off by more than itself */
        counts[0][k] = (resmon_estimate){10.0, 10.0, 10.0};
        counts[1][k] = (resmon_estimate){10.0, 10.0 - error, 10.0 + error};
    }
    for (size_t i = 0; i < run->scope_count; i++) {
        run->scopes[i].counters = counts[i == 0 ? 0 : 1];
        run->scopes[i].counter_calls = 1;
        run->scopes[i].name = i == 0 ? "load" : "a scope that is deep inside";
        run->scopes[i].parent = (int64_t)i - 1;
    }
    init_config(0);
    assert_ok(rm_mlflow_plan_init(&plan, &config, run, -1));
    assert_float_equal(point_of(&plan, "resmon/scope/load/cache_misses"), 10.0, 0.0);
    assert_float_equal(point_of(&plan, "resmon/scope/load/cache_misses_2"), 10.0, 0.0);
    assert_true(isnan(point_of(&plan, DEEP "cache_misses")));
    assert_float_equal(point_of(&plan, "resmon/scope/load/calls_2"), 10.0, 0.0);
    assert_true(isnan(point_of(&plan, "resmon/scope/load/cycles")));
    for (size_t a = 0; a < plan.point_count; a++) {
        assert_true(is_allowed(plan.points[a].key));
        for (size_t b = 0; b < a; b++) {
            assert_string_not_equal(plan.points[a].key, plan.points[b].key);
        }
    }
    rm_mlflow_plan_free(&plan);
    rm_run_free(run);
}

/* ---- hostile runs --------------------------------------------------------------------------- */

TEST(a_hostile_run_is_valid_json)
{
    struct resmon_run *run = made_run("running", 200);
    struct rm_mlflow_plan plan;
    struct sent sent = new_sent();
    struct rm_mlflow_cursor cursor = {0};
    char value[2000];
    clean_names(run);
    memset(value, '\xc3', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    put_fact(run, "machine", "kernel", value, RM_FACT_TEXT);
    put_fact(run, "machine", "os", "\"\\\n\x01\xff", RM_FACT_TEXT);
    put_fact(run, "job", "system", "\x7f\"},{", RM_FACT_TEXT);
    init_config(RESMON_MLFLOW_SERIES);
    assert_ok(rm_mlflow_plan_init(&plan, &config, run, -1));
    plan.is_made = true;
    send(&plan, &cursor, 1000, SIZE_MAX, &sent);
    assert_int_equal(sent.artifacts, 1);
    assert_int_equal(sent.updates, 1);
    free(sent.points);
    rm_mlflow_plan_free(&plan);
    rm_run_free(run);
}

/* Labels of the run are tags by their own names; with many nodes, too, one request has at most 100.
 */
TEST(labels_are_tags)
{
    struct resmon_run *run = made_run("stopped", 1);
    struct rm_mlflow_plan plan;
    struct rm_mlflow_cursor cursor = {0};
    struct rm_mlflow_item item;
    struct rm_buffer body;
    bool has_item, has_label = false;
    clean_names(run);
    put_fact(run, RM_FACT_LABELS, "team", "a \"b\"", RM_FACT_TEXT);
    init_config(0);
    assert_ok(rm_mlflow_plan_init(&plan, &config, run, -1));
    rm_buffer_init(&body, (size_t)1 << 20);
    do {
        assert_ok(rm_mlflow_items_next(&plan, &cursor, 1000, &body, &item, &has_item));
        has_label |=
            has_item && strstr(item.body, "{\"key\":\"team\",\"value\":\"a \\\"b\\\"\"}") != NULL;
    } while (has_item);
    assert_true(has_label);
    rm_buffer_free(&body);
    rm_mlflow_plan_free(&plan);
    rm_run_free(run);
}

/* All of it at once, or none: what is not in the plan would be lost without a word. */
static resmon_status plan_whole(void *run)
{
    struct rm_mlflow_plan plan;
    static size_t whole;
    resmon_status status = rm_mlflow_plan_init(&plan, &config, run, -1);
    if (status == RESMON_OK) {
        whole = whole != 0 ? whole : plan.point_count; /* the first time nothing fails */
        assert_int_equal(plan.point_count, whole);
        rm_mlflow_plan_free(&plan);
    }
    return status;
}

TEST(any_allocation_may_fail)
{
    struct resmon_run *run = random_run(40, 5000, 9);
    init_config(RESMON_MLFLOW_SERIES);
    assert_ok(plan_whole(run));
    fail_each(RM_FAULT_ALLOC, plan_whole, run, 2);
    rm_run_free(run);
}

/* ---- making a run --------------------------------------------------------------------------- */

static struct rm_mlflow_place place_of(const struct resmon_run *run, int64_t node_index)
{
    config.node_index = node_index;
    return rm_mlflow_place_of(&config, run);
}

static struct rm_json *create_of(const struct resmon_run *run)
{
    struct rm_mlflow_place place = place_of(run, -1);
    struct rm_json *json = NULL;
    struct rm_buffer body;
    rm_buffer_init(&body, (size_t)1 << 20);
    rm_buffer_puts(&body, "{\"experiment_id\":\"0\",");
    assert_ok(rm_mlflow_items_create(&config, run, &place, "0123456789abcdef", &body));
    assert_true(is_strict_json(body.text, body.length));
    assert_ok(rm_json_parse(body.text, body.length, &json));
    rm_buffer_free(&body);
    return json;
}

static const char *tag_of(const struct rm_json *create, const char *key)
{
    const char *value = NULL;
    const struct rm_json *at = rm_json_first(rm_json_get(create, "tags"));
    for (; at != NULL; at = rm_json_next(at)) {
        if (strcmp(rm_json_text(rm_json_get(at, "key")), key) == 0) {
            assert_null(value); /* each key once */
            value = rm_json_text(rm_json_get(at, "value"));
        }
    }
    return value != NULL ? value : "";
}

/* What else makes a run is in golden runs. */
TEST(tags_of_a_context)
{
    static const char *const none[] = {
        "{", "[]", "[\"a\"]", "3", "{\"a\":{\"b\":\"c\"}}", "{\"a\":null}", "not json", "\"a\""};
    struct resmon_run *run = random_run(0, 0, 3);
    init_config(0);
    (void)snprintf(config.user, sizeof config.user, "somebody");
    (void)snprintf(config.run_name, sizeof config.run_name, "my \"run\"\n\xff");
    (void)snprintf(config.context, sizeof config.context,
                   "{\"mlflow.user\":\"other\",\"a?\":\"1\",\"a!\":\"2\",\"n\":3,\"\":\"x\","
                   "\"resmon.uuid\":\"false\",\"mlflow.runName\":\"false\"}");
    struct rm_json *json = create_of(run);
    assert_string_equal(tag_of(json, "mlflow.runName"), "my \"run\"??");
    assert_string_equal(tag_of(json, "resmon.uuid"), "0123456789abcdef");
    assert_string_equal(tag_of(json, "mlflow.user"), "other"); /* as MLflow's client has it */
    assert_string_equal(tag_of(json, "a_"), "1");
    assert_string_equal(tag_of(json, "n"), "");
    rm_json_free(json);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        init_config(0);
        (void)snprintf(config.context, sizeof config.context, "%s", none[i]);
        json = create_of(run);
        assert_string_equal(tag_of(json, "a"), "");
        rm_json_free(json);
    }
    rm_run_free(run);
}

TEST(places_in_a_job)
{
    struct resmon_run *run = random_run(0, 0, 3);
    init_config(0);
    struct rm_mlflow_place place = place_of(run, -1);
    assert_true(place.is_first && place.node_index == 0 && place.job[0] == '\0');
    put_fact(run, "job", "key", "slurm' OR 1=1 /7", RM_FACT_TEXT);
    put_fact(run, "job", "node_index", "3", RM_FACT_NUMBER);
    place = place_of(run, -1);
    assert_true(!place.is_first && place.node_index == 3);
    assert_null(strpbrk(place.job, "'`\"\\=")); /* it stands in a filter */
    place = place_of(run, 0);
    assert_true(place.is_first && place.node_index == 0);
    put_fact(run, "job", "reports_host", "0", RM_FACT_NUMBER); /* another process of node 0 does */
    place = place_of(run, 0);
    assert_true(!place.is_first && !place.is_reporter);
    put_fact(run, "job", "rank", "0", RM_FACT_NUMBER);
    place = place_of(run, 5);
    assert_true(place.is_first && place.node_index == 5);
    rm_run_free(run);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * format/arrow: the table of a run through the Arrow C data interface, without a copy; and whatever
 * order its parts are moved and released in, the run lives exactly as long as one of them.
 */
#include "test.h"

#include <pthread.h>
#include <stdbool.h>

#include "arrow_consumer.h"
#include "base/fault.h"
#include "random.h"
#include "run/record.h"
#include "unit/made_run.h"

static void assert_export(const resmon_run *run)
{
    for (int32_t series = RESMON_SERIES_LAST; series <= RESMON_SERIES_VALUE; series++) {
        struct arrow_verdict verdict;
        if (!arrow_check_run(&verdict, run, series)) {
            fail_msg("series %d: %s", (int)series, verdict.why);
        }
    }
}

static struct ArrowArrayStream exported(const resmon_run *run, int32_t series)
{
    struct ArrowArrayStream stream;
    memset(&stream, 0x55, sizeof stream);
    assert_ok(resmon_run_export_arrow(run, series, &stream));
    assert_null(stream.get_last_error(&stream));
    return stream;
}

static struct arrow_taken taken_of(struct ArrowArrayStream *stream)
{
    struct arrow_verdict verdict;
    struct arrow_taken taken;
    if (!arrow_take(&verdict, stream, &taken)) {
        fail_msg("%s", verdict.why);
    }
    return taken;
}

/* One gauge and one counter of `rows` rows; about one value in `one_in` is NaN (0: none). */
static struct resmon_run *plain_run(size_t rows, uint64_t one_in)
{
    struct random random = {4711 + rows};
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    run->info.start_realtime_ns = MADE_START_NS;
    made_table(run, 2, rows);
    run->columns[0] = (resmon_column){
        .metric = "proc.mem.rss", .unit = "B", .instance = "", .source = "", .kind = RESMON_GAUGE};
    run->columns[1] = (resmon_column){.metric = "node.disk.read",
                                      .unit = "B",
                                      .instance = "sda",
                                      .source = "",
                                      .kind = RESMON_COUNTER};
    for (size_t i = 0; i < rows; i++) {
        run->t_first[i] = run->t_last[i] = (int64_t)i * 1000;
        run->row_samples[i] = 1;
    }
    for (size_t i = 0; i < 2 * rows * RM_SERIES_KINDS; i++) {
        bool is_missing = one_in > 0 && random_below(&random, one_in) == 0;
        run->values[i] = is_missing ? (double)NAN : random_unit(&random);
    }
    return run;
}

/* ---- the form ------------------------------------------------------------------------------- */

/* As the specification has them: whoever gets one was compiled without our header. */
TEST(the_structs_are_those_of_the_specification)
{
    const size_t p = sizeof(void *);
    assert_int_equal(offsetof(struct ArrowSchema, metadata), 2 * p);
    assert_int_equal(offsetof(struct ArrowSchema, children), 3 * p + 16);
    assert_int_equal(offsetof(struct ArrowSchema, release), 5 * p + 16);
    assert_int_equal(sizeof(struct ArrowSchema), 7 * p + 16);
    assert_int_equal(offsetof(struct ArrowArray, buffers), 40);
    assert_int_equal(offsetof(struct ArrowArray, release), 40 + 3 * p);
    assert_int_equal(sizeof(struct ArrowArray), 40 + 5 * p);
    assert_int_equal(sizeof(struct ArrowArrayStream), 5 * p);
}

TEST(a_run_of_hostile_columns)
{
    struct resmon_run *run = made_run("stopped", 0);
    struct ArrowArrayStream stream;
    assert_non_null(run);
    assert_export(run);
    stream = exported(run, RESMON_SERIES_VALUE);
    struct arrow_taken taken = taken_of(&stream);
    static const struct {
        size_t column;
        const char *name;
        int64_t nulls;
        uint8_t bits;
    } cases[] = {
        {1, "proc.mem.rss", 1, 0x0d},
        {3, "proc.threads", 0, 0},
        {6, "proc.fault.major", 1, 0xd},
        {7, "proc.mem.swap", 4, 0x00},
        {8, "node.fs.used[/]", 0, 0},
        {10, "node.fs.used[/]#10", 0, 0},
        {13, "", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ArrowSchema *field = taken.schema.children[ARROW_TIMES + cases[i].column];
        const struct ArrowArray *values = taken.array.children[ARROW_TIMES + cases[i].column];
        assert_string_equal(field->name, cases[i].name);
        assert_int_equal(values->null_count, cases[i].nulls);
        if (cases[i].nulls > 0) {
            assert_int_equal(*(const uint8_t *)values->buffers[0], cases[i].bits);
        }
    }
    stream.release(&stream);
    arrow_give_back(&taken);
    rm_run_free(run);
}

TEST(series_are_what_they_say)
{
    struct resmon_run *run = plain_run(3, 0);
    static const struct {
        int32_t series;
        const char *gauge, *counter, *unit; /* the counter's */
    } cases[] = {
        {RESMON_SERIES_LAST, "last", "last", "B"},  {RESMON_SERIES_MIN, "min", "min", "B/s"},
        {RESMON_SERIES_MAX, "max", "max", "B/s"},   {RESMON_SERIES_MEAN, "mean", "mean", "B/s"},
        {RESMON_SERIES_VALUE, "mean", "last", "B"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arrow_verdict verdict = {""};
        struct ArrowArrayStream stream = exported(run, cases[i].series);
        struct arrow_taken taken = taken_of(&stream);
        const struct ArrowSchema *gauge = taken.schema.children[ARROW_TIMES];
        const struct ArrowSchema *counter = taken.schema.children[ARROW_TIMES + 1];
        assert_string_equal(counter->name, "node.disk.read[sda]");
        bool is_good = arrow_has(&verdict, gauge->metadata, "resmon.series", cases[i].gauge) &&
                       arrow_has(&verdict, gauge->metadata, "resmon.unit", "B") &&
                       arrow_has(&verdict, counter->metadata, "resmon.series", cases[i].counter) &&
                       arrow_has(&verdict, counter->metadata, "resmon.unit", cases[i].unit) &&
                       arrow_has(&verdict, counter->metadata, "resmon.instance", "sda") &&
                       arrow_has(&verdict, gauge->metadata, "resmon.instance", "");
        if (!is_good) {
            fail_msg("%s", verdict.why);
        }
        stream.release(&stream);
        arrow_give_back(&taken);
    }
    assert_ptr_equal(resmon_run_series(run, 0, RESMON_SERIES_VALUE),
                     resmon_run_series(run, 0, RESMON_SERIES_MEAN));
    assert_ptr_equal(resmon_run_series(run, 1, RESMON_SERIES_VALUE),
                     resmon_run_series(run, 1, RESMON_SERIES_LAST));
    rm_run_free(run);
}

/* Around the bytes and words of a bitmap, with no, some and nothing but nulls. */
TEST(bitmaps_of_every_length)
{
    static const size_t rows[] = {1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 1000};
    static const uint64_t one_in[] = {0, 1, 2, 50};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (size_t n = 0; n < sizeof one_in / sizeof one_in[0]; n++) {
            struct resmon_run *run = plain_run(rows[r], one_in[n]);
            assert_export(run);
            rm_run_free(run);
        }
    }
}

TEST(a_run_without_rows_has_its_columns)
{
    struct resmon_run *rowless = plain_run(0, 0);
    struct resmon_run *blank = rm_run_new();
    assert_non_null(blank);
    rowless->values = NULL; /* as a summary has it */
    rowless->t_last = NULL;
    rowless->row_samples = NULL;
    assert_export(rowless);
    assert_export(blank);
    rm_run_free(rowless);
    rm_run_free(blank);
}

TEST(columns_without_any_metric)
{
    struct resmon_run *run = plain_run(2, 0);
    run->column_count = 0;
    assert_export(run);
    rm_run_free(run);
}

TEST(times_that_cannot_be_added_stay_at_the_end)
{
    struct resmon_run *run = plain_run(4, 0);
    run->info.start_realtime_ns = INT64_MAX - 1;
    run->t_last[3] = INT64_MAX;
    assert_export(run);
    run->info.start_realtime_ns = INT64_MIN + 1;
    run->t_last[0] = -5;
    assert_export(run);
    rm_run_free(run);
}

TEST(names_differ_whatever_the_columns_are_called)
{
    static const char *const metrics[] = {"time",  "x",   "x", "x", "x#2",
                                          "x#2#4", "x#3", "",  "",  "samples"};
    static const char *const names[] = {"time#0",  "x",     "x#2", "x#3", "x#2#4",
                                        "x#2#4#5", "x#3#6", "",    "#8",  "samples#9"};
    enum { COUNT = sizeof metrics / sizeof metrics[0] };
    struct resmon_run *run = plain_run(0, 0);
    run->columns = rm_arena_alloc(&run->strings, COUNT, sizeof *run->columns);
    run->column_count = COUNT;
    for (size_t i = 0; i < COUNT; i++) {
        run->columns[i] =
            (resmon_column){.metric = metrics[i], .unit = "1", .instance = "", .source = ""};
    }
    struct ArrowArrayStream stream = exported(run, RESMON_SERIES_VALUE);
    struct arrow_taken taken = taken_of(&stream);
    for (size_t i = 0; i < COUNT; i++) {
        assert_string_equal(taken.schema.children[ARROW_TIMES + i]->name, names[i]);
    }
    stream.release(&stream);
    arrow_give_back(&taken);
    rm_run_free(run);
}

TEST(many_columns_of_one_name)
{
    enum { COUNT = 5000 };
    struct resmon_run *run = plain_run(0, 0);
    run->columns = rm_arena_alloc(&run->strings, COUNT, sizeof *run->columns);
    run->column_count = COUNT;
    for (size_t i = 0; i < COUNT; i++) {
        run->columns[i] = (resmon_column){.metric = "m", .unit = "1", .instance = "", .source = ""};
    }
    assert_export(run);
    rm_run_free(run);
}

/* ---- who holds what ------------------------------------------------------------------------- */

TEST(the_run_outlives_its_handle)
{
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    struct arrow_verdict verdict = {""};
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .interval_ms = 1000,
                                            .name = "arrow",
                                            .domains = RESMON_DOMAIN_PROCESS};
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    assert_ok(resmon_monitor_sample_now(monitor));
    assert_ok(resmon_monitor_stop(monitor));
    int64_t before = rm_fault_live(0);
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    size_t rss = 0;
    assert_ok(resmon_run_find_column(run, "proc.mem.rss", NULL, &rss));
    struct ArrowArrayStream stream = exported(run, RESMON_SERIES_VALUE);
    struct arrow_taken taken = taken_of(&stream);
    assert_true(arrow_check_schema(&verdict, &taken.schema, run, RESMON_SERIES_VALUE));
    assert_true(arrow_has(&verdict, taken.schema.metadata, "resmon.name", "arrow"));
    assert_true(arrow_check_array(&verdict, &taken.array, run, RESMON_SERIES_VALUE));
    const double expected = resmon_run_series(run, rss, RESMON_SERIES_MEAN)[0];
    resmon_run_free(run);
    stream.release(&stream);
    assert_null(stream.release);
    const double *values = taken.array.children[ARROW_TIMES + rss]->buffers[1];
    assert_true(values[0] == expected && expected > 0.0);
    arrow_give_back(&taken);
    assert_int_equal(rm_fault_live(0), before);
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    assert_export(run);
    resmon_run_free(run);
    assert_ok(resmon_monitor_summary(monitor, &run));
    assert_int_equal(resmon_run_row_count(run), 0);
    assert_export(run);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

/* The parts of an export, to be released in any order. */
enum part { RUN, STREAM, SCHEMA, ARRAY, FIELD, VALUES, PARTS };

struct holders {
    resmon_run *run;
    struct ArrowArrayStream stream;
    struct arrow_taken taken;
    struct ArrowSchema field; /* moved out of the schema */
    struct ArrowArray values; /* moved out of the array */
};

/* Everything moved to where it was not made, and what it was moved from overwritten. */
static struct holders holders_of(struct resmon_run *run)
{
    struct holders holders = {.run = run};
    struct ArrowArrayStream first = exported(run, RESMON_SERIES_MEAN);
    holders.stream = first;
    memset(&first, 0x55, sizeof first);
    struct arrow_taken taken = taken_of(&holders.stream);
    holders.taken = taken;
    memset(&taken, 0x55, sizeof taken);
    holders.field = *holders.taken.schema.children[ARROW_TIMES];
    holders.taken.schema.children[ARROW_TIMES]->release = NULL;
    holders.values = *holders.taken.array.children[ARROW_TIMES];
    holders.taken.array.children[ARROW_TIMES]->release = NULL;
    return holders;
}

static void check_held(const struct holders *holders, unsigned released)
{
    if ((released & 1U << FIELD) == 0) {
        char metric[32];
        assert_string_equal(holders->field.name, "proc.mem.rss");
        assert_true(
            arrow_metadata(holders->field.metadata, "resmon.metric", metric, sizeof metric));
    }
    if ((released & 1U << VALUES) == 0) {
        struct arrow_verdict verdict;
        assert_true(arrow_check_nulls(&verdict, &holders->values, holders->values.buffers[1]));
    }
    if ((released & 1U << ARRAY) == 0) {
        assert_int_equal(((const uint64_t *)holders->taken.array.children[2]->buffers[1])[0], 1);
    }
    if ((released & 1U << SCHEMA) == 0) {
        assert_string_equal(holders->taken.schema.children[0]->name, "time");
    }
}

static void release_part(struct holders *holders, enum part part)
{
    switch (part) {
    case RUN:
        resmon_run_free(holders->run);
        break;
    case STREAM:
        holders->stream.release(&holders->stream);
        assert_null(holders->stream.release);
        break;
    case SCHEMA:
        holders->taken.schema.release(&holders->taken.schema);
        assert_null(holders->taken.schema.release);
        break;
    case ARRAY:
        holders->taken.array.release(&holders->taken.array);
        assert_null(holders->taken.array.release);
        break;
    case FIELD:
        holders->field.release(&holders->field);
        assert_null(holders->field.release);
        break;
    default:
        holders->values.release(&holders->values);
        assert_null(holders->values.release);
    }
}

TEST(parts_are_released_in_every_order)
{
    const int64_t before = rm_fault_live(0);
    int orders = 0;
    for (int code = 0; code < 46656; code++) { /* 6 ^ 6 */
        unsigned released = 0;
        int order[PARTS];
        for (int i = 0, rest = code; i < PARTS; i++, rest /= PARTS) {
            order[i] = rest % PARTS;
            released |= 1U << order[i];
        }
        if (released != (1U << PARTS) - 1) {
            continue; /* some part twice */
        }
        struct holders holders = holders_of(plain_run(3, 2));
        released = 0;
        for (int i = 0; i < PARTS; i++) {
            release_part(&holders, (enum part)order[i]);
            released |= 1U << order[i];
            check_held(&holders, released);
            assert_true(i + 1 == PARTS || rm_fault_live(0) > before);
        }
        assert_int_equal(rm_fault_live(0), before);
        orders++;
    }
    assert_int_equal(orders, 720);
}

/* As DuckDB does: all children moved out, the shell released, then the children. */
TEST(every_child_is_moved_out)
{
    const int64_t before = rm_fault_live(0);
    struct resmon_run *run = made_run("stopped", 0);
    struct ArrowArrayStream stream = exported(run, RESMON_SERIES_LAST);
    struct arrow_taken taken = taken_of(&stream);
    size_t count = (size_t)taken.array.n_children;
    struct ArrowArray *children = calloc(count, sizeof *children);
    assert_non_null(children);
    resmon_run_free(run);
    stream.release(&stream);
    for (size_t i = 0; i < count; i++) {
        children[i] = *taken.array.children[i];
        taken.array.children[i]->release = NULL;
    }
    arrow_give_back(&taken);
    double sum = 0.0;
    for (size_t i = count; i-- > 0;) {
        sum += i >= ARROW_TIMES ? ((const double *)children[i].buffers[1])[0] : 0.0;
        children[i].release(&children[i]);
        assert_null(children[i].release);
    }
    assert_true(isnan(sum)); /* one column has nothing but NaN */
    free(children);
    assert_int_equal(rm_fault_live(0), before);
}

TEST(a_stream_ends_and_still_has_its_schema)
{
    struct resmon_run *run = plain_run(2, 0);
    struct ArrowArrayStream stream = exported(run, RESMON_SERIES_VALUE);
    struct arrow_taken taken = taken_of(&stream);
    struct ArrowSchema again;
    struct ArrowArray end;
    for (int i = 0; i < 3; i++) {
        memset(&end, 0x55, sizeof end);
        assert_int_equal(stream.get_next(&stream, &end), 0);
        assert_null(end.release);
    }
    assert_int_equal(stream.get_schema(&stream, &again), 0);
    assert_ptr_not_equal(again.children, taken.schema.children);
    assert_int_equal(again.n_children, taken.schema.n_children);
    again.release(&again);
    assert_null(stream.get_last_error(&stream));
    stream.release(&stream);
    arrow_give_back(&taken);
    rm_run_free(run);
}

TEST(what_is_refused_leaves_the_stream_alone)
{
    struct resmon_run *run = plain_run(1, 0);
    struct ArrowArrayStream stream, untouched;
    memset(&stream, 0x55, sizeof stream);
    untouched = stream;
    assert_status(RESMON_EINVAL, resmon_run_export_arrow(NULL, RESMON_SERIES_VALUE, &stream));
    assert_status(RESMON_EINVAL, resmon_run_export_arrow(run, RESMON_SERIES_VALUE, NULL));
    assert_status(RESMON_EINVAL, resmon_run_export_arrow(run, -1, &stream));
    assert_status(RESMON_EINVAL, resmon_run_export_arrow(run, RESMON_SERIES_VALUE + 1, &stream));
    assert_memory_equal(&stream, &untouched, sizeof stream);
    rm_run_free(run);
}

/* ---- several threads ------------------------------------------------------------------------ */

#define THREADS 4
#define ROUNDS  200

static void *export_and_release(void *run)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct arrow_verdict verdict;
        if (!arrow_check_run(&verdict, run, i % (RESMON_SERIES_VALUE + 1))) {
            return run;
        }
    }
    return NULL;
}

static void *release_values(void *values)
{
    struct ArrowArray *array = values;
    array->release(array);
    return NULL;
}

TEST(threads_export_one_run_and_release_one_array)
{
    const int64_t before = rm_fault_live(0);
    struct resmon_run *run = plain_run(100, 3);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, export_and_release, run), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    struct ArrowArrayStream stream = exported(run, RESMON_SERIES_VALUE);
    struct arrow_taken taken = taken_of(&stream);
    struct ArrowArray children[THREADS];
    rm_run_free(run);
    stream.release(&stream);
    for (int i = 0; i < THREADS; i++) {
        children[i] = *taken.array.children[i];
        taken.array.children[i]->release = NULL;
    }
    arrow_give_back(&taken);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, release_values, &children[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(rm_fault_live(0), before);
}

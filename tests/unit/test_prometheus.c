/* SPDX-License-Identifier: MIT */
/*
 * format/prometheus and what it stands on: names, labels, the text of a run that is as
 * hostile as they come, and failures in the middle.  What other programs say of these texts:
 * tests/servers.
 */
#include "faults.h"
#include "test.h"

#include <stdbool.h>
#include <unistd.h>

#include "made_run.h"
#include "metric/metric.h"

#include "base/alloc.h"
#include "format/exported.h"
#include "format/prometheus.h"
#include "run/record.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define DIGITS  "0123456789"

/* ---- a strict reader -------------------------------------------------------- */

struct reader {
    const char *at;
    char family[RM_FAMILY_BYTES];
    char last_key[4096]; /* name and labels of the sample before */
    size_t samples, families;
};

static size_t name_length(const char *at)
{
    assert_non_null(strchr(LETTERS, at[0]));
    return strspn(at, LETTERS DIGITS);
}

static const char *expect(const char *at, const char *text)
{
    if (strncmp(at, text, strlen(text)) != 0) {
        fail_msg("'%s' expected at: %.80s", text, at);
    }
    return at + strlen(text);
}

static const char *read_labels(const char *at)
{
    at = expect(at, "{");
    while (*at != '}') {
        at += name_length(at);
        at = expect(at, "=\"");
        for (; *at != '"'; at++) {
            assert_true(*at != '\0' && *at != '\n');
            if (*at == '\\') {
                at++;
                assert_true(*at == '\\' || *at == '"' || *at == 'n');
            }
        }
        at++;
        assert_true(*at == ',' || *at == '}');
        at += *at == ',' ? 1 : 0;
    }
    return at + 1;
}

static void read_head(struct reader *reader, const char *line)
{
    char name[RM_FAMILY_BYTES];
    bool is_first = strncmp(line, "# HELP ", 7) == 0;
    assert_true(strncmp(line, "# TYPE ", 7) == 0 || strncmp(line, "# HELP ", 7) == 0);
    size_t length = name_length(line + 7);
    (void)snprintf(name, sizeof name, "%.*s", (int)length, line + 7);
    assert_int_equal(line[7 + length], ' ');
    if (is_first) {
        char seen[RM_FAMILY_BYTES + 16];
        (void)snprintf(seen, sizeof seen, "%.7s%s ", line, name);
        const char *first = strstr(reader->at, seen);
        assert_ptr_equal(first, line); /* each family once */
        (void)snprintf(reader->family, sizeof reader->family, "%s", name);
        reader->last_key[0] = '\0';
        reader->families++;
    }
    assert_string_equal(name, reader->family);
}

static void read_sample(struct reader *reader, const char *line)
{
    const char *at = line + name_length(line);
    assert_int_equal(strncmp(line, reader->family, strlen(reader->family)), 0);
    at = *at == '{' ? read_labels(at) : at;
    char key[sizeof reader->last_key];
    (void)snprintf(key, sizeof key, "%.*s", (int)(at - line), line);
    char *end;
    at = expect(at, " ");
    assert_true(isfinite(strtod(at, &end)) || strncmp(at, "+Inf", 4) == 0);
    assert_int_equal(*end, '\n');
    char again[sizeof key + 2];
    (void)snprintf(again, sizeof again, "\n%s ", key);
    assert_ptr_equal(strstr(reader->at, again) + 1, line); /* not seen before */
    memcpy(reader->last_key, key, sizeof key);
    reader->samples++;
}

/* Number of samples. */
static size_t check_text(const char *text)
{
    static struct reader reader;
    reader = (struct reader){.at = text};
    const char *line = text;
    while (*line != '\0') {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        if (line[0] == '#') {
            read_head(&reader, line);
        } else {
            read_sample(&reader, line);
        }
        line = end + 1;
    }
    return reader.samples;
}

static char *print(const resmon_run *run, const struct rm_prometheus *how)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, (size_t)64 << 20);
    assert_ok(rm_prometheus_print(run, how, &buffer));
    if (buffer.text != NULL) {
        (void)check_text(buffer.text);
    }
    return buffer.text;
}

static void assert_line(const char *text, const char *line)
{
    char wanted[2048];
    (void)snprintf(wanted, sizeof wanted, "\n%s\n", line);
    if (strstr(text, wanted) == NULL) {
        fail_msg("no line '%s' in:\n%s", line, text);
    }
}

static void assert_absent(const char *text, const char *part)
{
    const char *found = strstr(text, part);
    if (found != NULL) {
        fail_msg("'%s' is there: %.120s", part, found);
    }
}

/* ---- names ---------------------------------------------------------------------------------- */

static void family_of(const struct rm_metric *metric, struct rm_family *ret_family)
{
    rm_family_name(rm_metric_name(metric), rm_metric_unit(metric), ret_family);
}

TEST(every_metric_has_a_name_of_its_own)
{
    const struct rm_metric *metric, *other;
    for (size_t i = 0; (metric = rm_metric_row(i)) != NULL; i++) {
        struct rm_family family, same;
        family_of(metric, &family);
        assert_int_equal(name_length(family.name), strlen(family.name));
        assert_true(strlen(family.name) < RM_FAMILY_BYTES - 16);
        if (strcmp(rm_metric_unit(metric), "1") != 0 && family.unit[0] == '\0') {
            fail_msg("%s: no word for the unit '%s'", rm_metric_name(metric),
                     rm_metric_unit(metric));
        }
        for (size_t k = 0; k < i && (other = rm_metric_row(k)) != NULL; k++) {
            family_of(other, &same);
            assert_string_not_equal(family.name, same.name);
        }
    }
    assert_int_equal(resmon_metric_count() > 100, 1);
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(*words, word) != 0) {
        words++;
    }
    return *words != NULL;
}

/* A name ends with its unit, once, and says neither type nor an abbreviation of a unit: what
 * Prometheus asks of names, and promtool complains about. */
static void assert_a_name_in_order(const char *name, const char *unit)
{
    static const char *const refused[] = {
        "counter",  "gauge", "histogram", "summary", "gaugehistogram",
        "stateset", "info",  "untyped",   "total",   "created",
        "bucket",   "sum",   "gsum",      "gcount",  "s",
        "ms",       "us",    "ns",        "sec",     "b",
        "kb",       "mb",    "gb",        "tb",      "pb",
        "m",        "h",     "d",         NULL};
    static const char *const units[] = {"bytes", "seconds", "ratio",   "joules", "watts",
                                        "hertz", "celsius", "percent", NULL};
    char words[RM_FAMILY_BYTES];
    (void)snprintf(words, sizeof words, "%s", name);
    char *rest = NULL;
    size_t count = 0;
    const char *last = "";
    for (char *word = strtok_r(words, "_", &rest); word != NULL;
         word = strtok_r(NULL, "_", &rest)) {
        if (is_one_of(word, refused) && !(strcmp(word, "total") == 0 && *rest != '\0')) {
            fail_msg("%s: a name without the word '%s' is wanted", name, word);
        }
        count += is_one_of(word, units) ? 1 : 0;
        last = word;
    }
    if (count != (unit[0] != '\0' ? 1U : 0U) || (count > 0 && strcmp(last, unit) != 0)) {
        fail_msg("%s: '%s' is wanted once, at its end", name, unit);
    }
}

TEST(no_name_repeats_its_type_or_unit)
{
    const struct rm_metric *metric;
    for (size_t i = 0; (metric = rm_metric_row(i)) != NULL; i++) {
        struct rm_family family;
        family_of(metric, &family);
        assert_a_name_in_order(family.name, family.unit);
        if (metric->kind == RESMON_COUNTER && strstr(family.name, "total") != NULL) {
            fail_msg("%s_total says 'total' twice", family.name);
        }
    }
}

/* ---- texts ---------------------------------------------------------------------------------- */

#define COMMON "node=\"n\\\"1\\\\\\n2\",pid=\"4711\""

/* Its lines are like those of the golden runs hostile-names and hostile-numbers. */
TEST(last_values_of_a_hostile_run)
{
    static const struct rm_prometheus how = {0};
    resmon_run *run = made_run("stopped", 12);
    char *text = print(run, &how);
    assert_line(text, "resmon_proc_cpu_ratio{" COMMON "} 2.5");
    /* A gauge of a source that is gone is absent; what a counter had counted is not. */
    assert_absent(text, "resmon_proc_fds");
    assert_line(text, "resmon_proc_fault_minor_total{" COMMON "} 4");
    assert_absent(text, "resmon_proc_fault_major"); /* negative */
    assert_absent(text, "resmon_proc_mem_swap");    /* NaN */
    assert_absent(text, "\nevil");
    assert_absent(text, "parsec");
    assert_line(text, "resmon_scope_calls_total{" COMMON ",scope=\"top/a\\\\\\\\\\\\/b\"} 5");
    rm_free(text);
    rm_run_free(run);
}

TEST(estimates_wait_for_the_end_of_the_run)
{
    static const struct rm_prometheus how = {0};
    resmon_run *run = made_run("running", 3);
    char *text = print(run, &how);
    assert_line(text, "resmon_scope_cpu_seconds_total{" COMMON ",scope=\"top\"} 0.75");
    assert_absent(text, "resmon_scope_cpu_seconds_total{" COMMON ",scope=\"top/a\"}");
    assert_line(text, "resmon_scope_thread_cpu_seconds_total{" COMMON ",scope=\"top\"} 0.25");
    assert_absent(text, "resmon_scope_thread_cpu_seconds_total{" COMMON ",scope=\"top/a\"}");
    rm_free(text);
    rm_run_free(run);
}

TEST(counters_of_scopes)
{
    static const struct rm_prometheus how = {0};
    resmon_run_counter counters[] = {
        {.name = "instructions", .unit = "1", .reason = "", .status = RESMON_OK},
        {.name = "task-clock", .unit = "s", .reason = "", .status = RESMON_OK},
        {.name = "r\"41\n", .unit = "1", .reason = "", .status = RESMON_OK},
        {.name = "instructions", .unit = "1", .reason = "", .status = RESMON_OK},
        {.name = "cycles", .unit = "1", .reason = "no PMU", .status = RESMON_ENODEV},
    };
    const resmon_estimate found[] = {
        {.value = 3e9}, {.value = 0.25}, {.value = 7}, {.value = 8}, {.value = 9}};
    for (int is_running = 0; is_running < 2; is_running++) {
        resmon_run *run = made_run(is_running ? "running" : "stopped", 3);
        run->counters = counters;
        run->counter_count = RM_ARRAY_LEN(counters);
        for (size_t i = 0; i < 2; i++) {
            run->scopes[i].counters = found;
            run->scopes[i].counter_calls = 1;
        }
        run->scopes[0].counter_provenance = RESMON_PROVENANCE_MEASURED;
        run->scopes[1].counter_provenance = RESMON_PROVENANCE_SAMPLED; /* "top/a\/b" */
        char *text = print(run, &how);
        assert_line(text, "# TYPE resmon_scope_events_total counter");
        assert_line(text, "resmon_scope_events_total{" COMMON
                          ",scope=\"top\",event=\"instructions\"} 3000000000");
        assert_line(text,
                    "resmon_scope_events_total{" COMMON ",scope=\"top\",event=\"r\\\"41\\n\"} 7");
        assert_line(text, "resmon_scope_event_seconds_total{" COMMON
                          ",scope=\"top\",event=\"task-clock\"} 0.25");
        assert_absent(text, "event=\"cycles\"");
        assert_absent(text, "event=\"instructions\"} 8");
        assert_absent(text, "scope=\"top/a/b\",event"); /* was not counted */
        const char *scaled = "scope=\"top/a\\\\/b\",event=\"instructions\"} 3000000000";
        assert_int_equal(strstr(text, scaled) != NULL, !is_running);
        rm_free(text);
        rm_run_free(run);
    }
}

TEST(an_empty_run_is_a_valid_text)
{
    static const struct rm_prometheus how = {0};
    resmon_run *run = rm_run_new();
    char *text = print(run, &how);
    assert_line(text, "resmon_samples_total 0");
    rm_free(text);
    rm_run_free(run);
}

TEST(paths_of_scopes_have_a_bound)
{
    static const struct rm_prometheus how = {.flags = RESMON_PROMETHEUS_NO_NODE |
                                                      RESMON_PROMETHEUS_NO_PID};
    resmon_run *run = made_run("stopped", RM_EXPORTED_MOST_SCOPES + 234);
    char *text = print(run, &how);
    assert_line(text, "resmon_scope_paths_omitted 234");
    assert_line(text, "resmon_scope_calls_total{scope=\"s999\"} 1000");
    assert_absent(text, "s1000");
    rm_free(text);
    /* A path as deep and as wide as can be. */
    static char name[RM_SITE_NAME_BYTES];
    memset(name, '\\', sizeof name - 1);
    for (size_t i = 0; i < 300; i++) {
        run->scopes[i].name = name;
        run->scopes[i].parent = (int64_t)i - 1;
    }
    run->scope_count = 300;
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, (size_t)512 << 20);
    assert_ok(rm_prometheus_print(run, &how, &buffer));
    rm_buffer_free(&buffer);
    rm_run_free(run);
}

/* ---- labels --------------------------------------------------------------------------------- */

TEST(labels_of_the_user)
{
    static const resmon_label labels[] = {
        {"cluster", "c\"1\n# HELP x"}, {"node", "other"}, {"empty", ""}};
    resmon_prometheus_options options = {.struct_size = sizeof options,
                                         .flags = RESMON_PROMETHEUS_NO_PID,
                                         .labels = labels,
                                         .label_count = 3};
    resmon_run *run = made_run("stopped", 1);
    char *text = NULL;
    assert_ok(resmon_prometheus_text(run, &options, &text));
    (void)check_text(text);
    assert_line(text,
                "resmon_samples_total{cluster=\"c\\\"1\\n# HELP x\",node=\"other\",empty=\"\"} "
                "31");
    resmon_text_free(text);
    text = NULL;
    options.flags = 1U << 10;
    assert_status(RESMON_EINVAL, resmon_prometheus_text(run, &options, &text));
    options = (resmon_prometheus_options){.struct_size = 3};
    assert_status(RESMON_EINVAL, resmon_prometheus_text(run, &options, &text));
    assert_status(RESMON_EINVAL, resmon_prometheus_text(NULL, NULL, &text));
    assert_status(RESMON_EINVAL, resmon_prometheus_text(run, NULL, NULL));
    assert_null(text);
    rm_run_free(run);
}

/* A label of the run is on every sample, by a name that means nothing else here. */
TEST(labels_of_the_run)
{
    static struct rm_fact facts[] = {
        {RM_FACT_LABELS, "team.name", "a \"b\"", RM_FACT_TEXT},
        {RM_FACT_LABELS, "rank", "z", RM_FACT_TEXT},
        {RM_FACT_LABELS, "1st", "y", RM_FACT_TEXT},
        {RM_FACT_LABELS, "team_name", "lost", RM_FACT_TEXT},
        {RM_FACT_LABELS, "cluster", "run", RM_FACT_TEXT},
        {"other", "group", "no", RM_FACT_TEXT},
        {RM_FACT_LABELS, "scope", "s", RM_FACT_TEXT},
        {RM_FACT_LABELS, "zone", "no name is left", RM_FACT_TEXT},
    };
    static const resmon_label labels[] = {
        {"cluster", "options"}, {"zone", "o"}, {"label_zone", "o"}};
    const resmon_prometheus_options options = {
        .struct_size = sizeof options,
        .flags = RESMON_PROMETHEUS_NO_PID | RESMON_PROMETHEUS_NO_NODE | RESMON_PROMETHEUS_NO_JOB,
        .labels = labels,
        .label_count = 3};
    resmon_run *run = made_run("stopped", 1);
    run->facts = facts;
    run->fact_count = RM_ARRAY_LEN(facts);
    char *text = NULL;
    assert_ok(resmon_prometheus_text(run, &options, &text));
    (void)check_text(text);
    assert_line(text, "resmon_samples_total{cluster=\"options\",zone=\"o\",label_zone=\"o\",team_"
                      "name=\"a \\\"b\\\"\",label_rank=\"z\","
                      "label_1st=\"y\",label_cluster=\"run\",label_scope=\"s\"} 31");
    resmon_text_free(text);
    rm_run_free(run);
}

TEST(labels_that_are_refused)
{
    static char long_name[RM_LABEL_NAME_BYTES + 1], long_value[RM_LABEL_VALUE_BYTES + 1];
    memset(long_name, 'a', sizeof long_name - 1);
    memset(long_value, 'a', sizeof long_value - 1);
    const struct {
        resmon_label labels[2];
        size_t count;
        resmon_status status;
        const char *says;
    } cases[] = {
        {{{NULL, "x"}}, 1, RESMON_EINVAL, "(null)"},
        {{{"", "x"}}, 1, RESMON_EINVAL, "''"},
        {{{"1a", "x"}}, 1, RESMON_EINVAL, "1a"},
        {{{"_a", "x"}}, 1, RESMON_EINVAL, "_a"},
        {{{"__name__", "x"}}, 1, RESMON_EINVAL, "__name__"},
        {{{"a-b", "x"}}, 1, RESMON_EINVAL, "a-b"},
        {{{"a\"} 1\nx{b", "x"}}, 1, RESMON_EINVAL, "letters"},
        {{{"\xc3\xa9", "x"}}, 1, RESMON_EINVAL, "letters"},
        {{{"a", NULL}}, 1, RESMON_EINVAL, "'a'"},
        {{{"scope", "x"}}, 1, RESMON_EINVAL, "scope"},
        {{{"event", "x"}}, 1, RESMON_EINVAL, "event"},
        {{{"mountpoint", "x"}}, 1, RESMON_EINVAL, "mountpoint"},
        {{{"a", "x"}, {"a", "y"}}, 2, RESMON_EINVAL, "twice"},
        {{{long_name, "x"}}, 1, RESMON_ERANGE, "63"},
        {{{"a", long_value}}, 1, RESMON_ERANGE, "1023"},
        {{{"a", "x"}}, RM_MAX_LABELS + 1, RESMON_ERANGE, "32"},
    };
    struct rm_labels labels = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_status(cases[i].status, rm_labels_take(cases[i].labels, cases[i].count, &labels));
        if (strstr(resmon_last_error(), cases[i].says) == NULL) {
            fail_msg("case %zu: %s", i, resmon_last_error());
        }
    }
    assert_status(RESMON_EINVAL, rm_labels_take(NULL, 1, &labels));
    assert_ok(rm_labels_take(NULL, 0, &labels));
    assert_null(labels.items);
}

/* ---- failures ------------------------------------------------------------------------------- */

static resmon_status print_labelled(void *run)
{
    static const resmon_label user[] = {{"a", "b"}};
    static const resmon_prometheus_options options = {
        .struct_size = sizeof options, .labels = user, .label_count = 1};
    char *text = NULL;
    resmon_status status = resmon_prometheus_text(run, &options, &text);
    assert_true((status == RESMON_OK) == (text != NULL));
    resmon_text_free(text);
    return status;
}

TEST(any_allocation_may_fail)
{
    resmon_run *run = made_run("stopped", 12);
    fail_each(RM_FAULT_ALLOC, print_labelled, run, 3);
    rm_run_free(run);
}

TEST_FILE(.tear_down = is_left_empty);

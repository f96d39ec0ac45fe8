/* SPDX-License-Identifier: MIT */
/*
 * Runs from memory and as text: what resmon_run_parse() makes of some bytes is what
 * resmon_run_load() makes of a file of them, failure or not; and a document that is parsed is
 * printed as it was.
 */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "format/document.h"
#include "format/json.h"
#include "os/file.h"
#include "os/mapping.h"
#include "random.h"
#include "run/record.h"
#include "store/block.h"

static char record_path[128], json_path[128], made_path[128];
static bool has_documents;

struct bytes {
    char *data;
    size_t length;
};

static struct bytes bytes_of(const char *path)
{
    struct bytes content = {NULL, 0};
    content.data = content_of(path, &content.length);
    assert_non_null(content.data);
    return content;
}

/* From memory of its own that ends with the last byte, at an odd address, and is gone afterwards:
 * a sanitizer sees a byte too many, and whatever is kept. */
static resmon_status parse(const void *data, size_t length, resmon_run **ret_run)
{
    char *memory = malloc(length + 1);
    assert_non_null(memory);
    if (length > 0) {
        memcpy(memory + 1, data, length);
    }
    resmon_status status = resmon_run_parse(memory + 1, length, ret_run);
    memset(memory, 0x55, length + 1);
    free(memory);
    return status;
}

static char *document_of(const resmon_run *run)
{
    char *text = NULL;
    assert_ok(resmon_run_document(run, &text));
    assert_non_null(text);
    return text;
}

static void assert_same_runs(const resmon_run *a, const resmon_run *b)
{
    resmon_run_info info_a = {.struct_size = sizeof info_a}, info_b = info_a;
    assert_ok(resmon_run_get_info(a, &info_a));
    assert_ok(resmon_run_get_info(b, &info_b));
    assert_string_equal(info_a.state, info_b.state);
    assert_int_equal(info_a.samples, info_b.samples);
    assert_int_equal(resmon_run_column_count(a), resmon_run_column_count(b));
    assert_int_equal(resmon_run_row_count(a), resmon_run_row_count(b));
    assert_int_equal(resmon_run_scope_count(a), resmon_run_scope_count(b));
    if (has_documents) {
        char *text_a = document_of(a), *text_b = document_of(b);
        assert_string_equal(text_a, text_b);
        resmon_text_free(text_a);
        resmon_text_free(text_b);
    }
}

/* ---- a recording and its document ----------------------------------------------------------- */

static resmon_monitor *started(const char *record)
{
    resmon_monitor *monitor = NULL;
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .interval_ms = 1000,
                                            .rows = 8,
                                            .name = "parsed \xc3\xa9",
                                            .record = record,
                                            .scopes = RESMON_METER_ALL,
                                            .events = 8};
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    {
        RESMON_SCOPE("outer");
        RESMON_SCOPE("inner");
        assert_ok(resmon_monitor_sample_now(monitor));
    }
    assert_ok(resmon_monitor_tag(monitor, "mark"));
    return monitor;
}

TEST(a_recording_parses_as_it_loads)
{
    resmon_run *loaded = NULL, *parsed = NULL;
    struct bytes recording = bytes_of(record_path);
    assert_ok(resmon_run_load(record_path, &loaded));
    assert_ok(parse(recording.data, recording.length, &parsed));
    assert_same_runs(loaded, parsed);
    assert_int_equal(resmon_run_scope_count(parsed), 2);
    assert_string_equal(resmon_run_fact(parsed, "run", "name"), "parsed \xc3\xa9");
    resmon_run_free(loaded);
    resmon_run_free(parsed);
    free(recording.data);
}

/* Nobody can tell how long the copy of a mapped file took, and what was written meanwhile. */
TEST(a_copy_of_a_recording_in_use_is_refused)
{
    resmon_run *run = NULL;
    const char *usual = rm_memory_directory;
    rm_memory_directory = "/nonexistent";
    resmon_monitor *monitor = started(made_path);
    rm_memory_directory = usual;
    struct bytes recording = bytes_of(made_path);
    assert_status(RESMON_EBUSY, parse(recording.data, recording.length, &run));
    assert_null(run);
    assert_non_null(strstr(resmon_last_error(), "load the file"));
    assert_ok(resmon_run_load(made_path, &run));
    resmon_run_free(run);
    run = NULL;
    assert_ok(resmon_monitor_stop(monitor));
    free(recording.data);
    recording = bytes_of(made_path);
    assert_ok(parse(recording.data, recording.length, &run));
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    free(recording.data);
}

/* Where the run is in memory, the file has whole copies of it. */
TEST(a_copy_of_what_is_copied_out)
{
    resmon_run *run = NULL;
    resmon_run_info info = {.struct_size = sizeof info};
    if (rm_file_system_of("/tmp").is_memory || access("/dev/shm", W_OK) != 0) {
        print_message("skipped: /tmp is memory, or there is no /dev/shm\n");
        skip();
    }
    resmon_monitor *monitor = started(made_path);
    struct bytes recording = bytes_of(made_path);
    assert_ok(parse(recording.data, recording.length, &run));
    assert_ok(resmon_run_get_info(run, &info));
    assert_string_equal(info.state, "running");
    resmon_run_free(run);
    run = NULL;
    assert_status(RESMON_EFORMAT, parse(recording.data, recording.length / 4, &run));
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    free(recording.data);
}

TEST(the_recording_of_a_dead_program)
{
    resmon_run *loaded = NULL, *parsed = NULL;
    resmon_run_info info = {.struct_size = sizeof info};
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)started(made_path);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_ok(resmon_run_load(made_path, &loaded)); /* what was left in memory is in it now */
    struct bytes recording = bytes_of(made_path);
    assert_ok(parse(recording.data, recording.length, &parsed));
    assert_same_runs(loaded, parsed);
    assert_ok(resmon_run_get_info(parsed, &info));
    assert_string_equal(info.state, "interrupted");
    resmon_run_free(loaded);
    resmon_run_free(parsed);
    free(recording.data);
}

/* ---- what is neither ------------------------------------------------------------------------ */

/* The same code and the same sentence but for the name, and the same run; or fails the test. */
static void assert_parses_as_it_loads(const void *data, size_t length, const char *what)
{
    char expected[512];
    resmon_run *loaded = NULL, *parsed = NULL;
    put_content(made_path, data, length);
    resmon_status status = resmon_run_load(made_path, &loaded);
    (void)snprintf(expected, sizeof expected, "%s", resmon_last_error());
    resmon_status got = parse(data, length, &parsed);
    if (got != status) {
        fail_msg("%s: %s, but loaded %s", what, resmon_status_name(got),
                 resmon_status_name(status));
    }
    if (status == RESMON_OK) {
        assert_same_runs(loaded, parsed);
    } else {
        assert_null(parsed);
        assert_true(strcmp(resmon_last_error(), expected) == 0 ||
                    strncmp(resmon_last_error(), "the data", 8) == 0);
    }
    resmon_run_free(loaded);
    resmon_run_free(parsed);
}

TEST(arguments)
{
    resmon_run *run = NULL;
    char *text = NULL;
    struct resmon_run *blank = rm_run_new();
    assert_non_null(blank);
    assert_status(RESMON_EINVAL, resmon_run_parse(NULL, 0, &run));
    assert_status(RESMON_EINVAL, resmon_run_parse(NULL, 1, &run));
    assert_status(RESMON_EINVAL, resmon_run_parse("{}", 2, NULL));
    assert_status(RESMON_EFORMAT, resmon_run_parse("", 0, &run));
    assert_status(RESMON_EFORMAT, resmon_run_parse("{}", (size_t)RM_MAX_RUN_BYTES + 1, &run));
    assert_non_null(strstr(resmon_last_error(), "the data has 1073741825 bytes"));
    assert_null(run);
    assert_status(RESMON_EINVAL, resmon_run_document(NULL, &text));
    assert_status(RESMON_EINVAL, resmon_run_document(blank, NULL));
    assert_ok(resmon_run_document(blank, &text));
    assert_non_null(text);
    resmon_text_free(text);
    rm_run_free(blank);
}

/* Cut anywhere, with bytes flipped anywhere. */
static void damage(const struct bytes *whole, const char *what, int times)
{
    struct random random = {2027};
    char *copy = malloc(whole->length + 1);
    assert_non_null(copy);
    assert_parses_as_it_loads(whole->data, whole->length, what);
    for (int i = 0; i < times; i++) {
        size_t length = i % 2 == 0 ? whole->length : (size_t)random_below(&random, whole->length);
        memcpy(copy, whole->data, length);
        for (uint64_t n = random_below(&random, 4); n > 0 && length > 0; n--) {
            copy[random_below(&random, length)] ^= (char)(1U << random_below(&random, 8));
        }
        assert_parses_as_it_loads(copy, length, what);
    }
    free(copy);
}

/* Every seed of the fuzz targets, and damaged ones: as a file and as memory alike. */
TEST(the_corpus_of_the_fuzzer)
{
    static const char *const kinds[] = {"document", "recording"};
    const char *fixtures = getenv("RESMON_FIXTURES");
    size_t files = 0;
    if (fixtures == NULL) {
        print_message("skipped: RESMON_FIXTURES is not set (CTest sets it)\n");
        skip();
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%.512s/../fuzz/corpus/%s", fixtures, kinds[i]);
        DIR *dir = opendir(path);
        assert_non_null(dir);
        for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
            if (entry->d_name[0] == '.') {
                continue;
            }
            (void)snprintf(path, sizeof path, "%.512s/../fuzz/corpus/%s/%.255s", fixtures, kinds[i],
                           entry->d_name);
            struct bytes seed = bytes_of(path);
            damage(&seed, path, 40);
            free(seed.data);
            files++;
        }
        (void)closedir(dir);
    }
    assert_true(files >= 10);
}

TEST(a_damaged_recording)
{
    struct bytes recording = bytes_of(record_path);
    damage(&recording, "a damaged recording", 40);
    free(recording.data);
}

TEST(nothing_is_left_behind)
{
    struct bytes recording = bytes_of(record_path);
    int64_t before = rm_fault_live(0);
    resmon_run *run = NULL;
    char *text = NULL;
    assert_ok(parse(recording.data, recording.length, &run));
    if (has_documents && resmon_run_document(run, &text) == RESMON_OK) {
        resmon_run_free(run);
        run = NULL;
        assert_ok(parse(text, strlen(text), &run));
        resmon_text_free(text);
    }
    resmon_run_free(run);
    run = NULL;
    assert_ok(parse(recording.data, recording.length / 2, &run)); /* as far as it goes */
    assert_non_null(resmon_run_fact(run, "run", "cut"));
    resmon_run_free(run);
    run = NULL;
    assert_status(RESMON_EFORMAT, parse(recording.data, 8192, &run));
    assert_int_equal(rm_fault_live(0), before);
    free(recording.data);
}

FIXTURE(set_up)
{
    (void)snprintf(record_path, sizeof record_path, "%s/run.rec", test_directory);
    (void)snprintf(json_path, sizeof json_path, "%s/run.json", test_directory);
    (void)snprintf(made_path, sizeof made_path, "%s/made", test_directory);
    has_documents = rm_json_check() == RESMON_OK;
    if (!has_documents) {
        print_message("skipped here: documents: %s\n", resmon_last_error());
    }
    resmon_run *run = NULL;
    resmon_monitor *monitor = started(record_path);
    resmon_status status = resmon_monitor_stop(monitor);
    resmon_monitor_free(monitor);
    if (status == RESMON_OK && has_documents) {
        status = resmon_run_load(record_path, &run);
        status = status == RESMON_OK ? resmon_run_save(run, json_path) : status;
        resmon_run_free(run);
    }
    return status == RESMON_OK ? 0 : -1;
}

FIXTURE(tear_down)
{
    (void)unlink(record_path);
    (void)unlink(json_path);
    (void)unlink(made_path);
    return is_left_empty(state);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);

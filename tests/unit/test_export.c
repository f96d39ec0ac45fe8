/* SPDX-License-Identifier: MIT */
/*
 * A run that is over, given to a sink by name: what is written is what the format's own function
 * writes; and which sink a file is of.
 */
#include "runs.h"

#include <stdlib.h>
#include <sys/stat.h>

static resmon_run *made(void)
{
    const resmon_monitor_options options = {
        .name = "export",
        .command = "/opt/py/bin/python3 -u /home/ann/train.py --token ...",
    };
    resmon_monitor *monitor = start_with(&options);
    assert_ok(resmon_monitor_sample_now(monitor));
    return finish(monitor);
}

static void check_alike(const char *path, const char *other)
{
    char *one = content_of(path, NULL);
    char *two = content_of(other, NULL);
    assert_true(one[0] != '\0');
    assert_string_equal(one, two);
    free(one);
    free(two);
}

TEST(files_are_those_of_the_format)
{
    static const struct {
        const char *sink;
        resmon_status (*save)(const resmon_run *run, const char *path);
    } formats[] = {
        {"json", resmon_run_save},
        {"csv", resmon_run_save_csv},
    };
    resmon_run *run = made();
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const char *path = path_of("by-sink");
        const char *other = path_of("by-function");
        assert_ok(resmon_run_export(run, formats[i].sink, path));
        assert_ok(formats[i].save(run, other));
        check_alike(path, other);
    }
    resmon_run_free(run);
}

TEST(the_textfile_stays)
{
    resmon_run *run = made();
    const char *folder = path_of("textfile");
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_ok(resmon_run_export(run, "prometheus", folder));
    assert_int_equal(count_files_in(folder), 1);
    resmon_run_free(run);
}

TEST(what_is_wrong_is_refused)
{
    resmon_run *run = made();
    char missing[600];
    (void)snprintf(missing, sizeof missing, "%s/none/run.json", test_directory);
    assert_int_equal(resmon_run_export(NULL, "json", "x"), RESMON_EINVAL);
    assert_int_equal(resmon_run_export(run, NULL, "x"), RESMON_EINVAL);
    assert_int_equal(resmon_run_export(run, "jsno", "x"), RESMON_EINVAL);
    assert_non_null(strstr(resmon_last_error(), "did you mean 'json'"));
    assert_int_equal(resmon_run_export(run, "json", NULL), RESMON_EINVAL);
    assert_int_equal(resmon_run_export(run, "json", "x,speed=3"), RESMON_EINVAL);
    assert_int_equal(resmon_run_export(run, "json", missing), RESMON_ENOENT);
    resmon_run_free(run);
}

TEST(a_file_tells_its_sink)
{
    static const struct {
        const char *path, *sink;
    } files[] = {
        {"run.json", "json"}, {"a/b.csv", "csv"},       {"run.trace.json", "trace"},
        {"x.pb.gz", "pprof"}, {"cpu.folded", "folded"}, {".json", NULL},
        {"json", NULL},       {"run.xls", NULL},        {"", NULL},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        resmon_sink_kind kind = {.struct_size = sizeof kind};
        resmon_status status = resmon_sink_kind_of_file(files[i].path, &kind);
        assert_int_equal(status, files[i].sink != NULL ? RESMON_OK : RESMON_ENOENT);
        if (files[i].sink != NULL) {
            assert_string_equal(kind.name, files[i].sink);
            assert_string_equal(kind.main, "path");
        }
    }
    assert_non_null(strstr(resmon_last_error(), ".pb.gz"));
    assert_int_equal(resmon_sink_kind_of_file(NULL, NULL), RESMON_EINVAL);
}

TEST(the_command_is_what_was_said)
{
    resmon_run *run = made();
    assert_string_equal(resmon_run_fact(run, "run", "program"), "train.py");
    assert_string_equal(resmon_run_fact(run, "run", "executable"), "/opt/py/bin/python3");
    assert_string_equal(resmon_run_fact(run, "run", "command_line"),
                        "/opt/py/bin/python3 -u /home/ann/train.py --token ...");
    resmon_run_free(run);
}

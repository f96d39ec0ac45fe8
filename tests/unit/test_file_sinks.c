/* SPDX-License-Identifier: MIT */
/*
 * format/csv, sink/document_sink: what is in the files while a program runs and at its end, and
 * what a full disk, a planted link or a program that closes our descriptors do to them.
 */
#define _GNU_SOURCE /* mount, syncfs */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "format/json.h"

#include "os/outfile.h"

/* The file as lines; empty when it is not there. */
struct lines {
    char *text;
    char *line[4096];
    size_t count;
};

static struct lines lines_of(const char *path)
{
    struct lines lines = {0};
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return lines;
    }
    size_t room = 0;
    FILE *memory = open_memstream(&lines.text, &room);
    assert_non_null(memory);
    for (int c; (c = fgetc(file)) != EOF;) {
        (void)fputc(c, memory);
    }
    (void)fclose(memory);
    (void)fclose(file);
    for (char *at = lines.text; *at != '\0' && lines.count < 4096;) {
        char *end = strchr(at, '\n');
        assert_non_null(end); /* no half line, ever */
        *end = '\0';
        lines.line[lines.count++] = at;
        at = end + 1;
    }
    return lines;
}

/* Cell `index` of a line without quotes. */
static const char *cell(const char *line, size_t index)
{
    static char text[256];
    for (size_t i = 0; i < index; i++) {
        line = strchr(line, ',');
        assert_non_null(line);
        line++;
    }
    (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(line, ","), line);
    return text;
}

static size_t cell_named(const char *head, const char *name)
{
    size_t index = 0;
    for (const char *at = head; at != NULL; at = strchr(at, ','), index++) {
        at += *at == ',' ? 1 : 0;
        if (strcspn(at, ",") == strlen(name) && strncmp(at, name, strlen(name)) == 0) {
            return index;
        }
    }
    fail_msg("no column %s in %s", name, head);
    return 0;
}

static resmon_monitor *make_every(uint64_t interval_ms)
{
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = {.struct_size = sizeof options,
                                      .interval_ms = interval_ms,
                                      .domains = RESMON_DOMAIN_PROCESS};
    assert_ok(resmon_monitor_new(&options, &monitor));
    return monitor;
}

static resmon_monitor *make(void)
{
    return make_every(5);
}

static void add_csv(resmon_monitor *monitor, const char *path, uint64_t flags)
{
    const resmon_csv_options options = {
        .struct_size = sizeof options, .path = path, .flags = flags};
    assert_ok(resmon_monitor_add_csv(monitor, &options));
}

static uint64_t samples_of(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    resmon_run_info info = {.struct_size = sizeof info};
    assert_ok(resmon_monitor_summary(monitor, &run));
    assert_ok(resmon_run_get_info(run, &info));
    resmon_run_free(run);
    return info.samples;
}

/* ---- csv ------------------------------------------------------------------------------------ */

TEST(every_sample_is_a_line)
{
    resmon_monitor *monitor = make();
    add_csv(monitor, path_of("all.csv"), 0);
    assert_ok(resmon_monitor_start(monitor));
    for (int i = 0; i < 20; i++) {
        assert_ok(resmon_monitor_sample_now(monitor));
    }
    assert_ok(resmon_monitor_tag(monitor, "half, \"way\""));
    assert_ok(resmon_monitor_sample_now(monitor));
    assert_ok(resmon_monitor_tag(monitor, "late"));
    assert_ok(resmon_monitor_stop(monitor));
    struct lines csv = lines_of(path_of("all.csv"));
    struct lines columns = lines_of(path_of("all-columns.csv"));
    uint64_t samples = samples_of(monitor);
    assert_int_equal(csv.count, 1 + samples);
    assert_string_equal(cell(csv.line[0], 0), "time_s");
    assert_int_equal(cell_named(csv.line[0], "tag") + 1, columns.count - 1);
    assert_non_null(strstr(columns.text + strlen(columns.line[0]) + 1, "time_s,"));
    size_t quoted = 0, late = 0;
    for (size_t i = 1; i < csv.count; i++) {
        quoted += strstr(csv.line[i], ",\"half, \"\"way\"\"\"") != NULL ? 1 : 0;
        late += strstr(csv.line[i], ",late") != NULL ? 1 : 0;
    }
    assert_int_equal(quoted, 1);
    assert_int_equal(late, 1);
    /* The last line is the last sample. */
    resmon_run *run = NULL;
    size_t column;
    resmon_column rss = {.struct_size = sizeof rss};
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    assert_ok(resmon_run_find_column(run, "proc.mem.rss", NULL, &column));
    assert_ok(resmon_run_get_column(run, column, &rss));
    size_t at = cell_named(csv.line[0], "proc.mem.rss");
    assert_true(strtod(cell(csv.line[csv.count - 1], at), NULL) == rss.last);
    assert_true(strtod(cell(csv.line[1], at), NULL) == rss.first);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    free(csv.text);
    free(columns.text);
}

/* While the disk is full lines are lost and counted; the file stays whole and goes on afterwards.
 */
TEST(a_full_disk_costs_lines_only)
{
    const char *disk = path_of("disk");
    if (mkdir(disk, 0755) != 0 || mount("tmpfs", disk, "tmpfs", 0, "size=64k") != 0) {
        print_message("not checked here: a full disk (needs root to mount a small one)\n");
        return;
    }
    resmon_monitor *monitor = make();
    add_csv(monitor, path_of("disk/run.csv"), 0);
    assert_ok(resmon_monitor_start(monitor));
    resmon_sink_info info = {.struct_size = sizeof info};
    while (info.failures == 0) {
        assert_ok(resmon_monitor_sample_now(monitor));
        assert_ok(resmon_monitor_get_sink(monitor, 0, &info));
    }
    assert_int_equal(info.status, RESMON_ENOSPC);
    assert_int_equal(mount("tmpfs", disk, "tmpfs", MS_REMOUNT, "size=1m"), 0);
    for (int i = 0; i < 5; i++) {
        assert_ok(resmon_monitor_sample_now(monitor));
    }
    assert_status(RESMON_ENOSPC, resmon_monitor_stop(monitor));
    assert_non_null(strstr(resmon_last_error(), "could not be written"));
    struct lines csv = lines_of(path_of("disk/run.csv"));
    uint64_t samples = samples_of(monitor);
    assert_true(csv.count > 5 && csv.count < 1 + samples);
    assert_true(strtod(cell(csv.line[csv.count - 1], 0), NULL) > 0.0);
    resmon_monitor_free(monitor);
    free(csv.text);
    assert_int_equal(umount(disk), 0);
}

TEST(no_other_file_is_written_to)
{
    const char *victim = path_of("victim");
    int fd = open(victim, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(fd, "precious", 8), 8);
    assert_int_equal(symlink(victim, path_of("link.csv")), 0);
    assert_int_equal(mkfifo(path_of("pipe.csv"), 0600), 0);
    resmon_monitor *monitor = make();
    const char *const bad[] = {"link.csv", "pipe.csv", ".", "none/run.csv"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        resmon_csv_options csv = {.struct_size = sizeof csv, .path = path_of(bad[i])};
        resmon_json_options json = {.struct_size = sizeof json, .path = path_of(bad[i])};
        assert_true(resmon_monitor_add_csv(monitor, &csv) < RESMON_OK);
        assert_true(resmon_monitor_add_json(monitor, &json) < RESMON_OK);
    }
    /* Planted after the look. */
    add_csv(monitor, path_of("planted.csv"), 0);
    assert_int_equal(symlink(victim, path_of("planted.csv")), 0);
    assert_ok(resmon_monitor_start(monitor));
    assert_status(RESMON_EINVAL, resmon_monitor_stop(monitor)); /* it has nothing of the run */
    resmon_sink_info info = {.struct_size = sizeof info};
    assert_ok(resmon_monitor_get_sink(monitor, 0, &info));
    assert_int_equal(info.status, RESMON_EINVAL);
    assert_int_equal(info.end_status, RESMON_EINVAL);
    assert_int_equal(info.is_off, 1);
    resmon_monitor_free(monitor);
    char content[16] = "";
    assert_int_equal(pread(fd, content, sizeof content, 0), -1); /* write only */
    struct stat now;
    assert_int_equal(fstat(fd, &now), 0);
    assert_int_equal(now.st_size, 8);
    (void)close(fd);
}

/* A daemon closes every descriptor, and its log gets our number. */
TEST(a_program_that_closes_our_descriptor)
{
    resmon_monitor *monitor = make_every(3600000); /* quiet while descriptors go */
    int others[512];
    add_csv(monitor, path_of("closed.csv"), 0);
    assert_ok(resmon_monitor_start(monitor));
    assert_ok(resmon_monitor_sample_now(monitor));
    resmon_sink_info info = {.struct_size = sizeof info};
    while (info.calls < 3) { /* start, and two samples */
        assert_ok(resmon_monitor_get_sink(monitor, 0, &info));
    }
    for (int fd = 3; fd < 400; fd++) {
        (void)close(fd);
    }
    size_t opened = 0;
    for (int i = 0; i < 390; i++) { /* or as many as there may be */
        others[opened] = open(path_of("log"), O_CREAT | O_RDWR, 0600);
        opened += others[opened] >= 0 ? 1 : 0;
    }
    for (int i = 0; i < 10; i++) {
        assert_ok(resmon_monitor_sample_now(monitor));
    }
    assert_ok(resmon_monitor_stop(monitor));
    struct stat log;
    assert_int_equal(stat(path_of("log"), &log), 0);
    assert_int_equal(log.st_size, 0);
    struct lines csv = lines_of(path_of("closed.csv"));
    assert_int_equal(csv.count, 1 + samples_of(monitor));
    resmon_monitor_free(monitor);
    for (size_t i = 0; i < opened; i++) {
        (void)close(others[i]);
    }
    free(csv.text);
}

/* ---- json ----------------------------------------------------------------------------------- */

TEST(checkpoints_come_and_the_last_is_final)
{
    if (rm_json_check() != RESMON_OK) {
        print_message("skipped: %s\n", resmon_last_error());
        skip();
    }
    resmon_monitor *monitor = make();
    resmon_json_options options = {
        .struct_size = sizeof options, .path = path_of("run.json"), .interval_ms = 10};
    resmon_json_options final = {.struct_size = sizeof final,
                                 .path = path_of("late/final.json"),
                                 .flags = RESMON_JSON_FINAL_ONLY};
    resmon_run *run = NULL;
    resmon_run_info info = {.struct_size = sizeof info};
    assert_ok(resmon_monitor_add_json(monitor, &options));
    assert_status(RESMON_ENOENT, resmon_monitor_add_json(monitor, &final));
    final.flags |= RESMON_JSON_LATE;
    assert_ok(resmon_monitor_add_json(monitor, &final));
    assert_ok(resmon_monitor_start(monitor));
    for (int documents = 0; documents < 3;) {
        if (resmon_run_load(path_of("run.json"), &run) == RESMON_OK) {
            assert_ok(resmon_run_get_info(run, &info));
            assert_string_equal(info.state, "running");
            resmon_run_free(run);
            assert_int_equal(unlink(path_of("run.json")), 0);
            documents++;
        }
    }
    assert_int_equal(mkdir(path_of("late"), 0755), 0);
    assert_ok(resmon_monitor_stop(monitor));
    static const char *const documents[] = {"run.json", "late/final.json"};
    for (size_t i = 0; i < 2; i++) {
        assert_ok(resmon_run_load(path_of(documents[i]), &run));
        assert_ok(resmon_run_get_info(run, &info));
        assert_string_equal(info.state, "stopped");
        assert_int_equal(info.samples, samples_of(monitor));
        resmon_run_free(run);
    }
    resmon_sink_info sink = {.struct_size = sizeof sink};
    assert_ok(resmon_monitor_get_sink(monitor, 1, &sink));
    assert_int_equal(sink.calls, 1);
    resmon_monitor_free(monitor);
}

/* Two would write over each other: the first keeps its file, the second says what to do. */
TEST(a_file_has_one_writer)
{
    static const char path[] = "test_file_sinks_shared.csv";
    static struct rm_appendfile first, second;
    char text[8] = "";
    (void)unlink(path); /* of a run that was killed */
    assert_ok(rm_appendfile_open(&first, path));
    assert_ok(rm_appendfile_add(&first, "one", 3));
    assert_status(RESMON_EBUSY, rm_appendfile_open(&second, path));
    assert_non_null(strstr(resmon_last_error(), "%p"));
    assert_ok(rm_appendfile_add(&first, "two", 3));
    rm_appendfile_close(&first);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text - 1, file), 6);
    (void)fclose(file);
    assert_string_equal(text, "onetwo");
    assert_ok(rm_appendfile_open(&second, path));
    rm_appendfile_close(&second);
    assert_int_equal(unlink(path), 0);
}

/* In a container, the next start has the same pid, and the same names for temporary files. */
TEST(what_a_killed_process_left)
{
    static const char path[] = "test_file_sinks_left.txt";
    static struct rm_outfile file;
    char left[16][128];
    assert_ok(rm_outfile_open(&file, path, 0));
    unsigned serial = 0;
    assert_int_equal(sscanf(strstr(file.temporary, ".txt."), ".txt.%*d.%u", &serial), 1);
    rm_outfile_abandon(&file);
    for (unsigned i = 0; i < 16; i++) {
        (void)snprintf(left[i], sizeof left[i], "%s.%ld.%u.tmp", path, (long)getpid(),
                       serial + 1 + i);
        assert_int_equal(close(open(left[i], O_CREAT | O_WRONLY, 0600)), 0);
    }
    assert_ok(rm_outfile_open(&file, path, 0));
    assert_ok(rm_outfile_commit(&file));
    assert_int_equal(unlink(path), 0);
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(unlink(left[i]), 0);
    }
}

/* The program closes what it does not know, and reads the file under our number. */
TEST(a_program_that_opens_the_same_file)
{
    static const char path[] = "test_file_sinks_same.csv";
    static struct rm_appendfile file, other;
    char text[8] = "";
    (void)unlink(path); /* of a run that was killed */
    assert_ok(rm_appendfile_open(&file, path));
    assert_ok(rm_appendfile_add(&file, "one", 3));
    int number = rm_kept_fd(&file.file);
    assert_int_equal(close(number), 0);
    int own = open(path, O_RDONLY);
    assert_int_equal(own, number);
    assert_ok(rm_appendfile_add(&file, "two", 3));
    assert_status(RESMON_EBUSY, rm_appendfile_open(&other, path)); /* locked again */
    assert_int_equal(read(own, text, sizeof text - 1), 6);
    assert_string_equal(text, "onetwo");
    rm_appendfile_close(&file);
    assert_int_equal(close(own), 0);
    assert_int_equal(unlink(path), 0);
}

/* ---- without a working directory ------------------------------------------------------------ */

/* In a directory that was removed; RESMON_OK when all is as it should be. */
static int try_without_directory(void)
{
    resmon_monitor *monitor = make();
    resmon_run *run = NULL;
    resmon_json_options json = {
        .struct_size = sizeof json, .path = "run.json", .flags = RESMON_JSON_LATE};
    resmon_csv_options csv = {.struct_size = sizeof csv, .path = "run.csv"};
    assert_ok(resmon_monitor_start(monitor));
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    monitor = make();
    int failed = resmon_monitor_add_json(monitor, &json) != RESMON_EINVAL ||
                 strstr(resmon_last_error(), "working directory") == NULL ||
                 resmon_monitor_add_csv(monitor, &csv) != RESMON_EINVAL ||
                 resmon_run_save(run, "run.json") != RESMON_ENOENT;
    resmon_monitor_free(monitor);
    resmon_run_free(run);
    return failed;
}

TEST(without_a_working_directory)
{
    int status;
    if (rm_json_check() != RESMON_OK) {
        print_message("skipped: %s\n", resmon_last_error());
        skip();
    }
    assert_int_equal(mkdir(path_of("gone"), 0755), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(chdir(path_of("gone")) != 0 || rmdir(path_of("gone")) != 0 ? 2
                                                                         : try_without_directory());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A file without a name: nothing is written beside it. */
TEST(an_empty_path)
{
    struct rm_outfile *file = calloc(1, sizeof *file);
    assert_non_null(file);
    assert_status(RESMON_EINVAL, rm_outfile_open(file, "", 0));
    assert_string_equal(file->temporary, "");
    free(file);
}

/* Two of one file would replace each other's, and nobody would say so. */
TEST(sinks_of_one_monitor_share_no_file)
{
    char again[300];
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = {.struct_size = sizeof options,
                                      .interval_ms = 3600000,
                                      .domains = RESMON_DOMAIN_PROCESS,
                                      .record = path_of("one.rec")};
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_add(monitor, "json", path_of("one.json")));
    assert_status(RESMON_EBUSY, resmon_monitor_add(monitor, "csv", path_of("one.json")));
    assert_non_null(strstr(resmon_last_error(), "is written by json already"));
    assert_status(RESMON_EBUSY, resmon_monitor_add(monitor, "json", path_of("one.rec")));
    assert_non_null(strstr(resmon_last_error(), "is written by record already"));
    (void)snprintf(again, sizeof again, "%s/../%s/one.json", test_directory,
                   strrchr(test_directory, '/') + 1);
    assert_status(RESMON_EBUSY, resmon_monitor_add(monitor, "trace", again));
    assert_ok(resmon_monitor_add(monitor, "trace", path_of("one.trace")));
    assert_ok(resmon_monitor_start(monitor));
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    /* The next monitor may. */
    monitor = make();
    assert_ok(resmon_monitor_add(monitor, "csv", path_of("one.json")));
    resmon_monitor_free(monitor);
    assert_int_equal(unlink(path_of("one.rec")), 0);
    assert_int_equal(unlink(path_of("one.json")), 0);
    assert_int_equal(unlink(path_of("one.trace")), 0);
}

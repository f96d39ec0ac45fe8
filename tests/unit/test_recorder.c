/* SPDX-License-Identifier: MIT */
/*
 * Recordings whose run is in memory: what the file has while the program runs, when its memory is
 * gone, when it died; what others put in the memory's place; and where there is no memory.
 */
#define _GNU_SOURCE /* mkdtemp, chroot */
#include "runs.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/recorder.h"
#include "os/file.h"
#include "os/mapping.h"
#include "record/block_copy.h"
#include "record/record_file.h"
#include "record/recording.h"

static char memory[] = "/dev/shm/resmon-test-recorder-XXXXXX";
static char record[128];

static resmon_monitor *start_recording(const char *path)
{
    const resmon_monitor_options options = {.record = path, .rows = 16, .scope_paths = 16};
    return start_with(&options);
}

/* The one memory file that there is; "": none. */
static const char *memory_name(void)
{
    static char name[RM_MEMORY_NAME_BYTES];
    size_t count;
    char(*names)[RM_MEMORY_NAME_BYTES] = rm_memory_file_list(&count);
    (void)snprintf(name, sizeof name, "%s", count > 0 ? names[0] : "");
    rm_free(names);
    return name;
}

static uint64_t size_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (uint64_t)info.st_size;
}

static resmon_run_info info_in(const char *path)
{
    resmon_run *run = NULL;
    resmon_run_info info = {.struct_size = sizeof info};
    assert_ok(resmon_run_load(path, &run));
    assert_ok(resmon_run_get_info(run, &info));
    resmon_run_free(run);
    return info;
}

/* In a child, which dies without a word after `samples` more of them. */
static pid_t run_and_die(const char *path, int samples)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        resmon_monitor *monitor = start_recording(path);
        for (int i = 0; i < samples; i++) {
            (void)resmon_monitor_sample_now(monitor);
        }
        (void)raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    return child;
}

/* ---- while it runs, and at its end ---------------------------------------------------------- */

TEST(the_end_is_a_file_like_any_other)
{
    struct rm_block_header header;
    resmon_monitor *monitor = start_recording(record);
    assert_string_not_equal(memory_name(), "");
    uint64_t running = size_of(record);
    assert_ok(resmon_monitor_sample_now(monitor));
    assert_int_equal(info_in(record).samples, 2); /* from the memory: it is newer */
    assert_string_equal(info_in(record).state, "running");
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    assert_string_equal(memory_name(), "");
    assert_true(size_of(record) < running);
    int fd = open(record, O_RDONLY);
    assert_int_equal(read(fd, &header, sizeof header), sizeof header);
    (void)close(fd);
    assert_int_equal(header.image, 0);
    assert_int_equal(header.total_bytes, size_of(record));
    assert_string_equal(info_in(record).state, "stopped");
    assert_int_equal(info_in(record).samples, 3);
}

static resmon_run *load_cut(uint64_t bytes)
{
    static char buffer[1 << 16];
    char cut[160];
    resmon_run *run = NULL;
    (void)snprintf(cut, sizeof cut, "%s.cut", record);
    int from = open(record, O_RDONLY), to = open(cut, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(from >= 0 && to >= 0);
    for (uint64_t left = bytes; left > 0;) {
        size_t portion = left < sizeof buffer ? (size_t)left : sizeof buffer;
        ssize_t got = read(from, buffer, portion);
        assert_true(got > 0);
        assert_int_equal(write(to, buffer, (size_t)got), got);
        left -= (uint64_t)got;
    }
    (void)close(from);
    (void)close(to);
    resmon_status status = resmon_run_load(cut, &run);
    assert_true(status == RESMON_OK || status == RESMON_EFORMAT);
    return status == RESMON_OK ? run : NULL;
}

/* What is there is as it was, what is not there is absent, and the run says that it was cut. */
static void check_cut(const resmon_run *whole, const resmon_run *run)
{
    assert_non_null(resmon_run_fact(run, "run", "cut"));
    assert_null(resmon_run_fact(whole, "run", "cut"));
    assert_int_equal(run->column_count, whole->column_count);
    assert_true(run->row_count <= whole->row_count);
    for (size_t c = 0; c < run->column_count; c++) {
        const resmon_column *a = &run->columns[c], *b = &whole->columns[c];
        assert_int_equal(a->n, b->n);
        assert_true(b->n == 0 || (a->last == b->last && a->max == b->max));
        assert_true(isnan(a->p95) || a->p95 == b->p95);
    }
    for (size_t r = 0; r + 1 < run->row_count; r++) {
        assert_int_equal(run->t_last[r], whole->t_last[r]);
    }
    assert_true(run->tag_count <= whole->tag_count && run->scope_count <= whole->scope_count);
    for (size_t i = 0; i < run->tag_count; i++) {
        assert_string_equal(run->tags[i].label, whole->tags[i].label);
    }
    for (size_t i = 0; i < run->scope_count; i++) {
        assert_string_equal(run->scopes[i].name, whole->scopes[i].name);
        assert_int_equal(run->scopes[i].calls, whole->scopes[i].calls);
        assert_true(run->scopes[i].cpu_calls == 0 ||
                    run->scopes[i].cpu_calls == whole->scopes[i].cpu_calls);
        assert_true(isnan(run->scopes[i].energy_j) ||
                    run->scopes[i].energy_j == whole->scopes[i].energy_j);
    }
}

TEST(what_is_in_front_of_a_cut_is_loaded)
{
    const resmon_monitor_options options = {
        .record = record, .rows = 16, .scope_paths = 16, .scopes = RESMON_METER_ALL, .events = 16};
    resmon_monitor *monitor = start_with(&options);
    resmon_run *whole = NULL;
    for (int i = 0; i < 20; i++) {
        RESMON_SCOPE("work");
        assert_ok(resmon_monitor_tag(monitor, i % 2 == 0 ? "even" : "odd"));
        assert_ok(resmon_monitor_sample_now(monitor));
    }
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    assert_ok(resmon_run_load(record, &whole));
    const uint64_t bytes = size_of(record), step = bytes / 100 / 512 * 512 + 512;
    unsigned loaded = 0, refused = 0;
    for (uint64_t cut = step / 2; cut < bytes; cut += step) {
        resmon_run *run = load_cut(cut);
        if (run != NULL) {
            check_cut(whole, run);
            loaded++;
        } else {
            assert_int_equal(loaded, 0); /* what loads, loads with more as well */
            refused++;
        }
        resmon_run_free(run);
    }
    assert_true(loaded > 2 * refused);
    resmon_run_free(whole);
}

/* A container goes, and its /dev/shm with it: the file is as of the last copy. */
TEST(without_its_memory)
{
    run_and_die(record, 3);
    rm_memory_file_remove(memory_name());
    assert_int_equal(info_in(record).samples, 1); /* of the start: none was copied after it */
    assert_string_equal(info_in(record).state, "interrupted");
}

TEST(of_the_dead_nothing_is_lost)
{
    run_and_die(record, 3);
    uint64_t before = size_of(record);
    assert_int_equal(info_in(record).samples, 4);
    assert_string_equal(memory_name(), ""); /* the two are one */
    assert_true(size_of(record) < before);
    assert_int_equal(info_in(record).samples, 4);
    assert_string_equal(info_in(record).state, "interrupted");
}

/* Somebody copies the recording, and looks at the copy first; or moves it. */
TEST(copied_and_moved)
{
    char command[256];
    const char *copy = path_of("copy"), *moved = path_of("moved");
    run_and_die(record, 3);
    (void)snprintf(command, sizeof command, "cp %s %s", record, copy);
    assert_int_equal(system(command), 0);
    assert_int_equal(info_in(copy).samples, 4);
    assert_string_not_equal(memory_name(), "");
    assert_int_equal(rename(record, moved), 0);
    assert_int_equal(info_in(moved).samples, 4);
    assert_string_equal(memory_name(), "");
    assert_int_equal(info_in(copy).samples, 4);
    assert_int_equal(unlink(copy) | unlink(moved), 0);
}

/* Others put something in its place, or in the file's. */
TEST(memory_that_is_another_s)
{
    char path[2 * RM_MEMORY_NAME_BYTES];
    run_and_die(record, 3);
    (void)snprintf(path, sizeof path, "%s/%s", memory, memory_name());
    assert_int_equal(rename(path, "moved"), 0);
    assert_int_equal(symlink("moved", path), 0);
    assert_int_equal(info_in(record).samples, 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(info_in(record).samples, 1);
    assert_int_equal(unlink(path), 0);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, (off_t)size_of("moved")), 0); /* zeroes */
    (void)close(fd);
    assert_int_equal(info_in(record).samples, 1);
    assert_int_equal(rename("moved", path), 0);
    if (geteuid() == 0 && chown(path, 12345, (gid_t)-1) == 0) {
        assert_int_equal(info_in(record).samples, 1);
        assert_int_equal(chown(path, 0, (gid_t)-1), 0);
    }
    assert_int_equal(info_in(record).samples, 4);
}

/* ---- what the dead left --------------------------------------------------------------------- */

static void wait_until_folded(void)
{
    while (memory_name()[0] != '\0') {
        (void)usleep(1000); /* on a thread of its own; CTest has the time limit */
    }
}

TEST(the_next_start_folds)
{
    char other[80];
    (void)snprintf(other, sizeof other, "%s/other", test_directory);
    run_and_die(record, 3);
    resmon_monitor *monitor = start_recording(other);
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    wait_until_folded();
    assert_int_equal(info_in(record).samples, 4);
    assert_int_equal(unlink(other), 0);
}

static const char *in_memory(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", memory, name);
    return path;
}

/* As if it had happened two days ago. */
static void make_old(const char *name)
{
    const struct timespec then = {.tv_sec = time(NULL) - 2 * 24 * 3600};
    assert_int_equal(utimensat(AT_FDCWD, in_memory(name), (struct timespec[2]){then, then}, 0), 0);
}

static void start_and_stop(const char *path)
{
    resmon_monitor *monitor = start_recording(path);
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
}

/* It may have been moved, or stand where this program cannot see it. */
TEST(what_nobody_finds_waits_for_a_day)
{
    char other[80];
    (void)snprintf(other, sizeof other, "%s/other", test_directory);
    run_and_die(record, 3);
    assert_int_equal(unlink(record), 0);
    start_and_stop(other);
    (void)usleep(20000); /* where it is removed wrongly, most often by now */
    assert_string_not_equal(memory_name(), "");
    make_old(memory_name());
    start_and_stop(other);
    wait_until_folded();
    assert_int_equal(unlink(other), 0);
}

TEST(a_recording_that_is_replaced_leaves_nothing)
{
    run_and_die(record, 3);
    start_and_stop(record);
    assert_string_equal(memory_name(), "");
    assert_int_equal(info_in(record).samples, 2);
}

/* Somebody else is putting it in: who loads meanwhile only looks. */
TEST(one_folds_at_a_time)
{
    struct rm_memory_file heir;
    run_and_die(record, 3);
    uint64_t before = size_of(record);
    assert_ok(rm_memory_file_open(&heir, memory_name(), geteuid(), RM_MAX_RUN_BYTES));
    assert_true(rm_memory_file_seize(&heir));
    assert_int_equal(info_in(record).samples, 4);
    assert_int_equal(size_of(record), before);
    assert_string_not_equal(memory_name(), "");
    rm_memory_file_close(&heir);
    assert_int_equal(info_in(record).samples, 4);
    assert_true(size_of(record) < before);
    assert_string_equal(memory_name(), "");
}

/* The file goes on under its new name, and so it does where its directory cannot be reached. */
TEST(moved_while_it_runs)
{
    const char *moved = path_of("moved");
    resmon_monitor *monitor = start_recording(record);
    assert_int_equal(rename(record, moved), 0);
    assert_ok(resmon_monitor_sample_now(monitor));
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    assert_int_equal(info_in(moved).samples, 3);
    assert_string_equal(info_in(moved).state, "stopped");
    assert_string_equal(memory_name(), "");
    assert_int_equal(unlink(moved), 0);
}

TEST(replaced_while_it_runs)
{
    const char *other = path_of("other");
    resmon_monitor *monitor = start_recording(record);
    resmon_monitor *second = start_recording(other);
    assert_int_equal(rename(other, record), 0);
    assert_status(RESMON_EBUSY, resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    assert_ok(resmon_monitor_stop(second));
    resmon_monitor_free(second);
    assert_string_equal(info_in(record).state, "stopped");
    assert_string_equal(memory_name(), "");
}

/* A daemon gives up its rights when it has begun. */
TEST(rights_that_are_given_up)
{
    if (geteuid() != 0) {
        print_message("skipped: only root has rights to give up\n");
        skip();
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        resmon_monitor *monitor = start_recording(record);
        bool is_given_up =
            chroot("/proc/self/fdinfo") == 0 && chdir("/") == 0 && setuid(65534) == 0;
        (void)resmon_monitor_sample_now(monitor);
        _exit(is_given_up && resmon_monitor_stop(monitor) == RESMON_OK ? 0 : 1);
    }
    assert_exits(child, 0);
    assert_int_equal(info_in(record).samples, 3);
    assert_string_equal(info_in(record).state, "stopped");
    assert_string_not_equal(memory_name(), ""); /* it could not be removed */
    start_and_stop(path_of("other"));
    wait_until_folded();
    assert_int_equal(unlink(path_of("other")), 0);
}

TEST(the_living_are_left_alone)
{
    char other[80];
    (void)snprintf(other, sizeof other, "%s/other", test_directory);
    resmon_monitor *monitor = start_recording(record);
    char *name = strdup(memory_name());
    struct rm_memory_file live;
    assert_ok(rm_memory_file_open(&live, name, geteuid(), RM_MAX_RUN_BYTES));
    assert_true(rm_memory_file_is_written(&live));
    assert_false(rm_memory_file_seize(&live));
    rm_memory_file_close(&live);
    resmon_monitor *second = start_recording(other);
    assert_ok(resmon_monitor_stop(second));
    resmon_monitor_free(second);
    assert_string_equal(memory_name(), name);
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    free(name);
    assert_int_equal(unlink(other), 0);
}

TEST(names_of_others)
{
    static const char *const names[] = {
        "resmon-0-1-2-3-4-5-6",     "resmon-x", "resmon-", "", "../../etc/passwd",
        "resmon-0-1-2-3-4-5-6-7-8", "other"};
    struct rm_memory_file file;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_status(RESMON_EFORMAT, rm_memory_file_open(&file, names[i], 0, 1));
        rm_memory_file_remove(names[i]);
    }
}

/* ---- copies --------------------------------------------------------------------------------- */

static const struct rm_block_hold nobody = {.begin = NULL};

/* Two places in turn: what is being written never harms the other. */
TEST(images_take_turns)
{
    struct rm_memory_file live;
    struct rm_infile still, file;
    struct rm_record_file copy;
    struct rm_block_header header;
    char target[80];
    resmon_monitor *monitor = start_recording(record);
    assert_ok(rm_memory_file_open(&live, memory_name(), geteuid(), RM_MAX_RUN_BYTES));
    const uint64_t bytes = live.content.bytes;
    (void)snprintf(target, sizeof target, "%s/copy", test_directory);
    struct rm_kept kept;
    assert_true(rm_kept_open(&kept, target, O_RDWR | O_CREAT | O_TRUNC));
    int fd = rm_kept_fd(&kept);
    assert_int_equal(ftruncate(fd, (off_t)rm_record_file_bytes(bytes)), 0);
    assert_ok(rm_record_file_open(&copy, &kept, target, bytes, true));
    uint64_t written[4];
    for (int i = 0; i < 4; i++) {
        uint64_t before = copy.written;
        assert_ok(resmon_monitor_sample_now(monitor));
        assert_ok(rm_block_copy_make(&live.content, &nobody, &still));
        assert_ok(rm_record_file_write(&copy, &still));
        rm_infile_close(&still);
        written[i] = copy.written - before;
        assert_ok(rm_infile_open(&file, target, RM_MAX_RUN_BYTES));
        assert_ok(rm_record_file_choose(&file, &header));
        assert_int_equal(header.image, i + 1);
        assert_int_equal(file.base != 0, i % 2);
        rm_infile_close(&file);
    }
    assert_true(written[3] < bytes / 2); /* only what has changed */
    /* The writer of image 5 dies early. */
    assert_int_equal(pwrite(fd, RM_BLOCK_PART_MAGIC, 8, 0), 8);
    assert_ok(rm_infile_open(&file, target, RM_MAX_RUN_BYTES));
    assert_ok(rm_record_file_choose(&file, &header));
    assert_int_equal(header.image, 4);
    rm_infile_close(&file);
    rm_record_file_close(&copy);
    rm_kept_close(&kept);
    rm_memory_file_close(&live);
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    assert_int_equal(unlink(target), 0);
}

static uint64_t image_of(const char *path)
{
    struct rm_infile file;
    struct rm_block_header header;
    assert_ok(rm_infile_open(&file, path, RM_MAX_RUN_BYTES));
    assert_ok(rm_record_file_choose(&file, &header));
    rm_infile_close(&file);
    return header.image;
}

/* A file whose copies are written is a recording at every instant: its first place is whole and
 * not, in turn. */
static void *turn_magic(void *path)
{
    static const char *const magics[] = {RM_BLOCK_MAGIC, RM_BLOCK_PART_MAGIC};
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    for (unsigned i = 0; i < 200000; i++) {
        (void)pwrite(fd, magics[i % 2], 8, 0);
    }
    (void)pwrite(fd, "?", 1, 0);
    (void)close(fd);
    return NULL;
}

TEST(a_file_that_is_written_is_a_recording)
{
    struct rm_infile file;
    pthread_t thread;
    char path[300], first = '\0';
    (void)snprintf(path, sizeof path, "%s/turning", test_directory);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, RM_BLOCK_MAGIC, 9) == 9);
    assert_ok(rm_infile_open(&file, path, RM_MAX_RUN_BYTES));
    assert_int_equal(pthread_create(&thread, NULL, turn_magic, path), 0);
    while (first != '?') {
        bool is_one = rm_recording_is(&file);
        assert_int_equal(pread(fd, &first, 1, 0), 1);
        assert_true(is_one || first == '?');
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    rm_infile_close(&file);
    (void)close(fd);
    assert_int_equal(unlink(path), 0);
}

static void copy_at(struct rm_recorder_pace pace)
{
    const struct rm_recorder_pace usual = rm_recorder_pace;
    rm_recorder_pace = pace;
    resmon_monitor *monitor = start_recording(record);
    while (image_of(record) < 2) { /* the thread is at work */
    }
    assert_ok(resmon_monitor_sample_now(monitor));
    char *name = strdup(memory_name());
    char from[2 * RM_MEMORY_NAME_BYTES], to[2 * RM_MEMORY_NAME_BYTES];
    (void)snprintf(from, sizeof from, "%s/%s", memory, name);
    (void)snprintf(to, sizeof to, "%s/away", memory);
    assert_int_equal(rename(from, to), 0); /* who loads has the file alone */
    while (info_in(record).samples < 2) {
    }
    assert_int_equal(rename(to, from), 0);
    free(name);
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    rm_recorder_pace = usual;
}

TEST(copies_come_now_and_then)
{
    copy_at((struct rm_recorder_pace){
        .usual_ns = RM_NS_PER_MS, .hurried_ns = RM_NS_PER_MS, .share = 1.0});
}

TEST(copies_come_often_where_memory_is_short)
{
    copy_at((struct rm_recorder_pace){.usual_ns = 3600 * RM_NS_PER_S,
                                      .hurried_ns = RM_NS_PER_MS,
                                      .short_bytes = UINT64_MAX,
                                      .share = 1.0});
}

/* To a file on another machine they are rare, and it is not mapped for want of memory. */
TEST(a_file_on_another_machine)
{
    enum { NFS = 0x6969 };
    resmon_monitor *monitor = NULL;
    const resmon_monitor_options options = {.struct_size = sizeof options, .record = record};
    rm_file_system_number = NFS;
    copy_at((struct rm_recorder_pace){.usual_ns = 3600 * RM_NS_PER_S,
                                      .remote_ns = RM_NS_PER_MS,
                                      .hurried_ns = RM_NS_PER_MS,
                                      .share = 1.0});
    rm_memory_directory = "/nonexistent";
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_status(RESMON_ENOTSUP, resmon_monitor_start(monitor));
    assert_non_null(strstr(resmon_last_error(), "record"));
    resmon_monitor_free(monitor);
    rm_memory_directory = memory;
    rm_file_system_number = 0;
}

/* The user removes the file, or puts another there: that one is left alone. */
TEST(the_file_is_taken_away)
{
    resmon_monitor *monitor = start_recording(record);
    assert_int_equal(unlink(record), 0);
    FILE *other = fopen(record, "w");
    assert_non_null(other);
    assert_true(fputs("mine", other) >= 0);
    assert_int_equal(fclose(other), 0);
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    assert_int_equal(size_of(record), 4);
    assert_string_equal(memory_name(), "");
}

/* ---- where there is no memory --------------------------------------------------------------- */

static char logged[512];

static void keep_line(void *context, int32_t level, const char *text)
{
    (void)context, (void)level;
    (void)snprintf(logged, sizeof logged, "%s", text);
}

TEST(without_memory_the_file_is_mapped)
{
    const char *const places[] = {"/nonexistent", test_directory};
    for (size_t i = 0; i < 2; i++) {
        logged[0] = '\0';
        resmon_set_log(keep_line, NULL, RESMON_LOG_WARNING);
        rm_memory_directory = places[i];
        resmon_monitor *monitor = start_recording(record);
        rm_memory_directory = memory;
        resmon_set_log(NULL, NULL, 0);
        assert_non_null(strstr(logged, rm_file_system_of(test_directory).name));
        assert_non_null(strstr(logged, places[i]));
        assert_string_equal(memory_name(), "");
        assert_ok(resmon_monitor_stop(monitor));
        resmon_monitor_free(monitor);
        assert_string_equal(info_in(record).state, "stopped");
    }
}

/* A recording that is in memory anyway needs no second place. */
TEST(a_file_in_memory_is_mapped)
{
    char path[80];
    (void)snprintf(path, sizeof path, "%s/run.rec", memory);
    resmon_monitor *monitor = start_recording(path);
    assert_string_equal(memory_name(), "");
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    assert_int_equal(unlink(path), 0);
}

/* In the child of a fork the parent's memory is nothing to remove. */
TEST(a_child_leaves_it_alone)
{
    resmon_monitor *monitor = start_recording(record);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        resmon_monitor_free(monitor);
        _exit(0);
    }
    assert_exits(child, 0);
    assert_string_not_equal(memory_name(), "");
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
}

FIXTURE(set_up)
{
    if (mkdtemp(memory) == NULL || rm_file_system_of(test_directory).is_memory ||
        chdir(memory) != 0) {
        print_message("skipped: /tmp is memory, or there is no /dev/shm\n");
        exit(77);
    }
    (void)snprintf(record, sizeof record, "%s/run.rec", test_directory);
    rm_memory_directory = memory;
    return rm_file_system_of(memory).is_memory ? 0 : -1;
}

FIXTURE(tear_down)
{
    return chdir("/") | remove_directory(memory);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);

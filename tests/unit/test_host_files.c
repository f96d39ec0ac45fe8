/* SPDX-License-Identifier: MIT */
/*
 * os/appendfile, os/outfile, sink/files: records that are whole, locks that hold,
 * places that are looked at, and no other file than the one that is meant.
 */
#define _GNU_SOURCE /* RLIM_SAVED_MAX and friends */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "os/file.h"
#include "os/outfile.h"
#include "sink/sinks.h"

static void assert_content(const char *path, const char *expected)
{
    char text[256] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    assert_int_equal(length, strlen(expected));
    assert_string_equal(text, expected);
}

static int descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    }
    return count;
}

/* ---- appendfile ----------------------------------------------------------------------------- */

TEST(records_are_appended)
{
    struct rm_appendfile file;
    const char *path = path_of("log");
    put_text(path, "old and longer than what comes");
    assert_ok(rm_appendfile_open(&file, path));
    assert_content(path, "");
    assert_ok(rm_appendfile_add(&file, "one\n", 4));
    assert_ok(rm_appendfile_add(&file, "", 0));
    assert_ok(rm_appendfile_add(&file, "two\n", 4));
    assert_ok(rm_appendfile_sync(&file));
    assert_content(path, "one\ntwo\n");
    assert_int_equal(file.bytes, 8);
    rm_appendfile_close(&file);
    rm_appendfile_close(&file);
    assert_ok(rm_appendfile_sync(&file)); /* nothing to do */
    assert_content(path, "one\ntwo\n");
}

TEST(a_record_that_fails_leaves_nothing)
{
    struct rm_appendfile file;
    const char *path = path_of("log");
    assert_ok(rm_appendfile_open(&file, path));
    assert_ok(rm_appendfile_add(&file, "one\n", 4));
    rm_fault_arm(RM_FAULT_WRITE, 0);
    assert_status(RESMON_ENOSPC, rm_appendfile_add(&file, "lost\n", 5));
    rm_fault_arm(RM_FAULT_WRITE, -1);
    assert_non_null(strstr(resmon_last_error(), path));
    assert_content(path, "one\n");
    assert_ok(rm_appendfile_add(&file, "two\n", 4));
    assert_content(path, "one\ntwo\n");
    rm_appendfile_close(&file);
}

/* A record that fits in half: the limit on the size of files cuts it, as a full disk does. */
TEST(half_a_record_is_taken_back)
{
    struct rm_appendfile file;
    struct rlimit before;
    const char *path = path_of("limited");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {.rlim_cur = 10, .rlim_max = before.rlim_max};
    struct sigaction old;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    assert_ok(rm_appendfile_open(&file, path));
    assert_ok(rm_appendfile_add(&file, "1234567\n", 8));
    (void)sigaction(SIGXFSZ, &ignore, &old);
    (void)setrlimit(RLIMIT_FSIZE, &small);
    resmon_status status = rm_appendfile_add(&file, "abcdefg\n", 8);
    (void)setrlimit(RLIMIT_FSIZE, &before);
    (void)sigaction(SIGXFSZ, &old, NULL);
    assert_true(status < RESMON_OK);
    assert_content(path, "1234567\n");
    assert_ok(rm_appendfile_add(&file, "abcdefg\n", 8));
    assert_content(path, "1234567\nabcdefg\n");
    rm_appendfile_close(&file);
}

TEST(only_a_regular_file_is_opened)
{
    struct rm_appendfile file;
    int before = descriptors();
    put_text(path_of("victim"), "precious");
    assert_int_equal(symlink(path_of("victim"), path_of("link")), 0);
    assert_int_equal(symlink(path_of("nowhere"), path_of("dangling")), 0);
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_status(RESMON_EINVAL, rm_appendfile_open(&file, path_of("link")));
    assert_status(RESMON_EINVAL, rm_appendfile_open(&file, path_of("dangling")));
    assert_status(RESMON_EINVAL, rm_appendfile_open(&file, path_of("pipe")));
    assert_status(RESMON_EINVAL, rm_appendfile_open(&file, test_directory));
    assert_status(RESMON_EINVAL, rm_appendfile_open(&file, "/dev/null"));
    assert_status(RESMON_ENOENT, rm_appendfile_open(&file, path_of("none/log")));
    rm_fault_arm(RM_FAULT_OPEN, 0);
    assert_true(rm_appendfile_open(&file, path_of("log")) < RESMON_OK);
    rm_fault_arm(RM_FAULT_OPEN, -1);
    assert_content(path_of("victim"), "precious");
    assert_true(access(path_of("nowhere"), F_OK) != 0);
    assert_int_equal(descriptors(), before);
}

/* The program closes the descriptor, and opens a file of its own under the number. */
TEST(the_descriptor_may_be_taken_away)
{
    struct rm_appendfile file;
    assert_ok(rm_appendfile_open(&file, path_of("log")));
    assert_ok(rm_appendfile_add(&file, "one\n", 4));
    int number = rm_kept_fd(&file.file);
    int other = open(path_of("other"), O_CREAT | O_TRUNC | O_RDWR, 0600);
    assert_int_equal(dup2(other, number), number);
    assert_ok(rm_appendfile_add(&file, "two\n", 4));
    assert_content(path_of("log"), "one\ntwo\n");
    assert_content(path_of("other"), "");
    assert_true(fcntl(number, F_GETFD) >= 0); /* theirs stays open */
    /* And somebody removes the file meanwhile. */
    (void)dup2(other, rm_kept_fd(&file.file));
    assert_int_equal(unlink(path_of("log")), 0);
    assert_status(RESMON_EIO, rm_appendfile_add(&file, "three\n", 6));
    assert_content(path_of("other"), "");
    rm_appendfile_close(&file);
    (void)close(number);
    (void)close(other);
}

/* ---- files that the program closes while they are at work ------------------------------------ */

/* Gives the number to a file of the program. */
static int take_over(int number)
{
    put_text(path_of("theirs"), "precious");
    int theirs = open(path_of("theirs"), O_RDWR | O_CLOEXEC);
    assert_true(theirs >= 0);
    assert_int_equal(dup2(theirs, number), number);
    return theirs;
}

static void give_back(int theirs, int number)
{
    assert_true(fcntl(number, F_GETFD) >= 0);
    assert_int_equal(lseek(number, 0, SEEK_CUR), 0);
    assert_int_equal(close(number), 0);
    assert_int_equal(close(theirs), 0);
    assert_content(path_of("theirs"), "precious");
}

TEST(a_document_in_the_middle)
{
    static struct rm_outfile file;
    put_text(path_of("whole"), "before");
    assert_ok(rm_outfile_open(&file, path_of("whole"), 0));
    assert_ok(rm_outfile_write(&file, "one", 3));
    int number = rm_kept_fd(&file.kept);
    int theirs = take_over(number);
    assert_status(RESMON_EIO, rm_outfile_write(&file, "two", 3));
    assert_non_null(strstr(resmon_last_error(), "the program closed"));
    assert_status(RESMON_EIO, rm_outfile_commit(&file));
    rm_outfile_abandon(&file);
    give_back(theirs, number);
    assert_content(path_of("whole"), "before");
}

/* All was written by then. */
TEST(a_document_at_its_end)
{
    static struct rm_outfile file;
    assert_ok(rm_outfile_open(&file, path_of("whole"), 0));
    assert_ok(rm_outfile_write(&file, "one", 3));
    int number = rm_kept_fd(&file.kept);
    int theirs = take_over(number);
    assert_ok(rm_outfile_rename(&file));
    give_back(theirs, number);
    assert_content(path_of("whole"), "one");
}

TEST(files_that_are_read)
{
    struct rm_infile read;
    put_text(path_of("worked"), "- one\n");
    assert_ok(rm_infile_open(&read, path_of("worked"), 100));
    int number = rm_kept_fd(&read.kept);
    int theirs = take_over(number);
    char bytes[6];
    assert_status(RESMON_EIO, rm_infile_read(&read, 0, bytes, sizeof bytes));
    rm_infile_close(&read);
    give_back(theirs, number);
}

/* ---- what is refused ------------------------------------------------------------------------ */

TEST(what_is_refused_is_not_left_open)
{
    struct rm_infile file;
    put_text(path_of("long"), "0123456789");
    size_t before = count_files_in("/proc/self/fd");
    for (int i = 0; i < 3; i++) {
        assert_true(rm_infile_open(&file, test_directory, 100) < RESMON_OK);
        assert_true(rm_infile_open(&file, path_of("long"), 5) < RESMON_OK);
    }
    assert_int_equal(count_files_in("/proc/self/fd"), before);
}

/* ---- saver ---------------------------------------------------------------------------------- */

static char saved_path[4096];
static resmon_status save_answer;

static resmon_status save(const resmon_run *run, const char *path)
{
    (void)run;
    (void)snprintf(saved_path, sizeof saved_path, "%s", path);
    return save_answer;
}

TEST(a_saver_saves_where_it_was_told)
{
    char pattern[128], expected[128];
    struct rm_sink sink = {0};
    int64_t live = rm_fault_live(0);
    (void)snprintf(pattern, sizeof pattern, "%s/run-%%p.x", test_directory);
    (void)snprintf(expected, sizeof expected, "%s/run-%ld.x", test_directory, (long)getpid());
    const struct rm_saver saver = {
        .name = "made", .pattern = pattern, .interval_ms = 5, .save = save};
    assert_ok(rm_saver_new(&saver, &sink));
    assert_string_equal(sink.ops.name, "made");
    assert_int_equal(sink.ops.snapshot_interval_ms, 5);
    assert_ok(sink.ops.stop(sink.context, NULL));
    assert_string_equal(saved_path, expected);
    save_answer = RESMON_ENOSPC;
    assert_int_equal(sink.ops.snapshot(sink.context, NULL), RESMON_ENOSPC);
    save_answer = RESMON_OK;
    sink.ops.close(sink.context);
    assert_int_equal(rm_fault_live(0), live);
}

TEST(a_saver_looks_at_its_place)
{
    char none[128];
    struct rm_sink sink = {.context = &sink};
    struct rm_saver saver = {.name = "made", .save = save};
    int64_t live = rm_fault_live(0);
    (void)snprintf(none, sizeof none, "%s/none/run", test_directory);
    saver.pattern = none;
    assert_status(RESMON_ENOENT, rm_saver_new(&saver, &sink));
    saver.pattern = "/tmp/%q";
    assert_status(RESMON_EINVAL, rm_saver_new(&saver, &sink));
    saver.pattern = "/dev/null";
    assert_status(RESMON_EINVAL, rm_saver_new(&saver, &sink));
    saver.is_late = true; /* mends a directory only */
    assert_status(RESMON_EINVAL, rm_saver_new(&saver, &sink));
    rm_fault_arm(RM_FAULT_ALLOC, 0);
    assert_status(RESMON_ENOMEM, rm_saver_new(&saver, &sink));
    rm_fault_arm(RM_FAULT_ALLOC, -1);
    assert_ptr_equal(sink.context, &sink); /* untouched so far */
    saver.pattern = none;
    assert_ok(rm_saver_new(&saver, &sink));
    assert_ok(sink.ops.stop(sink.context, NULL));
    assert_string_equal(saved_path, none);
    sink.ops.close(sink.context);
    assert_int_equal(rm_fault_live(0), live);
}

/* SPDX-License-Identifier: MIT */
/*
 * os/kept: descriptors of every kind are recognised, and those of the program are left alone: also
 * duplicates of ours, the very same file, and ours of another opening.
 */
#define _GNU_SOURCE
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/kept.h"
#include "os/own_usage.h"
#include "os/perf.h"

#include "profiles/profile.h"

#define SELF "/proc/self/exe"

static int open_file(void)
{
    return open(SELF, O_RDONLY | O_CLOEXEC);
}

static int open_directory(void)
{
    return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_proc(void)
{
    return open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
}

static int open_device(void)
{
    return open("/dev/null", O_RDWR | O_CLOEXEC);
}

static int open_pipe(void)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(close(ends[0]), 0);
    return ends[1];
}

static int open_socket(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int open_event(void)
{
    return eventfd(0, EFD_CLOEXEC);
}

static int open_timer(void)
{
    return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
}

static const struct {
    const char *what;
    int (*open)(void);
    bool may_fail; /* perf_event_paranoid, containers */
} kinds[] = {
    {"file", open_file, false},         {"directory", open_directory, false},
    {"proc", open_proc, false},         {"device", open_device, false},
    {"pipe", open_pipe, false},         {"socket", open_socket, false},
    {"eventfd", open_event, false},     {"timerfd", open_timer, false},
    {"perf", rm_perf_open_least, true},
};

static void check_kind(const char *what, int (*open_one)(void), int fd)
{
    struct rm_kept kept;
    int number = fd;
    rm_kept_take(&kept, fd);
    if (kept.tag == 0) {
        fail_msg("%s: it takes no tag", what);
    }
    assert_true(rm_kept_is_ours(&kept));
    /* Another of the kind, under its number. */
    int other = open_one();
    assert_int_equal(dup2(other, number), number);
    assert_false(rm_kept_is_ours(&kept));
    rm_kept_close(&kept);
    assert_true(fcntl(number, F_GETFD) >= 0);
    assert_int_equal(rm_kept_fd(&kept), -1);
    assert_int_equal(close(number), 0);
    assert_int_equal(close(other), 0);
}

TEST(every_kind)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(kinds); i++) {
        int fd = kinds[i].open();
        if (fd < 0 && kinds[i].may_fail) {
            (void)printf("%s: cannot be opened here\n", kinds[i].what);
            continue;
        }
        assert_true(fd >= 0);
        check_kind(kinds[i].what, kinds[i].open, fd);
    }
}

TEST(closed_by_the_program)
{
    struct rm_kept kept;
    assert_true(rm_kept_open(&kept, SELF, O_RDONLY));
    assert_true(rm_kept_is_ours(&kept));
    assert_int_equal(close(rm_kept_fd(&kept)), 0);
    assert_false(rm_kept_is_ours(&kept));
    assert_true(rm_kept_revive(&kept, SELF, O_RDONLY));
    assert_true(rm_kept_is_ours(&kept));
    int number = rm_kept_fd(&kept);
    rm_kept_close(&kept);
    assert_true(fcntl(number, F_GETFD) < 0);
    assert_false(rm_kept_revive(&kept, SELF, O_RDONLY)); /* it was closed on purpose */
}

/* One open file, several numbers: the program's are its own, and ours is ours. */
TEST(duplicates)
{
    struct rm_kept kept;
    assert_true(rm_kept_open(&kept, SELF, O_RDONLY));
    int number = rm_kept_fd(&kept);
    int theirs = dup(number);
    rm_kept_close(&kept);
    assert_true(fcntl(number, F_GETFD) < 0);
    assert_true(fcntl(theirs, F_GETFD) >= 0);
    assert_int_equal(close(theirs), 0);
    /* Put back where it was, it is the file that was opened. */
    assert_true(rm_kept_open(&kept, SELF, O_RDONLY));
    number = rm_kept_fd(&kept);
    theirs = dup(number);
    assert_int_equal(close(number), 0);
    assert_false(rm_kept_is_ours(&kept));
    assert_int_equal(dup2(theirs, number), number);
    assert_true(rm_kept_is_ours(&kept));
    rm_kept_close(&kept);
    assert_true(fcntl(theirs, F_GETFD) >= 0);
    assert_int_equal(close(theirs), 0);
}

/* What we lost first may have got the number of what we opened then. */
TEST(ours_under_the_number_of_ours)
{
    struct rm_kept first, second;
    assert_true(rm_kept_open(&first, "/proc/self/stat", O_RDONLY));
    int number = rm_kept_fd(&first);
    assert_int_equal(close(number), 0);
    assert_true(rm_kept_open(&second, "/proc/self/stat", O_RDONLY));
    assert_int_equal(rm_kept_fd(&second), number);
    assert_false(rm_kept_is_ours(&first));
    rm_kept_close(&first);
    assert_true(rm_kept_is_ours(&second));
    rm_kept_close(&second);
}

/* stderr is shared with others, who see what is done to the open file. */
TEST(what_is_noted_gets_no_tag)
{
    struct rm_kept kept;
    int fd = open_device();
    rm_kept_note(&kept, fd);
    assert_int_equal(fcntl(fd, F_GETSIG), 0);
    assert_true(rm_kept_is_ours(&kept));
    int other = open_file();
    assert_int_equal(dup2(other, fd), fd);
    assert_false(rm_kept_is_ours(&kept));
    assert_int_equal(close(other), 0);
    assert_int_equal(close(fd), 0);
}

TEST(perf_events)
{
    int fd = rm_perf_open_least();
    if (fd < 0) {
        (void)printf("perf events cannot be opened here\n");
        skip();
    }
    struct rm_perf_count count;
    assert_true(rm_perf_is_ours(fd));
    int other = open_event();
    assert_int_equal(dup2(other, fd), fd);
    assert_false(rm_perf_is_ours(fd));
    assert_false(rm_perf_read(fd, &count)); /* an eventfd would wait for ever */
    rm_perf_close(fd);
    assert_true(fcntl(fd, F_GETFD) >= 0);
    assert_int_equal(close(other), 0);
    assert_int_equal(close(fd), 0);
}

/* ---- a thread with a table of its own ----------------------------------------------------- */

static void *keep_privately(void *context)
{
    struct rm_kept *kept = context;
    rm_kept_isolate_thread();
    rm_kept_take(kept, open_file());
    assert_true(rm_kept_is_ours(kept));
    return NULL;
}

TEST(a_table_of_its_own)
{
    struct rm_kept kept = {0};
    in_thread(keep_privately, &kept);
    if (is_without_close_range()) {
        assert_null(kept.table);
    }
    if (kept.table == NULL) { /* a kernel before 5.9, a filter of system calls, a sanitizer */
        (void)printf("threads cannot have a table of descriptors of their own here\n");
        assert_true(rm_kept_is_ours(&kept));
        rm_kept_close(&kept);
        skip();
    }
    /* Here the number means something else, if anything. */
    int number = kept.fd;
    int fd = open_device();
    assert_int_equal(dup2(fd, number), number);
    assert_false(rm_kept_is_ours(&kept));
    rm_kept_close(&kept);
    assert_true(fcntl(number, F_GETFD) >= 0);
    if (fd != number) {
        assert_int_equal(close(fd), 0);
    }
    assert_int_equal(close(number), 0);
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    }
    return count;
}

static void *read_with_a_table_of_its_own(void *mark)
{
    rm_kept_isolate_thread();
    assert_true(rm_rss_mark_rss(mark) > 0);
    rm_rss_mark_reset(mark);
    assert_true(rm_rss_mark_rss(mark) > 0);
    return NULL;
}

/* Scopes and the sampling thread read one mark: neither opens what the other has lost. */
TEST(what_threads_of_two_tables_read_stays_open_once)
{
    struct rm_rss_mark mark;
    uint64_t peak;
    rm_rss_mark_open(&mark, &peak);
    int before = count_descriptors();
    for (int i = 0; i < 5; i++) {
        in_thread(read_with_a_table_of_its_own, &mark);
        assert_true(rm_rss_mark_rss(&mark) > 0);
        rm_rss_mark_reset(&mark);
    }
    assert_int_equal(count_descriptors(), before);
    rm_rss_mark_close(&mark);
    assert_true(count_descriptors() < before);
}

/* ---- a program that was started without stdin --------------------------------------------- */

static int close_stdin(void)
{
    int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    (void)close(STDIN_FILENO);
    return saved;
}

static void restore_stdin(int saved)
{
    if (saved >= 0) {
        assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
        assert_int_equal(close(saved), 0);
    }
}

static bool is_stdin_open(void)
{
    return fcntl(STDIN_FILENO, F_GETFD) >= 0;
}

static void *hold_once(void *context)
{
    (void)context;
    rm_kept_hold_standard();
    rm_kept_release_standard();
    return NULL;
}

/* One that ends earlier takes nothing from one that began earlier; a child has no stand-ins. */
TEST(stand_ins_last_as_long_as_somebody_needs_them)
{
    int saved = close_stdin();
    rm_kept_hold_standard();
    in_thread(hold_once, NULL);
    assert_true(is_stdin_open());
    pid_t child = fork();
    if (child == 0) {
        _exit(is_stdin_open() ? 1 : 0);
    }
    assert_exits(child, 0);
    rm_kept_release_standard();
    assert_false(is_stdin_open());
    restore_stdin(saved);
}

static void *close_soon(void *fd)
{
    (void)usleep(1000);
    rm_kept_drop(*(int *)fd);
    return NULL;
}

/* What is opened under its number for a moment leaves it to the stand-in, not to whoever comes. */
TEST(a_stand_in_waits_for_what_is_ours_for_a_moment)
{
    int saved = close_stdin();
    int fd = open_file();
    assert_int_equal(fd, STDIN_FILENO);
    rm_kept_mark(fd);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, close_soon, &fd), 0);
    rm_kept_hold_standard();
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(is_stdin_open());
    rm_kept_release_standard();
    assert_false(is_stdin_open());
    restore_stdin(saved);
}

TEST(a_stand_in_takes_nothing_of_the_program)
{
    int saved = close_stdin();
    int fd = open_file();
    assert_int_equal(fd, STDIN_FILENO);
    rm_kept_hold_standard();
    rm_kept_release_standard();
    assert_true(is_stdin_open());
    assert_int_equal(close(fd), 0);
    restore_stdin(saved);
}

/* SPDX-License-Identifier: MIT */
/*
 * os/own_io: what the library writes to storage is not the program's, and nothing of it is taken
 * for the program's while it is under way.
 */
#define _GNU_SOURCE
#include "test.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/own_io.h"

#define BYTES (1 << 20)

static bool is_settled_now(void)
{
    struct rm_own_io ours;
    rm_own_io_before(&ours);
    rm_own_io_after(&ours);
    return ours.is_settled;
}

TEST(parts_of_the_librarys_work)
{
    struct rm_own_io_part part;
    struct rm_own_io ours;
    assert_true(is_settled_now());
    rm_own_io_begin(&part);
    assert_false(is_settled_now());
    pid_t child = fork(); /* where whoever was at it is not */
    if (child == 0) {
        _exit(is_settled_now() ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    rm_own_io_end(&part);
    assert_int_equal(status, 0);
    assert_true(is_settled_now());
    /* One that began and ended while the kernel's figures were read. */
    rm_own_io_before(&ours);
    assert_true(ours.is_settled);
    rm_own_io_begin(&part);
    rm_own_io_end(&part);
    rm_own_io_after(&ours);
    assert_false(ours.is_settled);
}

TEST(what_is_left_for_the_program)
{
    struct rm_own_io ours = {.is_settled = true};
    ours.numbers[RM_IO_WRITE_BYTES] = 100;
    ours.numbers[RM_IO_WRITE_CHARS] = 100;
    assert_int_equal(rm_own_io_rest(&ours, RM_IO_WRITE_BYTES, 150, 0), 50);
    assert_int_equal(rm_own_io_rest(&ours, RM_IO_WRITE_BYTES, 150, 60), 60); /* it never falls */
    assert_int_equal(rm_own_io_rest(&ours, RM_IO_WRITE_BYTES, 50, 0), 0);
    ours.is_settled = false;
    assert_int_equal(rm_own_io_rest(&ours, RM_IO_WRITE_BYTES, 9999, 60), 60);
    assert_int_equal(rm_own_io_rest(&ours, RM_IO_WRITE_CHARS, 150, 0), 50); /* calls are known */
}

TEST(what_a_part_has_written)
{
    struct rm_own_io before, after;
    struct rm_own_io_part part;
    struct statfs kind;
    char *bytes = calloc(1, BYTES);
    int fd = open(path_of("file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && bytes != NULL);
    rm_own_io_before(&before);
    rm_own_io_begin(&part);
    assert_int_equal(write(fd, bytes, BYTES), BYTES);
    rm_own_io_end(&part);
    rm_own_io_before(&after);
    bool is_in_memory = fstatfs(fd, &kind) != 0 || kind.f_type == 0x01021994; /* tmpfs */
    (void)close(fd);
    free(bytes);
    uint64_t written = after.numbers[RM_IO_WRITE_BYTES] - before.numbers[RM_IO_WRITE_BYTES];
    if (!part.is_known || is_in_memory) {
        print_message("skipped: %s\n",
                      part.is_known ? "files here are memory" : "threads have no figures of I/O");
        skip();
    }
    if (written != BYTES && written != 0) { /* network file systems do not account it so */
        fail_msg("%llu bytes of %d", (unsigned long long)written, BYTES);
    }
}

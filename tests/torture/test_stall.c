/* SPDX-License-Identifier: MIT */
/*
 * A file system that stalls: an ext4 of its own is frozen under a recording.  The program's scopes
 * go on, its monitor stops in time, and what it recorded is there when all is over.
 *
 * Where no file system may be made, mounted or frozen, this is skipped.
 */
#define _GNU_SOURCE /* unshare */
#include "test.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY_SCOPES 1000
#define HANG_MS     50000 /* what does not come in this time does not come before the thaw */

static char mount_point[128], record[160];
static int frozen = -1; /* the mount point; -1: not there */

/* Of the directory $D and the mount point $M. */
static bool run(const char *command)
{
    return system(command) == 0;
}

/* ---- the program ---------------------------------------------------------------------------- */

enum { GO_ON = 'g', STOP = 's' };

static void answer(int to, char what)
{
    if (write(to, &what, 1) != 1) {
        _exit(3);
    }
}

static void work(int count)
{
    for (int i = 0; i < count; i++) {
        RESMON_SCOPE("work");
    }
}

static void be_program(int from, int to)
{
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .interval_ms = 10,
                                            .domains = RESMON_DOMAIN_PROCESS,
                                            .record = record,
                                            .stop_timeout_ms = 500};
    resmon_monitor *monitor = NULL;
    char what;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        (void)fprintf(stderr, "%s\n", resmon_last_error());
        _exit(2);
    }
    work(1);
    answer(to, GO_ON);
    while (read(from, &what, 1) == 1) {
        resmon_status status = RESMON_OK;
        if (what == GO_ON) {
            work(MANY_SCOPES);
        } else {
            status = resmon_monitor_stop(monitor);
        }
        answer(to, status == RESMON_ETIMEDOUT ? 't' : status == RESMON_OK ? 'o' : 'x');
    }
    (void)raise(SIGKILL);
}

/* ---- what happens to it --------------------------------------------------------------------- */

/* The program's answer; '\0': there was none. */
static char ask(int to, int from, char what)
{
    char said = '\0';
    struct pollfd wait = {.fd = from, .events = POLLIN};
    if (what != '\0' && write(to, &what, 1) != 1) {
        return '\0';
    }
    return poll(&wait, 1, HANG_MS) == 1 && read(from, &said, 1) == 1 ? said : '\0';
}

TEST(a_frozen_file_system)
{
    int down[2], up[2], status;
    resmon_run *loaded = NULL;
    resmon_run_scope scope = {.struct_size = sizeof scope};
    resmon_run_info info = {.struct_size = sizeof info};
    assert_int_equal(pipe(down) | pipe(up), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(down[1]);
        (void)close(up[0]);
        be_program(down[0], up[1]);
    }
    (void)close(down[0]);
    (void)close(up[1]);
    assert_int_equal(ask(down[1], up[0], '\0'), GO_ON);
    assert_int_equal(ioctl(frozen, FIFREEZE, 0), 0);
    char went_on = ask(down[1], up[0], GO_ON);
    char stopped = went_on != '\0' ? ask(down[1], up[0], STOP) : '\0';
    (void)kill(child, SIGKILL); /* it is gone when its last thread has left the kernel */
    assert_int_equal(ioctl(frozen, FITHAW, 0), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(went_on, 'o');
    assert_int_equal(stopped, 't');
    assert_ok(resmon_run_load(record, &loaded));
    assert_ok(resmon_run_get_info(loaded, &info));
    assert_string_equal(info.state, "stopped");
    assert_ok(resmon_run_get_scope(loaded, 0, &scope));
    assert_int_equal(scope.calls, MANY_SCOPES + 1);
    resmon_run_free(loaded);
    (void)close(down[1]);
    (void)close(up[0]);
}

/* ---- the file system ------------------------------------------------------------------------ */

static int give_up(const char *why)
{
    print_message("skipped: %s\n", why);
    exit(77);
}

FIXTURE(make_file_system)
{
    struct statfs info;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        return give_up("no right to mount here");
    }
    (void)snprintf(mount_point, sizeof mount_point, "%s/mnt", test_directory);
    (void)snprintf(record, sizeof record, "%s/run.rec", mount_point);
    if (setenv("D", test_directory, 1) != 0 || setenv("M", mount_point, 1) != 0 ||
        mkdir(mount_point, 0755) != 0 || !run("truncate -s 64M $D/image") ||
        !run("mkfs.ext4 -q -F $D/image >/dev/null 2>&1") ||
        !run("mount -o loop $D/image $M 2>/dev/null")) {
        (void)run("rm -rf $D");
        return give_up("no ext4 can be made and mounted here");
    }
    frozen = open(mount_point, O_RDONLY | O_DIRECTORY);
    if (frozen < 0 || ioctl(frozen, FIFREEZE, 0) != 0 || ioctl(frozen, FITHAW, 0) != 0 ||
        statfs("/dev/shm", &info) != 0) {
        return give_up("no file system may be frozen here, or there is no /dev/shm");
    }
    return 0;
}

FIXTURE(drop_file_system)
{
    (void)ioctl(frozen, FITHAW, 0);
    (void)close(frozen);
    (void)umount2(mount_point, MNT_DETACH);
    return run("rm -rf $D") ? 0 : -1;
}

TEST_FILE(.set_up = make_file_system, .tear_down = drop_file_system);

/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* clone, memfd_create */
#include "symbols/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/status.h"
#include "base/thread.h"
#include "os/kept.h"

#define STACK_BYTES     ((size_t)32 << 10) /* of each of the two processes */
#define SPARE_SPACE     (UINT64_C(512) << 20)
#define MOST_SIGNAL     64
#define MOST_DESCRIPTOR 65536U
#define GRACE_NS        RM_NS_PER_S /* for a killed helper to be gone */
#define NOT_STARTED     127

#if defined(__GLIBC__)
/* ThreadSanitizer's clone() takes the child, which has our memory, for one with a copy of that. */
extern int __clone(int (*run)(void *), void *stack, int flags, void *context, ...);
#define CLONE __clone
#else
#define CLONE clone
#endif

/*
 * An exec sets the signal that a process sends at its end to SIGCHLD again (fs/exec.c of Linux:
 * de_thread), so that a helper that is our child would be seen by the host.  So there is a process
 * between: the watcher.  It is cloned without an exit signal, shares our memory, never executes a
 * program, and is suspended as the helper's parent until that ends; the thread that cloned it is
 * suspended meanwhile, as by vfork().  Neither returns from here, and both call the kernel only.
 */
struct exchange {
    const struct rm_helper *helper;
    pthread_t caller;
    struct rm_buffer *output;
    struct rm_kept program, input, received, null;
    char *stacks;
    const char *environment[2];
    char library_path[4096];
    int64_t until_ns;
    pid_t host, watcher, child;
    int wait_status;
    int error; /* errno of what kept the helper from running */
    bool has_ended, is_late;
};

/* ---- the two processes ------------------------------------------------------------------ */

/* Sanitizers know nothing of these stacks, and their versions of sigaction() and others would note
 * what is done here as done in the host. */
#define OF_CHILD __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

OF_CHILD static void set_signals(void)
{
    static const char default_action[256]; /* struct sigaction of the kernel: SIG_DFL is 0 */
    static const uint64_t none[2];
    for (int number = 1; number <= MOST_SIGNAL; number++) {
        (void)syscall(SYS_rt_sigaction, number, default_action, NULL, MOST_SIGNAL / CHAR_BIT);
    }
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, MOST_SIGNAL / CHAR_BIT);
}

OF_CHILD static void limit(int resource, uint64_t most)
{
    struct {
        uint64_t current, most; /* struct rlimit64 of the kernel */
    } now;
    if (syscall(SYS_prlimit64, 0, resource, NULL, &now) == 0) {
        now.current = now.most = most < now.most ? most : now.most;
        (void)syscall(SYS_prlimit64, 0, resource, &now, NULL);
    }
}

/* Where memory runs out, the kernel is to end the helper and not the host. */
OF_CHILD static void offer_to_oom_killer(void)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)syscall(SYS_write, fd, "1000", 4);
        (void)syscall(SYS_close, fd);
    }
}

OF_CHILD static void set_limits(const struct exchange *exchange)
{
    const struct rm_helper *helper = exchange->helper;
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, (uint64_t)(helper->most_ns / RM_NS_PER_S) + 1);
    limit(RLIMIT_FSIZE, helper->most_output_bytes);
    if (helper->most_data_bytes != UINT64_MAX) {
        limit(RLIMIT_DATA, helper->most_data_bytes);
        limit(RLIMIT_AS, helper->most_data_bytes + SPARE_SPACE);
    }
    offer_to_oom_killer();
}

/* The host's descriptors, where the thread shares its table. */
OF_CHILD static void close_others(void)
{
#if defined(SYS_close_range)
    const unsigned on_exec = 1U << 2; /* CLOSE_RANGE_CLOEXEC */
    if (syscall(SYS_close_range, 3U, UINT_MAX, on_exec) == 0) {
        return;
    }
#endif
    for (unsigned fd = 3; fd < MOST_DESCRIPTOR; fd++) {
        (void)syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
    }
}

OF_CHILD static bool set_files(const struct exchange *exchange)
{
    const int files[] = {rm_kept_fd(&exchange->input), rm_kept_fd(&exchange->received),
                         rm_kept_fd(&exchange->null)};
    for (int standard = 0; standard < 3; standard++) {
        if (syscall(SYS_dup3, files[standard], standard, 0) < 0) {
            return false;
        }
    }
    return true;
}

OF_CHILD static int become_helper(void *exchange_)
{
    struct exchange *exchange = exchange_;
    const char *const words[] = {exchange->helper->name, NULL};
    pid_t watcher = exchange->watcher;
    (void)syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (syscall(SYS_getppid) == watcher && set_files(exchange)) {
        (void)syscall(SYS_setsid);
        close_others();
        set_limits(exchange);
        set_signals();
        (void)syscall(SYS_execveat, rm_kept_fd(&exchange->program), "", words,
                      exchange->environment, AT_EMPTY_PATH);
    }
    exchange->error = errno;
    (void)syscall(SYS_exit_group, NOT_STARTED);
    return 0;
}

/* True: it has ended, and was waited for. */
OF_CHILD static bool wait_until(struct exchange *exchange, int64_t until_ns)
{
    static const uint64_t sigchld[2] = {UINT64_C(1) << (SIGCHLD - 1), 0};
    struct timespec now;
    for (;;) {
        pid_t ended =
            (pid_t)syscall(SYS_wait4, exchange->child, &exchange->wait_status, WNOHANG, NULL);
        (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
        int64_t left_ns = until_ns - (now.tv_sec * RM_NS_PER_S + now.tv_nsec);
        if (ended == exchange->child || left_ns <= 0) {
            return ended == exchange->child;
        }
        const struct timespec left = {left_ns / RM_NS_PER_S, left_ns % RM_NS_PER_S};
        (void)syscall(SYS_rt_sigtimedwait, sigchld, NULL, &left, MOST_SIGNAL / CHAR_BIT);
    }
}

OF_CHILD static int watch(void *exchange_)
{
    struct exchange *exchange = exchange_;
    static const char default_action[256];
    (void)syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    exchange->watcher = (pid_t)syscall(SYS_getpid);
    if (syscall(SYS_getppid) == exchange->host) {
        (void)syscall(SYS_rt_sigaction, SIGCHLD, default_action, NULL, MOST_SIGNAL / CHAR_BIT);
        exchange->child = CLONE(become_helper, exchange->stacks + STACK_BYTES,
                                CLONE_VM | CLONE_VFORK | SIGCHLD, exchange);
        exchange->error = exchange->child < 0 ? errno : exchange->error;
        if (exchange->child > 0 && !wait_until(exchange, exchange->until_ns)) {
            exchange->is_late = true;
            (void)syscall(SYS_kill, exchange->child, SIGKILL);
            exchange->has_ended = wait_until(exchange, exchange->until_ns + GRACE_NS);
        } else {
            exchange->has_ended = exchange->child > 0;
        }
    }
    (void)syscall(SYS_exit_group, 0);
    return 0;
}

/* ---- the host --------------------------------------------------------------------------- */

static resmon_status start_and_wait(struct exchange *exchange)
{
    sigset_t all, old;
    int status;
    exchange->stacks = rm_alloc(2, STACK_BYTES);
    if (exchange->stacks == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for starting %s", exchange->helper->path);
    }
    exchange->host = getpid();
    exchange->until_ns = rm_clock_monotonic_ns() + exchange->helper->most_ns;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t watcher = CLONE(watch, exchange->stacks + 2 * STACK_BYTES,
                          CLONE_VM | CLONE_VFORK | CLONE_FILES, exchange);
    int error = watcher < 0 ? errno : exchange->error;
    if (watcher > 0) {
        (void)waitpid(watcher, &status, __WALL);
    }
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    rm_free(exchange->stacks);
    return error == 0 ? RESMON_OK
                      : rm_error_errno(error, "cannot start %s", exchange->helper->path);
}

static resmon_status say_end(const struct exchange *exchange)
{
    const struct rm_helper *helper = exchange->helper;
    if (exchange->is_late) {
        return rm_error(RESMON_ETIMEDOUT, "%s took longer than %lld s", helper->name,
                        (long long)(helper->most_ns / RM_NS_PER_S));
    }
    if (!exchange->has_ended) {
        return rm_error(RESMON_ESTATE, "%s was lost", helper->name);
    }
    if (WIFSIGNALED(exchange->wait_status)) {
        return rm_error(RESMON_ESTATE, "%s was ended by signal %d", helper->name,
                        WTERMSIG(exchange->wait_status));
    }
    int code = WEXITSTATUS(exchange->wait_status);
    return code == 0 ? RESMON_OK
                     : rm_error(RESMON_ESTATE, "%s failed with status %d", helper->name, code);
}

/* The very file that is executed then. */
static resmon_status open_program(struct exchange *exchange)
{
    const struct rm_helper *helper = exchange->helper;
    struct stat info;
    if (!rm_kept_open(&exchange->program, helper->path, O_RDONLY)) {
        return rm_error_errno(errno, "cannot open %s", helper->path);
    }
    if (fstat(rm_kept_fd(&exchange->program), &info) != 0 || !S_ISREG(info.st_mode)) {
        return rm_error(RESMON_ENOENT, "%s is not a program", helper->path);
    }
    if (info.st_uid != 0 && info.st_uid != helper->owner) {
        return rm_error(RESMON_EACCES, "%s is not run: it belongs to user %u", helper->path,
                        (unsigned)info.st_uid);
    }
    if ((info.st_mode & S_IWOTH) != 0 ||
        ((info.st_mode & S_IWGRP) != 0 && info.st_gid != helper->group)) {
        return rm_error(RESMON_EACCES, "%s is not run: others may write it", helper->path);
    }
    return RESMON_OK;
}

static resmon_status make_file(struct rm_kept *kept)
{
    int fd =
        RM_FAULT(RM_FAULT_OPEN) ? (errno = EMFILE, -1) : memfd_create("resmon-helper", MFD_CLOEXEC);
    if (fd < 0) {
        return rm_error_errno(errno, "cannot make a file in memory");
    }
    rm_kept_take(kept, rm_kept_raise(fd));
    return RESMON_OK;
}

static resmon_status write_input(struct exchange *exchange)
{
    const struct rm_helper *helper = exchange->helper;
    for (size_t at = 0; at < helper->input_bytes;) {
        ssize_t count = -1;
        if (RM_FAULT(RM_FAULT_WRITE) || !rm_kept_is_ours(&exchange->input)) {
            errno = EIO;
        } else {
            count = pwrite(rm_kept_fd(&exchange->input), helper->input + at,
                           helper->input_bytes - at, (off_t)at);
        }
        if (count <= 0) {
            return rm_error_errno(errno, "cannot write to a file in memory");
        }
        at += (size_t)count;
    }
    return RESMON_OK;
}

/* What it wrote, whatever became of it then. */
static resmon_status read_output(struct exchange *exchange)
{
    struct stat info;
    int fd = rm_kept_fd(&exchange->received);
    if (!rm_kept_is_ours(&exchange->received) || fstat(fd, &info) != 0) {
        return rm_error(RESMON_EIO, "the answer of %s was closed", exchange->helper->name);
    }
    size_t bytes = (size_t)info.st_size;
    char *room = bytes <= exchange->helper->most_output_bytes
                     ? rm_buffer_room(exchange->output, bytes)
                     : NULL;
    if (room == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the answer of %s",
                        exchange->helper->name);
    }
    ssize_t count = RM_FAULT(RM_FAULT_READ) ? -1 : pread(fd, room, bytes, 0);
    if (count != (ssize_t)bytes) {
        return rm_error(RESMON_EIO, "cannot read the answer of %s", exchange->helper->name);
    }
    rm_buffer_advance(exchange->output, bytes);
    return RESMON_OK;
}

/* Libraries are looked for where the host looks.  Nothing else is handed on. */
static void set_environment(struct exchange *exchange)
{
    const char *path = secure_getenv("LD_LIBRARY_PATH");
    int length = path == NULL ? -1
                              : snprintf(exchange->library_path, sizeof exchange->library_path,
                                         "LD_LIBRARY_PATH=%s", path);
    if (length > 0 && (size_t)length < sizeof exchange->library_path) {
        exchange->environment[0] = exchange->library_path;
    }
}

static resmon_status run_all(struct exchange *exchange)
{
    resmon_status status = open_program(exchange);
    if (status == RESMON_OK && !rm_kept_open(&exchange->null, "/dev/null", O_RDWR)) {
        status = rm_error_errno(errno, "cannot open /dev/null");
    }
    if (status == RESMON_OK) {
        status = make_file(&exchange->input);
    }
    if (status == RESMON_OK) {
        status = make_file(&exchange->received);
    }
    if (status == RESMON_OK) {
        status = write_input(exchange);
    }
    if (status == RESMON_OK) {
        set_environment(exchange);
        status = start_and_wait(exchange);
    }
    if (status == RESMON_OK) {
        status = read_output(exchange);
    }
    return status == RESMON_OK ? say_end(exchange) : status;
}

/* The host's descriptors stay out of a thread that has a table of its own. */
static resmon_status run_apart(void *exchange_)
{
    struct exchange *exchange = exchange_;
    if (!pthread_equal(pthread_self(), exchange->caller)) {
        rm_kept_isolate_thread();
    }
    resmon_status status = run_all(exchange);
    rm_kept_close(&exchange->program);
    rm_kept_close(&exchange->null);
    rm_kept_close(&exchange->input);
    rm_kept_close(&exchange->received);
    return status;
}

resmon_status rm_helper_run(const struct rm_helper *helper, struct rm_buffer *output)
{
    struct exchange *exchange = rm_alloc(1, sizeof *exchange);
    if (exchange == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for starting %s", helper->path);
    }
    exchange->helper = helper;
    exchange->caller = pthread_self();
    exchange->output = output;
    resmon_status status = rm_thread_call_apart(run_apart, exchange);
    rm_free(exchange);
    return status;
}

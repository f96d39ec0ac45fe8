/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* clone */
#include "symbols/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
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
#include "base/compiler.h"
#include "base/fault.h"
#include "base/libc.h"
#include "base/sanitizer.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "names/names.h"
#include "names/protocol.h"
#include "os/kept.h"
#include "os/library.h"
#include "os/memory_room.h"

#define PROGRAM       "resmon-names"
#define MOST_DATA     (UINT64_C(4) << 30)
#define RESERVE_BYTES (UINT64_C(4) << 20) /* for the host, in a cgroup with a memory limit */

/* Defined in programs that contain it, as the command resmon does. */
extern RM_WEAK int rm_names_main(void);

/* ---- helper programs -------------------------------------------------------------------- */

#define STACK_BYTES     ((size_t)32 << 10) /* of each of the two processes */
#define SPARE_SPACE     (UINT64_C(512) << 20)
#define MOST_SIGNAL     64
#define MOST_DESCRIPTOR 65536U
#define GRACE_NS        RM_NS_PER_S /* until a killed helper has ended */
#define NOT_STARTED     127

#if defined(__GLIBC__)
/* ThreadSanitizer's clone() assumes that the child has a copy of our memory, but it shares it. */
extern int __clone(int (*run)(void *), void *stack, int flags, void *context, ...);
#define CLONE __clone
#else
#define CLONE clone
#endif

/*
 * A helper program is run so that the host program does not notice: the host gets no SIGCHLD, its
 * wait(-1) does not return the helper's pid, the helper has none of its descriptors, signals and
 * terminal, and the helper ends with the host at the latest.
 */
struct helper {
    const char *path;  /* of the program */
    const char *name;  /* argv[0], its only argument */
    uid_t owner;       /* of the program, besides root */
    gid_t group;       /* may have write permission */
    const char *input; /* standard input, a file */
    size_t input_bytes;
    size_t most_output_bytes;
    uint64_t most_data_bytes; /* RLIMIT_DATA */
    int64_t most_ns;          /* after which it is killed */
};

#define OWN_PROGRAM "/proc/thread-self/exe" /* not /proc/self: the main thread may have ended */

/*
 * An exec resets the exit signal of a process to SIGCHLD (fs/exec.c of Linux: de_thread), so the
 * host would notice a helper that is its child.  So there is a process in between, the watcher.  It
 * is cloned without an exit signal, shares our memory, never executes a program, and waits as the
 * helper's parent until that ends; the thread that cloned it is suspended meanwhile, as by vfork().
 * Neither process returns to the caller, and both only make system calls.
 */
struct exchange {
    const struct helper *helper;
    pthread_t caller;
    struct rm_buffer *output;
    struct rm_kept program, input, received, null;
    char *stacks;
    const char *environment[2];
    char library_path[4096];
    int64_t until_ns;
    pid_t host, watcher, child;
    int wait_status;
    int error; /* errno, if the helper could not be run */
    bool has_ended, is_late;
};

/* ---- the watcher and the helper --------------------------------------------------------- */

/* Sanitizers do not know these stacks, and their wrappers of sigaction() and others would record
 * the calls as calls of the host. */
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

/* If memory runs out, the kernel shall kill the helper and not the host. */
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
    const struct helper *helper = exchange->helper;
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, (uint64_t)(helper->most_ns / RM_NS_PER_S) + 1);
    limit(RLIMIT_FSIZE, helper->most_output_bytes);
    if (helper->most_data_bytes != UINT64_MAX) {
        limit(RLIMIT_DATA, helper->most_data_bytes);
        limit(RLIMIT_AS, helper->most_data_bytes + SPARE_SPACE);
    }
    offer_to_oom_killer();
}

/* Closes the host's descriptors, if the thread shares its table. */
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

/* Returns whether the helper has ended; then it was reaped. */
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

/* ---- running a helper in the host ------------------------------------------------------- */

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

static resmon_status end_status(const struct exchange *exchange)
{
    const struct helper *helper = exchange->helper;
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

/* Opens and checks the file; the same descriptor is executed. */
static resmon_status open_program(struct exchange *exchange)
{
    const struct helper *helper = exchange->helper;
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
    int fd = RM_FAULT(RM_FAULT_OPEN) ? (errno = EMFILE, -1) : rm_memory_file("resmon-helper");
    if (fd < 0) {
        return rm_error_errno(errno, "cannot make a file in memory");
    }
    rm_kept_take(kept, rm_kept_raise(fd));
    return RESMON_OK;
}

static resmon_status write_input(struct exchange *exchange)
{
    const struct helper *helper = exchange->helper;
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

/* Reads the output, also of a helper that failed. */
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

/* Passes LD_LIBRARY_PATH on, so that the helper finds the same libraries; nothing else. */
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
    return status == RESMON_OK ? end_status(exchange) : status;
}

/* In a thread of its own, which has a descriptor table without the host's descriptors. */
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

/*
 * Runs the program and waits.  `output`: its standard output, also if it failed.  RESMON_ENOENT:
 * the program does not exist; RESMON_EACCES: it belongs to somebody else, or others may write it;
 * RESMON_ETIMEDOUT: it took too long and was killed; RESMON_ESTATE: it ended by a signal, or with a
 * status that is not 0; or why it could not be run.
 */
static resmon_status run_helper(const struct helper *helper, struct rm_buffer *output)
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

/* ---- finding resmon-names --------------------------------------------------------------- */

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* Beside the library, as in a wheel or a build; at its installed path relative to the library, so
 * that an installation can be moved; at its installed path. */
static bool find_program(const char *own_file, char path[RM_LIBRARY_PATH_BYTES])
{
    static const char *const beside[] = {PROGRAM, RM_LIBEXEC_FROM_LIB "/" PROGRAM};
    const char *slash = strrchr(own_file, '/');
    int directory = slash != NULL ? (int)(slash - own_file) : 0;
    for (size_t i = 0; slash != NULL && i < RM_ARRAY_LEN(beside); i++) {
        if (snprintf(path, RM_LIBRARY_PATH_BYTES, "%.*s/%s", directory, own_file, beside[i]) <
                RM_LIBRARY_PATH_BYTES &&
            is_there(path)) {
            return true;
        }
    }
    static const char *const fixed[] = {
#ifdef RM_LIBEXEC
        RM_LIBEXEC "/" PROGRAM,
#endif
#ifdef RM_NAMES_OF_BUILD
        RM_NAMES_OF_BUILD,
#endif
        NULL};
    for (size_t i = 0; fixed[i] != NULL; i++) {
        if (rm_text_set(path, RM_LIBRARY_PATH_BYTES, fixed[i]) > 0 && is_there(path)) {
            return true;
        }
    }
    return false;
}

/* ---- requests --------------------------------------------------------------------------- */

/* The limit of the memory of the program; a sanitizer needs terabytes of address space. */
static uint64_t most_data(void)
{
    struct rm_memory_room room = {.bytes = UINT64_MAX};
    if (rm_sanitizer_is_here()) {
        return UINT64_MAX;
    }
    rm_memory_room_look(NULL, &room);
    uint64_t left = room.bytes > RESERVE_BYTES ? room.bytes - RESERVE_BYTES : 0;
    return left < MOST_DATA ? left : MOST_DATA;
}

/* The program may belong to the owner of the library. */
static resmon_status find(struct helper *helper, char path[RM_LIBRARY_PATH_BYTES])
{
    char own_file[RM_LIBRARY_PATH_BYTES];
    struct stat info = {0};
    if (rm_symbolizer.program != NULL) {
        helper->owner = geteuid();
        helper->group = getegid();
        (void)rm_text_set(path, RM_LIBRARY_PATH_BYTES, rm_symbolizer.program);
        return RESMON_OK;
    }
    rm_library_own_file(own_file);
    (void)stat(rm_names_main != NULL ? OWN_PROGRAM : own_file, &info);
    helper->owner = info.st_uid;
    helper->group = info.st_gid;
    if (rm_names_main != NULL) {
        (void)rm_text_set(path, RM_LIBRARY_PATH_BYTES, OWN_PROGRAM);
        return RESMON_OK;
    }
    return find_program(own_file, path)
               ? RESMON_OK
               : rm_error(RESMON_ENOENT, PROGRAM " is not installed beside the library");
}

static resmon_status ask(const struct rm_buffer *request, struct rm_buffer *reply)
{
    char path[RM_LIBRARY_PATH_BYTES];
    struct helper helper = {
        .path = path,
        .name = PROGRAM,
        .input = request->text,
        .input_bytes = request->length,
        .most_output_bytes = RM_NAMES_MOST_BYTES,
        .most_data_bytes = most_data(),
        .most_ns = rm_symbolizer.most_ns,
    };
    resmon_status status = find(&helper, path);
    return status == RESMON_OK ? run_helper(&helper, reply) : status;
}

struct rm_symbolizer rm_symbolizer = {.most_ns = 20 * RM_NS_PER_S, .ask = ask};

void rm_symbolizer_begin(struct rm_buffer *request, uint64_t pid, uint64_t mapped_ns,
                         const char *debug_root)
{
    rm_names_put_u32(request, RM_NAMES_REQUEST);
    rm_names_put_u32(request, RM_NAMES_VERSION);
    rm_names_put_u64(request, pid);
    rm_names_put_u64(request, mapped_ns);
    rm_names_put_text(request, debug_root != NULL ? debug_root : "", SIZE_MAX);
}

resmon_status rm_symbolizer_open_reply(struct rm_text *reply, bool wants_lines)
{
    uint32_t magic = 0, version = 0;
    struct rm_text why;
    if (!rm_names_take_u32(reply, &magic) || magic != RM_NAMES_REPLY ||
        !rm_names_take_u32(reply, &version)) {
        return rm_error(RESMON_EFORMAT, "the reply of " PROGRAM " makes no sense");
    }
    if (version != RM_NAMES_VERSION) {
        return rm_error(RESMON_EVERSION, PROGRAM " is of another version");
    }
    if (!rm_names_take_text(reply, &why)) {
        return rm_error(RESMON_EFORMAT, "the reply of " PROGRAM " makes no sense");
    }
    size_t length = rm_text_left(&why);
    int shown = length < RM_NAMES_MOST_REASON ? (int)length : (int)RM_NAMES_MOST_REASON;
    return length == 0 || !wants_lines ? RESMON_OK
                                       : rm_error(RESMON_ENOTSUP, "%.*s", shown, why.at);
}

resmon_status rm_symbolizer_check(void)
{
    struct rm_buffer request, reply;
    rm_buffer_init(&request, RM_NAMES_MOST_BYTES);
    rm_buffer_init(&reply, RM_NAMES_MOST_BYTES + 1);
    rm_symbolizer_begin(&request, 0, 0, NULL);
    rm_names_put_u32(&request, 0);
    rm_names_put_u32(&request, 0);
    resmon_status status = request.status;
    if (status == RESMON_OK) {
        status = rm_symbolizer.ask(&request, &reply);
    }
    if (status == RESMON_OK) {
        struct rm_text text = rm_text_of(reply.text, reply.length);
        status = rm_symbolizer_open_reply(&text, true);
    }
    rm_buffer_free(&request);
    rm_buffer_free(&reply);
    return status;
}

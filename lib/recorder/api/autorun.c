/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
/*
 * The environment variable RESMON: a monitor starts when the library is loaded, and stops when the
 * program exits.  No other part of the library prints; here, the variable requests it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "api/end.h"
#include "api/plan.h"
#include "base/alloc.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/lock.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "engine/monitor.h"
#include "os/kept.h"
#include "os/program.h"
#include "os/reader.h"
#include "scope/session.h"
#include "setup/options.h"

/* Set by the constructor, and cleared under the lock when the program exits. */
static struct rm_plan *plan;
static resmon_monitor *monitor;
static bool is_quiet; /* only RESMON_RUN is set, by a parent command: nothing is printed */
static pid_t owner;   /* process with the monitor; 0: no monitor was started */
static uint32_t owner_forks;
static struct rm_lock finish_lock = RM_LOCK_INITIALIZER;
static struct rm_lock end_lock = RM_LOCK_INITIALIZER; /* while it is held, `monitor` is not freed */
static struct rm_kept stderr_file; /* the file of descriptor 2 at the start; never closed */
static struct rm_kept stderr_copy; /* for programs that close descriptor 2 before they end */

#define UNOBSERVED  "; the program runs on unobserved"
#define LEFT_OUT    "; it is left out"
#define LOWEST_COPY 40 /* above numbers that programs expect to be free */

/* A descriptor of the original stderr; -1: both were closed or replaced by the program. */
static int find_stderr(void)
{
    return rm_kept_is_ours(&stderr_file)   ? rm_kept_fd(&stderr_file)
           : rm_kept_is_ours(&stderr_copy) ? rm_kept_fd(&stderr_copy)
                                           : -1;
}

/* Never prints to another file that now has the descriptor's number.  A closed pipe does not end
 * the program by SIGPIPE. */
static void print(const char *text, size_t length)
{
    struct rm_signal_guard guard;
    int fd = 0;
    rm_signal_guard_begin(&guard);
    for (size_t done = 0; done < length && (fd = find_stderr()) >= 0;) {
        ssize_t wrote = write(fd, text + done, length - done);
        if (wrote <= 0 && errno != EINTR) {
            break;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    rm_signal_guard_end(&guard);
}

/* A child may be a daemon, which closes its stderr and outlives the program.  With our copy open in
 * the child, a reader of the program's stderr would wait for the end of the child. */
static void close_copy(void)
{
    rm_kept_close(&stderr_copy);
}

static const struct rm_fork_part at_fork = {.in_child = close_copy};

/* Copies stderr if text will be printed at the end.  The copy has no tag, as the program shares the
 * open file. */
static void copy_stderr(void)
{
    if (rm_kept_is_ours(&stderr_file) && (plan->wants_summary || plan->environment.lines != NULL)) {
        int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, LOWEST_COPY);
        fd = fd >= 0 ? fd : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (fd >= 0) {
            rm_kept_note(&stderr_copy, fd);
            rm_fork_take_part(RM_FORK_STDERR, &at_fork);
        }
    }
}

/* Prints a line by one write, so that lines of several threads do not mix. */
static void say(const char *what, const char *text, const char *end)
{
    char line[1024];
    if (is_quiet) {
        return;
    }
    int length = snprintf(line, sizeof line, "resmon: %s%.900s%s\n", what, text, end);
    if (length > 0) {
        print(line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
    }
}

static void log_line(void *context, int32_t level, const char *line)
{
    (void)context, (void)level;
    say("", line, "");
}

/* Width of the terminal at stderr; 0: stderr is not a terminal. */
static uint64_t width_of_terminal(void)
{
    struct winsize size = {0};
    int fd = find_stderr();
    if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return 0;
    }
    return size.ws_col < RESMON_REPORT_LEAST_WIDTH ? RESMON_REPORT_LEAST_WIDTH : size.ws_col;
}

static void print_and_free(char *text)
{
    print(text, strlen(text));
    resmon_text_free(text);
}

static void print_summary(const resmon_run *run)
{
    char *text = NULL;
    const bool is_full = (plan->environment.flags & RM_ENVIRONMENT_FULL) != 0;
    const resmon_report_options options = {.struct_size = sizeof options,
                                           .detail =
                                               is_full ? RESMON_REPORT_FULL : RESMON_REPORT_BRIEF,
                                           .width = width_of_terminal()};
    const struct rm_reader *reader = rm_reader();
    if (reader == NULL || reader->report_text(run, &options, &text) != RESMON_OK) {
        say("no summary: ", resmon_last_error(), "");
    } else {
        print_and_free(text);
    }
}

static void print_help(void)
{
    char *text = NULL;
    if (resmon_option_text(&text) == RESMON_OK) {
        print_and_free(text);
    }
}

/* Prints tables by line of one function, or of the functions with the most samples. */
static void print_lines(const resmon_run *run)
{
    char *text = NULL;
    const char *function = plan->environment.lines;
    const struct rm_reader *reader = rm_reader();
    if (reader == NULL ||
        reader->report_lines(run, function[0] != '\0' ? function : NULL, &text) != RESMON_OK) {
        say("no tables by line: ", resmon_last_error(), "");
    } else {
        print_and_free(text);
    }
}

/* ---- sinks ------------------------------------------------------------------------------ */

/* If the directory of a document does not exist yet, the document is tried again at the end. */
static resmon_status add_output(const struct rm_option_set *sink, const char *options)
{
    static const char late[] = ",late";
    char what[64];
    resmon_status status = resmon_monitor_add(monitor, sink->name, options);
    bool may_come = status == RESMON_ENOENT || status == RESMON_EACCES;
    if (!may_come || rm_option_find(sink, "late") == NULL) {
        return status;
    }
    char *again = rm_alloc(1, strlen(options) + sizeof late);
    if (again == NULL) {
        return status;
    }
    (void)snprintf(what, sizeof what, "%s=: ", sink->name);
    say(what, resmon_last_error(), "; it is tried again at the end");
    memcpy(again, options, strlen(options));
    memcpy(again + strlen(options), late, sizeof late);
    status = resmon_monitor_add(monitor, sink->name, again);
    rm_free(again);
    return status;
}

/* A sink that cannot be added is left out.  Then the summary is printed, so that the run has a
 * result. */
static void add_outputs(void)
{
    for (size_t i = 0; i < plan->sink_count; i++) {
        const char *options = plan->sinks[i].text.length > 0 ? plan->sinks[i].text.text : "";
        if (plan->sinks[i].is_wanted && add_output(plan->sinks[i].set, options) != RESMON_OK) {
            char what[64];
            (void)snprintf(what, sizeof what,
                           "the variable RESMON, %s: ", plan->sinks[i].set->name);
            say(what, resmon_last_error(), LEFT_OUT);
            plan->sinks[i].is_wanted = false;
            plan->wants_summary = true;
        }
    }
}

/* Tables by line need stacks.  If the options set stacks, these are kept: the lines may also come
 * from checkpoints. */
static void need_stacks_of_lines(void)
{
    if (plan->environment.lines != NULL && plan->options.stacks == 0) {
        (void)rm_monitor_need(monitor, "lines", RESMON_STACKS_CPU | RESMON_STACKS_MEMORY, 0);
    }
}

/* Whether all sinks succeeded; prints the reasons of failures. */
static bool check_outputs(void)
{
    bool is_all_well = true;
    resmon_sink_info info = {.struct_size = sizeof info};
    for (size_t i = 0; resmon_monitor_get_sink(monitor, i, &info) == RESMON_OK; i++) {
        if (info.end_status != RESMON_OK) {
            say(info.name, ": ", info.reason);
            is_all_well = false;
        }
    }
    return is_all_well;
}

/* The summary replaces an output that cannot be written, so that the run has a result. */
static resmon_status finish(void *unused)
{
    (void)unused;
    resmon_run *run = NULL;
    (void)rm_monitor_stop(monitor);
    bool is_written = check_outputs();
    if (!is_written && !plan->wants_summary) {
        say("no result was written elsewhere; the summary:", "", "");
    }
    bool wants_summary = !is_written || plan->wants_summary;
    if (!wants_summary && plan->environment.lines == NULL) {
        return RESMON_OK;
    }
    if (resmon_monitor_snapshot(monitor, &run) != RESMON_OK) {
        say("no result: ", resmon_last_error(), "");
        return RESMON_OK;
    }
    if (wants_summary) {
        print_summary(run);
    }
    if (plan->environment.lines != NULL) {
        print_lines(run);
    }
    resmon_run_free(run);
    return RESMON_OK;
}

/* Prints each line of a text. */
static void say_lines(const char *text, const char *end)
{
    while (text != NULL && *text != '\0') {
        char line[1024];
        size_t length = strcspn(text, "\n");
        size_t kept = length < sizeof line - 1 ? length : sizeof line - 1;
        memcpy(line, text, kept);
        line[kept] = '\0';
        say("the variable RESMON: ", line, end);
        text += length + (text[length] == '\n' ? 1 : 0);
    }
}

static bool read_plan(const char *text)
{
    plan = rm_alloc(1, sizeof *plan);
    if (plan == NULL) {
        say("cannot start: out of memory", "", UNOBSERVED);
        return false;
    }
    if (rm_plan_read(text, true, plan) != RESMON_OK) {
        say("the variable RESMON: ", resmon_last_error(), UNOBSERVED);
        return false;
    }
    say_lines(plan->refused.text, LEFT_OUT);
    plan->wants_summary = plan->wants_summary && !is_quiet;
    return true;
}

static resmon_status try_to_start(void)
{
    resmon_status status = resmon_monitor_new(&plan->options, &monitor);
    if (status == RESMON_OK) {
        need_stacks_of_lines();
        add_outputs();
        rm_monitor_yield_scopes(monitor); /* to a monitor that the program starts itself */
        status = resmon_monitor_start(monitor);
    }
    return status;
}

/* If the start fails because of an option's value, the option is left out, and the start is tried
 * again: the other values are still useful. */
static bool start_monitor(void)
{
    while (try_to_start() != RESMON_OK) {
        char why[RM_ERROR_TEXT_BYTES];
        (void)rm_text_set(why, sizeof why, resmon_last_error());
        resmon_monitor_free(monitor);
        monitor = NULL;
        bool had_record = plan->options.record != NULL;
        bool is_of_option = rm_options_forget(&rm_monitor_options, &plan->options, why) != NULL;
        say(is_of_option ? "the variable RESMON: " : "cannot start: ", why,
            is_of_option ? LEFT_OUT : UNOBSERVED);
        if (!is_of_option) {
            return false;
        }
        plan->wants_summary |= had_record && plan->options.record == NULL;
    }
    return true;
}

static void say_remarks(void)
{
    char *text = NULL;
    if (resmon_monitor_remarks(monitor, &text) == RESMON_OK) {
        say_lines(text, "");
        resmon_text_free(text);
    }
}

static bool start(const char *text)
{
    if (!read_plan(text)) {
        return false;
    }
    if ((plan->environment.flags & RM_ENVIRONMENT_HELP) != 0) {
        print_help();
        return false;
    }
    if ((plan->environment.flags & RM_ENVIRONMENT_LOG) != 0) {
        resmon_set_log(log_line, NULL, RESMON_LOG_INFO);
    }
    bool is_started = start_monitor();
    if (is_started) {
        say_remarks();
    }
    return is_started;
}

static void release(void)
{
    rm_end_signals_release();
    (void)rm_lock_take(&end_lock);
    resmon_monitor *finished = monitor;
    RM_STORE(&monitor, NULL);
    rm_lock_drop(&end_lock);
    resmon_monitor_free(finished);
    if (plan != NULL) {
        rm_plan_free(plan);
    }
    rm_free(plan);
    plan = NULL;
}

/* ---- the end ---------------------------------------------------------------------------- */

/* Async-signal-safe. */
static bool is_ours(void)
{
    return owner == getpid() && RM_LOAD(&monitor) != NULL && owner_forks == rm_forks();
}

static resmon_status no_run(void)
{
    return rm_error(RESMON_ESTATE, "no run of the variable RESMON is active in this process");
}

resmon_status resmon_program_set_end(const resmon_run_end *end)
{
    RM_KEEP_ERRNO;
    resmon_run_end known;
    resmon_status status = rm_end_take(end, &known);
    if (status == RESMON_OK && !is_ours()) {
        status = no_run(); /* no lock: in a forked child, it may be held forever */
    } else if (status == RESMON_OK && rm_lock_take(&end_lock)) {
        status = is_ours() ? rm_monitor_set_end(monitor, &known) : no_run();
        rm_lock_drop(&end_lock);
    }
    return status;
}

/* An end that the program has set takes precedence over its exit status. */
static void note_exit_status(int exit_status)
{
    if (!is_ours() || !rm_lock_take(&end_lock)) {
        return; /* not our process, or a signal handler exits while its thread holds the lock */
    }
    if (is_ours()) {
        rm_monitor_note_exit(monitor, exit_status);
    }
    rm_lock_drop(&end_lock);
}

/*
 * A forked child that exits must not finish the parent's monitor; the lock may be held by a thread
 * that does not exist in the child.  A second thread that exits waits for the first thread, else it
 * would end the process before all is delivered.  A signal handler that exits on the thread of this
 * function cannot wait: the lock reports an error.
 */
static void finish_once(void)
{
    rm_end_signals_wait();
    if (owner != getpid() || !rm_lock_take(&finish_lock)) {
        return;
    }
    if (is_ours()) {
        rm_monitor_end_with_program(monitor);
        if (rm_thread_call(finish, NULL) != RESMON_OK) {
            (void)resmon_monitor_stop(monitor);
            say("no result: ", resmon_last_error(), "");
        }
        release();
    }
    rm_lock_drop(&finish_lock);
}

resmon_status resmon_program_finish(int32_t exit_status)
{
    RM_KEEP_ERRNO;
    if (!is_ours() || rm_monitor_is_this_thread(monitor)) {
        return no_run();
    }
    note_exit_status((int)exit_status & 0xff);
    finish_once();
    return RESMON_OK;
}

/* ---- other monitors, at the exit ---------------------------------------------------------- */

static resmon_status stop(void *left)
{
    return resmon_monitor_stop(left);
}

static void stop_with_status(int exit_status, void *left)
{
    if (rm_monitor_check_running(left) != RESMON_OK) {
        return; /* a forked child, or the monitor was already stopped */
    }
    rm_monitor_note_exit(left, exit_status & 0xff);
    rm_monitor_end_with_program(left);
    if (rm_thread_call(stop, left) != RESMON_OK) {
        say("", resmon_last_error(), "");
    }
}

resmon_status resmon_monitor_stop_at_exit(resmon_monitor *left)
{
    RM_KEEP_ERRNO;
    if (left == NULL) {
        return rm_error(RESMON_EINVAL, "%s: the monitor is NULL", __func__);
    }
    resmon_status status = rm_monitor_check_running(left);
    if (status == RESMON_OK && !stderr_file.is_open && fcntl(STDERR_FILENO, F_GETFD) >= 0) {
        rm_kept_note(&stderr_file, STDERR_FILENO);
    }
    return status == RESMON_OK ? rm_exit_status_hand(stop_with_status, left) : status;
}

/* The lock is kept: a thread that exits now waits until the signal ends the program. */
static void finish_for_signal(int number)
{
    if (rm_lock_take(&finish_lock) && is_ours()) {
        rm_monitor_note_signal(monitor, number);
        (void)rm_thread_call(finish, NULL);
    }
}

static void go_on(void)
{
    if (is_ours()) {
        release();
    }
    rm_lock_drop(&finish_lock);
}

static resmon_status take_signals(uint64_t wanted)
{
    const struct rm_end_signals signals = {wanted, is_ours, finish_for_signal, go_on};
    return wanted != 0 ? rm_end_signals_take(&signals) : RESMON_OK;
}

resmon_status resmon_program_end_on_signals(void)
{
    RM_KEEP_ERRNO;
    if (!is_ours()) {
        return no_run();
    }
    return take_signals(plan->environment.signals != 0 ? 0 : RM_SIGNALS_DEFAULT);
}

/* The link with a static libresmon requests this symbol by name (-u), else the linker would omit
 * this object file. */
void rm_autorun_load(void);

static bool is_set(const char *text)
{
    return text != NULL && text[strspn(text, " \t\n")] != '\0';
}

/* Options of the parent command (RESMON_RUN, setup/options.h), then those of the user (RESMON).
 * Without RESMON, only scopes and their energy are measured, and nothing is printed. */
#define LEAST          "domains=process+tree+cpu+energy,interval=1s,rows=2,tags=16"
#define LEAST_OF_CHILD LEAST ",scope_paths=256,scope_threads=32" /* there may be many children */

static bool start_for(const struct rm_run_request *asked, const char *text, bool is_child)
{
    is_quiet = !is_set(text);
    const char *first = !is_quiet ? asked->options : is_child ? LEAST_OF_CHILD : LEAST;
    const char *second = is_quiet ? asked->options : text; /* takes precedence over `first` */
    size_t room = strlen(first) + strlen(second) + 2;
    char *options = rm_alloc(1, room);
    if (options == NULL) {
        say("cannot start: out of memory", "", UNOBSERVED);
        return false;
    }
    bool has_both = first[0] != '\0' && second[0] != '\0';
    (void)snprintf(options, room, "%s%s%s", first, has_both ? "," : "", second);
    bool is_started = start(options);
    rm_free(options);
    return is_started;
}

/* Starts a monitor in a forked child of a process with RESMON_RUN, as in a separate program.  The
 * parent's monitor and plan are not freed.  The locks are new, as the old ones may be held by
 * threads that do not exist in the child. */
static bool start_in_child(void)
{
    static const struct rm_lock free_lock = RM_LOCK_INITIALIZER;
    struct rm_run_request asked;
    finish_lock = free_lock;
    end_lock = free_lock;
    owner = 0;
    monitor = NULL;
    plan = NULL;
    if (!rm_run_request_read(&asked) || !start_for(&asked, NULL, true)) {
        release();
        return false;
    }
    owner = getpid();
    owner_forks = rm_forks();
    return true;
}

/* secure_getenv(): the caller of a set-user-id program must not choose files that it writes. */
__attribute__((constructor)) void rm_autorun_load(void)
{
    /* glibc calls this constructor again if a library that depends on this one, such as the reader,
     * is loaded while exit() unloads this library. */
    static bool is_loaded;
    if (is_loaded) {
        return;
    }
    is_loaded = true;
    const char *text = secure_getenv("RESMON");
    struct rm_run_request asked = {.options = ""};
    bool is_asked = rm_run_request_read(&asked);
    if (!is_set(text) && !is_asked) {
        return;
    }
    if (is_asked) {
        rm_forked_start_by(start_in_child);
    }
    if (fcntl(STDERR_FILENO, F_GETFD) >= 0) {
        rm_kept_note(&stderr_file, STDERR_FILENO);
    }
    if (!start_for(&asked, text, false)) {
        release();
        return;
    }
    owner = getpid();
    owner_forks = rm_forks();
    copy_stderr();
    /* An exit handler runs before the handlers of libraries that were initialized earlier, such as
     * TLS libraries.  The destructor runs after all of them, and is used only as a fallback. */
    (void)atexit(finish_once);
    rm_exit_status_watch(note_exit_status);
    if (take_signals(plan->environment.signals & ~RM_SIGNALS_NONE) != RESMON_OK) {
        say("signals=: ", resmon_last_error(),
            "; these signals end the program as without libresmon");
    }
}

__attribute__((destructor)) static void unload(void)
{
    finish_once();
}

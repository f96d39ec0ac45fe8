/* SPDX-License-Identifier: MIT */
/*
 * Known loads: a counted amount of work, and what a monitor of this process says of it.  Samples
 * are taken on request around the load, so nothing here waits or depends on how fast the machine
 * is.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, memfd_create, getrusage of children */
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1024 * 1024)

/* ---- observing -------------------------------------------------------------------------- */

static resmon_monitor *start_monitor(void)
{
    resmon_monitor *monitor;
    resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = 86400000, /* samples on request only */
        .max_overhead = 1.0,
    };
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    return monitor;
}

/* A fresh sample. */
static resmon_run *sample(resmon_monitor *monitor)
{
    resmon_run *run;
    assert_ok(resmon_monitor_sample_now(monitor));
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    return run;
}

/* The metric in the last sample; NaN: not measured here. */
static double value_of(const resmon_run *run, const char *metric)
{
    size_t column;
    if (resmon_run_find_column(run, metric, NULL, &column) != RESMON_OK) {
        return (double)NAN;
    }
    const double *last = resmon_run_series(run, column, RESMON_SERIES_LAST);
    size_t rows = resmon_run_row_count(run);
    return last != NULL && rows > 0 ? last[rows - 1] : (double)NAN;
}

/* What the kernel says of this process, and of the loopback interface. */
struct account {
    double cpu_s, minor_faults, voluntary_switches, sent, received;
};

static double clock_seconds(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct account take_account(void)
{
    char line[512];
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    struct account account = {.cpu_s = clock_seconds(CLOCK_PROCESS_CPUTIME_ID),
                              .minor_faults = (double)usage.ru_minflt,
                              .voluntary_switches = (double)usage.ru_nvcsw,
                              .sent = (double)NAN,
                              .received = (double)NAN};
    FILE *file = fopen("/proc/net/dev", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, " lo: %lf %*f %*f %*f %*f %*f %*f %*f %lf", &account.received,
                     &account.sent);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return account;
}

/* Two samples, each between two accounts: what is between the samples is at least what is between
 * the inner accounts, and at most what is between the outer ones. */
struct around {
    resmon_monitor *monitor;
    resmon_run *before, *after;
    struct account outer[2], inner[2];
};

static void begin(struct around *around)
{
    around->monitor = start_monitor();
    around->outer[0] = take_account();
    around->before = sample(around->monitor);
    around->inner[0] = take_account();
}

static void end(struct around *around)
{
    around->inner[1] = take_account();
    around->after = sample(around->monitor);
    around->outer[1] = take_account();
}

static double growth(const struct around *around, const char *metric)
{
    return value_of(around->after, metric) - value_of(around->before, metric);
}

static void finish(struct around *around)
{
    resmon_run_free(around->before);
    resmon_run_free(around->after);
    resmon_monitor_free(around->monitor);
}

/* low <= value <= high, said in words when not. */
static void check_between(const char *what, double value, double low, double high)
{
    (void)printf("  %s: %.9g (%.9g ... %.9g)\n", what, value, low, high);
    if (!(value >= low && value <= high)) {
        fail_msg("%s is %.9g, not %.9g ... %.9g", what, value, low, high);
    }
}

static void skip_because(const char *reason)
{
    (void)printf("skipped: %s\n", reason);
    skip();
}

/* ---- CPU -------------------------------------------------------------------------------- */

/* Uses this much CPU time of the calling thread. */
static void burn(double seconds)
{
    double until = clock_seconds(CLOCK_THREAD_CPUTIME_ID) + seconds;
    while (clock_seconds(CLOCK_THREAD_CPUTIME_ID) < until) {
    }
}

static void *burn_half(void *context)
{
    burn(0.5);
    return context;
}

/* Of this process; ticks of the kernel's clock may be missing, or be there already. */
static void check_cpu(const struct around *around, const char *what, double value)
{
    double low = around->inner[1].cpu_s - around->inner[0].cpu_s;
    double high = around->outer[1].cpu_s - around->outer[0].cpu_s;
    assert_true(low >= 1.0);
    check_between(what, value, low - 0.03, high + 0.03);
}

TEST(one_thread)
{
    struct around around;
    begin(&around);
    burn(1.0);
    end(&around);
    check_cpu(&around, "proc.cpu.time of 1 s", growth(&around, "proc.cpu.time"));
    check_cpu(&around, "user + system",
              growth(&around, "proc.cpu.user") + growth(&around, "proc.cpu.system"));
    check_cpu(&around, "tree.cpu.time of 1 s", growth(&around, "tree.cpu.time"));
    finish(&around);
}

TEST(two_threads)
{
    struct around around;
    pthread_t threads[2];
    begin(&around);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, burn_half, NULL), 0);
    }
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    end(&around);
    check_cpu(&around, "proc.cpu.time of 2 x 0.5 s", growth(&around, "proc.cpu.time"));
    finish(&around);
}

/* ---- children --------------------------------------------------------------------------- */

#define CHILDREN 8
#define CHILD_S  0.1

static double children_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void reap_all(void)
{
    while (wait(NULL) > 0 || errno == EINTR) {
    }
}

/* They live between two samples: nobody ever sees them. */
TEST(short_lived_children)
{
    struct around around;
    begin(&around);
    double before = children_seconds();
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            burn(CHILD_S);
            _exit(0);
        }
    }
    reap_all();
    double used = children_seconds() - before;
    end(&around);
    double own = growth(&around, "proc.cpu.time");
    check_between("what the children used", used, 0.95 * CHILDREN * CHILD_S, 10.0);
    check_between("tree.cpu.time", growth(&around, "tree.cpu.time"), 0.95 * (used + own),
                  1.05 * (used + own));
    check_between("tree.processes", value_of(around.after, "tree.processes"), 1, 1);
    check_between("tree.uncounted", growth(&around, "tree.uncounted"), 0, 0);
    finish(&around);
}

/* Two pipes: a child says that it has done half of its work, and waits for a word. */
struct child {
    pid_t pid;
    int done; /* read end */
    int go;   /* write end */
};

static struct child start_child(void)
{
    int done[2];
    int go[2];
    char byte = 0;
    assert_true(pipe(done) == 0 && pipe(go) == 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(go[1]);
        burn(CHILD_S / 2);
        if (write(done[1], &byte, 1) != 1 || read(go[0], &byte, 1) < 0) {
            _exit(1);
        }
        burn(CHILD_S / 2);
        _exit(0);
    }
    (void)close(done[1]);
    (void)close(go[0]);
    return (struct child){.pid = pid, .done = done[0], .go = go[1]};
}

static void await_child(const struct child *child)
{
    char byte;
    assert_int_equal(read(child->done, &byte, 1), 1);
}

/* Sampled in the middle of their lives; then waited for. */
TEST(children_that_are_seen)
{
    struct around around;
    struct child children[CHILDREN];
    begin(&around);
    double before = children_seconds();
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = start_child();
    }
    for (int i = 0; i < CHILDREN; i++) {
        await_child(&children[i]);
    }
    resmon_run *middle = sample(around.monitor);
    check_between("tree.processes", value_of(middle, "tree.processes"), 1 + CHILDREN, 1 + CHILDREN);
    double half = value_of(middle, "tree.cpu.time") - value_of(around.before, "tree.cpu.time");
    check_between("tree.cpu.time half-way", half, 0.95 * CHILDREN * CHILD_S / 2, 10.0);
    resmon_run_free(middle);
    for (int i = 0; i < CHILDREN; i++) {
        (void)close(children[i].go);
        (void)close(children[i].done);
    }
    reap_all();
    double used = children_seconds() - before;
    end(&around);
    double own = growth(&around, "proc.cpu.time");
    check_between("tree.cpu.time", growth(&around, "tree.cpu.time"), 0.95 * (used + own),
                  1.05 * (used + own));
    check_between("tree.exited", growth(&around, "tree.exited"), CHILDREN, CHILDREN);
    check_between("tree.uncounted", growth(&around, "tree.uncounted"), 0, 0);
    finish(&around);
}

/* A child that was seen alive and has died, but was not waited for: its CPU time counts, its
 * descriptors do not. */
TEST(zombie)
{
    struct around around;
    siginfo_t info;
    begin(&around);
    struct child child = start_child();
    await_child(&child);
    resmon_run *alive = sample(around.monitor);
    check_between("tree.fds beyond proc.fds, alive",
                  value_of(alive, "tree.fds") - value_of(alive, "proc.fds"), 1, 1000);
    resmon_run_free(alive);
    (void)close(child.go);
    (void)close(child.done);
    assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    end(&around);
    check_between("tree.cpu.time with a zombie", growth(&around, "tree.cpu.time"), CHILD_S, 10.0);
    check_between("tree.processes", value_of(around.after, "tree.processes"), 1, 1);
    check_between("tree.fds beyond proc.fds, dead",
                  value_of(around.after, "tree.fds") - value_of(around.after, "proc.fds"), 0, 0);
    (void)waitpid(child.pid, NULL, 0);
    finish(&around);
}

static void check_written(const struct around *around, const char *metric, double low, double high)
{
    double value = growth(around, metric);
    if (isnan(value) && access("/proc/self/io", R_OK) != 0) {
        (void)printf("  skipped: %s: this kernel has no accounts of I/O\n", metric);
        return;
    }
    check_between(metric, value, low, high);
}

static void write_to_memory(size_t bytes)
{
    static char chunk[65536];
    int fd = memfd_create("load", MFD_CLOEXEC);
    for (size_t done = 0; done < bytes; done += sizeof chunk) {
        if (write(fd, chunk, sizeof chunk) != (ssize_t)sizeof chunk) {
            _exit(1);
        }
    }
    (void)close(fd);
}

/* With SIGCHLD ignored the kernel lets children go, and nobody takes over what they had used: here
 * next to no CPU time, but I/O. */
TEST(child_that_nobody_waits_for)
{
    struct around around;
    int seen[2], go[2];
    char byte = 0;
    assert_true(pipe(seen) == 0 && pipe(go) == 0);
    void (*handler)(int) = signal(SIGCHLD, SIG_IGN);
    begin(&around);
    pid_t pid = fork();
    if (pid == 0) {
        write_to_memory(8 * MIB);
        _exit(write(seen[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(read(seen[0], &byte, 1), 1);
    resmon_run_free(sample(around.monitor));
    assert_int_equal(write(go[1], &byte, 1), 1);
    assert_int_equal(waitpid(pid, NULL, 0), -1); /* returns when there is no child any more */
    while (kill(pid, 0) == 0) { /* for a moment longer it is in /proc, in state X */
        (void)sched_yield();
    }
    end(&around);
    (void)signal(SIGCHLD, handler); /* before the checks: other tests wait for children */
    check_written(&around, "tree.io.write_chars", 8 * MIB, 9 * MIB);
    check_between("tree.uncounted", growth(&around, "tree.uncounted"), 1, 1);
    for (int i = 0; i < 2; i++) {
        (void)close(seen[i]);
        (void)close(go[i]);
    }
    finish(&around);
}

/* Children that end and are waited for at any moment of a sample: never lost, never counted twice.
 */
TEST(children_reaped_while_sampling)
{
    struct around around = {0};
    resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = 1,
        .domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_TREE,
        .max_overhead = 1.0,
    };
    assert_ok(resmon_monitor_new(&options, &around.monitor));
    assert_ok(resmon_monitor_start(around.monitor));
    around.before = sample(around.monitor);
    double before = children_seconds();
    for (int i = 0; i < 300; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            write_to_memory(MIB / 4);
            burn(0.004);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
    double used = children_seconds() - before;
    end(&around);
    double own = growth(&around, "proc.cpu.time");
    check_between("children that were seen", growth(&around, "tree.exited"), 1, 300);
    check_between("tree.uncounted", growth(&around, "tree.uncounted"), 0, 0);
    check_between("tree.cpu.time", growth(&around, "tree.cpu.time"), 0.95 * (used + own),
                  1.05 * (used + own));
    check_written(&around, "tree.io.write_chars", 300 * MIB / 4, 1.05 * 300 * MIB / 4);
    finish(&around);
}

/* ---- memory ----------------------------------------------------------------------------- */

/* Resident memory is counted in four counters, each kept per CPU in batches (lib/percpu_counter.c).
 */
static double rss_error_bound(void)
{
    double cpus = (double)sysconf(_SC_NPROCESSORS_CONF);
    return 4.0 * cpus * fmax(32.0, 2.0 * cpus) * (double)sysconf(_SC_PAGESIZE);
}

TEST(touched_memory)
{
    struct around around;
    size_t bytes = 256 * MIB;
    double bound = rss_error_bound() + (double)(2 * MIB);
    begin(&around);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, bytes);
    resmon_run *touched = sample(around.monitor);
    (void)munmap(memory, bytes);
    end(&around);
    double amount = (double)bytes;
    static const char *const metrics[] = {"proc.mem.rss", "proc.mem.anon", "proc.mem.vms",
                                          "tree.mem.rss"};
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        double grown = value_of(touched, metrics[i]) - value_of(around.before, metrics[i]);
        check_between(metrics[i], grown, amount - bound, amount + bound);
        check_between("... and after munmap", growth(&around, metrics[i]), -bound, bound);
    }
    double resident = value_of(around.before, "proc.mem.rss");
    check_between("proc.mem.peak_rss", value_of(around.after, "proc.mem.peak_rss"),
                  resident + amount - bound, INFINITY);
    resmon_run_free(touched);
    finish(&around);
}

TEST(page_faults)
{
    struct around around;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = 4096;
    struct rusage first, last;
    begin(&around);
    (void)getrusage(RUSAGE_SELF, &first);
    char *memory =
        mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    for (size_t i = 0; i < pages; i++) {
        memory[i * page] = 1; /* huge pages take one fault for many of these */
    }
    (void)getrusage(RUSAGE_SELF, &last);
    end(&around);
    double counted = (double)(last.ru_minflt - first.ru_minflt);
    check_between("proc.fault.minor", growth(&around, "proc.fault.minor"), counted,
                  around.outer[1].minor_faults - around.outer[0].minor_faults);
    check_between("proc.fault.major", growth(&around, "proc.fault.major"),
                  (double)(last.ru_majflt - first.ru_majflt), INFINITY);
    (void)munmap(memory, pages * page);
    finish(&around);
}

/* ---- I/O -------------------------------------------------------------------------------- */

static void write_all(int fd, size_t bytes)
{
    char *block = malloc(MIB);
    assert_non_null(block);
    memset(block, 'x', MIB);
    for (size_t done = 0; done < bytes;) {
        ssize_t wrote = write(fd, block, MIB);
        if (wrote <= 0) {
            fail_msg("cannot write: %s", strerror(errno));
        }
        done += (size_t)wrote;
    }
    free(block);
}

/* Whether files here reach a disk: one byte, synced, and looked for in the kernel's account. */
static bool is_on_disk(resmon_monitor *monitor, int fd)
{
    resmon_run *before = sample(monitor);
    bool is_written = write(fd, "x", 1) == 1 && fsync(fd) == 0;
    resmon_run *after = sample(monitor);
    double bytes = value_of(after, "proc.io.write_bytes") - value_of(before, "proc.io.write_bytes");
    resmon_run_free(before);
    resmon_run_free(after);
    return is_written && bytes > 0.0;
}

TEST(written_file)
{
    struct around around;
    char path[] = "truth-XXXXXX";
    double amount = (double)(64 * MIB);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)unlink(path);
    begin(&around);
    write_all(fd, 64 * MIB);
    end(&around);
    check_written(&around, "proc.io.write_chars", amount, 1.01 * amount);
    check_written(&around, "tree.io.write_chars", amount, 1.01 * amount);
    check_written(&around, "proc.io.write_count", 64, 64 + 64);
    (void)close(fd);
    finish(&around);
}

TEST(written_to_disk)
{
    needs_live("a file system whose writes are accounted as they are made");
    struct around around;
    char path[] = "truth-XXXXXX";
    size_t bytes = 64 * MIB;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)unlink(path);
    begin(&around);
    if (!is_on_disk(around.monitor, fd)) {
        end(&around);
        finish(&around);
        (void)close(fd);
        skip_because("the build directory is not on a disk whose writes are accounted");
    }
    resmon_run_free(around.before);
    around.before = sample(around.monitor);
    write_all(fd, bytes);
    assert_int_equal(fsync(fd), 0);
    end(&around);
    double amount = (double)bytes;
    /* The first page had been dirtied before and is dirtied again. */
    check_between("proc.io.write_bytes", growth(&around, "proc.io.write_bytes"), amount,
                  1.1 * amount);
    check_between("tree.io.write_bytes", growth(&around, "tree.io.write_bytes"), amount,
                  1.1 * amount);
    double disks = growth(&around, "node.disk.all.write_bytes");
    if (isnan(disks)) {
        (void)printf("  skipped: this machine shows no disks\n");
    } else {
        (void)printf("  node.disk.all.write_bytes: %.9g\n", disks);
    }
    (void)close(fd);
    finish(&around);
}

static int listen_on_loopback(struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)address, length) != 0 || listen(fd, 1) != 0 ||
                    getsockname(fd, (struct sockaddr *)address, &length) != 0)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

static void *receive_all(void *context)
{
    char *block = malloc(MIB);
    int fd = accept(*(int *)context, NULL, NULL);
    while (block != NULL && fd >= 0 && read(fd, block, MIB) > 0) {
    }
    (void)close(fd);
    free(block);
    return NULL;
}

TEST(loopback)
{
    struct around around;
    struct sockaddr_in address;
    pthread_t receiver;
    size_t bytes = 32 * MIB;
    int listener = listen_on_loopback(&address);
    if (listener < 0) {
        skip_because("there is no loopback interface here");
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    begin(&around);
    assert_int_equal(pthread_create(&receiver, NULL, receive_all, &listener), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    write_all(fd, bytes);
    (void)close(fd);
    (void)pthread_join(receiver, NULL);
    end(&around);
    (void)close(listener);
    double amount = (double)bytes;
    double sent = around.outer[1].sent - around.outer[0].sent;
    double received = around.outer[1].received - around.outer[0].received;
    if (isnan(sent)) {
        finish(&around);
        skip_because("the kernel does not say what goes over the loopback interface");
    }
    /* With headers, acknowledgements and what others send. */
    check_between("node.net.lo.sent", growth(&around, "node.net.lo.sent"), amount, sent);
    check_between("node.net.lo.recv", growth(&around, "node.net.lo.recv"), amount, received);
    check_between("node.net.all.sent", growth(&around, "node.net.all.sent"), amount, INFINITY);
    finish(&around);
}

/* ---- context switches ------------------------------------------------------------------- */

#define ROUNDS 2000

struct pipes {
    int there[2];
    int back[2];
};

static void *answer(void *context)
{
    const struct pipes *pipes = context;
    char byte;
    while (read(pipes->there[0], &byte, 1) == 1 && write(pipes->back[1], &byte, 1) == 1) {
    }
    return NULL;
}

TEST(context_switches)
{
    struct around around;
    struct pipes pipes;
    struct rusage first, last;
    pthread_t thread;
    char byte = 0;
    assert_true(pipe(pipes.there) == 0 && pipe(pipes.back) == 0);
    assert_int_equal(pthread_create(&thread, NULL, answer, &pipes), 0);
    begin(&around);
    (void)getrusage(RUSAGE_SELF, &first);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(write(pipes.there[1], &byte, 1), 1);
        assert_int_equal(read(pipes.back[0], &byte, 1), 1);
    }
    (void)getrusage(RUSAGE_SELF, &last);
    end(&around);
    double counted = (double)(last.ru_nvcsw - first.ru_nvcsw);
    check_between("voluntary switches of the load", counted, ROUNDS / 4.0, INFINITY);
    check_between("proc.ctx.voluntary", growth(&around, "proc.ctx.voluntary"), counted,
                  around.outer[1].voluntary_switches - around.outer[0].voluntary_switches);
    check_between("node.ctx", growth(&around, "node.ctx"), counted, INFINITY);
    (void)close(pipes.there[1]);
    (void)pthread_join(thread, NULL);
    (void)close(pipes.there[0]);
    (void)close(pipes.back[0]);
    (void)close(pipes.back[1]);
    finish(&around);
}

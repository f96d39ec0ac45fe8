/* SPDX-License-Identifier: MIT */
/*
 * What a monitor with default options costs a program that does nothing: the CPU time of the whole
 * process, all of it cold, ten times a second; against a thread that wakes as often and reads the
 * same files, each as often.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "bench.h"

#define TICK_NS     100000000L
#define SECOND      10 /* ticks */
#define MOST_FILES  256
#define MOST_ROUNDS 9

/* Files that the library keeps open, as they are named for any process. */
struct file {
    char path[192];
    bool is_slow; /* of the machine and the control group: once a second */
    int fd;
};

static struct file files[MOST_FILES];
static size_t file_count;

static double process_cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- which files ---------------------------------------------------------------------------- */

static bool is_read_at_each_sample(const char *path)
{
    return strncmp(path, "/proc/self/", 11) == 0 || strcmp(path, "/proc/stat") == 0;
}

static void note_file(const char *link)
{
    char own[32], path[192];
    (void)snprintf(own, sizeof own, "/proc/%ld/", (long)getpid());
    bool is_own = strncmp(link, own, strlen(own)) == 0;
    bool is_kernels = strncmp(link, "/proc/", 6) == 0 || strncmp(link, "/sys/", 5) == 0;
    (void)snprintf(path, sizeof path, "%s%s", is_own ? "/proc/self/" : "",
                   link + (is_own ? strlen(own) : 0));
    if (is_kernels && file_count < MOST_FILES && strstr(path, "clear_refs") == NULL) {
        struct file *file = &files[file_count++];
        memcpy(file->path, path, sizeof path);
        file->is_slow = !is_read_at_each_sample(path);
    }
}

/* Threads of the library have descriptors of their own. */
static void note_files_of(const char *thread)
{
    char path[192], link[160];
    (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/fd", thread);
    DIR *directory = opendir(path);
    for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/fd/%.32s", thread, entry->d_name);
        ssize_t length = readlink(path, link, sizeof link - 1);
        link[length > 0 ? length : 0] = '\0';
        note_file(link);
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
}

static void note_files(void)
{
    DIR *directory = opendir("/proc/self/task");
    for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] != '.' && atol(entry->d_name) != (long)getpid()) {
            note_files_of(entry->d_name);
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
}

/* ---- in processes of their own -------------------------------------------------------------- */

static void sleep_ticks(size_t ticks)
{
    struct timespec wait = {(time_t)(ticks / SECOND), (long)(ticks % SECOND) * TICK_NS};
    (void)nanosleep(&wait, NULL);
}

static double our_samples(size_t ticks)
{
    /* Few rows, so that none is in fresh memory any more: by default that is so after 40 s. */
    const resmon_monitor_options options = {.struct_size = sizeof options, .rows = 20};
    resmon_monitor *monitor;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        fprintf(stderr, "cannot start: %s\n", resmon_last_error());
        exit(2);
    }
    sleep_ticks(3 * SECOND);
    double before = process_cpu_ns();
    sleep_ticks(ticks);
    double after = process_cpu_ns();
    note_files();
    resmon_monitor_free(monitor);
    return after - before;
}

static double bare_reads(size_t ticks)
{
    struct timespec next;
    double before = 0.0;
    for (size_t i = 0; i < file_count; i++) {
        files[i].fd = open(files[i].path, O_RDONLY | O_CLOEXEC);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &next);
    for (size_t tick = 0; tick < SECOND + ticks; tick++) {
        before = tick == SECOND ? process_cpu_ns() : before;
        next.tv_nsec += TICK_NS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        for (size_t i = 0; i < file_count; i++) {
            if (files[i].fd >= 0 && (!files[i].is_slow || tick % SECOND == 0)) {
                bench_read_bare(files[i].fd);
            }
        }
    }
    return process_cpu_ns() - before;
}

/* ---- as often as can be --------------------------------------------------------------------- */

/* Wakes 10,000 times a second, and does nothing. */
static double bare_wakes(size_t wakes)
{
    struct timespec next;
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    (void)clock_gettime(CLOCK_MONOTONIC, &next);
    double before = process_cpu_ns();
    for (size_t i = 0; i < wakes; i++) {
        next.tv_nsec += 100000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return process_cpu_ns() - before;
}

/* Of this process alone, at the shortest interval, and without a bound. */
static double our_fastest(size_t samples)
{
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .interval_ms = 1,
                                            .domains = RESMON_DOMAIN_PROCESS,
                                            .max_overhead = 1.0};
    resmon_monitor *monitor;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        fprintf(stderr, "cannot start: %s\n", resmon_last_error());
        exit(2);
    }
    sleep_ticks(SECOND);
    double before = process_cpu_ns();
    sleep_ticks(samples * SECOND / 1000);
    double after = process_cpu_ns();
    resmon_monitor_free(monitor);
    return after - before;
}

/* What a child says: CPU time, and files that it found. */
struct answer {
    double cpu_ns;
    size_t file_count;
    struct file files[MOST_FILES];
};

static double in_a_child(double (*work)(size_t ticks), size_t ticks)
{
    static struct answer answer;
    int ends[2], status;
    if (pipe(ends) != 0) {
        abort();
    }
    pid_t child = fork();
    if (child == 0) {
        answer.cpu_ns = work(ticks);
        answer.file_count = file_count;
        memcpy(answer.files, files, sizeof files);
        FILE *to = fdopen(ends[1], "w");
        bool is_said = to != NULL && fwrite(&answer, sizeof answer, 1, to) == 1 && fclose(to) == 0;
        _exit(is_said ? 0 : 1);
    }
    (void)close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    bool is_heard = from != NULL && fread(&answer, sizeof answer, 1, from) == 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0 || !is_heard) {
        fprintf(stderr, "a process that is measured failed\n");
        exit(2);
    }
    (void)fclose(from);
    memcpy(files, answer.files, sizeof files);
    file_count = answer.file_count;
    return answer.cpu_ns;
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_cold");
    size_t ticks = bench.is_quick ? 20 : 50, rounds = bench.is_quick ? 1 : MOST_ROUNDS;
    double ours[MOST_ROUNDS], bare[MOST_ROUNDS], ratios[MOST_ROUNDS];
    for (size_t i = 0; i < rounds; i++) {
        file_count = 0;
        ours[i] = in_a_child(our_samples, ticks) / (double)ticks / 1e3;
        bare[i] = in_a_child(bare_reads, ticks) / (double)ticks / 1e3;
        ratios[i] = ours[i] / bare[i];
    }
    printf("  %zu files\n", file_count);
    double us = bench_middle(ours, rounds);
    bench_value(&bench, "the same files read cold, ten times a second, a time",
                bench_middle(bare, rounds), "us", 0.0);
    bench_value(&bench, "a sample in a program that does nothing", us, "us", 0.0);
    bench_value(&bench, "the one by the other", bench_middle(ratios, rounds), "", 1.3);
    bench_value(&bench, "of one CPU, by default", us / 1e5 * 100.0, "%", 0.2);
    bench_value(&bench, "a thread that wakes 10,000 times a second, of one CPU",
                in_a_child(bare_wakes, 20000) / 2e9 * 100.0, "%", 0.0);
    bench_value(&bench, "the process alone, 1,000 times a second, of one CPU",
                in_a_child(our_fastest, 2000) / 2e9 * 100.0, "%", 0.0);
    return bench_end(&bench);
}

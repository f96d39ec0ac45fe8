/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* The model of the processors where the kernel names it, or else their architecture. */
static void print_host(void)
{
    char line[256], model[128] = "";
    struct utsname names;
    (void)uname(&names);
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file != NULL && model[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "model name : %127[^\n]", model);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    printf("%s, %ld CPUs, Linux %.*s", model[0] != '\0' ? model : names.machine,
           sysconf(_SC_NPROCESSORS_ONLN), (int)strcspn(names.release, "-"), names.release);
}

struct bench bench_begin(int argc, char **argv, const char *name)
{
    struct bench bench = {.name = name};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--check") == 0) {
            bench.is_check = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            bench.is_quick = true;
        } else {
            fprintf(stderr, "usage: %s [--check] [--quick]\n", argv[0]);
            exit(2);
        }
    }
    printf("%s (", name);
    print_host();
    printf(")\n");
    return bench;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_middle(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static size_t rounds(const struct bench *bench)
{
    return bench->is_quick ? 5 : 31;
}

/* A figure as a row for history.py, where RESMON_BENCH_FIGURES names a file. */
static void note(const struct bench *bench, const char *what, double value, const char *unit)
{
    const char *path = getenv("RESMON_BENCH_FIGURES");
    FILE *file = path != NULL ? fopen(path, "ae") : NULL;
    if (path != NULL &&
        (file == NULL || fprintf(file, "%s,\"%s\",%.4g,%s\n", bench->name, what, value, unit) < 0 ||
         fclose(file) != 0)) {
        perror(path);
        exit(2);
    }
}

static void judge(struct bench *bench, double value, double bound)
{
    if (bound > 0.0 && value > bound) {
        bench->has_failed = true;
        printf("  PAST ITS TARGET");
    }
    printf("\n");
}

struct medians {
    double floor, ours, ratio;
};

static struct medians in_turn(const struct bench *bench, bench_fn floor, bench_fn ours,
                              void *context, size_t count)
{
    double floors[BENCH_MAX_ROUNDS], own[BENCH_MAX_ROUNDS], ratios[BENCH_MAX_ROUNDS];
    size_t n = rounds(bench);
    (void)floor(context, count);
    (void)ours(context, count);
    for (size_t i = 0; i < n; i++) {
        floors[i] = floor(context, count);
        own[i] = ours(context, count);
        ratios[i] = own[i] / floors[i];
    }
    return (struct medians){bench_middle(floors, n), bench_middle(own, n), bench_middle(ratios, n)};
}

void bench_ratio(struct bench *bench, const char *what, bench_fn floor, bench_fn ours,
                 void *context, size_t count, double target)
{
    struct medians times = in_turn(bench, floor, ours, context, count);
    printf("  %-44s floor %10.1f ns  ours %10.1f ns  ratio %5.2f", what, times.floor, times.ours,
           times.ratio);
    if (target > 0.0) {
        printf("  (target %.2f)", target);
    }
    judge(bench, times.ratio, target);
    note(bench, what, times.ratio, "ratio");
}

void bench_speed(struct bench *bench, const char *what, bench_fn floor, bench_fn ours,
                 void *context, size_t bytes, double least)
{
    struct medians times = in_turn(bench, floor, ours, context, 1);
    double scale = (double)bytes * 1e3; /* bytes a ns are 1000 MB/s */
    printf("  %-44s floor %7.0f MB/s  ours %7.0f MB/s  ratio %5.2f", what, scale / times.floor,
           scale / times.ours, times.ratio);
    if (least > 0.0) {
        printf("  (at least %.0f MB/s)", least);
    }
    judge(bench, times.ours, least > 0.0 ? scale / least : 0.0);
    note(bench, what, scale / times.ours, "MB/s");
}

void bench_count(struct bench *bench, const char *what, size_t count, size_t wanted)
{
    printf("  %-44s %zu  (target %zu)", what, count, wanted);
    judge(bench, count == wanted ? 0.0 : 2.0, 1.0);
}

double bench_median(struct bench *bench, bench_fn ours, void *context, size_t count)
{
    double own[BENCH_MAX_ROUNDS];
    size_t n = rounds(bench);
    (void)ours(context, count);
    for (size_t i = 0; i < n; i++) {
        own[i] = ours(context, count);
    }
    return bench_middle(own, n);
}

void bench_value(struct bench *bench, const char *what, double value, const char *unit,
                 double bound)
{
    printf("  %-44s %.4g %s", what, value, unit);
    if (bound > 0.0) {
        printf("  (target %.4g)", bound);
    }
    judge(bench, value, bound);
    note(bench, what, value, unit);
}

int bench_end(struct bench *bench)
{
    if (bench->has_failed) {
        printf("%s: past a target\n", bench->name);
    }
    return bench->is_check && bench->has_failed ? 1 : 0;
}

void bench_check(resmon_status status)
{
    if (status != RESMON_OK) {
        fprintf(stderr, "a call failed: %s\n", resmon_last_error());
        exit(2);
    }
}

void *bench_need(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return memory;
}

double bench_resident_bytes(void)
{
    /* The page tables themselves: statm and status are only right to some pages per CPU. */
    char line[256];
    double kib = -1.0;
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Rss: %lf kB", &kib) == 1) {
            break;
        }
    }
    if (file == NULL || kib < 0.0) {
        fprintf(stderr, "cannot read /proc/self/smaps_rollup\n");
        exit(2);
    }
    fclose(file);
    return kib * 1024.0;
}

void bench_read_bare(int fd)
{
    static char bytes[256 * 1024];
    size_t length = 0;
    ssize_t got;
    do {
        got = pread(fd, bytes + length, sizeof bytes - length, (off_t)length);
        length += got > 0 ? (size_t)got : 0;
    } while (got >= 2048);
}

double bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void bench_psutil(const char *arguments, double ours_ns)
{
    char command[512], line[256] = "";
    double ns;
    (void)snprintf(command, sizeof command, "\"${RESMON_PYTHON:-%s}\" %s %s 2>&1", BENCH_PYTHON,
                   BENCH_PSUTIL_PEER, arguments);
    FILE *output = popen(command, "r");
    if (output == NULL || fgets(line, sizeof line, output) == NULL) {
        (void)snprintf(line, sizeof line, "%s cannot be run\n", BENCH_PYTHON);
    }
    if (output != NULL) {
        (void)pclose(output);
    }
    if (sscanf(line, "%lf", &ns) == 1) {
        printf("  %-44s %.1f us, %.1f x ours\n",
               strchr(line, ' ') != NULL ? "the same by psutil" : "peer", ns / 1e3, ns / ours_ns);
    } else {
        printf("  no peer: %s", line);
    }
}

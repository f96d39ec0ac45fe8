/* SPDX-License-Identifier: MIT */
/*
 * The size of the shared libraries as they are installed by distributions, without symbols.  The
 * targets are of gcc 12 and build type Release, with everything that can be built in; other types
 * are only told.  171 kB of the reader are pages for browsers, half of that the scripts in them.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define MOST_RECORDER_KB 1010.0
#define MOST_READER_KB   500.0

extern char **environ;

/* Writes the library without symbols to `path`; its size, or 0: there is no strip(1) here. */
static double stripped_bytes(const char *library, const char *path)
{
    char *const words[] = {(char[]){BENCH_STRIP}, (char[]){"-o"}, strdup(path), strdup(library),
                           NULL};
    struct stat info;
    pid_t child;
    int status = 0;
    double bytes = 0.0;
    if (posix_spawnp(&child, words[0], NULL, NULL, words, environ) == 0 &&
        waitpid(child, &status, 0) == child && status == 0 && stat(path, &info) == 0) {
        bytes = (double)info.st_size;
    }
    free(words[2]);
    free(words[3]);
    return bytes;
}

static void measure(struct bench *bench, const char *library, const char *what, double most_kb)
{
    char path[] = "/tmp/bench-size-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    (void)close(fd);
    double bytes = stripped_bytes(library, path);
    (void)unlink(path);
    if (bytes > 0.0) {
        bench_value(bench, what, bytes / 1000.0, "kB", BENCH_IS_RELEASE ? most_kb : 0.0);
    } else {
        printf("  not measured: '%s' cannot be run\n", BENCH_STRIP);
    }
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "size");
    measure(&bench, BENCH_RECORDER, "libresmon.so without symbols", MOST_RECORDER_KB);
    measure(&bench, BENCH_READER, "libresmon-reader.so without symbols", MOST_READER_KB);
    return bench_end(&bench);
}

/* SPDX-License-Identifier: MIT */
/*
 * The size of the shared library as it is installed by distributions, without symbols.  The target
 * is of gcc 12 and build type Release, with everything that can be built in; other types are only
 * told.  171 kB of it are pages for browsers, half of that the scripts in them.
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

#define MOST_KB 1450.0

extern char **environ;

/* Writes the library without symbols to `path`; its size, or 0: there is no strip(1) here. */
static double stripped_bytes(const char *path)
{
    char *const words[] = {(char[]){BENCH_STRIP}, (char[]){"-o"}, strdup(path),
                           (char[]){BENCH_LIBRARY}, NULL};
    struct stat info;
    pid_t child;
    int status = 0;
    double bytes = 0.0;
    if (posix_spawnp(&child, words[0], NULL, NULL, words, environ) == 0 &&
        waitpid(child, &status, 0) == child && status == 0 && stat(path, &info) == 0) {
        bytes = (double)info.st_size;
    }
    free(words[2]);
    return bytes;
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "size");
    char path[] = "/tmp/bench-size-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 2;
    }
    (void)close(fd);
    double bytes = stripped_bytes(path);
    (void)unlink(path);
    if (bytes > 0.0) {
        bench_value(&bench, "libresmon.so without symbols", bytes / 1000.0, "kB",
                    BENCH_IS_RELEASE ? MOST_KB : 0.0);
    } else {
        printf("  not measured: '%s' cannot be run\n", BENCH_STRIP);
    }
    return bench_end(&bench);
}

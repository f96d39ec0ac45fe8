/* SPDX-License-Identifier: MIT */
/*
 * What fuzz targets share: the entry point, and a complaint that stops the fuzzer.
 */
#ifndef RESMON_TESTS_FUZZ_H
#define RESMON_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise of the library that does not hold: as bad as a crash. */
#define PROMISE(condition)                                                                \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            (void)fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

static char fuzz_path[64];

static inline void fuzz_remove_directory(void)
{
    char command[80];
    (void)snprintf(command, sizeof command, "rm -rf %s", fuzz_path);
    (void)!system(command);
}

/* A directory of our own on a file system in memory, made once. */
static inline const char *fuzz_directory(void)
{
    if (fuzz_path[0] == '\0') {
        (void)snprintf(fuzz_path, sizeof fuzz_path, "/dev/shm/resmon-fuzz-XXXXXX");
        if (mkdtemp(fuzz_path) == NULL) {
            (void)snprintf(fuzz_path, sizeof fuzz_path, "/tmp/resmon-fuzz-XXXXXX");
            PROMISE(mkdtemp(fuzz_path) != NULL);
        }
        (void)atexit(fuzz_remove_directory);
    }
    return fuzz_path;
}

#endif

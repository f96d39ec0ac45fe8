/* SPDX-License-Identifier: MIT */
/*
 * The files of a test, in a directory of its own.
 */
#ifndef RESMON_TESTS_FILES_H
#define RESMON_TESTS_FILES_H

#include <dirent.h>

#include "test.h"

static inline size_t count_files_in(const char *directory)
{
    size_t count = 0;
    DIR *dir = opendir(directory);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    (void)closedir(dir);
    return count;
}

/* In one of four rooms, in turn. */
static inline const char *path_in(const char *directory, const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

/* With all that is in it. */
static inline int remove_directory(const char *directory)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

#endif

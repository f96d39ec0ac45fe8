/* SPDX-License-Identifier: MIT */
/*
 * What a test left in its directory.
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

#endif

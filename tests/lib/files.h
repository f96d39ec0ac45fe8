/* SPDX-License-Identifier: MIT */
/*
 * Files of tests.  main.c makes a directory for the tests of a file, where they run; it and all
 * that is in it is removed behind them.
 */
#ifndef RESMON_TESTS_FILES_H
#define RESMON_TESTS_FILES_H

#include <stddef.h>
#include <stdint.h>

/* The path of that directory. */
extern char test_directory[64];

/* A file in it; the text stands in one of four places, in turn. */
const char *path_of(const char *name);

/* Files of a directory; those whose names begin with a dot are none. */
size_t count_files_in(const char *directory);

/* All of a file, '\0' behind it; free() it.  NULL: there is none.  `ret_length` may be NULL. */
char *content_of(const char *path, size_t *ret_length);

/* Writes it over what was there. */
void put_content(const char *path, const void *bytes, size_t length);
void put_text(const char *path, const char *text);

/* With all that is in it. */
int remove_directory(const char *directory);

/* A tear-down: fails where something is left in the directory, a temporary file for one. */
int is_left_empty(void **state);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns making outside text fit for a file name.
 * Called by job/leader and job/path_pattern.
 */
#ifndef RM_JOB_FILE_NAME_H
#define RM_JOB_FILE_NAME_H

#include <stddef.h>

/**
 * `text` as a part of a file name in `name`: bytes other than [A-Za-z0-9._+=-] become '_', and so
 * do the dots of "." and "..", and "" becomes "_".  What does not fit is cut off.
 */
void rm_file_name_clean(char *name, size_t capacity, const char *text);

#endif

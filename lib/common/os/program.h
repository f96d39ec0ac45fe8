/* SPDX-License-Identifier: MIT */
/*
 * Owns what people call a program: its script where an interpreter runs one, else its file.  Pure.
 */
#ifndef RM_OS_PROGRAM_H
#define RM_OS_PROGRAM_H

#include <stddef.h>

/**
 * "train.py" of "python3 -u /home/ann/train.py --epochs 3", "http.server" of "python3 -m ...",
 * "wordindex" of a program of its own.  `arguments`: as /proc/PID/cmdline has them, each ended by
 * '\0', `length` bytes.  "" when nothing is known.
 */
void rm_program_name(const char *executable, const char *arguments, size_t length, char *name,
                     size_t capacity);

#endif

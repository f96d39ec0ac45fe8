/* SPDX-License-Identifier: MIT */
/*
 * Owns the width of a text: lines that are too long are broken between words.
 */
#ifndef RM_REPORT_WRAP_H
#define RM_REPORT_WRAP_H

#include "base/buffer.h"

/** Breaks the lines of `text` to `width` columns, and adds them.  What continues a line is indented
 * by two more than that; a word that is longer than a line is broken. */
void rm_report_wrap(struct rm_buffer *buffer, const char *text, size_t width);

#endif

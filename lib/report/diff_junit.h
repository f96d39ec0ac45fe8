/* SPDX-License-Identifier: MIT */
/*
 * Owns a comparison as JUnit's XML, which services that build and test software show: a test for
 * each rule and figure.
 */
#ifndef RM_REPORT_DIFF_JUNIT_H
#define RM_REPORT_DIFF_JUNIT_H

#include "base/buffer.h"
#include "compare/diff.h"

void rm_diff_write_junit(struct rm_buffer *buffer, const struct rm_diff *diff);

#endif

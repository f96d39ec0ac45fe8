/* SPDX-License-Identifier: MIT */
/*
 * Owns a comparison of two groups of runs as JSON.
 */
#ifndef RM_EXPORT_DIFF_DOCUMENT_H
#define RM_EXPORT_DIFF_DOCUMENT_H

#include "base/output.h"
#include "compare/diff.h"

/** Each figure of the run and of each scope, its verdict, and that of all; SI units. */
resmon_status rm_diff_document_write(const struct rm_diff *diff, const struct rm_output *output);

/** "worse", "not_worse", "cannot_tell", "none".  Static. */
const char *rm_diff_word(enum rm_verdict verdict);

#endif

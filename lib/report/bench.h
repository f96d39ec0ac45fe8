/* SPDX-License-Identifier: MIT */
/*
 * Owns the words for a group of runs: medians of its figures with their intervals, how its runs
 * lie, and those that lie far away.
 */
#ifndef RM_REPORT_BENCH_H
#define RM_REPORT_BENCH_H

#include "base/buffer.h"
#include "compare/group.h"

/** RESMON_ENOMEM, and the buffer is of no use. */
resmon_status rm_bench_write_text(struct rm_buffer *buffer, const struct rm_group *group);

#endif

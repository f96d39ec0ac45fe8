/* SPDX-License-Identifier: MIT */
/*
 * A thread with a table of descriptors of its own, as the library samples on: there, kept files
 * need not be recognised before they are read.
 */
#ifndef RESMON_TESTS_ISOLATED_H
#define RESMON_TESTS_ISOLATED_H

#include "bench.h"

/** Calls `work` on that thread, which is one and the same for all calls; returns what it did. */
double isolated_call(bench_fn work, void *context, size_t count);

#endif

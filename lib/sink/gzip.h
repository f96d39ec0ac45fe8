/* SPDX-License-Identifier: MIT */
/*
 * Owns zlib (sink/gzip.c is the only file that includes it), and gzip files without it.
 */
#ifndef RM_SINK_GZIP_H
#define RM_SINK_GZIP_H

#include <stddef.h>

#include <resmon/status.h>

#include "base/output.h"

/** Writes a gzip file of `bytes`: compressed where zlib can be loaded, else as
 * rm_gzip_store().  What it says depends on nothing else: no time, no name. */
resmon_status rm_gzip(const struct rm_output *output, const void *bytes, size_t length);

/** A gzip file of `bytes` as they are. */
resmon_status rm_gzip_store(const struct rm_output *output, const void *bytes, size_t length);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns zlib: os/gzip.c is the only file that includes it.
 */
#ifndef RM_OS_GZIP_H
#define RM_OS_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "base/text.h"

/** Writes a gzip file of `bytes`.  The file depends on nothing else: it has no time and no name.
 * RESMON_ENOTSUP: no zlib; RESMON_ENOMEM; and as the output. */
RM_SHARED resmon_status rm_gzip(const struct rm_output *output, const void *bytes, size_t length);

/** Whether zlib can be loaded. */
bool rm_gzip_can_unpack(void);

/** Unpacks what zlib packed (RFC 1950), which is `room` bytes.  RESMON_EFORMAT: it is not, or is
 * damaged; RESMON_ENOTSUP: no zlib; RESMON_ENOMEM. */
resmon_status rm_gzip_unpack(const void *bytes, size_t length, void *unpacked, size_t room);

#endif

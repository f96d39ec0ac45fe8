/* SPDX-License-Identifier: MIT */
/*
 * Owns a table that several processes append lines to: one at a time, a line whole or not at all,
 * below a heading that fits.
 */
#ifndef RM_OS_SHAREDFILE_H
#define RM_OS_SHAREDFILE_H

#include <stddef.h>

#include <resmon/status.h>

/**
 * Appends `line` (with its '\n') to `path`, which begins with `heading` (the same), and is made if
 * it is not there.  A file with another heading stays as it is: then it is PATH.1, PATH.2 and so
 * on. RESMON_EBUSY: another process holds it for seconds; RESMON_EINVAL: no regular file; and what
 * writing may fail with.
 */
resmon_status rm_sharedfile_append(const char *path, const char *heading, const char *line);

#endif

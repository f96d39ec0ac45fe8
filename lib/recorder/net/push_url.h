/* SPDX-License-Identifier: MIT */
/*
 * Owns the address under which a Pushgateway keeps a group of series.
 */
#ifndef RM_NET_PUSH_URL_H
#define RM_NET_PUSH_URL_H

#include "format/exposition.h"

#define RM_PUSH_URL_BYTES 8192

/**
 * "<base>/metrics/job/<job>/<label>/<value>..."; what a path cannot hold is percent-encoded, and a
 * value that is no path segment ("", ".", "a/b") stands in base64 (RFC 4648, section 5).
 * RESMON_EINVAL: `base` is no "http://host..." or "https://host...", `job` is empty, or a label is
 * called "job"; RESMON_ERANGE: longer than RM_PUSH_URL_BYTES; RESMON_ENOMEM.  No message repeats
 * `base`, which may hold a password.
 */
resmon_status rm_push_url(const char *base, const char *job, const struct rm_labels *grouping,
                          struct rm_buffer *ret_url);

#endif

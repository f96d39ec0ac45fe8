/* SPDX-License-Identifier: MIT */
/*
 * Owns the present RSS of our own process, read on any thread.
 */
#ifndef RM_OS_OWN_RSS_H
#define RM_OS_OWN_RSS_H

#include <stdbool.h>
#include <stdint.h>

#include "os/kept.h"

/** Opens the file of this process; false with errno. */
bool rm_own_rss_open(struct rm_kept *kept);

/** In bytes; false when it cannot be read: another file by now, for one.  Any thread. */
bool rm_own_rss_read(const struct rm_kept *kept, uint64_t *ret_bytes);

#endif

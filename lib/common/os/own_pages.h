/* SPDX-License-Identifier: MIT */
/*
 * Owns what the kernel tells of the pages of this process: how many are resident, of its own and of
 * files, and of which of both the page at an address is.  Read on one thread.
 */
#ifndef RM_OS_OWN_PAGES_H
#define RM_OS_OWN_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "os/file.h"

struct rm_own_pages {
    struct rm_file statm, pagemap;
    uint64_t page_bytes;
};

/** What cannot be opened cannot be read later.  The root stays where it is. */
void rm_own_pages_open(struct rm_own_pages *pages, const struct rm_root *root, uint64_t page_bytes);
void rm_own_pages_close(struct rm_own_pages *pages);

/** RssAnon, and RssFile with RssShmem, in bytes; false: they cannot be read. */
bool rm_own_pages_rss(struct rm_own_pages *pages, struct rm_scratch *scratch, uint64_t *ret_anon,
                      uint64_t *ret_file);

/** Whether there is a page at an address that is the process's own: in a private mapping of a file,
 * one that was written to. */
bool rm_own_pages_is_own(struct rm_own_pages *pages, uint64_t address);

#endif

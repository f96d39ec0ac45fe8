/* SPDX-License-Identifier: MIT */
/*
 * Owns the kernel's high-water mark of our resident set: reading it, and setting it back to the
 * present RSS by writing "5" to /proc/self/clear_refs (Linux 4.0, CONFIG_PROC_PAGE_MONITOR).
 */
#ifndef RM_OS_RSS_MARK_H
#define RM_OS_RSS_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

#include "os/kept.h"

enum rm_mark_reading {
    RM_MARK_EXACT, /* by getrusage, or VmHWM of /proc/self/status */
    RM_MARK_NONE   /* no reset is possible: only the present RSS can be read */
};

struct rm_rss_mark {
    enum rm_mark_reading reading; /* atomic: it becomes RM_MARK_NONE should a reset fail */
    struct rm_kept clear, status, statm;
    uint64_t page_bytes;
    char why_not[160]; /* with RM_MARK_NONE */
};

/** Finds out what works in this process; never fails.  `ret_peak`: the mark before any reset. */
void rm_rss_mark_open(struct rm_rss_mark *mark, uint64_t *ret_peak);
void rm_rss_mark_close(struct rm_rss_mark *mark);

/* Not on several threads at once: they open again what the program has closed. */

/** The mark in bytes (with RM_MARK_NONE: the present RSS); 0 when it cannot be read. */
uint64_t rm_rss_mark_read(struct rm_rss_mark *mark);

/** The present RSS in bytes; 0 when it cannot be read. */
uint64_t rm_rss_mark_rss(struct rm_rss_mark *mark);

/** The kernel's mark in bytes, without any of the above: VmHWM; 0 when it cannot be read. */
uint64_t rm_rss_mark_life(void);

/** Sets it back; does nothing with RM_MARK_NONE, which it becomes on failure. */
void rm_rss_mark_reset(struct rm_rss_mark *mark);

#endif

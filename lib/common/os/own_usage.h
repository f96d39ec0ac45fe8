/* SPDX-License-Identifier: MIT */
/*
 * Owns the resource usage of our own process: pages, present RSS, the high-water mark of RSS, and
 * the CPU time of the process and its descendants.  Its I/O is os/own_io.h.
 */
#ifndef RM_OS_OWN_USAGE_H
#define RM_OS_OWN_USAGE_H

#include <resmon/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/parse.h"
#include "os/file.h"
#include "os/kept.h"

/* ---- pages ------------------------------------------------------------------------------ */

/*
 * The pages of this process: the resident anonymous and file pages, and whether the page at an
 * address is the process's own.  Read on one thread.
 */

/* Bits of an entry of /proc/PID/pagemap (proc(5)) that a process may always read of itself. */
#define RM_PAGE_IS_PRESENT        (UINT64_C(1) << 63)
#define RM_PAGE_IS_SWAPPED        (UINT64_C(1) << 62)
#define RM_PAGE_IS_FILE_OR_SHARED (UINT64_C(1) << 61)

struct rm_own_pages {
    struct rm_file statm, pagemap;
    uint64_t page_bytes;
};

/** A file that cannot be opened here is not read later.  `root` must not move. */
void rm_own_pages_open(struct rm_own_pages *pages, const struct rm_root *root, uint64_t page_bytes);
void rm_own_pages_close(struct rm_own_pages *pages);

/** RssAnon, and RssFile + RssShmem, in bytes; false: not readable. */
bool rm_own_pages_rss(struct rm_own_pages *pages, struct rm_scratch *scratch, uint64_t *ret_anon,
                      uint64_t *ret_file);

/** Whether the page at an address is present and the process's own.  In a private mapping of a
 * file, a page is its own after a write. */
bool rm_own_pages_is_own(struct rm_own_pages *pages, uint64_t address);

/* ---- present RSS ------------------------------------------------------------------------ */

/*
 * The present RSS of our own process, read on any thread.
 */

/** Opens the file of this process; false with errno. */
bool rm_own_rss_open(struct rm_kept *kept);

/** In bytes, on any thread.  False: not readable, for example because the number is another file's
 * by now. */
bool rm_own_rss_read(const struct rm_kept *kept, uint64_t *ret_bytes);

/* ---- high-water mark of RSS ------------------------------------------------------------- */

/*
 * The kernel's high-water mark of our RSS: reading it, and resetting it to the present RSS by
 * writing "5" to /proc/self/clear_refs (Linux 4.0, CONFIG_PROC_PAGE_MONITOR).
 */

enum rm_mark_reading {
    RM_MARK_EXACT, /* by getrusage, or VmHWM of /proc/self/status */
    RM_MARK_NONE   /* no reset is possible: only the present RSS can be read */
};

struct rm_rss_mark {
    enum rm_mark_reading reading; /* atomic: becomes RM_MARK_NONE if a reset fails */
    struct rm_kept clear, status, statm;
    uint64_t page_bytes;
    char why_not[160]; /* the reason for RM_MARK_NONE */
};

/** Finds out which way works in this process; never fails.  `ret_peak`: the mark before any reset.
 */
void rm_rss_mark_open(struct rm_rss_mark *mark, uint64_t *ret_peak);
void rm_rss_mark_close(struct rm_rss_mark *mark);

/* Not thread-safe: these functions reopen descriptors that the program has closed. */

/** The mark in bytes (with RM_MARK_NONE: the present RSS); 0 when it cannot be read. */
uint64_t rm_rss_mark_read(struct rm_rss_mark *mark);

/** The present RSS in bytes; 0 when it cannot be read. */
uint64_t rm_rss_mark_rss(struct rm_rss_mark *mark);

/** VmHWM in bytes, without an open mark; 0: not readable. */
uint64_t rm_rss_mark_life(void);

/** Resets the mark to the present RSS.  Does nothing with RM_MARK_NONE; a failure sets
 * RM_MARK_NONE. */
void rm_rss_mark_reset(struct rm_rss_mark *mark);

/* ---- CPU time of the process tree -------------------------------------------------------- */

/*
 * The CPU time of our own process and of its descendants.  Scopes read it at any moment and on any
 * thread, without a file and without a lock.
 *
 * It is the sum of three parts: the process's clock; the time of waited-for children and of their
 * waited-for children (getrusage); the clocks of living descendants.  The collector of the process
 * tree (collect/tree.c) publishes the living descendants.  A newer descendant is missing until the
 * next publication, or until it is waited for.  The time of children that a descendant has waited
 * for is also of the last publication.
 */

#define RM_DESCENDANTS 64 /* maximum number of descendants whose clocks are read */

/* A living descendant at the last publication, and its CPU time then. */
struct rm_descendant {
    int64_t pid;
    int64_t child; /* the child of ours that it is or descends from; 0: none, it is an orphan. After
                      that child was waited for, getrusage includes the time of the child and of the
                      child's waited-for children */
    uint64_t own_ns;
    uint64_t waited_ns; /* CPU time of its waited-for children */
};

/**
 * Publishes the living descendants, at most RM_DESCENDANTS.  `rest_ns` is the CPU time of ended
 * descendants that were never waited for, which getrusage does not include.  The first owner
 * publishes until it withdraws; calls of other owners have no effect meanwhile.  One thread at a
 * time per owner.
 */
void rm_tree_cpu_publish(const void *owner, const struct rm_descendant *descendants, size_t count,
                         uint64_t rest_ns);
void rm_tree_cpu_withdraw(const void *owner);

struct rm_tree_cpu {
    uint64_t process_ns;     /* all of its threads */
    uint64_t descendants_ns; /* never decreases */
    bool has_descendants;    /* living descendants exist, published or not */
};

/* At the begin of a span, the process's own clock is read last.  At the end, it is read first.  So
 * the span does not include the reading of the descendants. */
struct rm_tree_cpu rm_tree_cpu_at_begin(void);
struct rm_tree_cpu rm_tree_cpu_at_end(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns what our own process uses: its I/O, its pages, its present RSS and the high-water mark of
 * it, and the CPU time of it and its descendants.
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

/* ---- I/O -------------------------------------------------------------------------------- */

/*
 * The I/O of our own process as scopes see it: the counters of /proc/self/io, less what the library
 * itself has read and written through system calls that they count.
 */

/** After each read or write of the library: `got` is what the call returned. */
void rm_own_io_note_read(ssize_t got);

/** After several reads of the library at once. */
void rm_own_io_note_reads(uint64_t bytes, uint64_t calls);
void rm_own_io_note_write(ssize_t got);

/* What the calling thread has had of storage before a part of the library's work. */
struct rm_own_io_part {
    bool is_known;
    uint64_t read_bytes, write_bytes;
};

/** Around work of the library that reads from storage or writes to it, as a recording: what it was
 * is known when it is done, some 16 us for both. */
void rm_own_io_begin(struct rm_own_io_part *part);
void rm_own_io_end(const struct rm_own_io_part *part);

/* What the library has read and written so far. */
struct rm_own_io {
    uint64_t numbers[RM_IO_FIELDS];
    uint64_t parts;  /* that have begun */
    bool is_settled; /* none was under way: those of storage are whole */
};

/** Before the kernel's figures are read, which then have all of it; a call of another thread may be
 * in them only, for a moment.  Waits 5 ms at most for parts that are under way. */
void rm_own_io_before(struct rm_own_io *ours);

/** After they were read: whether storage is settled still. */
void rm_own_io_after(struct rm_own_io *ours);

/** What was not the library's of what was found in a field, by then at least; where that is not
 * known yet, what it was `before`. */
uint64_t rm_own_io_rest(const struct rm_own_io *ours, enum rm_io_field field, uint64_t found,
                        uint64_t before);

/** Opens the file of this process, whatever fs_root its monitor reads; false with errno. */
bool rm_own_io_open(struct rm_kept *kept);

/** Reads all fields, on any thread; false when one is missing: another file by now, for one. */
bool rm_own_io_read(const struct rm_kept *kept, uint64_t numbers[RM_IO_FIELDS]);

/* ---- pages ------------------------------------------------------------------------------ */

/*
 * What the kernel tells of the pages of this process: how many are resident, of its own and of
 * files, and of which of both the page at an address is.  Read on one thread.
 */

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

/* ---- present RSS ------------------------------------------------------------------------ */

/*
 * The present RSS of our own process, read on any thread.
 */

/** Opens the file of this process; false with errno. */
bool rm_own_rss_open(struct rm_kept *kept);

/** In bytes; false when it cannot be read: another file by now, for one.  Any thread. */
bool rm_own_rss_read(const struct rm_kept *kept, uint64_t *ret_bytes);

/* ---- high-water mark of RSS ------------------------------------------------------------- */

/*
 * The kernel's high-water mark of our resident set: reading it, and setting it back to the present
 * RSS by writing "5" to /proc/self/clear_refs (Linux 4.0, CONFIG_PROC_PAGE_MONITOR).
 */

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

/* ---- CPU time of the process tree -------------------------------------------------------- */

/*
 * The CPU time of our own process and of its descendants, which scopes read at any moment and on
 * any thread, without a file and without a lock.
 *
 * It is the sum of the process's clock; of the time of children that were waited for, with that of
 * their own children (getrusage); and of the clocks of living descendants.  The collector of the
 * process tree publishes which descendants live (collect/tree.c): a younger one is missing until
 * the next look at the tree, or until it is waited for.  The time of children that a descendant has
 * waited for is also as old as the last look.
 */

#define RM_DESCENDANTS 64 /* that are followed by their own clocks */

/* A descendant that lived at the last look at the tree, and its CPU time then. */
struct rm_descendant {
    int64_t pid;
    int64_t child; /* our child that it descends from or is; 0: none, an orphan.  When that child
                      has been waited for, getrusage includes its time and that of its children */
    uint64_t own_ns;
    uint64_t waited_ns; /* of children that it has waited for */
};

/**
 * Publishes the living descendants, at most RM_DESCENDANTS; and `rest_ns`, the CPU time of ended
 * ones that nobody has waited for, which getrusage does not include.  Of several owners, the first
 * one publishes until it withdraws.  One thread at a time per owner.
 */
void rm_tree_cpu_publish(const void *owner, const struct rm_descendant *descendants, size_t count,
                         uint64_t rest_ns);
void rm_tree_cpu_withdraw(const void *owner);

struct rm_tree_cpu {
    uint64_t process_ns;     /* all of its threads */
    uint64_t descendants_ns; /* never falls */
    bool has_descendants;    /* some live, whether or not they are known */
};

/* The process's own clock is read last at the begin of a span, and first at its end, so that the
 * span does not include the reading of the descendants. */
struct rm_tree_cpu rm_tree_cpu_at_begin(void);
struct rm_tree_cpu rm_tree_cpu_at_end(void);

#endif

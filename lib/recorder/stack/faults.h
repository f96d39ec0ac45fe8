/* SPDX-License-Identifier: MIT */
/*
 * Owns the kernel's rings of one thread: samples of its page faults, their period, the weight of
 * samples lost in a full ring, and the threads that it creates.  On one thread, which is not the
 * sampled one.
 *
 * Weights where the number of faults is not enough: a fault in a file mapping maps neighbouring
 * pages, too, as many as the page cache has, and a fault in memory may map a huge page.  The
 * growth of RssAnon and RssFile between two readings is known, and is divided among the samples
 * drained meanwhile.
 *
 * Remarks on stacks: threads without them, and what they do not show.  Each applies on its own,
 * and all that apply are written.
 *
 * And the watch for peaks of memory: whether the process's RSS, or the memory left below the
 * tightest cgroup limit, is worse than ever, by enough to take the stacks of all threads.
 */
#ifndef RM_STACK_FAULTS_H
#define RM_STACK_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/parse.h"
#include "os/cgroup.h"
#include "os/perf_ring.h"
#include "stack/resident.h"
#include "stack/sample.h"
#include "store/block.h"
#include "store/stack_record.h"
#include "store/stack_writer.h"

/* Page faults of one kind. */
struct rm_fault_source {
    struct rm_perf_ring ring;
    uint64_t accounted; /* faults represented by samples */
};

struct rm_faults {
    struct rm_fault_source minor;
    struct rm_fault_source major;    /* reports new threads, too */
    uint64_t period;                 /* requested number of faults between samples; 0: none */
    uint64_t full;                   /* samples lost in a full ring, ever */
    uint64_t samples, short_samples; /* samples, and those with too little of the stack */
    bool has_full_stacks;            /* samples have as much of the stack as possible */
    uint32_t changes;                /* remaining changes of the period */
    uint32_t doublings;              /* of the period, where signals would come too often */
    uint32_t doublings_before;       /* samples of that period may still come */
    int64_t paced_ns;                /* the samples since then: */
    uint64_t paced;
    bool is_fine; /* shorter period for huge pages */
    int signal;   /* sent at each sample; 0: none */
};

/** Initializes without rings: closed and drained like others. */
void rm_faults_init(struct rm_faults *faults);

struct rm_fault_terms {
    uint32_t thread;
    uint64_t period; /* 0: only new threads are reported */
    bool is_fine;    /* huge pages are likely */
    int signal;      /* sent at each sample of minor faults; 0: none */
};

/** Counts from now on.  As rm_perf_ring_open() with minor faults; a failure of the other events is
 * no failure. */
resmon_status rm_faults_open(struct rm_faults *faults, const struct rm_fault_terms *terms);
void rm_faults_close(struct rm_faults *faults);

/** Uses the shorter period, as huge pages are likely. */
void rm_faults_look_closely(struct rm_faults *faults);

/** Checks now and then whether the rings are still ours (rm_perf_ring_check()). */
void rm_faults_check(struct rm_faults *faults);

/* Receiver of samples and new threads. */
struct rm_faults_taker {
    void (*take)(void *context, const struct rm_slot_sample *sample);
    void (*take_thread)(void *context, uint32_t new_thread); /* called with a new thread's id */
    void *context;
};

/** Drains the rings; `block`: its open scopes are noted. */
void rm_faults_drain(struct rm_faults *faults, uint32_t thread, const struct rm_block *block,
                     const struct rm_faults_taker *taker);

enum rm_rss_part { RM_RSS_ANON, RM_RSS_FILE, RM_RSS_PARTS };

#define RM_HELD_FAULTS 128

/* A sample without a weight yet. */
struct rm_held_fault {
    struct rm_stack_entry *entry;
    uint64_t faults; /* faults that it represents */
    uint64_t count;  /* 1 + the samples lost in a full ring */
    uint64_t page_bytes;
    uint64_t address;
};

struct rm_rss_rises {
    uint64_t first, last; /* RSS at the first and the last reading */
    uint64_t risen;       /* sum of all growth */
    uint64_t open;        /* the part of it without a sample */
    uint64_t fresh;       /* growth since the reading before the last */
};

struct rm_fault_weights {
    uint64_t page_bytes;
    uint64_t period; /* faults between samples */
    bool is_known;   /* the RSS can be read */
    struct rm_rss_rises rises[RM_RSS_PARTS];
    struct rm_held_fault held[RM_RSS_PARTS][RM_HELD_FAULTS];
    size_t held_count[RM_RSS_PARTS];
    uint64_t small_bytes;         /* small pages of memory by samples, since the last reading */
    uint64_t huge_bytes;          /* huge pages, ever */
    struct rm_resident *resident; /* gets the samples of memory; NULL: none does */
};

/** First reading; `rss` by part, in bytes, or NULL if it cannot be read. */
void rm_fault_weights_begin(struct rm_fault_weights *weights, uint64_t page_bytes, uint64_t period,
                            const uint64_t rss[RM_RSS_PARTS]);

/** Adds bytes of samples of small pages, whose weight is the number of their faults. */
void rm_fault_weights_count(struct rm_fault_weights *weights, uint64_t bytes);

/** Holds a sample, added without weight, until the next reading; false: no capacity. */
bool rm_fault_weights_hold(struct rm_fault_weights *weights, enum rm_rss_part part,
                           const struct rm_held_fault *held);

/** Next reading, after samples were drained: they get their weights.  True: memory grew by much
 * more than page faults explain, so there are huge pages, and samples should use the shorter
 * period. */
bool rm_fault_weights_settle(struct rm_fault_weights *weights, const uint64_t rss[RM_RSS_PARTS]);

/* For which memory the kernel uses huge pages: /sys/kernel/mm/transparent_hugepage/enabled. */
enum rm_huge_pages { RM_HUGE_PAGES_NONE, RM_HUGE_PAGES_ASKED, RM_HUGE_PAGES_ALL };

struct rm_fault_remarks {
    char missing[192];             /* why some threads are not sampled; "": all are */
    bool lacks_kernel;             /* faults in system calls are missing */
    bool lacks_pages;              /* sizes of faulted pages are not known */
    enum rm_huge_pages huge_pages; /* set if sizes are not known */
    uint64_t huge_bytes;           /* if sizes are known: memory that came in huge pages */
};

#define RM_FAULT_REMARKS_BYTES 512

/** Parses "always [madvise] never". */
enum rm_huge_pages rm_huge_pages_parse(struct rm_text text);

/** Writes all remarks that apply, joined by "; ". */
void rm_fault_remarks_text(const struct rm_fault_remarks *remarks,
                           char text[RM_FAULT_REMARKS_BYTES]);

/* An RSS and the time of its reading. */
struct rm_seen_rss {
    uint64_t bytes;
    int64_t at_ns; /* CLOCK_MONOTONIC */
};

struct rm_memory_watch {
    struct rm_file statm;
    struct rm_cgroup_limits limits; /* memory limits of the cgroup and its ancestors */
    uint64_t next_rss;              /* RSS from which on the next peak counts */
    uint64_t next_headroom;         /* headroom below which the next peak counts */
    uint64_t taken_rss;             /* RSS of the last peak */
    int64_t taken_ns;
    struct rm_seen_rss highest;
    uint64_t page_bytes;
};

/** Opens the files; values that cannot be read are not watched.  The root must not move. */
void rm_memory_watch_open(struct rm_memory_watch *watch, const struct rm_root *root,
                          struct rm_scratch *scratch);
void rm_memory_watch_close(struct rm_memory_watch *watch);

/** Reads the values.  True: a peak, described in ret_head. */
bool rm_memory_watch_look(struct rm_memory_watch *watch, struct rm_scratch *scratch,
                          struct rm_peak_head *ret_head);

/** The decision alone: whether these values are a peak; sets the bounds of the next one. */
bool rm_memory_watch_decide(struct rm_memory_watch *watch, const struct rm_seen_rss *rss,
                            uint64_t headroom);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns what the kernel tells of one thread in rings: its page faults as samples, how closely it
 * looks, what samples stand for that found a ring full; and the threads that it starts.  All on one
 * thread, which is not the sampled one.
 *
 * What samples weigh where the number of faults does not tell: a fault in the mapping of a file
 * brings neighbours along, as many as the kernel has at hand, and one in memory may bring a huge
 * page.  By how much RssAnon and RssFile rose between two looks is known, and is divided among the
 * samples that were taken out meanwhile.
 *
 * And what is said beside the stacks: whom they are not of, and what they do not show.  Each is
 * found on its own, and all that hold are said.
 */
#ifndef RM_STACK_FAULTS_H
#define RM_STACK_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/parse.h"
#include "os/cgroup.h"
#include "os/perf_ring.h"
#include "store/block.h"
#include "store/stack_record.h"
#include "store/stack_writer.h"

struct rm_slot_sample; /* stack/slot.h */

/* Page faults of one kind. */
struct rm_fault_source {
    struct rm_perf_ring ring;
    uint64_t accounted; /* faults that samples stand for */
};

struct rm_faults {
    struct rm_fault_source minor;
    struct rm_fault_source major;    /* tells of new threads, too */
    uint64_t period;                 /* faults between samples, as it was asked for; 0: none */
    uint64_t full;                   /* samples that found a ring full, ever */
    uint64_t samples, short_samples; /* those that had too little of the stack */
    bool has_full_stacks;            /* it has what stack it can have */
    uint32_t changes;                /* of the period that are to be made yet */
    bool is_fine;                    /* samples are closer: huge pages come */
};

/** Nothing: to be closed and drained like others. */
void rm_faults_init(struct rm_faults *faults);

/** Counts from now on; `period` 0: only new threads are told of; `is_fine`: huge pages are likely.
 * As rm_perf_ring_open() with minor faults; that others cannot be had is no failure. */
resmon_status rm_faults_open(struct rm_faults *faults, uint32_t thread, uint64_t period,
                             bool is_fine);
void rm_faults_close(struct rm_faults *faults);

/** Huge pages are likely from now on. */
void rm_faults_look_closely(struct rm_faults *faults);

/** Looks, now and then, whether the rings are still ours (rm_perf_ring_check()). */
void rm_faults_check(struct rm_faults *faults);

/* What becomes of it. */
struct rm_faults_taker {
    void (*take)(void *context, const struct rm_slot_sample *sample);
    void (*take_thread)(void *context, uint32_t new_thread); /* of a thread that was started */
    void *context;
};

/** Takes out what waits; `block`: whose scopes are noted. */
void rm_faults_drain(struct rm_faults *faults, uint32_t thread, const struct rm_block *block,
                     const struct rm_faults_taker *taker);

enum rm_rss_part { RM_RSS_ANON, RM_RSS_FILE, RM_RSS_PARTS };

#define RM_HELD_FAULTS 128

/* A sample that has no weight yet. */
struct rm_held_fault {
    struct rm_stack_entry *entry;
    uint64_t faults; /* that it stands for */
    uint64_t count;  /* samples that it is, with those that found their ring full */
    uint64_t page_bytes;
};

struct rm_rss_rises {
    uint64_t first, last; /* of the RSS, when it was looked at */
    uint64_t risen;       /* all rises together */
    uint64_t open;        /* of that, for which no sample stands */
    uint64_t fresh;       /* of all, since the look before the last */
};

struct rm_fault_weights {
    uint64_t page_bytes;
    uint64_t period; /* faults between samples */
    bool is_known;   /* the RSS can be read */
    struct rm_rss_rises rises[RM_RSS_PARTS];
    struct rm_held_fault held[RM_RSS_PARTS][RM_HELD_FAULTS];
    size_t held_count[RM_RSS_PARTS];
    uint64_t small_bytes; /* small pages of memory, by samples, since the last look */
    uint64_t huge_bytes;  /* huge ones, ever */
};

/** Looks for the first time; `rss` by part, in bytes, or NULL where it cannot be read. */
void rm_fault_weights_begin(struct rm_fault_weights *weights, uint64_t page_bytes, uint64_t period,
                            const uint64_t rss[RM_RSS_PARTS]);

/** Samples of small pages of memory weigh what their faults bring; notes so many bytes. */
void rm_fault_weights_count(struct rm_fault_weights *weights, uint64_t bytes);

/** Holds a sample, already added with no weight, until the next look; false: there is no room. */
bool rm_fault_weights_hold(struct rm_fault_weights *weights, enum rm_rss_part part,
                           const struct rm_held_fault *held);

/** Looks again, after samples were taken out: they get their weights.  true: memory rose by much
 * more than page faults tell, so huge pages come, of which samples should be closer. */
bool rm_fault_weights_settle(struct rm_fault_weights *weights, const uint64_t rss[RM_RSS_PARTS]);

/* Which memory the kernel makes huge pages of: /sys/kernel/mm/transparent_hugepage/enabled. */
enum rm_huge_pages { RM_HUGE_PAGES_NONE, RM_HUGE_PAGES_ASKED, RM_HUGE_PAGES_ALL };

struct rm_fault_remarks {
    char missing[192];             /* why threads are not sampled, if others are; "": all are */
    bool lacks_kernel;             /* faults in system calls */
    bool lacks_pages;              /* how large the page was that a fault brought */
    enum rm_huge_pages huge_pages; /* where that is not known */
    uint64_t huge_bytes;           /* where it is: what came in huge pages */
};

#define RM_FAULT_REMARKS_BYTES 512

/** Reads "always [madvise] never". */
enum rm_huge_pages rm_huge_pages_parse(struct rm_text text);

/** All that hold, joined by "; ". */
void rm_fault_remarks_text(const struct rm_fault_remarks *remarks,
                           char text[RM_FAULT_REMARKS_BYTES]);

/* An RSS, and when it was seen. */
struct rm_seen_rss {
    uint64_t bytes;
    int64_t at_ns; /* CLOCK_MONOTONIC */
};

struct rm_memory_watch {
    struct rm_file statm;
    struct rm_cgroup_limits limits; /* of the control group and those above it */
    uint64_t next_rss;              /* the next peak is from here on */
    uint64_t next_headroom;         /* or when less than this is left */
    uint64_t taken_rss;             /* of the latest peak */
    int64_t taken_ns;
    struct rm_seen_rss highest;
    uint64_t page_bytes;
};

/** Opens; what cannot be read is not watched.  The root stays where it is. */
void rm_memory_watch_open(struct rm_memory_watch *watch, const struct rm_root *root,
                          struct rm_scratch *scratch);
void rm_memory_watch_close(struct rm_memory_watch *watch);

/** Looks: true when this is a peak, with what was seen. */
bool rm_memory_watch_look(struct rm_memory_watch *watch, struct rm_scratch *scratch,
                          struct rm_peak_head *ret_head);

/** The rule alone: whether these figures are a peak; sets when the next one will be. */
bool rm_memory_watch_decide(struct rm_memory_watch *watch, const struct rm_seen_rss *rss,
                            uint64_t headroom);

#endif

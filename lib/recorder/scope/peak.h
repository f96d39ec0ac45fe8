/* SPDX-License-Identifier: MIT */
/*
 * Owns exact RSS peaks of time intervals (watches), several at once.  The kernel has one
 * high-water mark per process: before each reset, it is folded into every open watch and into
 * the peak of the process's life.  Only the begin of a watch needs a reset.  A mark older than a
 * watch would be too high for it; a younger mark is folded into it at its end like any other.
 *
 * Between reading the mark and resetting it, another thread may allocate and free memory: a peak
 * within those 0.3 us is not seen.
 */
#ifndef RM_SCOPE_PEAK_H
#define RM_SCOPE_PEAK_H

#include <stdbool.h>
#include <stdint.h>

struct rm_peak_watch {
    struct rm_peak_watch *next, *previous; /* guarded by the lock of peak.c */
    uint64_t peak;
};

/** Opens the mark at the first use in a process; later calls are no-ops. */
void rm_peak_open(void);

/** Whether peaks are exact, or the maximum passed to rm_peak_observe(). */
bool rm_peak_is_exact(void);

/** The method of reading the mark, or why it cannot be read, for the run's list of sources. */
const char *rm_peak_method(void);

/** Begins a watch. */
void rm_peak_begin(struct rm_peak_watch *watch);

/** Ends a watch; returns its highest RSS in bytes. */
uint64_t rm_peak_end(struct rm_peak_watch *watch);

/** Returns the highest RSS since the begin or the last lap, and begins a new lap; `ret_rss`: the
 * current RSS, 0 if it cannot be read. */
uint64_t rm_peak_lap(struct rm_peak_watch *watch, uint64_t *ret_rss);

/**
 * Measures by how much the RSS rose above its initial value during work of the library, as far
 * as a peak shows it: exactly where there are open watches, else by the growth of the process's
 * lifetime peak.  Work of the program at the same time is included.  False: not known.
 */
struct rm_peak_work {
    struct rm_peak_watch watch;
    uint64_t before;
    bool is_watched;
};
void rm_peak_work_begin(struct rm_peak_work *work);
bool rm_peak_work_end(struct rm_peak_work *work, uint64_t *ret_bytes);

/** Ends a watch without its peak. */
void rm_peak_abandon(struct rm_peak_watch *watch);

/**
 * Takes a sampled RSS, read after rm_peak_resets() returned `resets_before`.  It counts where
 * the mark cannot be reset.  It also detects resets by another owner (a second copy of this
 * library, a profiler): from then on peaks are not exact.
 */
void rm_peak_observe(uint64_t rss_bytes, uint64_t resets_before);
uint64_t rm_peak_resets(void);

/** Lifetime peak of the process from before resets; 0: no reset yet. */
extern uint64_t rm_peak_folded;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns exact RSS peaks of stretches of time, several at once.  The kernel has one high-water mark
 * for the process: before each reset it is folded into every open watch and into the peak of the
 * process's life.
 *
 * Only the beginning of a watch needs a reset: a mark that is older than a watch would count too
 * much for it, while a mark that is younger is folded into it at its end like any other.
 *
 * Between reading the mark and resetting it, another thread may touch memory and give it back: a
 * peak that lives only within those 0.3 us goes unseen.
 */
#ifndef RM_SCOPE_PEAK_H
#define RM_SCOPE_PEAK_H

#include <stdbool.h>
#include <stdint.h>

struct rm_peak_watch {
    struct rm_peak_watch *next, *previous; /* under the lock of peak.c */
    uint64_t peak;
};

/** Opens the mark at the first use in a process; later uses are free. */
void rm_peak_open(void);

/** Whether peaks are exact, or only the maximum of what rm_peak_observe() was told. */
bool rm_peak_is_exact(void);

/** How the mark is read, or why it cannot be: for the run's list of sources. */
const char *rm_peak_method(void);

/** Begins watching. */
void rm_peak_begin(struct rm_peak_watch *watch);

/** Ends it; returns the highest RSS meanwhile, in bytes. */
uint64_t rm_peak_end(struct rm_peak_watch *watch);

/** The highest RSS since it began or had its last lap, which begins anew; and the present RSS, 0
 * when that cannot be read. */
uint64_t rm_peak_lap(struct rm_peak_watch *watch, uint64_t *ret_rss);

/**
 * Around work of the library's own: by how many bytes the RSS rose meanwhile above what it was at
 * the beginning, as far as a peak shows it: where stretches are being watched, exactly; else by how
 * much the peak of the process's life rose.  What the program did meanwhile counts, too.  False: it
 * cannot be told.
 */
struct rm_peak_work {
    struct rm_peak_watch watch;
    uint64_t before;
    bool is_watched;
};
void rm_peak_work_begin(struct rm_peak_work *work);
bool rm_peak_work_end(struct rm_peak_work *work, uint64_t *ret_bytes);

/** Ends it without asking for the peak. */
void rm_peak_abandon(struct rm_peak_watch *watch);

/**
 * A sampled RSS, read after rm_peak_resets() was `resets_before`: counts where the mark cannot be
 * reset, and tells when somebody else (a second copy of this library, a profiler) resets it too:
 * from then on peaks are no longer exact.
 */
void rm_peak_observe(uint64_t rss_bytes, uint64_t resets_before);
uint64_t rm_peak_resets(void);

/** The peak of the process's life that resets have folded away; 0 before any. */
extern uint64_t rm_peak_folded;

#endif

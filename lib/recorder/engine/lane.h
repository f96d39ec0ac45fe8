/* SPDX-License-Identifier: MIT */
/*
 * Owns a delivery thread: a bounded queue of samples and tags, the sinks that the thread calls,
 * and their state.  A sink that does not return is abandoned with its lane.  The monitor and the
 * thread hold references to the lane: the release of the last one closes the sinks and frees it.
 */
#ifndef RM_ENGINE_LANE_H
#define RM_ENGINE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/sink.h>

#define RM_MAX_SINKS 32

struct rm_lane;

/* Parameters of a lane. */
struct rm_lane_terms {
    resmon_run *columns; /* passed to sinks with each row; the lane takes a reference */
    size_t column_count;
    int64_t interval_ns; /* between samples */
    /* Makes a run so far, of these parts, for snapshots; not called after the lane's stop was
     * requested. */
    resmon_status (*capture)(void *context, unsigned parts, resmon_run **ret_run);
    /* Adds a fact from a sink to the run; not called after the lane's stop was requested. */
    void (*note)(void *context, const char *key, const char *value);
    /* Called with the growth of RSS while the run was passed to sinks; NULL: not wanted.  Not
     * called after the lane's stop was requested. */
    void (*note_rise)(void *context, uint64_t bytes);
    void *context;
};

/** NULL: out of memory. */
struct rm_lane *rm_lane_new(const char *thread_name);

/** Adds a sink with a checked table, before start; returns its index.  The caller adds at most
 * RM_MAX_SINKS. */
size_t rm_lane_add(struct rm_lane *lane, const resmon_sink_ops *ops, void *context);

/* Properties of the library's own sinks beside their operations. */
struct rm_own_sink {
    const char *name;
    bool wants_draft;        /* see rm_lane_draft() */
    uint64_t snapshot_parts; /* RESMON_PART_* that its snapshot reads; 0: the same as its stop */
    const char *file;        /* file that only this sink may write; NULL: none */
};

/** Marks sink `index` as the library's own, which needs less stack than a sink of the program. */
void rm_lane_own(struct rm_lane *lane, size_t index, const struct rm_own_sink *own);

resmon_status rm_lane_start(struct rm_lane *lane, const struct rm_lane_terms *terms);

/** On the sampling thread: queues a row or a tag, if a sink wants it. */
void rm_lane_row(struct rm_lane *lane, int64_t t_ns, const double *values);
void rm_lane_tag(struct rm_lane *lane, int64_t t_ns, const char *label);

bool rm_lane_wants_rows(const struct rm_lane *lane);
uint64_t rm_lane_dropped(const struct rm_lane *lane);

/** CPU time of the thread when it was last idle.  Any thread. */
uint64_t rm_lane_cpu_ns(const struct rm_lane *lane);

/** Parts of the finished run that its sinks read (RESMON_PART_*). */
uint64_t rm_lane_parts(const struct rm_lane *lane);

/** Parts of a draft, the finished run before symbolization, that its sinks read; 0: no sink wants
 * a draft. */
uint64_t rm_lane_draft_parts(const struct rm_lane *lane);

/** Passes `run` to the snapshots of sinks that want drafts, on the lane's thread, and waits for
 * them until `until_ns`.  Called once, before rm_lane_finish(). */
void rm_lane_draft(struct rm_lane *lane, resmon_run *run, int64_t until_ns);

/** Requests that the thread delivers the queue, passes the finished run (NULL: none) to the sinks,
 * and ends by a deadline. */
void rm_lane_finish(struct rm_lane *lane, resmon_run *run, int64_t deadline_ns);

/**
 * Waits for the end until `until_ns`: RESMON_OK, the status of the first sink that failed at the
 * end, or RESMON_ETIMEDOUT: the lane is abandoned.
 */
resmon_status rm_lane_wait(struct rm_lane *lane, int64_t until_ns);

/** In a call of a sink: adds a fact to the run, so that it is in a recording; the first value of a
 * key is kept.  No-op on other threads, and after the lane's stop was requested. */
void rm_lane_note(const char *key, const char *value);

/** Whether the caller is the lane's thread.  True in all calls of its sinks, including the start,
 * and also after the lane was abandoned. */
bool rm_lane_is_this_thread(const struct rm_lane *lane);

/** The state of sink `index`; any thread. */
void rm_lane_get(struct rm_lane *lane, size_t index, resmon_sink_info *ret_info);

/** Releases the monitor's reference, after rm_lane_wait() or without a start; NULL is fine. */
void rm_lane_free(struct rm_lane *lane);

/** Frees a lane in a forked child, where its thread does not exist: no sink is called. */
void rm_lane_forget(struct rm_lane *lane);

#endif

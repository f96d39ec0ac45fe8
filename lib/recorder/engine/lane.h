/* SPDX-License-Identifier: MIT */
/*
 * Owns one delivery thread: a bounded queue of samples and tags, the sinks that the thread calls,
 * and how each fares.  A sink that does not return is left behind with its lane: two hold it, the
 * monitor and the thread, and the last to let go closes the sinks and frees.
 */
#ifndef RM_ENGINE_LANE_H
#define RM_ENGINE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/sink.h>

#define RM_MAX_SINKS 32

struct rm_lane;

/* What a lane is given when it starts. */
struct rm_lane_terms {
    resmon_run *columns; /* shown to sinks with each row; the lane takes a reference */
    size_t column_count;
    int64_t interval_ns; /* between samples */
    /* Makes the run so far, of these parts, for snapshots; not called any more once the lane was
     * told to stop. */
    resmon_status (*capture)(void *context, unsigned parts, resmon_run **ret_run);
    /* Adds a fact that a sink knows to the run; not called any more once the lane was told to
     * stop. */
    void (*note)(void *context, const char *key, const char *value);
    /* Told by how much the RSS rose while the sinks were shown the run; NULL: nobody asks.  Not
     * called any more once the lane was told to stop. */
    void (*note_rise)(void *context, uint64_t bytes);
    void *context;
};

/** NULL: no memory. */
struct rm_lane *rm_lane_new(const char *thread_name);

/** Adds a sink whose table was checked, before start; returns its index.  The caller sees to it
 * that there are at most RM_MAX_SINKS. */
size_t rm_lane_add(struct rm_lane *lane, const resmon_sink_ops *ops, void *context);

/* What the engine knows of the library's own sinks beyond their operations. */
struct rm_own_sink {
    const char *name;
    bool wants_draft;        /* see rm_lane_draft() */
    uint64_t snapshot_parts; /* RESMON_PART_* that its snapshot looks at; 0: those of its stop */
    const char *file;        /* that it alone may write; NULL: none */
};

/** Notes that sink `index` is the library's own: those need less stack than a sink of the program.
 */
void rm_lane_own(struct rm_lane *lane, size_t index, const struct rm_own_sink *own);

resmon_status rm_lane_start(struct rm_lane *lane, const struct rm_lane_terms *terms);

/** On the sampling thread: puts a row or a tag into the queue, if a sink wants it. */
void rm_lane_row(struct rm_lane *lane, int64_t t_ns, const double *values);
void rm_lane_tag(struct rm_lane *lane, int64_t t_ns, const char *label);

bool rm_lane_wants_rows(const struct rm_lane *lane);
uint64_t rm_lane_dropped(const struct rm_lane *lane);

/** CPU time of its thread, when it last had nothing to do.  Any thread. */
uint64_t rm_lane_cpu_ns(const struct rm_lane *lane);

/** Parts of the finished run that its sinks look at (RESMON_PART_*). */
uint64_t rm_lane_parts(const struct rm_lane *lane);

/** Parts of a draft, the finished run without names, that its sinks look at; 0: none wants one. */
uint64_t rm_lane_draft_parts(const struct rm_lane *lane);

/** Has the sinks that want drafts shown `run` by their snapshot, on the lane's thread, and waits
 * for them until `until_ns`; before rm_lane_finish(), once. */
void rm_lane_draft(struct rm_lane *lane, resmon_run *run, int64_t until_ns);

/** Tells the thread to deliver what is queued, show the sinks the finished run (NULL: none) and
 * end; and by when. */
void rm_lane_finish(struct rm_lane *lane, resmon_run *run, int64_t deadline_ns);

/**
 * Waits for that until `until_ns`: RESMON_OK, the code of the first sink that failed at the end,
 * or RESMON_ETIMEDOUT: the lane is left behind.
 */
resmon_status rm_lane_wait(struct rm_lane *lane, int64_t until_ns);

/** In a call of a sink: puts down a fact of the run, so that it is in a recording; the first of a
 * key stays.  Nothing on other threads, nor once the lane was told to stop. */
void rm_lane_note(const char *key, const char *value);

/** True in all that its sinks do, from start on, also after the lane was left behind. */
bool rm_lane_is_this_thread(const struct rm_lane *lane);

/** How sink `index` fares; any thread. */
void rm_lane_get(struct rm_lane *lane, size_t index, resmon_sink_info *ret_info);

/** The monitor lets go, after rm_lane_wait() or without a start; NULL is fine. */
void rm_lane_free(struct rm_lane *lane);

/** Frees a lane in the child of a fork, where its thread does not exist: no sink is called. */
void rm_lane_forget(struct rm_lane *lane);

#endif

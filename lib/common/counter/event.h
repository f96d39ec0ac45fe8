/* SPDX-License-Identifier: MIT */
/*
 * Owns the names of events: what a text of the options asks for.  Pure; os/pfm.h knows the names
 * of libpfm4, and os/perf.h opens events.
 */
#ifndef RM_COUNTER_EVENT_H
#define RM_COUNTER_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

#include "base/option_text.h"
#include "base/parse.h"

#define RM_EVENT_NAME_BYTES 96

/* perf_event_attr.type of perf_event_open(2). */
#define RM_EVENT_HARDWARE 0U
#define RM_EVENT_SOFTWARE 1U
#define RM_EVENT_RAW      4U

struct rm_perf_event {
    char name[RM_EVENT_NAME_BYTES]; /* as it is asked for */
    uint64_t config, config1, config2;
    uint32_t type;
    bool is_named;     /* one of libpfm4's, which has to say the rest */
    bool is_of_kernel; /* happens in the kernel only: it cannot be counted in user mode */
    bool skips_user, skips_kernel; /* the name says so (":k", ":u") */
};

/**
 * "cycles" and the like, "page-faults" and the like ('_' is as good as '-'), a raw code ("r0451",
 * or "cpu/event=0x51,umask=0x4,cmask=1,inv,edge/" for x86, with ',' or ':'), or a name for libpfm4
 * ("INST_RETIRED:ANY_P").  RESMON_EINVAL: none of these.
 */
resmon_status rm_perf_event_parse(struct rm_text text, struct rm_perf_event *ret_event);

/** Completes an event of libpfm4's, whose name stays. */
void rm_perf_event_encode(struct rm_perf_event *event, uint32_t type, const uint64_t config[3]);

/** Looks at the names of all generic events. */
void rm_perf_events_try(struct rm_nearest *nearest);

/** A generic event by its name; false: there is none. */
bool rm_perf_event_generic(const char *name, struct rm_perf_event *ret_event);

static inline bool rm_perf_event_is_software(const struct rm_perf_event *event)
{
    return event->type == RM_EVENT_SOFTWARE;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the names of events in options, and microarchitectures as far as their events differ.
 * Pure; os/pfm.h looks up names of libpfm4, and os/perf.h opens events.
 */
#ifndef RM_COUNTER_EVENT_H
#define RM_COUNTER_EVENT_H

#include <stdbool.h>
#include <stddef.h>
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
    char name[RM_EVENT_NAME_BYTES]; /* as requested */
    uint64_t config, config1, config2;
    uint32_t type;
    bool is_named;                 /* a name of libpfm4, which has the codes */
    bool is_of_kernel;             /* happens in the kernel only: cannot be counted in user mode */
    bool skips_user, skips_kernel; /* the name has a suffix ":k" or ":u" */
};

/**
 * Parses a generic hardware or software event ("cycles", "page-faults"; '_' equals '-'), a raw
 * code ("r0451", or "cpu/event=0x51,umask=0x4,cmask=1,inv,edge/" for x86, with ',' or ':'), or a
 * name of libpfm4 ("INST_RETIRED:ANY_P").  RESMON_EINVAL: none of these.
 */
resmon_status rm_perf_event_parse(struct rm_text text, struct rm_perf_event *ret_event);

/** Sets the codes of a libpfm4 event; the name is kept. */
void rm_perf_event_encode(struct rm_perf_event *event, uint32_t type, const uint64_t config[3]);

/** Tries the names of all generic events for a suggestion. */
void rm_perf_events_try(struct rm_nearest *nearest);

/** Finds a generic event by name; false: none. */
bool rm_perf_event_generic(const char *name, struct rm_perf_event *ret_event);

static inline bool rm_perf_event_is_software(const struct rm_perf_event *event)
{
    return event->type == RM_EVENT_SOFTWARE;
}

/* Bits, so that a row of events.def or groups.def may be of several. */
#define RM_ARCH_HSW   UINT32_C(1)    /* Haswell */
#define RM_ARCH_BDW   UINT32_C(2)    /* Broadwell */
#define RM_ARCH_SKL   UINT32_C(4)    /* client Skylake to Comet Lake */
#define RM_ARCH_SKX   UINT32_C(8)    /* Skylake-SP, Cascade Lake, Cooper Lake */
#define RM_ARCH_ICL   UINT32_C(16)   /* client Ice Lake, Tiger Lake, Rocket Lake */
#define RM_ARCH_ICX   UINT32_C(32)   /* server Ice Lake */
#define RM_ARCH_SPR   UINT32_C(64)   /* Sapphire Rapids */
#define RM_ARCH_EMR   UINT32_C(128)  /* Emerald Rapids */
#define RM_ARCH_ADL   UINT32_C(256)  /* Alder Lake, Raptor Lake: two kinds of cores */
#define RM_ARCH_INTEL UINT32_C(512)  /* other Intel */
#define RM_ARCH_ZEN   UINT32_C(1024) /* Zen, Zen+ */
#define RM_ARCH_ZEN2  UINT32_C(2048)
#define RM_ARCH_ZEN3  UINT32_C(4096)
#define RM_ARCH_ZEN4  UINT32_C(8192)
#define RM_ARCH_ZEN5  UINT32_C(16384)
#define RM_ARCH_AMD   UINT32_C(32768) /* other AMD */
#define RM_ARCH_ARM   UINT32_C(65536)
#define RM_ARCH_OTHER UINT32_C(131072)  /* not known */
#define RM_ARCH_WSM   UINT32_C(262144)  /* Westmere */
#define RM_ARCH_SNB   UINT32_C(524288)  /* Sandy Bridge */
#define RM_ARCH_IVB   UINT32_C(1048576) /* Ivy Bridge */
#define RM_ARCH_ANY   UINT32_C(2097151)

/* Processors with generic events only. */
#define RM_ARCH_UNKNOWN (RM_ARCH_INTEL | RM_ARCH_AMD | RM_ARCH_OTHER)

/** The bit of a processor, from /proc/cpuinfo: vendor_id ("ARM" for its implementers), family,
 * model. */
uint32_t rm_arch_of(const char *vendor, int family, int model);

/** "Ice Lake, Tiger Lake or Rocket Lake", for messages. */
const char *rm_arch_name(uint32_t arch);

/** Names of libpfm4's core PMUs, each a table with the same events, the one for several sockets
 * first; NULL past the last. */
const char *rm_arch_pmu(uint32_t arch, size_t index);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the energy counters of a machine: RAPL through powercap, whose zones are found in whatever
 * way the tree lists them, and where that cannot be read the PMU "power" of perf.  One object per
 * monitor, on the sampling thread; it reads all counters once a sample, whoever asks first, and the
 * collectors energy_* show what it found.
 *
 * What is counted once: a zone that two drivers show (MSR and MMIO); a socket whose dies mirror one
 * counter (AMD).  What is not inside another although sysfs nests it: dram is not in package.  psys
 * is the whole platform, and stands apart.
 */
#ifndef RM_COLLECT_ENERGY_ZONES_H
#define RM_COLLECT_ENERGY_ZONES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "collect/delta.h"
#include "os/file.h"

#define RM_POWERCAP_CLASS "sys/class/powercap"

#define RM_MOST_ZONES 64

/**
 * A zone, "DIRECTORY/ID" below the root; or, with `id` NULL, a directory that is there and cannot
 * be listed, or for which there is no memory: resmon_last_error() says why.
 */
typedef void (*rm_powercap_visit_fn)(void *context, const char *directory, const char *id);

/** Visits each zone of RAPL, "intel-rapl:0" before "intel-rapl:0:1"; RM_MOST_ZONES a directory at
 * most. */
RM_SHARED void rm_powercap_visit(const struct rm_root *root, rm_powercap_visit_fn visit,
                                 void *context);

#define RM_ZONE_NAME_BYTES 32

/* The whole of a socket (or die), its parts, and the platform. */
enum rm_energy_domain {
    RM_ZONE_PACKAGE,
    RM_ZONE_CORE,
    RM_ZONE_UNCORE,
    RM_ZONE_DRAM,
    RM_ZONE_PSYS,
    RM_ENERGY_DOMAINS
};

struct rm_energy_zone {
    char name[RM_ZONE_NAME_BYTES]; /* "package-0", "dram-1", "package-0-die-1", "psys" */
    enum rm_energy_domain domain;
    int package, die; /* -1: not said */
    bool is_mmio;
    struct rm_file file;   /* powercap */
    struct rm_kept event;  /* perf */
    uint64_t event_config; /* how it is opened once more */
    int event_cpu;
    struct rm_energy_counter counter;
};

/* How a counter of a perf PMU is opened: its descriptor, or -1 with errno.  Tests give their own.
 */
typedef int (*rm_perf_open_fn)(uint32_t type, uint64_t config, int cpu);

struct rm_energy_zones {
    struct rm_energy_zone *zones;
    size_t count;
    size_t unreadable[RM_ENERGY_DOMAINS]; /* zones that are there, and cannot be read */
    bool is_pmu;
    uint32_t pmu_type;
    int pmu_errno; /* why it cannot be opened; 0: it can, or there is none */
    rm_perf_open_fn perf_open;
    bool is_complete;                /* all could be read then */
    int64_t read_ns;                 /* of the sample that they were read for */
    int64_t poll_ns;                 /* they must be read at least so often; 0: any */
    bool is_told[RM_ENERGY_DOMAINS]; /* that nobody knows yet whether they count */
    double sums[RM_ENERGY_DOMAINS];  /* J since the first reading; NaN: no such zone */
    double power_limit_w; /* highest sustained power of all packages (constraint_0_max_power_uw,
                             else constraint_0_power_limit_uw); NaN: not told */
    char why[160];        /* there are none, or not all */
};

/** Finds the zones.  Never fails for want of any: `why` says what is in the way.  RESMON_ENOMEM. */
resmon_status rm_energy_zones_open(struct rm_energy_zones *zones, const struct rm_root *root,
                                   struct rm_scratch *scratch, rm_perf_open_fn perf_open);

/** Finds the zones of the PMU "power" alone, also where powercap has them. */
RM_SHARED resmon_status rm_energy_zones_open_pmu(struct rm_energy_zones *zones,
                                                 const struct rm_root *root,
                                                 struct rm_scratch *scratch,
                                                 rm_perf_open_fn perf_open);
RM_SHARED void rm_energy_zones_close(struct rm_energy_zones *zones);

/** Whether the zones measure all of a domain: there is one of it, and each of it can be read. */
RM_SHARED bool rm_energy_zones_measure(const struct rm_energy_zones *zones,
                                       enum rm_energy_domain domain);

/* RAPL's counters are brought up to date every millisecond: one that stands still for longer than
 * RM_ZONE_GRACE_NS is dead, as those are that some hypervisors show. */
enum rm_zone_life {
    RM_ZONES_YOUNG, /* not known yet */
    RM_ZONES_DEAD,  /* one of them at least has not counted since the first reading */
    RM_ZONES_LIVE,
};

#define RM_ZONE_GRACE_NS (INT64_C(100) * 1000000)

RM_SHARED enum rm_zone_life rm_energy_zones_life(const struct rm_energy_zones *zones,
                                                 enum rm_energy_domain domain);

/** Writes which zones of a domain (RM_ENERGY_DOMAINS: of any) have not counted, and for how long;
 * the number of these.  Before the second reading: none. */
RM_SHARED size_t rm_energy_zones_describe_dead(const struct rm_energy_zones *zones, unsigned domain,
                                               char *text, size_t capacity);

/** Writes what a model in the place of dead counters is called: the same for all runs of a machine,
 * as these are compared. */
void rm_energy_zones_describe_model(const struct rm_energy_zones *zones, unsigned domain,
                                    const char *model, char *text, size_t capacity);

/** Reads them for the sample at `sample_ns`, unless that was done; it is `now_ns`. */
RM_SHARED void rm_energy_zones_read(struct rm_energy_zones *zones, struct rm_scratch *scratch,
                                    int64_t sample_ns, int64_t now_ns);

#endif

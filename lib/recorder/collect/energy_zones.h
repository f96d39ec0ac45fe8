/* SPDX-License-Identifier: MIT */
/*
 * Owns the energy counters of a machine: RAPL through powercap, whose zones are found however
 * the tree lists them, or, where powercap cannot be read, the perf PMU "power".  One object per
 * monitor, on the sampling thread.  The first collector that needs it in a sample reads all
 * counters, and the collectors energy_* show the results.
 *
 * Counted once: a zone that two drivers show (MSR and MMIO); a socket whose dies mirror one
 * counter (AMD).  Not nested although sysfs nests it: package does not include dram.  psys is
 * the whole platform, and separate from the sums.
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
 * A zone, "DIRECTORY/ID" below the root.  Or, with `id` NULL, a directory that exists and cannot
 * be listed, or for which memory is lacking; resmon_last_error() has the reason.
 */
typedef void (*rm_powercap_visit_fn)(void *context, const char *directory, const char *id);

/** Visits each RAPL zone, "intel-rapl:0" before "intel-rapl:0:1"; at most RM_MOST_ZONES per
 * directory. */
RM_SHARED void rm_powercap_visit(const struct rm_root *root, rm_powercap_visit_fn visit,
                                 void *context);

#define RM_ZONE_NAME_BYTES 32

/* A whole socket (or die), its parts, and the platform. */
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
    int package, die; /* -1: not known */
    bool is_mmio;
    struct rm_file file;   /* powercap */
    struct rm_kept event;  /* perf */
    uint64_t event_config; /* for opening it again */
    int event_cpu;
    struct rm_energy_counter counter;
};

/* Opens a counter of a perf PMU.  Returns its descriptor, or -1 with errno.  Replaced by tests. */
typedef int (*rm_perf_open_fn)(uint32_t type, uint64_t config, int cpu);

struct rm_energy_zones {
    struct rm_energy_zone *zones;
    size_t count;
    size_t unreadable[RM_ENERGY_DOMAINS]; /* zones that exist but cannot be read */
    bool is_pmu;
    uint32_t pmu_type;
    int pmu_errno; /* why the PMU cannot be opened; 0: it can be opened, or does not exist */
    rm_perf_open_fn perf_open;
    bool is_complete;                    /* all were read at read_ns */
    int64_t read_ns;                     /* time of the sample for which they were read */
    int64_t poll_ns;                     /* longest interval between readings; 0: no limit */
    bool is_remarked[RM_ENERGY_DOMAINS]; /* a remark was set that the zones may not count */
    double sums[RM_ENERGY_DOMAINS];      /* J since the first reading; NaN: no such zone */
    double power_limit_w; /* highest sustained power of all packages (constraint_0_max_power_uw,
                             else constraint_0_power_limit_uw); NaN: not known */
    char why[160];        /* why zones are missing */
};

/** Finds the zones.  Succeeds without any zone: `why` has the reason.  RESMON_ENOMEM. */
resmon_status rm_energy_zones_open(struct rm_energy_zones *zones, const struct rm_root *root,
                                   struct rm_scratch *scratch, rm_perf_open_fn perf_open);

/** Finds the zones of the PMU "power" only, even where powercap has them. */
RM_SHARED resmon_status rm_energy_zones_open_pmu(struct rm_energy_zones *zones,
                                                 const struct rm_root *root,
                                                 struct rm_scratch *scratch,
                                                 rm_perf_open_fn perf_open);
RM_SHARED void rm_energy_zones_close(struct rm_energy_zones *zones);

/** Whether the zones measure all of a domain: there is at least one, and each can be read. */
RM_SHARED bool rm_energy_zones_measure(const struct rm_energy_zones *zones,
                                       enum rm_energy_domain domain);

/* RAPL updates its counters every millisecond.  A counter without change for RM_ZONE_GRACE_NS is
 * dead, such as the counters of some hypervisors. */
enum rm_zone_life {
    RM_ZONES_YOUNG, /* not known yet */
    RM_ZONES_DEAD,  /* at least one has not counted since the first reading */
    RM_ZONES_LIVE,
};

#define RM_ZONE_GRACE_NS (INT64_C(100) * 1000000)

RM_SHARED enum rm_zone_life rm_energy_zones_life(const struct rm_energy_zones *zones,
                                                 enum rm_energy_domain domain);

/** Writes the names of the zones of a domain (RM_ENERGY_DOMAINS: of any) that have not counted, and
 * for how long.  Returns their number; 0 before the second reading. */
RM_SHARED size_t rm_energy_zones_describe_dead(const struct rm_energy_zones *zones, unsigned domain,
                                               char *text, size_t capacity);

/** Writes the description of a model that replaces dead counters.  It is the same for all runs of a
 * machine, since runs are compared. */
void rm_energy_zones_describe_model(const struct rm_energy_zones *zones, unsigned domain,
                                    const char *model, char *text, size_t capacity);

/** Reads the zones for the sample at `sample_ns`, unless they were read for it; `now_ns` is the
 * current time. */
RM_SHARED void rm_energy_zones_read(struct rm_energy_zones *zones, struct rm_scratch *scratch,
                                    int64_t sample_ns, int64_t now_ns);

#endif

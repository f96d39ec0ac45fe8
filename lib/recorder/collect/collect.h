/* SPDX-License-Identifier: MIT */
/*
 * Owns the contract of a collector, which reads one source of numbers.
 *
 * A collector is a table of operations called rm_collect_<name>; the build lists every one of
 * this directory in the registry, so that a new one needs no other edit than its rows in
 * metrics.def.  docs/contributing/extending.md walks through one.
 *
 * Collectors run on the sampling thread only.  They may use base, sys, metric and the files of this
 * directory that are not collectors (delta.h, capacity.h, energy_zones.h, ...); never another
 * collector, the store or a lock.  After open() they neither allocate nor open files, but for
 * things that newly appeared.
 */
#ifndef RM_COLLECT_COLLECT_H
#define RM_COLLECT_COLLECT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/status.h"
#include "carbon/cpu_power.h"
#include "collect/capacity.h"
#include "collect/counters.h"
#include "collect/energy_zones.h"
#include "metric/metric.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/host.h"
#include "os/nvml.h"
#include "os/own_usage.h"
#include "os/proc_pid.h"

/* The process tree's share of the machine's energy so far, at its last division. */
struct rm_shared_energy {
    int64_t t_ns;               /* 0: none yet */
    double cpu_j, ram_j, gpu_j; /* NaN: not known */
    double cpu_s;               /* CPU time of the tree then */
    int64_t gpu_ns;             /* of gpu_j, which is not new with each division; 0: none yet */
    double gpu_w;               /* what the tree's GPUs draw; NaN: not known */
};

/* What the machine's processors draw together, by a model. */
struct rm_found_power {
    struct rm_cpu_power watts;
    double cpus; /* 0: not known */
};

/* What collectors found in this sample or an earlier one, for those that say that they come after
 * them (rm_collector.after).  A stamp of 0: not read yet. */
struct rm_found {
    double node_busy_s, node_all_s; /* CPU time of the machine, all CPUs; */
    bool is_of_container;           /* or what its container used of it (lxcfs) */
    double busy_s;                  /* of it, with ticks that are missing yet (energy_cpu) */
    int64_t node_ns;
    double tree_cpu_s, tree_rss; /* of the process and its descendants */
    int64_t tree_ns;
    double cpu_j, ram_j; /* of the machine, since the first sample; NaN: not known */
    int64_t cpu_j_ns, ram_j_ns;
    bool is_cpu_known,
        is_ram_known; /* false: counters that have not counted yet, if they ever do */
    bool is_cpu_measured, is_ram_measured; /* by these */
    struct rm_found_power cpu_power;       /* also where cpu_j is measured */
    double gpu_tree_j; /* the process tree's share of the GPUs'; NaN: not known */
    int64_t gpu_ns;    /* of that */
    double gpu_w;      /* what the tree bears of their power; NaN: not known */
    struct rm_shared_energy shared;
};

/* What the collectors of one process read, for the tree of one that has no descendants. */
enum rm_own_file { RM_OWN_STAT, RM_OWN_STATM, RM_OWN_IO, RM_OWN_FILES };

struct rm_own_text {
    int64_t sample_ns; /* the sample that it was read for */
    size_t length;
    char bytes[768];
};

/* What a GPU drew by the power at each sample, since its energy was read: J, and what of it the
 * process tree bears. */
struct rm_gpu_part {
    double all_j, tree_j;
    int64_t t_ns; /* up to then; 0: not yet */
};

/* GPUs, which another thread reads. */
struct rm_collect_gpus {
    size_t count;
    const struct rm_gpu_info *infos;
    const char *driver;              /* its version; NULL: there are none */
    struct rm_gpu_reading *readings; /* the latest, of the parts that were asked for */
    /* False: not in time. */
    bool (*read)(void *context, unsigned parts, int64_t since_ns,
                 struct rm_gpu_reading *ret_readings, int64_t *ret_cpu_ns);
    void *context;
    resmon_status status; /* why there are none, with the text */
    char why[160];
    int64_t sample_ns; /* the latest sample in which they were asked, first at */
    int64_t since_ns;
    bool is_late;       /* in it */
    bool has_host_pids; /* pids of the driver, which are the host's, are those of this /proc */
    struct rm_gpu_part borne[RM_MOST_GPUS]; /* by index; collector gpu adds, energy_gpu takes */
};

/* When the process became what is observed, and what it had used then. */
struct rm_begin {
    int64_t at_ns; /* CLOCK_MONOTONIC */
    resmon_run_usage usage;
};

static inline double rm_begin_cpu_s(const struct rm_begin *begin)
{
    return begin->usage.user_s + begin->usage.system_s;
}

/* What a collector sees of the world; one per monitor. */
struct rm_collect {
    struct rm_root root;
    struct rm_scratch scratch;
    char proc_dir[32];       /* "proc/self" or "proc/1234" */
    int64_t pid;             /* of the process observed, for system calls; 0: none may be asked */
    int64_t proc_pid;        /* its number in this /proc; 0: it has none there */
    struct rm_pid_view view; /* how the two differ */
    bool is_self;            /* it is this process */
    uint64_t flags;          /* RESMON_FLAG_* */
    double tick_s;           /* a clock tick of /proc/stat and /proc/PID/stat */
    double page_bytes;
    struct rm_cgroup cgroup;        /* of the process; limits are looked for from here upwards */
    struct rm_cgroup_limits limits; /* of memory, of it and all above it */
    struct rm_cgroup job_group;     /* where this process speaks for a job: whose use counts */
    bool has_cgroup;
    bool has_job_group;
    bool is_group;    /* it is observed, in place of a process: its members are the tree */
    double job_bytes; /* the limit of memory that the job has here; NaN: none, or not known */
    struct rm_cgroup_members members; /* of that, at the latest look */
    struct rm_capacity capacity;
    struct rm_cpu_model cpu;
    struct rm_host host;          /* and the program that is observed */
    const char *energy_path;      /* below which the zones are; NULL: below `root` */
    struct rm_root energy_root;   /* that, if it is given */
    struct rm_energy_zones zones; /* opened by rm_collect_open_zones() */
    bool has_zones;
    rm_perf_open_fn perf_open;   /* of counters of the machine */
    struct rm_counters counters; /* of the process tree; opened by rm_counters_open() */
    struct rm_collect_gpus gpus;
    double cpu_watts, ram_watts; /* of machines without counters, as given; NaN: not */
    struct rm_found found;
    struct rm_own_text own_texts[RM_OWN_FILES];
    struct rm_own_io own_io;       /* what the library itself had done just before the latter */
    const struct rm_begin *begin;  /* NULL: with the first sample */
    const resmon_run_usage *usage; /* atomic: of the process, which has ended; NULL: not known */
    const uint64_t *folded_peak; /* RSS peak that was folded away by resets of the kernel's mark */
    int64_t now_ns;              /* CLOCK_MONOTONIC stamp of the sample being taken */
    /* For the run's list of sources, beside a success: open() and read() may say here what is not
     * as one would expect (rm_collect_remark()), and change what the figures are. */
    char remark[160];
    bool takes_remark_back; /* what was said before does not hold any more */
    bool leaves_host;       /* another process of the job has the machine's energy */
    int32_t provenance;     /* RESMON_PROVENANCE_MEASURED */
    /* What a reading cost elsewhere: time for which another thread was waited, its CPU time. */
    int64_t waited_ns, elsewhere_ns;
    int64_t capacity_ns; /* CLOCK_MONOTONIC of the last look at it */
};

/** CPU time of the machine when what is observed began: of what was used since, until the first
 * reading, the tree's part is known. */
static inline double rm_collect_busy_at_begin(const struct rm_collect *collect)
{
    const struct rm_found *found = &collect->found;
    double used_s = collect->begin != NULL && found->tree_ns != 0
                        ? found->tree_cpu_s - rm_begin_cpu_s(collect->begin)
                        : 0.0;
    return found->node_busy_s - (used_s > 0.0 ? used_s : 0.0);
}

/* After those that are public: switched on by the options' counters. */
#define RM_DOMAIN_COUNTERS (RESMON_DOMAIN_ALL + 1)

/* And the flag of each of their groups (RM_COUNTERS_*). */
#define RM_FLAG_COUNTERS(group) ((uint64_t)(group) << 32)

struct rm_collector {
    const char *name;
    uint64_t domain;         /* RESMON_DOMAIN_* that switches it on */
    uint64_t needs_flag;     /* RESMON_FLAG_* without which it stays off; 0: none */
    int64_t min_interval_ns; /* never read more often than this, */
    int64_t own_interval_ns; /* nor more often than this, where the options leave the interval open:
                                what it reads moves slowly */
    bool comes_when_asked; /* but for samples that are asked for, which are exact cuts of a run, */
    bool comes_early;      /* and but for the first: twice as long after each, at 1 % of a CPU */
    const uint16_t *metrics; /* the columns of one instance: values[0], values[1], ... */
    size_t metric_count;
    size_t state_bytes;       /* zeroed before open(); may be 0 */
    const char *const *after; /* RM_AFTER("node_cpu"): collectors whose findings it uses */

    /* Opens files and checks that they can be read.  A failure (the text is the reason given in the
     * run) switches this collector off and harms nothing else; close() is called after it too.
     * RESMON_ENODEV: most machines lack the hardware, and people need not be told. */
    resmon_status (*open)(struct rm_collect *collect, void *state);

    /* Writes instances * metric_count values; they hold NaN before.  RESMON_ESRCH: the process has
     * ended; other failures are counted and tried again later. */
    resmon_status (*read)(struct rm_collect *collect, void *state, double *values);

    /* Between readings: takes what the kernel tells, and keeps little of; in how many ns again, at
     * the latest, INT64_MAX: never.  NULL: it tells nothing. */
    int64_t (*hear)(void *state);

    void (*close)(void *state); /* NULL: nothing to do */

    /* Instances found by open(), and their names; NULL: one without a name. */
    size_t (*instances)(const void *state);
    const char *(*instance_name)(const void *state, size_t index);

    double wrap;      /* counters of this source count modulo this; 0: they never wrap */
    double most_rate; /* counters of this source cannot grow by more in a second; 0: no limit */
};

/** All collectors, as the build lists them; rm_collect_order() says in which order they are read.
 */
extern const struct rm_collector *const rm_collectors[];
extern const size_t rm_collector_count;

/* More than there are; the build checks it. */
#define RM_MOST_COLLECTORS 96

/**
 * Writes `count` collectors (RM_MOST_COLLECTORS at most) in the order in which they are opened and
 * read: by domain, so that the process comes first and its values are nearest to the sample's time;
 * within a domain as they are listed; and each one after those that it names in .after, whatever
 * their domains.  Pure.  RESMON_EINVAL: a collector names itself or an unknown collector, or some
 * form a cycle; ret_order is then undefined.
 */
resmon_status rm_collect_order(const struct rm_collector *const *collectors, size_t count,
                               const struct rm_collector **ret_order);

/** Prepares what collectors share.  `pid` 0: this process.  RESMON_ESRCH: there is no such one. */
resmon_status rm_collect_init(struct rm_collect *collect, const char *fs_root, int64_t pid,
                              uint64_t flags);
/** Prepares what collectors share, of a control group in place of a process.  RESMON_ENOENT: there
 * is none at `path`; RESMON_EINVAL. */
resmon_status rm_collect_init_group(struct rm_collect *collect, const char *fs_root,
                                    const char *path, uint64_t flags);
void rm_collect_free(struct rm_collect *collect);

/** Looks at who is in the group that is observed.  RESMON_ESRCH: it is gone. */
resmon_status rm_collect_list_group(struct rm_collect *collect);

/** Opens a collector; where /proc does not have the process, the error says what to do. */
resmon_status rm_collect_open(struct rm_collect *collect, const struct rm_collector *collector,
                              void *state);

/** Before the sources are read: sees after what they share, for a sample at `now_ns`. */
void rm_collect_begin(struct rm_collect *collect, int64_t now_ns);

/** Leaves a text of the process's own files for this sample; and takes it, if it is there. */
void rm_collect_leave(struct rm_collect *collect, enum rm_own_file file,
                      const struct rm_text *text);
bool rm_collect_take(const struct rm_collect *collect, enum rm_own_file file,
                     struct rm_text *ret_text);

/** Leaves a remark; the first of a reading stays. */
void rm_collect_remark(struct rm_collect *collect, const char *text);

/** Nothing is to be remarked any more. */
void rm_collect_take_remark_back(struct rm_collect *collect);

/** Energy of the machine or a part of it, as this process reports it: one of a job's processes on a
 * host does, so that no joule is counted twice; the others have their shares of it. */
static inline double rm_collect_of_host(const struct rm_collect *collect, double joules)
{
    return collect->leaves_host ? RM_NAN : joules;
}

/** Opens "`proc_dir`/`name`". */
resmon_status rm_collect_open_proc(const struct rm_collect *collect, struct rm_file *file,
                                   const char *name);

/** Threads of the library among those of the process: 0 of another process. */
double rm_collect_own_threads(const struct rm_collect *collect);

/** The control group whose use counts: the process's own, or all of its job. */
const struct rm_cgroup *rm_collect_used_group(const struct rm_collect *collect);

/** Opens a file of that; the error text knows the root group, which has no accounting of its own.
 */
resmon_status rm_collect_open_cgroup(const struct rm_collect *collect, struct rm_file *file,
                                     enum rm_cgroup_controller controller, const char *name);

/** Reads a kept-open file. */
static inline resmon_status rm_collect_read(struct rm_collect *collect, struct rm_file *file,
                                            struct rm_text *ret_text)
{
    return rm_file_read(file, &collect->scratch, ret_text);
}

/** Now, as near to a reading as the percentages of short intervals need it; below a fixture's root
 * the sample's stamp. */
static inline int64_t rm_collect_moment(const struct rm_collect *collect)
{
    return collect->root.is_live ? rm_clock_monotonic_ns() : collect->now_ns;
}

/** When counters that wrap must be read, with a sample or without; INT64_MAX: never. */
int64_t rm_collect_next_poll_ns(const struct rm_collect *collect);
void rm_collect_poll(struct rm_collect *collect, int64_t now_ns);

/** Opens the machine's energy counters, unless that was done.  There may be none in them. */
resmon_status rm_collect_open_zones(struct rm_collect *collect);

/** Reads the zones, unless that was done for this sample, and says whether those of a domain count;
 * while that is not known, a remark says so. */
enum rm_zone_life rm_collect_read_zones(struct rm_collect *collect, enum rm_energy_domain domain);

/** Opens what was lost of them; closes them: nothing when they are not open. */
void rm_collect_revive_zones(struct rm_collect *collect);
void rm_collect_close_zones(struct rm_collect *collect);

/** Whether this is the pid namespace of the host: elsewhere its pids mean other processes. */
bool rm_collect_has_host_pids(const struct rm_collect *collect);

/** Room of `bytes` for each GPU, or the reason why there are none. */
resmon_status rm_collect_each_gpu(const struct rm_collect *collect, size_t bytes, void *ret_each);

/** Has parts of the GPUs read (RM_NVML_*), the use by processes only where their numbers mean
 * something here.  RESMON_ETIMEDOUT. */
resmon_status rm_collect_read_gpus(struct rm_collect *collect, unsigned parts);

/* The process tree's use of a GPU; NaN: not known. */
struct rm_gpu_share {
    double share; /* 0 ... 1, of the GPU's power */
    double sm;    /* %, of its multiprocessors' time */
    double bytes; /* of GPU memory */
};

/** The tree's share at one reading: by the use of multiprocessors where the driver reports it by
 * process, else, while nothing runs on the GPU, by the memory held.  A GPU without processes is
 * attributed to nobody: its share is 0. */
struct rm_gpu_share rm_gpu_share_of(struct rm_collect *collect,
                                    const struct rm_gpu_reading *reading);

/** As rm_collector.close; the state is a struct rm_file. */
void rm_collect_close_file(void *file);

/** An open file whose content does not have the form that it should have. */
resmon_status rm_collect_garbled(const struct rm_file *file);

/** `found` has bit `slot`? the number : NaN. */
static inline double rm_found(uint64_t found, const uint64_t *numbers, unsigned slot)
{
    return (found >> slot & 1) != 0 ? (double)numbers[slot] : RM_NAN;
}

#define RM_AFTER(...) ((const char *const[]){__VA_ARGS__, NULL})

#define RM_METRICS(array) .metrics = (array), .metric_count = RM_ARRAY_LEN(array)

#endif

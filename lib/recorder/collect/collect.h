/* SPDX-License-Identifier: MIT */
/*
 * Owns the contract of a collector, which reads one source of numbers.
 *
 * A collector is a table of operations called rm_collect_NAME.  The build lists all of this
 * directory in the registry: a new collector needs no other edit than its rows in metrics.def.
 * docs/contributing/extending.md walks through one.
 *
 * Collectors run on the sampling thread only.  They may use base, os, metric and the files of
 * this directory that are not collectors (delta.h, capacity.h, energy_zones.h, ...); never
 * another collector, the store or a lock.  After open() they neither allocate nor open files,
 * except for things that appeared since.
 */
#ifndef RM_COLLECT_COLLECT_H
#define RM_COLLECT_COLLECT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>

#include <resmon/monitor.h>
#include <resmon/run.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/status.h"
#include "carbon/power.h"
#include "collect/capacity.h"
#include "collect/energy_zones.h"
#include "metric/metric.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/host.h"
#include "os/members.h"
#include "os/nvml.h"
#include "os/own_io.h"
#include "os/own_usage.h"
#include "os/proc_pid.h"

/* The process tree's share of the machine's energy so far, at the last division. */
struct rm_shared_energy {
    int64_t t_ns;               /* 0: no division yet */
    double cpu_j, ram_j, gpu_j; /* NaN: not known */
    double cpu_s;               /* CPU time of the tree at t_ns */
    int64_t gpu_ns; /* time of gpu_j, which is not new with each division; 0: none yet */
    double gpu_w;   /* power of the tree's GPUs; NaN: not known */
};

/* Power of all processors of the machine, by a model. */
struct rm_found_power {
    struct rm_cpu_power watts;
    double cpus; /* 0: not known */
};

/* Results of collectors in this or an earlier sample, for the collectors that name them in .after.
 * A time of 0: not read yet. */
struct rm_found {
    double node_busy_s, node_all_s; /* CPU time of the machine, all CPUs */
    bool is_of_container;           /* node_busy_s is the container's CPU time (lxcfs) */
    double busy_s;                  /* node_busy_s and ticks that it lacks yet (energy_cpu) */
    int64_t node_ns;
    double tree_cpu_s, tree_rss; /* of the process and its descendants */
    int64_t tree_ns;
    double cpu_j, ram_j; /* energy of the machine since the first sample; NaN: not known */
    int64_t cpu_j_ns, ram_j_ns;
    bool is_cpu_known, is_ram_known;       /* false: the counters have not counted yet */
    bool is_cpu_measured, is_ram_measured; /* by counters, not by a model */
    struct rm_found_power cpu_power;       /* known also where cpu_j is measured */
    double gpu_tree_j; /* the process tree's share of the GPUs'; NaN: not known */
    int64_t gpu_ns;    /* time of gpu_tree_j */
    double gpu_w;      /* power of the tree's share of the GPUs; NaN: not known */
    struct rm_shared_energy shared;
};

/* Files that the collectors of the process have read for this sample, so that the tree of a process
 * without descendants need not read them again. */
enum rm_own_file { RM_OWN_STAT, RM_OWN_STATM, RM_OWN_IO, RM_OWN_FILES };

struct rm_own_text {
    int64_t sample_ns; /* sample for which the file was read */
    size_t length;
    char bytes[768];
};

/* Energy (J) integrated from the sampled power since the last reading of the energy counter. */
struct rm_gpu_part {
    double all_j, tree_j;
    int64_t t_ns; /* end of the integral; 0: none yet */
};

/* The GPUs, which another thread reads. */
struct rm_collect_gpus {
    size_t count;
    const struct rm_gpu_info *infos;
    const char *driver;              /* driver version; NULL: no GPU */
    struct rm_gpu_reading *readings; /* the latest reading of each GPU, of the requested parts */
    /* False: the deadline has passed. */
    bool (*read)(void *context, unsigned parts, int64_t since_ns,
                 struct rm_gpu_reading *ret_readings, int64_t *ret_cpu_ns);
    void *context;
    resmon_status status; /* why there is no GPU; the text is in `why` */
    char why[160];
    int64_t sample_ns; /* the latest sample in which the GPUs were read, first at since_ns */
    int64_t since_ns;
    bool is_late;       /* the deadline passed in this sample */
    bool has_host_pids; /* the driver's pids, which are the host's, are valid in this /proc */
    struct rm_gpu_part borne[RM_MOST_GPUS]; /* by GPU; gpu adds to it, energy_gpu resets it */
};

/* Begin of the observed process's run, and what it had used by then. */
struct rm_begin {
    int64_t at_ns; /* CLOCK_MONOTONIC */
    resmon_run_usage usage;
};

static inline double rm_begin_cpu_s(const struct rm_begin *begin)
{
    return begin->usage.user_s + begin->usage.system_s;
}

struct rm_counter_ops; /* collect/counters.h */
struct rm_counters;

/* What the collectors of a monitor share. */
struct rm_collect {
    struct rm_root root;
    struct rm_scratch scratch;
    char proc_dir[32];       /* "proc/self" or "proc/1234" */
    int64_t pid;             /* of the observed process, for system calls; 0: none are made */
    int64_t proc_pid;        /* its pid in this /proc; 0: it has no pid there */
    struct rm_pid_view view; /* how pid and proc_pid are related */
    bool is_self;            /* the observed process is this one */
    uint64_t flags;          /* RESMON_FLAG_* */
    double tick_s;           /* length of a clock tick of /proc/stat and /proc/PID/stat */
    double page_bytes;
    struct rm_cgroup cgroup;        /* of the process; limits are searched from it upwards */
    struct rm_cgroup_limits limits; /* memory limits of the cgroup and its ancestors */
    struct rm_cgroup job_group;     /* the job's cgroup, if this process reports the job's use */
    bool has_cgroup;
    bool has_job_group;
    /* A cgroup or a job is observed, not a process: the members of `group` are the tree. */
    bool is_group;
    struct rm_group group;
    char group_name[RM_FILE_PATH_BYTES]; /* path of the cgroup, or "job 4711" */
    double job_bytes;          /* the job's memory limit on this host; NaN: none, or not known */
    struct rm_members members; /* of the observed group, at the last look */
    int64_t listed_ns;         /* the sample of that look; 0: none */
    resmon_status listed;      /* its status */
    struct rm_capacity capacity;
    struct rm_cpu_model cpu;
    struct rm_host host;          /* the host, and the observed program */
    const char *energy_path;      /* root of the energy zones; NULL: `root` */
    struct rm_root energy_root;   /* opened if energy_path is given */
    struct rm_energy_zones zones; /* opened by rm_collect_open_zones() */
    bool has_zones;
    rm_perf_open_fn perf_open;    /* opens counters of the machine */
    struct rm_counters *counters; /* of the process tree; made by rm_counters_open() */
    const struct rm_counters_wanted *counters_wanted; /* NULL: no counters are wanted */
    const struct rm_counter_ops *counter_ops;         /* NULL: chosen by the root; else by a test */
    struct rm_collect_gpus gpus;
    double cpu_watts, ram_watts; /* given power of a machine without counters; NaN: not given */
    struct rm_found found;
    struct rm_own_text own_texts[RM_OWN_FILES];
    struct rm_own_io own_io;       /* the library's own I/O just before RM_OWN_IO was read */
    const struct rm_begin *begin;  /* NULL: the run begins with the first sample */
    const resmon_run_usage *usage; /* atomic: of the ended process; NULL: not known */
    const uint64_t *folded_peak;   /* highest RSS peak before the kernel's mark was reset */
    int64_t now_ns;                /* CLOCK_MONOTONIC stamp of the sample being taken */
    /* For the run's list of sources, if open() or read() succeeds: what is unexpected
     * (rm_collect_remark()), and the provenance of the values. */
    char remark[160];
    bool takes_remark_back; /* the earlier remark does not hold any more */
    bool leaves_host;       /* another process of the job reports the machine's energy */
    int32_t provenance;     /* RESMON_PROVENANCE_*; MEASURED unless set */
    /* Cost of a reading outside of this thread: time spent waiting for another thread, and its CPU
     * time. */
    int64_t waited_ns, elsewhere_ns;
    int64_t capacity_ns; /* CLOCK_MONOTONIC time of the last reading of `capacity` */
};

/** CPU time of the machine at the begin of the run.  Between it and the first reading, only the
 * tree's part is known. */
static inline double rm_collect_busy_at_begin(const struct rm_collect *collect)
{
    const struct rm_found *found = &collect->found;
    double used_s = collect->begin != NULL && found->tree_ns != 0
                        ? found->tree_cpu_s - rm_begin_cpu_s(collect->begin)
                        : 0.0;
    return found->node_busy_s - (used_s > 0.0 ? used_s : 0.0);
}

/* Follows the public domains; enabled by the option `counters`. */
#define RM_DOMAIN_COUNTERS (RESMON_DOMAIN_ALL + 1)

/* Flag of a group of counters (RM_COUNTERS_*). */
#define RM_FLAG_COUNTERS(group) ((uint64_t)(group) << 32)

struct rm_collector {
    const char *name;
    uint64_t domain;         /* RESMON_DOMAIN_* that enables it */
    uint64_t needs_flag;     /* RESMON_FLAG_* that it requires; 0: none */
    int64_t min_interval_ns; /* lower bound of the interval */
    int64_t own_interval_ns; /* lower bound of the interval unless the options set one: the values
                                change slowly */
    bool comes_when_asked; /* explicitly requested samples ignore the bound: they are exact cuts of
                              a run */
    bool comes_early; /* its first intervals are shorter and double each time, at 1 % of a CPU */
    const uint16_t *metrics; /* columns of one instance: values[0], values[1], ... */
    size_t metric_count;
    size_t state_bytes;       /* zeroed before open(); may be 0 */
    const char *const *after; /* RM_AFTER("node_cpu"): collectors whose results it uses */

    /* Opens files and checks that they can be read.  A failure disables this collector only; its
     * text is the reason given in the run.  close() is called after a failure, too.  RESMON_ENODEV:
     * most machines lack the hardware, and the reason is not shown by default. */
    resmon_status (*open)(struct rm_collect *collect, void *state);

    /* Writes instances * metric_count values, which are NaN before.  RESMON_ESRCH: the process has
     * ended.  Other failures are counted, and the next sample tries again. */
    resmon_status (*read)(struct rm_collect *collect, void *state, double *values);

    /* Between readings: takes events that the kernel queues in a small buffer.  Returns the time in
     * ns until it must be called again; INT64_MAX: never.  NULL: there are no events. */
    int64_t (*take_events)(void *state);

    void (*close)(void *state); /* NULL: nothing to do */

    /* Number and names of the instances found by open(); NULL: one without a name. */
    size_t (*instances)(const void *state);
    const char *(*instance_name)(const void *state, size_t index);

    double wrap;      /* modulus of this source's counters; 0: they never wrap */
    double most_rate; /* highest growth of this source's counters per second; 0: no limit */
};

/** All collectors, as the build lists them; rm_collect_order() sorts them. */
extern const struct rm_collector *const rm_collectors[];
extern const size_t rm_collector_count;

/* Upper bound of the number of collectors; checked at compile time. */
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

/** Prepares what collectors share, for a process.  `pid` 0: this process.  RESMON_ESRCH: no such
 * process. */
resmon_status rm_collect_init(struct rm_collect *collect, const char *fs_root, int64_t pid,
                              uint64_t flags);
/** Prepares what collectors share, for a cgroup instead of a process.  RESMON_ENOENT: no cgroup at
 * `path`; RESMON_EINVAL. */
resmon_status rm_collect_init_group(struct rm_collect *collect, const char *fs_root,
                                    const char *path, uint64_t flags);

/** Prepares what collectors share, for the processes of a job that has no cgroup.  `entries`: see
 * struct rm_group; they must stay.  There may be no process. */
resmon_status rm_collect_init_job(struct rm_collect *collect, const char *fs_root, const char *id,
                                  const char *entries, uint64_t flags);
void rm_collect_free(struct rm_collect *collect);

/** Reads the members of the observed group.  RESMON_ESRCH: the cgroup was removed. */
resmon_status rm_collect_list_group(struct rm_collect *collect);

/** Opens a collector.  If /proc does not show the process, the error text has a remedy. */
resmon_status rm_collect_open(struct rm_collect *collect, const struct rm_collector *collector,
                              void *state);

/** Called before the sources are read for a sample at `now_ns`: refreshes what they share. */
void rm_collect_begin(struct rm_collect *collect, int64_t now_ns);

/** Keeps a file of the process for this sample; and returns it, if it was kept. */
void rm_collect_leave(struct rm_collect *collect, enum rm_own_file file,
                      const struct rm_text *text);
bool rm_collect_take(const struct rm_collect *collect, enum rm_own_file file,
                     struct rm_text *ret_text);

/** Sets the remark, unless this reading has set one already. */
void rm_collect_remark(struct rm_collect *collect, const char *text);

/** Withdraws the earlier remark. */
void rm_collect_take_remark_back(struct rm_collect *collect);

/** Energy of the machine or of a part of it, as this process reports it; NaN unless it is the one
 * process of the job on this host that reports it, so that no joule is counted twice. */
static inline double rm_collect_of_host(const struct rm_collect *collect, double joules)
{
    return collect->leaves_host ? RM_NAN : joules;
}

/** Opens "`proc_dir`/`name`". */
resmon_status rm_collect_open_proc(const struct rm_collect *collect, struct rm_file *file,
                                   const char *name);

/** Reads "proc/PID/stat" of any process. */
resmon_status rm_collect_read_stat(const struct rm_root *root, struct rm_scratch *scratch,
                                   uint64_t pid, struct rm_pid_stat *ret_stat);

static inline double rm_collect_seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

/** Threads of the library among the process's threads; 0 for another process. */
double rm_collect_own_threads(const struct rm_collect *collect);

/** The cgroup whose use counts: the job's if it is known, else the process's own. */
const struct rm_cgroup *rm_collect_used_group(const struct rm_collect *collect);

/** Opens a file of rm_collect_used_group().  The error text explains that the root cgroup has no
 * accounting of its own. */
resmon_status rm_collect_open_cgroup(const struct rm_collect *collect, struct rm_file *file,
                                     enum rm_cgroup_controller controller, const char *name);

/** Reads a file that is kept open. */
static inline resmon_status rm_collect_read(struct rm_collect *collect, struct rm_file *file,
                                            struct rm_text *ret_text)
{
    return rm_file_read(file, &collect->scratch, ret_text);
}

/** The current time, for rates over short intervals; below a fixture's root the sample's time. */
static inline int64_t rm_collect_moment(const struct rm_collect *collect)
{
    return collect->root.is_live ? rm_clock_monotonic_ns() : collect->now_ns;
}

/** When counters that wrap must be read next, with a sample or without; INT64_MAX: never. */
int64_t rm_collect_next_poll_ns(const struct rm_collect *collect);
void rm_collect_poll(struct rm_collect *collect, int64_t now_ns);

/** Opens the machine's energy counters, unless they are open.  There may be none. */
resmon_status rm_collect_open_zones(struct rm_collect *collect);

/** Reads the zones, unless they were read for this sample, and returns whether the counters of a
 * domain count.  While that is not known, a remark is set. */
enum rm_zone_life rm_collect_read_zones(struct rm_collect *collect, enum rm_energy_domain domain);

/** Opens lost files of the zones again; closes the zones.  No-op when they are not open. */
void rm_collect_revive_zones(struct rm_collect *collect);
void rm_collect_close_zones(struct rm_collect *collect);

/** Whether this is the pid namespace of the host: in others, the host's pids mean other processes.
 */
bool rm_collect_has_host_pids(const struct rm_collect *collect);

/** Allocates `bytes` for each GPU, or fails with the reason why there is no GPU. */
resmon_status rm_collect_each_gpu(const struct rm_collect *collect, size_t bytes, void *ret_each);

/** Reads parts of the GPUs (RM_NVML_*); the use by process only where the driver's pids are valid
 * here.  RESMON_ETIMEDOUT. */
resmon_status rm_collect_read_gpus(struct rm_collect *collect, unsigned parts);

/* The process tree's use of a GPU; NaN: not known. */
struct rm_gpu_share {
    double share; /* 0 ... 1, of the GPU's power */
    double sm;    /* %, of its multiprocessors' time */
    double bytes; /* of GPU memory */
};

/** The tree's share at one reading: by the use of multiprocessors where the driver reports it by
 * process, else, while nothing runs on the GPU, by the memory held.  The power of a GPU without
 * processes is attributed to no process: the tree's share is 0. */
struct rm_gpu_share rm_gpu_share_of(struct rm_collect *collect,
                                    const struct rm_gpu_reading *reading);

/** As rm_collector.close; the state is a struct rm_file. */
void rm_collect_close_file(void *file);

/** An open file whose content does not have the form that it should have. */
resmon_status rm_collect_garbled(const struct rm_file *file);

/** numbers[slot] if bit `slot` of `found` is set, else NaN. */
static inline double rm_found(uint64_t found, const uint64_t *numbers, unsigned slot)
{
    return (found >> slot & 1) != 0 ? (double)numbers[slot] : RM_NAN;
}

#define RM_AFTER(...) ((const char *const[]){__VA_ARGS__, NULL})

#define RM_METRICS(array) .metrics = (array), .metric_count = RM_ARRAY_LEN(array)

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Collectors proc_cpu, proc_io and proc_fds: CPU time, I/O and file descriptors of one process. Its
 * memory: proc_mem.c.
 */
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "collect/collect.h"
#include "collect/delta.h"
#include "os/file.h"
#include "os/proc_pid.h"

/* ---- collector proc_cpu --------------------------------------------------------------------- */

/*
 * /proc/PID/stat, the process's CPU clock (nanoseconds, all threads), and getrusage() for our
 * own process.
 */

enum {
    TIME,
    USER,
    SYSTEM,
    PERCENT,
    HOST_PERCENT,
    CGROUP_PERCENT,
    AFFINITY_PERCENT,
    MINOR,
    MAJOR,
    VOLUNTARY,
    INVOLUNTARY,
    THREADS,
    IO_DELAY
};

static const uint16_t cpu_metrics[] = {
    [TIME] = RM_PROC_CPU_TIME,
    [USER] = RM_PROC_CPU_USER,
    [SYSTEM] = RM_PROC_CPU_SYSTEM,
    [PERCENT] = RM_PROC_CPU_PERCENT,
    [HOST_PERCENT] = RM_PROC_CPU_HOST_PERCENT,
    [CGROUP_PERCENT] = RM_PROC_CPU_CGROUP_PERCENT,
    [AFFINITY_PERCENT] = RM_PROC_CPU_AFFINITY_PERCENT,
    [MINOR] = RM_PROC_FAULT_MINOR,
    [MAJOR] = RM_PROC_FAULT_MAJOR,
    [VOLUNTARY] = RM_PROC_CTX_VOLUNTARY,
    [INVOLUNTARY] = RM_PROC_CTX_INVOLUNTARY,
    [THREADS] = RM_PROC_THREADS,
    [IO_DELAY] = RM_PROC_IO_DELAY,
};

/* For another process; its status file has the main thread's context switches only. */
enum { STATUS_THREADS, STATUS_VOLUNTARY, STATUS_INVOLUNTARY, STATUS_COUNT };

static const struct rm_key status_keys[STATUS_COUNT] = {
    RM_KEY("Threads:", STATUS_THREADS),
    RM_KEY("voluntary_ctxt_switches:", STATUS_VOLUNTARY),
    RM_KEY("nonvoluntary_ctxt_switches:", STATUS_INVOLUNTARY),
};

struct cpu_state {
    struct rm_file stat;
    struct rm_file status; /* of another process */
    clockid_t clock;
    bool has_clock;
    bool has_delays; /* the kernel accounts block-I/O delays */
    struct rm_rate rate;
};

static resmon_status open_stat(struct rm_collect *collect, void *state_)
{
    struct cpu_state *state = state_;
    uint64_t accounts_delays = 1; /* a kernel without the sysctl accounts by its boot option */
    (void)rm_file_read_u64(&collect->root, "proc/sys/kernel/task_delayacct", &collect->scratch,
                           &accounts_delays);
    state->has_delays = accounts_delays != 0;
    if (!state->has_delays) {
        rm_collect_remark(collect, "proc.io_delay is absent: kernel.task_delayacct is off");
    }
    resmon_status status = rm_collect_open_proc(collect, &state->stat, "stat");
    if (status != RESMON_OK) {
        return status;
    }
    if (!collect->is_self) {
        (void)rm_collect_open_proc(collect, &state->status, "status");
    }
    if (collect->begin != NULL) {
        state->rate = (struct rm_rate){rm_begin_cpu_s(collect->begin), collect->begin->at_ns};
    }
    if (collect->root.is_live) {
        state->has_clock = clock_getcpuclockid((pid_t)collect->pid, &state->clock) == 0;
    }
    return RESMON_OK;
}

static void close_stat(void *state_)
{
    struct cpu_state *state = state_;
    rm_file_close(&state->stat);
    rm_file_close(&state->status);
}

/* For our own process, one call returns more than the stat file. */
static void read_own(double *values)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        values[USER] = rm_collect_seconds(&usage.ru_utime);
        values[SYSTEM] = rm_collect_seconds(&usage.ru_stime);
        values[VOLUNTARY] = (double)usage.ru_nvcsw;
        values[INVOLUNTARY] = (double)usage.ru_nivcsw;
    }
}

/* The main thread's context switches are the process's if it has no other thread. */
static void read_others_switches(struct rm_collect *collect, struct cpu_state *state,
                                 double *values)
{
    struct rm_text text;
    uint64_t numbers[STATUS_COUNT] = {0};
    if (rm_collect_read(collect, &state->status, &text) != RESMON_OK) {
        return;
    }
    uint64_t found = rm_parse_keys(text, status_keys, STATUS_COUNT, numbers);
    if (rm_found(found, numbers, STATUS_THREADS) == 1.0) {
        values[VOLUNTARY] = rm_found(found, numbers, STATUS_VOLUNTARY);
        values[INVOLUNTARY] = rm_found(found, numbers, STATUS_INVOLUNTARY);
    }
}

static void set_percents(const struct rm_collect *collect, struct cpu_state *state, double *values)
{
    double percent = 100.0 * rm_rate_take(&state->rate, values[TIME], rm_collect_moment(collect));
    values[PERCENT] = percent;
    values[HOST_PERCENT] = percent / collect->capacity.host_cpus;
    values[CGROUP_PERCENT] = percent / collect->capacity.cgroup_cpus;
    values[AFFINITY_PERCENT] = percent / collect->capacity.affinity_cpus;
}

static resmon_status read_stat(struct rm_collect *collect, void *state_, double *values)
{
    struct cpu_state *state = state_;
    struct rm_text text;
    struct rm_pid_stat stat;
    resmon_status status = rm_collect_read(collect, &state->stat, &text);
    if (status != RESMON_OK) {
        return status;
    }
    rm_collect_leave(collect, RM_OWN_STAT, &text);
    if (!rm_pid_stat_parse(text, &stat)) {
        return rm_collect_garbled(&state->stat);
    }
    if (rm_pid_stat_is_removed(&stat)) {
        return rm_error(RESMON_ESRCH, "process %lld has ended", (long long)collect->pid);
    }
    values[USER] = (double)stat.utime * collect->tick_s;
    values[SYSTEM] = (double)stat.stime * collect->tick_s;
    values[TIME] = values[USER] + values[SYSTEM];
    values[MINOR] = (double)stat.minflt;
    values[MAJOR] = (double)stat.majflt;
    values[THREADS] = (double)stat.threads - rm_collect_own_threads(collect);
    if (state->has_delays) {
        values[IO_DELAY] = (double)stat.blkio_delay * collect->tick_s;
    }
    if (collect->is_self) {
        read_own(values);
    } else {
        read_others_switches(collect, state, values);
    }
    int64_t cpu_ns;
    if (state->has_clock && rm_clock_read_cpu(state->clock, &cpu_ns)) {
        values[TIME] = (double)cpu_ns * 1e-9;
    }
    set_percents(collect, state, values);
    return RESMON_OK;
}

const struct rm_collector rm_collect_proc_cpu = {
    .name = "proc_cpu",
    .domain = RESMON_DOMAIN_PROCESS,
    RM_METRICS(cpu_metrics),
    .state_bytes = sizeof(struct cpu_state),
    .open = open_stat,
    .read = read_stat,
    .close = close_stat,
};

/* ---- collector proc_io ---------------------------------------------------------------------- */

/*
 * /proc/PID/io is readable by the same user only, and not if the process is not dumpable.  For
 * our own process, the library's own I/O is subtracted.
 */

enum { READ_CHARS, WRITE_CHARS, READ_COUNT, WRITE_COUNT, READ_BYTES, WRITE_BYTES, CANCELLED };

static const uint16_t io_metrics[] = {
    [READ_CHARS] = RM_PROC_IO_READ_CHARS,           [WRITE_CHARS] = RM_PROC_IO_WRITE_CHARS,
    [READ_COUNT] = RM_PROC_IO_READ_COUNT,           [WRITE_COUNT] = RM_PROC_IO_WRITE_COUNT,
    [READ_BYTES] = RM_PROC_IO_READ_BYTES,           [WRITE_BYTES] = RM_PROC_IO_WRITE_BYTES,
    [CANCELLED] = RM_PROC_IO_CANCELLED_WRITE_BYTES,
};

static const struct rm_key io_keys[] = {
    RM_KEY("rchar:", READ_CHARS),
    RM_KEY("wchar:", WRITE_CHARS),
    RM_KEY("syscr:", READ_COUNT),
    RM_KEY("syscw:", WRITE_COUNT),
    RM_KEY("read_bytes:", READ_BYTES),
    RM_KEY("write_bytes:", WRITE_BYTES),
    RM_KEY("cancelled_write_bytes:", CANCELLED),
};

static const enum rm_io_field own_fields[] = {
    [READ_CHARS] = RM_IO_READ_CHARS, [WRITE_CHARS] = RM_IO_WRITE_CHARS,
    [READ_COUNT] = RM_IO_READ_CALLS, [WRITE_COUNT] = RM_IO_WRITE_CALLS,
    [READ_BYTES] = RM_IO_READ_BYTES, [WRITE_BYTES] = RM_IO_WRITE_BYTES,
};

struct io_state {
    struct rm_file file;
    uint64_t highest[RM_ARRAY_LEN(own_fields)]; /* highest values: a call that only one side has
                                                   counted must not make a counter fall */
};

static void take_ours_out(struct io_state *state, const struct rm_own_io *ours, double *values)
{
    for (size_t slot = 0; slot < RM_ARRAY_LEN(own_fields); slot++) {
        if (!isnan(values[slot])) {
            state->highest[slot] = rm_own_io_rest(ours, own_fields[slot], (uint64_t)values[slot],
                                                  state->highest[slot]);
            values[slot] = (double)state->highest[slot];
        }
    }
}

static resmon_status read_io(struct rm_collect *collect, void *state_, double *values)
{
    struct io_state *state = state_;
    struct rm_text text;
    uint64_t numbers[RM_ARRAY_LEN(io_metrics)] = {0};
    if (collect->is_self) {
        rm_own_io_before(&collect->own_io);
    }
    resmon_status status = rm_collect_read(collect, &state->file, &text);
    rm_own_io_after(&collect->own_io);
    if (status != RESMON_OK) {
        return status;
    }
    rm_collect_leave(collect, RM_OWN_IO, &text);
    uint64_t found = rm_parse_keys(text, io_keys, RM_ARRAY_LEN(io_keys), numbers);
    for (unsigned slot = 0; slot < RM_ARRAY_LEN(io_metrics); slot++) {
        values[slot] = rm_found(found, numbers, slot);
    }
    if (collect->is_self) {
        take_ours_out(state, &collect->own_io, values);
    }
    return found != 0 ? RESMON_OK : rm_collect_garbled(&state->file);
}

/* The kernel checks the permission at read(), not at open(). */
static resmon_status open_io(struct rm_collect *collect, void *state_)
{
    struct io_state *state = state_;
    double values[RM_ARRAY_LEN(io_metrics)];
    resmon_status status = rm_collect_open_proc(collect, &state->file, "io");
    if (status == RESMON_OK) {
        status = read_io(collect, state, values);
        /* The thread that starts the monitor reads files at the same time: the kernel may have
         * counted a call of it that we have not. */
        memset(state->highest, 0, sizeof state->highest);
    }
    return status;
}

static void close_io(void *state)
{
    rm_file_close(&((struct io_state *)state)->file);
}

const struct rm_collector rm_collect_proc_io = {
    .name = "proc_io",
    .domain = RESMON_DOMAIN_PROCESS,
    RM_METRICS(io_metrics),
    .state_bytes = sizeof(struct io_state),
    .open = open_io,
    .read = read_io,
    .close = close_io,
};

/* ---- collector proc_fds --------------------------------------------------------------------- */

static const uint16_t fds_metrics[] = {RM_PROC_FDS};

static resmon_status read_fds(struct rm_collect *collect, void *state, double *values)
{
    (void)state;
    uint64_t count;
    resmon_status status = rm_fd_count(&collect->root, collect->proc_dir, &count);
    if (status == RESMON_OK) {
        values[0] = (double)count;
    }
    return status;
}

static resmon_status open_fds(struct rm_collect *collect, void *state)
{
    double value;
    return read_fds(collect, state, &value);
}

const struct rm_collector rm_collect_proc_fds = {
    .name = "proc_fds",
    .domain = RESMON_DOMAIN_PROCESS,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(fds_metrics),
    .open = open_fds,
    .read = read_fds,
};

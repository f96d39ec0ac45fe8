/* SPDX-License-Identifier: MIT */
/*
 * resmon/stack.h - which functions and lines use the CPU time, and which make memory grow.
 *
 *     resmon_monitor_options options = {
 *         .struct_size = sizeof options,
 *         .stacks = RESMON_STACKS_CPU | RESMON_STACKS_MEMORY,
 *     };
 *     if (resmon_monitor_new(&options, &monitor) == RESMON_OK) {
 *         resmon_monitor_start(monitor);
 *     }
 *
 * In the environment: RESMON="stacks=cpu+memory,summary".  Neither root, LD_PRELOAD nor a special
 * build is needed.  Debug information (-g) is needed for lines; frame pointers are not needed.  A
 * separate file of debug information (libc6-dbg) is read for a library with at least 5 % of the
 * samples of a kind; else its functions have names but no lines.
 *
 * CPU time.  A CPU-time timer of each thread sends a signal.  The signal handler takes the stack
 * and the open scopes.  The signal is one that the program does not use: SIGURG, else SIGSTKFLT or
 * SIGPROF.
 *
 * - System calls that SA_RESTART does not restart (poll, nanosleep, ...) may return EINTR if they
 *   have used CPU time.  A thread that waits for all signals (sigwait) receives this one, too.
 * - Alternate signal stacks and stacks of coroutines must have room for one more signal (about 8
 *   KiB with AVX-512).
 * - The kernel checks such timers at its ticks: with CONFIG_HZ=250, samples come at 250 Hz at most.
 *   A sample then represents several intervals.
 *
 * Memory.  At every `fault_period`th page fault of a thread, the kernel writes its registers and
 * the top of its stack (2 KiB, or 8 KiB if that is often too little) to a ring.  This uses
 * perf_event_open(2), allowed up to kernel.perf_event_paranoid 2.  A thread of the library reads
 * the ring and unwinds the stack; no signal is sent, but in a process with Python (below).  The
 * pages since the previous sample count as RSS growth of the function.
 *
 * - Scopes are those that were open at the fault and are still open a few milliseconds later.
 *   Growth in a shorter scope is attributed to its enclosing scope.
 * - Faults of huge pages are sampled 16 times as often once such faults are detected.  A huge page
 *   counts by its size from Linux 5.11 on, before as a small page (the reason of the kind reports
 *   this if huge pages are on for all memory).  Pages that khugepaged merges count as no growth.
 * - Pages of files (programs, mapped data, shared memory) are a kind of their own.  A page of a
 *   private mapping counts as memory once it was written to.
 * - A fault on a file maps any number of cached pages, and only the sampled faults report huge
 *   pages.  The growth of RssFile and RssAnon between two readings, some milliseconds apart, is
 *   therefore divided among the samples between them.
 * - Allocated memory that is never touched is no growth.  Memory that the allocator reuses causes
 *   no fault.  Memory that is read before it is written counts, although it shares one page
 *   of zeros.  So does a fault of copy-on-write after fork(2), and of NUMA balancing.
 * - Faults inside system calls (read() into fresh memory) are sampled if the process may observe
 *   the kernel (root, CAP_PERFMON, paranoid 1).  resmon_run_stack_info.total includes them in any
 *   case, also pages without a fault (MAP_POPULATE, mlock(2)).
 * - What is still there (RESMON_STACK_RESIDENT).  Each 0.1 seconds, or so much less often that it
 *   takes a hundredth of a CPU, /proc/PID/pagemap is read for the sampled pages.  Memory that was
 *   given back to the kernel no longer counts; where it came again, it belongs to the stack that
 *   touched it later.  A process that has ended has what was there at the last look.  Memory that
 *   an allocator keeps for its next use is still there.
 * - If the RSS of a kind rose but no sample was taken, its status is not RESMON_OK.
 *
 * Peak.  Stacks of all threads are taken if the RSS exceeds the previous peak by a tenth and by
 * 16 MiB; after a second, by a hundredth and by 1 MiB.  They are also taken if the cgroup has less
 * than a tenth of its limit left, and again when this rest has halved.  Each thread receives the
 * signal once, waiting threads too: their poll() or nanosleep() may return EINTR.  The latest peak
 * is kept with its RSS, and the highest RSS seen, which may be more.
 *
 * Another process (resmon_monitor_options.pid).  The kernel samples its CPU time, and that of all
 * processes it starts, each 1/stack_hz seconds of CPU time of a thread.  It also samples minor page
 * faults.  A sample has the thread's registers and the top of its stack (16 KiB for CPU time, 4 KiB
 * for faults).  Processes that ran before the monitor started are included.  No signal and no
 * debugger is used.
 *
 * - Allowed up to kernel.perf_event_paranoid 2 for processes of the same user.  A process that
 *   executes a set-user-ID or unreadable program is hidden by the kernel from its exec until it may
 *   be observed again; its CPU time is listed under its name.
 * - The outermost frame of each stack is the name of the process: "[cc1]".
 * - CPU time without samples has this frame only: the kernel reports it when a thread ends.
 *   Examples: a process that ended before its first sample; system calls at paranoid 2 without
 *   CAP_PERFMON.
 * - Memory growth comes from the sampled faults only, without pages of files.  Peaks and scopes are
 *   not available.
 * - Stacks are unwound with the unwind tables of the mapped files, else with frame pointers.
 * - Python's frames are read from the memory of the process at the sample.  Native frames below
 *   them are kept while the same call runs.  "[Python not read]" stands for frames that could not
 *   be read in time.
 * - Code generated at run time has names from /tmp/perf-PID.map (Node.js with --perf-basic-prof,
 *   agents for Java), else "[unknown]".
 *
 * Python (CPython 3.9 to 3.15, in the process when the monitor starts).  Frames of the interpreter
 * are replaced by the Python functions and lines that they run.  The handler of the sampled thread
 * reads them.  At a sample of page faults, the kernel sends the thread the same signal, at most
 * about 1000 times a second: where faults come faster, `fault_period` is doubled up to 6 times.
 *
 * Names.  Stacks are symbolized from the files of the program and its libraries when the run ends
 * or is loaded, also by another process.  The files must be unchanged: their build-ids are
 * compared.  Else, and while the program runs, functions are shown as module+offset, and the reason
 * of the kind explains it (resmon_run_get_stack_info()).  A loaded run that is saved keeps its
 * names.
 */
#ifndef RESMON_STACK_H
#define RESMON_STACK_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/* What stacks are sampled for: bits of resmon_monitor_options.stacks. */
#define RESMON_STACKS_CPU    UINT64_C(1) /**< CPU time of all threads */
#define RESMON_STACKS_MEMORY UINT64_C(2) /**< growth of memory */
#define RESMON_STACKS_PEAK   UINT64_C(4) /**< stacks of all threads when memory is high */
#define RESMON_STACKS_ALL    UINT64_C(7) /**< all of these */

/* Kinds of stacks: the unit of their weight. */
#define RESMON_STACK_CPU      0 /**< ns of CPU time */
#define RESMON_STACK_MEMORY   1 /**< B of the process's own new pages */
#define RESMON_STACK_FILE     2 /**< B of new pages of mapped files */
#define RESMON_STACK_RESIDENT 3 /**< B of MEMORY that is still there, at the latest look */

/* Losses: samples that are missing or incomplete, all kinds together. */
#define RESMON_STACK_LOSS_RING_FULL   0 /**< lost: a ring was full */
#define RESMON_STACK_LOSS_NO_ROOM     1 /**< lost: the run has no room for more stacks */
#define RESMON_STACK_LOSS_TOO_DEEP    2 /**< cut: the stack has more than 128 frames */
#define RESMON_STACK_LOSS_NOT_UNWOUND 3 /**< cut: the stack was unwound in part only */
#define RESMON_STACK_LOSS_BLOCKED     4 /**< lost: the thread blocks the signal */
#define RESMON_STACK_LOSS_THREADS     5 /**< threads that cannot be sampled */
#define RESMON_STACK_LOSS_MODULES     6 /**< libraries for which the run has no room: no names */

/**
 * Computes the 95 % confidence interval of a sampled weight.
 * It uses Byar's approximation of the exact limits of a Poisson variable (Breslow and Day,
 * Statistical Methods in Cancer Research II, 1987), with n = (weight / error)^2 events: so many
 * samples of equal weight have the same standard error.  `most` is the total, an upper bound of
 * `ret_high`; no bound if it is NaN or less than `weight`.  If `error` is 0, the weight is exact.
 * RESMON_EINVAL: an output is NULL.  Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_stack_interval(double weight, double error, double most,
                                               double *ret_low, double *ret_high);

#define RESMON_FRAMES_PYTHON 1 /**< functions of Python */
#define RESMON_FRAMES_NATIVE 2 /**< functions of compiled code */

/**
 * Leaves frames of one kind in the stacks of a run, for everything that is made of it afterwards.
 * With RESMON_FRAMES_PYTHON, the time and the memory of compiled code are those of the line of
 * Python that called it.  A stack without any frame of the kind, as of a thread of a BLAS, stays as
 * it is; so do the names of processes.  Weights do not change.
 * RESMON_EINVAL: `run` is NULL, or another kind.  The run must not be in use by other threads.
 * Since 0.1.
 */
RESMON_API resmon_status resmon_run_keep_frames(resmon_run *run, int32_t kind);

/**
 * Names code that is in no file, and keeps its text for tables by line.
 * For Python that is compiled at run time under a made-up file name, as cells of notebooks are:
 * "/tmp/ipykernel_1/2.py" is shown as "In [7]".  Stacks that are taken of this process from now on
 * have the name, and their runs the text.  Everything is copied.  A file that has a name gets the
 * new one; the newest 1024 names are kept.  `text`: lines end with '\n', other control
 * characters are shown as '?'; NULL, or longer than 64 KiB: lines have no text.  Two texts of one
 * name in a run: the first one is shown. RESMON_EINVAL: `file` or `name` is NULL or empty, or
 * `name` has a control character; RESMON_ENOMEM.  Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_name_source(const char *file, const char *name, const char *text);

/** Returns the number of different stacks of a run.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_stack_count(const resmon_run *run);

/** Gets stack `index`.  RESMON_ENOENT: `index` is past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_stack(const resmon_run *run, size_t index,
                                              resmon_run_stack *ret_stack);

/** Gets frame `frame` of a stack; 0 is the innermost.  RESMON_ENOENT: there is no such stack or
 * frame.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_frame(const resmon_run *run, size_t stack, size_t frame,
                                              resmon_run_frame *ret_frame);

/** Gets the status, totals and interval of a kind (RESMON_STACK_*).  RESMON_EINVAL: there is no
 * such kind.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_stack_info(const resmon_run *run, int32_t kind,
                                                   resmon_run_stack_info *ret_info);

/** Returns the number of samples, threads or libraries with a loss (RESMON_STACK_LOSS_*).
 * RESMON_EINVAL: there is no such loss, or an argument is NULL.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_stack_loss(const resmon_run *run, int32_t loss,
                                               uint64_t *ret_count);

/** Returns the number of threads at the peak (RESMON_STACKS_PEAK); 0 if no peak was taken.  Any
 * thread.  Since 0.1. */
RESMON_API size_t resmon_run_peak_stack_count(const resmon_run *run);
/** Gets the peak and thread `index` at it.  RESMON_ENOENT: `index` is past the end.  Any thread.
 * Since 0.1. */
RESMON_API resmon_status resmon_run_get_peak_stack(const resmon_run *run, size_t index,
                                                   resmon_run_peak_stack *ret_stack);
/** Gets frame `frame` of thread `stack` at the peak; 0 is the innermost.  RESMON_ENOENT: there is
 * no such thread or frame.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_peak_frame(const resmon_run *run, size_t stack,
                                                   size_t frame, resmon_run_frame *ret_frame);

/**
 * Writes the stacks of one kind as folded stacks, atomically.
 * The format is for flamegraph.pl and similar tools: one line per stack,
 * "[training];main;work;inner 123".  Open scopes are outermost, in brackets; other frames are
 * function names.  The number is the weight: microseconds of CPU time, or KiB.  "(cut)" marks
 * missing outer frames.  Invalid characters in names are replaced, as in both formats.
 * RESMON_EINVAL: there is no such kind; RESMON_ENOENT: the run has no stacks of this kind;
 * `path` and other errors as resmon_run_save().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_save_folded(const resmon_run *run, int32_t kind,
                                                const char *path);
/**
 * Writes all stacks for pprof (which speedscope.app opens, too), atomically: profile.proto in gzip.
 * Sample types, in this order: samples/count (of CPU time; of memory if CPU time was not sampled),
 * cpu/nanoseconds, memory/bytes, file/bytes, resident/bytes.  The label "scope" is the call path of
 * the innermost scope.  RESMON_ENOENT: the run has no stacks; RESMON_ENOTSUP: this build has no
 * zlib; other errors as resmon_run_save_folded(). Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_save_pprof(const resmon_run *run, const char *path);

/* Formats of files of stacks. */
#define RESMON_STACKS_FOLDED 1 /**< resmon_run_save_folded() */
#define RESMON_STACKS_PPROF  2 /**< resmon_run_save_pprof() */

/** Options of a file with the stacks of a monitor's run.  Since 0.1. */
typedef struct resmon_stacks_options {
    size_t struct_size;
    const char *path;     /**< as in resmon_run_save(); made absolute when added */
    uint64_t interval_ms; /**< how often the stacks so far are written, 1 ... 86400000; default
                               0: only at stop */
    int32_t format;       /**< RESMON_STACKS_FOLDED or _PPROF */
    int32_t kind;         /**< RESMON_STACK_* of folded stacks; else 0 */
} resmon_stacks_options;

/**
 * Adds a file of stacks as a sink of the monitor, before the monitor starts.
 * resmon_monitor_options.stacks chooses what is sampled; if it is 0, what the file needs.  If the
 * run has no stacks at the end, the sink fails with the reason.
 * RESMON_EINVAL: there is no such format or kind, or the option `stacks` excludes what the file
 * needs; RESMON_EINVAL, RESMON_ENOENT, RESMON_EACCES: the path cannot be written to; other errors
 * as resmon_monitor_add_sink().
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_stacks(resmon_monitor *monitor,
                                                   const resmon_stacks_options *options);

RESMON_END_DECLS

#endif

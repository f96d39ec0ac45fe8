/* SPDX-License-Identifier: MIT */
/*
 * resmon/stack.h - which functions and lines take the CPU time, and which make memory grow.
 *
 *     resmon_monitor_options options = {
 *         .struct_size = sizeof options,
 *         .stacks = RESMON_STACKS_CPU | RESMON_STACKS_MEMORY,
 *     };
 *
 * or RESMON="stacks=cpu+memory,summary" in the environment.  Neither root nor LD_PRELOAD nor
 * another compilation is needed; debug information (-g) gives lines, and no frame pointers are
 * wanted.  A file of debug information that is not the library's own (libc6-dbg) is read where 5 %
 * of the samples of a kind were in that library; else its functions have names and no lines.
 *
 * CPU time: a timer of each thread's CPU time sends a signal, and its handler takes the stack, and
 * the scopes that are open.  The signal is one that the program leaves alone: SIGURG, else
 * SIGSTKFLT or SIGPROF.  System calls that SA_RESTART does not restart (poll, nanosleep, ...) may
 * return EINTR where they have used CPU time, and a thread that waits for all signals (sigwait) is
 * given this one, too.  Alternate signal stacks of the program, and stacks of coroutines, must have
 * room for one signal more (some 8 KiB with AVX-512).  A kernel looks at such timers at its ticks:
 * samples come at 250 Hz at most where CONFIG_HZ is 250, and then stand for several intervals each.
 *
 * Memory: at every `fault_period`th page fault of a thread the kernel puts its registers and the
 * top of its stack (2 KiB, or 8 where that is often too little) into a ring (perf_event_open(2),
 * allowed up to kernel.perf_event_paranoid 2), which a thread of the library follows: the pages
 * that came since the sample before are that function's growth of the RSS.  Faults that
 * bring huge pages are sampled 16 times as often, as soon as they are seen to come.  No signal
 * comes of it. The scopes are those that were open then and are so a few milliseconds later; a
 * shorter scope's growth stands in the one around it.  Pages of files (programs, mapped data,
 * shared memory) are told apart; one of a private mapping that was written to is memory.  A fault
 * brings any number of a file's pages with it, as many as the kernel has at hand, and huge pages
 * are told of the sampled faults only: what RssFile and RssAnon rose by from one look to the next,
 * some milliseconds later, is divided among the samples between.  Memory that is taken and not
 * touched does not grow the RSS, and pages that were given back to the allocator and used again
 * come without a fault. Faults inside of system calls (read() into fresh memory) count where the
 * process may watch the kernel (root, CAP_PERFMON, paranoid 1); resmon_run_stack_info.total has
 * them in any case, and what comes without a fault of a thread (MAP_POPULATE, mlock(2)).  A kind of
 * which the RSS rose and no sample tells is not RESMON_OK.
 *
 * Memory that is read before anything was written to it counts, too, though it shares one page of
 * zeros.  A huge page counts by its size, from Linux 5.11 on; before, as a small one (the reason of
 * the kind says so where they are on for all memory).  What khugepaged makes of small pages that
 * were there counts as nothing more.
 *
 * Peak: when the RSS is a tenth and 16 MiB higher than at the peak before (after a second, a
 * hundredth and 1 MiB), or the control group has less than a tenth of its limit left, each thread
 * is sent the signal once, also those that wait: their poll() or nanosleep() may return EINTR.  The
 * latest peak is kept, with its RSS, and with the highest that was seen, which may be more.
 *
 * Another process (resmon_monitor_options.pid): stacks are taken from outside of it, and of all
 * that it starts, by the kernel's samples of CPU time (one each 1/stack_hz seconds that a thread
 * has on a processor) and of minor page faults, with the thread's registers and the top of its
 * stack (16 and 4 KiB); what ran already when the monitor was started is observed, too.  Neither a
 * signal nor a debugger comes of it.  Allowed up to kernel.perf_event_paranoid 2 for processes of
 * the same user; one with other rights (set-user-ID), or that may not be read, the kernel hides
 * from its exec on until it is allowed again: its CPU time stands with its name.  The name of the
 * process is the outermost frame of each stack: "[cc1]".  CPU time that no sample stands for (a
 * process ended before its first one, or, at paranoid 2 without CAP_PERFMON, it was spent in system
 * calls) stands with that frame alone, as the kernel accounts it when a thread ends.  Growth of
 * memory is what the sampled faults brought, without pages of files; peaks are not taken, and
 * scopes are not seen. Stacks are followed by the unwind tables of the files that the process has
 * mapped; where there are none, by frame pointers.  Code that is made at run time has the names
 * that /tmp/perf-PID.map gives it (Python 3.12 with -X perf, Node.js with --perf-basic-prof, agents
 * for Java), else "[unknown]".
 *
 * Names come from the files of the program and its libraries when the run ends, or when it is
 * loaded, also by another process: so they must still be the same files (their build-ids are
 * compared); else functions are shown as module+offset, as they are while the program runs, and the
 * reasons of the kinds say why (resmon_run_get_stack_info()).  A loaded run that is saved again
 * keeps its names.
 */
#ifndef RESMON_STACK_H
#define RESMON_STACK_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/* What stacks are taken of: bits of resmon_monitor_options.stacks. */
#define RESMON_STACKS_CPU    UINT64_C(1) /**< CPU time, of all threads */
#define RESMON_STACKS_MEMORY UINT64_C(2) /**< growth of memory */
#define RESMON_STACKS_PEAK   UINT64_C(4) /**< all threads, when memory is high */
#define RESMON_STACKS_ALL    UINT64_C(7)

/* Kinds of weight that a stack has. */
#define RESMON_STACK_CPU    0 /**< ns of CPU time */
#define RESMON_STACK_MEMORY 1 /**< B of pages of its own that the process got */
#define RESMON_STACK_FILE   2 /**< B of pages of files that were mapped and touched */

/* What became of samples that are not as they should be, of all kinds together. */
#define RESMON_STACK_LOSS_RING_FULL   0 /**< lost: they came faster than they were taken out */
#define RESMON_STACK_LOSS_NO_ROOM     1 /**< lost: of stacks for which the run has no room */
#define RESMON_STACK_LOSS_TOO_DEEP    2 /**< cut: of stacks deeper than 128 frames */
#define RESMON_STACK_LOSS_NOT_UNWOUND 3 /**< cut: the stack could be followed a part of the way */
#define RESMON_STACK_LOSS_BLOCKED     4 /**< lost: the thread had the signal blocked */
#define RESMON_STACK_LOSS_THREADS     5 /**< threads that could not be sampled */
#define RESMON_STACK_LOSS_MODULES     6 /**< libraries for which the run has no room: no names */

/**
 * What an amount from samples is worth: in 95 of 100 cases the truth lies between `ret_low` and
 * `ret_high`.  Byar's approximation of the exact limits of a Poisson variable (Breslow and Day,
 * Statistical Methods in Cancer Research II, 1987), with n = (weight / error)^2 events: samples of
 * equal weight would have the same error.  `most`: what there is at all, which the upper one does
 * not exceed; NaN, or less than `weight`: it bounds nothing.  An error of 0 is exact.
 * RESMON_EINVAL: an output is NULL.  Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_stack_interval(double weight, double error, double most,
                                               double *ret_low, double *ret_high);

/** How many stacks a run has.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_stack_count(const resmon_run *run);

/** Stack `index`; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_stack(const resmon_run *run, size_t index,
                                              resmon_run_stack *ret_stack);

/** Frame `frame` of a stack, 0 the innermost; RESMON_ENOENT past the end.  Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_get_frame(const resmon_run *run, size_t stack, size_t frame,
                                              resmon_run_frame *ret_frame);

/** About a kind (RESMON_STACK_*).  RESMON_EINVAL: there is no such kind.  Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_get_stack_info(const resmon_run *run, int32_t kind,
                                                   resmon_run_stack_info *ret_info);

/** How many samples, threads or libraries met a loss (RESMON_STACK_LOSS_*).  RESMON_EINVAL: there
 * is no such loss.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_stack_loss(const resmon_run *run, int32_t loss,
                                               uint64_t *ret_count);

/** Threads at the peak (RESMON_STACKS_PEAK), and their frames; 0, and RESMON_ENOENT, when none was
 * taken.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_peak_stack_count(const resmon_run *run);
RESMON_API resmon_status resmon_run_get_peak_stack(const resmon_run *run, size_t index,
                                                   resmon_run_peak_stack *ret_stack);
RESMON_API resmon_status resmon_run_get_peak_frame(const resmon_run *run, size_t stack,
                                                   size_t frame, resmon_run_frame *ret_frame);

/**
 * Writes the stacks to a file, atomically, as resmon_run_save(), whose `path` and failures they
 * share; RESMON_ENOENT: the run has none, or none of that kind; RESMON_ENOTSUP: this build has no
 * stacks.  Text that is not clean is cleaned.
 *
 * Folded: a line for each stack, "[training];main;work;inner 123", for flamegraph.pl and its kin.
 * Frames are named by their functions; scopes that were open stand outermost, in brackets.  The
 * number is the weight of one kind: microseconds of CPU time, or KiB.  "(cut)" stands where frames
 * further out are missing.
 * Speedscope (speedscope.app): a profile for each kind, with scopes as in folded stacks; frames
 * have their lines.
 * pprof: profile.proto, compressed (without zlib: stored).  Sample types, in this order:
 * samples/count (of CPU time, or where that was not taken of memory), cpu/nanoseconds,
 * memory/bytes, file/bytes; the label "scope" is the path of the innermost scope.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_save_folded(const resmon_run *run, int32_t kind,
                                                const char *path);
RESMON_API resmon_status resmon_run_save_speedscope(const resmon_run *run, const char *path);
RESMON_API resmon_status resmon_run_save_pprof(const resmon_run *run, const char *path);

/* Formats of files of stacks. */
#define RESMON_STACKS_FOLDED     1
#define RESMON_STACKS_SPEEDSCOPE 2
#define RESMON_STACKS_PPROF      3

/** Stacks of a monitor's run in a file.  Since 0.1. */
typedef struct resmon_stacks_options {
    size_t struct_size;
    const char *path;     /**< as in resmon_run_save(); made absolute when added */
    uint64_t interval_ms; /**< the stacks so far are written this often, 1 ... 86400000; default
                               0: only at stop */
    int32_t format;       /**< RESMON_STACKS_FOLDED ... PPROF */
    int32_t kind;         /**< RESMON_STACK_*, of folded stacks; else 0 */
} resmon_stacks_options;

/**
 * Adds a file of stacks to what is written of a monitor's run, before its start.  What is taken is
 * said by resmon_monitor_options.stacks, else it is what the file shows; a run that has none all
 * the same makes the sink fail at the end, with the reason.  RESMON_EINVAL: there is no such format
 * or kind, or the option stacks leaves out what the file shows; RESMON_EINVAL, RESMON_ENOENT,
 * RESMON_EACCES: the path cannot be written to; else as resmon_monitor_add_sink(). Thread class:
 * one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_stacks(resmon_monitor *monitor,
                                                   const resmon_stacks_options *options);

RESMON_END_DECLS

#endif

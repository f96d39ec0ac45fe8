/* SPDX-License-Identifier: MIT */
/*
 * resmon/scope.h - scopes: the phases of a program.
 *
 *     void train(void)
 *     {
 *         RESMON_FUNCTION();
 *         for (int epoch = 0; epoch < 10; epoch++) {
 *             RESMON_SCOPE("epoch");
 *             run_epoch(epoch);
 *         }
 *     }
 *
 * A scope lasts to the end of its block, however the block is left (return, break, goto; in C++
 * also an exception).  Code is annotated once.  The monitor that owns the scopes, or the
 * environment variable RESMON, chooses at run time what is measured: wall time, CPU time, exact RSS
 * peak, I/O, or nothing.  Without a monitor a scope takes about a nanosecond.  If RESMON_DISABLE is
 * defined before inclusion, it compiles to nothing.
 *
 * Scopes of all threads are merged by the names along their call paths.  Direct recursion counts as
 * one instance.  The first visit of a path takes a lock; later visits neither lock nor allocate.
 *
 * A handle, which is a plain number, places scopes of other threads below a scope:
 *
 *     RESMON_SCOPE("train");
 *     uint64_t here = RESMON_HERE();
 *     pool.submit([here] {
 *         RESMON_SCOPE_UNDER(here, "gradient");
 *         compute_gradient();
 *     });
 *
 * In all results, "gradient" is then inside "train", with the time of all threads.  It is marked as
 * beside "train" (concurrent_ns in <resmon/run.h>), and does not reduce the self time of "train".
 * LLVM's OpenMP needs no code: see resmon_scope_begin_under().
 *
 * longjmp() out of a scope, and pthread_exit() in C, skip the end of the scope.  Then the end of
 * the outer scope, or of the thread, closes it, and it is counted as misordered.
 */
#ifndef RESMON_SCOPE_H
#define RESMON_SCOPE_H

#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** A place in the program.  Static: it must outlive every monitor.  Since 0.1. */
typedef struct resmon_site {
    const char *name;
    const char *file;
    const char *function;
    uint32_t line;
    uint32_t id; /**< 0 at first; set by the library */
} resmon_site;

/** Not 0 while a monitor owns the scopes.  Read it only with an atomic load.  Since 0.1. */
extern RESMON_API uint32_t resmon_scope_session;

/**
 * Begins a scope in this thread.
 * Returns a number for resmon_scope_end(); 0 if nothing is measured.
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API uint64_t resmon_scope_begin(resmon_site *site);

/**
 * Ends a scope of this thread, and the scopes that began after it and are still open.
 * 0 does nothing.  An end is ignored and counted if the scope has ended, belongs to another thread,
 * or its monitor has stopped.
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API void resmon_scope_end(uint64_t scope);

/**
 * Marks an open scope of this thread as failed; call it before its end.
 * In direct recursion only the outermost instance counts.  0, and a scope that is not open in this
 * thread, do nothing.  Python marks scopes that an exception leaves.
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API void resmon_scope_fail(uint64_t scope);

/**
 * Marks a scope that has just begun as the continuation of a suspended call.
 * The scope is of this thread; the call is of a generator or coroutine.  Its time counts.  It adds
 * 1 to `resumed` instead of `calls`.  Minimum, maximum and deviation are then of the parts of a
 * call between suspensions.  0, direct recursion, and a scope that is not open in this thread, do
 * nothing. Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API void resmon_scope_resumed(uint64_t scope);

/**
 * Returns a handle of the innermost open scope of this thread.
 * With the handle, other threads begin scopes below that scope.  0: no scope is open, nothing is
 * measured, or there is no room: 4096 call paths per monitor; the others are counted as dropped
 * paths. A handle represents the call path and is the same for all its instances.  It is a number
 * to copy and keep; nobody frees it.  It stays valid after the end of the scope or of the thread,
 * while its monitor owns the scopes.  The first handle of a path takes a lock, later ones do not.
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API uint64_t resmon_scope_here(void);

/** The scope is inside the scope of the handle and a part of its time, as the sequential steps of a
 * task are.  Without this flag, it is beside that scope. */
#define RESMON_INSIDE 1

/**
 * Begins a scope in this thread, placed below the call path of the handle `under`.
 * `flags`: 0, or RESMON_INSIDE if `under` belongs to a task that this thread runs now.  Returns a
 * number for resmon_scope_end() in this thread; 0 if nothing is measured.
 *
 * It is the same as resmon_scope_begin() if `under` is 0, or if this thread is at that path (it
 * just took the handle).  A handle whose monitor has stopped counts as 0, and as a stale end.
 *
 * Other open scopes of this thread remain open.  Until the end, time counts at the path of `under`,
 * not as their self time: the thread helps with other work while it waits.  If that path ends with
 * the name of this scope, the scope is placed beside the scope of the handle, not inside.  So tasks
 * that create tasks do not make deeper paths.
 *
 * LLVM's OpenMP needs no calls (clang -fopenmp).
 * Threads of a parallel region are in a scope "omp parallel" below the scope in which the region
 * began; explicit tasks are in "omp task".  The library is then the OMPT tool of the runtime,
 * unless OMP_TOOL_LIBRARIES names another tool, OMP_TOOL is "disabled", or the program runs with
 * ThreadSanitizer.  GCC's OpenMP does not report its threads: take a handle before the region, and
 * begin a scope under it inside the region.
 *
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API uint64_t resmon_scope_begin_under(resmon_site *site, uint64_t under, uint64_t flags);

/**
 * A task: an instance of a scope that no thread is in all the time, such as a coroutine, a request
 * or an operation of a device.  It may end on another thread, and tasks may overlap.  Results show
 * it as open until its end.  Since 0.1.
 */
typedef struct resmon_task resmon_task;

/**
 * Begins a task below the call path of the handle `under`; 0: at the top.
 * `flags`: 0 or RESMON_INSIDE.  resmon_task_end() frees `ret_task`.  It is NULL if nothing is
 * measured, which the other functions accept.  A task inside a task of the same name is a part of
 * that one, and not counted separately.
 *
 * Wall time is measured, and the chosen meters of the whole process: RSS peak, I/O and CPU time of
 * the process.  A task has no energy and is not among the events.  Every call allocates or frees.
 *
 * RESMON_EINVAL: `site` or `ret_task` is NULL, or flags are unknown; RESMON_ENOMEM.
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API resmon_status resmon_task_begin(resmon_site *site, uint64_t under, uint64_t flags,
                                           resmon_task **ret_task);

/** Returns a handle for scopes below the task; 0 for NULL.  Any thread.  Since 0.1. */
RESMON_API uint64_t resmon_task_here(const resmon_task *task);

/** Marks the task as failed; call it before its end.  NULL does nothing.  Any thread.  Since 0.1.
 */
RESMON_API void resmon_task_fail(resmon_task *task);

/** Ends the task and frees it, on any thread.  NULL does nothing.  Since 0.1. */
RESMON_API void resmon_task_end(resmon_task *task);

/**
 * Gets a site for a name that is known only at run time, for other languages.
 * The same name gives the same site.  It is valid until the process ends, and never freed: keep it.
 * `name` is copied.  Results contain 63 bytes of a name.  A longer name becomes its first 54 bytes,
 * '~' and eight hexadecimal digits that distinguish it.
 * RESMON_EINVAL: an argument is NULL, or `name` is empty; RESMON_ENOSPC: the process has 65535
 * sites; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_site_intern(const char *name, resmon_site **ret_site);

/**
 * Gets a site for a name with its place in the source.
 * The same name and place give the same site.  Scopes are still merged by name alone.  `file` and
 * `function` may be "", and `line` 0.  RESMON_EINVAL and other errors: as resmon_site_intern().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_site_intern_at(const char *name, const char *file,
                                               const char *function, uint64_t line,
                                               resmon_site **ret_site);

/**
 * Begins a scope by its name, for languages that have no static sites.
 * The name has `length` bytes; a '\0' among them ends it.  It is the same as resmon_scope_begin()
 * with the site of resmon_site_intern(); after the first time the site is found without a lock.  A
 * scope that begins so takes some nanoseconds more than one with a site.  Returns 0 if nothing is
 * measured, the name is NULL or empty, or there is no room for it.
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API uint64_t resmon_scope_begin_named(const char *name, uint64_t length);

/** A place of RESMON_LINE().  Static.  The library sets the last two members.  Since 0.1. */
typedef struct resmon_line_site {
    const char *file;
    const char *function;
    uint32_t line;
    uint32_t session;
    uint32_t record;
} resmon_line_site;

/**
 * Adds wall time and RSS growth since the previous checkpoint to the record of this line.
 * The previous checkpoint is the one in the same call of the function.  RESMON_LINE() calls this.
 *
 * For checkpoints, a call of a function begins and ends with the first scope that it opens.  Inner
 * scopes and recursive calls, direct or through other functions, do not change that.  So the
 * intervals between checkpoints do not overlap.  Their sum is the time from the begin of the first
 * scope to the last checkpoint.
 *
 * An interval includes the functions that are called in it.  If these have scopes, their own
 * checkpoints are counted in addition; otherwise their checkpoints continue the call of the caller.
 * The first interval has wall time only: the RSS is read at checkpoints, not at scopes.  Outside of
 * any scope, the first checkpoint of a thread only begins an interval.
 *
 * A checkpoint reads /proc/self/statm, and its RSS is as exact as that file.  The time of the read
 * is in no interval.  A run has at most 256 lines; others are not measured, but counted
 * (dropped_lines in <resmon/run.h>).  Without a monitor that owns the scopes, nothing is done.
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API void resmon_line(resmon_line_site *site);

/** State of RESMON_TIMED() and RESMON_PEAK_RSS().  Since 0.1. */
typedef struct resmon_timed {
    resmon_site *site;
    uint64_t scope;
    uint64_t meter;
    int64_t start_ns;
    uint64_t watch;
} resmon_timed;

/**
 * Begins a timed scope, as RESMON_TIMED() and RESMON_PEAK_RSS() do before the statement.
 * `meter`: RESMON_METER_WALL or RESMON_METER_RSS.  For resmon_timed_take(), begin with
 * resmon_timed_watch() instead; both are in <resmon/watch.h>.
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API void resmon_timed_begin(resmon_site *site, uint64_t meter, resmon_timed *ret_timed);

/**
 * Ends a timed scope and logs its wall time or RSS peak (level RESMON_LOG_INFO).
 * Thread class: the thread that began it.  Since 0.1.
 */
RESMON_API void resmon_timed_end(resmon_timed *timed);

RESMON_END_DECLS

/* ---- macros -------------------------------------------------------------------------------- */

#define RESMON_CONCAT_(a, b)  RESMON_CONCAT2_(a, b)
#define RESMON_CONCAT2_(a, b) a##b

/* The static initializer of a site includes the name of the function. */
#define RESMON_SITE_(variable, text) \
    static resmon_site variable = {text, __FILE__, __func__, __LINE__, 0}

#ifdef __cplusplus

namespace resmon
{

class scope_guard
{
  public:
    explicit scope_guard(resmon_site *site)
        : scope_(__atomic_load_n(&resmon_scope_session, __ATOMIC_RELAXED) != 0
                     ? resmon_scope_begin(site)
                     : 0)
    {
    }
    scope_guard(resmon_site *site, uint64_t under)
        : scope_(resmon_scope_begin_under(site, under, 0))
    {
    }
    ~scope_guard()
    {
        if (scope_ != 0) {
            resmon_scope_end(scope_);
        }
    }
    scope_guard(const scope_guard &) = delete;
    scope_guard &operator=(const scope_guard &) = delete;

  private:
    uint64_t scope_;
};

class timed_guard
{
  public:
    timed_guard(resmon_site *site, uint64_t meter) : timed_()
    {
        resmon_timed_begin(site, meter, &timed_);
    }
    ~timed_guard()
    {
        resmon_timed_end(&timed_);
    }
    timed_guard(const timed_guard &) = delete;
    timed_guard &operator=(const timed_guard &) = delete;

  private:
    resmon_timed timed_;
};

} // namespace resmon

#define RESMON_SCOPE_NAMED_(text, n)                             \
    RESMON_SITE_(RESMON_CONCAT_(resmon_site_, n), text);         \
    const ::resmon::scope_guard RESMON_CONCAT_(resmon_scope_, n) \
    {                                                            \
        &RESMON_CONCAT_(resmon_site_, n)                         \
    }

#define RESMON_UNDER_NAMED_(under, text, n)                      \
    RESMON_SITE_(RESMON_CONCAT_(resmon_site_, n), text);         \
    const ::resmon::scope_guard RESMON_CONCAT_(resmon_scope_, n) \
    {                                                            \
        &RESMON_CONCAT_(resmon_site_, n), (under)                \
    }

#define RESMON_WRAP_(text, meter, n, ...)                                                       \
    do {                                                                                        \
        RESMON_SITE_(RESMON_CONCAT_(resmon_site_, n), text);                                    \
        const ::resmon::timed_guard RESMON_CONCAT_(resmon_timed_,                               \
                                                   n){&RESMON_CONCAT_(resmon_site_, n), meter}; \
        __VA_ARGS__;                                                                            \
    } while (0)

#else

static inline uint64_t resmon_scope_enter_(resmon_site *site)
{
    return __atomic_load_n(&resmon_scope_session, __ATOMIC_RELAXED) != 0 ? resmon_scope_begin(site)
                                                                         : 0;
}

static inline void resmon_scope_leave_(const uint64_t *scope)
{
    if (*scope != 0) {
        resmon_scope_end(*scope);
    }
}

static inline resmon_timed resmon_timed_enter_(resmon_site *site, uint64_t meter)
{
    resmon_timed timed;
    resmon_timed_begin(site, meter, &timed);
    return timed;
}

#define RESMON_SCOPE_NAMED_(text, n)                            \
    RESMON_SITE_(RESMON_CONCAT_(resmon_site_, n), text);        \
    const uint64_t RESMON_CONCAT_(resmon_scope_, n)             \
        __attribute__((unused, cleanup(resmon_scope_leave_))) = \
            resmon_scope_enter_(&RESMON_CONCAT_(resmon_site_, n))

#define RESMON_UNDER_NAMED_(under, text, n)                     \
    RESMON_SITE_(RESMON_CONCAT_(resmon_site_, n), text);        \
    const uint64_t RESMON_CONCAT_(resmon_scope_, n)             \
        __attribute__((unused, cleanup(resmon_scope_leave_))) = \
            resmon_scope_begin_under(&RESMON_CONCAT_(resmon_site_, n), (under), 0)

#define RESMON_WRAP_(text, meter, n, ...)                                     \
    do {                                                                      \
        RESMON_SITE_(RESMON_CONCAT_(resmon_site_, n), text);                  \
        resmon_timed RESMON_CONCAT_(resmon_timed_, n)                         \
            __attribute__((unused, cleanup(resmon_timed_end))) =              \
                resmon_timed_enter_(&RESMON_CONCAT_(resmon_site_, n), meter); \
        __VA_ARGS__;                                                          \
    } while (0)

#endif

/* clang from 22 on warns of __COUNTER__ with -Wpedantic: it belongs to C2y. */
#if defined(__clang__) && __clang_major__ >= 22
#define RESMON_COUNTER_ \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wc2y-extensions\"")
#define RESMON_COUNTER_END_ _Pragma("clang diagnostic pop")
#else
#define RESMON_COUNTER_
#define RESMON_COUNTER_END_
#endif

#ifndef RESMON_DISABLE

/** Begins a scope named `literal` (a string literal), which lasts to the end of the block. */
#define RESMON_SCOPE(literal) \
    RESMON_COUNTER_ RESMON_SCOPE_NAMED_("" literal "", __COUNTER__) RESMON_COUNTER_END_

/** Returns a handle of the innermost open scope of this thread: resmon_scope_here(). */
#define RESMON_HERE() resmon_scope_here()

/** Begins a scope named `literal` below the scope of the handle `under`, which lasts to the end of
 * the block.  `under` is evaluated once, also with RESMON_DISABLE, so its variable is used. */
#define RESMON_SCOPE_UNDER(under, literal) \
    RESMON_COUNTER_ RESMON_UNDER_NAMED_(under, "" literal "", __COUNTER__) RESMON_COUNTER_END_

/** Begins a scope with the name of the function, which lasts to the end of the block. */
#define RESMON_FUNCTION() \
    RESMON_COUNTER_ RESMON_SCOPE_NAMED_(__func__, __COUNTER__) RESMON_COUNTER_END_

/**
 * Sets a checkpoint: adds wall time and memory growth since the previous checkpoint to its line.
 * The first checkpoint of a function counts from the begin of the function's scope.  Write a
 * checkpoint after each statement to measure, and one before the first statement whose memory
 * growth you need:
 *
 *     RESMON_FUNCTION();
 *     RESMON_LINE();
 *     data = load(path);            RESMON_LINE();
 *     result = convolve(data);      RESMON_LINE();
 *
 * The summary shows these lines with their text; RESMON=lines=NAME shows those of one function.
 * resmon_run_get_line() returns the values.
 */
#define RESMON_LINE()                                                                     \
    do {                                                                                  \
        static resmon_line_site resmon_line_site_ = {__FILE__, __func__, __LINE__, 0, 0}; \
        resmon_line(&resmon_line_site_);                                                  \
    } while (0)

/**
 * Runs the statement exactly once as a scope, and logs its time, with or without a monitor.
 * The line is "NAME finished in 1.2345 s" (level RESMON_LOG_INFO, see resmon_set_log()).  The
 * statement may contain commas and return.  It must not leave the macro by break, continue or goto.
 */
#define RESMON_TIMED(literal, ...) \
    RESMON_COUNTER_ RESMON_WRAP_("" literal "", 1, __COUNTER__, __VA_ARGS__) RESMON_COUNTER_END_

/**
 * Runs the statement as RESMON_TIMED() does, but logs the exact RSS peak during the statement.
 * The line is "NAME peak RSS 687.5 MiB (exact)".
 *
 * The kernel has one high-water mark for the process.  The macro resets it to the current RSS
 * before the statement.  It does so only if a monitor owns the scopes, or a log function of level
 * RESMON_LOG_INFO is set.  getrusage() returns the same mark as ru_maxrss.  After a reset, job
 * accounting (sacct, /usr/bin/time) shows the highest RSS since the reset.  The metric
 * proc.mem.peak_rss of a run covers the whole life of the process.
 */
#define RESMON_PEAK_RSS(literal, ...) \
    RESMON_COUNTER_ RESMON_WRAP_("" literal "", 4, __COUNTER__, __VA_ARGS__) RESMON_COUNTER_END_

#elif defined(__cplusplus)
#define RESMON_SCOPE(literal) static_assert(sizeof("" literal "") > 0, "a literal")
#define RESMON_HERE()         (static_cast<uint64_t>(0))
#define RESMON_SCOPE_UNDER(under, literal)                                \
    RESMON_COUNTER_ const bool RESMON_CONCAT_(resmon_under_, __COUNTER__) \
        __attribute__((unused)) =                                         \
            (static_cast<void>(under), sizeof("" literal "") > 0) RESMON_COUNTER_END_
#define RESMON_FUNCTION() static_assert(true, "disabled")
#define RESMON_LINE()     static_assert(true, "disabled")
#define RESMON_TIMED(literal, ...) \
    do {                           \
        __VA_ARGS__;               \
    } while (0)
#define RESMON_PEAK_RSS(literal, ...) RESMON_TIMED(literal, __VA_ARGS__)
#else
#define RESMON_SCOPE(literal) _Static_assert(sizeof("" literal "") > 0, "a literal")
#define RESMON_HERE()         ((uint64_t)0)
#define RESMON_SCOPE_UNDER(under, literal)                                                         \
    RESMON_COUNTER_ const int RESMON_CONCAT_(resmon_under_, __COUNTER__) __attribute__((unused)) = \
        ((void)(under), sizeof("" literal "") > 0) RESMON_COUNTER_END_
#define RESMON_FUNCTION() _Static_assert(1, "disabled")
#define RESMON_LINE()     _Static_assert(1, "disabled")
#define RESMON_TIMED(literal, ...) \
    do {                           \
        __VA_ARGS__;               \
    } while (0)
#define RESMON_PEAK_RSS(literal, ...) RESMON_TIMED(literal, __VA_ARGS__)
#endif

#endif

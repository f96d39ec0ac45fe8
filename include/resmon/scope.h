/* SPDX-License-Identifier: MIT */
/*
 * resmon/scope.h - scopes: the phases of a program.
 *
 *     void train(void)
 *     {
 *         RESMON_FUNCTION();
 *         for (int epoch = 0; epoch < 10; epoch++) {
 *             RESMON_SCOPE("epoch");
 *             ...
 *         }
 *     }
 *
 * A scope lasts to the end of its block, however the block is left (return, break, goto; in C++
 * also an exception).  Code is annotated once: whether anything is measured, and what (wall time,
 * CPU time, exact RSS peak, I/O), is chosen at run time by the monitor that owns the scopes, or by
 * the environment variable RESMON.  Without a monitor a scope costs about a nanosecond; with
 * RESMON_DISABLE defined before inclusion it compiles to nothing.
 *
 * Scopes of all threads are merged by the names along their call paths.  Direct recursion counts as
 * one instance.  A path's first visit takes a lock; after that a scope neither locks nor allocates.
 *
 * What a scope has other threads do is hung below it with a handle, a plain number:
 *
 *     RESMON_SCOPE("train");
 *     uint64_t here = RESMON_HERE();
 *     pool.submit([here] {
 *         RESMON_SCOPE_UNDER(here, "gradient");
 *         ...
 *     });
 *
 * Then "gradient" stands inside "train" in all results, with the time of all threads, and marked
 * (concurrent_ns in <resmon/run.h>): it runs beside "train", whose own time it does not lessen.
 * LLVM's OpenMP needs no code: see resmon_scope_begin_under().
 *
 * longjmp() out of a scope and pthread_exit() in C skip its end: the scope is closed by the end of
 * the scope around it, or of the thread, and counted as misordered.
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
    uint32_t id; /**< 0 at first; the library's own */
} resmon_site;

/** Not 0 while some monitor owns the scopes.  Read it only with an atomic load.  Since 0.1. */
extern RESMON_API uint32_t resmon_scope_session;

/**
 * Begins a scope in this thread; returns what resmon_scope_end() wants, 0 when nothing is measured.
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API uint64_t resmon_scope_begin(resmon_site *site);

/**
 * Ends a scope that this thread began.  Scopes begun after it that are still open end too.  Ending
 * twice, on another thread, or after the monitor stopped is harmless and counted; 0 does nothing.
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API void resmon_scope_end(uint64_t scope);

/**
 * Says that a scope of this thread failed, before its end: results mark it.  Of direct recursion
 * the outermost instance counts.  A scope that is not open here any more, and 0, do nothing. Python
 * says it of scopes that an exception leaves. Thread class: any thread, not from signal handlers.
 * Since 0.1.
 */
RESMON_API void resmon_scope_fail(uint64_t scope);

/**
 * Says that a scope of this thread, just begun, goes on with a call that was suspended (a
 * generator, a coroutine): its time counts, and it is one more of `resumed` instead of `calls`.  Of
 * the call it has one stretch; min, max and deviation are of stretches.  A scope that is not open
 * here any more, a direct recursion, and 0 do nothing. Thread class: any thread, not from signal
 * handlers.  Since 0.1.
 */
RESMON_API void resmon_scope_resumed(uint64_t scope);

/**
 * A handle for the innermost scope that this thread has open, to begin others under it from other
 * threads; 0: none is open, or nothing is measured, or there is no room (4096 call paths of a
 * session; what did not fit is among the dropped paths).
 *
 * A handle stands for the call path: it is the same for all instances of a path, is copied and
 * kept as any number, belongs to nobody, and stays valid when the scope or the thread has ended, as
 * long as its monitor has the scopes.  The first for a path takes a lock, any other does not.
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API uint64_t resmon_scope_here(void);

/** Inside of the scope of the handle, and a part of its time: what one task does, one thing after
 * the other.  Without: beside it. */
#define RESMON_INSIDE 1

/**
 * Begins a scope as resmon_scope_begin(), hung below the path of a handle.  `flags`: 0, or
 * RESMON_INSIDE where that is of a task which this thread runs now.  The end is resmon_scope_end(),
 * by this thread.
 *
 * Where this thread is at that very path (`under` was just taken in this thread), and for 0, this
 * is resmon_scope_begin().  A handle whose monitor has stopped counts as 0, and as a stale end.
 * Scopes that this thread has open elsewhere stay so: until the end, its time goes to the path of
 * `under` and not to their self time, as that of who helps with the work while waiting.  An
 * instance under one of the same name lies beside that, and not inside, however deep tasks beget
 * tasks.
 *
 * What scopes begin and end so that nobody has to call this: the threads of a parallel region of
 * LLVM's OpenMP (clang -fopenmp, where the library is built with RESMON_WITH_OMPT) are in a scope
 * "omp parallel" below the scope that their region began in, and explicit tasks in "omp task".  The
 * library is the runtime's tool for that (OMPT), unless OMP_TOOL_LIBRARIES names another or
 * OMP_TOOL is "disabled".  GCC's OpenMP does not tell of its threads: there, take a handle before
 * the region and begin a scope under it inside.
 *
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API uint64_t resmon_scope_begin_under(resmon_site *site, uint64_t under, uint64_t flags);

/**
 * An instance of a scope that no thread is in all the time: a coroutine, a request, an operation of
 * a device.  It may end on another thread than it began on, overlaps with others as they come, and
 * is open in results until its end.  Since 0.1.
 */
typedef struct resmon_task resmon_task;

/**
 * Begins such an instance below the path of `under`; 0: at the top.  `flags`: 0 or RESMON_INSIDE.
 * Gives NULL when nothing is measured, which the other functions take.  One that is inside of a
 * task of the same name is a part of that and not counted by itself.
 *
 * Measured are the wall time, and of the meters those of the whole process: the peak of the RSS and
 * the I/O.  A task has no energy and is not among the events.  Every call allocates or frees.
 * RESMON_EINVAL: a site or a place for the result is wanted, or flags that are not known;
 * RESMON_ENOMEM.  Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API resmon_status resmon_task_begin(resmon_site *site, uint64_t under, uint64_t flags,
                                           resmon_task **ret_task);

/** A handle for what is below the task; 0 for NULL.  Any thread.  Since 0.1. */
RESMON_API uint64_t resmon_task_here(const resmon_task *task);

/** Says that it failed, before its end; NULL does nothing.  Any thread.  Since 0.1. */
RESMON_API void resmon_task_fail(resmon_task *task);

/** Ends the task and frees it, on any thread; NULL does nothing.  Since 0.1. */
RESMON_API void resmon_task_end(resmon_task *task);

/**
 * Results have 63 bytes of a name: of a longer one the first 54, '~' and eight digits that tell it
 * from others.
 *
 * A site for a name that is only known at run time, for other languages: the same site for the same
 * name, valid for ever; keep it.  RESMON_ENOSPC when there are too many (65535 in a process).
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_site_intern(const char *name, resmon_site **ret_site);

/**
 * A site for a name with its place in the source: the same site for the same name and place. Scopes
 * are merged by name all the same.  `file` and `function` may be "", `line` 0. Thread class: any
 * thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_site_intern_at(const char *name, const char *file,
                                               const char *function, uint64_t line,
                                               resmon_site **ret_site);

/** A place of RESMON_LINE.  Static.  The last two are the library's own.  Since 0.1. */
typedef struct resmon_line_site {
    const char *file;
    const char *function;
    uint32_t line;
    uint32_t session;
    uint32_t record;
} resmon_line_site;

/**
 * What RESMON_LINE does: adds the wall time, and the growth of the process's RSS, since the
 * checkpoint before this one in the same run of the function to what is known of this line.
 *
 * A run of a function begins with the first scope that it opens, and ends with that; whatever other
 * scopes it opens inside of it do not matter, nor do recursive calls, direct or through others.  So
 * its stretches do not overlap, and their sum is the time from there to the last checkpoint.  What
 * it calls is in them; checkpoints of functions that are called and have scopes of their own are
 * counted beside.  Those of functions without scopes go on in the caller's run.  The first stretch
 * of a run has wall time only: the RSS is read at checkpoints, not at scopes.  Outside of any scope
 * the thread's first checkpoint just begins.
 *
 * Takes a read of /proc/self/statm, which is in no stretch, and is as exact as that.  256 lines in
 * a run; further ones are not measured, but counted (dropped_lines in <resmon/run.h>).  Nothing is
 * done when no monitor has the scopes.  Thread class: any thread, not from signal handlers.
 * Since 0.1.
 */
RESMON_API void resmon_line(resmon_line_site *site);

/** State of RESMON_TIMED and RESMON_PEAK_RSS.  Since 0.1. */
typedef struct resmon_timed {
    resmon_site *site;
    uint64_t scope;
    uint64_t meter;
    int64_t start_ns;
    uint64_t watch;
} resmon_timed;

/** What RESMON_TIMED and RESMON_PEAK_RSS do before and after the statement.  For
 * resmon_timed_take() begin with resmon_timed_watch(), both of <resmon/watch.h>.  Any thread. */
RESMON_API void resmon_timed_begin(resmon_site *site, uint64_t meter, resmon_timed *ret_timed);
RESMON_API void resmon_timed_end(resmon_timed *timed);

RESMON_END_DECLS

/* ---- macros -------------------------------------------------------------------------------- */

#define RESMON_CONCAT_(a, b)  RESMON_CONCAT2_(a, b)
#define RESMON_CONCAT2_(a, b) a##b

/* A site's function is filled in by name where the language allows it in a static initializer. */
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

#ifndef RESMON_DISABLE

/** From here to the end of the block is a scope called `literal` (a string literal). */
#define RESMON_SCOPE(literal) RESMON_SCOPE_NAMED_("" literal "", __COUNTER__)

/** A handle for where this thread is, see resmon_scope_here(). */
#define RESMON_HERE() resmon_scope_here()

/** From here to the end of the block is a scope called `literal`, below the scope of a handle.
 * `under` is evaluated once, also with RESMON_DISABLE, so that its variable counts as used. */
#define RESMON_SCOPE_UNDER(under, literal) RESMON_UNDER_NAMED_(under, "" literal "", __COUNTER__)

/** From here to the end of the block is a scope named after the function. */
#define RESMON_FUNCTION() RESMON_SCOPE_NAMED_(__func__, __COUNTER__)

/**
 * A checkpoint.  It charges to its line what happened since the one before it in this function, or
 * since the function's scope began.  So write it behind the statement that it is to measure, and
 * one before the first statement whose growth of memory is wanted:
 *
 *     RESMON_FUNCTION();
 *     RESMON_LINE();
 *     data = load(path);            RESMON_LINE();
 *     result = convolve(data);      RESMON_LINE();
 *
 * The summary shows these lines with their text, and so does RESMON=lines=NAME for one function;
 * resmon_run_get_line() gives the figures.
 */
#define RESMON_LINE()                                                                     \
    do {                                                                                  \
        static resmon_line_site resmon_line_site_ = {__FILE__, __func__, __LINE__, 0, 0}; \
        resmon_line(&resmon_line_site_);                                                  \
    } while (0)

/**
 * Runs the statement exactly once as a scope, and logs "NAME finished in 1.2345 s" (level
 * RESMON_LOG_INFO, see resmon_set_log()), with or without a monitor.  The statement may hold
 * commas; it must not break, continue or goto out of the macro (return is fine).
 */
#define RESMON_TIMED(literal, ...) RESMON_WRAP_("" literal "", 1, __COUNTER__, __VA_ARGS__)

/**
 * Runs the statement as RESMON_TIMED does, and logs the exact peak of the resident memory
 * meanwhile: "NAME peak RSS 687.5 MiB (exact)".
 *
 * The kernel has one high-water mark for the process, which this sets back to the present RSS
 * before the statement, when somebody will see the peak: a monitor that has the scopes, or a log
 * function of level RESMON_LOG_INFO.  The mark is left alone otherwise.  It is also what
 * getrusage() gives as ru_maxrss: once it was set back, the accounting of jobs (sacct,
 * /usr/bin/time) shows the highest RSS since then.  The metric proc.mem.peak_rss of a run is of the
 * whole life of the process.
 */
#define RESMON_PEAK_RSS(literal, ...) RESMON_WRAP_("" literal "", 4, __COUNTER__, __VA_ARGS__)

#elif defined(__cplusplus)
#define RESMON_SCOPE(literal) static_assert(sizeof("" literal "") > 0, "a literal")
#define RESMON_HERE()         (static_cast<uint64_t>(0))
#define RESMON_SCOPE_UNDER(under, literal)                                          \
    const bool RESMON_CONCAT_(resmon_under_, __COUNTER__) __attribute__((unused)) = \
        (static_cast<void>(under), sizeof("" literal "") > 0)
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
#define RESMON_SCOPE_UNDER(under, literal)                                         \
    const int RESMON_CONCAT_(resmon_under_, __COUNTER__) __attribute__((unused)) = \
        ((void)(under), sizeof("" literal "") > 0)
#define RESMON_FUNCTION() _Static_assert(1, "disabled")
#define RESMON_LINE()     _Static_assert(1, "disabled")
#define RESMON_TIMED(literal, ...) \
    do {                           \
        __VA_ARGS__;               \
    } while (0)
#define RESMON_PEAK_RSS(literal, ...) RESMON_TIMED(literal, __VA_ARGS__)
#endif

#endif

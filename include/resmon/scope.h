/* SPDX-License-Identifier: MIT */
/*
 * resmon/scope.h - names for the phases of a program.
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
 * A site for a name that is only known at run time, for other languages: the same site for the same
 * name, valid for ever; keep it.  RESMON_ENOSPC when there are too many (65535 in a process).
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_site_intern(const char *name, resmon_site **ret_site);

/**
 * The same with the place in the source where the name stands: the same site for the same name and
 * place.  Scopes are merged by name all the same.  `file` and `function` may be "", `line` 0.
 * Thread class: any thread.  Since 0.1.
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
 * scopes it opens inside of it do not matter, nor do recursive calls.  So its stretches do not
 * overlap, and their sum is the time from there to the last checkpoint.  What it calls is in them;
 * checkpoints of functions that are called and have scopes of their own are counted beside.  Those
 * of functions without scopes go on in the caller's run.  The first stretch of a run has wall time
 * only: the RSS is read at checkpoints, not at scopes.  Outside of any scope the thread's first
 * checkpoint just begins.
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

/** What RESMON_TIMED and RESMON_PEAK_RSS do before and after the statement.  Any thread. */
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

/** The same, named after the function it stands in. */
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

/** The same with the exact peak: "NAME peak RSS 687.5 MiB (exact)". */
#define RESMON_PEAK_RSS(literal, ...) RESMON_WRAP_("" literal "", 4, __COUNTER__, __VA_ARGS__)

#elif defined(__cplusplus)
#define RESMON_SCOPE(literal) static_assert(sizeof("" literal "") > 0, "a literal")
#define RESMON_FUNCTION()     static_assert(true, "disabled")
#define RESMON_LINE()         static_assert(true, "disabled")
#define RESMON_TIMED(literal, ...) \
    do {                           \
        __VA_ARGS__;               \
    } while (0)
#define RESMON_PEAK_RSS(literal, ...) RESMON_TIMED(literal, __VA_ARGS__)
#else
#define RESMON_SCOPE(literal) _Static_assert(sizeof("" literal "") > 0, "a literal")
#define RESMON_FUNCTION()     _Static_assert(1, "disabled")
#define RESMON_LINE()         _Static_assert(1, "disabled")
#define RESMON_TIMED(literal, ...) \
    do {                           \
        __VA_ARGS__;               \
    } while (0)
#define RESMON_PEAK_RSS(literal, ...) RESMON_TIMED(literal, __VA_ARGS__)
#endif

#endif

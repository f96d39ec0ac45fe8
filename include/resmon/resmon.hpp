// SPDX-License-Identifier: MIT
//
// resmon/resmon.hpp - libresmon for C++ (C++11 and later; GCC, Clang).
//
//     resmon::monitor monitor("json=run.json");   // options as in the variable RESMON
//     static resmon::site solving("solve");       // knows file, function and line
//     {
//         resmon::scope scope(solving);           // until the end of the block
//         solve();                                // an exception marks the scope as failed
//     }
//     monitor.stop();
//
// Scopes by macro (RESMON_SCOPE of <resmon/scope.h>) work in C++ as in C; a scope of this file can
// also be ended early, marked as failed, and have a name that is known only at run time.
// RESMON_DISABLE has an effect on the macros only.
//
// Errors are exceptions of the class resmon::error.  Destructors throw nothing.  Objects belong to
// one thread at a time; sites, and scopes of different threads, need no care.  Header only: it adds
// nothing to the ABI of the library.
#ifndef RESMON_RESMON_HPP
#define RESMON_RESMON_HPP

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <resmon/resmon.h>

namespace resmon
{

/// A failure; what() says what, where and what to do.  Since 0.1.
class error : public std::runtime_error
{
  public:
    error(resmon_status status, const std::string &text) : std::runtime_error(text), status_(status)
    {
    }
    /// RESMON_EINVAL, ...
    resmon_status status() const noexcept
    {
        return status_;
    }

  private:
    resmon_status status_;
};

/// Throws resmon::error unless the status is RESMON_OK.  Since 0.1.
inline void check(resmon_status status)
{
    if (status != RESMON_OK) {
        throw error(status, resmon_last_error());
    }
}

/// A place in the program with a name: static, as it must outlive every monitor.  Since 0.1.
class site
{
  public:
    /// The text must live as long; the place is that of the declaration.
    constexpr explicit site(const char *name, const char *file = __builtin_FILE(),
                            const char *function = __builtin_FUNCTION(),
                            std::uint32_t line = static_cast<std::uint32_t>(__builtin_LINE()))
        : site_{name, file, function, line, 0}
    {
    }
    site(const site &) = delete;
    site &operator=(const site &) = delete;
    resmon_site *get() noexcept
    {
        return &site_;
    }

  private:
    resmon_site site_;
};

/// A handle of the innermost open scope, for scopes of other threads (resmon_scope_here()).
/// Since 0.1.
inline std::uint64_t here() noexcept
{
    return resmon_scope_here();
}

/// A scope, until its end or that of the block.  If an exception leaves the block, it is marked as
/// failed.  Since 0.1.
class scope
{
  public:
    explicit scope(site &where) noexcept
        : scope(session() != 0 ? resmon_scope_begin(where.get()) : 0)
    {
    }
    /// By a name that is known only at run time; it is copied.  Some nanoseconds slower.
    explicit scope(const std::string &name) noexcept
        : scope(resmon_scope_begin_named(name.data(), name.size()))
    {
    }
    explicit scope(const char *name) noexcept
        : scope(resmon_scope_begin_named(name, name != nullptr ? __builtin_strlen(name) : 0))
    {
    }
    /// Below the scope of a handle, which may be of another thread.
    scope(site &where, std::uint64_t under) noexcept
        : scope(resmon_scope_begin_under(where.get(), under, 0))
    {
    }
    ~scope()
    {
        if (number_ != 0 && exceptions() > exceptions_) {
            fail();
        }
        end();
    }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

    void end() noexcept
    {
        if (number_ != 0) {
            resmon_scope_end(number_);
        }
        number_ = 0;
    }
    void fail() noexcept
    {
        resmon_scope_fail(number_);
    }

  private:
    explicit scope(std::uint64_t number) noexcept
        : number_(number), exceptions_(number != 0 ? exceptions() : 0)
    {
    }
    static std::uint32_t session() noexcept
    {
        return __atomic_load_n(&resmon_scope_session, __ATOMIC_RELAXED);
    }
    static int exceptions() noexcept
    {
#if defined(__cpp_lib_uncaught_exceptions) || __cplusplus >= 201703L
        return std::uncaught_exceptions();
#else
        return std::uncaught_exception() ? 1 : 0;
#endif
    }

    std::uint64_t number_;
    int exceptions_;
};

/// A run: what a monitor has measured, or a run document.  Since 0.1.
class run
{
  public:
    explicit run(resmon_run *owned) noexcept : run_(owned)
    {
    }
    explicit run(const std::string &path) : run_(nullptr)
    {
        check(resmon_run_load(path.c_str(), &run_));
    }
    run(run &&other) noexcept : run_(other.run_)
    {
        other.run_ = nullptr;
    }
    run &operator=(run &&other) noexcept
    {
        std::swap(run_, other.run_);
        return *this;
    }
    ~run()
    {
        resmon_run_free(run_);
    }
    /// As a run document.
    void save(const std::string &path) const
    {
        check(resmon_run_save(run_, path.c_str()));
    }
    /// For the functions of <resmon/run.h>; valid as long as the object.
    const resmon_run *get() const noexcept
    {
        return run_;
    }

  private:
    resmon_run *run_;
};

/// A monitor of this process, which is started.  Since 0.1.
class monitor
{
  public:
    /// Options as in the variable RESMON: "json=run.json,scopes=all".
    explicit monitor(const std::string &options = std::string()) : monitor_(nullptr)
    {
        check(resmon_monitor_new_text(options.c_str(), &monitor_));
        const resmon_status status = resmon_monitor_start(monitor_);
        if (status != RESMON_OK) {
            const error failure(status, resmon_last_error());
            resmon_monitor_free(monitor_);
            throw failure;
        }
    }
    monitor(const monitor &) = delete;
    monitor &operator=(const monitor &) = delete;
    /// Stops it if it runs; a failure of a sink is only logged.
    ~monitor()
    {
        resmon_monitor_free(monitor_);
    }
    /// Throws if a sink failed; the run is complete nevertheless.
    void stop()
    {
        check(resmon_monitor_stop(monitor_));
    }
    void tag(const std::string &label)
    {
        check(resmon_monitor_tag(monitor_, label.c_str()));
    }
    /// What is measured so far.
    run snapshot() const
    {
        resmon_run *taken = nullptr;
        check(resmon_monitor_snapshot(monitor_, &taken));
        return run(taken);
    }
    /// For the functions of <resmon/monitor.h>; valid as long as the object.
    resmon_monitor *get() const noexcept
    {
        return monitor_;
    }

  private:
    resmon_monitor *monitor_;
};

} // namespace resmon

#endif

// SPDX-License-Identifier: MIT
// What <resmon/resmon.hpp> promises: places, failures by exceptions, early ends, handles, errors, runs.
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include <resmon/resmon.hpp>

static int failures;

static void expect(bool is_right, const char *what, int line)
{
    if (!is_right) {
        std::cerr << "bindings.cpp:" << line << ": " << what << "\n";
        failures++;
    }
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

static resmon_run_scope scope_at(const resmon::run &run, std::size_t index)
{
    resmon_run_scope scope = {};
    scope.struct_size = sizeof scope;
    resmon::check(resmon_run_get_scope(run.get(), index, &scope));
    return scope;
}

static resmon_run_scope find(const resmon::run &run, const std::string &name)
{
    for (std::size_t i = 0; i < resmon_run_scope_count(run.get()); i++) {
        if (scope_at(run, i).name == name) {
            return scope_at(run, i);
        }
    }
    expect(false, name.c_str(), 0);
    return resmon_run_scope{};
}

static void leave_by_exception(int depth)
{
    static resmon::site failing("failing");
    resmon::scope scope(failing);
    if (depth > 0) {
        throw std::runtime_error("left");
    }
}

struct cleaner {
    ~cleaner()
    {
        resmon::scope scope("in a destructor"); // begins while an exception is on its way
    }
};

static void use_scopes()
{
    try {
        leave_by_exception(1);
    } catch (const std::runtime_error &) {
    }
    leave_by_exception(0);
    try {
        cleaner one;
        throw std::runtime_error("left");
    } catch (const std::runtime_error &) {
    }
    static resmon::site outer("outer");
    static resmon::site inner("inner");
    resmon::scope scope(outer);
    const std::uint64_t here = resmon::here();
    std::thread([here] { resmon::scope below(inner, here); }).join();
    scope.end();
    scope.end();
    resmon::scope after(std::string("after"));
    after.fail();
    resmon::scope nothing(static_cast<const char *>(nullptr));
}

int main()
{
    {
        resmon::scope unmeasured("unmeasured");
        EXPECT(resmon::here() == 0);
    }
    try {
        resmon::monitor wrong("no_such_key=1");
        EXPECT(false);
    } catch (const resmon::error &error) {
        EXPECT(error.status() == RESMON_EINVAL && std::strstr(error.what(), "no_such_key") != nullptr);
    }
    resmon::monitor monitor("interval=1h");
    use_scopes();
    monitor.tag("tag");
    monitor.stop();
    resmon::run taken = monitor.snapshot();
    taken.save("bindings.json");
    resmon::run run("bindings.json");
    resmon::run moved(std::move(run));
    run = std::move(moved);
    EXPECT(resmon_run_scope_count(run.get()) == 5);
    EXPECT(find(run, "failing").calls == 2 && find(run, "failing").failed == 1);
    EXPECT(std::strstr(find(run, "failing").file, "bindings.cpp") != nullptr && find(run, "failing").line > 0);
    EXPECT(std::strcmp(find(run, "failing").function, "leave_by_exception") == 0);
    EXPECT(find(run, "in a destructor").failed == 0);
    EXPECT(find(run, "inner").parent >= 0 &&
           std::strcmp(scope_at(run, static_cast<std::size_t>(find(run, "inner").parent)).name, "outer") == 0);
    EXPECT(find(run, "after").parent < 0 && find(run, "after").failed == 1);
    try {
        resmon::run absent("absent.json");
        EXPECT(false);
    } catch (const resmon::error &error) {
        EXPECT(error.status() == RESMON_ENOENT);
    }
    return failures == 0 ? 0 : 1;
}

// SPDX-License-Identifier: MIT
#include <resmon/resmon.h>

#include <cstdio>
#include <stdexcept>

static void work(int n)
{
    RESMON_FUNCTION();
    if (n == 0) {
        throw std::runtime_error("through three scopes");
    }
    work(n - 1);
}

int main()
{
    resmon_monitor *monitor = nullptr;
    resmon_monitor_options options = {};
    options.struct_size = sizeof options;
    options.scopes = RESMON_METER_ALL;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK) {
        return 1;
    }
    if (resmon_monitor_start(monitor) == RESMON_EBUSY) {
        resmon_monitor_free(monitor);
        return 0;
    }
    try {
        RESMON_SCOPE("outer");
        work(2);
    } catch (const std::exception &) {
    }
    resmon_monitor_stop(monitor);
    resmon_run *run = nullptr;
    if (resmon_monitor_snapshot(monitor, &run) != RESMON_OK) {
        return 1;
    }
    resmon_run_scope scope = {};
    scope.struct_size = sizeof scope;
    // Unwinding has closed every scope.
    bool good = resmon_run_scope_count(run) == 2;
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        good = good && resmon_run_get_scope(run, i, &scope) == RESMON_OK && scope.calls == 1 &&
               scope.open == 0;
    }
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    std::printf("C++: %s\n", good ? "all scopes closed" : "scopes are missing");
    return good ? 0 : 1;
}

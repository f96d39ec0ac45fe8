// SPDX-License-Identifier: MIT
// Stacks of a program that throws all the time: they go through frames of C++, its unwinder's too, out
// to main.  Exit code 77: none can be had here, with the reason.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <resmon/resmon.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned sink;

struct counted {
    counted() { sink = sink + 1; }
    ~counted() { sink = sink - 1; }
};

NOINLINE static void thrower(int depth)
{
    const counted local;
    for (unsigned i = 0; i < 200; i++) {
        sink = sink + i;
    }
    if (depth == 0) {
        throw 7;
    }
    thrower(depth - 1);
}

NOINLINE static void catcher()
{
    try {
        thrower(12);
    } catch (int value) {
        sink = sink + static_cast<unsigned>(value);
    }
}

static bool reaches_main(const resmon_run *run, std::size_t stack, uint64_t frames)
{
    resmon_run_frame frame = {};
    frame.struct_size = sizeof frame;
    for (uint64_t i = 0; i < frames; i++) {
        if (resmon_run_get_frame(run, stack, i, &frame) == RESMON_OK &&
            std::strcmp(frame.function, "main") == 0) {
            return true;
        }
    }
    return false;
}

int main()
{
    resmon_monitor_options options = {};
    resmon_monitor *monitor = nullptr;
    resmon_run *run = nullptr;
    options.struct_size = sizeof options;
    options.domains = RESMON_DOMAIN_PROCESS;
    options.stacks = RESMON_STACKS_CPU;
    options.stack_hz = 1000;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        std::printf("%s\n", resmon_last_error());
        return 1;
    }
    for (std::clock_t begin = std::clock(); std::clock() - begin < CLOCKS_PER_SEC;) {
        catcher();
    }
    if (resmon_monitor_stop(monitor) != RESMON_OK ||
        resmon_monitor_snapshot(monitor, &run) != RESMON_OK) {
        std::printf("%s\n", resmon_last_error());
        return 1;
    }
    resmon_run_stack_info info = {};
    info.struct_size = sizeof info;
    (void)resmon_run_get_stack_info(run, RESMON_STACK_CPU, &info);
    if (info.status != RESMON_OK) {
        std::printf("skipped: no stacks: %s\n", info.reason);
        return 77;
    }
    double all = 0, good = 0;
    for (std::size_t i = 0; i < resmon_run_stack_count(run); i++) {
        resmon_run_stack stack = {};
        stack.struct_size = sizeof stack;
        (void)resmon_run_get_stack(run, i, &stack);
        all += stack.weight[RESMON_STACK_CPU];
        good += reaches_main(run, i, stack.frames) ? stack.weight[RESMON_STACK_CPU] : 0;
    }
    std::printf("%.0f ms of CPU time in stacks, %.1f %% of it below main\n", all / 1e6,
                100 * good / all);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    const double least = std::getenv("RESMON_TEST_LIVE") != nullptr ? 0.5e9 : 0.0; // of 1 s
    return all > least && good > 0.9 * all ? 0 : 1;
}

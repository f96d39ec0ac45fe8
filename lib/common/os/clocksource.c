/* SPDX-License-Identifier: MIT */
#include "os/clocksource.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "os/file.h"

#define CURRENT_CLOCKSOURCE "sys/devices/system/clocksource/clocksource0/current_clocksource"

static pthread_once_t chosen = PTHREAD_ONCE_INIT;

/* The machine's own /sys, whatever fs_root a monitor reads: this is about our CPU. */
static bool kernel_keeps_time_by_counter(void)
{
    struct rm_root root;
    struct rm_scratch scratch = {0};
    struct rm_text text;
    bool is_trusted = false;
    if (rm_root_open(&root, NULL) != RESMON_OK) {
        return false;
    }
    if (rm_scratch_init(&scratch) == RESMON_OK &&
        rm_file_read_once(&root, CURRENT_CLOCKSOURCE, &scratch, &text) == RESMON_OK) {
        is_trusted =
            rm_parse_literal(&text, "tsc\n") || rm_parse_literal(&text, "arch_sys_counter");
    }
    rm_scratch_free(&scratch);
    rm_root_close(&root);
    return is_trusted;
}

static void choose(void)
{
    RM_STORE(&rm_clock_has_counter,
             rm_clock_cpu_has_constant_counter() && kernel_keeps_time_by_counter());
}

const char *rm_clocksource_choose(void)
{
    (void)pthread_once(&chosen, choose);
    if (!rm_clock_has_counter) {
        return "clock_gettime";
    }
#if defined(__aarch64__)
    return "cntvct";
#else
    return "tsc";
#endif
}

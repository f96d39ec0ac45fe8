/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* adjtimex */
#include "os/wall_clock.h"

#include <sys/timex.h>

#include "base/compiler.h"

double rm_wall_clock_error_ns(void)
{
    struct timex clock = {.modes = 0};
    return adjtimex(&clock) >= 0 && clock.maxerror >= 0 ? (double)clock.maxerror * 1e3 : RM_NAN;
}

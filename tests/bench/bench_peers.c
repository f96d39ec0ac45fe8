/* SPDX-License-Identifier: MIT */
/*
 * A region of other profilers beside a scope of ours, in one run; peers.sh builds it, with the two
 * that HAVE_CALIPER and HAVE_GPTL say are there.  Each as its manual has it for regions that are
 * entered often: GPTL with handles and its clock of nanoseconds, Caliper with the services of its
 * report of run time (peers.sh sets those).
 */
#include <stdio.h>
#include <stdlib.h>

#ifdef HAVE_CALIPER
#include <caliper/cali.h>
#endif
#ifdef HAVE_GPTL
#include <gptl.h>
#endif
#include <resmon/resmon.h>

#include "bench.h"

#define COUNT 100000

static double ours(void *context, size_t count)
{
    (void)context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        RESMON_SCOPE("scope");
    }
    return (bench_now_ns() - start) / (double)count;
}

#ifdef HAVE_CALIPER
static double caliper(void *context, size_t count)
{
    (void)context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        cali_begin_region("scope");
        cali_end_region("scope");
    }
    return (bench_now_ns() - start) / (double)count;
}
#endif

#ifdef HAVE_GPTL
static double gptl(void *context, size_t count)
{
    int handle = 0;
    (void)context;
    (void)GPTLinit_handle("scope", &handle);
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        (void)GPTLstart_handle("scope", &handle);
        (void)GPTLstop_handle("scope", &handle);
    }
    return (bench_now_ns() - start) / (double)count;
}
#endif

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_peers");
    const resmon_monitor_options options = {.struct_size = sizeof options, .interval_ms = 10000};
    resmon_monitor *monitor;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        fprintf(stderr, "cannot start: %s\n", resmon_last_error());
        exit(2);
    }
    bench_value(&bench, "a scope", bench_median(&bench, ours, NULL, COUNT), "ns", 0.0);
#ifdef HAVE_CALIPER
    bench_value(&bench, "a region of Caliper", bench_median(&bench, caliper, NULL, COUNT), "ns",
                0.0);
#endif
#ifdef HAVE_GPTL
    (void)GPTLsetutr(GPTLnanotime);
    if (GPTLinitialize() != 0) {
        fprintf(stderr, "GPTL cannot start\n");
        exit(2);
    }
    bench_value(&bench, "a timer of GPTL", bench_median(&bench, gptl, NULL, COUNT), "ns", 0.0);
#endif
    resmon_monitor_free(monitor);
    return bench_end(&bench);
}

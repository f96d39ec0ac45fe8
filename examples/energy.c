/* SPDX-License-Identifier: MIT */
/*
 * The energy of phases: joules, watt-hours and gCO2eq of each, how sure that is, and whether the
 * machine was measured or modelled.
 *
 *     RESMON_COUNTRY=FR ./energy
 *
 * What is readable here, and what would make more so: ./doctor.  Where a container has the host's
 * /sys elsewhere, RESMON_ENERGY_ROOT=/host says where.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <resmon/resmon.h>

static void must(resmon_status status)
{
    if (status != RESMON_OK) {
        (void)fprintf(stderr, "energy: %s\n", resmon_last_error());
        exit(1);
    }
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double compute(double seconds)
{
    RESMON_SCOPE("compute");
    double x = 1.0;
    for (double end = now() + seconds; now() < end;) {
        for (int i = 0; i < 100000; i++) {
            x = sqrt(x * 1.0000001 + 1e-9);
        }
    }
    return x;
}

static void wait_for_data(double seconds)
{
    RESMON_SCOPE("wait for data");
    const struct timespec pause = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    (void)nanosleep(&pause, NULL);
}

static double work(void)
{
    RESMON_SCOPE("work");
    double x = 0.0;
    for (int step = 0; step < 3; step++) {
        wait_for_data(0.2);
        x += compute(0.5);
    }
    return x;
}

static const char *label_of(int32_t provenance)
{
    switch (provenance) {
    case RESMON_PROVENANCE_MODELLED:
        return "modelled";
    case RESMON_PROVENANCE_SHARED:
        return "share of what was measured";
    default:
        return "not known";
    }
}

static void print_phases(const resmon_run *run)
{
    (void)printf("%-16s %9s %18s %10s %10s  %s\n", "phase", "s", "J", "Wh", "gCO2eq", "");
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        resmon_run_scope scope = {.struct_size = sizeof scope};
        must(resmon_run_get_scope(run, i, &scope));
        (void)printf("%*s%-*s %9.3f %9.3f +- %5.3f %10.6f %10.6f  %s\n", (int)scope.depth * 2, "",
                     16 - (int)scope.depth * 2, scope.name, scope.wall_ns * 1e-9, scope.energy_j,
                     scope.energy_uncertainty_j, scope.energy_j / 3600.0, scope.energy_gco2eq,
                     label_of(scope.energy_provenance));
    }
}

static void print_machine(const resmon_run *run)
{
    resmon_energy energy = {.struct_size = sizeof energy};
    must(resmon_run_get_energy(run, &energy));
    (void)printf(
        "\nthe machine drew %.3f J (%.6f gCO2eq), of which this program's share is %.3f J\n"
        "at %.0f g/kWh (%s), PUE %.2f\n",
        energy.node_j, energy.node_gco2eq, energy.tree_j, energy.g_per_kwh, energy.place,
        energy.pue);
    for (size_t i = 0; i < resmon_run_energy_part_count(run); i++) {
        resmon_energy_part part = {.struct_size = sizeof part};
        must(resmon_run_get_energy_part(run, i, &part));
        if (!isnan(part.node_j)) {
            (void)printf("  %-4s %10.3f J  %s\n", part.name, part.node_j,
                         part.method[0] != '\0' ? part.method : "measured");
        }
    }
}

int main(void)
{
    resmon_monitor *monitor;
    resmon_run *run;
    must(resmon_monitor_new(NULL, &monitor));
    must(resmon_monitor_start(monitor));
    double result = work();
    must(resmon_monitor_stop(monitor));
    must(resmon_monitor_snapshot(monitor, &run));
    print_phases(run);
    print_machine(run);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    return result > 0.0 ? 0 : 1;
}

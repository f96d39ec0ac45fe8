/* SPDX-License-Identifier: MIT */
/*
 * GPUs by NVML, with a library that looks like it (fixtures/fake_nvml.h): figures, energy, shares
 * of processes, slices; calls that fail, each of them, hang or are not there; GPUs that are lost.
 */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "runs.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../fixtures/fake_nvml.h"
#include "collect/collect.h"
#include "engine/gpus.h"
#include "engine/monitor.h"
#include "made_time.h"
#include "net/mlflow_body.h"
#include "os/nvml.h"
#include "run/run.h"

static struct fake_nvml *fake;

FIXTURE(find_fake)
{
    void *library = dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    fake = dlsym(library, "fake_nvml");
    assert_non_null(fake);
    return setenv("RESMON_NVML", FAKE_NVML, 1);
}

static void nap(double seconds)
{
    rm_condition_nap((int64_t)(seconds * 1e9));
}

static double now_s(void)
{
    return (double)rm_clock_monotonic_ns() * 1e-9;
}

static void hang(void)
{
    nap(5.0);
}

FIXTURE(begin)
{
    *fake = (struct fake_nvml){
        .gpus = FAKE_GPUS, .hang = hang, .now_s = now_s, .watts = {300.0, 150.0, 100.0}};
    return made_time_begin(state);
}

/* When threads that were left behind have come to their ends, too. */
FIXTURE(end)
{
    int status = made_time_end(state);
    return status == 0 && fake->inits == 0 ? 0 : -1;
}

/* ---- NVML alone ----------------------------------------------------------------------------- */

static struct rm_nvml *opened(void)
{
    struct rm_nvml *nvml;
    assert_ok(rm_nvml_load(FAKE_NVML, &nvml));
    assert_ok(rm_nvml_open(nvml));
    return nvml;
}

TEST(gpus_and_their_slices)
{
    static const struct {
        const char *instance, *uuid;
        bool is_slice;
    } expected[] = {{"0", "GPU-fake-1", false},
                    {"1", "GPU-fake-2", false},
                    {"2", "GPU-fake-3", false},
                    {"2:0", "MIG-fake-11", true},
                    {"2:1", "MIG-fake-12", true}};
    struct rm_nvml *nvml = opened();
    assert_int_equal(rm_nvml_count(nvml), 5);
    for (size_t i = 0; i < 5; i++) {
        const struct rm_gpu_info *info = rm_nvml_info(nvml, i);
        assert_string_equal(info->instance, expected[i].instance);
        assert_string_equal(info->uuid, expected[i].uuid);
        assert_string_equal(info->name, "NVIDIA Fake 80GB");
        assert_int_equal(info->is_slice, expected[i].is_slice);
    }
    assert_string_equal(rm_nvml_driver(nvml), "560.35.03");
    rm_nvml_close(nvml);
    assert_int_equal(fake->inits, 0);
}

TEST(every_figure_is_in_si_units)
{
    static const struct {
        enum rm_nvml_figure figure;
        double value;
    } expected[] = {
        {RM_NVML_UTIL, 80},
        {RM_NVML_MEM_UTIL, 40},
        {RM_NVML_MEM_USED, 3000},
        {RM_NVML_MEM_TOTAL, 80000},
        {RM_NVML_MEM_RESERVED, 500},
        {RM_NVML_BAR1_USED, 6},
        {RM_NVML_CLOCK_GRAPHICS, 1000e6},
        {RM_NVML_CLOCK_SM, 1001e6},
        {RM_NVML_CLOCK_MEM, 1002e6},
        {RM_NVML_CLOCK_VIDEO, 1003e6},
        {RM_NVML_TEMP, 60},
        {RM_NVML_MEM_TEMP, 71},
        {RM_NVML_FAN, NAN},
        {RM_NVML_POWER, 300},
        {RM_NVML_POWER_LIMIT, 700},
        {RM_NVML_THROTTLE_SYNC_BOOST, NAN},
        {RM_NVML_THROTTLE_THERMAL_SW, NAN},
        {RM_NVML_THROTTLE_THERMAL_HW, NAN},
        {RM_NVML_THROTTLE_BRAKE, NAN},
        {RM_NVML_THROTTLE_REASONS, 4}, /* by the older name of the call */
        {RM_NVML_ECC_CORRECTED, 7},
        {RM_NVML_ECC_UNCORRECTED, 0},
        {RM_NVML_ENC, 11},
        {RM_NVML_DEC, 22},
        {RM_NVML_PCIE_SENT, 4000},
        {RM_NVML_PCIE_RECV, 4000},
        {RM_NVML_PROCESSES, 0},
    };
    static struct rm_gpu_reading reading;
    struct rm_nvml *nvml = opened();
    fake->pcie = 4000;
    for (int round = 0; round < 2; round++) {
        rm_nvml_read(nvml, 0, RM_NVML_ALL, &reading);
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
            double value = reading.figures[expected[i].figure];
            if (!(value == expected[i].value || (isnan(value) && isnan(expected[i].value)))) {
                fail_msg("figure %d is %g, not %g", expected[i].figure, value, expected[i].value);
            }
        }
        assert_near(reading.figures[RM_NVML_ENERGY], 300.0 * now_s(), 0.01);
        assert_near(reading.figures[RM_NVML_THROTTLE_ANY], 0.1 * now_s(), 1e-6);
        assert_near(reading.figures[RM_NVML_THROTTLE_POWER], 0.5 * now_s(), 1e-6);
        nap(1.5);
        assert_false(reading.is_lost);
    }
    /* GPU 1 has no memory info of version 2: with what is reserved. */
    rm_nvml_read(nvml, 1, RM_NVML_ALL, &reading);
    assert_near(reading.figures[RM_NVML_MEM_USED], 3500, 0);
    assert_true(isnan(reading.figures[RM_NVML_MEM_RESERVED]));
    assert_true(isnan(reading.figures[RM_NVML_ENERGY]));
    rm_nvml_read(nvml, 3, RM_NVML_ALL, &reading); /* a slice: nothing that is its GPU's */
    assert_near(reading.figures[RM_NVML_MEM_TOTAL], 10000, 0);
    assert_true(isnan(reading.figures[RM_NVML_POWER]) && isnan(reading.figures[RM_NVML_ENERGY]));
    assert_true(isnan(reading.figures[RM_NVML_UTIL]));
    rm_nvml_close(nvml);
}

/* What is not there is asked for once. */
TEST(what_is_lacking_is_not_asked_for_again)
{
    static struct rm_gpu_reading reading;
    struct rm_nvml *nvml = opened();
    fake->lacks = "nvmlDeviceGetClockInfo";
    unsigned before = fake->calls;
    rm_nvml_read(nvml, 0, RM_NVML_ALL, &reading);
    unsigned first = fake->calls - before;
    rm_nvml_read(nvml, 0, RM_NVML_ALL, &reading);
    unsigned second = fake->calls - before - first;
    assert_true(isnan(reading.figures[RM_NVML_CLOCK_SM]));
    assert_int_equal(first - second, 5); /* four clocks, and the fan that GPU 0 has not */
    rm_nvml_close(nvml);
}

TEST(libraries_that_are_none)
{
    struct rm_nvml *nvml = NULL;
    assert_status(RESMON_ENODEV, rm_nvml_load("/nowhere/libnvidia-ml.so.1", &nvml));
    assert_status(RESMON_ENOTSUP, rm_nvml_load("libc.so.6", &nvml));
    assert_non_null(strstr(resmon_last_error(), "is not NVML"));
    assert_null(nvml);
    fake->gpus = 0;
    assert_ok(rm_nvml_load(FAKE_NVML, &nvml));
    assert_status(RESMON_ENODEV, rm_nvml_open(nvml));
    rm_nvml_close(nvml);
    assert_int_equal(fake->inits, 0);
}

TEST(a_lost_gpu_comes_back)
{
    static struct rm_gpu_reading reading;
    struct rm_nvml *nvml = opened();
    fake->fail_at = fake->calls + 3;
    fake->code = 15;
    rm_nvml_read(nvml, 0, RM_NVML_ALL, &reading);
    assert_true(reading.is_lost);
    rm_nvml_read(nvml, 0, RM_NVML_ALL, &reading);
    assert_false(reading.is_lost);
    assert_near(reading.figures[RM_NVML_POWER], 300, 0);
    fake->fail_from = fake->calls + 1;
    rm_nvml_read(nvml, 0, RM_NVML_ALL, &reading);
    rm_nvml_read(nvml, 0, RM_NVML_ALL, &reading);
    assert_true(reading.is_lost && isnan(reading.figures[RM_NVML_POWER]));
    rm_nvml_read(nvml, 1, RM_NVML_ALL, &reading);
    fake->fail_from = 0;
    rm_nvml_close(nvml);
    assert_int_equal(fake->inits, 0);
}

/* The program uses NVML too, and shuts it down once too often: ours begins anew, once, and undoes
 * no more than it did. */
TEST(a_foreign_shutdown)
{
    static struct rm_gpu_reading reading;
    struct rm_nvml *nvml = opened();
    fake->inits = 0;
    fake->fail_at = fake->calls + 1;
    fake->code = 1; /* NVML_ERROR_UNINITIALIZED */
    rm_nvml_read(nvml, 0, RM_NVML_ALL, &reading);
    assert_true(reading.is_lost);
    for (size_t i = 0; i < 3; i++) {
        rm_nvml_read(nvml, i, RM_NVML_ALL, &reading);
        assert_false(reading.is_lost);
        assert_int_equal(fake->inits, 1);
    }
    fake->inits++; /* the program again */
    rm_nvml_close(nvml);
    assert_int_equal(fake->inits, 1);
    fake->inits = 0;
}

/* NVML would give commands to files of the program, and close one. */
TEST(a_program_that_closes_its_files)
{
    static struct rm_gpu_reading reading;
    bool was_open[64];
    struct stat found, own;
    for (int fd = 0; fd < 64; fd++) {
        was_open[fd] = fcntl(fd, F_GETFD) >= 0;
    }
    struct rm_nvml *nvml = opened();
    rm_nvml_read(nvml, 0, RM_NVML_ALL, &reading);
    assert_false(reading.is_lost);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    for (int fd = 0; fd < 64; fd++) {
        if (!was_open[fd] && fd != file && fcntl(fd, F_GETFD) >= 0) {
            assert_int_equal(dup2(file, fd), fd);
        }
    }
    unsigned calls = fake->calls;
    int device = fake->fd;
    rm_nvml_read(nvml, 0, RM_NVML_ALL, &reading);
    assert_true(reading.is_closed && reading.is_lost && isnan(reading.figures[RM_NVML_POWER]));
    rm_nvml_close(nvml);
    assert_int_equal(fake->calls, calls);
    assert_true(device > 0 && fstat(device, &found) == 0 && fstat(file, &own) == 0);
    assert_int_equal(found.st_ino, own.st_ino);
    assert_int_equal(fake->inits, 1); /* it was not shut down either */
    fake->inits = 0;
    for (int fd = 0; fd < 64; fd++) {
        if (!was_open[fd]) {
            (void)close(fd);
        }
    }
}

TEST(stale_samples_are_of_nobody)
{
    static struct rm_gpu_reading reading;
    struct rm_nvml *nvml = opened();
    fake->is_stale = 1;
    fake->process_count = 1;
    fake->processes[0].pid = 4711;
    fake->processes[0].sm = 50;
    fake->processes[0].bytes = 1000;
    for (int round = 0; round < 3; round++) {
        rm_nvml_read(nvml, 0, RM_NVML_ALL, &reading);
        assert_int_equal(reading.process_count, 1);
        assert_true(round > 0 ? reading.processes[0].sm == 50.0 : isnan(reading.processes[0].sm));
        assert_near(reading.processes[0].bytes, 1000, 0);
        nap(1.0);
    }
    rm_nvml_close(nvml);
}

/* Each part is read alone, with nothing of the others. */
TEST(parts_of_a_reading)
{
    static struct rm_gpu_reading reading;
    struct rm_nvml *nvml = opened();
    fake->process_count = 1;
    fake->processes[0].pid = 4711;
    fake->processes[0].sm = 50;
    rm_nvml_read(nvml, 0, RM_NVML_NOW, &reading);
    assert_near(reading.figures[RM_NVML_UTIL], 80, 0);
    assert_near(reading.figures[RM_NVML_PROCESSES], 1, 0);
    assert_true(isnan(reading.processes[0].sm));
    assert_true(isnan(reading.figures[RM_NVML_ENERGY]) &&
                isnan(reading.figures[RM_NVML_BAR1_USED]));
    rm_nvml_read(nvml, 0, RM_NVML_TOTALS, &reading);
    assert_near(reading.figures[RM_NVML_ENERGY], 300.0 * now_s(), 0.01);
    assert_near(reading.figures[RM_NVML_BAR1_USED], 6, 0);
    assert_true(isnan(reading.figures[RM_NVML_POWER]) && isnan(reading.figures[RM_NVML_MEM_TEMP]));
    assert_int_equal(reading.process_count, 0);
    unsigned before = fake->calls;
    rm_nvml_read(nvml, 0, RM_NVML_JOULES, &reading);
    assert_int_equal(fake->calls - before, 2);
    assert_near(reading.figures[RM_NVML_POWER], 300, 0);
    assert_near(reading.figures[RM_NVML_ENERGY], 300.0 * now_s(), 0.01);
    rm_nvml_close(nvml);
}

/* The use by processes is asked for each second, and holds meanwhile. */
TEST(use_by_processes_is_not_asked_for_each_time)
{
    static struct rm_gpu_reading reading;
    struct rm_nvml *nvml = opened();
    fake->process_count = 1;
    fake->processes[0].pid = 4711;
    for (int tenth = 0; tenth < 20; tenth++) {
        fake->processes[0].sm = 10 + (unsigned)tenth;
        rm_nvml_read(nvml, 0, RM_NVML_USE, &reading);
        assert_int_equal(reading.process_count, 1);
        if (tenth == 0) {
            assert_true(isnan(reading.processes[0].sm)); /* it was before */
        } else {
            assert_near(reading.processes[0].sm, 11 + (tenth - 1) / 9 * 9, 0);
        }
        nap(0.1);
    }
    rm_nvml_close(nvml);
}

/* ---- shares --------------------------------------------------------------------------------- */

static struct rm_gpu_process process(int64_t pid, double sm, double bytes)
{
    return (struct rm_gpu_process){.pid = pid, .sm = sm, .bytes = bytes};
}

TEST(shares)
{
    static struct rm_collect collect;
    static struct rm_gpu_reading reading;
    int64_t own = getpid();
    int64_t other = getppid();
    assert_ok(rm_collect_init(&collect, NULL, 0, 0));
    collect.gpus.has_host_pids = true;
    reading.figures[RM_NVML_PROCESSES] = NAN;
    assert_true(isnan(rm_gpu_share_of(&collect, &reading).share));
    reading.figures[RM_NVML_PROCESSES] = 0;
    assert_near(rm_gpu_share_of(&collect, &reading).share, 0, 0);
    reading.process_count = 1;
    reading.processes[0] = process(own, NAN, NAN);
    assert_near(rm_gpu_share_of(&collect, &reading).share, 1, 0);
    assert_true(isnan(rm_gpu_share_of(&collect, &reading).bytes));
    reading.process_count = 2;
    reading.processes[0] = process(own, 60, 1000);
    reading.processes[1] = process(other, 20, 9000);
    assert_near(rm_gpu_share_of(&collect, &reading).share, 0.75, 1e-12);
    assert_near(rm_gpu_share_of(&collect, &reading).sm, 60, 0);
    assert_near(rm_gpu_share_of(&collect, &reading).bytes, 1000, 0);
    reading.processes[0].sm = reading.processes[1].sm = NAN; /* idle: as memory is held */
    assert_near(rm_gpu_share_of(&collect, &reading).share, 0.1, 1e-12);
    reading.processes[0].bytes = reading.processes[1].bytes = NAN;
    assert_near(rm_gpu_share_of(&collect, &reading).share, 0.5, 1e-12);
    reading.processes[0] = process(other, 60, 1000);
    assert_near(rm_gpu_share_of(&collect, &reading).share, 0, 0);
    collect.gpus.has_host_pids = false;
    assert_true(isnan(rm_gpu_share_of(&collect, &reading).share));
    rm_collect_free(&collect);
}

/* ---- a monitor ------------------------------------------------------------------------------ */

static resmon_monitor *started(void)
{
    return start_with(&(resmon_monitor_options){.interval_ms = 100, .domains = RESMON_DOMAIN_ALL});
}

static double last_of(const resmon_run *run, const char *metric, const char *instance)
{
    int64_t column = rm_run_find_column(run, metric, instance);
    return column >= 0 && run->columns[column].n > 0 ? run->columns[column].last : NAN;
}

static resmon_run_source source_of(const resmon_run *run, const char *name)
{
    resmon_run_source source = {.struct_size = sizeof source};
    for (size_t i = 0; i < resmon_run_source_count(run); i++) {
        assert_ok(resmon_run_get_source(run, i, &source));
        if (strcmp(source.name, name) == 0) {
            return source;
        }
    }
    fail_msg("there is no source %s", name);
    return source;
}

static resmon_status status_of(const resmon_run *run, const char *name, const char **ret_reason)
{
    const resmon_run_source source = source_of(run, name);
    *ret_reason = source.reason;
    return source.status;
}

static double reads_of(const resmon_run *run, const char *name)
{
    return (double)source_of(run, name).reads;
}

TEST(a_run_has_the_counters_of_gpus)
{
    fake->pcie = UINT32_MAX - 1000;
    resmon_monitor *monitor = started();
    nap(0.25);
    (void)__atomic_add_fetch(&fake->pcie, 5000, __ATOMIC_RELAXED); /* past 32 bits */
    nap(0.25);
    resmon_run *run = finish(monitor);
    assert_near(last_of(run, "gpu.pcie.sent", "0"), 5000, 0);
    assert_near(last_of(run, "gpu.mem.total", "2:1"), 10000, 0);
    resmon_run_free(run);
}

TEST(a_run_has_the_energy_of_gpus)
{
    fake->process_count = 2;
    fake->processes[0].pid = (unsigned)getpid();
    fake->processes[0].sm = 75;
    fake->processes[1].pid = (unsigned)getppid();
    fake->processes[1].sm = 25;
    /* Without the processors: their time does not go with ours. */
    resmon_monitor *monitor = start_with(&(resmon_monitor_options){
        .interval_ms = 100,
        .domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_GPU | RESMON_DOMAIN_ENERGY});
    {
        RESMON_SCOPE("train");
        nap(3.95);
    }
    resmon_run *run = finish(monitor);
    double node = last_of(run, "node.energy.gpu", NULL);
    assert_near(node, 550.0 * 3.95, 0.01);
    assert_near(last_of(run, "gpu.energy", "0"), 300.0 * 3.95, 0.01);
    resmon_energy energy = {.struct_size = sizeof energy};
    assert_ok(resmon_run_get_energy(run, &energy));
    assert_true(energy.node_j >= node);
    double tree = last_of(run, "tree.energy.gpu", NULL);
    if (isnan(tree)) {
        print_message("not checked here: shares, in a pid namespace of its own\n");
    } else {
        resmon_run_scope scope = {.struct_size = sizeof scope};
        /* Of GPU 0 alone; half of it until the use by processes was told, each having one. */
        assert_near(tree, 0.75 * 300.0 * 3.95 - 0.25 * 300.0 * 0.1, 0.01);
        assert_ok(resmon_run_get_scope(run, 0, &scope));
        assert_near(scope.energy_j, tree, 0.01);
    }
    resmon_run_free(run);
}

/* What is open when another monitor takes the scopes has no energy after that. */
TEST(a_scope_that_was_taken)
{
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .interval_ms = 20,
                                            .domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_GPU |
                                                       RESMON_DOMAIN_ENERGY};
    resmon_monitor *first = NULL, *second = NULL;
    fake->process_count = 1;
    fake->processes[0].pid = (unsigned)getpid();
    fake->processes[0].sm = 100;
    assert_ok(resmon_monitor_new(&options, &first));
    rm_monitor_yield_scopes(first);
    assert_ok(resmon_monitor_start(first));
    {
        RESMON_SCOPE("open");
        nap(0.2);
        second = start_with(&(resmon_monitor_options){.scopes = RESMON_METER_WALL});
        nap(0.8);
    }
    resmon_run_free(finish(second));
    resmon_run *run = finish(first);
    double tree = last_of(run, "tree.energy.gpu", NULL);
    if (isnan(tree)) {
        print_message("not checked here: shares, in a pid namespace of its own\n");
    } else {
        resmon_run_scope scope = {.struct_size = sizeof scope};
        assert_near(tree, 300.0 * 1.0, 0.01);
        assert_ok(resmon_run_get_scope(run, 0, &scope));
        assert_near(scope.energy_j, 300.0 * 0.2, 300.0 * 0.02); /* to the next sample at most */
    }
    resmon_run_free(run);
}

#ifdef RM_HAVE_CJSON
/* In MLflow's "System metrics" by MLflow's own names; slices have none there. */
TEST(series_for_mlflow)
{
    static const char *const names[] = {
        "gpu_0_utilization_percentage",
        "gpu_0_memory_usage_megabytes",
        "gpu_0_memory_usage_percentage",
        "gpu_0_power_usage_watts",
        "gpu_0_power_usage_percentage",
        "gpu_2_temperature_celsius",
        "gpu_energy_joules",
    };
    static const double values[] = {80.0, 3000.0 / 1e6, 3.75, 300.0, 300.0 / 7.0, 60.0};
    struct rm_mlflow_config config = {
        .flags = RESMON_MLFLOW_SERIES, .node_index = -1, .batch_metrics = 1000};
    struct rm_mlflow_plan plan;
    resmon_monitor *monitor = started();
    nap(0.25);
    resmon_run *run = finish(monitor);
    assert_ok(rm_mlflow_plan_init(&plan, &config, run, -1));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char head[160];
        (void)snprintf(head, sizeof head, "{\"key\":\"system/node_0/%s\",\"value\":", names[i]);
        const struct rm_mlflow_series *found = NULL;
        for (size_t k = 0; k < plan.series_count; k++) {
            const struct rm_mlflow_series *series = &plan.series[k];
            assert_null(memchr(series->head + 8, ':', series->head_length - 18)); /* no slice */
            if (series->head_length == strlen(head) &&
                memcmp(series->head, head, series->head_length) == 0) {
                found = series;
            }
        }
        assert_non_null(found);
        if (i < sizeof values / sizeof *values) {
            assert_near(found->values[1] / found->divisor, values[i], 1e-9);
        }
    }
    rm_mlflow_plan_free(&plan);
    resmon_run_free(run);
}
#endif

TEST(every_call_may_fail)
{
    static const int codes[] = {3, 4, 15, 999};
    static struct rm_gpu_reading readings[RM_MOST_GPUS];
    int64_t cpu_ns;
    unsigned calls;
    struct rm_nvml *nvml = opened();
    for (size_t i = 0; i < rm_nvml_count(nvml); i++) {
        rm_nvml_read(nvml, i, RM_NVML_ALL, &readings[i]);
    }
    rm_nvml_close(nvml);
    calls = fake->calls;
    assert_true(calls > 50);
    for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
        for (unsigned k = 1; k <= calls; k++) {
            struct rm_gpus *gpus = NULL;
            assert_int_equal(end(NULL) + begin(NULL), 0);
            fake->fail_at = k;
            fake->code = codes[c];
            resmon_status status = rm_gpus_start(&gpus);
            assert_true(status == RESMON_OK || resmon_last_error()[0] != '\0');
            if (status == RESMON_OK) {
                assert_true(
                    rm_gpus_read(gpus, RM_NVML_ALL, rm_clock_monotonic_ns(), readings, &cpu_ns));
                assert_true(
                    rm_gpus_read(gpus, RM_NVML_ALL, rm_clock_monotonic_ns(), readings, &cpu_ns));
                rm_gpus_stop(gpus);
            }
        }
    }
}

/* Milliseconds, as an H100 took (driver 580.159, 2026-11-26). */
static void work_as_an_h100(const char *name)
{
    static const struct {
        const char *name;
        double ms;
    } costs[] = {
        {"nvmlDeviceGetTotalEnergyConsumption", 3.3},
        {"nvmlDeviceGetProcessUtilization", 2.8},
        {"nvmlDeviceGetViolationStatus", 2.4}, /* with the fields, of one name in all parts */
        {"nvmlDeviceGetBAR1MemoryInfo", 0.36},
        {"nvmlInit_v2", 200.0}};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        if (strcmp(name, costs[i].name) == 0) {
            rm_made_time_work((int64_t)(costs[i].ms * 1e6));
        }
    }
}

/* By default: each 100 ms, for 1 % of a CPU; this process alone is on GPU 0. */
static resmon_monitor *started_with_an_h100(void)
{
    resmon_monitor *monitor = NULL;
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_GPU |
                                                       RESMON_DOMAIN_ENERGY};
    fake->work = work_as_an_h100;
    fake->process_count = 1;
    fake->processes[0].pid = (unsigned)getpid();
    fake->processes[0].sm = 100;
    assert_ok(resmon_monitor_new(&options, &monitor));
    rm_monitor_yield_scopes(monitor);
    assert_ok(resmon_monitor_start(monitor));
    return monitor;
}

/* GPUs that are dear to ask are asked less often, for the dear part; no energy is lost. */
TEST(readings_stay_within_the_overhead)
{
    resmon_monitor *monitor = started_with_an_h100();
    for (int round = 0; round < 50; round++) {
        {
            RESMON_SCOPE("step");
            nap(0.7);
        }
        nap(1.3);
    }
    resmon_run *run = finish(monitor);
    resmon_run_info info = {.struct_size = sizeof info};
    assert_ok(resmon_run_get_info(run, &info));
    double init_s = 0.2;
    double share = ((double)info.gpus_cpu_ns * 1e-9 - init_s) / 100.0;
    print_message("GPUs: %.2f %% of a CPU; read %g times, energy %g, totals %g times\n",
                  100.0 * share, reads_of(run, "gpu"), reads_of(run, "energy_gpu"),
                  reads_of(run, "gpu_totals"));
    assert_true(share > 0.004 && share < 0.0101);
    assert_near(reads_of(run, "gpu"), 1001.0, 1.0); /* each 100 ms */
    assert_true(reads_of(run, "energy_gpu") > 30.0 && reads_of(run, "energy_gpu") < 200.0);
    assert_near(last_of(run, "gpu.energy", "0"), 300.0 * 100.0, 300.0 * 0.1);
    assert_near(last_of(run, "node.energy.gpu", NULL), 550.0 * 100.0, 550.0 * 0.1);
    assert_int_equal(info.skipped_samples, 0);
    /* Scopes have what was drawn in them, and not whoever was open when it became known. */
    double tree = last_of(run, "tree.energy.gpu", NULL);
    if (isnan(tree)) {
        print_message("not checked here: shares, in a pid namespace of its own\n");
    } else {
        resmon_run_scope scope = {.struct_size = sizeof scope};
        assert_ok(resmon_run_get_scope(run, 0, &scope));
        print_message("%g of %g J, +- %g J\n", scope.energy_j, tree, scope.energy_uncertainty_j);
        assert_near(tree, 300.0 * 100.0, 300.0 * 0.1);
        assert_near(scope.energy_j, 0.35 * tree, 0.01 * tree);
    }
    resmon_run_free(run);
}

/* Energy is read each some seconds: who was on the GPU meanwhile is known better. */
TEST(a_process_that_comes_and_goes_between_readings)
{
    resmon_monitor *monitor = started_with_an_h100();
    for (int round = 0; round < 20; round++) {
        __atomic_store_n(&fake->process_count, 1, __ATOMIC_RELAXED);
        nap(1.0);
        __atomic_store_n(&fake->process_count, 0, __ATOMIC_RELAXED);
        nap(2.0);
    }
    resmon_run *run = finish(monitor);
    double tree = last_of(run, "tree.energy.gpu", NULL);
    if (isnan(tree)) {
        print_message("not checked here: shares, in a pid namespace of its own\n");
    } else {
        assert_near(tree, 300.0 * 20.0, 300.0 * 20.0 * 0.1); /* to the next sample */
    }
    resmon_run_free(run);
}

/* Drivers have no samples of a process that does nothing; its memory is no use. */
TEST(an_idle_process_beside_ours)
{
    resmon_monitor *monitor = started_with_an_h100();
    fake->processes[0].bytes = 10;
    fake->processes[1].pid = (unsigned)getppid();
    fake->processes[1].sm = 101;
    fake->processes[1].bytes = 60;
    __atomic_store_n(&fake->process_count, 2, __ATOMIC_RELAXED);
    nap(20.0);
    resmon_run *run = finish(monitor);
    double tree = last_of(run, "tree.energy.gpu", NULL);
    if (isnan(tree)) {
        print_message("not checked here: shares, in a pid namespace of its own\n");
    } else {
        assert_near(tree, 300.0 * 20.0, 300.0 * 0.3); /* until the use was told */
        assert_near(last_of(run, "gpu.tree.sm", "0"), 100.0, 0.0);
    }
    resmon_run_free(run);
}

/* What GPUs drew in a scope is read after another monitor has taken the scopes. */
TEST(a_scope_that_was_taken_between_readings)
{
    resmon_monitor *second = NULL;
    resmon_monitor *first = started_with_an_h100();
    nap(20.0);
    {
        RESMON_SCOPE("open");
        nap(1.0);
        second = start_with(&(resmon_monitor_options){.scopes = RESMON_METER_WALL});
        nap(5.0);
    }
    resmon_run_free(finish(second));
    resmon_run *run = finish(first);
    if (isnan(last_of(run, "tree.energy.gpu", NULL))) {
        print_message("not checked here: shares, in a pid namespace of its own\n");
    } else {
        resmon_run_scope scope = {.struct_size = sizeof scope};
        assert_ok(resmon_run_get_scope(run, 0, &scope));
        assert_near(scope.energy_j, 300.0 * 1.0, 300.0 * 0.12); /* to the next sample at most */
    }
    resmon_run_free(run);
}

static void work_for_28_ms(const char *name)
{
    rm_made_time_work(strcmp(name, "nvmlDeviceGetTotalEnergyConsumption") == 0 ? 28 * RM_NS_PER_MS
                                                                               : 0);
}

/* Three GPUs take 28 ms each: all together more than one has. */
TEST(several_gpus_may_take_longer)
{
    struct rm_gpus *gpus = NULL;
    static struct rm_gpu_reading readings[RM_MOST_GPUS];
    int64_t cpu_ns;
    fake->work = work_for_28_ms;
    assert_ok(rm_gpus_start(&gpus));
    int64_t begin_ns = rm_clock_monotonic_ns();
    assert_true(rm_gpus_read(gpus, RM_NVML_ALL, rm_clock_monotonic_ns(), readings, &cpu_ns));
    assert_int_equal(rm_clock_monotonic_ns() - begin_ns, 84 * RM_NS_PER_MS);
    assert_int_equal(cpu_ns, 84 * RM_NS_PER_MS);
    rm_gpus_stop(gpus);
}

static void wait_for_200_ms(void)
{
    nap(0.2);
}

/* A late reading is had by the next who asks for the same parts, and by nobody who asks for others.
 */
TEST(a_reading_that_is_late)
{
    struct rm_gpus *gpus = NULL;
    static struct rm_gpu_reading readings[RM_MOST_GPUS];
    int64_t cpu_ns;
    fake->gpus = 1;
    fake->hang = wait_for_200_ms;
    assert_ok(rm_gpus_start(&gpus));
    for (int round = 0; round < 2; round++) {
        int64_t asked_ns = rm_clock_monotonic_ns();
        fake->hang_at = fake->calls + 1;
        assert_false(rm_gpus_read(gpus, RM_NVML_TOTALS, asked_ns, readings, &cpu_ns));
        assert_int_equal(rm_clock_monotonic_ns() - asked_ns, 70 * RM_NS_PER_MS);
        /* Its time was that sample's. */
        assert_false(rm_gpus_read(gpus, RM_NVML_NOW, asked_ns, readings, &cpu_ns));
        assert_int_equal(rm_clock_monotonic_ns() - asked_ns, 70 * RM_NS_PER_MS);
        nap(0.2);
        int64_t now_ns = rm_clock_monotonic_ns();
        if (round == 0) {
            assert_true(rm_gpus_read(gpus, RM_NVML_TOTALS, now_ns, readings, &cpu_ns));
            assert_int_equal(readings[0].t_ns, asked_ns);
            assert_near(readings[0].figures[RM_NVML_BAR1_USED], 6, 0);
        } else {
            assert_true(rm_gpus_read(gpus, RM_NVML_NOW, now_ns, readings, &cpu_ns));
            assert_int_equal(readings[0].t_ns, now_ns);
            assert_true(isnan(readings[0].figures[RM_NVML_BAR1_USED]));
        }
    }
    rm_gpus_stop(gpus);
}

TEST(a_gpu_that_hangs_delays_nobody)
{
    resmon_monitor *monitor = started();
    nap(0.35);
    __atomic_store_n(&fake->hang_at, __atomic_load_n(&fake->calls, __ATOMIC_RELAXED) + 10,
                     __ATOMIC_RELAXED);
    nap(1.2);
    double stop_s = now_s();
    resmon_run *run = finish(monitor);
    const char *reason;
    assert_near(now_s() - stop_s, 2.09, 1e-6); /* for its last reading, and for its thread */
    assert_int_equal(status_of(run, "gpu", &reason), RESMON_ETIMEDOUT);
    assert_non_null(strstr(reason, "in time"));
    assert_true(last_of(run, "gpu.power", "0") > 0.0); /* what was read before */
    resmon_run_info info = {.struct_size = sizeof info};
    assert_ok(resmon_run_get_info(run, &info));
    assert_int_equal(info.samples, 17); /* one each 100 ms, and at both ends */
    assert_int_equal(info.late_samples, 0);
    resmon_run_free(run);
}

TEST(without_a_driver)
{
    const char *reason = "";
    fake->fail_from = 1;
    fake->code = 9; /* NVML_ERROR_DRIVER_NOT_LOADED */
    resmon_run *run = finish(started());
    assert_int_equal(status_of(run, "gpu", &reason), RESMON_ENODEV);
    assert_non_null(strstr(reason, "NVML"));
    assert_true(isnan(last_of(run, "node.energy.gpu", NULL)));
    resmon_run_free(run);
}

TEST_FILE(.set_up = find_fake, .before_each = begin, .after_each = end);

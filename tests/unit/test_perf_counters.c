/* SPDX-License-Identifier: MIT */
/*
 * The collectors perf_*: figures of each microarchitecture from made counts, worked out by hand;
 * scaling; what happens where counters are refused; and the kernel's own events against /proc.
 */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/collect.h"
#include "collect/counters.h"
#include "counter/group.h"
#include "pages.h"

/* ---- a made machine -------------------------------------------------------------------------- */

#define MOST_FDS 256

static struct {
    struct rm_perf_request requests[MOST_FDS];
    int count, closed;
    int error;             /* of every event; 0: none */
    uint64_t error_config; /* only of this raw one, unless 0 */
    uint64_t hardware_error;
    uint64_t step; /* readings so far */
    uint64_t enabled, running;
    bool is_lost;
} made;

static int made_open(const struct rm_perf_request *request)
{
    bool is_refused =
        made.error != 0 && (made.error_config == 0 || made.error_config == request->config);
    if (is_refused) {
        errno = made.error;
        return -1;
    }
    if (made.hardware_error != 0 && request->type != RM_EVENT_SOFTWARE) {
        errno = (int)made.hardware_error;
        return -1;
    }
    assert_true(made.count < MOST_FDS);
    made.requests[made.count] = *request;
    return made.count++;
}

/* Each code counts at a speed of its own: umask + event, per step; generic events 1000 * number. */
static uint64_t speed_of(const struct rm_perf_request *request)
{
    if (request->type == RM_EVENT_RAW) {
        return (request->config >> 8) + (request->config & 0xff);
    }
    return 1000 * (request->config + 1);
}

static bool made_read(int fd, struct rm_perf_count *ret_count)
{
    *ret_count = (struct rm_perf_count){speed_of(&made.requests[fd]) * made.step, made.enabled,
                                        made.running};
    return !made.is_lost;
}

static bool made_start(int fd)
{
    return fd < made.count;
}

static void made_close(int fd)
{
    assert_true(fd >= 0 && fd < made.count);
    made.closed++;
}

static const struct rm_counter_ops made_ops = {made_open, made_start, made_read, made_close, NULL};

static const struct rm_collector *collector_named(const char *name)
{
    for (size_t i = 0; i < rm_collector_count; i++) {
        if (strcmp(rm_collectors[i]->name, name) == 0) {
            return rm_collectors[i];
        }
    }
    fail_msg("there is no collector %s", name);
    return NULL;
}

struct source {
    const struct rm_collector *collector;
    struct rm_collect collect;
    struct rm_counters_wanted wanted;
    void *state;
    double values[16];
    resmon_status status;
    char why[RM_ERROR_TEXT_BYTES];
};

static void open_source(struct source *source, const char *name, uint32_t arch)
{
    memset(source, 0, sizeof *source);
    source->collector = collector_named(name);
    assert_ok(rm_collect_init(&source->collect, NULL, 0, 0));
    source->collect.counters_wanted = &source->wanted;
    source->collect.counter_ops = &made_ops;
    memset(&made, 0, sizeof made);
    assert_ok(rm_counters_open(&source->collect));
    if (arch != 0) {
        source->collect.counters->arch = arch;
    }
    source->collect.counters->task_count = 1;
}

static void start_source(struct source *source)
{
    source->state = rm_alloc(1, source->collector->state_bytes);
    assert_non_null(source->state);
    source->status = source->collector->open(&source->collect, source->state);
    (void)snprintf(source->why, sizeof source->why, "%s",
                   source->status != RESMON_OK ? resmon_last_error() : source->collect.remark);
}

static void read_source(struct source *source)
{
    for (size_t i = 0; i < 16; i++) {
        source->values[i] = (double)NAN;
    }
    assert_ok(source->collector->read(&source->collect, source->state, source->values));
}

static void close_source(struct source *source)
{
    if (source->collector->close != NULL) {
        source->collector->close(source->state);
    }
    rm_free(source->state);
    rm_collect_free(&source->collect);
    assert_int_equal(made.closed, made.count);
}

/* ---- formulas, with counts at the speeds of speed_of() --------------------------------------- */

/* After 10 steps.  Speeds are umask + event, worked out from the codes by hand. */
TEST(figures_of_each_microarchitecture)
{
    static const struct {
        const char *source;
        uint32_t arch;
        double value[4]; /* NaN: cannot be told */
    } cases[] = {
        /* 64 * (0x51+1 + 0xf0+0x10 + 0x80+2) = 64 * (82 + 256 + 130) per step */
        {"perf_l2", RM_ARCH_HSW, {64.0 * 468 * 10}},
        /* 64 * (82 + 0x51+4 + 0x83+2) */
        {"perf_l2", RM_ARCH_SKX, {64.0 * (82 + 85 + 133) * 10}},
        {"perf_l2", RM_ARCH_ICX, {64.0 * (82 + 256 + 133) * 10}},
        /* 0x23 + 0x10 */
        {"perf_l2", RM_ARCH_SPR, {64.0 * (82 + 51 + 133) * 10}},
        {"perf_l2", RM_ARCH_EMR, {64.0 * 82 * 10}},
        /* 0x60 + 0xf9 */
        {"perf_l2", RM_ARCH_ZEN3, {64.0 * 345 * 10}},
        /* 0xf1 + 7, 0xf0 + 0x40 */
        {"perf_l3", RM_ARCH_BDW, {64.0 * (248 + 304) * 10}},
        /* 0xf1 + 0x1f */
        {"perf_l3", RM_ARCH_ICL, {64.0 * (272 + 304) * 10}},
        /* 0x25 + 0x1f, 0x26 + 2 */
        {"perf_l3", RM_ARCH_SPR, {64.0 * (68 + 40) * 10}},
        /* 0x71 + 0xff, 0x72 + 0xff, 0x64 + 9 */
        {"perf_l3", RM_ARCH_ZEN4, {64.0 * (368 + 369 + 109) * 10}},
        /* 0xf0 + 0x80, 0x24 + 0x3f; instructions are 2000 */
        {"perf_l2cache", RM_ARCH_HSW, {368.0 / 2000, 99.0 / 2000, 100.0 * 99 / 368}},
        {"perf_l2cache", RM_ARCH_SKX, {368.0 / 2000, 99.0 / 2000, 100.0 * 99 / 368}},
        /* 0x24 + 0x2f */
        {"perf_l2cache", RM_ARCH_ICX, {368.0 / 2000, 83.0 / 2000, 100.0 * 83 / 368}},
        /* 0x24 + 0xff */
        {"perf_l2cache", RM_ARCH_SPR, {291.0 / 2000, 99.0 / 2000, 100.0 * 99 / 291}},
        /* 0x60 + 0xf9 + 0x70, 0x71, 0x72 + 0xff each; of these 0x70 + 0xff and 0x64 + 0xf6 hit */
        {"perf_l2cache",
         RM_ARCH_ZEN3,
         {1449.0 / 2000, (1449.0 - 367 - 346) / 2000, 100.0 * (1449 - 367 - 346) / 1449}},
        {"perf_l2cache",
         RM_ARCH_ZEN4,
         {1449.0 / 2000, (1449.0 - 367 - 346) / 2000, 100.0 * (1449 - 367 - 346) / 1449}},
        /* 0xd1 + 4, 0xd1 + 0x20 */
        {"perf_l3cache", RM_ARCH_BDW, {454.0 / 2000, 241.0 / 2000, 100.0 * 241 / 454}},
        {"perf_l3cache", RM_ARCH_EMR, {454.0 / 2000, 241.0 / 2000, 100.0 * 241 / 454}},
        {"perf_l3cache", RM_ARCH_ZEN4, {(368.0 + 369 + 109) / 2000, NAN, NAN}},
        /* offcore responses 0xb7 + 1 and 0xbb + 1 */
        {"perf_memory",
         RM_ARCH_SKX,
         {64.0 * (0x2e + 0x41) * 10, 64.0 * (0xb7 + 1) * 10, 64.0 * (0xbb + 1) * 10}},
        {"perf_memory",
         RM_ARCH_SPR,
         {64.0 * (0x2e + 0x41) * 10, 64.0 * (0x2a + 1) * 10, 64.0 * (0x2b + 1) * 10}},
        {"perf_memory", RM_ARCH_ZEN4, {64.0 * (0x44 + 0x48) * 10, NAN, NAN}},
        /* Westmere, Sandy Bridge, Ivy Bridge: 0x51 + 1, 0x51 + 4, 0x80 + 2 */
        {"perf_l2", RM_ARCH_WSM, {64.0 * (82 + 85 + 130) * 10}},
        {"perf_l2", RM_ARCH_SNB, {64.0 * (82 + 85 + 130) * 10}},
        /* 0xff + 0x24, 0xaa + 0x24; 0xf0 + 0x80 */
        {"perf_l2cache", RM_ARCH_WSM, {291.0 / 2000, 206.0 / 2000, 100.0 * 206 / 291}},
        {"perf_l2cache", RM_ARCH_IVB, {368.0 / 2000, 206.0 / 2000, 100.0 * 206 / 368}},
        /* 0xf2 + 0x0a; 0xf1 + 7, 0xf0 + 0x40 */
        {"perf_l3", RM_ARCH_WSM, {64.0 * (206 + 252) * 10}},
        {"perf_l3", RM_ARCH_SNB, {64.0 * (248 + 304) * 10}},
        {"perf_l3", RM_ARCH_IVB, {64.0 * (248 + 252) * 10}},
        {"perf_l3cache", RM_ARCH_IVB, {454.0 / 2000, 241.0 / 2000, 100.0 * 241 / 454}},
        /* 0x10 + 0x20, 0x40; 0x11 + 1; 0x10 + 0x80, 0x10; 0x11 + 2; vectors 0x10 + 0x50 and
         * 0x11 + 3, scalars 0x10 + 0xa0 */
        {"perf_flops",
         RM_ARCH_SNB,
         {(48 + 4 * 80 + 8 * 18) * 10, (144 + 2 * 32 + 4 * 19) * 10, NAN, 100.0 * 116 / 292}},
        /* 0xc7 = 199: scalars 201 (SP), 200 (DP); 128 bits 207, 203; 256 bits 231, 215; 512 bits
         * 327, 263; packed of 256 bits at most 259, of all 451, scalar 202 */
        {"perf_flops",
         RM_ARCH_BDW,
         {(201 + 4 * 207 + 8 * 231) * 10, (200 + 2 * 203 + 4 * 215) * 10, NAN,
          100.0 * 259 / (259 + 202)}},
        {"perf_flops",
         RM_ARCH_SPR,
         {(201 + 4 * 207 + 8 * 231 + 16 * 327) * 10, (200 + 2 * 203 + 4 * 215 + 8 * 263) * 10, NAN,
          100.0 * 451 / (451 + 202)}},
        /* 3 + 0x0f, 3 + 0xf0 */
        {"perf_flops", RM_ARCH_ZEN, {180, 2430, NAN, NAN}},
        {"perf_flops", RM_ARCH_ZEN2, {NAN, NAN, 180, NAN}},
        {"perf_flops", RM_ARCH_ZEN4, {NAN, NAN, 340, NAN}},
        /* 3 + 0x4f + 3 + 0x6f, 3 + 0x8f + 3 + 0xaf */
        {"perf_flops", RM_ARCH_ZEN5, {(82 + 114) * 10, (146 + 178) * 10, NAN, NAN}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct source source;
        open_source(&source, cases[i].source, cases[i].arch);
        start_source(&source);
        assert_int_equal(source.status, RESMON_OK);
        read_source(&source);
        made.step = 10;
        made.enabled = made.running = 1000;
        read_source(&source);
        for (size_t m = 0; m < source.collector->metric_count; m++) {
            double wanted = cases[i].value[m];
            bool is_same = isnan(wanted) ? isnan(source.values[m])
                                         : fabs(source.values[m] - wanted) <= 1e-9 * wanted;
            if (!is_same) {
                fail_msg("%s of %s, metric %zu: %.17g, not %.17g", cases[i].source,
                         rm_arch_name(cases[i].arch), m, source.values[m], wanted);
            }
        }
        close_source(&source);
    }
}

TEST(what_hardware_cannot_tell_is_refused_with_the_reason)
{
    static const struct {
        const char *source;
        uint32_t arch;
        const char *why;
    } cases[] = {
        {"perf_flops", RM_ARCH_HSW, "no events of floating-point operations (Haswell)"},
        {"perf_l3", RM_ARCH_ZEN2, "amd_l3"},
        {"perf_l2", RM_ARCH_ADL, "two kinds"},
        {"perf_l3cache", RM_ARCH_SNB, "none of its events of retired loads"},
        {"perf_flops", RM_ARCH_WSM, "not both at once (Westmere)"},
        {"perf_l3cache", RM_ARCH_ZEN, "amd_l3"},
        {"perf_l2cache", RM_ARCH_ZEN5, "the tables have no events for it (Zen 5)"},
        {"perf_l2cache", RM_ARCH_ADL, "two kinds"},
        {"perf_memory", RM_ARCH_OTHER, "the tables have no events for it"},
        {"perf_l2", RM_ARCH_ARM, "the tables have no events for it (an ARM processor)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct source source;
        open_source(&source, cases[i].source, cases[i].arch);
        start_source(&source);
        assert_int_equal(source.status, RESMON_ENOTSUP);
        assert_non_null(strstr(source.why, cases[i].why));
        close_source(&source);
    }
    struct source source;
    open_source(&source, "perf_l2", RM_ARCH_ZEN4);
    start_source(&source);
    assert_int_equal(source.status, RESMON_OK);
    assert_non_null(strstr(source.why, "loads only"));
    close_source(&source);
}

/* ---- sets ------------------------------------------------------------------------------------ */

static size_t leaders(void)
{
    size_t count = 0;
    for (int i = 0; i < made.count; i++) {
        count += made.requests[i].leader < 0 && made.requests[i].inherits ? 1 : 0;
    }
    return count;
}

/* Requests, misses and instructions of the L2 are three events, opened once. */
TEST(metrics_share_counters_where_every_processor_has_them)
{
    static const struct {
        const char *source;
        uint32_t arch;
        size_t sets;
        const char *names[4];
    } cases[] = {
        {"perf_l2cache", RM_ARCH_SKX, 1, {"l2cache"}},
        {"perf_l3cache", RM_ARCH_HSW, 1, {"l3cache"}},
        {"perf_l3cache", RM_ARCH_ZEN3, 1, {"l3.request_rate"}},
        {"perf_l2cache", RM_ARCH_ZEN3, 3, {"l2.request_rate", "l2.miss_rate", "l2.miss_ratio"}},
        {"perf_flops", RM_ARCH_SKX, 3, {"flops.sp", "flops.dp", "vector.ratio"}},
        {"perf_flops", RM_ARCH_ZEN5, 1, {"flops"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct source source;
        open_source(&source, cases[i].source, cases[i].arch);
        start_source(&source);
        assert_int_equal(source.status, RESMON_OK);
        assert_int_equal(leaders(), cases[i].sets);
        const struct rm_counters *counters = source.collect.counters;
        assert_int_equal(counters->set_count, cases[i].sets);
        for (size_t k = 0; k < cases[i].sets; k++) {
            assert_string_equal(counters->sets[k]->name, cases[i].names[k]);
        }
        close_source(&source);
    }
}

/* Without the event of misses, requests are still counted. */
TEST(a_shared_set_keeps_what_it_has)
{
    struct source source;
    open_source(&source, "perf_l2cache", RM_ARCH_SKX);
    made.error = ENOENT;
    made.error_config = 0x3f24;
    start_source(&source);
    assert_int_equal(source.status, RESMON_OK);
    read_source(&source);
    made.step = 1;
    made.enabled = made.running = 10;
    read_source(&source);
    assert_near(source.values[0], 368.0 / 2000, 1e-12);
    assert_true(isnan(source.values[1]) && isnan(source.values[2]));
    close_source(&source);
}

/* ---- generic events, ratios, scaling --------------------------------------------------------- */

TEST(generic_events_and_ratios)
{
    struct source source;
    open_source(&source, "perf_hardware", 0);
    start_source(&source);
    assert_int_equal(source.status, RESMON_OK);
    read_source(&source);
    made.step = 3;
    made.enabled = made.running = 500;
    read_source(&source);
    for (size_t i = 0; i < 6; i++) { /* cycles 1000 a step, instructions 2000, ... */
        assert_near(source.values[i], 3000.0 * (double)(i + 1), 0.0);
    }
    assert_near(source.values[6], 2.0, 1e-12);                /* IPC */
    assert_near(source.values[7], 1e9 * 1000 / 2000, 1e-3);   /* task-clock is 2000 a step */
    assert_near(source.values[8], 100.0 * 4000 / 3000, 1e-9); /* cache */
    assert_near(source.values[9], 100.0 * 6000 / 5000, 1e-9); /* branches */
    /* The sets are groups: their first events lead. */
    assert_int_equal(leaders(), 3);
    close_source(&source);
}

TEST(counts_are_scaled_by_the_time_that_they_ran)
{
    struct source source;
    struct rm_collector const *running = collector_named("perf_running");
    double shares[RM_MAX_SETS];
    open_source(&source, "perf_hardware", 0);
    start_source(&source);
    char listed[64];
    assert_ok(running->open(&source.collect, listed));
    assert_int_equal(running->instances(listed), 3);
    assert_string_equal(running->instance_name(listed, 1), "cache");
    read_source(&source);
    made.step = 1;
    made.enabled = 1000;
    made.running = 250; /* a quarter of the time */
    read_source(&source);
    assert_near(source.values[0], 4000.0, 1e-9);
    assert_near(source.values[6], 2.0, 1e-12); /* ratios are not scaled */
    assert_ok(running->read(&source.collect, listed, shares));
    assert_near(shares[0], 25.0, 1e-9);
    made.step = 1;
    made.enabled = 2000; /* it did not run at all */
    read_source(&source);
    assert_near(source.values[0], 4000.0, 1e-9);
    assert_true(isnan(source.values[6]));
    assert_ok(running->read(&source.collect, listed, shares));
    assert_near(shares[0], 0.0, 0.0);
    made.step = 2;
    made.enabled = 3000; /* and then half of what is open, 2000 */
    made.running = 1250;
    read_source(&source);
    assert_near(source.values[0], 4000.0 + 2000.0, 1e-9);
    close_source(&source);
}

TEST(what_never_ran_is_not_zero)
{
    struct source source;
    open_source(&source, "perf_l2", RM_ARCH_ZEN4);
    start_source(&source);
    read_source(&source);
    assert_near(source.values[0], 0.0, 0.0); /* nothing was there to be counted */
    made.enabled = 1000;
    read_source(&source);
    assert_true(isnan(source.values[0]));
    close_source(&source);
}

TEST(a_counter_that_is_lost_is_not_zero)
{
    struct source source;
    open_source(&source, "perf_hardware", 0);
    start_source(&source);
    made.step = 1;
    made.enabled = made.running = 10;
    read_source(&source);
    made.is_lost = true;
    read_source(&source);
    assert_true(isnan(source.values[0]));
    close_source(&source);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void check_refusal(int error, resmon_status status, const char *why)
{
    struct source source;
    open_source(&source, "perf_software", 0);
    made.error = error;
    start_source(&source);
    if (source.status != status || strstr(source.why, why) == NULL) {
        fail_msg("errno %d: %s, %s", error, resmon_status_name(source.status), source.why);
    }
    close_source(&source);
}

TEST(each_refusal_has_its_reason)
{
    check_refusal(EACCES, RESMON_EACCES, "may not be counted by this user");
    check_refusal(EPERM, RESMON_EACCES, "a filter of system calls");
    check_refusal(EMFILE, rm_status_from_errno(EMFILE), "no more files");
    check_refusal(ENOSPC, RESMON_ENOSPC, "no free counter");
    check_refusal(ENOSYS, RESMON_ENOTSUP, "no performance counters");
    check_refusal(EINVAL, RESMON_ENOTSUP, "cannot be counted for a process");
    check_refusal(E2BIG, rm_status_from_errno(E2BIG), "cannot be counted");
}

TEST(no_pmu_is_told_from_no_event)
{
    struct source source;
    open_source(&source, "perf_hardware", 0);
    source.collect.counters->has_pmu = false;
    made.hardware_error = ENOENT;
    start_source(&source);
    assert_int_equal(source.status, RESMON_ENOENT);
    assert_non_null(strstr(source.why, "a virtual machine without a PMU, for example"));
    close_source(&source);

    open_source(&source, "perf_hardware", 0); /* without cache-references alone */
    made.error = ENOENT;
    made.error_config = 2;
    start_source(&source);
    assert_int_equal(source.status, RESMON_OK);
    assert_non_null(strstr(source.why, "does not count cache-references"));
    read_source(&source);
    made.step = 1;
    made.enabled = made.running = 1;
    read_source(&source);
    assert_near(source.values[0], 1000.0, 0.0);
    assert_true(isnan(source.values[2]));
    assert_near(source.values[3], 4000.0, 0.0);
    assert_true(isnan(source.values[8]));
    close_source(&source);
}

TEST(a_part_of_a_sum_is_no_sum)
{
    struct source source;
    open_source(&source, "perf_l2", RM_ARCH_HSW);
    made.error = ENOSPC;
    made.error_config = 0x0280;
    start_source(&source);
    assert_int_equal(source.status, RESMON_ENOSPC);
    assert_int_equal(source.collect.counters->set_count, 0);
    close_source(&source);
}

/* Counted in user mode only, they would be 0 for ever. */
TEST(events_of_the_kernel_need_the_kernel)
{
    struct source source;
    open_source(&source, "perf_software", 0);
    source.collect.counters->skips_kernel = true;
    start_source(&source);
    assert_int_equal(source.status, RESMON_OK);
    read_source(&source);
    assert_false(isnan(source.values[0])); /* task-clock */
    assert_true(isnan(source.values[1]));  /* context switches */
    assert_true(isnan(source.values[2]));  /* migrations */
    assert_false(isnan(source.values[3])); /* page faults */
    close_source(&source);

    open_source(&source, "perf_hardware", 0);
    source.collect.counters->skips_kernel = true;
    start_source(&source);
    made.step = 1;
    made.enabled = made.running = 5;
    read_source(&source);
    assert_false(isnan(source.values[6]));
    assert_true(isnan(source.values[7])); /* the clock */
    close_source(&source);
}

TEST(events_that_are_named)
{
    struct source source;
    open_source(&source, "perf_events", 0);
    assert_ok(rm_counters_parse(
        "r0451+page-faults+xyzzy::GROUP1:ALL_OF_THEM_AND_OF_ANOTHER:NOTHING", 16, &source.wanted));
    start_source(&source);
    assert_int_equal(source.status, RESMON_OK);
    assert_int_equal(source.collector->instances(source.state), 3);
    assert_string_equal(source.collector->instance_name(source.state, 1), "page-faults");
    assert_true(source.why[0] != '\0'); /* of the third */
    const char *third = source.collector->instance_name(source.state, 2);
    assert_string_equal(third, "OUP1:ALL_OF_THEM_AND_OF_ANOTHER:NOTHING");
    made.step = 2;
    made.enabled = made.running = 5;
    read_source(&source);
    assert_near(source.values[0], 2.0 * (0x51 + 4), 0.0);
    assert_near(source.values[1], 6000.0, 0.0);
    assert_true(isnan(source.values[2]));
    close_source(&source);
}

/* ---- the machine's own ----------------------------------------------------------------------- */

#define PAGES          512U
#define LIBRARY_FAULTS 16.0

static void *touch_thread(void *unused)
{
    (void)unused;
    touch_pages(PAGES);
    return NULL;
}

static uint64_t own_faults(void)
{
    struct rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return (uint64_t)(own.ru_minflt + own.ru_majflt + children.ru_minflt + children.ru_majflt);
}

static uint64_t own_switches(void)
{
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    return (uint64_t)(own.ru_nvcsw + own.ru_nivcsw);
}

static double double_of(const resmon_run *run, const char *metric)
{
    for (size_t i = 0; i < resmon_run_column_count(run); i++) {
        resmon_column column = {.struct_size = sizeof column};
        resmon_column stats = {.struct_size = sizeof stats};
        assert_ok(resmon_run_get_column(run, i, &column));
        if (strcmp(column.metric, metric) == 0) {
            assert_ok(resmon_run_get_column(run, i, &stats));
            return stats.last;
        }
    }
    return (double)NAN;
}

/* This process, a thread and a child that come later: page faults and context switches as the
 * kernel's own accounts have them. */
TEST(software_events_agree_with_proc)
{
    needs_live("software events of this host");
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .interval_ms = 10000,
                                            .domains = RESMON_DOMAIN_PROCESS,
                                            .counters = "default"};
    resmon_monitor *monitor;
    resmon_run *run;
    assert_ok(resmon_monitor_new(&options, &monitor));
    uint64_t outer = own_faults();
    uint64_t outer_switches = own_switches();
    assert_ok(resmon_monitor_start(monitor));
    uint64_t inner = own_faults();
    uint64_t inner_switches = own_switches();
    touch_pages(PAGES);
    in_thread(touch_thread, NULL);
    pid_t child = fork();
    if (child == 0) {
        touch_pages(PAGES);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    inner = own_faults() - inner;
    inner_switches = own_switches() - inner_switches;
    assert_ok(resmon_monitor_stop(monitor));
    outer = own_faults() - outer;
    outer_switches = own_switches() - outer_switches;
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    double faults = double_of(run, "perf.page_faults");
    if (isnan(faults)) {
        for (size_t i = 0; i < resmon_run_source_count(run); i++) {
            resmon_run_source source = {.struct_size = sizeof source};
            assert_ok(resmon_run_get_source(run, i, &source));
            if (strcmp(source.name, "perf_software") == 0) {
                print_message("skipped: %s\n", source.reason);
            }
        }
    } else {
        /* Faults inside system calls are left out where the kernel may not be counted. */
        bool sees_kernel = rm_perf_sees_kernel();
        assert_true(faults >= 3.0 * PAGES && faults <= (double)outer);
        print_message("%g faults; this process %llu to %llu\n", faults, (unsigned long long)inner,
                      (unsigned long long)outer);
        /* The sampling thread is in the kernel's account, not in ours: after a fork it may fault.
         */
        assert_true(!sees_kernel || faults + LIBRARY_FAULTS >= (double)inner);
        double switches = double_of(run, "perf.context_switches");
        assert_true(sees_kernel == !isnan(switches));
        if (sees_kernel) { /* the child's are in it, too; the sampler's are not */
            assert_true(switches >= 1.0);
            print_message("%g switches; this process %llu to %llu\n", switches,
                          (unsigned long long)inner_switches, (unsigned long long)outer_switches);
        }
        assert_true(double_of(run, "perf.task_clock") > 0.0);
        assert_true(double_of(run, "perf.page_faults.minor") <= faults);
    }
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    if (isnan(faults)) {
        skip();
    }
}

TEST(options_that_are_wrong)
{
    static const struct {
        const char *counters, *scope_counters, *why;
    } cases[] = {
        {"", NULL, "counters: "},
        {"default+a b", NULL, "counters: 'a b' is not the name of an event"},
        {NULL, "cycles+cycles", "scope_counters: the event cycles is given twice"},
        {NULL, "r0001+r0002+r0003+r0004+r0005+r0006+r0007+r0008+r0009",
         "r0009 is one event too many: at most 8 are allowed"},
        {NULL, "default+r0001+r0002+r0003+r0004+r0005", "r0005 is one event too many"},
        {NULL, "l2", "the only group for scopes is default"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const resmon_monitor_options options = {.struct_size = sizeof options,
                                                .counters = cases[i].counters,
                                                .scope_counters = cases[i].scope_counters};
        resmon_monitor *monitor = NULL;
        assert_status(RESMON_EINVAL, resmon_monitor_new(&options, &monitor));
        assert_null(monitor);
        if (strstr(resmon_last_error(), cases[i].why) == NULL) {
            fail_msg("%s", resmon_last_error());
        }
    }
}

/* A copy of /proc is of another machine: nothing of this one is counted for it. */
TEST(below_another_root_nothing_is_counted)
{
    char root[512];
    (void)snprintf(root, sizeof root, "%s/intel-2s/t0", getenv("RESMON_FIXTURES"));
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .fs_root = root,
                                            .domains = RESMON_DOMAIN_PROCESS,
                                            .counters = "default+l2"};
    resmon_monitor *monitor;
    resmon_run *run;
    size_t sources = 0;
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    assert_ok(resmon_monitor_stop(monitor));
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    for (size_t i = 0; i < resmon_run_source_count(run); i++) {
        resmon_run_source source = {.struct_size = sizeof source};
        assert_ok(resmon_run_get_source(run, i, &source));
        if (strncmp(source.name, "perf_", 5) == 0) {
            assert_true(source.status != RESMON_OK && source.reason[0] != '\0');
            sources++;
        }
    }
    assert_int_equal(sources, 4); /* hardware, l2, running, software */
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

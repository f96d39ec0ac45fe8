/* SPDX-License-Identifier: MIT */
/*
 * A recording that its writer goes on writing while it is loaded: pread is ours here, and between
 * the pages that the loader takes, the writer takes samples.  What comes out is one of the states
 * that there were.
 */
#define _GNU_SOURCE
#include "test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run_checks.h"

#include "base/compiler.h"
#include "os/identity.h"
#include "run/run.h"
#include "store/layout.h"
#include "store/series.h"

#define ROWS 4

static const struct rm_block_sizes sizes = {
    .columns = 1,
    .rows = ROWS,
    .sources = 1,
    .tags = 1,
    .sites = 2,
    .nodes = 2,
    .threads = 1,
    .depth = 1,
    .fact_bytes = 1,
};

static char path[] = "torn-XXXXXX";
static struct rm_block block;
static uint64_t block_bytes;
static uint64_t samples;

static void add_sample(void)
{
    double value = (double)(samples * 7 % 13);
    struct rm_sample sample = {
        .t_ns = (int64_t)samples * 1000000,
        .clock = {1000 + samples * 1000000, 1000 + (int64_t)samples * 1000000},
        .values = &value,
    };
    rm_series_add(&block, &sample, &(struct rm_sampler_cost){0});
    samples++;
}

/* What the writer does during the load: at the `at_call`-th pread, after `page` bytes, `count`
 * samples. */
static struct {
    int at_call;
    uint64_t page;
    uint64_t count;
    int calls;
    bool is_on;
} writer;

ssize_t pread(int fd, void *bytes, size_t room, off_t offset)
{
    if (writer.is_on && writer.calls++ == writer.at_call) {
        room = room > writer.page ? writer.page : room;
        ssize_t got = syscall(SYS_pread64, fd, bytes, room, offset);
        for (uint64_t i = 0; i < writer.count; i++) {
            add_sample();
        }
        return got;
    }
    return syscall(SYS_pread64, fd, bytes, room, offset);
}

static struct rm_identity self;

static void begin_block(uint64_t before)
{
    memset(block.base, 0, block_bytes);
    rm_block_format(&block, block.base, &sizes);
    ((struct rm_column *)rm_block_record(&block, RM_SECTION_COLUMNS, 0))->kind = RESMON_GAUGE;
    rm_series_begin(&block);
    block.header->start = (struct rm_clock_pair){1000, 1000};
    block.header->phase = RM_PHASE_RUNNING;
    block.header->writer_pid = self.pid; /* a dead writer's file is not read again */
    block.header->writer_start_ticks = self.start_ticks;
    block.header->writer_boot_hash = self.boot_hash;
    samples = 0;
    for (uint64_t i = 0; i < before; i++) {
        add_sample();
    }
}

static bool load(uint64_t before, struct verdict *verdict)
{
    resmon_run *run = NULL;
    begin_block(before);
    writer.calls = 0;
    writer.is_on = true;
    resmon_status status = resmon_run_load(path, &run);
    writer.is_on = false;
    if (status != RESMON_OK) {
        return object(verdict, "%s", resmon_last_error());
    }
    bool is_good = check_spans(run, ROWS, verdict) && check_columns(run, verdict) &&
                   (info_of(run).samples >= before ||
                    object(verdict, "%llu samples", (unsigned long long)info_of(run).samples));
    resmon_run_free(run);
    return is_good;
}

TEST(samples_between_the_pages)
{
    uint64_t rows =
        (uint64_t)((unsigned char *)rm_block_record(&block, RM_SECTION_ROWS, 2) - block.base);
    const uint64_t pages[] = {sizeof(struct rm_block_header), rows, block_bytes / 2};
    int loads = 0, bad = 0;
    for (uint64_t before = 1; before <= 40; before++) {
        for (size_t p = 0; p < RM_ARRAY_LEN(pages); p++) {
            for (writer.count = 1; writer.count <= 6; writer.count++) {
                for (writer.at_call = 0; writer.at_call < 6; writer.at_call++) {
                    struct verdict verdict = {0};
                    writer.page = pages[p];
                    loads++;
                    if (!load(before, &verdict) && bad++ < 5) {
                        print_error("%llu samples, %llu more after %llu bytes of copy %d: %s\n",
                                    (unsigned long long)before, (unsigned long long)writer.count,
                                    (unsigned long long)writer.page, writer.at_call, verdict.why);
                    }
                }
            }
        }
    }
    print_message("%d loads, %d of them bad\n", loads, bad);
    assert_int_equal(bad, 0);
}

/* A child that records, stops and exits while it is being loaded, again and again. */
static void record_and_stop(const char *recording, int told)
{
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .record = recording,
                                            .interval_ms = 1,
                                            .domains = RESMON_DOMAIN_PROCESS};
    const struct timespec life = {0, 20000000};
    resmon_monitor *monitor = NULL;
    bool is_good = resmon_monitor_new(&options, &monitor) == RESMON_OK &&
                   resmon_monitor_start(monitor) == RESMON_OK && write(told, "x", 1) == 1;
    (void)nanosleep(&life, NULL);
    is_good = is_good && resmon_monitor_stop(monitor) == RESMON_OK;
    _exit(is_good ? 0 : 1);
}

TEST(who_stops_is_never_interrupted)
{
    char recording[64], byte;
    (void)snprintf(recording, sizeof recording, "%s.stop", path);
    for (int i = 0; i < 30; i++) {
        int ends[2], status = 0;
        bool is_over = false;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            record_and_stop(recording, ends[1]);
        }
        (void)close(ends[1]);
        assert_int_equal(read(ends[0], &byte, 1), 1);
        (void)close(ends[0]);
        while (!is_over) {
            resmon_run *run = NULL;
            resmon_run_info info = {.struct_size = sizeof info};
            is_over = waitpid(child, &status, WNOHANG) == child;
            if (resmon_run_load(recording, &run) != RESMON_OK) {
                assert_false(is_over);
                continue;
            }
            assert_ok(resmon_run_get_info(run, &info));
            assert_string_not_equal(info.state, "interrupted");
            assert_true(!is_over || strcmp(info.state, "stopped") == 0);
            resmon_run_free(run);
        }
        assert_int_equal(status, 0);
    }
    assert_int_equal(unlink(recording), 0);
}

FIXTURE(set_up)
{
    self = rm_identity_self();
    int fd = mkstemp(path);
    if (fd < 0 || rm_block_measure(&sizes, &block_bytes) != RESMON_OK ||
        ftruncate(fd, (off_t)block_bytes) != 0) {
        return -1;
    }
    void *memory = mmap(NULL, block_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    block.base = memory;
    if (memory == MAP_FAILED) {
        return -1;
    }
    rm_block_format(&block, memory, &sizes);
    return 0;
}

FIXTURE(tear_down)
{
    (void)munmap(block.base, block_bytes);
    return unlink(path);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);

/* SPDX-License-Identifier: MIT */
/*
 * Makes the seeds of fuzz_recording and fuzz_document again, after a change of their formats:
 * ninja make_fuzz_corpus && tests/fuzz/make_fuzz_corpus SOURCE/tests/fuzz/corpus
 */
#include "fuzz.h"

#include <resmon/resmon.h>

#include "../unit/made_profile.h"
#include "base/compiler.h"
#include "format/document.h"
#include "metric/metric.h"
#include "run/run.h"
#include "scope/session.h"
#include "store/layout.h"
#include "store/run_records.h"
#include "store/series.h"

#define BLOCK_BYTES ((size_t)1 << 20)

static _Alignas(64) unsigned char memory[BLOCK_BYTES];
static struct rm_block block;
static const char *corpus;

static const struct rm_block_sizes sizes = {
    .columns = 2,
    .rows = 4,
    .sources = 1,
    .tags = 3,
    .sites = 5,
    .nodes = 12,
    .threads = 2,
    .depth = 3,
    .fact_bytes = 48,
    .events = 3,
    .scope_energy = 1,
    .scope_counters = 2,
    .scope_tallies = 1,
};

static resmon_site sites[] = {{"load", "a.c", "main", 3, 0}, {"parse", "b.c", "parse", 5, 0}};

static void add_samples(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const double values[2] = {(double)(i * 7 % 13), (double)(i * i)};
        struct rm_sample sample = {
            .t_ns = (int64_t)i * 1000000,
            .clock = rm_clock_read_pair(),
            .values = values,
        };
        rm_series_add(&block, &sample, &(struct rm_sampler_cost){.cpu_ns = i * 100});
    }
}

static void describe(void)
{
    struct rm_column *columns = rm_block_record(&block, RM_SECTION_COLUMNS, 0);
    struct rm_source_record *source = rm_block_record(&block, RM_SECTION_SOURCES, 0);
    columns[0] = (struct rm_column){.metric = RM_PROC_MEM_RSS, .kind = RESMON_GAUGE};
    columns[1] = (struct rm_column){.metric = RM_NODE_CTX, .kind = RESMON_COUNTER};
    *source =
        (struct rm_source_record){.name = "proc_mem", .reads = 9, .every = 1, .reason = "why"};
    rm_facts_add_text(&block, "run", "name", "seed");
    rm_facts_add_number(&block, "machine", "cpus", 2.0);
}

static void keep(void *context)
{
    (void)context;
}

static void visit_scopes(struct rm_scope_session **session)
{
    const struct rm_counter_wish wish = {.is_default = true};
    const struct rm_session_terms terms = {
        .meters = RESMON_METER_ALL, .max_share = 1e9, .counters = &wish};
    PROMISE(rm_session_start(&block, &terms, keep, NULL, session) == RESMON_OK);
    for (int i = 0; i < 3; i++) {
        uint64_t outer = resmon_scope_begin(&sites[0]);
        uint64_t inner = resmon_scope_begin(&sites[1]);
        resmon_scope_end(resmon_scope_begin(&sites[1]));
        resmon_scope_end(inner);
        if (i < 2) {
            resmon_scope_end(outer);
        }
    }
}

static void write_seed(const char *kind, const char *name, const void *bytes, size_t length)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s/%s", corpus, kind, name);
    FILE *file = fopen(path, "wb");
    PROMISE(file != NULL && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

/* As fuzz_recording's pour() takes it. */
static void write_poured(const char *name)
{
    static const unsigned char choice[10] = {1, 1, 0, 2, 3, 10, 1, 2, 47, 11};
    static unsigned char bytes[BLOCK_BYTES];
    size_t length = sizeof choice;
    size_t head = sizeof *block.header - offsetof(struct rm_block_header, start);
    memcpy(bytes, choice, sizeof choice);
    memcpy(bytes + length, &block.header->start, head);
    length += head;
    for (int id = 0; id < RM_SECTION_COUNT; id++) {
        const struct rm_section *section = &block.header->sections[id];
        size_t wide =
            id == RM_SECTION_SKETCHES ? 64 : (size_t)(section->record_bytes * section->count);
        memcpy(bytes + length, block.base + section->offset, wide);
        length += wide;
    }
    write_seed("recording", name, bytes, length);
}

static void write_document(const char *name)
{
    char path[512];
    struct rm_decode how = {.parts = RM_PART_ALL};
    resmon_run *run = NULL;
    (void)snprintf(path, sizeof path, "%s/document/%s", corpus, name);
    PROMISE(rm_run_decode(&block, &how, &run) == RESMON_OK);
    PROMISE(rm_document_save(run, path) == RESMON_OK);
    resmon_run_free(run);
}

static void make(const char *name, uint64_t samples, bool has_scopes)
{
    uint64_t bytes = 0;
    char poured[64], document[64];
    struct rm_scope_session *session = NULL;
    memset(memory, 0, sizeof memory);
    PROMISE(rm_block_measure(&sizes, &bytes) == RESMON_OK && bytes <= BLOCK_BYTES);
    rm_block_format(&block, memory, &sizes);
    rm_series_begin(&block);
    block.header->start = rm_clock_read_pair();
    block.header->start_realtime_ns = INT64_C(1795248000123456789);
    block.header->phase = RM_PHASE_RUNNING;
    describe();
    add_samples(samples);
    for (int i = 0; i < 4; i++) {
        rm_tags_add(&block, i * 1000, "mark");
    }
    if (has_scopes) {
        visit_scopes(&session);
        rm_end_store(block.header, &(resmon_run_end){.reason = RESMON_END_FAILED,
                                                     .exit_status = 3,
                                                     .text = "ValueError: seed"});
    }
    write_seed("recording", name, memory, (size_t)bytes);
    (void)snprintf(poured, sizeof poured, "poured-%s", name);
    write_poured(poured);
    (void)snprintf(document, sizeof document, "%s.json", name);
    write_document(document);
    if (session != NULL) {
        rm_session_stop(session);
    }
}

/* With a profile and checkpoints, which no block has here. */
static void make_stacks(void)
{
    resmon_run_line lines[] = {
        {.file = "/src/train.c",
         .function = "load",
         .line = 10,
         .hits = 3,
         .wall_ns = 2000.0,
         .rss_bytes = RM_NAN,
         .rss_max_bytes = 1048576.0},
        {.file = "/src/train.c",
         .function = "load",
         .line = 12,
         .hits = 3,
         .rss_hits = 2,
         .wall_ns = 1500000.5,
         .rss_bytes = -4096.0,
         .rss_max_bytes = RM_NAN},
    };
    char path[512];
    resmon_run *run = made_profile("/src/train.c");
    run->scopes[2].name = "odd";
    run->lines = lines;
    run->line_count = 2;
    (void)snprintf(path, sizeof path, "%s/document/stacks.json", corpus);
    PROMISE(rm_document_save(run, path) == RESMON_OK);
    resmon_run_free(run);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "make_fuzz_corpus CORPUS\n");
        return 2;
    }
    corpus = argv[1];
    make("new", 1, false);
    make("full", 11, true);
    make_stacks();
    return 0;
}

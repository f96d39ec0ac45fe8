/* SPDX-License-Identifier: MIT */
/*
 * store/block and what is decoded from it: sizes are bounded by name, a damaged or foreign
 * recording is refused or gives a sane run, never a crash (ASan and UBSan watch).
 */
#include "report_in_full.h"
#include "test.h"

#include <resmon/metric.h>

#include "base/fault.h"
#include "base/text.h"
#include "made_block.h"
#include "metric/metric.h"
#include "random.h"
#include "run/run.h"
#include "store/layout.h"
#include "store/run_records.h"
#include "store/scope_tree.h"
#include "store/series.h"
#include "store/stack_record.h"

/* ---- sizes ---------------------------------------------------------------------------------- */

TEST(every_size_has_bounds_that_are_named)
{
    static const struct {
        const char *name;
        size_t offset;
        uint64_t low, high;
    } sizes[] = {
        {"columns", offsetof(struct rm_block_sizes, columns), 0, RM_MAX_COLUMNS},
        {"rows", offsetof(struct rm_block_sizes, rows), 2, RM_MAX_ROWS},
        {"sources", offsetof(struct rm_block_sizes, sources), 1, RM_MAX_SOURCES},
        {"tags", offsetof(struct rm_block_sizes, tags), 1, RM_MAX_TAGS},
        {"sites", offsetof(struct rm_block_sizes, sites), 2, RM_MAX_SITES},
        {"nodes", offsetof(struct rm_block_sizes, nodes), 2, RM_MAX_NODES},
        {"threads", offsetof(struct rm_block_sizes, threads), 1, RM_MAX_THREADS},
        {"depth", offsetof(struct rm_block_sizes, depth), 1, RM_MAX_DEPTH},
        {"fact_bytes", offsetof(struct rm_block_sizes, fact_bytes), 1, RM_MAX_FACT_BYTES},
        {"events", offsetof(struct rm_block_sizes, events), 0, RM_MAX_EVENTS},
        {"scope_energy", offsetof(struct rm_block_sizes, scope_energy), 0, 1},
        {"stacks", offsetof(struct rm_block_sizes, stacks), 0, RM_MAX_STACKS},
        {"lines", offsetof(struct rm_block_sizes, lines), 0, RM_LINES},
        {"scope_counters", offsetof(struct rm_block_sizes, scope_counters), 0, 8},
        {"scope_tallies", offsetof(struct rm_block_sizes, scope_tallies), 0, 1},
        {"processes", offsetof(struct rm_block_sizes, processes), 0, 16384},
        {"stack_texts", offsetof(struct rm_block_sizes, stack_texts), 0, RM_MAX_TEXTS},
    };
    assert_int_equal(sizeof sizes / sizeof sizes[0], sizeof(struct rm_block_sizes) / 8);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint64_t good[] = {sizes[i].low, sizes[i].high};
        const uint64_t bad[] = {sizes[i].low - 1, sizes[i].high + 1, UINT64_MAX};
        uint64_t bytes = 77;
        for (int k = 0; k < 3; k++) {
            struct rm_block_sizes changed = small_sizes();
            memcpy((char *)&changed + sizes[i].offset, &bad[k], sizeof bad[k]);
            assert_status(RESMON_ERANGE, rm_block_measure(&changed, &bytes));
            assert_non_null(strstr(resmon_last_error(), sizes[i].name));
            assert_int_equal(bytes, 77);
        }
        for (int k = 0; k < 2; k++) {
            struct rm_block_sizes changed = small_sizes();
            /* With these the most nodes are more than can be loaded. */
            changed.scope_tallies = 0;
            changed.scope_counters = 0;
            memcpy((char *)&changed + sizes[i].offset, &good[k], sizeof good[k]);
            assert_ok(rm_block_measure(&changed, &bytes));
            bytes = 77;
        }
    }
}

TEST(odd_rows_are_refused)
{
    struct rm_block_sizes sizes = small_sizes();
    uint64_t bytes = 77;
    sizes.rows = 5;
    assert_status(RESMON_ERANGE, rm_block_measure(&sizes, &bytes));
    assert_non_null(strstr(resmon_last_error(), "even"));
    assert_int_equal(bytes, 77);
}

TEST(the_largest_block_is_measured_without_overflow)
{
    struct rm_block_sizes most = {
        .columns = RM_MAX_COLUMNS,
        .rows = RM_MAX_ROWS,
        .sources = RM_MAX_SOURCES,
        .tags = RM_MAX_TAGS,
        .sites = RM_MAX_SITES,
        .nodes = RM_MAX_NODES,
        .threads = RM_MAX_THREADS,
        .depth = RM_MAX_DEPTH,
        .fact_bytes = RM_MAX_FACT_BYTES,
        .events = RM_MAX_EVENTS,
        .scope_energy = 1,
        .stacks = RM_MAX_STACKS,
        .lines = RM_LINES,
        .scope_counters = 8,
        .scope_tallies = 1,
    };
    uint64_t bytes = 0;
    assert_status(RESMON_ERANGE, rm_block_measure(&most, &bytes)); /* more than can be loaded */
    assert_true(bytes > RM_MAX_RUN_BYTES);
    /* The rows alone: a cell for each column and row. */
    assert_true(bytes > (uint64_t)RM_MAX_COLUMNS * RM_MAX_ROWS * sizeof(struct rm_cell));
    assert_true(bytes < UINT64_C(1) << 52);
    /* All references to nodes fit their type. */
    assert_true((uint64_t)RM_MAX_NODES * sizeof(struct rm_scope_node) <= UINT32_MAX);
}

TEST(sections_are_inside_the_block_and_apart)
{
    struct rm_block_sizes sizes = small_sizes();
    struct rm_block block = made_block(&sizes);
    const struct rm_block_header *header = block.header;
    uint64_t end = sizeof *header;
    for (int i = 0; i < RM_SECTION_COUNT; i++) {
        const struct rm_section *section = &header->sections[i];
        assert_true(section->offset >= end && section->offset % 64 == 0);
        end = section->offset + section->record_bytes * section->count;
    }
    assert_true(end <= header->total_bytes);
    assert_int_equal(header->sections[RM_SECTION_ROWS].count, sizes.rows + 1);
    free_block(&block);
}

/* ---- a block with something of everything --------------------------------------------------- */

static void describe_site(struct rm_block *block, uint64_t index, const char *name)
{
    struct rm_site_record *site = rm_block_record(block, RM_SECTION_SITES, index);
    (void)rm_text_set(site->name, sizeof site->name, name);
    (void)rm_text_set(site->file, sizeof site->file, "file.c");
    site->line = 7;
    site->is_set = 1;
}

static struct rm_scope_node *link_node(struct rm_block *block, uint64_t index, uint64_t parent,
                                       uint32_t site)
{
    struct rm_scope_node *node = rm_block_record(block, RM_SECTION_NODES, index);
    struct rm_scope_node *above = rm_block_record(block, RM_SECTION_NODES, parent);
    node->site = site;
    node->sums[0] = (struct rm_wall_sums){.calls = 3, .total = 300, .squares = {.low = 30200}};
    node->min = 90;
    node->max = 110;
    node->meters[0] = (struct rm_scope_meters){.threads = 1, .rss_calls = 3, .rss_peak = 30};
    node->next = above->first_child;
    above->first_child = rm_node_ref_of(index);
    return node;
}

static void fill_scopes(struct rm_block *block)
{
    struct rm_block_header *header = block->header;
    header->has_scopes = 1;
    header->node_count = 7;
    header->retired_root = rm_node_ref_of(1);
    header->scope_cost_ticks = 20;
    describe_site(block, 1, "outer");
    describe_site(block, 2, "inner");
    (void)link_node(block, 2, 1, 1);
    (void)link_node(block, 3, 2, 2);
    (void)link_node(block, 5, 4, 1);
    (void)link_node(block, 6, 5, 2);
    struct rm_scope_thread_record *thread = rm_block_record(block, RM_SECTION_THREADS, 0);
    thread->state = RM_THREAD_LIVE;
    thread->root = rm_node_ref_of(4);
    thread->frames[0].token = RM_ROOT_TOKEN;
    thread->frames[1] =
        (struct rm_scope_frame){.token = 1, .start = 1000000000, .node = rm_node_ref_of(5)};
}

static void fill_series(struct rm_block *block)
{
    struct rm_column *columns = rm_block_record(block, RM_SECTION_COLUMNS, 0);
    columns[0] = (struct rm_column){.metric = RM_PROC_MEM_RSS, .kind = RESMON_GAUGE};
    columns[1] = (struct rm_column){.metric = RM_NODE_CPU_CORE_AVG, .kind = RESMON_COUNTER};
    rm_series_begin(block);
    for (int64_t i = 0; i < 11; i++) {
        double values[2] = {1000.0 + (double)i, i % 3 == 0 ? NAN : 5.0 * (double)i};
        const struct rm_sampler_cost cost = {.cpu_ns = 1000};
        struct rm_sample sample = {
            .t_ns = i * 1000000000,
            .clock = {1000000000 + (uint64_t)i * 2100000000, 3000000000 + i * 1000000000},
            .values = values};
        rm_series_add(block, &sample, &cost);
    }
}

static struct rm_block filled_block(void)
{
    struct rm_block_sizes sizes = small_sizes();
    sizes.columns = 2;
    struct rm_block block = made_block(&sizes);
    struct rm_source_record *source = rm_block_record(&block, RM_SECTION_SOURCES, 0);
    (void)rm_text_set(source->name, sizeof source->name, "proc_mem");
    source->provenance = RESMON_PROVENANCE_MEASURED;
    source->reads = 11;
    block.header->start = (struct rm_clock_pair){1000000000, 3000000000};
    block.header->start_realtime_ns = INT64_C(1700000000000000000);
    block.header->stop_ns = INT64_C(10000000000);
    block.header->phase = RM_PHASE_STOPPED;
    (void)rm_text_set(block.header->labels[0], RM_LABEL_BYTES, "label");
    rm_facts_add_text(&block, "run", "name", "test");
    rm_facts_add_number(&block, "machine", "cpus", 2.0);
    for (int i = 0; i < 6; i++) {
        rm_tags_add(&block, i, "tag");
    }
    fill_series(&block);
    fill_scopes(&block);
    return block;
}

/* ---- decoding ------------------------------------------------------------------------------- */

/* RESMON_OK, or why not; a run must bear being looked at. */
static resmon_status load(void *memory, uint64_t bytes)
{
    struct rm_block block;
    const struct rm_decode how = {.parts = RM_PART_ALL};
    resmon_status status = rm_block_attach(&block, memory, bytes);
    if (status != RESMON_OK) {
        return status;
    }
    resmon_run *run = NULL;
    char *text = NULL;
    status = rm_run_decode(&block, &how, &run);
    if (status == RESMON_OK) {
        assert_true(run->row_count <= block.header->sizes.rows + 1);
        assert_true(run->tag_count <= block.header->sizes.tags);
        assert_true(run->scope_count < block.header->sizes.nodes);
        for (size_t i = 0; i < run->scope_count; i++) {
            assert_true(run->scopes[i].parent < (int64_t)i);
            assert_true(run->scopes[i].depth <= RM_MAX_DEPTH);
        }
        assert_ok(report_in_full(run, &text));
        resmon_text_free(text);
        resmon_run_free(run);
    }
    return status;
}

TEST(a_whole_block_is_decoded)
{
    struct rm_block block = filled_block();
    struct rm_block attached;
    const struct rm_decode how = {.parts = RM_PART_ALL};
    resmon_run *run = NULL;
    assert_ok(rm_block_attach(&attached, block.base, block.header->total_bytes));
    assert_ok(rm_run_decode(&attached, &how, &run));
    assert_string_equal(run->info.state, "stopped");
    assert_string_equal(run->info.label, "label");
    assert_int_equal(run->info.samples, 11);
    assert_int_equal(run->info.duration_ns, INT64_C(10000000000));
    assert_string_equal(run->columns[0].metric, "proc.mem.rss");
    assert_string_equal(run->columns[0].source, "proc_mem");
    assert_true(run->columns[0].max == 1010.0);
    assert_string_equal(resmon_run_fact(run, "machine", "cpus"), "2");
    assert_int_equal(run->tag_count, 4);
    assert_int_equal(run->info.dropped_tags, 2);
    /* Two trees with the same names: one path each, both threads together. */
    assert_int_equal(run->scope_count, 2);
    assert_string_equal(run->scopes[0].name, "outer");
    assert_int_equal(run->scopes[0].calls, 7);
    assert_int_equal(run->scopes[0].threads, 2);
    assert_int_equal(run->scopes[0].open, 1);
    assert_int_equal(run->scopes[1].parent, 0);
    assert_int_equal(run->scopes[1].calls, 6);
    /* 2.1 ticks per ns; 1e-9: one division. */
    assert_near(run->scopes[0].wall_ns, 10e9 + 600.0 / 2.1, 1.0);
    assert_near(run->scopes[0].open_ns, 10e9, 1e-9 * 10e9);
    resmon_run_free(run);
    free_block(&block);
}

TEST(a_truncated_block_is_refused)
{
    struct rm_block block = filled_block();
    uint64_t bytes = block.header->total_bytes;
    assert_ok(load(block.base, bytes));
    assert_ok(load(block.base, bytes + 4096)); /* more is fine */
    static const uint64_t lengths[] = {
        0, 1, 7, 8, 63, sizeof(struct rm_block_header) - 1, sizeof(struct rm_block_header)};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        /* A copy that ends there: ASan sees who reads on. */
        unsigned char *cut = malloc(lengths[i] + 1);
        assert_non_null(cut);
        memcpy(cut, block.base, lengths[i]);
        assert_status(RESMON_EFORMAT, load(cut, lengths[i]));
        free(cut);
    }
    assert_status(RESMON_EFORMAT, load(block.base, bytes - 1));
    free_block(&block);
}

TEST(another_version_is_named_as_such)
{
    struct rm_block block = filled_block();
    uint64_t bytes = block.header->total_bytes;
    block.header->version++;
    assert_status(RESMON_EVERSION, load(block.base, bytes));
    block.header->version--;
    block.header->byte_order = 0x04030201U;
    assert_status(RESMON_EVERSION, load(block.base, bytes));
    block.header->byte_order = RM_BLOCK_BYTE_ORDER;
    block.header->magic[0] = 'r';
    assert_status(RESMON_EFORMAT, load(block.base, bytes));
    free_block(&block);
}

/* A capture of a live block is filled under locks. */
TEST(filling_a_prepared_run_allocates_nothing)
{
    struct rm_block block = filled_block();
    const struct rm_decode how = {.parts = RM_PART_ALL};
    resmon_run *run = NULL;
    assert_ok(rm_run_prepare(&block, rm_run_measure(&block), RM_PART_ALL, &run));
    int64_t before = rm_fault_live(0);
    assert_ok(rm_run_fill(&block, &how, run));
    assert_int_equal(rm_fault_live(0), before);
    resmon_run *plain = NULL;
    assert_ok(rm_run_decode(&block, &how, &plain));
    assert_int_equal(run->row_count, plain->row_count);
    assert_int_equal(run->scope_count, plain->scope_count);
    assert_int_equal(run->tag_count, plain->tag_count);
    rm_run_free(plain);
    rm_run_free(run);
    free_block(&block);
}

/* The texts of the header: most of it. */
#define TEXT(member)                                                                          \
    {                                                                                         \
        offsetof(struct rm_block_header, member), sizeof((struct rm_block_header *)0)->member \
    }

static const struct {
    size_t offset, bytes;
} texts[] = {
    TEXT(labels[0]),    TEXT(labels[1]),   TEXT(ends[0].text),
    TEXT(ends[1].text), TEXT(memory_name), TEXT(record_path),
};

/* Of a byte of text behind its first eight, the highest bit, which makes another character of it,
 * and one more, each in turn: all characters of a text are read by the same loop. */
static bool is_one_of_many(size_t bit)
{
    size_t byte = bit / 8;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (byte >= texts[i].offset + 8 && byte < texts[i].offset + texts[i].bytes) {
            return bit % 8 != 7 && bit % 8 != byte % 7;
        }
    }
    return false;
}

TEST(any_flipped_bit_of_the_header_is_refused_or_harmless)
{
    struct rm_block block = filled_block();
    uint64_t bytes = block.header->total_bytes;
    size_t refused = 0, decoded = 0, left_out = 0;
    for (size_t bit = 0; bit < 8 * sizeof(struct rm_block_header); bit++) {
        if (is_one_of_many(bit)) {
            left_out++;
            continue;
        }
        block.base[bit / 8] ^= (unsigned char)(1U << bit % 8);
        resmon_status status = load(block.base, bytes);
        block.base[bit / 8] ^= (unsigned char)(1U << bit % 8);
        refused += status == RESMON_EFORMAT || status == RESMON_EVERSION ? 1 : 0;
        decoded += status == RESMON_OK ? 1 : 0;
        /* What says where things are is never believed when it is wrong. */
        if (bit / 8 < offsetof(struct rm_block_header, writer_pid)) {
            assert_true(status == RESMON_EFORMAT || status == RESMON_EVERSION);
        }
    }
    assert_int_equal(refused + decoded + left_out, 8 * sizeof(struct rm_block_header));
    assert_true(decoded > 1000);
    assert_ok(load(block.base, bytes));
    free_block(&block);
}

TEST(damaged_records_are_harmless)
{
    struct random random = {11};
    struct rm_block block = filled_block();
    uint64_t bytes = block.header->total_bytes;
    unsigned char *copy = aligned_alloc(64, bytes);
    assert_non_null(copy);
    for (int round = 0; round < 3000; round++) {
        memcpy(copy, block.base, bytes);
        /* Aim at one section at a time, small ones as often as large ones. */
        const struct rm_section *section =
            &block.header->sections[random_below(&random, RM_SECTION_COUNT)];
        uint64_t wide = section->record_bytes * section->count;
        for (uint64_t k = 0; k < 1 + random_below(&random, 64); k++) {
            static const unsigned char favourites[] = {0x00, 0xff, 0x7f, 0x80, 0x40, 0x01};
            uint64_t choice = random_below(&random, 8);
            copy[section->offset + random_below(&random, wide)] =
                choice < 6 ? favourites[choice] : (unsigned char)random_u64(&random);
        }
        assert_ok(load(copy, bytes));
    }
    free(copy);
    free_block(&block);
}

TEST(node_links_in_a_circle_end)
{
    struct rm_block block = filled_block();
    struct rm_scope_node *node = rm_block_record(&block, RM_SECTION_NODES, 3);
    node->first_child = rm_node_ref_of(2); /* its own parent */
    node->next = rm_node_ref_of(3);        /* itself */
    assert_ok(load(block.base, block.header->total_bytes));
    node->next = rm_node_ref_of(2) + 1; /* not the beginning of a node */
    assert_ok(load(block.base, block.header->total_bytes));
    node->next = UINT32_MAX;
    assert_ok(load(block.base, block.header->total_bytes));
    free_block(&block);
}

TEST(a_damaged_journal_is_harmless)
{
    struct rm_block block = filled_block();
    uint64_t end = block.header->sections[RM_SECTION_NODES].record_bytes *
                   block.header->sections[RM_SECTION_NODES].count;
    const uint64_t targets[] = {0, 1, 3, rm_node_ref_of(2) + 1, end - 1, end, UINT64_MAX};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        block.header->journal.source = rm_node_ref_of(2);
        block.header->journal.target = targets[i];
        block.header->journal.meter_version = i % 2;
        block.header->journal.wall_version = UINT64_C(1) << 32;
        assert_ok(load(block.base, block.header->total_bytes));
    }
    free_block(&block);
}

TEST(clocks_that_ran_anywhere_are_harmless)
{
    static const int64_t times[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    struct rm_block block = filled_block();
    struct rm_commit *commit = rm_block_record(&block, RM_SECTION_STATES, block.header->commit & 1);
    for (size_t i = 0; i < 5; i++) {
        for (size_t k = 0; k < 5; k++) {
            block.header->start = (struct rm_clock_pair){0, times[i]};
            commit->clock = (struct rm_clock_pair){UINT64_MAX, times[k]};
            assert_ok(load(block.base, block.header->total_bytes));
        }
    }
    free_block(&block);
}

/* SPDX-License-Identifier: MIT */
#include "store/layout.h"

#include <string.h>

#include "base/compiler.h"
#include "base/status.h"
#include "store/events.h"
#include "store/run_records.h"
#include "store/scope_energy.h"
#include "store/scope_records.h"
#include "store/scope_tree.h"
#include "store/series.h"
#include "store/stack_record.h"

#define SECTION_ALIGNMENT 64U

struct size_bound {
    const char *name;
    size_t offset;
    uint64_t low, high;
};

#define BOUND(field, low, high)                                       \
    {                                                                 \
#field, offsetof(struct rm_block_sizes, field), (low), (high) \
    }

static const struct size_bound size_bounds[] = {
    BOUND(columns, 0, RM_MAX_COLUMNS),
    BOUND(rows, 2, RM_MAX_ROWS),
    BOUND(sources, 1, RM_MAX_SOURCES),
    BOUND(tags, 1, RM_MAX_TAGS),
    BOUND(sites, 2, RM_MAX_SITES),
    BOUND(nodes, 2, RM_MAX_NODES),
    BOUND(threads, 1, RM_MAX_THREADS),
    BOUND(depth, 1, RM_MAX_DEPTH),
    BOUND(fact_bytes, 1, RM_MAX_FACT_BYTES),
    BOUND(events, 0, RM_MAX_EVENTS),
    BOUND(scope_energy, 0, 1),
    BOUND(stacks, 0, RM_MAX_STACKS),
    BOUND(lines, 0, RM_LINES),
    BOUND(scope_counters, 0, RM_SCOPE_COUNTERS),
    BOUND(scope_tallies, 0, 1),
    BOUND(processes, 0, RM_PROCESS_ROWS),
    BOUND(stack_texts, 0, RM_MAX_TEXTS),
};

static uint64_t align_up(uint64_t bytes)
{
    return (bytes + SECTION_ALIGNMENT - 1) / SECTION_ALIGNMENT * SECTION_ALIGNMENT;
}

static resmon_status check_sizes(const struct rm_block_sizes *sizes)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(size_bounds); i++) {
        const struct size_bound *bound = &size_bounds[i];
        uint64_t value;
        memcpy(&value, (const char *)sizes + bound->offset, sizeof value);
        if (value < bound->low || value > bound->high) {
            return rm_error(RESMON_ERANGE, "%llu %s: a run may have %llu to %llu",
                            (unsigned long long)value, bound->name, (unsigned long long)bound->low,
                            (unsigned long long)bound->high);
        }
    }
    if (sizes->rows % 2 != 0) {
        return rm_error(RESMON_ERANGE, "%llu rows: the number must be even, for halving",
                        (unsigned long long)sizes->rows);
    }
    return RESMON_OK;
}

/* No product here can overflow while the sizes are within their bounds. */
static uint64_t lay_out(const struct rm_block_sizes *sizes,
                        struct rm_section sections[RM_SECTION_COUNT])
{
    const uint64_t has_stacks = sizes->stacks > 0 ? 1 : 0;
    const uint64_t shape[RM_SECTION_COUNT][2] = {
        [RM_SECTION_COLUMNS] = {sizeof(struct rm_column), sizes->columns},
        [RM_SECTION_RECENT] = {sizes->columns * sizeof(double), RM_RECENT_SAMPLES},
        [RM_SECTION_STATES] = {sizeof(struct rm_commit) +
                                   sizes->columns * sizeof(struct rm_column_state),
                               2},
        [RM_SECTION_ROWS] = {sizeof(struct rm_row) + sizes->columns * sizeof(struct rm_cell),
                             sizes->rows + 1},
        [RM_SECTION_SKETCHES] = {sizeof(struct rm_sketch), sizes->columns},
        [RM_SECTION_SOURCES] = {sizeof(struct rm_source_record), sizes->sources},
        [RM_SECTION_TAGS] = {sizeof(struct rm_tag), sizes->tags},
        [RM_SECTION_FACTS] = {1, sizes->fact_bytes},
        [RM_SECTION_SITES] = {sizeof(struct rm_site_record), sizes->sites},
        [RM_SECTION_NODES] = {sizeof(struct rm_scope_node), sizes->nodes},
        [RM_SECTION_THREADS] = {sizeof(struct rm_scope_thread_record) +
                                    (sizes->depth + 1) * sizeof(struct rm_scope_frame),
                                sizes->threads},
        [RM_SECTION_EVENTS] = {rm_event_ring_bytes(sizes->events),
                               sizes->events > 0 ? sizes->threads : 0},
        [RM_SECTION_SCOPE_ENERGY] = {sizeof(struct rm_scope_energy_record),
                                     sizes->scope_energy * sizes->nodes},
        [RM_SECTION_STACK_RECORD] = {sizeof(struct rm_stack_record), has_stacks},
        [RM_SECTION_STACK_NODES] = {sizeof(struct rm_stack_node),
                                    sizes->stacks * RM_STACK_NODES_EACH},
        [RM_SECTION_STACKS] = {sizeof(struct rm_stack_entry), sizes->stacks},
        [RM_SECTION_MODULES] = {sizeof(struct rm_module_entry), has_stacks * RM_STACK_MODULES},
        [RM_SECTION_PEAK_STACKS] = {sizeof(struct rm_peak_entry),
                                    has_stacks * 2 * RM_STACK_PEAK_THREADS},
        [RM_SECTION_LINES] = {sizeof(struct rm_line_record), sizes->lines},
        [RM_SECTION_COUNTERS] = {sizeof(struct rm_counter_record), sizes->scope_counters},
        [RM_SECTION_SCOPE_COUNTERS] = {sizeof(struct rm_scope_counts_record),
                                       sizes->scope_counters > 0 ? sizes->nodes : 0},
        [RM_SECTION_SCOPE_TALLIES] = {sizeof(struct rm_tallies_record),
                                      sizes->scope_tallies * sizes->nodes},
        [RM_SECTION_PROCESSES] = {sizeof(struct rm_process_row), sizes->processes},
        [RM_SECTION_STACK_TEXTS] = {1, has_stacks * sizes->stack_texts},
    };
    uint64_t offset = align_up(sizeof(struct rm_block_header));
    for (size_t i = 0; i < RM_SECTION_COUNT; i++) {
        sections[i] = (struct rm_section){offset, shape[i][0], shape[i][1]};
        offset = align_up(offset + shape[i][0] * shape[i][1]);
    }
    return offset;
}

static size_t largest_of(const struct rm_section sections[RM_SECTION_COUNT])
{
    size_t largest = 0;
    for (size_t i = 1; i < RM_SECTION_COUNT; i++) {
        uint64_t bytes = sections[i].record_bytes * sections[i].count;
        largest = bytes > sections[largest].record_bytes * sections[largest].count ? i : largest;
    }
    return largest;
}

/* The option that makes each section large. A section that is not listed grows with the number of
 * call paths. */
static const char *const section_options[RM_SECTION_COUNT] = {
    [RM_SECTION_ROWS] = "rows",
    [RM_SECTION_EVENTS] = "events",
    [RM_SECTION_TAGS] = "tags",
    [RM_SECTION_THREADS] = "scope_threads",
};

resmon_status rm_block_measure(const struct rm_block_sizes *sizes, uint64_t *ret_bytes)
{
    struct rm_section sections[RM_SECTION_COUNT];
    resmon_status status = check_sizes(sizes);
    if (status != RESMON_OK) {
        return status;
    }
    *ret_bytes = lay_out(sizes, sections);
    if (*ret_bytes > RM_MAX_RUN_BYTES) {
        const char *largest = section_options[largest_of(sections)];
        return rm_error(RESMON_ERANGE,
                        "%s: a run of %llu rows, %llu columns, %llu call paths and %llu threads "
                        "with %llu events each takes %llu bytes, most of them for this option; the "
                        "limit is %llu: lower the option",
                        largest != NULL ? largest : "scope_paths", (unsigned long long)sizes->rows,
                        (unsigned long long)sizes->columns, (unsigned long long)sizes->nodes,
                        (unsigned long long)sizes->threads, (unsigned long long)sizes->events,
                        (unsigned long long)*ret_bytes, (unsigned long long)RM_MAX_RUN_BYTES);
    }
    return RESMON_OK;
}

void rm_block_format(struct rm_block *block, void *memory, const struct rm_block_sizes *sizes)
{
    struct rm_block_header *header = memory;
    memcpy(header->magic, RM_BLOCK_MAGIC, sizeof header->magic);
    header->version = RM_BLOCK_VERSION;
    header->byte_order = RM_BLOCK_BYTE_ORDER;
    header->sizes = *sizes;
    header->total_bytes = lay_out(sizes, header->sections);
    header->phase = RM_PHASE_STARTING;
    *block = (struct rm_block){.base = memory, .header = header};
}

static resmon_status check_header(const struct rm_block_header *header, uint64_t bytes)
{
    if (bytes < sizeof *header ||
        memcmp(header->magic, RM_BLOCK_MAGIC, sizeof header->magic) != 0) {
        return rm_error(RESMON_EFORMAT, "not a recording of libresmon");
    }
    if (header->byte_order != RM_BLOCK_BYTE_ORDER || header->version != RM_BLOCK_VERSION) {
        return rm_error(RESMON_EVERSION,
                        "a recording of format %u, made on another kind of machine or by another "
                        "version of libresmon; this one reads format %u",
                        header->version, RM_BLOCK_VERSION);
    }
    if (header->total_bytes > bytes) {
        return rm_error(RESMON_EFORMAT, "the recording is truncated: %llu of %llu bytes",
                        (unsigned long long)bytes, (unsigned long long)header->total_bytes);
    }
    return RESMON_OK;
}

resmon_status rm_block_attach(struct rm_block *block, void *memory, uint64_t bytes)
{
    struct rm_block_header *header = memory;
    resmon_status status = check_header(header, bytes);
    if (status != RESMON_OK) {
        return status;
    }
    struct rm_section sections[RM_SECTION_COUNT];
    if (check_sizes(&header->sizes) != RESMON_OK ||
        lay_out(&header->sizes, sections) != header->total_bytes ||
        memcmp(sections, header->sections, sizeof sections) != 0) {
        return rm_error(RESMON_EFORMAT, "the recording's table of contents is damaged");
    }
    *block = (struct rm_block){.base = memory, .header = header};
    return RESMON_OK;
}

static uint64_t whole_in(const struct rm_section *section, uint64_t bytes)
{
    uint64_t records = bytes > section->offset && section->record_bytes > 0
                           ? (bytes - section->offset) / section->record_bytes
                           : 0;
    return records < section->count ? records : section->count;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Keeps the rows that are whole. None is kept if the block is in the middle of a halving: its row 0
 * is in the spare row, behind all others. */
static void clip_rows(const struct rm_block *block)
{
    struct rm_block_header *header = block->header;
    for (uint64_t copy = 0; copy < 2; copy++) {
        struct rm_commit *state = rm_block_record(block, RM_SECTION_STATES, copy);
        bool is_halving = header->merge_progress >> 32 == state->halvings + 1;
        state->rows = is_halving ? 0 : least(state->rows, header->sections[RM_SECTION_ROWS].count);
    }
}

/* Clears the groups of sections that mean nothing unless each of their sections is whole. */
static void clip_groups(struct rm_block_header *header, const bool *is_cut)
{
    static const enum rm_section_id stacks[] = {RM_SECTION_STACK_RECORD, RM_SECTION_STACK_NODES,
                                                RM_SECTION_STACKS,       RM_SECTION_MODULES,
                                                RM_SECTION_PEAK_STACKS,  RM_SECTION_STACK_TEXTS};
    static const enum rm_section_id facets[] = {RM_SECTION_SCOPE_ENERGY, RM_SECTION_COUNTERS,
                                                RM_SECTION_SCOPE_COUNTERS,
                                                RM_SECTION_SCOPE_TALLIES};
    for (size_t i = 0; i < RM_ARRAY_LEN(stacks); i++) {
        header->sizes.stacks = is_cut[stacks[i]] ? 0 : header->sizes.stacks;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(facets); i++) {
        header->sections[facets[i]].count *= is_cut[facets[i]] ? 0 : 1;
    }
    if (is_cut[RM_SECTION_COUNTERS] || is_cut[RM_SECTION_SCOPE_COUNTERS]) {
        header->sizes.scope_counters = 0;
        header->sections[RM_SECTION_SCOPE_COUNTERS].count = 0;
    }
    if (is_cut[RM_SECTION_SCOPE_TALLIES]) {
        header->sizes.scope_tallies = 0;
    }
    if (is_cut[RM_SECTION_SCOPE_ENERGY]) {
        header->energy_divisions = 0;
    }
    if (is_cut[RM_SECTION_EVENTS]) {
        header->sizes.events = 0;
        header->sections[RM_SECTION_EVENTS].count = 0;
    }
}

resmon_status rm_block_clip(const struct rm_block *block, uint64_t bytes)
{
    struct rm_block_header *header = block->header;
    bool is_cut[RM_SECTION_COUNT];
    for (int id = 0; id < RM_SECTION_COUNT; id++) {
        struct rm_section *section = &header->sections[id];
        uint64_t whole = whole_in(section, bytes);
        is_cut[id] = whole < section->count;
        if (is_cut[id] && id <= RM_SECTION_STATES) {
            return rm_error(RESMON_EFORMAT, "the recording is truncated: %llu of %llu bytes",
                            (unsigned long long)bytes, (unsigned long long)header->total_bytes);
        }
        section->count = whole;
    }
    if (is_cut[RM_SECTION_ROWS]) {
        clip_rows(block);
    }
    header->sizes.sources = header->sections[RM_SECTION_SOURCES].count;
    header->fact_length = least(header->fact_length, header->sections[RM_SECTION_FACTS].count);
    header->sizes.sites = header->sections[RM_SECTION_SITES].count;
    header->sizes.nodes = header->sections[RM_SECTION_NODES].count;
    header->sizes.threads = header->sections[RM_SECTION_THREADS].count;
    header->process_count =
        least(header->process_count, header->sections[RM_SECTION_PROCESSES].count);
    clip_groups(header, is_cut);
    return RESMON_OK;
}

uint64_t rm_block_front(const struct rm_block_header *header, uint64_t bytes)
{
    const struct rm_section *states = &header->sections[RM_SECTION_STATES];
    uint64_t size = states->record_bytes < bytes ? states->record_bytes * states->count : bytes;
    uint64_t end = states->offset < bytes ? states->offset + size : bytes;
    return end < bytes && end >= sizeof *header ? end : bytes;
}

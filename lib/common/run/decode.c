/* SPDX-License-Identifier: MIT */
/* Run block -> run. Trusts only what rm_block_attach() has checked in the block. */
#include <signal.h>
#include <string.h>

#include "base/compiler.h"
#include "metric/metric.h"
#include "run/decode_profile.h"
#include "run/record.h"
#include "run/run.h"
#include "store/end.h"
#include "store/layout.h"
#include "store/run_records.h"
#include "store/sketch.h"

/* ---- processes -------------------------------------------------------------------------- */

static void set_end(const struct rm_process_row *row, uint32_t known, resmon_run_process *process)
{
    process->reason = (known & RM_PROCESS_HAS_ENDED) == 0 ? RESMON_END_RUNNING : RESMON_END_UNKNOWN;
    if ((known & RM_PROCESS_HAS_STATUS) != 0) {
        const resmon_run_end end = rm_end_of_status((int)row->wait_status);
        process->reason = end.reason;
        process->exit_status = end.exit_status;
        process->signal_number = end.signal_number;
    }
}

static resmon_run_process decode_process(const struct rm_process_row *row, int64_t duration_ns)
{
    uint32_t known = RM_LOAD_ACQUIRE(&row->known);
    int64_t end_ns = (known & RM_PROCESS_HAS_ENDED) != 0 ? RM_LOAD(&row->end_ns) : duration_ns;
    bool has_cpu = (known & RM_PROCESS_HAS_CPU) != 0;
    bool has_peak = (known & RM_PROCESS_HAS_PEAK) != 0;
    resmon_run_process process = {
        .pid = (int64_t)(row->pid & UINT32_MAX),
        .parent_pid = (int64_t)(row->parent & UINT32_MAX),
        .start_ns = row->start_ns,
        .duration_ns = end_ns > row->start_ns ? end_ns - row->start_ns : 0,
        .cpu_s = has_cpu ? (double)RM_LOAD(&row->cpu_ns) * 1e-9 : RM_NAN,
        .cpu_provenance = !has_cpu                                   ? RESMON_PROVENANCE_NONE
                          : (known & RM_PROCESS_CPU_IS_SAMPLED) != 0 ? RESMON_PROVENANCE_SAMPLED
                                                                     : RESMON_PROVENANCE_MEASURED,
        .rss_peak_bytes = has_peak ? (double)RM_LOAD(&row->rss_peak) : RM_NAN,
        .rss_peak_provenance = !has_peak ? RESMON_PROVENANCE_NONE
                               : (known & RM_PROCESS_PEAK_IS_EXACT) != 0
                                   ? RESMON_PROVENANCE_MEASURED
                                   : RESMON_PROVENANCE_SAMPLED,
    };
    set_end(row, known, &process);
    return process;
}

resmon_status rm_run_decode_processes(const struct rm_block *block, struct resmon_run *run)
{
    uint64_t room = block->header->sections[RM_SECTION_PROCESSES].count;
    uint64_t count = RM_LOAD_ACQUIRE(&block->header->process_count);
    count = count < room ? count : room;
    run->info.dropped_processes = RM_LOAD(&block->header->dropped_processes);
    if (count == 0) {
        return RESMON_OK;
    }
    run->processes = rm_arena_alloc(&run->strings, count, sizeof *run->processes);
    run->process_count = run->processes != NULL ? count : 0;
    for (uint64_t i = 0; i < run->process_count; i++) {
        const struct rm_process_row *row = rm_block_record(block, RM_SECTION_PROCESSES, i);
        resmon_run_process *process = &run->processes[i];
        *process = decode_process(row, run->info.duration_ns);
        process->name = rm_arena_keep(&run->strings, row->name, sizeof row->name);
    }
    return rm_run_check_memory(run);
}

/* ---- checkpoints of lines --------------------------------------------------------------- */

/* Upper bound of what decode_lines() allocates. */
static size_t bytes_of_lines(void)
{
    size_t texts = RM_LINE_FILE_BYTES + RM_LINE_FUNCTION_BYTES + (size_t)3 * RM_ARENA_SLACK;
    return RM_LINES * (sizeof(resmon_run_line) + texts);
}

static void decode_lines(const struct rm_block *block, double ns_per_tick, struct resmon_run *run)
{
    uint64_t room = block->header->sections[RM_SECTION_LINES].count;
    uint64_t count = RM_LOAD_ACQUIRE(&block->header->line_count);
    count = count < room ? count : room;
    run->lines = rm_arena_alloc(&run->strings, count, sizeof *run->lines);
    run->line_count = run->lines != NULL ? count : 0;
    for (uint64_t i = 0; i < run->line_count; i++) {
        const struct rm_line_record *record = rm_block_record(block, RM_SECTION_LINES, i);
        resmon_run_line *line = &run->lines[i];
        line->file = rm_arena_keep(&run->strings, record->file, sizeof record->file);
        line->function = rm_arena_keep(&run->strings, record->function, sizeof record->function);
        line->line = (uint32_t)record->line;
        line->hits = RM_LOAD(&record->hits);
        line->wall_ns = (double)RM_LOAD(&record->ticks) * ns_per_tick;
        line->rss_hits = RM_LOAD(&record->rss_hits);
        line->rss_bytes =
            line->rss_hits > 0 ? (double)(int64_t)RM_LOAD(&record->rss_bytes) : RM_NAN;
        uint64_t highest = RM_LOAD(&record->rss_highest);
        line->rss_max_bytes = highest > 0 ? (double)highest : RM_NAN;
    }
}

/* ---- all of a run ----------------------------------------------------------------------- */

static void decode_facts(const struct rm_block *block, struct resmon_run *run)
{
    struct rm_fact fact;
    uint64_t position = 0;
    size_t count = 0;
    while (rm_facts_next(block, &position, &fact)) {
        count++;
    }
    run->facts = rm_arena_alloc(&run->strings, count, sizeof *run->facts);
    count = run->facts != NULL ? count : 0;
    position = 0;
    while (run->fact_count < count && rm_facts_next(block, &position, &fact)) {
        run->facts[run->fact_count++] = (struct rm_fact){
            .kind = fact.kind,
            .group = rm_arena_keep(&run->strings, fact.group, SIZE_MAX),
            .key = rm_arena_keep(&run->strings, fact.key, SIZE_MAX),
            .value = rm_arena_keep(&run->strings, fact.value, SIZE_MAX),
        };
    }
}

static void decode_sources(const struct rm_block *block, struct resmon_run *run)
{
    size_t count = block->header->sizes.sources;
    run->sources = rm_arena_alloc(&run->strings, count, sizeof *run->sources);
    run->source_count = run->sources != NULL ? count : 0;
    for (size_t i = 0; i < run->source_count; i++) {
        const struct rm_source_record *record = rm_block_record(block, RM_SECTION_SOURCES, i);
        resmon_run_source *source = &run->sources[i];
        source->name = rm_arena_keep(&run->strings, record->name, sizeof record->name);
        source->reason = rm_arena_keep(&run->strings, record->reason, sizeof record->reason);
        source->status = record->status;
        source->provenance = record->provenance;
        source->reads = record->reads;
        source->failures = record->failures;
        source->cost_ns = record->cost_ns;
        source->cost_max_ns = record->cost_max_ns;
        source->every = record->every;
    }
}

/* The middle of a sketch's bin may be outside of the range of the samples. */
static double quantile_of(const struct rm_block *block, uint64_t index, double share,
                          const resmon_column *column)
{
    double recent[RM_RECENT_SAMPLES];
    if (column->min == column->max) {
        return column->min;
    }
    size_t count = rm_series_recent(block, index, recent);
    const struct rm_sketch *sketch = rm_series_sketch(block, index);
    if (sketch == NULL && rm_series_state(block)->samples >= RM_RECENT_SAMPLES) {
        return RM_NAN; /* the end of the recording is missing */
    }
    double found = rm_sketch_quantile(sketch, recent, count, share, column->min, column->max);
    return rm_lesser(rm_greater(found, column->min), column->max);
}

void rm_run_set_statistics(resmon_column *column, const struct rm_stats *stats)
{
    if (stats->n == 0) {
        return;
    }
    column->n = stats->n;
    column->resets = stats->resets;
    column->first = stats->first;
    column->last = stats->all.last;
    column->min = stats->all.min;
    column->max = stats->all.max;
    column->mean = rm_cell_mean(&stats->all, column->kind == RESMON_COUNTER);
    column->integral = stats->all.sum;
    column->duration_s = stats->all.weight;
    memcpy(column->over_s, stats->over, sizeof column->over_s);
}

static void set_statistics(resmon_column *column, const struct rm_block *block, uint64_t index)
{
    const struct rm_stats *stats = &rm_series_columns(rm_series_state(block))[index].stats;
    rm_run_set_statistics(column, stats);
    if (stats->n > 0) {
        column->p50 = quantile_of(block, index, 0.50, column);
        column->p95 = quantile_of(block, index, 0.95, column);
    }
}

static void decode_columns(const struct rm_block *block, struct resmon_run *run)
{
    size_t count = block->header->sizes.columns;
    const struct rm_column *columns = rm_block_record(block, RM_SECTION_COLUMNS, 0);
    resmon_column blank = {0};
    rm_record_clear(RM_RECORD_statistics, &blank);
    run->columns = rm_arena_alloc(&run->strings, count, sizeof *run->columns);
    run->column_count = run->columns != NULL ? count : 0;
    for (size_t i = 0; i < run->column_count; i++) {
        const struct rm_metric *metric = rm_metric_of(columns[i].metric);
        resmon_column *column = &run->columns[i];
        *column = blank;
        column->metric = metric != NULL ? rm_metric_name(metric) : "unknown";
        column->unit = metric != NULL ? rm_metric_unit(metric) : "1";
        column->level = metric != NULL ? metric->level : RESMON_LEVEL_NODE;
        column->kind = columns[i].kind;
        column->source = columns[i].source < run->source_count
                             ? run->sources[columns[i].source].name
                             : "unknown";
        column->instance =
            rm_arena_keep(&run->strings, columns[i].instance, sizeof columns[i].instance);
        set_statistics(column, block, i);
    }
}

static void set_cell(struct resmon_run *run, size_t column, size_t row, const struct rm_cell *cell)
{
    int is_counter = run->columns[column].kind == RESMON_COUNTER;
    rm_run_series(run, column, RESMON_SERIES_LAST)[row] = cell->last;
    rm_run_series(run, column, RESMON_SERIES_MIN)[row] = cell->min;
    rm_run_series(run, column, RESMON_SERIES_MAX)[row] = cell->max;
    rm_run_series(run, column, RESMON_SERIES_MEAN)[row] = rm_cell_mean(cell, is_counter);
}

static void set_span(struct resmon_run *run, size_t row, const struct rm_span *span)
{
    run->t_first[row] = span->t_first;
    run->t_last[row] = span->t_last;
    run->row_samples[row] = span->n;
}

struct row_visit {
    struct resmon_run *run;
    size_t next;
    size_t room;
};

static void take_row(void *context, const struct rm_row *row)
{
    struct row_visit *visit = context;
    if (visit->next >= visit->room) {
        return;
    }
    set_span(visit->run, visit->next, &row->span);
    for (size_t c = 0; c < visit->run->column_count; c++) {
        set_cell(visit->run, c, visit->next, &row->cells[c]);
    }
    visit->next++;
}

static void count_row(void *context, const struct rm_row *row)
{
    (void)row;
    ++*(size_t *)context;
}

static void decode_rows(const struct rm_block *block, struct resmon_run *run)
{
    const struct rm_commit *state = rm_series_state(block);
    const struct rm_column_state *open = rm_series_columns(state);
    size_t complete = 0;
    rm_series_visit(block, count_row, &complete);
    size_t rows = complete + (state->open.n > 0 ? 1 : 0);
    run->t_first = rm_arena_alloc(&run->strings, rows, sizeof *run->t_first);
    run->t_last = rm_arena_alloc(&run->strings, rows, sizeof *run->t_last);
    run->row_samples = rm_arena_alloc(&run->strings, rows, sizeof *run->row_samples);
    run->values = rm_arena_alloc(&run->strings, rows * RM_SERIES_KINDS,
                                 run->column_count * sizeof *run->values);
    if (run->strings.is_broken) {
        return;
    }
    run->row_count = rows;
    struct row_visit visit = {.run = run, .room = complete};
    rm_series_visit(block, take_row, &visit);
    if (state->open.n > 0) {
        set_span(run, complete, &state->open);
        for (size_t c = 0; c < run->column_count; c++) {
            set_cell(run, c, complete, &open[c].open);
        }
    }
}

static void decode_tags(const struct rm_block *block, struct resmon_run *run)
{
    uint64_t count = rm_tags_count(block);
    uint64_t oldest = rm_tags_oldest(block);
    run->tags = rm_arena_alloc(&run->strings, count - oldest, sizeof *run->tags);
    for (uint64_t number = oldest; number < count && run->tags != NULL; number++) {
        struct rm_tag tag;
        if (rm_tags_get(block, number, &tag)) {
            resmon_run_tag *copy = &run->tags[run->tag_count++];
            copy->t_ns = tag.t_ns;
            copy->label = rm_arena_keep(&run->strings, tag.label, sizeof tag.label);
        }
    }
    run->info.dropped_tags = count - run->tag_count;
}

static void decode_label(const struct rm_block *block, struct resmon_run *run)
{
    const struct rm_block_header *header = block->header;
    char label[RM_LABEL_BYTES];
    for (int tries = 0; tries < 100; tries++) {
        uint64_t before = RM_LOAD_ACQUIRE(&header->label_version);
        for (size_t i = 0; i < sizeof label; i++) {
            label[i] = RM_LOAD(&header->labels[before & 1][i]);
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (RM_LOAD(&header->label_version) == before) {
            break;
        }
    }
    run->info.label = rm_arena_keep(&run->strings, label, sizeof label);
}

/* For a running program, the recorded end is only the end that applies if the program is killed
 * now. */
static void decode_end(const struct rm_block *block, struct resmon_run *run)
{
    struct rm_end_record record;
    rm_end_load(block->header, &record);
    run->end =
        (resmon_run_end){.reason = record.reason,
                         .exit_status = record.exit_status,
                         .signal_number = record.signal_number,
                         .text = rm_arena_keep(&run->strings, record.text, sizeof record.text)};
}

/* Converts a stored number of bytes plus 1; 0: not known. */
static double bytes_of(uint64_t bytes_1)
{
    return bytes_1 > 0 ? (double)(bytes_1 - 1) : RM_NAN;
}

static void set_costs(resmon_run_info *info, const struct rm_sampler_cost *cost)
{
    info->sampler_cpu_ns = cost->cpu_ns;
    info->sampler_wall_ns = cost->wall_ns;
    info->sampler_wall_max_ns = cost->wall_max_ns;
    info->late_samples = cost->late;
    info->skipped_samples = cost->skipped;
    info->delivery_cpu_ns = cost->delivery_ns;
    info->gpus_cpu_ns = cost->gpus_ns;
    info->stacks_cpu_ns = cost->stacks_ns;
    info->handlers_ns = cost->handlers_ns;
    info->dropped_rows = cost->undelivered;
    rm_run_sum_costs(info);
}

static void decode_run_facts(const struct rm_block *block, const struct rm_decode *how,
                             struct resmon_run *run)
{
    const struct rm_block_header *header = block->header;
    const struct rm_commit *state = rm_series_state(block);
    uint32_t phase = RM_LOAD_ACQUIRE(&header->phase);
    int is_stopped = phase == RM_PHASE_STOPPED;
    run->info.state = is_stopped                        ? "stopped"
                      : how->is_live || how->is_written ? "running"
                                                        : "interrupted";
    run->info.start_realtime_ns = header->start_realtime_ns;
    run->info.duration_ns = is_stopped ? header->stop_ns : state->t_ns;
    run->info.samples = state->samples;
    run->info.stride = state->stride;
    run->info.halvings = state->halvings;
    set_costs(&run->info, &state->cost);
    run->info.memory_bytes = header->total_bytes;
    run->info.rss_bytes =
        bytes_of(RM_LOAD(&header->own_rss_1)) + (double)RM_LOAD(&header->own_stacks_rss);
    run->info.work_rss_bytes = bytes_of(RM_LOAD(&header->own_work_rss_1));
    run->keeps_events = header->sizes.events > 0;
    run->info.dropped_threads = RM_LOAD(&header->dropped_threads);
    run->info.dropped_paths = RM_LOAD(&header->dropped_paths);
    run->info.dropped_scopes = RM_LOAD(&header->dropped_scopes) + run->info.dropped_paths;
    run->info.stale_ends = RM_LOAD(&header->stale_ends);
    run->info.misordered_ends = RM_LOAD(&header->misordered_ends);
    run->info.dropped_lines = RM_LOAD(&header->dropped_lines);
    run->info.dropped_forks = RM_LOAD(&header->dropped_forks);
}

/* The parent of a killed process gets SIGKILL alone as the reason; the OOM kills of its cgroup
 * explain it. */
static void set_out_of_memory_end(struct resmon_run *run)
{
    const resmon_column *kills = rm_run_statistics_of(run, RM_CG_MEM_EVENTS_OOM_KILL, NULL);
    bool is_killed = run->end.reason == RESMON_END_KILLED && run->end.signal_number == SIGKILL;
    if (is_killed && run->end.text[0] == '\0' && kills != NULL && kills->last > 0.0) {
        run->end.text = RM_END_OUT_OF_MEMORY;
    }
}

static double ns_per_tick_of(const struct rm_block *block, const struct rm_decode *how)
{
    const struct rm_commit *state = rm_series_state(block);
    struct rm_clock_pair to = how->is_live ? how->now : state->clock;
    return rm_clock_ns_per_tick(block->header->start, to);
}

/* If the memory for one part is missing, the other parts are still decoded: the run's arena records
 * the failure. */
static void decode_parts(const struct rm_block *block, const struct rm_decode *how,
                         struct resmon_run *run)
{
    double ns_per_tick = ns_per_tick_of(block, how);
    decode_label(block, run);
    (void)rm_usage_load(block->header, &run->usage);
    decode_end(block, run);
    decode_facts(block, run);
    decode_sources(block, run);
    if ((how->parts & (RM_PART_SUMMARY | RM_PART_SERIES)) != 0) {
        decode_columns(block, run);
        set_out_of_memory_end(run);
    }
    if ((how->parts & RM_PART_SERIES) != 0) {
        decode_rows(block, run);
    }
    if ((how->parts & RM_PART_TAGS) != 0) {
        decode_tags(block, run);
    }
    if ((how->parts & RM_PART_SCOPES) != 0) {
        rm_run_decode_scopes(block, how, ns_per_tick, run);
        decode_lines(block, ns_per_tick, run);
    }
    if ((how->parts & RM_PART_EVENTS) != 0) {
        rm_run_catch_events(block, how, ns_per_tick, run);
    }
}

static uint64_t at_most(uint64_t used, uint64_t more, uint64_t room)
{
    return used + more < room ? used + more : room;
}

struct rm_run_extent rm_run_measure(const struct rm_block *block)
{
    const struct rm_block_header *header = block->header;
    const struct rm_block_sizes *sizes = &header->sizes;
    return (struct rm_run_extent){
        .rows = at_most(rm_series_state(block)->rows + 1, 8, sizes->rows + 1),
        .tags = at_most(rm_tags_count(block), 32, sizes->tags),
        .nodes = at_most(RM_LOAD_ACQUIRE(&header->node_count), 64, sizes->nodes),
        .fact_bytes = at_most(RM_LOAD_ACQUIRE(&header->fact_length), 1024, sizes->fact_bytes),
        .events = rm_run_events_extent(block),
    };
}

/* Upper bound of what decode_parts() allocates. */
static size_t bytes_of_parts(const struct rm_block_sizes *sizes, const struct rm_run_extent *extent,
                             unsigned parts)
{
    size_t fact = sizeof(struct rm_fact) + 3 * (size_t)RM_ARENA_SLACK;
    size_t source =
        sizeof(resmon_run_source) + sizeof(struct rm_source_record) + 2 * (size_t)RM_ARENA_SLACK;
    size_t column = sizeof(resmon_column) + RM_INSTANCE_BYTES + RM_ARENA_SLACK;
    size_t row = 3 * sizeof(int64_t) + sizes->columns * RM_SERIES_KINDS * sizeof(double);
    size_t tag = sizeof(resmon_run_tag) + RM_TAG_LABEL_BYTES + RM_ARENA_SLACK;
    /* A fact takes at least 8 bytes of the block; each list is one allocation. */
    size_t bytes = RM_LABEL_BYTES + RM_END_TEXT_BYTES + 17 * (size_t)RM_ARENA_SLACK +
                   2 * extent->fact_bytes + extent->fact_bytes / 8 * fact + sizes->sources * source;
    if ((parts & (RM_PART_SUMMARY | RM_PART_SERIES)) != 0) {
        bytes += sizes->columns * column;
    }
    bytes += (parts & RM_PART_SERIES) != 0 ? extent->rows * row : 0;
    bytes += (parts & RM_PART_TAGS) != 0 ? extent->tags * tag : 0;
    bytes += (parts & RM_PART_SCOPES) != 0 ? rm_run_scopes_result(extent->nodes) : 0;
    bytes += (parts & RM_PART_SCOPES) != 0 ? bytes_of_lines() : 0;
    return bytes;
}

resmon_status rm_run_prepare(const struct rm_block *block, struct rm_run_extent extent,
                             unsigned parts, struct resmon_run **ret_run)
{
    struct resmon_run *run = rm_run_new();
    size_t result = bytes_of_parts(&block->header->sizes, &extent, parts);
    size_t working = (parts & RM_PART_SCOPES) != 0 ? rm_run_scopes_working(extent.nodes) : 0;
    if ((parts & RM_PART_EVENTS) != 0) {
        working += rm_run_events_working(&block->header->sizes, extent.events);
    }
    if (run == NULL || !rm_arena_reserve(&run->strings, result) ||
        (working > 0 && !rm_arena_reserve(&run->working, working))) {
        rm_run_free(run);
        return rm_run_out_of_memory();
    }
    run->event_room = extent.events;
    *ret_run = run;
    return RESMON_OK;
}

resmon_status rm_run_fill(const struct rm_block *block, const struct rm_decode *how,
                          struct resmon_run *run)
{
    decode_run_facts(block, how, run);
    decode_parts(block, how, run);
    return rm_run_check_memory(run);
}

resmon_status rm_run_decode(const struct rm_block *block, const struct rm_decode *how,
                            struct resmon_run **ret_run)
{
    struct resmon_run *run = rm_run_new();
    if (run == NULL) {
        return rm_run_out_of_memory();
    }
    resmon_status status = rm_run_fill(block, how, run);
    if (status == RESMON_OK) {
        status = rm_run_finish(block, run);
    }
    if (status == RESMON_OK) {
        status = rm_run_decode_processes(block, run);
    }
    if (status != RESMON_OK) {
        rm_run_free(run);
        return status;
    }
    if ((how->parts & RM_PART_STACKS) != 0) {
        rm_run_decode_stacks(block, run);
    }
    *ret_run = run;
    return RESMON_OK;
}

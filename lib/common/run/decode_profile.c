/* SPDX-License-Identifier: MIT */
#include "run/decode_profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/human.h"
#include "store/published.h"
#include "store/scope_tree.h"
#include "store/stack_record.h"

/* The result for the tree: for each node, the place of its address, or its scope. */
struct reader {
    const struct rm_block *block;
    struct resmon_run *run;
    const struct rm_stack_record *record;
    const struct rm_stack_node *nodes;
    uint32_t *places; /* by node: its place; of a scope: its index in the run plus 1 */
    uint64_t node_count;
    size_t frame_room;
};

static uint64_t at_most(uint64_t count, const struct rm_block *block, enum rm_section_id section)
{
    uint64_t room = block->header->sections[section].count;
    return count < room ? count : room;
}

/* ---- modules ---------------------------------------------------------------------------- */

static void decode_module(struct resmon_run *run, const struct rm_module_entry *entry,
                          struct rm_run_module *module)
{
    char hex[2 * RM_BUILD_ID_BYTES + 1] = "";
    uint64_t length = entry->build_id_length;
    for (uint64_t i = 0; i < length && i < RM_BUILD_ID_BYTES; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", entry->build_id[i]);
    }
    module->path = rm_arena_keep(&run->strings, entry->path, sizeof entry->path);
    module->build_id = rm_arena_keep(&run->strings, hex, sizeof hex);
    module->start = entry->start;
    module->end = entry->end;
    module->bias = entry->bias;
}

static int by_start(const void *a_, const void *b_)
{
    const struct rm_run_module *a = a_;
    const struct rm_run_module *b = b_;
    return a->start != b->start ? (a->start < b->start ? -1 : 1) : 0;
}

static void decode_modules(struct reader *reader)
{
    struct rm_run_profile *profile = &reader->run->profile;
    uint64_t count =
        at_most(RM_LOAD_ACQUIRE(&reader->record->module_count), reader->block, RM_SECTION_MODULES);
    profile->modules = rm_arena_alloc(&reader->run->strings, count, sizeof *profile->modules);
    if (profile->modules == NULL) {
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        decode_module(reader->run, rm_block_record(reader->block, RM_SECTION_MODULES, i),
                      &profile->modules[i]);
    }
    profile->module_count = count;
    qsort(profile->modules, count, sizeof *profile->modules, by_start);
}

static bool is_alike(const struct rm_run_module *a, const struct rm_run_module *b)
{
    return a->bias == b->bias && strcmp(a->path, b->path) == 0;
}

/* The module of an address; none if different modules were mapped at this address one after the
 * other, because the address does not identify one. Modules are few, and overlapping modules are
 * adjacent. */
static int64_t module_of(const struct rm_run_profile *profile, uint64_t address)
{
    size_t low = 0;
    size_t high = profile->module_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (profile->modules[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct rm_run_module *modules = profile->modules;
    int64_t found = -1;
    for (size_t tries = 0; low-- > 0 && tries < 8; tries++) {
        if (address >= modules[low].end) {
            continue;
        }
        if (found >= 0 && !is_alike(&modules[found], &modules[low])) {
            return -1;
        }
        found = (int64_t)low;
    }
    return found;
}

/* ---- nodes ------------------------------------------------------------------------------ */

/* The scope of a site's name inside of a parent scope. Scopes of the run are in preorder. */
static uint32_t scope_of(const struct reader *reader, uint32_t parent, uint64_t site)
{
    const struct resmon_run *run = reader->run;
    const char *name = rm_site_at(reader->block, (uint32_t)site)->name;
    for (size_t i = parent; i < run->scope_count; i++) {
        if (parent > 0 && run->scopes[i].depth <= run->scopes[parent - 1].depth) {
            break; /* in preorder, the scopes inside of the parent end here */
        }
        if (run->scopes[i].parent == (int64_t)parent - 1 &&
            strncmp(run->scopes[i].name, name, RM_SITE_NAME_BYTES - 1) == 0) {
            return (uint32_t)i + 1;
        }
    }
    return parent;
}

struct address_of_node {
    uint64_t address;
    uint32_t node;
};

static int by_address(const void *a_, const void *b_)
{
    const struct address_of_node *a = a_;
    const struct address_of_node *b = b_;
    return a->address != b->address ? (a->address < b->address ? -1 : 1) : 0;
}

/* A parent has a lower number than its children, unless the file is damaged. */
static bool is_sound(const struct reader *reader, uint64_t node)
{
    return reader->nodes[node].parent < node;
}

/* Sets the name of a place from the text in the recording: "function", or "function\tfile". */
static void name_place(struct reader *reader, uint64_t name, struct rm_run_place *place)
{
    uint64_t at = name & UINT32_MAX;
    uint64_t bytes = at_most(RM_LOAD_ACQUIRE(&reader->record->text_bytes), reader->block,
                             RM_SECTION_STACK_TEXTS);
    const char *text = at < bytes ? rm_block_record(reader->block, RM_SECTION_STACK_TEXTS, at) : "";
    size_t length = at < bytes ? strnlen(text, (size_t)(bytes - at)) : 0;
    const char *tab = memchr(text, '\t', length);
    size_t first = tab != NULL ? (size_t)(tab - text) : length;
    place->module = -1;
    place->address = name + 1; /* not a real address, but distinct for each name and line */
    place->line = (uint32_t)(name >> 32);
    place->function = rm_arena_keep(&reader->run->strings, text, first);
    if (tab != NULL) {
        place->file = rm_arena_keep(&reader->run->strings, tab + 1, length - first - 1);
    }
}

static void list_places(struct reader *reader, struct address_of_node *addresses, size_t count)
{
    struct rm_run_profile *profile = &reader->run->profile;
    qsort(addresses, count, sizeof *addresses, by_address);
    profile->places = rm_arena_alloc(&reader->run->strings, count, sizeof *profile->places);
    if (profile->places == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t address = addresses[i].address;
        if (i == 0 || addresses[i - 1].address != address) {
            struct rm_run_place *place = &profile->places[profile->place_count++];
            *place = (struct rm_run_place){
                .function = "",
                .file = "",
                .module = module_of(profile, address),
                .address = address,
            };
            if ((address & RM_STACK_NAME) != 0) {
                name_place(reader, address & ~RM_STACK_NAME, place);
            }
        }
        reader->places[addresses[i].node] = (uint32_t)(profile->place_count - 1);
    }
}

static void decode_nodes(struct reader *reader)
{
    struct rm_arena *working = &reader->run->working;
    size_t count = 0;
    struct address_of_node *addresses =
        rm_arena_alloc(working, reader->node_count, sizeof *addresses);
    reader->places = rm_arena_alloc(working, reader->node_count, sizeof *reader->places);
    if (addresses == NULL || reader->places == NULL) {
        return;
    }
    for (uint64_t i = 1; i < reader->node_count; i++) {
        const struct rm_stack_node *node = &reader->nodes[i];
        if (!is_sound(reader, i)) {
            continue;
        }
        if (node->is_scope == 0) {
            addresses[count++] = (struct address_of_node){node->value, (uint32_t)i};
        } else if (node->parent == 0 || reader->nodes[node->parent].is_scope != 0) {
            reader->places[i] = scope_of(reader, reader->places[node->parent], node->value);
        }
    }
    list_places(reader, addresses, count);
}

/* ---- stacks ----------------------------------------------------------------------------- */

struct path {
    int64_t scope;
    size_t first;
    uint32_t depth;
};

static uint32_t depth_of(const struct reader *reader, uint32_t node)
{
    uint32_t depth = 0;
    while (node != 0 && node < reader->node_count && is_sound(reader, node) &&
           reader->nodes[node].is_scope == 0 && depth < RM_STACK_DEPTH) {
        depth++;
        node = reader->nodes[node].parent;
    }
    return depth;
}

/* The frames from a node outwards, and the scope around them. */
static struct path add_path(struct reader *reader, uint32_t node)
{
    struct rm_run_profile *profile = &reader->run->profile;
    struct path path = {.scope = -1, .first = profile->frame_count};
    uint32_t depth = depth_of(reader, node);
    while (path.depth < depth && profile->frame_count < reader->frame_room) {
        profile->frames[profile->frame_count++] = reader->places[node];
        path.depth++;
        node = reader->nodes[node].parent;
    }
    if (node != 0 && node < reader->node_count && reader->nodes[node].is_scope != 0) {
        path.scope = (int64_t)reader->places[node] - 1;
    }
    return path;
}

static void decode_stack(struct reader *reader, const struct rm_stack_entry *entry)
{
    struct rm_run_profile *profile = &reader->run->profile;
    struct rm_run_stack *stack = &profile->stacks[profile->stack_count];
    struct path path = add_path(reader, entry->node);
    *stack = (struct rm_run_stack){
        .scope = path.scope,
        .first = path.first,
        .depth = path.depth,
        .is_cut = (entry->flags & RM_STACK_IS_CUT) != 0,
    };
    for (size_t k = 0; k < RM_STACK_KINDS; k++) {
        stack->samples[k] = RM_LOAD(&entry->samples[k]);
        double square;
        rm_published_copy(&square, &entry->square[k], sizeof square);
        stack->weight[k] = (double)RM_LOAD(&entry->weight[k]);
        stack->error[k] = square > 0.0 ? sqrt(square) : 0.0;
    }
    profile->stack_count += path.depth > 0 ? 1 : 0;
}

static void decode_peak_stack(struct reader *reader, const struct rm_peak_entry *entry)
{
    struct rm_run_peak *peak = &reader->run->profile.peak;
    struct path path = add_path(reader, entry->node);
    peak->stacks[peak->stack_count++] = (struct rm_run_peak_stack){
        .thread = entry->thread,
        .thread_name = rm_arena_keep(&reader->run->strings, entry->name, sizeof entry->name),
        .scope = path.scope,
        .first = path.first,
        .depth = path.depth,
        .is_cut = (entry->flags & RM_STACK_IS_CUT) != 0,
    };
}

static void decode_peak(struct reader *reader, uint64_t version, uint64_t count)
{
    struct rm_run_peak *peak = &reader->run->profile.peak;
    const struct rm_peak_head *head = &reader->record->peaks[version & 1];
    uint64_t half = (version & 1) * RM_STACK_PEAK_THREADS;
    if (version == 0) {
        return;
    }
    peak->stacks = rm_arena_alloc(&reader->run->strings, count, sizeof *peak->stacks);
    count = peak->stacks != NULL ? count : 0;
    uint64_t headroom = RM_LOAD(&head->headroom_bytes);
    peak->t_ns = (int64_t)(RM_LOAD(&head->t_ns) & INT64_MAX);
    peak->rss_bytes = (double)RM_LOAD(&head->rss_bytes);
    peak->headroom_bytes = headroom != UINT64_MAX ? (double)headroom : RM_NAN;
    for (uint64_t i = 0; i < count; i++) {
        decode_peak_stack(reader, rm_block_record(reader->block, RM_SECTION_PEAK_STACKS, half + i));
    }
}

/* Two new peaks overwrite the peak that is being read. Then the peak is read again, a few times. */
static void decode_latest_peak(struct reader *reader)
{
    struct rm_run_profile *profile = &reader->run->profile;
    const size_t frames = profile->frame_count;
    for (int tries = 0; tries < 4; tries++) {
        uint64_t version = RM_LOAD_ACQUIRE(&reader->record->peak_version);
        uint64_t threads = RM_LOAD(&reader->record->peaks[version & 1].count);
        profile->frame_count = frames;
        profile->peak.stack_count = 0;
        decode_peak(reader, version,
                    threads < RM_STACK_PEAK_THREADS ? threads : RM_STACK_PEAK_THREADS);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (RM_LOAD(&reader->record->peak_version) == version) {
            break;
        }
    }
}

static void decode_stacks(struct reader *reader)
{
    struct rm_run_profile *profile = &reader->run->profile;
    uint64_t count =
        at_most(RM_LOAD_ACQUIRE(&reader->record->stack_count), reader->block, RM_SECTION_STACKS);
    for (uint64_t i = 0; i < count; i++) {
        const struct rm_stack_entry *entry = rm_block_record(reader->block, RM_SECTION_STACKS, i);
        reader->frame_room += depth_of(reader, entry->node);
    }
    reader->frame_room += (size_t)RM_STACK_PEAK_THREADS * RM_STACK_DEPTH;
    struct rm_arena *strings = &reader->run->strings;
    profile->frames = rm_arena_alloc(strings, reader->frame_room, sizeof *profile->frames);
    profile->stacks = rm_arena_alloc(strings, count, sizeof *profile->stacks);
    if (rm_run_is_broken(reader->run)) {
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        decode_stack(reader, rm_block_record(reader->block, RM_SECTION_STACKS, i));
    }
    decode_latest_peak(reader);
}

static void set_highest_rss(const struct reader *reader)
{
    struct rm_run_peak *peak = &reader->run->profile.peak;
    uint64_t rss = RM_LOAD(&reader->record->highest_rss);
    peak->highest_rss_bytes = rss > 0 ? (double)rss : RM_NAN;
    peak->highest_t_ns =
        rss > 0 ? (int64_t)(RM_LOAD(&reader->record->highest_t_ns) & INT64_MAX) : -1;
}

/* A page fault maps one anonymous page, or one page of a file and the pages around it. */
static void describe_growth(char *text, size_t room, const struct rm_run_stack_kind *kind,
                            bool is_file)
{
    char risen[RM_HUMAN_BYTES];
    bool is_little = kind->total <= (double)kind->period * (is_file ? 65536.0 : 4096.0);
    rm_human_bytes(risen, kind->total);
    (void)snprintf(text, room,
                   "%s rose by %s without a sample: a thread is sampled once per %" PRIu64
                   " page faults%s",
                   is_file ? "RssFile" : "RssAnon", risen, kind->period,
                   is_little ? ""
                             : "; threads with fewer have none, and mmap(MAP_POPULATE), mlock() "
                               "and the like add pages without faults");
}

static void describe_cpu(char *text, size_t room, const struct rm_run_stack_kind *kind)
{
    char used[RM_HUMAN_BYTES], period[RM_HUMAN_BYTES];
    rm_human_seconds(used, kind->total / 1e9);
    rm_human_seconds(period, (double)kind->period / 1e9);
    (void)snprintf(text, room,
                   "%s of CPU time were used without a sample: a thread is sampled once per %s; "
                   "threads that used less, or ended before they were found, have none",
                   used, period);
}

/* Gives the reason why a kind has no sample although there was CPU time or growth. Waiting threads
 * use a little CPU time that needs no reason. */
static void explain_no_samples(const struct reader *reader, size_t kind_number)
{
    struct rm_run_profile *profile = &reader->run->profile;
    struct rm_run_stack_kind *kind = &profile->kinds[kind_number];
    bool is_cpu = kind_number == RESMON_STACK_CPU;
    char what[256], text[480];
    uint64_t samples = 0;
    for (size_t i = 0; i < profile->stack_count; i++) {
        samples += profile->stacks[i].samples[kind_number];
    }
    if (kind->status != RESMON_OK || samples > 0 ||
        !(kind->total > (is_cpu ? 2.0 * (double)kind->period : 0.0))) {
        return;
    }
    if (is_cpu) {
        describe_cpu(what, sizeof what, kind);
    } else {
        describe_growth(what, sizeof what, kind, kind_number == RESMON_STACK_FILE);
    }
    (void)snprintf(text, sizeof text, "%.190s%s%s", kind->reason,
                   kind->reason[0] != '\0' ? "; " : "", what);
    kind->reason = rm_arena_keep(&reader->run->strings, text, sizeof text);
    kind->status = RESMON_ENOENT;
}

static void decode_kinds(const struct reader *reader)
{
    struct rm_run_profile *profile = &reader->run->profile;
    for (size_t k = 0; k < RM_STACK_KINDS; k++) {
        const struct rm_stack_kind_entry *entry = &reader->record->kinds[k];
        struct rm_run_stack_kind *kind = &profile->kinds[k];
        struct rm_stack_kind_state state = {0};
        rm_published_read(&state, entry->states, sizeof state, &entry->version);
        kind->status = (resmon_status)state.status;
        kind->period = RM_LOAD(&entry->period);
        kind->total = RM_LOAD(&entry->has_total) != 0 ? (double)RM_LOAD(&entry->total) : RM_NAN;
        if (RM_LOAD(&entry->has_levels) != 0) {
            kind->first_bytes = (double)RM_LOAD(&entry->first);
            kind->last_bytes = (double)RM_LOAD(&entry->last);
        }
        kind->reason = rm_arena_keep(&reader->run->strings, state.reason, sizeof state.reason);
    }
    for (size_t i = 0; i < RM_LOSS_COUNT; i++) {
        profile->lost[i] = RM_LOAD(&reader->record->lost[i]);
    }
    set_highest_rss(reader);
}

static size_t count_lines(const char *text, size_t length)
{
    size_t count = length > 0 && text[length - 1] != '\n' ? 1 : 0;
    for (size_t i = 0; i < length; i++) {
        count += text[i] == '\n' ? 1 : 0;
    }
    return count;
}

/* Of "NAME\nTEXT". */
static void decode_source(struct rm_arena *strings, const char *name, size_t length,
                          struct rm_run_named_source *ret_source)
{
    const char *end = name + length, *line = memchr(name, '\n', length);
    line = line != NULL ? line : end;
    ret_source->file = rm_arena_keep(strings, name, (size_t)(line - name));
    line += line < end ? 1 : 0;
    ret_source->line_count = count_lines(line, (size_t)(end - line));
    ret_source->lines = rm_arena_alloc(strings, ret_source->line_count, sizeof *ret_source->lines);
    for (size_t i = 0; i < ret_source->line_count && ret_source->lines != NULL; i++) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        next = next != NULL ? next : end;
        ret_source->lines[i] = rm_arena_keep(strings, line, (size_t)(next - line));
        line = next < end ? next + 1 : end;
    }
}

/* Texts that begin with '\n' are sources.  `ret_sources` NULL: counts only. */
static size_t list_sources(struct reader *reader, struct rm_run_named_source *ret_sources)
{
    uint64_t bytes = at_most(RM_LOAD_ACQUIRE(&reader->record->text_bytes), reader->block,
                             RM_SECTION_STACK_TEXTS);
    const char *all = bytes > 0 ? rm_block_record(reader->block, RM_SECTION_STACK_TEXTS, 0) : NULL;
    size_t count = 0;
    for (uint64_t at = 0, length; at < bytes; at += length + 1) {
        length = strnlen(all + at, (size_t)(bytes - at));
        bool is_source = length > 0 && all[at] == '\n';
        if (is_source && ret_sources != NULL) {
            decode_source(&reader->run->strings, all + at + 1, (size_t)length - 1,
                          &ret_sources[count]);
        }
        count += is_source ? 1 : 0;
    }
    return count;
}

static void decode_sources(struct reader *reader)
{
    struct rm_run_profile *profile = &reader->run->profile;
    size_t count = list_sources(reader, NULL);
    if (count > 0) {
        profile->sources = rm_arena_alloc(&reader->run->strings, count, sizeof *profile->sources);
    }
    if (profile->sources != NULL) {
        profile->source_count = list_sources(reader, profile->sources);
    }
}

void rm_run_decode_stacks(const struct rm_block *block, struct resmon_run *run)
{
    if (block->header->sizes.stacks == 0) {
        return;
    }
    struct reader reader = {
        .block = block,
        .run = run,
        .record = rm_block_record(block, RM_SECTION_STACK_RECORD, 0),
        .nodes = rm_block_record(block, RM_SECTION_STACK_NODES, 0),
    };
    decode_kinds(&reader);
    decode_modules(&reader);
    reader.node_count =
        at_most(RM_LOAD_ACQUIRE(&reader.record->node_count), block, RM_SECTION_STACK_NODES);
    decode_nodes(&reader);
    decode_stacks(&reader);
    decode_sources(&reader);
    for (size_t k = 0; k < RM_STACK_KINDS && !rm_run_is_broken(run); k++) {
        explain_no_samples(&reader, k);
    }
    resmon_status status = rm_run_check_memory(run);
    rm_arena_free(&run->working);
    if (status != RESMON_OK) {
        rm_profile_give_up(&run->profile, status, "out of memory for the stacks");
        run->strings.is_broken = false; /* the remaining parts of the run are complete */
    }
}

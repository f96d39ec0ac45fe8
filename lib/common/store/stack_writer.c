/* SPDX-License-Identifier: MIT */
#include "store/stack_writer.h"

#include <string.h>

#include "base/compiler.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "store/published.h"

#define NO_ROOM UINT32_MAX

resmon_status rm_stack_writer_open(struct rm_stack_writer *writer, const struct rm_block *block)
{
    const struct rm_section *sections = block->header->sections;
    *writer = (struct rm_stack_writer){
        .block = *block,
        .record = rm_block_record(block, RM_SECTION_STACK_RECORD, 0),
    };
    if (!rm_map_reserve(&writer->nodes, sections[RM_SECTION_STACK_NODES].count) ||
        !rm_map_reserve(&writer->entries, sections[RM_SECTION_STACKS].count)) {
        rm_stack_writer_close(writer);
        return rm_error(RESMON_ENOMEM, "out of memory for stacks");
    }
    RM_STORE_RELEASE(&writer->record->node_count, 1);
    return RESMON_OK;
}

void rm_stack_writer_close(struct rm_stack_writer *writer)
{
    rm_map_free(&writer->nodes);
    rm_map_free(&writer->entries);
    rm_map_free(&writer->names);
}

static struct rm_stack_node *node_at(const struct rm_stack_writer *writer, uint32_t number)
{
    return rm_block_record(&writer->block, RM_SECTION_STACK_NODES, number);
}

static uint32_t make_node(struct rm_stack_writer *writer, const struct rm_stack_node *node)
{
    uint64_t number = writer->record->node_count;
    if (number >= writer->block.header->sections[RM_SECTION_STACK_NODES].count) {
        return NO_ROOM;
    }
    *node_at(writer, (uint32_t)number) = *node;
    RM_STORE_RELEASE(&writer->record->node_count, number + 1);
    return (uint32_t)number;
}

static uint64_t hash_of(uint64_t first, uint64_t second)
{
    return rm_hash_u64(rm_hash_u64(RM_HASH_START, first), second);
}

/* Finds or creates the child of a node. */
static uint32_t child_of(struct rm_stack_writer *writer, uint32_t parent, uint64_t value,
                         uint32_t is_scope)
{
    const struct rm_stack_node wanted = {value, parent, is_scope};
    struct rm_map_search search = {.hash = hash_of(value, (uint64_t)parent << 1 | is_scope)};
    for (uint32_t number; rm_map_next(&writer->nodes, &search, &number);) {
        const struct rm_stack_node *node = node_at(writer, number);
        if (node->value == value && node->parent == parent && node->is_scope == is_scope) {
            return number;
        }
    }
    uint32_t fresh = make_node(writer, &wanted);
    if (fresh != NO_ROOM) {
        rm_map_add(&writer->nodes, search.hash, fresh);
    }
    return fresh;
}

static uint32_t node_of(struct rm_stack_writer *writer, const struct rm_stack_sample *sample)
{
    uint32_t node = 0;
    for (uint32_t i = 0; i < sample->site_count && node != NO_ROOM; i++) {
        node = child_of(writer, node, sample->sites[i], 1);
    }
    for (uint32_t i = sample->depth; i-- > 0 && node != NO_ROOM;) {
        node = child_of(writer, node, sample->addresses[i], 0);
    }
    return node;
}

static struct rm_stack_entry *entry_of(struct rm_stack_writer *writer, uint32_t node,
                                       uint32_t flags)
{
    uint64_t count = writer->record->stack_count;
    struct rm_stack_entry *entry;
    struct rm_map_search search = {.hash = hash_of(node, flags)};
    for (uint32_t number; rm_map_next(&writer->entries, &search, &number);) {
        entry = rm_block_record(&writer->block, RM_SECTION_STACKS, number);
        if (entry->node == node && entry->flags == flags) {
            return entry;
        }
    }
    if (count >= writer->block.header->sections[RM_SECTION_STACKS].count) {
        return NULL;
    }
    entry = rm_block_record(&writer->block, RM_SECTION_STACKS, count);
    entry->node = node;
    entry->flags = flags;
    rm_map_add(&writer->entries, search.hash, (uint32_t)count);
    RM_STORE_RELEASE(&writer->record->stack_count, count + 1);
    return entry;
}

uint64_t rm_stack_writer_name(struct rm_stack_writer *writer, const char *text)
{
    size_t bytes = strlen(text) + 1;
    struct rm_map_search search = {.hash = rm_hash_bytes(RM_HASH_START, text, bytes)};
    for (uint32_t at; rm_map_next(&writer->names, &search, &at);) {
        if (strcmp(rm_block_record(&writer->block, RM_SECTION_STACK_TEXTS, at), text) == 0) {
            return RM_STACK_NAME | at;
        }
    }
    uint64_t at = writer->record->text_bytes;
    if (bytes > writer->block.header->sections[RM_SECTION_STACK_TEXTS].count - at ||
        !rm_map_reserve(&writer->names, (uint64_t)writer->names.count + 1)) {
        return 0;
    }
    memcpy(rm_block_record(&writer->block, RM_SECTION_STACK_TEXTS, at), text, bytes);
    rm_map_add(&writer->names, search.hash, (uint32_t)at);
    RM_STORE_RELEASE(&writer->record->text_bytes, at + bytes);
    return RM_STACK_NAME | at;
}

static void add_to(uint64_t *number, uint64_t more)
{
    RM_STORE(number, *number + more);
}

void rm_stack_writer_lose(struct rm_stack_writer *writer, enum rm_stack_loss loss, uint64_t count)
{
    add_to(&writer->record->lost[loss], count);
}

void rm_stack_entry_weigh(struct rm_stack_entry *entry, int32_t kind, uint64_t weight,
                          double square)
{
    double sum = entry->square[kind] + square;
    add_to(&entry->weight[kind], weight);
    rm_published_copy(&entry->square[kind], &sum, sizeof sum);
}

void rm_stack_entry_count(struct rm_stack_entry *entry, int32_t kind, uint64_t more)
{
    add_to(&entry->samples[kind], more);
}

struct rm_stack_entry *rm_stack_writer_add(struct rm_stack_writer *writer,
                                           const struct rm_stack_sample *sample)
{
    uint32_t node = node_of(writer, sample);
    struct rm_stack_entry *entry =
        node != NO_ROOM ? entry_of(writer, node, sample->is_cut != 0 ? RM_STACK_IS_CUT : 0) : NULL;
    if (entry == NULL) {
        rm_stack_writer_lose(writer, RM_LOSS_ROOM, sample->count);
        return NULL;
    }
    rm_stack_entry_count(entry, sample->kind, sample->count);
    rm_stack_entry_weigh(entry, sample->kind, sample->weight, sample->square);
    return entry;
}

void rm_stack_writer_set_kind(struct rm_stack_writer *writer, int32_t kind, resmon_status status,
                              const char *reason)
{
    struct rm_stack_kind_entry *entry = &writer->record->kinds[kind];
    struct rm_stack_kind_state state = {.status = status};
    (void)rm_text_set(state.reason, sizeof state.reason, reason);
    rm_published_write(entry->states, &state, sizeof state, &entry->version);
}

void rm_stack_writer_set_period(struct rm_stack_writer *writer, int32_t kind, uint64_t period)
{
    RM_STORE(&writer->record->kinds[kind].period, period);
}

void rm_stack_writer_set_total(struct rm_stack_writer *writer, int32_t kind, uint64_t total)
{
    RM_STORE(&writer->record->kinds[kind].total, total);
    RM_STORE(&writer->record->kinds[kind].has_total, 1);
}

void rm_stack_writer_set_levels(struct rm_stack_writer *writer, int32_t kind, uint64_t first,
                                uint64_t last)
{
    struct rm_stack_kind_entry *entry = &writer->record->kinds[kind];
    RM_STORE(&entry->first, first);
    RM_STORE(&entry->last, last);
    RM_STORE(&entry->has_levels, 1);
}

static int is_same_module(const struct rm_module_entry *a, const struct rm_module_entry *b)
{
    return a->start == b->start && a->end == b->end && a->build_id_length == b->build_id_length &&
           memcmp(a->build_id, b->build_id, sizeof a->build_id) == 0 &&
           strcmp(a->path, b->path) == 0;
}

bool rm_stack_writer_add_module(struct rm_stack_writer *writer,
                                const struct rm_module_entry *module)
{
    uint64_t count = writer->record->module_count;
    for (uint64_t i = 0; i < count; i++) {
        const struct rm_module_entry *known =
            rm_block_record(&writer->block, RM_SECTION_MODULES, i);
        if (is_same_module(known, module)) {
            return true;
        }
    }
    if (count >= writer->block.header->sections[RM_SECTION_MODULES].count) {
        return false;
    }
    struct rm_module_entry *fresh = rm_block_record(&writer->block, RM_SECTION_MODULES, count);
    *fresh = *module;
    RM_STORE_RELEASE(&writer->record->module_count, count + 1);
    return true;
}

/* ---- the peak --------------------------------------------------------------------------- */

static struct rm_peak_head *next_peak(struct rm_stack_writer *writer)
{
    return &writer->record->peaks[(writer->record->peak_version + 1) & 1];
}

void rm_stack_writer_begin_peak(struct rm_stack_writer *writer, const struct rm_peak_head *head)
{
    struct rm_peak_head *next = next_peak(writer);
    RM_FENCE_BEFORE_REFILL();
    RM_STORE(&next->count, 0);
    RM_STORE(&next->t_ns, head->t_ns);
    RM_STORE(&next->rss_bytes, head->rss_bytes);
    RM_STORE(&next->headroom_bytes, head->headroom_bytes);
}

void rm_stack_writer_add_peak(struct rm_stack_writer *writer, const struct rm_stack_sample *sample,
                              uint64_t thread, const char name[16])
{
    struct rm_peak_head *next = next_peak(writer);
    uint64_t half = ((writer->record->peak_version + 1) & 1) * RM_STACK_PEAK_THREADS;
    uint32_t node = node_of(writer, sample);
    if (node == NO_ROOM || next->count >= RM_STACK_PEAK_THREADS) {
        rm_stack_writer_lose(writer, RM_LOSS_ROOM, 1);
        return;
    }
    struct rm_peak_entry *entry =
        rm_block_record(&writer->block, RM_SECTION_PEAK_STACKS, half + next->count);
    entry->thread = thread;
    (void)rm_text_copy(entry->name, sizeof entry->name, name, 16);
    entry->node = node;
    entry->flags = sample->is_cut != 0 ? RM_STACK_IS_CUT : 0;
    RM_STORE(&next->count, next->count + 1);
}

void rm_stack_writer_publish_peak(struct rm_stack_writer *writer)
{
    RM_STORE_RELEASE(&writer->record->peak_version, writer->record->peak_version + 1);
}

void rm_stack_writer_set_highest(struct rm_stack_writer *writer, uint64_t rss, uint64_t t_ns)
{
    RM_STORE(&writer->record->highest_t_ns, t_ns);
    RM_STORE(&writer->record->highest_rss, rss);
}

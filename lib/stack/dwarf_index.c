/* SPDX-License-Identifier: MIT */
#include "stack/dwarf_index.h"

#include "base/alloc.h"
#include "base/status.h"

static resmon_status no_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for an index of debug information");
}

resmon_status rm_dwarf_index_add_unit(struct rm_dwarf_index *index, uint64_t offset, uint64_t past)
{
    struct rm_dwarf_unit *units =
        rm_grow(index->units, index->unit_count, &index->unit_capacity, sizeof *units);
    if (units == NULL) {
        return no_memory();
    }
    index->units = units;
    index->units[index->unit_count++] = (struct rm_dwarf_unit){.offset = offset, .past = past};
    return RESMON_OK;
}

resmon_status rm_dwarf_unit_add_node(struct rm_dwarf_unit *unit, uint64_t offset, uint32_t around)
{
    struct rm_dwarf_node *nodes =
        rm_grow(unit->nodes, unit->node_count, &unit->node_capacity, sizeof *nodes);
    if (nodes == NULL) {
        return no_memory();
    }
    unit->nodes = nodes;
    unit->nodes[unit->node_count++] = (struct rm_dwarf_node){.offset = offset, .around = around};
    return RESMON_OK;
}

size_t rm_dwarf_index_unit_of(const struct rm_dwarf_index *index, uint64_t offset)
{
    size_t first = 0, past = index->unit_count;
    while (first < past) {
        size_t middle = first + (past - first) / 2;
        if (index->units[middle].past <= offset) {
            first = middle + 1;
        } else {
            past = middle;
        }
    }
    return first;
}

void rm_dwarf_unit_clear(struct rm_dwarf_unit *unit)
{
    rm_free(unit->nodes);
    rm_ranges_free(&unit->ranges);
    *unit = (struct rm_dwarf_unit){.offset = unit->offset, .past = unit->past};
}

void rm_dwarf_index_free(struct rm_dwarf_index *index)
{
    for (size_t i = 0; i < index->unit_count; i++) {
        rm_dwarf_unit_clear(&index->units[i]);
    }
    rm_free(index->units);
    rm_ranges_free(&index->ranges);
    *index = (struct rm_dwarf_index){.units = NULL};
}

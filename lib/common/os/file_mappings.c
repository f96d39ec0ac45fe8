/* SPDX-License-Identifier: MIT */
#include "os/file_mappings.h"

#include "base/alloc.h"
#include "os/proc_maps.h"

#define MOST_RANGES ((size_t)1 << 17)

static bool add_range(struct rm_file_mappings *mappings, const struct rm_mapped_range *range)
{
    struct rm_mapped_range *more =
        mappings->count < MOST_RANGES
            ? rm_grow(mappings->ranges, mappings->count, &mappings->room, sizeof *more)
            : NULL;
    if (more == NULL) {
        return false;
    }
    mappings->ranges = more;
    mappings->ranges[mappings->count++] = *range;
    return true;
}

void rm_file_mappings_read(struct rm_file_mappings *mappings, const char *path,
                           const struct rm_root *root, struct rm_scratch *scratch)
{
    struct rm_text text;
    struct rm_text line;
    struct rm_proc_map map;
    if (rm_file_read_once(root, path, scratch, &text) != RESMON_OK) {
        return;
    }
    mappings->count = 0;
    bool has_room = true;
    while (has_room && rm_parse_line(&text, &line)) {
        if (rm_proc_map_parse(line, &map)) {
            const struct rm_mapped_range range = {map.start, map.end, map.inode != 0,
                                                  map.is_private};
            has_room = add_range(mappings, &range);
        }
    }
}

void rm_file_mappings_free(struct rm_file_mappings *mappings)
{
    rm_free(mappings->ranges);
    *mappings = (struct rm_file_mappings){.ranges = NULL};
}

const struct rm_mapped_range *rm_file_mappings_find(const struct rm_file_mappings *mappings,
                                                    uint64_t address)
{
    size_t low = 0;
    size_t high = mappings->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (mappings->ranges[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && address < mappings->ranges[low - 1].end ? &mappings->ranges[low - 1] : NULL;
}

/* SPDX-License-Identifier: MIT */
#include "sys/file_mappings.h"

#include "base/alloc.h"
#include "base/parse.h"

#define MOST_RANGES ((size_t)1 << 17)

/* "55d0-55f0 r-xp 00000000 08:01 1234  /usr/bin/x": no file has the number 0. */
static bool parse_range(struct rm_text line, struct rm_mapped_range *ret_range)
{
    struct rm_text word;
    uint64_t inode;
    if (!rm_parse_hex(&line, &ret_range->start) || !rm_parse_literal(&line, "-") ||
        !rm_parse_hex(&line, &ret_range->end)) {
        return false;
    }
    for (int i = 0; i < 3; i++) { /* rights, offset, device */
        if (!rm_parse_word(&line, &word)) {
            return false;
        }
    }
    if (!rm_parse_u64(&line, &inode)) {
        return false;
    }
    ret_range->is_file = inode != 0;
    return true;
}

static bool add_range(struct rm_file_mappings *mappings, const struct rm_mapped_range *range)
{
    if (mappings->count == mappings->room) {
        size_t room = mappings->room > 0 ? 2 * mappings->room : 256;
        struct rm_mapped_range *more =
            room <= MOST_RANGES ? rm_realloc(mappings->ranges, room, sizeof *more) : NULL;
        if (more == NULL) {
            return false;
        }
        mappings->ranges = more;
        mappings->room = room;
    }
    mappings->ranges[mappings->count++] = *range;
    return true;
}

void rm_file_mappings_read(struct rm_file_mappings *mappings, const struct rm_root *root,
                           struct rm_scratch *scratch)
{
    struct rm_text text;
    struct rm_text line;
    struct rm_mapped_range range;
    if (rm_file_read_once(root, "proc/thread-self/maps", scratch, &text) != RESMON_OK) {
        return;
    }
    mappings->count = 0;
    bool has_room = true;
    while (has_room && rm_parse_line(&text, &line)) {
        has_room = !parse_range(line, &range) || add_range(mappings, &range);
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

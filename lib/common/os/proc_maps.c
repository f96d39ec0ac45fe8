/* SPDX-License-Identifier: MIT */
#include "os/proc_maps.h"

/* "55d0-55f0" */
static bool parse_pair(struct rm_text *line, const char *between, uint64_t *ret_first,
                       uint64_t *ret_second)
{
    return rm_parse_hex(line, ret_first) && rm_parse_literal(line, between) &&
           rm_parse_hex(line, ret_second);
}

/* "r-xp" */
static bool parse_rights(struct rm_text *line, struct rm_proc_map *map)
{
    struct rm_text rights;
    bool is_whole = rm_parse_word(line, &rights) && rm_text_left(&rights) == 4;
    map->is_code = is_whole && rights.at[2] == 'x';
    map->is_private = is_whole && rights.at[3] == 'p';
    return is_whole;
}

/* "55d0-55f0 r-xp 00000000 08:01 1234   /usr/bin/x" */
bool rm_proc_map_parse(struct rm_text line, struct rm_proc_map *ret_map)
{
    struct rm_text offset, device;
    uint64_t major, minor;
    if (!parse_pair(&line, "-", &ret_map->start, &ret_map->end) || ret_map->start >= ret_map->end ||
        !parse_rights(&line, ret_map) || !rm_parse_word(&line, &offset) ||
        !rm_parse_hex(&offset, &ret_map->offset) || !rm_parse_word(&line, &device) ||
        !parse_pair(&device, ":", &major, &minor) || !rm_parse_u64(&line, &ret_map->inode)) {
        return false;
    }
    ret_map->device = major << 32 | minor;
    while (rm_text_left(&line) > 0 && *line.at == ' ') {
        line.at++;
    }
    ret_map->path = line;
    return true;
}

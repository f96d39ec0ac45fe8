/* SPDX-License-Identifier: MIT */
#include "stack/slot_sample.h"

/* Sites take as many bytes as addresses would, so that these stay aligned. */
static uint64_t bytes_for(uint32_t sites, uint32_t depth)
{
    uint64_t of_sites = ((uint64_t)sites * sizeof(uint32_t) + 7) / 8 * 8;
    return sizeof(struct rm_slot_sample) + of_sites + depth * sizeof(uint64_t);
}

uint32_t *rm_slot_sites(struct rm_slot_sample *sample)
{
    return (uint32_t *)(void *)(sample + 1);
}

uint64_t *rm_slot_addresses(struct rm_slot_sample *sample)
{
    unsigned char *base = (unsigned char *)sample;
    return (uint64_t *)(void *)(base + bytes_for(sample->site_count, 0));
}

uint32_t rm_slot_bytes_of(const struct rm_slot_sample *sample)
{
    return (uint32_t)bytes_for(sample->site_count, sample->depth);
}

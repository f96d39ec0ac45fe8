/* SPDX-License-Identifier: MIT */
/*
 * Records of scopes in the copy of a live block: one that was published while it was copied is read
 * again, of each kind that has a record for each node.
 */
#include "test.h"

#include <stdbool.h>
#include <stddef.h>

#include "record/block_copy.h"
#include "store/scope_energy.h"
#include "store/scope_records.h"
#include "store/scope_tree.h"

static const struct kind {
    uint32_t section;
    size_t bytes, version;
} kinds[] = {
    {RM_SECTION_NODES, sizeof(struct rm_scope_node), offsetof(struct rm_scope_node, wall_version)},
    {RM_SECTION_NODES, sizeof(struct rm_scope_node), offsetof(struct rm_scope_node, meter_version)},
    {RM_SECTION_SCOPE_COUNTERS, sizeof(struct rm_scope_counts_record),
     offsetof(struct rm_scope_counts_record, version)},
    {RM_SECTION_SCOPE_TALLIES, sizeof(struct rm_tallies_record),
     offsetof(struct rm_tallies_record, version)},
    {RM_SECTION_SCOPE_ENERGY, sizeof(struct rm_scope_energy_record),
     offsetof(struct rm_scope_energy_record, version)},
};

#define OFFSET 64

static bool is_read_again(const struct kind *kind, uint32_t publications)
{
    static unsigned char live[65536], copy[65536];
    struct rm_infile file;
    uint32_t version = 7;
    assert_true(OFFSET + kind->bytes <= sizeof live);
    memset(live, 0, sizeof live);
    memset(copy, 0, sizeof copy);
    memcpy(copy + kind->version, &version, sizeof version);
    version += publications;
    memcpy(live + OFFSET + kind->version, &version, sizeof version);
    assert_ok(rm_infile_of_memory(&file, "live", live, sizeof live, sizeof live));
    assert_ok(rm_settle_record(&file, kind->section, OFFSET, copy));
    return memcmp(copy, live + OFFSET, kind->bytes) == 0;
}

TEST(what_was_published_meanwhile_is_read_again)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        assert_true(is_read_again(&kinds[i], 1)); /* the next may be under way in what counts */
        assert_true(is_read_again(&kinds[i], 2));
        assert_true(is_read_again(&kinds[i], 1000));
    }
}

TEST(all_kinds_are_settled)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        bool is_there = false;
        for (size_t k = 0; k < RM_SETTLED; k++) {
            is_there = is_there || rm_settled_section(k) == kinds[i].section;
        }
        assert_true(is_there);
    }
}

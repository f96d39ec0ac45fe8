/* SPDX-License-Identifier: MIT */
#include "store/scope_tallies.h"

#include "base/compiler.h"
#include "store/published.h"
#include "store/scope_facets.h"

static const enum rm_extent extents[RM_TALLIES] = {
#define RM_METER(token, name, extent) RM_EXTENT_##extent,
#include "store/scope_meters.def"
};

static const uint8_t meter_of[RM_FIELDS] = {
#define RM_METER_FIELD(token, field, member) RM_TALLY_##token,
#include "store/scope_meters.def"
};

/* Where the fields of each meter begin: each row of a meter is followed by its fields. */
enum {
#define RM_METER(token, name, extent)        RM_FIRST_##token, RM_BEFORE_##token = RM_FIRST_##token - 1,
#define RM_METER_FIELD(token, field, member) RM_AT_##field,
#include "store/scope_meters.def"
};

static const uint8_t firsts[RM_TALLIES + 1] = {
#define RM_METER(token, name, extent) RM_FIRST_##token,
#include "store/scope_meters.def"
    RM_FIELDS,
};

_Static_assert(RM_FIELD_IO_WRITE_BYTES - RM_FIELD_IO == RM_IO_WRITE_BYTES &&
                   RM_FIELD_IO_READ_CALLS - RM_FIELD_IO == RM_IO_READ_CALLS,
               "fields of I/O are in the order of enum rm_io_field");

/* ---- sums ------------------------------------------------------------------------------- */

size_t rm_tally_of_field(size_t field)
{
    return meter_of[field];
}

size_t rm_tally_first_field(size_t meter)
{
    return firsts[meter];
}

struct rm_tallied rm_tallies_at(struct rm_tallies *tallies, size_t meter)
{
    return (struct rm_tallied){&tallies->tallies[meter], &tallies->fields[firsts[meter]],
                               firsts[meter + 1] - firsts[meter], extents[meter]};
}

struct rm_tallies rm_tallies_merge(const struct rm_tallies *a, const struct rm_tallies *b)
{
    struct rm_tallies both = *a;
    both.cost_ticks += b->cost_ticks;
    both.with_descendants += b->with_descendants;
    for (size_t i = 0; i < RM_TALLIES; i++) {
        rm_tally_merge(rm_tallies_at(&both, i), &b->tallies[i], &b->fields[firsts[i]]);
    }
    return both;
}

void rm_tallies_settle(struct rm_tallies *tallies, struct rm_tally_all all)
{
    for (size_t i = 0; i < RM_TALLIES; i++) {
        rm_tally_settle(rm_tallies_at(tallies, i), all);
    }
}

resmon_estimate rm_tallies_estimate(const struct rm_tallies *tallies, size_t field,
                                    struct rm_tally_all all)
{
    size_t meter = rm_tally_of_field(field);
    return rm_tally_estimate(&tallies->tallies[meter], &tallies->fields[field], extents[meter],
                             all);
}

/* ---- records ---------------------------------------------------------------------------- */

/* Bytes of rm_tallies up to the last field of this meter and of those before it. */
static size_t bytes_up_to(size_t meter)
{
    return offsetof(struct rm_tallies, fields) + firsts[meter + 1] * sizeof(struct rm_field);
}

struct rm_tallies_record *rm_scope_tallies_record(const struct rm_block *block, rm_node_ref ref)
{
    return rm_facet_record(block, RM_FACET_TALLIES, ref);
}

struct rm_tallies rm_scope_tallies_of(const struct rm_block *block, rm_node_ref ref)
{
    struct rm_tallies tallies;
    rm_facet_read(block, RM_FACET_TALLIES, ref, &tallies);
    return tallies;
}

void rm_scope_tallies_own(const struct rm_tallies_record *record, size_t last,
                          struct rm_tallies *ret_tallies)
{
    rm_published_copy(ret_tallies, &record->copies[RM_LOAD(&record->version) & 1],
                      bytes_up_to(last));
}

void rm_scope_tallies_publish(struct rm_tallies_record *record, const struct rm_tallies *tallies,
                              size_t last)
{
    uint32_t next = RM_LOAD(&record->version) + 1;
    RM_FENCE_BEFORE_REFILL();
    rm_published_copy(&record->copies[next & 1], tallies, bytes_up_to(last));
    RM_STORE_RELEASE(&record->version, next);
}

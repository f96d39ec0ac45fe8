/* SPDX-License-Identifier: MIT */
#include "store/scope_facets.h"

#include <string.h>

#include "base/compiler.h"
#include "store/published.h"
#include "store/scope_counts.h"
#include "store/scope_energy.h"
#include "store/scope_tallies.h"

/* Any copy. */
union copy {
    struct rm_scope_energy energy;
    struct rm_scope_counts counts;
    struct rm_tallies tallies;
};

static void add_energy(void *sum, const void *more, struct rm_tally_all all)
{
    struct rm_scope_energy *to = sum;
    const struct rm_scope_energy *from = more;
    (void)all;
    to->joules += from->joules;
    to->doubt += from->doubt;
}

static void reset_energy(void *record)
{
    struct rm_scope_energy_record *energy = record;
    energy->seen = 0;
    energy->late = 0.0F;
}

static void hand_on_energy(void *from, void *to)
{
    struct rm_scope_energy_record *source = from, *target = to;
    target->seen += source->seen;
    target->late += source->late;
    source->seen = 0;
    source->late = 0.0F;
}

static void add_counts(void *sum, const void *more, struct rm_tally_all all)
{
    struct rm_scope_counts *to = sum;
    struct rm_scope_counts settled = *(const struct rm_scope_counts *)more;
    rm_scope_counts_settle(&settled, all);
    *to = rm_scope_counts_merge(to, &settled);
}

static void reset_counts(void *record)
{
    ((struct rm_scope_counts_record *)record)->pace = (struct rm_pace){0};
}

static void add_tallies(void *sum, const void *more, struct rm_tally_all all)
{
    struct rm_tallies *to = sum;
    struct rm_tallies settled = *(const struct rm_tallies *)more;
    rm_tallies_settle(&settled, all);
    *to = rm_tallies_merge(to, &settled);
}

static void reset_tallies(void *record)
{
    struct rm_tallies_record *tallies = record;
    memset(tallies->paces, 0, sizeof tallies->paces);
}

/* What is larger than the union has no place in rm_facet_move(): it does not compile. */
#define RECORD(type, both, one)                                       \
    .record_bytes = sizeof(type), .version = offsetof(type, version), \
    .copies = offsetof(type, both),                                   \
    .bytes = sizeof(one) + 0 * sizeof(char[sizeof(one) <= sizeof(union copy) ? 1 : -1])

const struct rm_facet rm_facets[RM_FACETS] = {
    [RM_FACET_ENERGY] = {RM_SECTION_SCOPE_ENERGY,
                         RECORD(struct rm_scope_energy_record, sums, struct rm_scope_energy),
                         .add = add_energy, .reset = reset_energy, .hand_on = hand_on_energy},
    [RM_FACET_COUNTS] = {RM_SECTION_SCOPE_COUNTERS,
                         RECORD(struct rm_scope_counts_record, copies, struct rm_scope_counts),
                         .add = add_counts, .reset = reset_counts},
    [RM_FACET_TALLIES] = {RM_SECTION_SCOPE_TALLIES,
                          RECORD(struct rm_tallies_record, copies, struct rm_tallies),
                          .add = add_tallies, .reset = reset_tallies},
};

/* ---- records ---------------------------------------------------------------------------- */

void *rm_facet_record(const struct rm_block *block, enum rm_facet_kind kind, rm_node_ref ref)
{
    uint32_t section = rm_facets[kind].section;
    return block->header->sections[section].count != 0
               ? rm_block_record(block, section, ref / sizeof(struct rm_scope_node))
               : NULL;
}

static void *copies_of(const struct rm_facet *facet, void *record)
{
    return (unsigned char *)record + facet->copies;
}

static uint32_t *version_of(const struct rm_facet *facet, void *record)
{
    return (uint32_t *)(void *)((unsigned char *)record + facet->version);
}

void rm_facet_read(const struct rm_block *block, enum rm_facet_kind kind, rm_node_ref ref,
                   void *ret_copy)
{
    const struct rm_facet *facet = &rm_facets[kind];
    void *record = rm_facet_record(block, kind, ref);
    memset(ret_copy, 0, facet->bytes);
    if (record != NULL) {
        rm_published_read(ret_copy, copies_of(facet, record), facet->bytes,
                          version_of(facet, record));
    }
}

static void publish(const struct rm_facet *facet, void *record, const union copy *copy)
{
    rm_published_write(copies_of(facet, record), copy, facet->bytes, version_of(facet, record));
}

void rm_facets_clear(const struct rm_block *block, rm_node_ref ref)
{
    static const union copy none;
    for (int kind = 0; kind < RM_FACETS; kind++) {
        const struct rm_facet *facet = &rm_facets[kind];
        void *record = rm_facet_record(block, (enum rm_facet_kind)kind, ref);
        if (record != NULL) {
            facet->reset(record);
            publish(facet, record, &none); /* both copies: its owner may fill one in part */
            publish(facet, record, &none);
        }
    }
}

uint32_t rm_facet_next_version(const struct rm_block *block, enum rm_facet_kind kind,
                               rm_node_ref ref)
{
    void *record = rm_facet_record(block, kind, ref);
    return record != NULL ? RM_LOAD(version_of(&rm_facets[kind], record)) + 1 : 0;
}

void rm_facet_move(const struct rm_block *block, enum rm_facet_kind kind, rm_node_ref source,
                   rm_node_ref target, struct rm_tally_all all)
{
    static const union copy none;
    const struct rm_facet *facet = &rm_facets[kind];
    void *from = rm_facet_record(block, kind, source);
    void *to = rm_facet_record(block, kind, target);
    union copy sum, more;
    if (from == NULL || to == NULL) {
        return;
    }
    rm_facet_read(block, kind, target, &sum);
    rm_facet_read(block, kind, source, &more);
    facet->add(&sum, &more, all);
    if (facet->hand_on != NULL) {
        facet->hand_on(from, to);
    }
    publish(facet, to, &sum);
    publish(facet, from, &none);
}

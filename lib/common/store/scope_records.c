/* SPDX-License-Identifier: MIT */
#include "store/scope_records.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "store/published.h"

/* ---- facets ----------------------------------------------------------------------------- */

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

/* ---- performance counters --------------------------------------------------------------- */

struct rm_counter_record *rm_scope_counter_at(const struct rm_block *block, uint64_t index)
{
    return rm_block_record(block, RM_SECTION_COUNTERS, index);
}

/* Most counts are proportional to the time of a call. */
#define EXTENT RM_EXTENT_TICKS

static struct rm_tallied tallied(struct rm_scope_counts *counts)
{
    return (struct rm_tallied){&counts->tally, counts->fields, RM_SCOPE_COUNTERS, EXTENT};
}

struct rm_scope_counts rm_scope_counts_merge(const struct rm_scope_counts *a,
                                             const struct rm_scope_counts *b)
{
    struct rm_scope_counts both = *a;
    both.enabled += b->enabled;
    both.running += b->running;
    both.cost_ticks += b->cost_ticks;
    rm_tally_merge(tallied(&both), &b->tally, b->fields);
    return both;
}

/* Extends the counts to all calls, like rm_tally_settle(). */
static void scope_counts_settle(struct rm_scope_counts *counts, struct rm_tally_all all)
{
    rm_tally_settle(tallied(counts), all);
}

resmon_estimate rm_scope_counts_estimate(const struct rm_scope_counts *counts, size_t place,
                                         struct rm_tally_all all)
{
    resmon_estimate found = rm_tally_estimate(&counts->tally, &counts->fields[place], EXTENT, all);
    if (!rm_scope_counts_is_shared(counts)) {
        return found;
    }
    double whole = counts->running > 0 ? (double)counts->enabled / (double)counts->running : RM_NAN;
    return rm_estimate_scaled(found, whole);
}

/* ---- records of counters ---------------------------------------------------------------- */

struct rm_scope_counts_record *rm_scope_counts_record(const struct rm_block *block, rm_node_ref ref)
{
    return rm_facet_record(block, RM_FACET_COUNTS, ref);
}

struct rm_scope_counts rm_scope_counts_of(const struct rm_block *block, rm_node_ref ref)
{
    struct rm_scope_counts counts;
    rm_facet_read(block, RM_FACET_COUNTS, ref, &counts);
    return counts;
}

static struct rm_field load_field(const struct rm_field *from)
{
    struct rm_field field = {.sum = RM_LOAD(&from->sum)};
    __atomic_load(&from->total, &field.total, __ATOMIC_RELAXED);
    __atomic_load(&from->variance, &field.variance, __ATOMIC_RELAXED);
    __atomic_load(&from->squares, &field.squares, __ATOMIC_RELAXED);
    __atomic_load(&from->rate, &field.rate, __ATOMIC_RELAXED);
    return field;
}

static void store_field(struct rm_field *to, struct rm_field field)
{
    RM_STORE(&to->sum, field.sum);
    __atomic_store(&to->total, &field.total, __ATOMIC_RELAXED);
    __atomic_store(&to->variance, &field.variance, __ATOMIC_RELAXED);
    __atomic_store(&to->squares, &field.squares, __ATOMIC_RELAXED);
    __atomic_store(&to->rate, &field.rate, __ATOMIC_RELAXED);
}

/* Like rm_published_write(), but field by field from one copy to the other, for speed: each scope
 * waits for it. */
void rm_scope_counts_add(const struct rm_block *block, rm_node_ref ref,
                         const struct rm_counted_call *call)
{
    struct rm_scope_counts_record *record = rm_scope_counts_record(block, ref);
    struct rm_scope_counts head;
    const size_t head_bytes = offsetof(struct rm_scope_counts, fields);
    if (record == NULL) {
        return;
    }
    uint32_t next = RM_LOAD(&record->version) + 1; /* this thread is the only writer */
    const struct rm_scope_counts *from = &record->copies[(next - 1) & 1];
    struct rm_scope_counts *to = &record->copies[next & 1];
    rm_published_copy(&head, from, head_bytes);
    head.enabled += call->enabled;
    head.running += call->running;
    head.cost_ticks += call->cost_ticks;
    const struct rm_tally_step step = rm_tally_step(&head.tally, EXTENT, &call->call);
    RM_FENCE_BEFORE_REFILL();
    rm_published_copy(to, &head, head_bytes);
    /* Counters that this block does not have stay 0 in both copies. */
    for (size_t i = 0; i < (size_t)block->header->sizes.scope_counters; i++) {
        struct rm_field field = load_field(&from->fields[i]);
        store_field(&to->fields[i], rm_field_after(field, &step, call->values[i]));
    }
    RM_STORE_RELEASE(&record->version, next);
}

/* ---- summing meters --------------------------------------------------------------------- */

static const enum rm_extent extents[RM_TALLIES] = {
#define RM_METER(token, name, extent) RM_EXTENT_##extent,
#include "store/scope_meters.def"
};

static const uint8_t meter_of[RM_FIELDS] = {
#define RM_METER_FIELD(token, field, member) RM_TALLY_##token,
#include "store/scope_meters.def"
};

/* The first field of each meter: each row of a meter is followed by its fields. */
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

/* The meter of a field, and the first field of a meter. */
static size_t tally_of_field(size_t field)
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
    size_t meter = tally_of_field(field);
    return rm_tally_estimate(&tallies->tallies[meter], &tallies->fields[field], extents[meter],
                             all);
}

/* ---- records of meters ------------------------------------------------------------------ */

/* Bytes of rm_tallies up to the last field of this meter, with all meters before it. */
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

/* ---- sums of a node --------------------------------------------------------------------- */

static const struct rm_field *field_of(const struct rm_scope_sums *sums, size_t sum)
{
    return sum < RM_FIELDS ? &sums->tallies.fields[sum] : &sums->counts.fields[sum - RM_FIELDS];
}

/* Counters that had to share the processor's counters may have missed events in each call. */
static bool is_exact(const struct rm_scope_sums *sums, size_t sum)
{
    bool is_counter = sum >= RM_FIELDS;
    const struct rm_tally *tally =
        is_counter ? &sums->counts.tally : &sums->tallies.tallies[tally_of_field(sum)];
    return tally->calls > 0 && tally->calls >= sums->wall.sums.calls &&
           !(is_counter && rm_scope_counts_is_shared(&sums->counts));
}

static double bounded(const struct rm_field *field, double bound)
{
    return fmax(fmin(field->total, bound), (double)field->sum);
}

struct rm_scope_sums rm_scope_sums_of(const struct rm_block *block, rm_node_ref ref)
{
    struct rm_scope_sums sums = {.tallies = rm_scope_tallies_of(block, ref),
                                 .counts = rm_scope_counts_of(block, ref)};
    sums.wall = rm_node_wall(rm_node_at(block, ref));
    const struct rm_tally_all all = {sums.wall.sums.calls, sums.wall.sums.total};
    rm_tallies_settle(&sums.tallies, all);
    scope_counts_settle(&sums.counts, all);
    return sums;
}

struct rm_sum_room rm_sum_room_unlimited(void)
{
    struct rm_sum_room room;
    for (size_t i = 0; i < RM_SUMS; i++) {
        room.bounds[i] = (double)INFINITY;
        room.shares[i] = 1.0;
    }
    return room;
}

struct rm_sum_room rm_sum_room_inside(const struct rm_scope_sums *sums, bool has_open,
                                      const struct rm_sum_room *around)
{
    struct rm_sum_room room = rm_sum_room_unlimited();
    for (size_t i = 0; i < RM_SUMS && !has_open; i++) {
        room.bounds[i] = is_exact(sums, i) ? (double)field_of(sums, i)->sum : around->bounds[i];
    }
    return room;
}

void rm_sum_demand_add(struct rm_sum_demand *demand, const struct rm_scope_sums *sums,
                       const struct rm_sum_room *room)
{
    for (size_t i = 0; i < RM_SUMS; i++) {
        const struct rm_field *field = field_of(sums, i);
        demand->sums[i] += (double)field->sum;
        demand->totals[i] += bounded(field, room->bounds[i]);
    }
}

void rm_sum_room_share(struct rm_sum_room *room, const struct rm_sum_demand *demand)
{
    for (size_t i = 0; i < RM_SUMS; i++) {
        if (demand->totals[i] > room->bounds[i]) {
            double sums = demand->sums[i];
            double uncertain = demand->totals[i] - sums; /* if 0, there is nothing to share */
            double left = fmax(room->bounds[i] - sums, 0.0);
            room->shares[i] = uncertain > 0.0 ? left / uncertain : 0.0;
        }
    }
}

static void fit(struct rm_field *field, double bound, double share)
{
    double sum = (double)field->sum;
    field->total = sum + (bounded(field, bound) - sum) * share;
}

void rm_scope_sums_fit(struct rm_scope_sums *sums, const struct rm_sum_room *room)
{
    for (size_t i = 0; i < RM_FIELDS; i++) {
        fit(&sums->tallies.fields[i], room->bounds[i], room->shares[i]);
    }
    for (size_t i = 0; i < RM_SCOPE_COUNTERS; i++) {
        fit(&sums->counts.fields[i], room->bounds[RM_FIELDS + i], room->shares[RM_FIELDS + i]);
    }
}

/* ---- all facets of a node --------------------------------------------------------------- */

/* A copy of any facet. */
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
    scope_counts_settle(&settled, all);
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

/* A copy that is larger than the union would not compile: rm_facet_move() has no space for it. */
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
            publish(facet, record, &none); /* clears both copies: the owner may fill one in part */
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

/* ---- moves -------------------------------------------------------------------------------- */

/*
 * The journal names both nodes and the versions that the target will have. While the journal is
 * valid, a reader counts a record of the source only until the target has its new version.
 */
void rm_node_move(struct rm_block *block, rm_node_ref source, rm_node_ref target)
{
    struct rm_block_header *header = block->header;
    struct rm_scope_node *from = rm_node_at(block, source);
    struct rm_scope_node *to = rm_node_at(block, target);
    struct rm_scope_wall from_wall = rm_node_wall(from);
    struct rm_scope_wall to_wall = rm_node_wall(to);
    struct rm_scope_meters from_meters = rm_node_meters(from);
    struct rm_scope_meters to_meters = rm_node_meters(to);
    struct rm_scope_wall wall = rm_scope_wall_merge(&to_wall, &from_wall);
    struct rm_scope_meters meters = rm_scope_meters_merge(&to_meters, &from_meters);
    const struct rm_tally_all from_all = {from_wall.sums.calls, from_wall.sums.total};

    RM_STORE(&header->journal.source, source);
    RM_STORE(&header->journal.target, target);
    RM_STORE(&header->journal.meter_version, to->meter_version + 1);
    for (int kind = 0; kind < RM_FACETS; kind++) {
        RM_STORE(&header->journal.facet_versions[kind],
                 rm_facet_next_version(block, (enum rm_facet_kind)kind, target));
    }
    RM_STORE_RELEASE(&header->journal.wall_version,
                     (UINT64_C(1) << 32) | (uint32_t)(to->wall_version + 1));
    rm_node_publish_wall(to, &wall);
    rm_node_publish_meters(to, &meters);
    for (int kind = 0; kind < RM_FACETS; kind++) {
        rm_facet_move(block, (enum rm_facet_kind)kind, source, target, from_all);
    }
    rm_node_publish_wall(from, &(struct rm_scope_wall){.min = UINT64_MAX});
    rm_node_publish_meters(from, &(struct rm_scope_meters){0});
    RM_STORE_RELEASE(&header->journal.wall_version, 0);
}

struct rm_node_moved rm_node_moved_of(const struct rm_block *block, rm_node_ref ref)
{
    const struct rm_block_header *header = block->header;
    const struct rm_section *nodes = &header->sections[RM_SECTION_NODES];
    uint64_t version = RM_LOAD_ACQUIRE(&header->journal.wall_version);
    uint64_t target = RM_LOAD(&header->journal.target);
    /* The file may be damaged or hostile. */
    bool is_sound =
        target % nodes->record_bytes == 0 && target / nodes->record_bytes < nodes->count;
    if (version == 0 || RM_LOAD(&header->journal.source) != ref || !is_sound) {
        return (struct rm_node_moved){.wall = 0};
    }
    const struct rm_scope_node *to = rm_node_at(block, (rm_node_ref)target);
    struct rm_node_moved moved = {
        .wall = RM_LOAD(&to->wall_version) == (uint32_t)version,
        .meters = RM_LOAD(&to->meter_version) == (uint32_t)RM_LOAD(&header->journal.meter_version),
    };
    for (int kind = 0; kind < RM_FACETS; kind++) {
        uint32_t next = rm_facet_next_version(block, (enum rm_facet_kind)kind, (rm_node_ref)target);
        moved.facets[kind] = next == RM_LOAD(&header->journal.facet_versions[kind]) + 1;
    }
    return moved;
}

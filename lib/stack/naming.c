/* SPDX-License-Identifier: MIT */
#include "stack/naming.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "stack/demangle.h"
#include "stack/symbols.h"
#include "store/run.h"

#define MOST_KEPT_DEBUG_BYTES ((size_t)64 << 20) /* between two modules, and two calls */
#define REMARK_BYTES          768

struct module {
    struct rm_symbols *symbols;
    uint64_t used; /* the call that used it last */
};

struct rm_naming {
    char *debug_root; /* NULL: the usual one */
    struct module modules[RM_MOST_NAMED_MODULES];
    size_t count;
    uint64_t calls;
};

resmon_status rm_naming_new(const char *debug_root, struct rm_naming **ret_naming)
{
    struct rm_naming *naming = rm_alloc(1, sizeof *naming);
    if (naming != NULL && debug_root != NULL) {
        naming->debug_root = rm_strdup(debug_root);
    }
    if (naming == NULL || (debug_root != NULL && naming->debug_root == NULL)) {
        rm_naming_free(naming);
        return rm_error(RESMON_ENOMEM, "out of memory for the names of stacks");
    }
    *ret_naming = naming;
    return RESMON_OK;
}

void rm_naming_free(struct rm_naming *naming)
{
    if (naming == NULL) {
        return;
    }
    for (size_t i = 0; i < naming->count; i++) {
        rm_symbols_free(naming->modules[i].symbols);
    }
    rm_free(naming->debug_root);
    rm_free(naming);
}

/* ---- modules that are kept -------------------------------------------------------------- */

static void drop(struct rm_naming *naming, size_t index)
{
    rm_symbols_free(naming->modules[index].symbols);
    naming->modules[index] = naming->modules[--naming->count];
}

static void drop_oldest(struct rm_naming *naming)
{
    size_t oldest = 0;
    for (size_t i = 1; i < naming->count; i++) {
        if (naming->modules[i].used < naming->modules[oldest].used) {
            oldest = i;
        }
    }
    drop(naming, oldest);
}

static resmon_status module_of(struct rm_naming *naming, const struct resmon_run *run,
                               const struct rm_run_module *module, struct rm_symbols **ret_symbols)
{
    const struct rm_symbols_origin origin = {
        .path = module->path,
        .build_id = module->build_id,
        .mapped_ns = run->start_realtime_ns,
        .debug_root = naming->debug_root,
    };
    for (size_t i = 0; i < naming->count; i++) {
        if (rm_symbols_is_of(naming->modules[i].symbols, module->path, module->build_id)) {
            naming->modules[i].used = naming->calls;
            *ret_symbols = naming->modules[i].symbols;
            return RESMON_OK;
        }
    }
    if (naming->count == RM_MOST_NAMED_MODULES) {
        drop_oldest(naming);
    }
    resmon_status status = rm_symbols_new(&origin, ret_symbols);
    if (status == RESMON_OK) {
        naming->modules[naming->count++] = (struct module){*ret_symbols, naming->calls};
    }
    return status;
}

/* The library's memory is the program's: large debug information is read again instead. */
static void rest(struct rm_naming *naming, struct rm_symbols *symbols)
{
    size_t kept = 0;
    for (size_t i = 0; i < naming->count; i++) {
        kept += rm_symbols_debug_bytes(naming->modules[i].symbols);
    }
    if (kept > MOST_KEPT_DEBUG_BYTES) {
        rm_symbols_rest(symbols);
    }
}

/* A file that could not be opened may be another time. */
static void drop_failed(struct rm_naming *naming)
{
    const char *reason = NULL;
    for (size_t i = naming->count; i-- > 0;) {
        if (rm_symbols_status(naming->modules[i].symbols, &reason) != RESMON_OK) {
            drop(naming, i);
        }
    }
}

/* ---- texts, each once ------------------------------------------------------------------- */

struct text {
    const void *key; /* where it stands in the module; NULL: free */
    const char *shown;
};

struct texts {
    struct text *slots;
    size_t count, capacity; /* a power of 2 */
};

static size_t slot_of(const struct texts *texts, const void *key)
{
    size_t slot = (size_t)(((uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15)) >> 20U);
    for (slot &= texts->capacity - 1; texts->slots[slot].key != NULL;
         slot++, slot &= texts->capacity - 1) {
        if (texts->slots[slot].key == key) {
            break;
        }
    }
    return slot;
}

static bool grow(struct texts *texts)
{
    struct texts larger = {.capacity = texts->capacity > 0 ? 2 * texts->capacity : 1024};
    larger.slots = rm_alloc(larger.capacity, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < texts->capacity; i++) {
        if (texts->slots[i].key != NULL) {
            larger.slots[slot_of(&larger, texts->slots[i].key)] = texts->slots[i];
        }
    }
    larger.count = texts->count;
    rm_free(texts->slots);
    *texts = larger;
    return true;
}

static void forget(struct texts *texts)
{
    if (texts->count > 0) {
        memset(texts->slots, 0, texts->capacity * sizeof *texts->slots);
        texts->count = 0;
    }
}

/* ---- the work --------------------------------------------------------------------------- */

struct work {
    struct rm_naming *naming;
    struct resmon_run *run;
    struct rm_run_profile *profile;
    size_t *order;          /* places by module and address */
    size_t *first, *counts; /* per old place: its new ones */
    struct rm_run_place *places;
    size_t place_count, place_capacity;
    struct texts functions, files;
    size_t unnamed;            /* modules of which something is not to be had */
    const char *missing;       /* of the first of them: "names" or "lines" */
    char remark[REMARK_BYTES]; /* about the first of them */
};

static resmon_status no_memory(void)
{
    (void)rm_error(RESMON_ENOMEM, "out of memory for the names of stacks");
    return RESMON_ENOMEM; /* plainly: the analyzer sees no further than this file */
}

static const char *keep_text(struct work *work, struct texts *texts, const char *text)
{
    if (text == NULL) {
        return "";
    }
    if (2 * texts->count >= texts->capacity && !grow(texts)) {
        return NULL;
    }
    struct text *slot = &texts->slots[slot_of(texts, text)];
    if (slot->key == NULL) {
        slot->shown = texts == &work->functions
                          ? rm_demangle(&work->run->strings, text)
                          : rm_arena_text(&work->run->strings, text, RM_MOST_NAME_BYTES);
        if (slot->shown == NULL) {
            return NULL;
        }
        slot->key = text;
        texts->count++;
    }
    return slot->shown;
}

static resmon_status add_place(struct work *work, const struct rm_run_place *place)
{
    if (work->place_count == work->place_capacity) {
        size_t capacity = work->place_capacity > 0 ? 2 * work->place_capacity : 256;
        struct rm_run_place *places = rm_realloc(work->places, capacity, sizeof *places);
        if (places == NULL) {
            return no_memory();
        }
        work->places = places;
        work->place_capacity = capacity;
    }
    work->places[work->place_count++] = *place;
    return RESMON_OK;
}

static resmon_status add_frames(struct work *work, const struct rm_run_place *old,
                                const struct rm_symbol *frames, size_t count)
{
    resmon_status status = RESMON_OK;
    if (count == 0) {
        return add_place(work, old);
    }
    for (size_t i = 0; status == RESMON_OK && i < count; i++) {
        const struct rm_run_place place = {
            .function = keep_text(work, &work->functions, frames[i].function),
            .file = keep_text(work, &work->files, frames[i].file),
            .line = frames[i].line,
            .is_inlined = i + 1 < count,
            .module = old->module,
            .address = old->address,
        };
        status =
            place.function == NULL || place.file == NULL ? no_memory() : add_place(work, &place);
    }
    return status;
}

static resmon_status name_place(struct work *work, struct rm_symbols *symbols, size_t index)
{
    struct rm_symbol frames[RM_MOST_INLINED];
    const struct rm_run_place *old = &work->profile->places[index];
    size_t count = 0;
    if (symbols != NULL) {
        uint64_t bias = work->profile->modules[old->module].bias;
        resmon_status status = rm_symbols_find(symbols, old->address - bias, frames, &count);
        if (status != RESMON_OK) {
            return status;
        }
    }
    work->first[index] = work->place_count;
    resmon_status status = add_frames(work, old, frames, count);
    work->counts[index] = work->place_count - work->first[index];
    return status;
}

static void take_remark(struct work *work, const struct rm_symbols *symbols)
{
    const char *reason = NULL, *missing = "names";
    if (rm_symbols_status(symbols, &reason) == RESMON_OK) {
        reason = rm_symbols_remark(symbols);
        missing = "lines";
    }
    if (reason[0] == '\0') {
        return;
    }
    if (work->unnamed++ == 0) {
        work->missing = missing;
        (void)snprintf(work->remark, sizeof work->remark, "%s", reason);
    }
}

static bool is_same(const struct rm_run_place *a, const struct rm_run_place *b)
{
    return a->module == b->module && a->address == b->address;
}

/* The places order[from ... past - 1], which are all of one module. */
static resmon_status name_module(struct work *work, size_t from, size_t past)
{
    const struct rm_run_profile *profile = work->profile;
    int64_t module = profile->places[work->order[from]].module;
    struct rm_symbols *symbols = NULL;
    resmon_status status = RESMON_OK;
    /* The rest is no file: "[vdso]", or code that was made at run time. */
    if (module >= 0 && profile->modules[module].path[0] == '/') {
        status = module_of(work->naming, work->run, &profile->modules[module], &symbols);
    }
    for (size_t i = from; status == RESMON_OK && i < past; i++) {
        size_t index = work->order[i];
        if (i > from && is_same(&profile->places[index], &profile->places[work->order[i - 1]])) {
            work->first[index] = work->first[work->order[i - 1]];
            work->counts[index] = work->counts[work->order[i - 1]];
        } else {
            status = name_place(work, symbols, index);
        }
    }
    if (status == RESMON_OK && symbols != NULL) {
        take_remark(work, symbols);
    }
    forget(&work->functions);
    forget(&work->files);
    if (symbols != NULL) {
        rest(work->naming, symbols);
    }
    return status;
}

/* qsort() passes no context, so it sorts what it needs. */
struct key {
    int64_t module;
    uint64_t address;
    size_t index;
};

static int compare(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    if (a->module != b->module) {
        return a->module < b->module ? -1 : 1;
    }
    if (a->address != b->address) {
        return a->address < b->address ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

static resmon_status sort_places(struct work *work)
{
    size_t count = work->profile->place_count;
    struct key *keys = rm_alloc(count, sizeof *keys);
    if (keys == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        const struct rm_run_place *place = &work->profile->places[i];
        keys[i] = (struct key){place->module, place->address, i};
    }
    qsort(keys, count, sizeof *keys, compare);
    for (size_t i = 0; i < count; i++) {
        work->order[i] = keys[i].index;
    }
    rm_free(keys);
    return RESMON_OK;
}

static resmon_status name_places(struct work *work)
{
    const struct rm_run_place *places = work->profile->places;
    size_t count = work->profile->place_count, past = 0;
    resmon_status status = sort_places(work);
    for (size_t from = 0; status == RESMON_OK && from < count; from = past) {
        for (past = from + 1;
             past < count && places[work->order[past]].module == places[work->order[from]].module;
             past++) {
        }
        status = name_module(work, from, past);
    }
    return status;
}

/* ---- the profile ------------------------------------------------------------------------ */

/* What the profile becomes. */
struct rebuilt {
    struct rm_run_place *places;
    uint32_t *frames;
    size_t frame_count;
    size_t *first; /* per old frame, and one past the last: its new ones */
};

static resmon_status rebuild(struct work *work, struct rebuilt *rebuilt)
{
    const struct rm_run_profile *profile = work->profile;
    for (size_t i = 0; i < profile->frame_count; i++) {
        rebuilt->first[i] = rebuilt->frame_count;
        rebuilt->frame_count += work->counts[profile->frames[i]];
    }
    rebuilt->first[profile->frame_count] = rebuilt->frame_count;
    rebuilt->places =
        rm_arena_alloc(&work->run->strings, work->place_count, sizeof *rebuilt->places);
    rebuilt->frames =
        rm_arena_alloc(&work->run->strings, rebuilt->frame_count, sizeof *rebuilt->frames);
    if (rebuilt->places == NULL || rebuilt->frames == NULL || work->places == NULL ||
        work->place_count > UINT32_MAX) {
        return no_memory();
    }
    memcpy(rebuilt->places, work->places, work->place_count * sizeof *work->places);
    for (size_t i = 0, at = 0; i < profile->frame_count; i++) {
        size_t place = work->first[profile->frames[i]];
        for (; at < rebuilt->first[i + 1]; at++, place++) {
            rebuilt->frames[at] = (uint32_t)place;
        }
    }
    return RESMON_OK;
}

static void move(const struct rebuilt *rebuilt, size_t *first, uint32_t *depth)
{
    size_t begin = rebuilt->first[*first];
    *depth = (uint32_t)(rebuilt->first[*first + *depth] - begin);
    *first = begin;
}

static void replace(struct rm_run_profile *profile, const struct work *work,
                    const struct rebuilt *rebuilt)
{
    for (size_t i = 0; i < profile->stack_count; i++) {
        move(rebuilt, &profile->stacks[i].first, &profile->stacks[i].depth);
    }
    for (size_t i = 0; i < profile->peak.stack_count; i++) {
        move(rebuilt, &profile->peak.stacks[i].first, &profile->peak.stacks[i].depth);
    }
    profile->places = rebuilt->places;
    profile->place_count = work->place_count;
    profile->frames = rebuilt->frames;
    profile->frame_count = rebuilt->frame_count;
}

/* The reason in the arena; NULL: no memory; "": there is nothing to say. */
static const char *remark_text(struct work *work)
{
    char text[REMARK_BYTES + 64];
    if (work->unnamed == 0) {
        return "";
    }
    int length = snprintf(text, sizeof text, "%s are missing: %s", work->missing, work->remark);
    if (work->unnamed > 1 && length >= 0 && (size_t)length < sizeof text) {
        (void)snprintf(text + length, sizeof text - (size_t)length, " (and of %zu more files)",
                       work->unnamed - 1);
    }
    return rm_arena_text(&work->run->strings, text, sizeof text);
}

static void say(struct rm_run_profile *profile, const char *text)
{
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        struct rm_run_stack_kind *kind = &profile->kinds[i];
        if (text[0] != '\0' && kind->status == RESMON_OK && kind->reason[0] == '\0') {
            kind->reason = text;
        }
    }
}

static resmon_status finish(struct work *work)
{
    struct rebuilt rebuilt = {.first =
                                  rm_alloc(work->profile->frame_count + 1, sizeof *rebuilt.first)};
    resmon_status status = rebuilt.first != NULL ? rebuild(work, &rebuilt) : no_memory();
    const char *remark = status == RESMON_OK ? remark_text(work) : NULL;
    if (remark != NULL) {
        replace(work->profile, work, &rebuilt);
        say(work->profile, remark);
    }
    rm_free(rebuilt.first);
    return status == RESMON_OK && remark == NULL ? no_memory() : status;
}

static resmon_status fill(struct rm_naming *naming, struct resmon_run *run)
{
    size_t count = run->profile.place_count;
    struct work work = {.naming = naming, .run = run, .profile = &run->profile};
    naming->calls++;
    work.order = rm_alloc(count, sizeof *work.order);
    work.first = rm_alloc(count, sizeof *work.first);
    work.counts = rm_alloc(count, sizeof *work.counts);
    resmon_status status = work.order != NULL && work.first != NULL && work.counts != NULL
                               ? name_places(&work)
                               : no_memory();
    if (status == RESMON_OK) {
        status = finish(&work);
    }
    drop_failed(naming);
    rm_free(work.order);
    rm_free(work.first);
    rm_free(work.counts);
    rm_free(work.places);
    rm_free(work.functions.slots);
    rm_free(work.files.slots);
    return status;
}

/* ---- what is asked for ------------------------------------------------------------------ */

static bool has_names(const struct rm_run_profile *profile)
{
    for (size_t i = 0; i < profile->place_count; i++) {
        const struct rm_run_place *place = &profile->places[i];
        if (place->function[0] != '\0' || place->file[0] != '\0') {
            return true;
        }
    }
    return false;
}

static bool is_inside(const struct rm_run_profile *profile, size_t first, uint32_t depth)
{
    return first <= profile->frame_count && depth <= profile->frame_count - first;
}

static bool is_sound(const struct rm_run_profile *profile)
{
    bool is_good = true;
    for (size_t i = 0; i < profile->frame_count; i++) {
        is_good = is_good && profile->frames[i] < profile->place_count;
    }
    for (size_t i = 0; i < profile->place_count; i++) {
        int64_t module = profile->places[i].module;
        is_good = is_good && module >= -1 && module < (int64_t)profile->module_count;
    }
    for (size_t i = 0; i < profile->stack_count; i++) {
        is_good = is_good && is_inside(profile, profile->stacks[i].first, profile->stacks[i].depth);
    }
    for (size_t i = 0; i < profile->peak.stack_count; i++) {
        const struct rm_run_peak_stack *stack = &profile->peak.stacks[i];
        is_good = is_good && is_inside(profile, stack->first, stack->depth);
    }
    return is_good;
}

resmon_status rm_naming_fill(struct rm_naming *naming, struct resmon_run *run)
{
    struct rm_naming *own = NULL;
    if (run->profile.place_count == 0 || has_names(&run->profile)) {
        return RESMON_OK;
    }
    if (!is_sound(&run->profile)) {
        return rm_error(RESMON_EINVAL, "the profile contradicts itself");
    }
    if (naming != NULL) {
        return fill(naming, run);
    }
    resmon_status status = rm_naming_new(NULL, &own);
    if (own != NULL) {
        status = fill(own, run);
    }
    rm_naming_free(own);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "stack/naming.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/thread.h"
#include "os/vdso.h"
#include "run/run.h"
#include "stack/budget.h"
#include "stack/demangle.h"
#include "stack/named_modules.h"
#include "stack/place_map.h"
#include "stack/shortage.h"
#include "stack/shown_texts.h"

struct rm_naming {
    char *debug_root; /* NULL: the usual one */
    struct rm_budget budget;
    struct rm_named_modules modules;
};

/* Of what was sampled: where less was in a module, its functions have names, and lines only where
 * the module itself has them.  The debug file of the C library takes some 30 ms to unpack. */
#define LIGHT_SHARE 0.05

/* libdw was seen to take a third of that. */
#define LEAST_STACK_BYTES ((size_t)512 * 1024)

static void look_here(struct rm_memory_room *ret_room)
{
    rm_memory_room_look(NULL, ret_room);
}

static resmon_status no_memory(void)
{
    (void)rm_error(RESMON_ENOMEM, "out of memory for the names of stacks");
    return RESMON_ENOMEM; /* plainly: the analyzer sees no further than this file */
}

resmon_status rm_naming_new(const char *debug_root, struct rm_naming **ret_naming)
{
    struct rm_naming *naming = rm_alloc(1, sizeof *naming);
    if (naming != NULL && debug_root != NULL) {
        naming->debug_root = rm_strdup(debug_root);
    }
    if (naming == NULL || (debug_root != NULL && naming->debug_root == NULL)) {
        rm_naming_free(naming);
        return no_memory();
    }
    *ret_naming = naming;
    return RESMON_OK;
}

void rm_naming_set_look(struct rm_naming *naming, void (*look)(struct rm_memory_room *ret_room))
{
    naming->budget.look = look;
}

void rm_naming_free(struct rm_naming *naming)
{
    if (naming == NULL) {
        return;
    }
    rm_named_modules_free(&naming->modules);
    rm_free(naming->debug_root);
    rm_free(naming);
}

/* ---- the work --------------------------------------------------------------------------- */

/* A place, by which they are sorted. */
struct key {
    int64_t module;
    uint64_t address;
    size_t index;
};

struct work {
    struct rm_naming *naming;
    struct resmon_run *run;
    struct rm_run_profile *profile;
    struct key *keys; /* of all places */
    double *shares;   /* of all samples: by module and kind, those that were innermost in it */
    bool has_shares;  /* there were samples */
    struct rm_place_map map;
    struct rm_shown_texts functions, files;
    size_t nameless; /* places that got no name */
    struct rm_shortage shortage;
};

static const char *show_file(struct rm_arena *arena, const char *text)
{
    return rm_arena_text(arena, text, RM_MOST_NAME_BYTES);
}

static resmon_status add_frame(struct work *work, size_t index, const struct rm_symbol *frame,
                               bool is_inlined)
{
    struct rm_arena *arena = &work->run->strings;
    const struct rm_run_place *old = &work->profile->places[index];
    const struct rm_run_place place = {
        .function = rm_shown_text(&work->functions, arena, frame->function),
        .file = rm_shown_text(&work->files, arena, frame->file),
        .line = frame->line,
        .is_inlined = is_inlined,
        .module = old->module,
        .address = old->address,
    };
    return place.function == NULL || place.file == NULL
               ? no_memory()
               : rm_place_map_add(&work->map, index, &place);
}

static resmon_status name_place(struct work *work, struct rm_symbols *symbols, size_t index)
{
    struct rm_symbol frames[RM_MOST_INLINED];
    const struct rm_run_place *old = &work->profile->places[index];
    resmon_status status = RESMON_OK;
    size_t count = 0;
    rm_place_map_begin(&work->map, index);
    if (symbols != NULL) {
        uint64_t bias = work->profile->modules[old->module].bias;
        status = rm_symbols_find(symbols, old->address - bias, frames, &count);
    }
    work->nameless += count == 0 || frames[count - 1].function == NULL;
    if (status == RESMON_OK && count == 0) {
        return rm_place_map_add(&work->map, index, old);
    }
    for (size_t i = 0; status == RESMON_OK && i < count; i++) {
        status = add_frame(work, index, &frames[i], i + 1 < count);
    }
    return status;
}

/* `nameless`: places of the module that got no name. */
static void look_for_shortage(struct work *work, const struct rm_symbols *symbols,
                              const struct rm_run_module *module, size_t nameless)
{
    const char *reason = NULL;
    if (rm_symbols_status(symbols, &reason) != RESMON_OK) {
        rm_shortage_add(&work->shortage, "names", reason);
        return;
    }
    const char *remark = rm_symbols_remark(symbols);
    if (remark[0] != '\0') {
        rm_shortage_add(&work->shortage, rm_symbols_has_table(symbols) ? "lines" : "names", remark);
    }
    if (nameless > 0 && rm_symbols_is_stripped(symbols)) {
        rm_shortage_add_stripped(&work->shortage, module);
    }
}

static bool has_symbols(const struct rm_run_module *module)
{
    bool is_vdso = strcmp(module->path, RM_VDSO_NAME) == 0;
    return module->path[0] == '/' || (is_vdso && module->build_id[0] != '\0');
}

/* NULL: nothing that has symbols, such as code that was made at run time. */
static resmon_status symbols_of(struct work *work, int64_t module, struct rm_symbols **ret_symbols)
{
    const struct rm_run_module *modules = work->profile->modules;
    *ret_symbols = NULL;
    if (module < 0 || !has_symbols(&modules[module])) {
        return RESMON_OK;
    }
    const struct rm_symbols_origin origin = {
        .path = modules[module].path,
        .build_id = modules[module].build_id,
        .pid = rm_run_pid(work->run),
        .mapped_ns = work->run->info.start_realtime_ns,
        .debug_root = work->naming->debug_root,
        .budget = &work->naming->budget,
    };
    return rm_named_modules_get(&work->naming->modules, &origin, ret_symbols);
}

static int64_t innermost_module(const struct rm_run_profile *profile,
                                const struct rm_run_stack *stack)
{
    return stack->depth > 0 ? profile->places[profile->frames[stack->first]].module : -1;
}

static void add_shares(struct work *work, size_t kind)
{
    const struct rm_run_profile *profile = work->profile;
    double total = 0.0;
    for (size_t i = 0; i < profile->stack_count; i++) {
        total += profile->stacks[i].weight[kind];
    }
    work->has_shares |= total > 0.0;
    for (size_t i = 0; i < profile->stack_count && total > 0.0; i++) {
        int64_t module = innermost_module(profile, &profile->stacks[i]);
        if (module >= 0) {
            work->shares[(size_t)module * RM_STACK_KINDS + kind] +=
                profile->stacks[i].weight[kind] / total;
        }
    }
}

static resmon_status find_shares(struct work *work)
{
    work->shares = rm_alloc(work->profile->module_count * RM_STACK_KINDS + 1, sizeof *work->shares);
    for (size_t kind = 0; kind < RM_STACK_KINDS && work->shares != NULL; kind++) {
        add_shares(work, kind);
    }
    return work->shares != NULL ? RESMON_OK : no_memory();
}

static bool is_light(const struct work *work, int64_t module)
{
    bool is_heavy = !work->has_shares;
    for (size_t kind = 0; kind < RM_STACK_KINDS && module >= 0; kind++) {
        is_heavy |= work->shares[(size_t)module * RM_STACK_KINDS + kind] >= LIGHT_SHARE;
    }
    return !is_heavy;
}

/* The places keys[from ... past - 1], which are all of one module. */
static resmon_status name_module(struct work *work, size_t from, size_t past)
{
    const struct key *keys = work->keys;
    struct rm_symbols *symbols = NULL;
    size_t nameless = work->nameless;
    work->naming->budget.addresses = past - from;
    work->naming->budget.is_light = is_light(work, keys[from].module);
    resmon_status status = symbols_of(work, keys[from].module, &symbols);
    for (size_t i = from; status == RESMON_OK && i < past; i++) {
        if (i > from && keys[i].address == keys[i - 1].address) {
            rm_place_map_share(&work->map, keys[i].index, keys[i - 1].index);
        } else {
            status = name_place(work, symbols, keys[i].index);
        }
    }
    if (status == RESMON_OK && symbols != NULL) {
        look_for_shortage(work, symbols, &work->profile->modules[keys[from].module],
                          work->nameless - nameless);
    }
    rm_shown_texts_forget(&work->functions);
    rm_shown_texts_forget(&work->files);
    if (symbols != NULL) {
        rm_symbols_rest(symbols);
    }
    return status;
}

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
    work->keys = rm_alloc(count, sizeof *work->keys);
    if (work->keys == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        const struct rm_run_place *place = &work->profile->places[i];
        work->keys[i] = (struct key){place->module, place->address, i};
    }
    qsort(work->keys, count, sizeof *work->keys, compare);
    return RESMON_OK;
}

static resmon_status name_places(struct work *work)
{
    size_t count = work->profile->place_count, past = 0;
    resmon_status status = sort_places(work);
    status = status == RESMON_OK ? find_shares(work) : status;
    for (size_t from = 0; status == RESMON_OK && from < count; from = past) {
        for (past = from + 1; past < count && work->keys[past].module == work->keys[from].module;
             past++) {
        }
        status = name_module(work, from, past);
    }
    return status;
}

/* ---- what is left out ------------------------------------------------------------------- */

#define LEFT_OUT "names are left out: "

/* It stands alone, and is no more once names were looked up. */
static const char *without_put_off(const char *reason)
{
    return strncmp(reason, LEFT_OUT, sizeof LEFT_OUT - 1) == 0 ? "" : reason;
}

/* A remark of the samples' own is worth more than one about names. */
static void leave_out(struct resmon_run *run, const char *why)
{
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        struct rm_run_stack_kind *kind = &run->profile.kinds[i];
        if (kind->status != RESMON_OK) {
            continue;
        }
        const char *joined = rm_shortage_join(without_put_off(kind->reason), why, &run->strings);
        kind->reason = joined != NULL ? joined : kind->reason;
    }
}

/* ---- the profile ------------------------------------------------------------------------ */

/* The reasons of all kinds with the text behind what they say already; false: no memory. */
static bool join_reasons(struct work *work, const char *text, const char *reasons[RM_STACK_KINDS])
{
    bool is_whole = true;
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        const struct rm_run_stack_kind *kind = &work->profile->kinds[i];
        reasons[i] = kind->status == RESMON_OK ? rm_shortage_join(without_put_off(kind->reason),
                                                                  text, &work->run->strings)
                                               : kind->reason;
        is_whole = is_whole && reasons[i] != NULL;
    }
    return is_whole;
}

static resmon_status make(struct work *work, struct rm_mapped_profile *mapped)
{
    const char *reasons[RM_STACK_KINDS];
    struct rm_arena *arena = &work->run->strings;
    resmon_status status = rm_place_map_make(&work->map, work->profile, arena, mapped);
    if (status != RESMON_OK) {
        return status;
    }
    const char *text = rm_shortage_text(&work->shortage, arena);
    if (text == NULL || !join_reasons(work, text, reasons)) {
        return no_memory();
    }
    rm_place_map_apply(mapped, work->profile);
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        work->profile->kinds[i].reason = reasons[i];
    }
    return RESMON_OK;
}

static resmon_status finish(struct work *work)
{
    struct rm_mapped_profile mapped;
    resmon_status status = make(work, &mapped);
    rm_free(mapped.first);
    return status;
}

static resmon_status fill(struct rm_naming *naming, struct resmon_run *run)
{
    struct work work = {
        .naming = naming,
        .run = run,
        .profile = &run->profile,
        .functions = {.show = rm_demangle},
        .files = {.show = show_file},
    };
    rm_named_modules_begin(&naming->modules);
    resmon_status status = rm_place_map_open(&work.map, &run->profile);
    if (status == RESMON_OK) {
        status = name_places(&work);
    }
    if (status == RESMON_OK) {
        status = finish(&work);
    }
    rm_named_modules_end(&naming->modules);
    rm_free(work.keys);
    rm_free(work.shares);
    rm_place_map_free(&work.map);
    rm_shown_texts_free(&work.functions);
    rm_shown_texts_free(&work.files);
    return status;
}

static bool has_names(const struct rm_run_profile *profile)
{
    for (size_t i = 0; i < profile->place_count; i++) {
        const struct rm_run_place *place = &profile->places[i];
        if (place->module >= 0 && (place->function[0] != '\0' || place->file[0] != '\0')) {
            return true; /* without a module: it came with its name */
        }
    }
    return false;
}

resmon_status rm_naming_fill(struct rm_naming *naming, struct resmon_run *run)
{
    struct rm_naming *own = NULL;
    if (run->profile.place_count == 0 || has_names(&run->profile)) {
        return RESMON_OK;
    }
    if (!rm_place_map_fits(&run->profile)) {
        return rm_error(RESMON_EINVAL, "the profile is inconsistent");
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

/* Debug information takes most. */
static resmon_status fill_without_lines(struct resmon_run *run)
{
    struct rm_naming *plain = NULL;
    resmon_status status = rm_naming_new(NULL, &plain);
    if (status == RESMON_OK) {
        plain->budget = (struct rm_budget){.look = look_here, .has_no_lines = true};
        status = rm_naming_fill(plain, run);
    }
    rm_naming_free(plain);
    return status;
}

static resmon_status fill_within_bounds(struct rm_naming *naming, struct resmon_run *run)
{
    struct rm_naming *own = NULL;
    resmon_status status = naming == NULL ? rm_naming_new(NULL, &own) : RESMON_OK;
    if (status == RESMON_OK) {
        naming = naming != NULL ? naming : own;
        naming->budget.look = naming->budget.look != NULL ? naming->budget.look : look_here;
        status = rm_naming_fill(naming, run);
    }
    rm_naming_free(own);
    return status == RESMON_ENOMEM ? fill_without_lines(run) : status;
}

static void name_if_possible(struct rm_naming *naming, struct resmon_run *run)
{
    if (run->profile.place_count == 0 || has_names(&run->profile)) {
        return;
    }
    if (rm_thread_stack_left() < LEAST_STACK_BYTES) {
        leave_out(run, LEFT_OUT
                  "the stack of the thread is too small, and no other thread could be started");
    } else if (fill_within_bounds(naming, run) == RESMON_ENOMEM) {
        leave_out(run, LEFT_OUT "out of memory");
    }
}

void rm_naming_try(struct rm_naming *naming, struct resmon_run *run)
{
    name_if_possible(naming, run);
    rm_profile_trim(&run->profile);
}

void rm_naming_put_off(struct resmon_run *run)
{
    if (run->profile.place_count > 0) {
        leave_out(run, LEFT_OUT "they are looked up when the run ends, or when it is loaded");
    }
}

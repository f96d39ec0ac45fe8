/* SPDX-License-Identifier: MIT */
#include "symbols/naming.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "names/protocol.h"
#include "run/run.h"
#include "symbols/symbolizer.h"

/* A module with a smaller share of the samples has lines only if they are in the module itself: its
 * debug file is not read.  The one of the C library takes about 30 ms to decompress. */
#define LIGHT_SHARE 0.05

#define MOST_NAMED 3U  /* stripped modules that are named in a reason */
#define MOST_PATH  256 /* bytes of each path */

struct rm_naming {
    char *debug_root;                /* NULL: the usual directory */
    struct rm_buffer request, reply; /* the last complete ones */
};

static resmon_status no_memory(void)
{
    (void)rm_error(RESMON_ENOMEM, "out of memory for the names of stacks");
    return RESMON_ENOMEM; /* a constant, as the analyzer does not see rm_error() */
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
    rm_buffer_init(&naming->request, RM_NAMES_MOST_BYTES);
    rm_buffer_init(&naming->reply, RM_NAMES_MOST_BYTES + 1);
    *ret_naming = naming;
    return RESMON_OK;
}

void rm_naming_free(struct rm_naming *naming)
{
    if (naming != NULL) {
        rm_buffer_free(&naming->request);
        rm_buffer_free(&naming->reply);
        rm_free(naming->debug_root);
        rm_free(naming);
    }
}

/* ---- the request ------------------------------------------------------------------------ */

/* Clears RM_NAMES_LIGHT of the modules with at least LIGHT_SHARE of the innermost frames of a kind.
 * False: there are no samples. */
static bool mark_heavy(const struct rm_run_profile *profile, size_t kind, double *shares,
                       uint32_t *flags)
{
    double total = 0.0;
    memset(shares, 0, profile->module_count * sizeof *shares);
    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct rm_run_stack *stack = &profile->stacks[i];
        int64_t module =
            stack->depth > 0 ? profile->places[profile->frames[stack->first]].module : -1;
        total += stack->weight[kind];
        if (module >= 0) {
            shares[module] += stack->weight[kind];
        }
    }
    for (size_t i = 0; i < profile->module_count && total > 0.0; i++) {
        flags[i] &= shares[i] >= LIGHT_SHARE * total ? ~RM_NAMES_LIGHT : UINT32_MAX;
    }
    return total > 0.0;
}

/* RM_NAMES_LIGHT or 0 by module; rm_free().  NULL: no memory. */
static uint32_t *flags_of(const struct rm_run_profile *profile)
{
    const size_t count = profile->module_count;
    bool has_samples = false;
    double *shares = rm_alloc(count + 1, sizeof *shares);
    uint32_t *flags = shares != NULL ? rm_alloc(count + 1, sizeof *flags) : NULL;
    if (flags != NULL) {
        memset(flags, 0xff, count * sizeof *flags);
    }
    for (size_t kind = 0; kind < RM_STACK_KINDS && flags != NULL; kind++) {
        has_samples = mark_heavy(profile, kind, shares, flags) || has_samples;
    }
    for (size_t i = 0; i < count && flags != NULL; i++) {
        flags[i] = has_samples ? flags[i] & RM_NAMES_LIGHT : 0;
    }
    rm_free(shares);
    return flags;
}

static resmon_status make_request(const struct rm_naming *naming, const struct resmon_run *run,
                                  struct rm_buffer *request)
{
    const struct rm_run_profile *profile = &run->profile;
    uint32_t *flags = flags_of(profile);
    if (flags == NULL) {
        return no_memory();
    }
    rm_symbolizer_begin(request, (uint64_t)rm_run_pid(run), (uint64_t)run->info.start_realtime_ns,
                        naming->debug_root);
    rm_names_put_u32(request, (uint32_t)profile->module_count);
    for (size_t i = 0; i < profile->module_count; i++) {
        const struct rm_run_module *module = &profile->modules[i];
        rm_names_put_text(request, module->path, SIZE_MAX);
        rm_names_put_text(request, module->build_id, SIZE_MAX);
        rm_names_put_u64(request, module->bias);
        rm_names_put_u32(request, flags[i]);
    }
    rm_names_put_u32(request, (uint32_t)profile->place_count);
    for (size_t i = 0; i < profile->place_count; i++) {
        const struct rm_run_place *place = &profile->places[i];
        rm_names_put_u32(request,
                         place->module >= 0 ? (uint32_t)place->module : RM_NAMES_NO_MODULE);
        rm_names_put_u64(request, place->address);
    }
    rm_free(flags);
    return request->status;
}

/* Gets a reply; the cached one, if the request is the same: a run is captured more than once. */
static resmon_status ask(struct rm_naming *naming, const struct resmon_run *run)
{
    struct rm_buffer request;
    rm_buffer_init(&request, RM_NAMES_MOST_BYTES);
    resmon_status status = make_request(naming, run, &request);
    if (status != RESMON_OK || (request.length == naming->request.length &&
                                memcmp(request.text, naming->request.text, request.length) == 0)) {
        rm_buffer_free(&request);
        return status;
    }
    rm_buffer_free(&naming->request);
    rm_buffer_free(&naming->reply);
    naming->request = request;
    status = rm_symbolizer.ask(&request, &naming->reply);
    if (status != RESMON_OK) {
        rm_buffer_free(&naming->request); /* the next call tries again */
    }
    return status;
}

/* ---- the reply -------------------------------------------------------------------------- */

/* The new places of a profile. */
struct work {
    struct resmon_run *run;
    struct rm_run_place *places;
    size_t place_count, place_room;
    size_t *first;      /* by old place: index of its first new place; with one more past the end */
    const char **texts; /* texts of the reply, by number */
    size_t text_count, text_room;
    /* Missing names: modules with a reason, of which the first is reported, and stripped modules.
     */
    size_t reason_count, stripped_count;
    const char *missing, *reason;
    const struct rm_run_module *stripped[MOST_NAMED];
};

static resmon_status refuse(void)
{
    (void)rm_error(RESMON_EFORMAT, "the reply of resmon-names makes no sense");
    return RESMON_EFORMAT;
}

static const char *keep_text(struct work *work, const struct rm_text *text, size_t most)
{
    size_t length = rm_text_left(text);
    return rm_arena_text(&work->run->strings, text->at, length < most ? length : most);
}

static resmon_status take_name(struct work *work, struct rm_text *reply, const char **ret_name)
{
    uint32_t number = 0;
    struct rm_text text;
    if (!rm_names_take_u32(reply, &number) || number > work->text_count + 1) {
        return refuse();
    }
    if (number == work->text_count + 1) {
        const char **texts =
            rm_grow(work->texts, work->text_count, &work->text_room, sizeof(const char *));
        if (texts == NULL) {
            return no_memory();
        }
        work->texts = texts;
        if (!rm_names_take_text(reply, &text)) {
            return refuse();
        }
        texts[work->text_count] = keep_text(work, &text, RM_NAMES_MOST_TEXT);
        if (texts[work->text_count++] == NULL) {
            return no_memory();
        }
    }
    *ret_name = number > 0 ? work->texts[number - 1] : "";
    return RESMON_OK;
}

static resmon_status add_place(struct work *work, const struct rm_run_place *place)
{
    struct rm_run_place *places =
        rm_grow(work->places, work->place_count, &work->place_room, sizeof *places);
    if (places == NULL || work->place_count == UINT32_MAX) {
        return no_memory();
    }
    work->places = places;
    places[work->place_count++] = *place;
    return RESMON_OK;
}

static resmon_status take_frame(struct work *work, struct rm_text *reply,
                                const struct rm_run_place *old, bool is_inlined)
{
    struct rm_run_place place = *old;
    place.is_inlined = is_inlined;
    resmon_status status = take_name(work, reply, &place.function);
    if (status == RESMON_OK) {
        status = take_name(work, reply, &place.file);
    }
    if (status == RESMON_OK && (!rm_names_take_u32(reply, &place.line) || place.line > INT32_MAX)) {
        status = refuse();
    }
    return status == RESMON_OK ? add_place(work, &place) : status;
}

/* A place without frames stays unchanged. */
static resmon_status take_place(struct work *work, struct rm_text *reply, size_t index)
{
    const struct rm_run_place *old = &work->run->profile.places[index];
    uint32_t count = 0;
    if (!rm_names_take_u32(reply, &count) || count > RM_NAMES_MOST_INLINED) {
        return refuse();
    }
    work->first[index] = work->place_count;
    resmon_status status = count == 0 ? add_place(work, old) : RESMON_OK;
    for (uint32_t i = 0; i < count && status == RESMON_OK; i++) {
        status = take_frame(work, reply, old, i + 1 < count);
    }
    work->first[index + 1] = work->place_count;
    return status;
}

static resmon_status take_module(struct work *work, struct rm_text *reply,
                                 const struct rm_run_module *module)
{
    uint32_t flags = 0;
    struct rm_text reason;
    if (!rm_names_take_u32(reply, &flags) || !rm_names_take_text(reply, &reason)) {
        return refuse();
    }
    if ((flags & (RM_NAMES_NO_NAMES | RM_NAMES_NO_LINES)) != 0 && work->reason_count++ == 0) {
        work->missing = (flags & RM_NAMES_NO_NAMES) != 0 ? "names" : "lines";
        work->reason = keep_text(work, &reason, RM_NAMES_MOST_REASON);
        if (work->reason == NULL) {
            return no_memory();
        }
    }
    if ((flags & RM_NAMES_STRIPPED) != 0) {
        if (work->stripped_count < MOST_NAMED) {
            work->stripped[work->stripped_count] = module;
        }
        work->stripped_count++;
    }
    return RESMON_OK;
}

static resmon_status take_reply(struct work *work, struct rm_text reply)
{
    const struct rm_run_profile *profile = &work->run->profile;
    uint32_t end = 0;
    work->first = rm_alloc(profile->place_count + 1, sizeof *work->first);
    resmon_status status =
        work->first != NULL ? rm_symbolizer_open_reply(&reply, false) : no_memory();
    for (size_t i = 0; i < profile->module_count && status == RESMON_OK; i++) {
        status = take_module(work, &reply, &profile->modules[i]);
    }
    for (size_t i = 0; i < profile->place_count && status == RESMON_OK; i++) {
        status = take_place(work, &reply, i);
    }
    if (status == RESMON_OK &&
        (!rm_names_take_u32(&reply, &end) || end != RM_NAMES_END || rm_text_left(&reply) > 0)) {
        status = refuse();
    }
    return status;
}

/* ---- reasons ---------------------------------------------------------------------------- */

static void write_stripped(const struct work *work, struct rm_buffer *text)
{
    size_t count = work->stripped_count;
    if (count == 0) {
        return;
    }
    rm_buffer_puts(text, text->length > 0 ? "; names are missing: " : "names are missing: ");
    for (size_t i = 0; i < count && i < MOST_NAMED; i++) {
        const struct rm_run_module *module = work->stripped[i];
        rm_buffer_printf(text, "%s%.*s", i > 0 ? ", " : "", MOST_PATH, module->path);
        if (module->build_id[0] != '\0') {
            rm_buffer_printf(text, " (build-id %s)", module->build_id);
        }
    }
    if (count > MOST_NAMED) {
        rm_buffer_printf(text, " and %zu more", count - MOST_NAMED);
    }
    rm_buffer_puts(text, count == 1 ? " is stripped, with no .symtab and no separate debug file: "
                                      "install its -dbg or -dbgsym package, or build it with -g "
                                      "and do not strip it"
                                    : " are stripped, with no .symtab and no separate debug "
                                      "files: install their -dbg or -dbgsym packages, or build "
                                      "them with -g and do not strip them");
}

static void write_reason(const struct work *work, struct rm_buffer *text)
{
    if (work->reason_count > 0) {
        rm_buffer_printf(text, "%s are missing: %s", work->missing, work->reason);
    }
    if (work->reason_count > 1) {
        rm_buffer_printf(text, " (and of %zu more files)", work->reason_count - 1);
    }
    write_stripped(work, text);
}

static resmon_status add_reasons(const struct work *work)
{
    struct rm_buffer text;
    rm_buffer_init(&text, RM_PROFILE_REASON_BYTES);
    write_reason(work, &text);
    bool is_whole =
        text.status == RESMON_OK && rm_profile_add_reason(&work->run->profile, &work->run->strings,
                                                          text.length > 0 ? text.text : "");
    rm_buffer_free(&text);
    return is_whole ? RESMON_OK : no_memory();
}

/* ---- the profile ------------------------------------------------------------------------ */

static void move(const size_t *starts, size_t *first, uint32_t *depth)
{
    size_t begin = starts[*first];
    *depth = (uint32_t)(starts[*first + *depth] - begin);
    *first = begin;
}

static void move_stacks(struct rm_run_profile *profile, const size_t *starts)
{
    for (size_t i = 0; i < profile->stack_count; i++) {
        move(starts, &profile->stacks[i].first, &profile->stacks[i].depth);
    }
    for (size_t i = 0; i < profile->peak.stack_count; i++) {
        move(starts, &profile->peak.stacks[i].first, &profile->peak.stacks[i].depth);
    }
}

/* The new frames, in the arena, and the index of the first new one for each old frame. */
static uint32_t *make_frames(const struct work *work, size_t *starts)
{
    const struct rm_run_profile *profile = &work->run->profile;
    size_t count = 0;
    for (size_t i = 0; i < profile->frame_count; i++) {
        uint32_t place = profile->frames[i];
        starts[i] = count;
        count += work->first[place + 1] - work->first[place];
    }
    starts[profile->frame_count] = count;
    uint32_t *frames = rm_arena_alloc(&work->run->strings, count, sizeof *frames);
    for (size_t i = 0, at = 0; i < profile->frame_count && frames != NULL; i++) {
        size_t place = work->first[profile->frames[i]];
        for (; at < starts[i + 1]; at++, place++) {
            frames[at] = (uint32_t)place;
        }
    }
    return frames;
}

/* Replaces the profile completely or not at all. */
static resmon_status apply(struct work *work)
{
    struct rm_run_profile *profile = &work->run->profile;
    size_t *starts = rm_alloc(profile->frame_count + 1, sizeof *starts);
    uint32_t *frames = starts != NULL ? make_frames(work, starts) : NULL;
    struct rm_run_place *places =
        rm_arena_alloc(&work->run->strings, work->place_count, sizeof *places);
    resmon_status status = frames != NULL && places != NULL ? add_reasons(work) : no_memory();
    if (status == RESMON_OK) {
        memcpy(places, work->places, work->place_count * sizeof *places);
        move_stacks(profile, starts);
        profile->frame_count = starts[profile->frame_count];
        profile->frames = frames;
        profile->places = places;
        profile->place_count = work->place_count;
    }
    rm_free(starts);
    return status;
}

static resmon_status fill(struct rm_naming *naming, struct resmon_run *run)
{
    struct work work = {.run = run};
    resmon_status status = ask(naming, run);
    if (status == RESMON_OK) {
        status = take_reply(&work, rm_text_of(naming->reply.text, naming->reply.length));
    }
    if (status == RESMON_OK) {
        status = apply(&work);
    } else if (status != RESMON_ENOMEM) {
        rm_profile_leave_names_out(&run->profile, &run->strings, resmon_last_error());
        rm_buffer_free(&naming->request);
        status = RESMON_OK;
    }
    rm_free(work.places);
    rm_free(work.first);
    rm_free(work.texts);
    return status;
}

/* ---- a run ------------------------------------------------------------------------------ */

/* A place without a module has its name already. */
static bool has_names(const struct rm_run_profile *profile)
{
    for (size_t i = 0; i < profile->place_count; i++) {
        const struct rm_run_place *place = &profile->places[i];
        if (place->module >= 0 && (place->function[0] != '\0' || place->file[0] != '\0')) {
            return true;
        }
    }
    return false;
}

static bool is_inside(const struct rm_run_profile *profile, size_t first, uint32_t depth)
{
    return first <= profile->frame_count && depth <= profile->frame_count - first;
}

/* Checks all indexes. */
static bool is_consistent(const struct rm_run_profile *profile)
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
    if (!is_consistent(&run->profile)) {
        return rm_error(RESMON_EINVAL, "the profile is inconsistent");
    }
    resmon_status status = naming == NULL ? rm_naming_new(NULL, &own) : RESMON_OK;
    if (status == RESMON_OK) {
        status = fill(naming != NULL ? naming : own, run);
    }
    rm_naming_free(own);
    return status;
}

void rm_naming_try(struct rm_naming *naming, struct resmon_run *run)
{
    if (rm_naming_fill(naming, run) == RESMON_ENOMEM) {
        rm_profile_leave_names_out(&run->profile, &run->strings, "out of memory");
    }
    rm_profile_trim(&run->profile);
}

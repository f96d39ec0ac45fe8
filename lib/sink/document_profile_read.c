/* SPDX-License-Identifier: MIT */
/*
 * "profile" of a run document.  Indexes must be right and columns of one length, or everybody who
 * follows them would have to look twice: else it is RESMON_EFORMAT, with the place in the document.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/status.h"
#include "sink/document_parts.h"

struct reader {
    struct resmon_run *run;
    struct rm_run_profile *profile;
    const char **texts;
    size_t text_count;
    double *numbers; /* of a column; as many as the longest has */
};

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for the stacks of a run document");
}

static resmon_status out_of_range(const char *part, const char *key, size_t index)
{
    return rm_error(RESMON_EFORMAT, "profile.%s%s[%zu] is out of range", part, key, index);
}

/* ---- values ----------------------------------------------------------------------------- */

/* A column of `count` whole numbers from `low` up to below `high`, into `numbers`. */
struct column {
    const char *part, *key;
    size_t count;
    double low, high;
    bool is_real; /* not only whole numbers */
};

static resmon_status read_column(const struct reader *reader, const struct rm_json *object,
                                 const struct column *column)
{
    const struct rm_json *array = rm_json_get(object, column->key);
    size_t i = 0;
    if (rm_json_count(array) != column->count) {
        return rm_error(RESMON_EFORMAT, "profile.%s%s has %zu entries instead of %zu", column->part,
                        column->key, rm_json_count(array), column->count);
    }
    for (const struct rm_json *e = rm_json_first(array); e != NULL; e = rm_json_next(e)) {
        double number = rm_json_number(e);
        if (!(number >= column->low && number < column->high) ||
            (!column->is_real && number != floor(number))) {
            return out_of_range(column->part, column->key, i);
        }
        reader->numbers[i++] = number;
    }
    return RESMON_OK;
}

static bool read_address(const struct rm_json *value, uint64_t *ret_address)
{
    const char *text = rm_json_text(value);
    struct rm_text rest = rm_text_of(text != NULL ? text : "", text != NULL ? strlen(text) : 0);
    return rm_parse_hex(&rest, ret_address) && rest.at == rest.end;
}

static uint64_t count_of(const struct rm_json *object, const char *key)
{
    uint64_t number;
    return rm_document_whole(rm_json_get(object, key), RM_DOCUMENT_EXACT, &number) ? number : 0;
}

/* Amounts that are not known are NaN. */
static double amount_of(const struct rm_json *object, const char *key)
{
    double number = rm_json_number(rm_json_get(object, key));
    return number >= 0.0 && number < RM_DOCUMENT_HEAVIEST ? number : RM_NAN;
}

/* ---- kinds, losses, modules --------------------------------------------------------------- */

static resmon_status read_kinds(struct reader *reader, const struct rm_json *profile)
{
    const struct rm_json *kinds = rm_json_get(profile, "kinds");
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        const struct rm_json *one = rm_json_get(kinds, rm_stack_kind_names[i]);
        if (one != NULL) {
            reader->profile->kinds[i] = (struct rm_run_stack_kind){
                .status = rm_document_status(one),
                .reason = rm_document_text(reader->run, rm_json_get(one, "reason"), &status),
                .period = count_of(one, "period"),
                .total = amount_of(one, "total"),
            };
        }
    }
    const struct rm_json *lost = rm_json_get(profile, "lost");
    for (size_t i = 0; i < RM_LOSS_COUNT; i++) {
        reader->profile->lost[i] = count_of(lost, rm_stack_loss_names[i]);
    }
    return status;
}

static resmon_status read_modules(struct reader *reader, const struct rm_json *profile)
{
    const struct rm_json *array = rm_json_get(profile, "modules");
    struct rm_run_profile *target = reader->profile;
    resmon_status status = RESMON_OK;
    target->modules =
        rm_arena_alloc(&reader->run->strings, rm_json_count(array), sizeof *target->modules);
    if (target->modules == NULL) {
        return out_of_memory();
    }
    for (const struct rm_json *e = rm_json_first(array); e != NULL; e = rm_json_next(e)) {
        struct rm_run_module *module = &target->modules[target->module_count];
        module->path = rm_document_text(reader->run, rm_json_get(e, "path"), &status);
        module->build_id = rm_document_text(reader->run, rm_json_get(e, "build_id"), &status);
        if (!read_address(rm_json_get(e, "start"), &module->start) ||
            !read_address(rm_json_get(e, "end"), &module->end) ||
            !read_address(rm_json_get(e, "bias"), &module->bias)) {
            return out_of_range("", "modules", target->module_count);
        }
        target->module_count++;
    }
    return status;
}

static resmon_status read_texts(struct reader *reader, const struct rm_json *profile)
{
    const struct rm_json *array = rm_json_get(profile, "texts");
    resmon_status status = RESMON_OK;
    reader->texts =
        rm_arena_alloc(&reader->run->strings, rm_json_count(array), sizeof *reader->texts);
    if (reader->texts == NULL) {
        return out_of_memory();
    }
    for (const struct rm_json *e = rm_json_first(array); e != NULL && status == RESMON_OK;
         e = rm_json_next(e)) {
        reader->texts[reader->text_count++] = rm_document_text(reader->run, e, &status);
    }
    return status;
}

/* ---- places ----------------------------------------------------------------------------- */

enum place_column { PLACE_FUNCTION, PLACE_FILE, PLACE_LINE, PLACE_INLINED, PLACE_MODULE };

static void set_place(const struct reader *reader, struct rm_run_place *place,
                      enum place_column column, double number)
{
    switch (column) {
    case PLACE_FUNCTION:
        place->function = reader->texts[(size_t)number];
        break;
    case PLACE_FILE:
        place->file = reader->texts[(size_t)number];
        break;
    case PLACE_LINE:
        place->line = (uint32_t)number;
        break;
    case PLACE_INLINED:
        place->is_inlined = (uint32_t)number;
        break;
    case PLACE_MODULE:
        place->module = (int64_t)number;
        break;
    }
}

static resmon_status read_addresses(struct reader *reader, const struct rm_json *places,
                                    size_t count)
{
    const struct rm_json *array = rm_json_get(places, "address");
    struct rm_run_place *place = reader->profile->places;
    if (rm_json_count(array) != count) {
        return rm_error(RESMON_EFORMAT, "profile.places.address has %zu entries instead of %zu",
                        rm_json_count(array), count);
    }
    for (const struct rm_json *e = rm_json_first(array); e != NULL; e = rm_json_next(e), place++) {
        if (!read_address(e, &place->address)) {
            return out_of_range("places.", "address", (size_t)(place - reader->profile->places));
        }
    }
    return RESMON_OK;
}

static resmon_status read_places(struct reader *reader, const struct rm_json *profile)
{
    const struct rm_json *places = rm_json_get(profile, "places");
    struct rm_run_profile *target = reader->profile;
    size_t count = rm_json_count(rm_json_get(places, "function"));
    const double texts = (double)reader->text_count;
    const struct column columns[] = {
        [PLACE_FUNCTION] = {"places.", "function", count, 0, texts, false},
        [PLACE_FILE] = {"places.", "file", count, 0, texts, false},
        [PLACE_LINE] = {"places.", "line", count, 0, 0x1p32, false},
        [PLACE_INLINED] = {"places.", "inlined", count, 0, 2, false},
        [PLACE_MODULE] = {"places.", "module", count, -1, (double)target->module_count, false},
    };
    target->places = rm_arena_alloc(&reader->run->strings, count, sizeof *target->places);
    if (target->places == NULL) {
        return out_of_memory();
    }
    resmon_status status = read_addresses(reader, places, count);
    for (size_t c = 0; c < RM_ARRAY_LEN(columns) && status == RESMON_OK; c++) {
        status = read_column(reader, places, &columns[c]);
        for (size_t i = 0; i < count && status == RESMON_OK; i++) {
            set_place(reader, &target->places[i], (enum place_column)c, reader->numbers[i]);
        }
    }
    target->place_count = status == RESMON_OK ? count : 0;
    return status;
}

/* ---- stacks ----------------------------------------------------------------------------- */

/* The frames of one stack; `part` and `index` say whose, for messages. */
static resmon_status read_frames(struct reader *reader, const struct rm_json *array,
                                 const char *part, size_t index, uint32_t *ret_depth)
{
    struct rm_run_profile *target = reader->profile;
    size_t depth = 0;
    if (rm_json_count(array) > RM_DOCUMENT_DEPTH) {
        return rm_error(RESMON_EFORMAT, "profile.%s[%zu] is deeper than %u frames", part, index,
                        RM_DOCUMENT_DEPTH);
    }
    for (const struct rm_json *e = rm_json_first(array); e != NULL; e = rm_json_next(e)) {
        uint64_t place;
        if (!rm_document_whole(e, (double)target->place_count, &place)) {
            return rm_error(RESMON_EFORMAT, "profile.%s[%zu], frame %zu, is out of range", part,
                            index, depth);
        }
        target->frames[target->frame_count++] = (uint32_t)place;
        depth++;
    }
    *ret_depth = (uint32_t)depth;
    return RESMON_OK;
}

static resmon_status read_heads(struct reader *reader, const struct rm_json *stacks)
{
    struct rm_run_profile *target = reader->profile;
    const struct rm_json *frames = rm_json_get(stacks, "frames");
    const size_t count = target->stack_count;
    size_t i = 0;
    for (const struct rm_json *e = rm_json_first(frames); e != NULL; e = rm_json_next(e), i++) {
        target->stacks[i].first = target->frame_count;
        resmon_status status = read_frames(reader, e, "stacks.frames", i, &target->stacks[i].depth);
        if (status != RESMON_OK) {
            return status;
        }
    }
    const struct column scopes = {"stacks.", "scope", count, -1, (double)reader->run->scope_count,
                                  false};
    const struct column cuts = {"stacks.", "cut", count, 0, 2, false};
    resmon_status status = read_column(reader, stacks, &scopes);
    for (i = 0; i < count && status == RESMON_OK; i++) {
        target->stacks[i].scope = (int64_t)reader->numbers[i];
    }
    status = status == RESMON_OK ? read_column(reader, stacks, &cuts) : status;
    for (i = 0; i < count && status == RESMON_OK; i++) {
        target->stacks[i].is_cut = (uint32_t)reader->numbers[i];
    }
    return status;
}

static resmon_status read_weights(struct reader *reader, const struct rm_json *stacks)
{
    struct rm_run_stack *target = reader->profile->stacks;
    const size_t count = reader->profile->stack_count;
    resmon_status status = RESMON_OK;
    for (size_t kind = 0; kind < RM_STACK_KINDS && status == RESMON_OK; kind++) {
        const char *key = rm_stack_kind_names[kind];
        const struct column samples = {"stacks.samples.", key, count, 0, RM_DOCUMENT_EXACT, false};
        const struct column weights = {"stacks.weight.", key, count, 0, RM_DOCUMENT_HEAVIEST, true};
        status = read_column(reader, rm_json_get(stacks, "samples"), &samples);
        for (size_t i = 0; i < count && status == RESMON_OK; i++) {
            target[i].samples[kind] = (uint64_t)reader->numbers[i];
        }
        status = status == RESMON_OK ? read_column(reader, rm_json_get(stacks, "weight"), &weights)
                                     : status;
        for (size_t i = 0; i < count && status == RESMON_OK; i++) {
            target[i].weight[kind] = reader->numbers[i];
        }
    }
    return status;
}

static resmon_status read_stacks(struct reader *reader, const struct rm_json *profile)
{
    const struct rm_json *stacks = rm_json_get(profile, "stacks");
    struct rm_run_profile *target = reader->profile;
    size_t count = rm_json_count(rm_json_get(stacks, "frames"));
    target->stacks = rm_arena_alloc(&reader->run->strings, count, sizeof *target->stacks);
    if (target->stacks == NULL) {
        return out_of_memory();
    }
    target->stack_count = count;
    resmon_status status = read_heads(reader, stacks);
    return status == RESMON_OK ? read_weights(reader, stacks) : status;
}

/* ---- the peak --------------------------------------------------------------------------- */

static resmon_status read_peak_thread(struct reader *reader, const struct rm_json *object,
                                      size_t index, struct rm_run_peak_stack *thread)
{
    resmon_status status = RESMON_OK;
    double scope = rm_json_number(rm_json_get(object, "scope"));
    if (!(scope >= -1.0 && scope < (double)reader->run->scope_count) || scope != floor(scope)) {
        return rm_error(RESMON_EFORMAT, "profile.peak.threads[%zu].scope is out of range", index);
    }
    thread->scope = (int64_t)scope;
    thread->thread = count_of(object, "thread");
    thread->thread_name = rm_document_text(reader->run, rm_json_get(object, "name"), &status);
    thread->is_cut = count_of(object, "cut") != 0;
    thread->first = reader->profile->frame_count;
    return status == RESMON_OK ? read_frames(reader, rm_json_get(object, "frames"), "peak.threads",
                                             index, &thread->depth)
                               : status;
}

static resmon_status read_peak(struct reader *reader, const struct rm_json *profile)
{
    const struct rm_json *object = rm_json_get(profile, "peak");
    const struct rm_json *threads = rm_json_get(object, "threads");
    struct rm_run_peak *peak = &reader->profile->peak;
    uint64_t t_ns;
    if (!rm_json_is_object(object)) {
        return RESMON_OK;
    }
    if (!rm_document_whole(rm_json_get(object, "t_ns"), RM_DOCUMENT_HEAVIEST, &t_ns)) {
        return rm_error(RESMON_EFORMAT, "profile.peak.t_ns is out of range");
    }
    peak->t_ns = (int64_t)t_ns;
    peak->rss_bytes = amount_of(object, "rss_bytes");
    peak->headroom_bytes = amount_of(object, "headroom_bytes");
    peak->stacks =
        rm_arena_alloc(&reader->run->strings, rm_json_count(threads), sizeof *peak->stacks);
    if (peak->stacks == NULL) {
        return out_of_memory();
    }
    for (const struct rm_json *e = rm_json_first(threads); e != NULL; e = rm_json_next(e)) {
        resmon_status status =
            read_peak_thread(reader, e, peak->stack_count, &peak->stacks[peak->stack_count]);
        if (status != RESMON_OK) {
            return status;
        }
        peak->stack_count++;
    }
    return RESMON_OK;
}

/* ---- together --------------------------------------------------------------------------- */

/* Frames of all stacks, and of the threads at the peak. */
static size_t count_frames(const struct rm_json *profile)
{
    const struct rm_json *stacks = rm_json_get(rm_json_get(profile, "stacks"), "frames");
    const struct rm_json *threads = rm_json_get(rm_json_get(profile, "peak"), "threads");
    size_t count = 0;
    for (const struct rm_json *e = rm_json_first(stacks); e != NULL; e = rm_json_next(e)) {
        count += rm_json_count(e);
    }
    for (const struct rm_json *e = rm_json_first(threads); e != NULL; e = rm_json_next(e)) {
        count += rm_json_count(rm_json_get(e, "frames"));
    }
    return count;
}

static resmon_status make_room(struct reader *reader, const struct rm_json *profile)
{
    size_t places = rm_json_count(rm_json_get(rm_json_get(profile, "places"), "function"));
    size_t stacks = rm_json_count(rm_json_get(rm_json_get(profile, "stacks"), "frames"));
    reader->numbers = rm_alloc((places > stacks ? places : stacks) + 1, sizeof *reader->numbers);
    reader->profile->frames = rm_arena_alloc(&reader->run->strings, count_frames(profile),
                                             sizeof *reader->profile->frames);
    return reader->numbers != NULL && reader->profile->frames != NULL ? RESMON_OK : out_of_memory();
}

/* In this order: indexes are of what was read before. */
static resmon_status (*const parts[])(struct reader *reader, const struct rm_json *profile) = {
    make_room, read_kinds, read_modules, read_texts, read_places, read_stacks, read_peak,
};

resmon_status rm_document_read_profile(struct resmon_run *run, const struct rm_json *document)
{
    struct reader reader = {.run = run, .profile = &run->profile};
    const struct rm_json *profile = rm_json_get(document, "profile");
    resmon_status status = RESMON_OK;
    if (profile == NULL) {
        return RESMON_OK;
    }
    if (!rm_json_is_object(profile)) {
        return rm_error(RESMON_EFORMAT, "profile is no object");
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(parts) && status == RESMON_OK; i++) {
        status = parts[i](&reader, profile);
    }
    rm_free(reader.numbers);
    return status;
}

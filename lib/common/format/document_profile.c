/* SPDX-License-Identifier: MIT */
/*
 * Owns "profile" of a run document: the stacks of a run, written and read back. Numbers used as
 * indexes are checked, as everywhere in a document.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "format/document_columns.h"

/* ---- written --------------------------------------------------------------------------------- */

#define TEXT_BYTES 4096

/* Runs without stacks of memory, and those of older versions, lack the kind of memory that is still
 * there. */
static bool has_kind(const struct rm_run_profile *profile, size_t kind)
{
    return kind != RESMON_STACK_RESIDENT || profile->kinds[kind].status != RESMON_ESTATE;
}

static void put_kinds(struct rm_json_writer *writer, const struct resmon_run *run)
{
    rm_json_open_object(writer, "kinds");
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        if (!has_kind(&run->profile, i)) {
            continue;
        }
        rm_record_put_object(writer, rm_stack_kind_names[i], RM_RECORD_stack_kind,
                             &run->profile.kinds[i], run);
    }
    rm_json_close_object(writer);
}

static void put_lost(struct rm_json_writer *writer, const struct resmon_run *run)
{
    rm_json_open_object(writer, "lost");
    for (size_t i = 0; i < RM_LOSS_COUNT; i++) {
        rm_json_put_u64(writer, rm_stack_loss_names[i], run->profile.lost[i]);
    }
    rm_json_close_object(writer);
}

static void put_modules(struct rm_json_writer *writer, const struct resmon_run *run)
{
    RM_RECORD_PUT_LIST(writer, "modules", RM_RECORD_module, run, profile.modules,
                       profile.module_count);
}

/* Most runs have none. */
static void put_sources(struct rm_json_writer *writer, const struct resmon_run *run)
{
    if (run->profile.source_count == 0) {
        return;
    }
    rm_json_open_array(writer, "sources");
    for (size_t i = 0; i < run->profile.source_count; i++) {
        const struct rm_run_named_source *source = &run->profile.sources[i];
        rm_json_open_object(writer, NULL);
        rm_record_put(writer, RM_RECORD_named_source, source, run);
        rm_json_open_array(writer, "lines");
        for (size_t k = 0; k < source->line_count; k++) {
            rm_json_put_text(writer, NULL, source->lines[k]);
        }
        rm_json_close_array(writer);
        rm_json_close_object(writer);
    }
    rm_json_close_array(writer);
}

/* ---- places ----------------------------------------------------------------------------- */

/* Names come from untrusted files, so they are cleaned and cut. */
static uint32_t text_of(struct rm_intern *texts, const char *text)
{
    char clean[TEXT_BYTES];
    return rm_intern(texts, clean, rm_text_set(clean, sizeof clean, text));
}

/* Makes the rows of places, and the list of their distinct texts. */
static struct rm_place_row *make_rows(const struct rm_run_profile *profile, struct rm_intern *texts)
{
    struct rm_place_row *rows = rm_alloc(profile->place_count + 1, sizeof *rows);
    for (size_t i = 0; i < profile->place_count && rows != NULL; i++) {
        const struct rm_run_place *place = &profile->places[i];
        rows[i] = (struct rm_place_row){
            .function = text_of(texts, place->function),
            .file = text_of(texts, place->file),
            .line = place->line,
            .is_inlined = place->is_inlined != 0,
            .module = place->module,
        };
    }
    if (texts->is_broken) {
        rm_free(rows);
        return NULL;
    }
    return rows;
}

static void put_texts(struct rm_json_writer *writer, const struct rm_intern *texts)
{
    rm_json_open_array(writer, "texts");
    for (uint32_t i = 0; i < texts->count; i++) {
        rm_json_put_text(writer, NULL, texts->keys[i].bytes);
    }
    rm_json_close_array(writer);
}

static void put_addresses(struct rm_json_writer *writer, const struct rm_run_profile *profile)
{
    rm_json_open_array(writer, "address");
    for (size_t i = 0; i < profile->place_count; i++) {
        rm_record_put_address(writer, NULL, profile->places[i].address);
    }
    rm_json_close_array(writer);
}

static resmon_status put_places(struct rm_json_writer *writer, const struct rm_run_profile *profile)
{
    struct rm_intern texts = {0};
    struct rm_column_of columns[RM_PLACE_COLUMNS];
    struct rm_place_row *rows = make_rows(profile, &texts);
    if (rows != NULL) {
        rm_document_place_columns(texts.count, profile->module_count, columns);
        put_texts(writer, &texts);
        rm_json_open_object(writer, "places");
        for (size_t i = 0; i < RM_PLACE_COLUMNS; i++) {
            rm_column_put(writer, &columns[i],
                          (struct rm_rows_of){rows, profile->place_count, sizeof *rows});
        }
        put_addresses(writer, profile);
        rm_json_close_object(writer);
    }
    rm_free(rows);
    rm_intern_free(&texts);
    return rows != NULL ? RESMON_OK : rm_run_out_of_memory();
}

/* ---- stacks ----------------------------------------------------------------------------- */

static void put_frames(struct rm_json_writer *writer, const struct rm_run_profile *profile,
                       const char *key, size_t first, uint32_t depth)
{
    rm_json_open_array(writer, key);
    for (uint32_t i = 0; i < depth && i < RM_DOCUMENT_DEPTH; i++) {
        rm_json_put_u64(writer, NULL, profile->frames[first + i]);
    }
    rm_json_close_array(writer);
}

static void put_weights(struct rm_json_writer *writer, const struct rm_run_profile *profile,
                        const struct rm_weight_column *weight, struct rm_rows_of rows)
{
    rm_json_open_object(writer, weight->key);
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        if (!has_kind(profile, kind)) {
            continue;
        }
        struct rm_column_of column = weight->of;
        column.key = rm_stack_kind_names[kind];
        column.offset = (uint16_t)(column.offset + kind * column.bytes);
        rm_column_put(writer, &column, rows);
    }
    rm_json_close_object(writer);
}

static void put_stacks(struct rm_json_writer *writer, const struct resmon_run *run)
{
    const struct rm_run_profile *profile = &run->profile;
    const struct rm_rows_of rows = {profile->stacks, profile->stack_count, sizeof *profile->stacks};
    struct rm_column_of columns[RM_STACK_COLUMNS];
    rm_document_stack_columns(run, columns);
    rm_json_open_object(writer, "stacks");
    for (size_t i = 0; i < RM_STACK_COLUMNS; i++) {
        rm_column_put(writer, &columns[i], rows);
    }
    rm_json_open_array(writer, "frames");
    for (size_t i = 0; i < profile->stack_count; i++) {
        put_frames(writer, profile, NULL, profile->stacks[i].first, profile->stacks[i].depth);
    }
    rm_json_close_array(writer);
    for (size_t i = 0; i < RM_WEIGHT_COLUMNS; i++) {
        put_weights(writer, profile, &rm_document_weights[i], rows);
    }
    rm_json_close_object(writer);
}

static void put_peak(struct rm_json_writer *writer, const struct resmon_run *run)
{
    const struct rm_run_profile *profile = &run->profile;
    const struct rm_run_peak *peak = &profile->peak;
    if (peak->t_ns < 0 || (double)peak->t_ns >= RM_DOCUMENT_HEAVIEST) {
        rm_json_put_null(writer, "peak");
        return;
    }
    rm_json_open_object(writer, "peak");
    rm_record_put(writer, RM_RECORD_peak, peak, run);
    rm_json_open_array(writer, "threads");
    for (size_t i = 0; i < peak->stack_count; i++) {
        struct rm_run_peak_stack stack = peak->stacks[i];
        bool has_scope = stack.scope >= 0 && (size_t)stack.scope < run->scope_count;
        stack.scope = has_scope ? stack.scope : -1;
        rm_json_open_object(writer, NULL);
        rm_record_put(writer, RM_RECORD_peak_thread, &stack, run);
        put_frames(writer, profile, "frames", stack.first, stack.depth);
        rm_json_close_object(writer);
    }
    rm_json_close_array(writer);
    rm_json_close_object(writer);
}

resmon_status rm_document_put_profile(struct rm_json_writer *writer, const struct resmon_run *run)
{
    if (!rm_profile_is_there(&run->profile)) {
        return RESMON_OK;
    }
    rm_json_break(writer);
    rm_json_open_object(writer, "profile");
    put_kinds(writer, run);
    put_lost(writer, run);
    put_modules(writer, run);
    resmon_status status = put_places(writer, &run->profile);
    put_stacks(writer, run);
    put_peak(writer, run);
    put_sources(writer, run);
    rm_json_close_object(writer);
    return status;
}

/* ---- read ------------------------------------------------------------------------------------ */

struct reader {
    struct resmon_run *run;
    struct rm_run_profile *profile;
    const char **texts;
    size_t text_count;
};

static resmon_status out_of_range(const char *part, const char *key, size_t index)
{
    return rm_error(RESMON_EFORMAT, "profile.%s%s[%zu] is out of range", part, key, index);
}

/* ---- kinds, losses, modules --------------------------------------------------------------- */

static resmon_status read_kinds(struct reader *reader, const struct rm_json *profile)
{
    const struct rm_json *kinds = rm_json_get(profile, "kinds");
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < RM_STACK_KINDS && status == RESMON_OK; i++) {
        const struct rm_json *one = rm_json_get(kinds, rm_stack_kind_names[i]);
        if (one != NULL) {
            status =
                rm_record_read(one, RM_RECORD_stack_kind, &reader->profile->kinds[i], reader->run);
        }
    }
    const struct rm_json *lost = rm_json_get(profile, "lost");
    for (size_t i = 0; i < RM_LOSS_COUNT; i++) {
        (void)rm_document_whole(rm_json_number(rm_json_get(lost, rm_stack_loss_names[i])),
                                RM_DOCUMENT_EXACT, &reader->profile->lost[i]);
    }
    return status;
}

static resmon_status read_modules(struct reader *reader, const struct rm_json *profile)
{
    struct rm_run_profile *target = reader->profile;
    resmon_status status =
        rm_document_read_records(reader->run, rm_json_get(profile, "modules"), RM_RECORD_module,
                                 sizeof *target->modules, &target->modules, &target->module_count);
    return status == RESMON_EFORMAT ? out_of_range("", "modules", target->module_count - 1)
                                    : status;
}

/* Keeps the texts of an array; NULL: no memory. */
static const char **keep_texts(struct reader *reader, const struct rm_json *array,
                               size_t *ret_count)
{
    struct rm_arena *strings = &reader->run->strings;
    const char **texts = rm_arena_alloc(strings, rm_json_count(array), sizeof *texts);
    *ret_count = 0;
    for (const struct rm_json *e = texts != NULL ? rm_json_first(array) : NULL; e != NULL;
         e = rm_json_next(e)) {
        const char *text = rm_json_text(e);
        texts[(*ret_count)++] = rm_arena_keep(strings, text != NULL ? text : "", SIZE_MAX);
    }
    return texts;
}

static resmon_status read_sources(struct reader *reader, const struct rm_json *profile)
{
    struct rm_run_profile *target = reader->profile;
    const struct rm_json *array = rm_json_get(profile, "sources");
    resmon_status status =
        rm_document_read_records(reader->run, array, RM_RECORD_named_source,
                                 sizeof *target->sources, &target->sources, &target->source_count);
    if (status == RESMON_EFORMAT) {
        return out_of_range("", "sources", target->source_count - 1);
    }
    size_t i = 0;
    for (const struct rm_json *e = rm_json_first(array); e != NULL && i < target->source_count;
         e = rm_json_next(e), i++) {
        struct rm_run_named_source *source = &target->sources[i];
        source->lines = keep_texts(reader, rm_json_get(e, "lines"), &source->line_count);
        status = source->lines == NULL ? rm_run_out_of_memory() : status;
    }
    return status;
}

static resmon_status read_texts(struct reader *reader, const struct rm_json *profile)
{
    reader->texts = keep_texts(reader, rm_json_get(profile, "texts"), &reader->text_count);
    return reader->texts != NULL ? RESMON_OK : rm_run_out_of_memory();
}

/* ---- places ----------------------------------------------------------------------------- */

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
        if (!rm_record_read_address(e, &place->address)) {
            return out_of_range("places.", "address", (size_t)(place - reader->profile->places));
        }
    }
    return RESMON_OK;
}

static void set_places(const struct reader *reader, const struct rm_place_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct rm_run_place *place = &reader->profile->places[i];
        place->function = reader->texts[rows[i].function];
        place->file = reader->texts[rows[i].file];
        place->line = rows[i].line;
        place->is_inlined = rows[i].is_inlined;
        place->module = rows[i].module;
    }
}

static resmon_status read_places(struct reader *reader, const struct rm_json *profile)
{
    const struct rm_json *places = rm_json_get(profile, "places");
    struct rm_run_profile *target = reader->profile;
    struct rm_column_of columns[RM_PLACE_COLUMNS];
    size_t count = rm_json_count(rm_json_get(places, "function"));
    struct rm_place_row *rows = rm_alloc(count + 1, sizeof *rows);
    target->places = rm_arena_alloc(&reader->run->strings, count, sizeof *target->places);
    resmon_status status = rows != NULL && target->places != NULL
                               ? read_addresses(reader, places, count)
                               : rm_run_out_of_memory();
    rm_document_place_columns(reader->text_count, target->module_count, columns);
    for (size_t i = 0; i < RM_PLACE_COLUMNS && status == RESMON_OK; i++) {
        status = rm_column_read(places, "profile.places.", &columns[i],
                                (struct rm_rows_of){rows, count, sizeof *rows});
    }
    if (status == RESMON_OK) {
        set_places(reader, rows, count);
        target->place_count = count;
    }
    rm_free(rows);
    return status;
}

/* ---- stacks ----------------------------------------------------------------------------- */

/* Reads the frames of one stack; `part` and `index` identify the stack in messages. */
static resmon_status read_frames(struct reader *reader, const struct rm_json *array,
                                 const char *part, size_t index, uint32_t *ret_depth)
{
    struct rm_run_profile *target = reader->profile;
    size_t depth;
    const double *places = rm_json_numbers(array, &depth);
    if (rm_json_count(array) != depth) {
        return rm_error(RESMON_EFORMAT, "profile.%s[%zu] has a frame that is not a number", part,
                        index);
    }
    if (depth > RM_DOCUMENT_DEPTH) {
        return rm_error(RESMON_EFORMAT, "profile.%s[%zu] is deeper than %u frames", part, index,
                        RM_DOCUMENT_DEPTH);
    }
    for (size_t i = 0; i < depth; i++) {
        uint64_t place;
        if (!rm_document_whole(places[i], (double)target->place_count, &place)) {
            return rm_error(RESMON_EFORMAT, "profile.%s[%zu], frame %zu, is out of range", part,
                            index, i);
        }
        target->frames[target->frame_count++] = (uint32_t)place;
    }
    *ret_depth = (uint32_t)depth;
    return RESMON_OK;
}

static resmon_status read_heads(struct reader *reader, const struct rm_json *stacks)
{
    struct rm_run_profile *target = reader->profile;
    const struct rm_json *frames = rm_json_get(stacks, "frames");
    size_t i = 0;
    for (const struct rm_json *e = rm_json_first(frames); e != NULL; e = rm_json_next(e), i++) {
        target->stacks[i].first = target->frame_count;
        resmon_status status = read_frames(reader, e, "stacks.frames", i, &target->stacks[i].depth);
        if (status != RESMON_OK) {
            return status;
        }
    }
    struct rm_column_of columns[RM_STACK_COLUMNS];
    const struct rm_rows_of rows = {target->stacks, target->stack_count, sizeof *target->stacks};
    resmon_status status = RESMON_OK;
    rm_document_stack_columns(reader->run, columns);
    for (i = 0; i < RM_STACK_COLUMNS && status == RESMON_OK; i++) {
        status = rm_column_read(stacks, "profile.stacks.", &columns[i], rows);
    }
    return status;
}

/* Missing standard errors are computed as if all samples had the same weight. */
static void guess_errors(struct rm_run_profile *target)
{
    for (size_t i = 0; i < target->stack_count * RM_STACK_KINDS; i++) {
        struct rm_run_stack *stack = &target->stacks[i / RM_STACK_KINDS];
        size_t kind = i % RM_STACK_KINDS;
        double samples = (double)stack->samples[kind];
        stack->error[kind] = samples > 0.0 ? stack->weight[kind] / sqrt(samples) : 0.0;
    }
}

static resmon_status read_weight(struct reader *reader, const struct rm_json *object,
                                 const struct rm_weight_column *weight)
{
    struct rm_run_profile *target = reader->profile;
    const struct rm_rows_of rows = {target->stacks, target->stack_count, sizeof *target->stacks};
    char part[64];
    resmon_status status = RESMON_OK;
    (void)snprintf(part, sizeof part, "profile.stacks.%s.", weight->key);
    for (size_t kind = 0; kind < RM_STACK_KINDS && status == RESMON_OK; kind++) {
        struct rm_column_of column = weight->of;
        column.key = rm_stack_kind_names[kind];
        column.offset = (uint16_t)(column.offset + kind * column.bytes);
        if (has_kind(target, kind)) {
            status = rm_column_read(object, part, &column, rows);
        }
    }
    return status;
}

/* Standard errors are read last. */
static resmon_status read_weights(struct reader *reader, const struct rm_json *stacks)
{
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < RM_WEIGHT_COLUMNS && status == RESMON_OK; i++) {
        const struct rm_json *object = rm_json_get(stacks, rm_document_weights[i].key);
        if (object == NULL && i == RM_WEIGHT_COLUMNS - 1) {
            guess_errors(reader->profile);
        } else {
            status = read_weight(reader, object, &rm_document_weights[i]);
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
        return rm_run_out_of_memory();
    }
    target->stack_count = count;
    resmon_status status = read_heads(reader, stacks);
    return status == RESMON_OK ? read_weights(reader, stacks) : status;
}

/* ---- the peak --------------------------------------------------------------------------- */

static resmon_status read_peak_thread(struct reader *reader, const struct rm_json *object,
                                      size_t index, struct rm_run_peak_stack *thread)
{
    resmon_status status = rm_record_read(object, RM_RECORD_peak_thread, thread, reader->run);
    if (status != RESMON_OK) {
        return status;
    }
    /* Checks the stored value and not the first value of the key: a hostile document may contain a
     * key twice. */
    if (rm_json_get(object, "scope") == NULL || thread->scope < -1 ||
        thread->scope >= (int64_t)reader->run->scope_count) {
        return rm_error(RESMON_EFORMAT, "profile.peak.threads[%zu].scope is out of range", index);
    }
    thread->first = reader->profile->frame_count;
    return read_frames(reader, rm_json_get(object, "frames"), "peak.threads", index,
                       &thread->depth);
}

static resmon_status read_peak(struct reader *reader, const struct rm_json *profile)
{
    const struct rm_json *object = rm_json_get(profile, "peak");
    const struct rm_json *threads = rm_json_get(object, "threads");
    struct rm_run_peak *peak = &reader->profile->peak;
    if (!rm_json_is_object(object)) {
        return RESMON_OK;
    }
    resmon_status status = rm_record_read(object, RM_RECORD_peak, peak, reader->run);
    if (status != RESMON_OK) {
        return status;
    }
    if (rm_json_get(object, "t_ns") == NULL || peak->t_ns < 0 ||
        (double)peak->t_ns >= RM_DOCUMENT_HEAVIEST) {
        return rm_error(RESMON_EFORMAT, "profile.peak.t_ns is out of range");
    }
    bool is_known = rm_json_get(object, "highest_t_ns") != NULL && peak->highest_t_ns >= 0;
    peak->highest_t_ns = is_known ? peak->highest_t_ns : -1;
    peak->stacks =
        rm_arena_alloc(&reader->run->strings, rm_json_count(threads), sizeof *peak->stacks);
    if (peak->stacks == NULL) {
        return rm_run_out_of_memory();
    }
    for (const struct rm_json *e = rm_json_first(threads); e != NULL; e = rm_json_next(e)) {
        status = read_peak_thread(reader, e, peak->stack_count, &peak->stacks[peak->stack_count]);
        if (status != RESMON_OK) {
            return status;
        }
        peak->stack_count++;
    }
    return RESMON_OK;
}

/* ---- together --------------------------------------------------------------------------- */

/* Number of frames of all stacks, and of the threads at the peak. */
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
    reader->profile->frames = rm_arena_alloc(&reader->run->strings, count_frames(profile),
                                             sizeof *reader->profile->frames);
    return reader->profile->frames != NULL ? RESMON_OK : rm_run_out_of_memory();
}

/* The order matters: indexes refer to parts that were read before. */
static resmon_status (*const parts[])(struct reader *reader, const struct rm_json *profile) = {
    make_room,   read_kinds,  read_modules, read_texts,
    read_places, read_stacks, read_peak,    read_sources,
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
        return rm_error(RESMON_EFORMAT, "profile is not an object");
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(parts) && status == RESMON_OK; i++) {
        status = parts[i](&reader, profile);
    }
    return status;
}

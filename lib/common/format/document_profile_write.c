/* SPDX-License-Identifier: MIT */
/*
 * Stacks in a run document: records, columns of numbers, and a table of texts.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/intern.h"
#include "base/status.h"
#include "base/text.h"
#include "format/document_parts.h"

#define TEXT_BYTES 4096

static void put_kinds(struct rm_json_writer *writer, const struct resmon_run *run)
{
    rm_json_open_object(writer, "kinds");
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
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

/* ---- places ----------------------------------------------------------------------------- */

/* Names come from files of any kind: cleaned, and cut. */
static uint32_t text_of(struct rm_intern *texts, const char *text)
{
    char clean[TEXT_BYTES];
    return rm_intern(texts, clean, rm_text_set(clean, sizeof clean, text));
}

/* The rows, and their texts, each once. */
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
    return rows != NULL ? RESMON_OK : rm_error(RESMON_ENOMEM, "out of memory for a run document");
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

static void put_weights(struct rm_json_writer *writer, const struct rm_weight_column *weight,
                        struct rm_rows_of rows)
{
    rm_json_open_object(writer, weight->key);
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
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
        put_weights(writer, &rm_document_weights[i], rows);
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
    rm_json_close_object(writer);
    return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * Stacks in a run document: columns of numbers, as for events, and a table of texts.  Addresses are
 * texts, "0x7f...": a number of JSON need not hold 64 bits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/intern.h"
#include "base/status.h"
#include "base/text.h"
#include "sink/document_parts.h"

#define TEXT_BYTES 4096

static void put_address(struct rm_json *object, const char *key, uint64_t address, bool *is_whole)
{
    char text[32];
    (void)snprintf(text, sizeof text, "0x%" PRIx64, address);
    rm_json_put_text(object, key, text, is_whole);
}

void rm_document_put_clean(struct rm_json *object, const char *key, const char *text,
                           bool *is_whole)
{
    char clean[TEXT_BYTES];
    (void)rm_text_set(clean, sizeof clean, text);
    rm_json_put_text(object, key, clean, is_whole);
}

/* ---- small parts ------------------------------------------------------------------------ */

static struct rm_json *write_kinds(const struct rm_run_profile *profile, bool *is_whole)
{
    struct rm_json *object = rm_json_object(is_whole);
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        const struct rm_run_stack_kind *kind = &profile->kinds[i];
        struct rm_json *one = rm_json_object(is_whole);
        rm_json_put_text(one, "status", resmon_status_name(kind->status), is_whole);
        rm_document_put_clean(one, "reason", kind->reason, is_whole);
        rm_json_put_number(one, "period", (double)kind->period, is_whole);
        rm_json_put_number(one, "total", kind->total, is_whole);
        rm_json_put(object, rm_stack_kind_names[i], one, is_whole);
    }
    return object;
}

static struct rm_json *write_lost(const struct rm_run_profile *profile, bool *is_whole)
{
    struct rm_json *object = rm_json_object(is_whole);
    for (size_t i = 0; i < RM_LOSS_COUNT; i++) {
        rm_json_put_number(object, rm_stack_loss_names[i], (double)profile->lost[i], is_whole);
    }
    return object;
}

static struct rm_json *write_modules(const struct rm_run_profile *profile, bool *is_whole)
{
    struct rm_json *array = rm_json_array(is_whole);
    for (size_t i = 0; i < profile->module_count && *is_whole; i++) {
        const struct rm_run_module *module = &profile->modules[i];
        struct rm_json *object = rm_json_object(is_whole);
        rm_document_put_clean(object, "path", module->path, is_whole);
        rm_document_put_clean(object, "build_id", module->build_id, is_whole);
        put_address(object, "start", module->start, is_whole);
        put_address(object, "end", module->end, is_whole);
        put_address(object, "bias", module->bias, is_whole);
        rm_json_append(array, object, is_whole);
    }
    return array;
}

/* Frames of a stack. */
static struct rm_json *write_indexes(const uint32_t *indexes, uint32_t depth, int64_t *numbers,
                                     bool *is_whole)
{
    size_t count = depth < RM_DOCUMENT_DEPTH ? depth : RM_DOCUMENT_DEPTH;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = indexes[i];
    }
    return rm_json_integers(numbers, count, is_whole);
}

/* ---- places ----------------------------------------------------------------------------- */

/* What a column of the document is made of; `numbers` has room for the longest. */
struct columns {
    const struct resmon_run *run;
    const struct rm_run_profile *profile;
    int64_t *numbers;
    double *weights;
    struct rm_intern texts;
};

static int64_t text_of(struct columns *columns, const char *text)
{
    char clean[TEXT_BYTES];
    return rm_intern(&columns->texts, clean, rm_text_set(clean, sizeof clean, text));
}

static int64_t place_function(struct columns *columns, const struct rm_run_place *place)
{
    return text_of(columns, place->function);
}

static int64_t place_file(struct columns *columns, const struct rm_run_place *place)
{
    return text_of(columns, place->file);
}

static int64_t place_line(struct columns *columns, const struct rm_run_place *place)
{
    (void)columns;
    return place->line;
}

static int64_t place_inlined(struct columns *columns, const struct rm_run_place *place)
{
    (void)columns;
    return place->is_inlined != 0;
}

static int64_t place_module(struct columns *columns, const struct rm_run_place *place)
{
    (void)columns;
    return place->module;
}

static const struct {
    const char *key;
    int64_t (*get)(struct columns *columns, const struct rm_run_place *place);
} place_columns[] = {
    {"function", place_function}, {"file", place_file},     {"line", place_line},
    {"inlined", place_inlined},   {"module", place_module},
};

static struct rm_json *write_places(struct columns *columns, bool *is_whole)
{
    const struct rm_run_profile *profile = columns->profile;
    struct rm_json *object = rm_json_object(is_whole);
    struct rm_json *addresses = rm_json_array(is_whole);
    for (size_t c = 0; c < RM_ARRAY_LEN(place_columns); c++) {
        for (size_t i = 0; i < profile->place_count; i++) {
            columns->numbers[i] = place_columns[c].get(columns, &profile->places[i]);
        }
        rm_json_put(object, place_columns[c].key,
                    rm_json_integers(columns->numbers, profile->place_count, is_whole), is_whole);
    }
    for (size_t i = 0; i < profile->place_count && *is_whole; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "0x%" PRIx64, profile->places[i].address);
        rm_json_append(addresses, rm_json_string(text, is_whole), is_whole);
    }
    rm_json_put(object, "address", addresses, is_whole);
    *is_whole = *is_whole && !columns->texts.is_broken;
    return object;
}

static struct rm_json *write_texts(const struct columns *columns, bool *is_whole)
{
    struct rm_json *array = rm_json_array(is_whole);
    for (uint32_t i = 0; i < columns->texts.count && *is_whole; i++) {
        rm_json_append(array, rm_json_string(columns->texts.keys[i].bytes, is_whole), is_whole);
    }
    return array;
}

/* ---- stacks ----------------------------------------------------------------------------- */

/* A recording may say anything, and its document shall be one that can be read. */
static int64_t scope_of(const struct columns *columns, int64_t scope)
{
    return scope >= 0 && (size_t)scope < columns->run->scope_count ? scope : -1;
}

static int64_t count_of(uint64_t samples)
{
    return samples < (uint64_t)RM_DOCUMENT_EXACT ? (int64_t)samples
                                                 : (int64_t)RM_DOCUMENT_EXACT - 1;
}

static double weight_of(double weight)
{
    return weight > 0.0 && weight < RM_DOCUMENT_HEAVIEST ? weight : 0.0;
}

static void put_stack_heads(struct rm_json *object, const struct columns *columns, bool *is_whole)
{
    const struct rm_run_profile *profile = columns->profile;
    struct rm_json *frames = rm_json_array(is_whole);
    for (size_t i = 0; i < profile->stack_count; i++) {
        columns->numbers[i] = scope_of(columns, profile->stacks[i].scope);
    }
    rm_json_put(object, "scope", rm_json_integers(columns->numbers, profile->stack_count, is_whole),
                is_whole);
    for (size_t i = 0; i < profile->stack_count; i++) {
        columns->numbers[i] = profile->stacks[i].is_cut != 0;
    }
    rm_json_put(object, "cut", rm_json_integers(columns->numbers, profile->stack_count, is_whole),
                is_whole);
    for (size_t i = 0; i < profile->stack_count && *is_whole; i++) {
        const struct rm_run_stack *stack = &profile->stacks[i];
        rm_json_append(
            frames,
            write_indexes(&profile->frames[stack->first], stack->depth, columns->numbers, is_whole),
            is_whole);
    }
    rm_json_put(object, "frames", frames, is_whole);
}

static struct rm_json *write_stacks(const struct columns *columns, bool *is_whole)
{
    const struct rm_run_profile *profile = columns->profile;
    struct rm_json *object = rm_json_object(is_whole);
    struct rm_json *samples = rm_json_object(is_whole);
    struct rm_json *weights = rm_json_object(is_whole);
    put_stack_heads(object, columns, is_whole);
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        for (size_t i = 0; i < profile->stack_count; i++) {
            columns->numbers[i] = count_of(profile->stacks[i].samples[kind]);
            columns->weights[i] = weight_of(profile->stacks[i].weight[kind]);
        }
        rm_json_put(samples, rm_stack_kind_names[kind],
                    rm_json_integers(columns->numbers, profile->stack_count, is_whole), is_whole);
        rm_json_put(weights, rm_stack_kind_names[kind],
                    rm_json_doubles(columns->weights, profile->stack_count, is_whole), is_whole);
    }
    rm_json_put(object, "samples", samples, is_whole);
    rm_json_put(object, "weight", weights, is_whole);
    return object;
}

static struct rm_json *write_peak(const struct columns *columns, bool *is_whole)
{
    const struct rm_run_peak *peak = &columns->profile->peak;
    if (peak->t_ns < 0 || (double)peak->t_ns >= RM_DOCUMENT_HEAVIEST) {
        return rm_json_null(is_whole);
    }
    struct rm_json *object = rm_json_object(is_whole);
    struct rm_json *stacks = rm_json_array(is_whole);
    rm_json_put_number(object, "t_ns", (double)peak->t_ns, is_whole);
    rm_json_put_number(object, "rss_bytes", peak->rss_bytes, is_whole);
    rm_json_put_number(object, "headroom_bytes", peak->headroom_bytes, is_whole);
    for (size_t i = 0; i < peak->stack_count && *is_whole; i++) {
        const struct rm_run_peak_stack *stack = &peak->stacks[i];
        struct rm_json *one = rm_json_object(is_whole);
        rm_json_put_number(one, "thread", (double)stack->thread, is_whole);
        rm_document_put_clean(one, "name", stack->thread_name, is_whole);
        rm_json_put_number(one, "scope", (double)scope_of(columns, stack->scope), is_whole);
        rm_json_put_number(one, "cut", stack->is_cut != 0, is_whole);
        rm_json_put(one, "frames",
                    write_indexes(&columns->profile->frames[stack->first], stack->depth,
                                  columns->numbers, is_whole),
                    is_whole);
        rm_json_append(stacks, one, is_whole);
    }
    rm_json_put(object, "threads", stacks, is_whole);
    return object;
}

/* ---- together --------------------------------------------------------------------------- */

static struct rm_json *write_profile(struct columns *columns, bool *is_whole)
{
    struct rm_json *object = rm_json_object(is_whole);
    struct rm_json *places = write_places(columns, is_whole);
    rm_json_put(object, "kinds", write_kinds(columns->profile, is_whole), is_whole);
    rm_json_put(object, "lost", write_lost(columns->profile, is_whole), is_whole);
    rm_json_put(object, "modules", write_modules(columns->profile, is_whole), is_whole);
    rm_json_put(object, "texts", write_texts(columns, is_whole), is_whole);
    rm_json_put(object, "places", places, is_whole);
    rm_json_put(object, "stacks", write_stacks(columns, is_whole), is_whole);
    rm_json_put(object, "peak", write_peak(columns, is_whole), is_whole);
    return object;
}

static size_t longest_column(const struct rm_run_profile *profile)
{
    size_t longest = profile->place_count;
    longest = profile->stack_count > longest ? profile->stack_count : longest;
    longest = profile->frame_count > longest ? profile->frame_count : longest;
    return longest + 1;
}

resmon_status rm_document_put_profile(const struct rm_output *output, const struct resmon_run *run)
{
    if (!rm_profile_is_there(&run->profile)) {
        return RESMON_OK;
    }
    size_t room = longest_column(&run->profile);
    struct columns columns = {.run = run,
                              .profile = &run->profile,
                              .numbers = rm_alloc(room, sizeof *columns.numbers),
                              .weights = rm_alloc(room, sizeof *columns.weights)};
    bool is_whole = columns.numbers != NULL && columns.weights != NULL;
    struct rm_json *value = is_whole ? write_profile(&columns, &is_whole) : NULL;
    rm_free(columns.numbers);
    rm_free(columns.weights);
    rm_intern_free(&columns.texts);
    resmon_status status = rm_output_puts(output, ",\n\"profile\":");
    if (status != RESMON_OK) {
        rm_json_free(value);
        return status;
    }
    return rm_document_put(output, value, is_whole);
}

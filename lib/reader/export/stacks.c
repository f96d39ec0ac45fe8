/* SPDX-License-Identifier: MIT */
#include "export/stacks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/version.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "format/pen.h"
#include "format/protobuf.h"
#include "os/gzip.h"
#include "os/outfile.h"

/* ---- frames ---------------------------------------------------------------------------------- */

/* The scopes shown around a stack, at most.  Of a longer path the outermost scopes are left out. */
#define RM_STACK_SCOPES ((size_t)RM_MAX_DEPTH + 1)

/* ---- frames by number ------------------------------------------------------------------------ */

/* The text of each frame, in the format of the file; equal texts have the same number. */
struct rm_stack_frames {
    struct rm_intern texts;
    uint32_t *of_place, *of_scope; /* numbers of their texts */
    uint32_t cut;                  /* the outermost frame if frames are missing */
};

/** Adds a frame's text.  rm_text_clean() has cleaned `name`.  `place` is NULL for a frame that is
 * not a place, such as a scope. */
typedef void (*rm_stack_frame_print)(struct rm_buffer *text, const char *name,
                                     const struct rm_run_place *place);

/* RESMON_OK if the run has stacks of `kind` (-1: of any kind); else RESMON_ENOENT with the
 * reason. */
static resmon_status rm_stacks_check(const struct resmon_run *run, int32_t kind)
{
    const struct rm_run_stack_kind *kinds = run->profile.kinds;
    const char *reason = "";
    for (int32_t i = 0; i < RM_STACK_KINDS; i++) {
        if (kind >= 0 && kind != i) {
            continue;
        }
        if (kinds[i].status == RESMON_OK) {
            return RESMON_OK;
        }
        bool is_failure = kinds[i].status != RESMON_ESTATE && kinds[i].reason[0] != '\0';
        reason = is_failure && reason[0] == '\0' ? kinds[i].reason : reason;
    }
    return rm_error(RESMON_ENOENT, "the run has no stacks%s%s%s%s", kind >= 0 ? " of " : "",
                    kind >= 0 ? rm_stack_kind_names[kind] : "",
                    reason[0] != '\0' ? ": " : ": they were not requested (stacks=)", reason);
}

/* Lists the scopes that were open, outermost first.  Returns their number. */
static size_t rm_stacks_scopes(const struct resmon_run *run, int64_t scope,
                               uint32_t path[RM_STACK_SCOPES])
{
    size_t count = 0;
    while (scope >= 0 && (size_t)scope < run->scope_count && count < RM_STACK_SCOPES) {
        path[count++] = (uint32_t)scope;
        int64_t parent = run->scopes[scope].parent;
        scope = parent < scope ? parent : -1;
    }
    for (size_t i = 0; i < count / 2; i++) {
        uint32_t inner = path[i];
        path[i] = path[count - 1 - i];
        path[count - 1 - i] = inner;
    }
    return count;
}

/* A weight, rounded to a whole number; 0 if it is not positive or not finite. */
static uint64_t rm_stacks_whole(double weight)
{
    return weight > 0.0 && weight < 0x1p62 ? (uint64_t)(weight + 0.5) : 0;
}

/* ---- frames ------------------------------------------------------------------------------- */

static uint32_t number_of(struct rm_stack_frames *frames, struct rm_buffer *text,
                          rm_stack_frame_print print, const char *name,
                          const struct rm_run_place *place)
{
    rm_buffer_clear(text);
    print(text, name, place);
    if (text->status != RESMON_OK || text->length == 0) {
        frames->texts.is_broken = true;
        return 0;
    }
    return rm_intern(&frames->texts, text->text, text->length);
}

static void add_scopes(const struct resmon_run *run, rm_stack_frame_print print,
                       struct rm_stack_frames *frames, struct rm_buffer *text)
{
    char name[RM_PLACE_NAME_BYTES], inner[RM_PLACE_NAME_BYTES - 2];
    for (size_t i = 0; i < run->scope_count && !frames->texts.is_broken; i++) {
        (void)rm_text_set(inner, sizeof inner, run->scopes[i].name);
        (void)snprintf(name, sizeof name, "[%s]", inner);
        frames->of_scope[i] = number_of(frames, text, print, name, NULL);
    }
}

static void add_places(const struct resmon_run *run, rm_stack_frame_print print,
                       struct rm_stack_frames *frames, struct rm_buffer *text)
{
    const struct rm_run_profile *profile = &run->profile;
    char name[RM_PLACE_NAME_BYTES];
    for (size_t i = 0; i < profile->place_count && !frames->texts.is_broken; i++) {
        rm_place_name(profile, &profile->places[i], name);
        rm_text_clean(name);
        frames->of_place[i] = number_of(frames, text, print, name, &profile->places[i]);
    }
}

/* RESMON_ENOMEM; free it all the same. */
static resmon_status rm_stack_frames_make(const struct resmon_run *run, rm_stack_frame_print print,
                                          struct rm_stack_frames *ret_frames)
{
    struct rm_buffer text;
    *ret_frames = (struct rm_stack_frames){
        .of_place = rm_alloc(run->profile.place_count + 1, sizeof *ret_frames->of_place),
        .of_scope = rm_alloc(run->scope_count + 1, sizeof *ret_frames->of_scope),
    };
    if (ret_frames->of_place == NULL || ret_frames->of_scope == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the names of stacks");
    }
    rm_buffer_init(&text, (size_t)1 << 20);
    add_scopes(run, print, ret_frames, &text);
    add_places(run, print, ret_frames, &text);
    ret_frames->cut = number_of(ret_frames, &text, print, "(cut)", NULL);
    rm_buffer_free(&text);
    return ret_frames->texts.is_broken
               ? rm_error(RESMON_ENOMEM, "out of memory for the names of stacks")
               : RESMON_OK;
}

static void rm_stack_frames_free(struct rm_stack_frames *frames)
{
    rm_intern_free(&frames->texts);
    rm_free(frames->of_place);
    rm_free(frames->of_scope);
    *frames = (struct rm_stack_frames){0};
}

/* The frames of a stack, outermost first: scopes, then functions. */
static size_t rm_stack_frames_list(const struct rm_stack_frames *frames,
                                   const struct resmon_run *run, const struct rm_run_stack *stack,
                                   uint32_t *list)
{
    uint32_t scopes[RM_STACK_SCOPES];
    size_t count = rm_stacks_scopes(run, stack->scope, scopes);
    for (size_t i = 0; i < count; i++) {
        list[i] = frames->of_scope[scopes[i]];
    }
    if (stack->is_cut || stack->depth == 0) {
        list[count++] = frames->cut;
    }
    for (uint32_t i = stack->depth; i > 0; i--) {
        list[count++] = frames->of_place[run->profile.frames[stack->first + i - 1]];
    }
    return count;
}

/* ---- folded stacks --------------------------------------------------------------------------- */

/* A stack as a list of numbers of frames. */
struct line {
    const struct rm_intern_key *names;
    const uint32_t *frames; /* outermost first */
    size_t count;
    double weight;
};

/* ---- names -------------------------------------------------------------------------------- */

/* The position of a number at the end of a name, which readers could mistake for the weight: "f
 * 12", "f 1.5".  NULL: the name does not end so. */
static char *number_at_end(char *name, size_t length)
{
    size_t at = length;
    while (at > 0 && ((name[at - 1] >= '0' && name[at - 1] <= '9') || name[at - 1] == '.')) {
        at--;
    }
    return at > 0 && at < length && name[at - 1] == ' ' ? name + at - 1 : NULL;
}

static void print_name(struct rm_buffer *text, const char *name, const struct rm_run_place *place)
{
    char harmless[RM_PLACE_NAME_BYTES];
    (void)place;
    size_t length = rm_text_set(harmless, sizeof harmless, name[0] != '\0' ? name : "?");
    for (size_t i = 0; i < length; i++) {
        bool is_edge = i == 0 || i + 1 == length;
        if (harmless[i] == ';') {
            harmless[i] = ':';
        } else if (harmless[i] == ' ' && is_edge) {
            harmless[i] = '_';
        }
    }
    char *space = number_at_end(harmless, length);
    if (space != NULL) {
        *space = '_';
    }
    rm_buffer_add(text, harmless, length);
}

/* ---- lines -------------------------------------------------------------------------------- */

/* A byte of a frame.  Behind the last byte comes the separator: ';', or ' ' after the last
 * frame. */
static int byte_at(const struct line *line, size_t frame, size_t at)
{
    const struct rm_intern_key *name = &line->names[line->frames[frame]];
    return at < name->length ? ((const unsigned char *)name->bytes)[at]
                             : (frame + 1 < line->count ? ';' : ' ');
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    size_t common = a->count < b->count ? a->count : b->count;
    size_t frame = 0;
    while (frame < common && a->frames[frame] == b->frames[frame]) {
        frame++;
    }
    if (frame == common) {
        return (a->count > b->count) - (a->count < b->count);
    }
    const struct rm_intern_key *name = &a->names[a->frames[frame]];
    const struct rm_intern_key *other = &b->names[b->frames[frame]];
    size_t at = 0;
    while (at < name->length && at < other->length &&
           byte_at(a, frame, at) == byte_at(b, frame, at)) {
        at++;
    }
    return byte_at(a, frame, at) - byte_at(b, frame, at);
}

static bool is_same(const struct line *a, const struct line *b)
{
    return a->count == b->count && memcmp(a->frames, b->frames, a->count * sizeof *a->frames) == 0;
}

static void write_line(struct rm_pen *pen, const struct line *line, uint64_t weight)
{
    for (size_t i = 0; i < line->count; i++) {
        const struct rm_intern_key *name = &line->names[line->frames[i]];
        rm_pen_add(pen, name->bytes, name->length);
        rm_pen_puts(pen, i + 1 < line->count ? ";" : " ");
    }
    rm_pen_u64(pen, weight);
    rm_pen_puts(pen, "\n");
}

struct folding {
    struct rm_stack_frames frames;
    struct line *lines;
    size_t count;
    uint32_t *numbers;
    double unit;
};

/* Sums weights before they are rounded: so the error of a line is at most half a unit. */
static resmon_status write_lines(const struct rm_output *output, const void *what)
{
    const struct folding *folding = what;
    struct rm_pen pen;
    size_t i = 0;
    rm_pen_start(&pen, output);
    while (i < folding->count) {
        const struct line *first = &folding->lines[i];
        double weight = 0.0;
        for (; i < folding->count && is_same(first, &folding->lines[i]); i++) {
            weight += folding->lines[i].weight;
        }
        uint64_t whole = rm_stacks_whole(weight / folding->unit);
        if (whole > 0) {
            write_line(&pen, first, whole);
        }
    }
    return rm_pen_finish(&pen);
}

/* ---- the file ----------------------------------------------------------------------------- */

static resmon_status fold(const struct resmon_run *run, int32_t kind, struct folding *folding)
{
    const struct rm_run_profile *profile = &run->profile;
    uint32_t scopes[RM_STACK_SCOPES];
    size_t room = 1;
    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct rm_run_stack *stack = &profile->stacks[i];
        room += stack->weight[kind] > 0.0
                    ? stack->depth + rm_stacks_scopes(run, stack->scope, scopes) + 1
                    : 0;
    }
    folding->lines = rm_alloc(profile->stack_count + 1, sizeof *folding->lines);
    folding->numbers = rm_alloc(room, sizeof *folding->numbers);
    if (folding->lines == NULL || folding->numbers == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for folded stacks");
    }
    uint32_t *numbers = folding->numbers;
    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct rm_run_stack *stack = &profile->stacks[i];
        if (stack->weight[kind] > 0.0) {
            size_t count = rm_stack_frames_list(&folding->frames, run, stack, numbers);
            folding->lines[folding->count++] =
                (struct line){folding->frames.texts.keys, numbers, count, stack->weight[kind]};
            numbers += count;
        }
    }
    qsort(folding->lines, folding->count, sizeof *folding->lines, compare_lines);
    return RESMON_OK;
}

resmon_status rm_folded_save(const struct resmon_run *run, int32_t kind, const char *path)
{
    struct folding folding = {.unit = kind == RESMON_STACK_CPU ? 1e3 : 1024.0};
    resmon_status status = rm_stacks_check(run, kind);
    if (status != RESMON_OK) {
        return status;
    }
    status = rm_stack_frames_make(run, print_name, &folding.frames);
    if (status == RESMON_OK) {
        status = fold(run, kind, &folding);
    }
    if (status == RESMON_OK) {
        status = rm_outfile_save(path, 0, write_lines, &folding);
    }
    rm_free(folding.lines);
    rm_free(folding.numbers);
    rm_stack_frames_free(&folding.frames);
    return status;
}

/* ---- profiles for pprof ---------------------------------------------------------------------- */

#define LARGEST_PROFILE ((size_t)1 << 30)

enum profile_field {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NS = 9,
    PROFILE_DURATION_NS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
};
enum value_type_field { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum mapping_field {
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_END = 3,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    MAPPING_HAS_INLINED = 10,
};
enum location_field { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE };
enum line_field { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum function_field { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE };

/* ---- tables --------------------------------------------------------------------------------- */

struct pprof {
    const struct resmon_run *run;
    struct rm_buffer *out;
    struct rm_buffer part, inner; /* a message, and a message inside it */
    struct rm_intern texts;
    struct rm_intern functions; /* struct function_key */
    struct rm_intern locations; /* arrays of places (uint32_t), innermost first */
};

struct function_key {
    uint32_t name, file; /* texts */
};

static uint32_t text_of(struct pprof *pprof, const char *text)
{
    char clean[RM_PATH_BYTES];
    return rm_intern(&pprof->texts, clean, rm_text_set(clean, sizeof clean, text));
}

/* ---- what is sampled ------------------------------------------------------------------------ */

static void put_value_type(struct pprof *pprof, uint32_t field, const char *type, const char *unit)
{
    rm_protobuf_number(&pprof->part, VALUE_TYPE, text_of(pprof, type));
    rm_protobuf_number(&pprof->part, VALUE_UNIT, text_of(pprof, unit));
    rm_protobuf_part(pprof->out, field, &pprof->part);
}

static bool is_taken(const struct resmon_run *run, int kind)
{
    return run->profile.kinds[kind].status == RESMON_OK;
}

/* Every file has the same types of values, so that pprof can merge files. */
static void put_head(struct pprof *pprof)
{
    const struct resmon_run *run = pprof->run;
    bool has_cpu = is_taken(run, RESMON_STACK_CPU);
    int period_of = has_cpu                              ? RESMON_STACK_CPU
                    : is_taken(run, RESMON_STACK_MEMORY) ? RESMON_STACK_MEMORY
                                                         : RESMON_STACK_FILE;
    char comment[128];
    put_value_type(pprof, PROFILE_SAMPLE_TYPE, "samples", "count");
    put_value_type(pprof, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
    put_value_type(pprof, PROFILE_SAMPLE_TYPE, "memory", "bytes");
    put_value_type(pprof, PROFILE_SAMPLE_TYPE, "file", "bytes");
    put_value_type(pprof, PROFILE_SAMPLE_TYPE, "resident", "bytes");
    put_value_type(pprof, PROFILE_PERIOD_TYPE, has_cpu ? "cpu" : "faults",
                   has_cpu ? "nanoseconds" : "count");
    rm_protobuf_number(pprof->out, PROFILE_PERIOD, run->profile.kinds[period_of].period);
    rm_protobuf_number(pprof->out, PROFILE_DEFAULT_TYPE,
                       text_of(pprof, rm_stack_kind_names[period_of]));
    if (run->info.start_realtime_ns > 0) {
        rm_protobuf_number(pprof->out, PROFILE_TIME_NS, (uint64_t)run->info.start_realtime_ns);
    }
    if (run->info.duration_ns > 0) {
        rm_protobuf_number(pprof->out, PROFILE_DURATION_NS, (uint64_t)run->info.duration_ns);
    }
    (void)snprintf(comment, sizeof comment, "libresmon %s", resmon_version());
    rm_protobuf_number(pprof->out, PROFILE_COMMENT, text_of(pprof, comment));
    for (size_t i = 0; i < RM_LOSS_COUNT; i++) {
        if (run->profile.lost[i] > 0) {
            (void)snprintf(comment, sizeof comment, "lost: %" PRIu64 ": %.90s",
                           run->profile.lost[i], rm_stack_loss_texts[i]);
            rm_protobuf_number(pprof->out, PROFILE_COMMENT, text_of(pprof, comment));
        }
    }
}

/* ---- samples -------------------------------------------------------------------------------- */

/* The number of frames from `from` on that share an instruction: inlined functions, and the
 * function around them. */
static uint32_t location_length(const struct resmon_run *run, const struct rm_run_stack *stack,
                                uint32_t from)
{
    const struct rm_run_profile *profile = &run->profile;
    const uint32_t *frames = &profile->frames[stack->first];
    uint32_t end = from;
    while (end + 1 < stack->depth && profile->places[frames[end]].is_inlined) {
        end++;
    }
    return end + 1 - from;
}

static void put_locations(struct pprof *pprof, const struct rm_run_stack *stack)
{
    const uint32_t *frames = &pprof->run->profile.frames[stack->first];
    for (uint32_t i = 0; i < stack->depth;) {
        uint32_t length = location_length(pprof->run, stack, i);
        uint32_t number = rm_intern(&pprof->locations, &frames[i], length * sizeof *frames);
        rm_protobuf_varint(&pprof->inner, (uint64_t)number + 1);
        i += length;
    }
    rm_protobuf_part(&pprof->part, SAMPLE_LOCATIONS, &pprof->inner);
}

/* "samples" counts the samples of CPU time; in a run without CPU stacks, the samples of memory. */
static void put_values(struct pprof *pprof, const struct rm_run_stack *stack)
{
    bool has_cpu = is_taken(pprof->run, RESMON_STACK_CPU);
    uint64_t samples =
        has_cpu ? stack->samples[RESMON_STACK_CPU]
                : stack->samples[RESMON_STACK_MEMORY] + stack->samples[RESMON_STACK_FILE];
    rm_protobuf_varint(&pprof->inner, samples < INT64_MAX ? samples : INT64_MAX);
    for (int kind = 0; kind < RM_STACK_KINDS; kind++) {
        rm_protobuf_varint(&pprof->inner, rm_stacks_whole(stack->weight[kind]));
    }
    rm_protobuf_part(&pprof->part, SAMPLE_VALUES, &pprof->inner);
}

static void put_scope(struct pprof *pprof, const struct rm_run_stack *stack)
{
    uint32_t scopes[RM_STACK_SCOPES];
    char path[RM_PATH_BYTES / 2] = "";
    size_t length = 0;
    size_t count = rm_stacks_scopes(pprof->run, stack->scope, scopes);
    if (count == 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        length += rm_text_set(path + length, sizeof path - length, i > 0 ? "/" : "");
        length +=
            rm_text_set(path + length, sizeof path - length, pprof->run->scopes[scopes[i]].name);
    }
    rm_protobuf_number(&pprof->inner, LABEL_KEY, text_of(pprof, "scope"));
    rm_protobuf_number(&pprof->inner, LABEL_TEXT, text_of(pprof, path));
    rm_protobuf_part(&pprof->part, SAMPLE_LABEL, &pprof->inner);
}

static void put_samples(struct pprof *pprof)
{
    const struct rm_run_profile *profile = &pprof->run->profile;
    for (size_t i = 0; i < profile->stack_count && pprof->out->status == RESMON_OK; i++) {
        const struct rm_run_stack *stack = &profile->stacks[i];
        put_locations(pprof, stack);
        put_values(pprof, stack);
        put_scope(pprof, stack);
        rm_protobuf_part(pprof->out, PROFILE_SAMPLE, &pprof->part);
    }
}

/* ---- functions, locations and mappings ------------------------------------------------------ */

static void put_line(struct pprof *pprof, const struct rm_run_place *place)
{
    if (place->function[0] == '\0') {
        return; /* readers show the mapped file for such a place */
    }
    struct function_key key = {text_of(pprof, place->function), text_of(pprof, place->file)};
    uint32_t function = rm_intern(&pprof->functions, &key, sizeof key);
    rm_protobuf_number(&pprof->inner, LINE_FUNCTION, (uint64_t)function + 1);
    rm_protobuf_number(&pprof->inner, LINE_NUMBER, place->line);
    rm_protobuf_part(&pprof->part, LOCATION_LINE, &pprof->inner);
}

static void put_location_table(struct pprof *pprof)
{
    const struct rm_run_profile *profile = &pprof->run->profile;
    for (uint32_t i = 0; i < pprof->locations.count; i++) {
        const struct rm_intern_key *key = &pprof->locations.keys[i];
        const uint32_t *places = key->bytes;
        const struct rm_run_place *first = &profile->places[places[0]];
        rm_protobuf_number(&pprof->part, LOCATION_ID, (uint64_t)i + 1);
        rm_protobuf_number(&pprof->part, LOCATION_MAPPING, (uint64_t)(first->module + 1));
        rm_protobuf_number(&pprof->part, LOCATION_ADDRESS, first->address);
        for (size_t k = 0; k < key->length / sizeof *places; k++) {
            put_line(pprof, &profile->places[places[k]]);
        }
        rm_protobuf_part(pprof->out, PROFILE_LOCATION, &pprof->part);
    }
}

static void put_function_table(struct pprof *pprof)
{
    for (uint32_t i = 0; i < pprof->functions.count; i++) {
        const struct function_key *key = pprof->functions.keys[i].bytes;
        rm_protobuf_number(&pprof->part, FUNCTION_ID, (uint64_t)i + 1);
        rm_protobuf_number(&pprof->part, FUNCTION_NAME, key->name);
        rm_protobuf_number(&pprof->part, FUNCTION_SYSTEM_NAME, key->name);
        rm_protobuf_number(&pprof->part, FUNCTION_FILE, key->file);
        rm_protobuf_part(pprof->out, PROFILE_FUNCTION, &pprof->part);
    }
}

/* What is known of at least one place of a module. */
enum known { KNOWN_FUNCTION = 1, KNOWN_FILE = 2, KNOWN_LINE = 4, KNOWN_INLINED = 8 };

static void find_known(const struct rm_run_profile *profile, unsigned char *known)
{
    for (size_t i = 0; i < profile->place_count; i++) {
        const struct rm_run_place *place = &profile->places[i];
        if (place->module >= 0) {
            unsigned bits = (place->function[0] != '\0' ? KNOWN_FUNCTION : 0U) |
                            (place->file[0] != '\0' ? KNOWN_FILE : 0U) |
                            (place->line != 0 ? KNOWN_LINE : 0U) |
                            (place->is_inlined != 0 ? KNOWN_INLINED : 0U);
            known[place->module] |= (unsigned char)bits;
        }
    }
}

static void put_mapping_table(struct pprof *pprof, const unsigned char *known)
{
    const struct rm_run_profile *profile = &pprof->run->profile;
    for (size_t i = 0; i < profile->module_count; i++) {
        const struct rm_run_module *module = &profile->modules[i];
        struct rm_buffer *part = &pprof->part;
        rm_protobuf_number(part, MAPPING_ID, i + 1);
        rm_protobuf_number(part, MAPPING_START, module->start);
        rm_protobuf_number(part, MAPPING_END, module->end);
        rm_protobuf_number(part, MAPPING_FILE, text_of(pprof, module->path));
        rm_protobuf_number(part, MAPPING_BUILD_ID, text_of(pprof, module->build_id));
        rm_protobuf_number(part, MAPPING_HAS_FUNCTIONS, (known[i] & KNOWN_FUNCTION) != 0);
        rm_protobuf_number(part, MAPPING_HAS_FILES, (known[i] & KNOWN_FILE) != 0);
        rm_protobuf_number(part, MAPPING_HAS_LINES, (known[i] & KNOWN_LINE) != 0);
        rm_protobuf_number(part, MAPPING_HAS_INLINED, (known[i] & KNOWN_INLINED) != 0);
        rm_protobuf_part(pprof->out, PROFILE_MAPPING, part);
    }
}

static void put_text_table(struct pprof *pprof)
{
    for (uint32_t i = 0; i < pprof->texts.count; i++) {
        rm_protobuf_bytes(pprof->out, PROFILE_STRING, pprof->texts.keys[i].bytes,
                          pprof->texts.keys[i].length);
    }
}

/* ---- the file ------------------------------------------------------------------------------- */

static resmon_status put_all(struct pprof *pprof)
{
    unsigned char *known = rm_alloc(pprof->run->profile.module_count + 1, 1);
    if (known != NULL) {
        find_known(&pprof->run->profile, known);
        (void)text_of(pprof, "");
        put_head(pprof);
        put_samples(pprof);
        put_mapping_table(pprof, known);
        put_location_table(pprof);
        put_function_table(pprof);
        put_text_table(pprof);
    }
    bool is_broken = known == NULL || pprof->texts.is_broken || pprof->functions.is_broken ||
                     pprof->locations.is_broken;
    rm_free(known);
    return is_broken ? rm_error(RESMON_ENOMEM, "out of memory for a profile") : pprof->out->status;
}

resmon_status rm_pprof_print(const struct resmon_run *run, struct rm_buffer *buffer)
{
    struct pprof pprof = {.run = run, .out = buffer};
    resmon_status status = rm_stacks_check(run, -1);
    if (status != RESMON_OK) {
        return status;
    }
    rm_buffer_init(&pprof.part, LARGEST_PROFILE);
    rm_buffer_init(&pprof.inner, LARGEST_PROFILE);
    status = put_all(&pprof);
    rm_buffer_free(&pprof.part);
    rm_buffer_free(&pprof.inner);
    rm_intern_free(&pprof.texts);
    rm_intern_free(&pprof.functions);
    rm_intern_free(&pprof.locations);
    return status;
}

static resmon_status write_compressed(const struct rm_output *output, const void *what)
{
    const struct rm_buffer *profile = what;
    return rm_gzip(output, profile->text, profile->length);
}

resmon_status rm_pprof_save(const struct resmon_run *run, const char *path)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, LARGEST_PROFILE);
    resmon_status status = rm_pprof_print(run, &buffer);
    if (status == RESMON_OK) {
        status = rm_outfile_save(path, 0, write_compressed, &buffer);
    }
    rm_buffer_free(&buffer);
    return status;
}

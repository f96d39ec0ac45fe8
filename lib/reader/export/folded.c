/* SPDX-License-Identifier: MIT */
/*
 * The readers take the last number of a line for its weight, flamegraph.pl the last two if there
 * are two, and ';' for the end of a frame.
 */
#include "export/folded.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"
#include "export/stacks.h"
#include "format/pen.h"
#include "os/outfile.h"

/* A stack as a list of numbers of frames. */
struct line {
    const struct rm_intern_key *names;
    const uint32_t *frames; /* outermost first */
    size_t count;
    double weight;
};

/* ---- names -------------------------------------------------------------------------------- */

/* Where a number begins that a reader might take for one of its own: "f 12", "f 1.5"; else NULL. */
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

/* A byte of a frame and what follows it in the line: ';', or ' ' after the last. */
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

/* Sums before it rounds: what is lost of a line is half a unit at most. */
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

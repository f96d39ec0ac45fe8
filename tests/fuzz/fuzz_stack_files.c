/* SPDX-License-Identifier: MIT */
/*
 * Files and reports made of stacks: the bytes are a profile, with any names, weights and frames
 * that a reader of documents would let through.  Folded lines parse again and weigh what they
 * should, pprof's fields end where they say.
 */
#include "fuzz.h"
#include "report_in_full.h"

#include <math.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "base/compiler.h"
#include "export/stacks.h"
#include "format/json.h"
#include "run/record.h"
#include "run/run.h"

#define MOST 24

/* What is left of the bytes. */
struct source {
    const uint8_t *at, *end;
};

static uint8_t byte(struct source *source)
{
    return source->at < source->end ? *source->at++ : 0;
}

static uint64_t below(struct source *source, size_t bound)
{
    return bound > 0 ? byte(source) % bound : 0;
}

/* Raw: control characters and broken UTF-8 too, as long as it ends. */
static const char *name(struct source *source, struct resmon_run *run)
{
    size_t left = (size_t)(source->end - source->at);
    size_t wanted = byte(source) % 12, length = wanted < left ? wanted : left;
    char *copy = rm_arena_alloc(&run->strings, length + 1, 1);
    PROMISE(copy != NULL);
    for (size_t i = 0; i < length; i++) {
        copy[i] = (char)byte(source);
    }
    return copy;
}

static double weight(struct source *source)
{
    static const double weights[] = {0, 0.4, 1, 499, 512, 1000, 1023, 1e6, 123456789, 1e12, 0x1p61};
    return weights[below(source, RM_ARRAY_LEN(weights))];
}

static void make_places(struct source *source, struct resmon_run *run)
{
    struct rm_run_profile *profile = &run->profile;
    profile->module_count = below(source, 3);
    profile->modules = rm_arena_alloc(&run->strings, 3, sizeof *profile->modules);
    for (size_t i = 0; i < profile->module_count; i++) {
        profile->modules[i] = (struct rm_run_module){name(source, run), name(source, run),
                                                     byte(source), byte(source), byte(source)};
    }
    profile->place_count = 1 + below(source, MOST);
    profile->places = rm_arena_alloc(&run->strings, MOST + 1, sizeof *profile->places);
    for (size_t i = 0; i < profile->place_count; i++) {
        profile->places[i] = (struct rm_run_place){
            .function = name(source, run),
            .file = name(source, run),
            .line = byte(source),
            .is_inlined = byte(source) & 1U,
            .module = (int64_t)below(source, profile->module_count + 1) - 1,
            .address = (uint64_t)byte(source) << (byte(source) % 57),
        };
    }
}

static void make_stacks(struct source *source, struct resmon_run *run)
{
    struct rm_run_profile *profile = &run->profile;
    profile->stack_count = below(source, MOST);
    profile->stacks = rm_arena_alloc(&run->strings, MOST, sizeof *profile->stacks);
    profile->frames = rm_arena_alloc(&run->strings, MOST * 9, sizeof *profile->frames);
    for (size_t i = 0; i < profile->stack_count; i++) {
        struct rm_run_stack *stack = &profile->stacks[i];
        stack->scope = (int64_t)below(source, run->scope_count + 1) - 1;
        stack->is_cut = byte(source) & 1U;
        stack->first = profile->frame_count;
        stack->depth = (uint32_t)below(source, 8);
        for (uint32_t k = 0; k < stack->depth; k++) {
            profile->frames[profile->frame_count++] = (uint32_t)below(source, profile->place_count);
        }
        for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
            stack->samples[kind] = byte(source);
            stack->weight[kind] = weight(source);
        }
    }
    if (profile->stack_count > 0) {
        profile->peak.t_ns = byte(source);
        profile->peak.stacks = rm_arena_alloc(&run->strings, 1, sizeof *profile->peak.stacks);
        profile->peak.stack_count = 1;
        profile->peak.stacks[0] = (struct rm_run_peak_stack){.thread_name = name(source, run),
                                                             .scope = -1,
                                                             .first = profile->stacks[0].first,
                                                             .depth = profile->stacks[0].depth};
    }
}

static struct resmon_run *made_run(struct source *source)
{
    struct resmon_run *run = rm_run_new();
    PROMISE(run != NULL);
    run->info.state = "stopped";
    run->info.label = "";
    run->scope_count = below(source, 4);
    run->scopes = rm_arena_alloc(&run->strings, 4, sizeof *run->scopes);
    for (size_t i = 0; i < run->scope_count; i++) {
        run->scopes[i] = (resmon_run_scope){.name = name(source, run),
                                            .file = "",
                                            .function = "",
                                            .parent = (int64_t)below(source, i + 1) - 1,
                                            .energy_j = (double)NAN};
        run->scopes[i].depth =
            run->scopes[i].parent < 0 ? 0 : run->scopes[run->scopes[i].parent].depth + 1;
    }
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        run->profile.kinds[kind].status = byte(source) % 4 != 0 ? RESMON_OK : RESMON_EACCES;
        run->profile.kinds[kind].period = byte(source);
        run->profile.kinds[kind].total = weight(source);
    }
    make_places(source, run);
    make_stacks(source, run);
    return run;
}

/* ---- readers -------------------------------------------------------------------------------- */

static size_t content_of(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "rb");
    PROMISE(file != NULL);
    size_t length = fread(text, 1, room, file);
    PROMISE(length < room && fclose(file) == 0);
    text[length] = '\0';
    return length;
}

/* As flamegraph.pl: the last number; and no second one before it. */
static double check_line(const char *line, const char *end)
{
    const char *space = end;
    double number = 0.0;
    while (space > line && space[-1] >= '0' && space[-1] <= '9') {
        space--;
    }
    PROMISE(space < end && space - 1 > line && space[-1] == ' ' && line[0] != ' ' &&
            line[0] != ';');
    for (const char *p = space; p < end; p++) {
        number = number * 10.0 + (*p - '0');
    }
    const char *last = space - 1;
    while (last > line && ((last[-1] >= '0' && last[-1] <= '9') || last[-1] == '.')) {
        last--;
    }
    PROMISE(last == space - 1 || last == line || last[-1] != ' ');
    for (const char *p = line; p < space - 1; p++) {
        PROMISE((unsigned char)*p >= ' ' && *p != 0x7f && !(p[0] == ';' && p[1] == ';'));
    }
    return number;
}

static void check_folded(const struct resmon_run *run, int kind, char *text, size_t room)
{
    char path[96];
    const double unit = kind == RESMON_STACK_CPU ? 1e3 : 1024.0;
    double sum = 0.0, wanted = 0.0;
    size_t lines = 0;
    (void)snprintf(path, sizeof path, "%s/folded", fuzz_directory());
    resmon_status status = resmon_run_save_folded(run, kind, path);
    PROMISE(status == (run->profile.kinds[kind].status == RESMON_OK ? RESMON_OK : RESMON_ENOENT));
    if (status != RESMON_OK) {
        return;
    }
    size_t length = content_of(path, text, room);
    PROMISE(length == 0 || text[length - 1] == '\n');
    for (const char *line = text, *end; line < text + length; line = end + 1, lines++) {
        end = strchr(line, '\n');
        sum += check_line(line, end);
    }
    for (size_t i = 0; i < run->profile.stack_count; i++) {
        wanted += run->profile.stacks[i].weight[kind] / unit;
    }
    PROMISE(fabs(sum - wanted) <= (double)run->profile.stack_count + wanted * 1e-12);
    PROMISE(lines <= run->profile.stack_count);
}

/* Walks the fields of a message. */
static void check_message(const unsigned char *at, const unsigned char *end)
{
    while (at < end) {
        uint64_t numbers[2] = {0, 0};
        for (int i = 0; i < 2; i++) {
            for (int shift = 0;; shift += 7) {
                PROMISE(at < end && shift < 70);
                numbers[i] |= shift < 64 ? (uint64_t)(*at & 0x7f) << shift : 0;
                if ((*at++ & 0x80) == 0) {
                    break;
                }
            }
        }
        PROMISE(numbers[0] >> 3 >= 1 && numbers[0] >> 3 <= 14);
        PROMISE((numbers[0] & 7) == 0 || (numbers[0] & 7) == 2);
        if ((numbers[0] & 7) == 2) {
            PROMISE(numbers[1] <= (uint64_t)(end - at));
            at += numbers[1];
        }
    }
}

static void check_pprof(const struct resmon_run *run)
{
    struct rm_buffer buffer;
    char path[96];
    rm_buffer_init(&buffer, (size_t)1 << 24);
    resmon_status status = rm_pprof_print(run, &buffer);
    PROMISE(status == RESMON_OK || status == RESMON_ENOENT);
    if (status == RESMON_OK) {
        check_message((const unsigned char *)buffer.text,
                      (const unsigned char *)buffer.text + buffer.length);
        (void)snprintf(path, sizeof path, "%s/pprof", fuzz_directory());
        PROMISE(resmon_run_save_pprof(run, path) == RESMON_OK);
    }
    rm_buffer_free(&buffer);
}

static void check_texts(const struct resmon_run *run)
{
    char *text = NULL;
    PROMISE(report_in_full(run, &text) == RESMON_OK);
    resmon_text_free(text);
    text = NULL;
    resmon_status status = resmon_report_lines(run, NULL, &text);
    PROMISE(status == RESMON_OK || status == RESMON_ENOENT);
    resmon_text_free(text);
    text = NULL;
    PROMISE(resmon_run_document(run, &text) == RESMON_OK);
    if (rm_json_check() == RESMON_OK) {
        resmon_run *again = NULL;
        PROMISE(resmon_run_parse(text, strlen(text), &again) == RESMON_OK);
        PROMISE(resmon_run_stack_count(again) == resmon_run_stack_count(run));
        resmon_run_free(again);
    }
    resmon_text_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[1 << 20];
    struct source source = {data, data + size};
    struct resmon_run *run = made_run(&source);
    for (int kind = 0; kind < RM_STACK_KINDS; kind++) {
        check_folded(run, kind, text, sizeof text);
    }
    check_pprof(run);
    check_texts(run);
    rm_run_free(run);
    return 0;
}

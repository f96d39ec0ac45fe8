/* SPDX-License-Identifier: MIT */
/*
 * https://www.speedscope.app/file-format-schema.json.  It does not merge frames that are alike, so
 * they are: those of one name, file and line are one.
 */
#include "sink/speedscope.h"

#include <resmon/status.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/status.h"
#include "sink/pen.h"
#include "sink/stacks.h"

static const struct {
    const char *name, *unit;
} kinds[RM_STACK_KINDS] = {
    [RESMON_STACK_CPU] = {"CPU time", "nanoseconds"},
    [RESMON_STACK_MEMORY] = {"growth of memory", "bytes"},
    [RESMON_STACK_FILE] = {"pages of files", "bytes"},
};

static void print_frame(struct rm_buffer *text, const char *name, const struct rm_run_place *place)
{
    rm_buffer_puts(text, "{\"name\":");
    rm_buffer_json(text, name[0] != '\0' ? name : "?");
    if (place != NULL && place->file[0] != '\0') {
        rm_buffer_puts(text, ",\"file\":");
        rm_buffer_json(text, place->file);
        if (place->line > 0) {
            rm_buffer_printf(text, ",\"line\":%u", place->line);
        }
    }
    rm_buffer_puts(text, "}");
}

static void put_text(struct rm_pen *pen, const char *text)
{
    struct rm_buffer json;
    rm_buffer_init(&json, (size_t)1 << 16);
    rm_buffer_json(&json, text);
    if (json.status == RESMON_OK) {
        rm_pen_add(pen, json.text, json.length);
    } else {
        pen->status = json.status;
    }
    rm_buffer_free(&json);
}

static void put_number(struct rm_pen *pen, double number)
{
    char text[RM_NUMBER_BYTES];
    rm_pen_add(pen, text, rm_number_double(text, number));
}

static bool is_weighed(const struct rm_run_stack *stack, int kind)
{
    return stack->samples[kind] > 0 && stack->weight[kind] > 0.0 && stack->weight[kind] < 0x1p62;
}

static void put_samples(struct rm_pen *pen, const struct resmon_run *run,
                        const struct rm_stack_frames *frames, int kind, uint32_t *list)
{
    bool has_begun = false;
    for (size_t i = 0; i < run->profile.stack_count; i++) {
        const struct rm_run_stack *stack = &run->profile.stacks[i];
        if (!is_weighed(stack, kind)) {
            continue;
        }
        size_t count = rm_stack_frames_list(frames, run, stack, list);
        rm_pen_puts(pen, has_begun ? ",\n[" : "\n[");
        has_begun = true;
        for (size_t k = 0; k < count; k++) {
            rm_pen_puts(pen, k > 0 ? "," : "");
            rm_pen_u64(pen, list[k]);
        }
        rm_pen_puts(pen, "]");
    }
}

static void put_weights(struct rm_pen *pen, const struct resmon_run *run, int kind)
{
    bool has_begun = false;
    for (size_t i = 0; i < run->profile.stack_count; i++) {
        const struct rm_run_stack *stack = &run->profile.stacks[i];
        if (is_weighed(stack, kind)) {
            rm_pen_puts(pen, has_begun ? "," : "");
            has_begun = true;
            put_number(pen, stack->weight[kind]);
        }
    }
}

static void put_profile(struct rm_pen *pen, const struct resmon_run *run,
                        const struct rm_stack_frames *frames, int kind, uint32_t *list)
{
    double total = 0.0;
    for (size_t i = 0; i < run->profile.stack_count; i++) {
        const struct rm_run_stack *stack = &run->profile.stacks[i];
        total += is_weighed(stack, kind) ? stack->weight[kind] : 0.0;
    }
    rm_pen_puts(pen, "\n{\"type\":\"sampled\",\"name\":\"");
    rm_pen_puts(pen, kinds[kind].name);
    rm_pen_puts(pen, "\",\"unit\":\"");
    rm_pen_puts(pen, kinds[kind].unit);
    rm_pen_puts(pen, "\",\"startValue\":0,\"endValue\":");
    put_number(pen, total);
    rm_pen_puts(pen, ",\"samples\":[");
    put_samples(pen, run, frames, kind, list);
    rm_pen_puts(pen, "],\n\"weights\":[");
    put_weights(pen, run, kind);
    rm_pen_puts(pen, "]}");
}

/* Those that have samples; when none has, those that might have had. */
static unsigned kinds_to_show(const struct resmon_run *run)
{
    unsigned sampled = 0, taken = 0;
    for (int kind = 0; kind < RM_STACK_KINDS; kind++) {
        taken |= run->profile.kinds[kind].status == RESMON_OK ? 1U << kind : 0;
        for (size_t i = 0; i < run->profile.stack_count; i++) {
            sampled |= is_weighed(&run->profile.stacks[i], kind) ? 1U << kind : 0;
        }
    }
    return sampled != 0 ? sampled : taken;
}

static void put_head(struct rm_pen *pen, const struct resmon_run *run)
{
    const struct rm_fact *name = rm_run_fact(run, "run", "name");
    rm_pen_puts(pen, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                     "\"exporter\":\"libresmon@");
    rm_pen_puts(pen, resmon_version());
    rm_pen_puts(pen, "\",\"name\":");
    put_text(pen, name != NULL && name->value[0] != '\0' ? name->value : "resmon");
    rm_pen_puts(pen, ",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
}

static void put_all(struct rm_pen *pen, const struct resmon_run *run,
                    const struct rm_stack_frames *frames, uint32_t *list)
{
    unsigned shown = kinds_to_show(run);
    bool has_begun = false;
    put_head(pen, run);
    for (uint32_t i = 0; i < frames->texts.count; i++) {
        rm_pen_puts(pen, i > 0 ? ",\n" : "\n");
        rm_pen_add(pen, frames->texts.keys[i].bytes, frames->texts.keys[i].length);
    }
    rm_pen_puts(pen, "]},\n\"profiles\":[");
    for (int kind = 0; kind < RM_STACK_KINDS; kind++) {
        if ((shown & 1U << kind) != 0) {
            rm_pen_puts(pen, has_begun ? "," : "");
            has_begun = true;
            put_profile(pen, run, frames, kind, list);
        }
    }
    rm_pen_puts(pen, "]}\n");
}

static resmon_status write_file(const struct resmon_run *run, const struct rm_stack_frames *frames,
                                const char *path)
{
    struct rm_pen pen;
    uint32_t *list = rm_alloc(rm_stack_frames_most(run), sizeof *list);
    if (list == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for stacks");
    }
    resmon_status status = rm_pen_open(&pen, path);
    if (status == RESMON_OK) {
        put_all(&pen, run, frames, list);
        status = rm_pen_close(&pen);
    }
    rm_free(list);
    return status;
}

resmon_status rm_speedscope_save(const struct resmon_run *run, const char *path)
{
    struct rm_stack_frames frames;
    resmon_status status = rm_stacks_check(run, -1);
    if (status != RESMON_OK) {
        return status;
    }
    status = rm_stack_frames_make(run, print_frame, &frames);
    if (status == RESMON_OK) {
        status = write_file(run, &frames, path);
    }
    rm_stack_frames_free(&frames);
    return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * https://www.speedscope.app/file-format-schema.json.  It does not merge frames that are alike, so
 * they are: those of one name, file and line are one.
 */
#include "format/speedscope.h"

#include <stdio.h>
#include <string.h>

#include <resmon/status.h>
#include <resmon/version.h>

#include "base/alloc.h"
#include "base/status.h"
#include "format/json_writer.h"
#include "format/stacks.h"
#include "os/outfile.h"

static const struct {
    const char *name, *unit;
} kinds[RM_STACK_KINDS] = {
    [RESMON_STACK_CPU] = {"CPU time", "nanoseconds"},
    [RESMON_STACK_MEMORY] = {"growth of memory", "bytes"},
    [RESMON_STACK_FILE] = {"pages of files", "bytes"},
};

/* What a frame is known by: its line, its name and its file. */
static void print_frame(struct rm_buffer *text, const char *name, const struct rm_run_place *place)
{
    const char *file = place != NULL ? place->file : "";
    const uint32_t line = place != NULL && file[0] != '\0' ? place->line : 0;
    char number[sizeof line];
    memcpy(number, &line, sizeof line);
    name = name[0] != '\0' ? name : "?";
    rm_buffer_add(text, number, sizeof number);
    rm_buffer_add(text, name, strlen(name) + 1);
    rm_buffer_add(text, file, strlen(file) + 1);
}

static void put_frame(struct rm_json_writer *json, const struct rm_intern_key *key)
{
    uint32_t line;
    const char *name = (const char *)key->bytes + sizeof line;
    const char *file = name + strlen(name) + 1;
    memcpy(&line, key->bytes, sizeof line);
    rm_json_break(json);
    rm_json_open_object(json, NULL);
    rm_json_put_text(json, "name", name);
    if (file[0] != '\0') {
        rm_json_put_text(json, "file", file);
    }
    if (line > 0) {
        rm_json_put_u64(json, "line", line);
    }
    rm_json_close_object(json);
}

static bool is_weighed(const struct rm_run_stack *stack, int kind)
{
    return stack->samples[kind] > 0 && stack->weight[kind] > 0.0 && stack->weight[kind] < 0x1p62;
}

struct showing {
    const struct resmon_run *run;
    const struct rm_stack_frames *frames;
    uint32_t *list; /* of the frames of one stack */
};

static void put_samples(struct rm_json_writer *json, const struct showing *showing, int kind)
{
    const struct resmon_run *run = showing->run;
    rm_json_open_array(json, "samples");
    for (size_t i = 0; i < run->profile.stack_count; i++) {
        const struct rm_run_stack *stack = &run->profile.stacks[i];
        if (!is_weighed(stack, kind)) {
            continue;
        }
        size_t count = rm_stack_frames_list(showing->frames, run, stack, showing->list);
        rm_json_break(json);
        rm_json_open_array(json, NULL);
        for (size_t k = 0; k < count; k++) {
            rm_json_put_u64(json, NULL, showing->list[k]);
        }
        rm_json_close_array(json);
    }
    rm_json_close_array(json);
}

static void put_weights(struct rm_json_writer *json, const struct resmon_run *run, int kind)
{
    rm_json_break(json);
    rm_json_open_array(json, "weights");
    for (size_t i = 0; i < run->profile.stack_count; i++) {
        const struct rm_run_stack *stack = &run->profile.stacks[i];
        if (is_weighed(stack, kind)) {
            rm_json_put_double(json, NULL, stack->weight[kind]);
        }
    }
    rm_json_close_array(json);
}

static void put_profile(struct rm_json_writer *json, const struct showing *showing, int kind)
{
    const struct rm_run_profile *profile = &showing->run->profile;
    double total = 0.0;
    for (size_t i = 0; i < profile->stack_count; i++) {
        total += is_weighed(&profile->stacks[i], kind) ? profile->stacks[i].weight[kind] : 0.0;
    }
    rm_json_break(json);
    rm_json_open_object(json, NULL);
    rm_json_put_text(json, "type", "sampled");
    rm_json_put_text(json, "name", kinds[kind].name);
    rm_json_put_text(json, "unit", kinds[kind].unit);
    rm_json_put_u64(json, "startValue", 0);
    rm_json_put_double(json, "endValue", total);
    put_samples(json, showing, kind);
    put_weights(json, showing->run, kind);
    rm_json_close_object(json);
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

static void put_head(struct rm_json_writer *json, const struct resmon_run *run)
{
    const char *name = rm_run_fact_text(run, "run", "name");
    char exporter[64];
    (void)snprintf(exporter, sizeof exporter, "libresmon@%s", resmon_version());
    rm_json_put_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    rm_json_put_text(json, "exporter", exporter);
    rm_json_put_text(json, "name", name[0] != '\0' ? name : "resmon");
    rm_json_put_u64(json, "activeProfileIndex", 0);
    rm_json_break(json);
}

static resmon_status write_all(const struct rm_output *output, const void *what)
{
    const struct showing *showing = what;
    const unsigned shown = kinds_to_show(showing->run);
    struct rm_json_writer json;
    rm_json_start(&json, output);
    rm_json_open_object(&json, NULL);
    put_head(&json, showing->run);
    rm_json_open_object(&json, "shared");
    rm_json_open_array(&json, "frames");
    for (uint32_t i = 0; i < showing->frames->texts.count; i++) {
        put_frame(&json, &showing->frames->texts.keys[i]);
    }
    rm_json_close_array(&json);
    rm_json_close_object(&json);
    rm_json_break(&json);
    rm_json_open_array(&json, "profiles");
    for (int kind = 0; kind < RM_STACK_KINDS; kind++) {
        if ((shown & 1U << kind) != 0) {
            put_profile(&json, showing, kind);
        }
    }
    rm_json_close_array(&json);
    rm_json_close_object(&json);
    return rm_json_finish(&json);
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
        const struct showing showing = {run, &frames,
                                        rm_alloc(rm_stack_frames_most(run), sizeof *showing.list)};
        status = showing.list != NULL ? rm_outfile_save(path, write_all, &showing)
                                      : rm_error(RESMON_ENOMEM, "out of memory for stacks");
        rm_free(showing.list);
    }
    rm_stack_frames_free(&frames);
    return status;
}

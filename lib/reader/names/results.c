/* SPDX-License-Identifier: MIT */
#include "names/results.h"

#include <stddef.h>
#include <unistd.h>

#include "base/alloc.h"
#include "names/demangle.h"
#include "names/protocol.h"

void rm_names_end(int status)
{
    _exit(status);
}

void *rm_names_must(void *memory)
{
    if (memory == NULL) {
        rm_names_end(RM_NAMES_NO_MEMORY);
    }
    return memory;
}

uint32_t rm_names_text(struct rm_names_results *results, const char *text)
{
    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    uint32_t before = results->texts.count;
    uint32_t number = rm_intern(&results->texts, text, strnlen(text, RM_NAMES_MOST_TEXT));
    if (results->texts.is_broken) {
        rm_names_end(RM_NAMES_NO_MEMORY);
    }
    if (number == before) {
        results->names = rm_names_must(
            rm_grow(results->names, number, &results->name_room, sizeof *results->names));
        results->names[number] = 0;
    }
    return number + 1;
}

uint32_t rm_names_function(struct rm_names_results *results, const char *name)
{
    char text[RM_NAMES_MOST_TEXT + 1];
    if (name == NULL) {
        return 0;
    }
    rm_demangle(name, text, sizeof text);
    return rm_names_text(results, text);
}

void rm_names_add_frame(struct rm_names_results *results, uint32_t function, uint32_t file,
                        uint32_t line)
{
    results->frames = rm_names_must(rm_grow(results->frames, results->frame_count,
                                            &results->frame_room, sizeof *results->frames));
    results->frames[results->frame_count++] = (struct rm_names_frame){function, file, line};
}

static void put_name(struct rm_names_results *results, uint32_t text, struct rm_buffer *reply)
{
    uint32_t *name = text > 0 ? &results->names[text - 1] : NULL;
    bool is_new = name != NULL && *name == 0;
    if (is_new) {
        *name = ++results->name_count;
    }
    rm_names_put_u32(reply, name != NULL ? *name : 0);
    if (is_new) {
        rm_names_put_text(reply, results->texts.keys[text - 1].bytes, RM_NAMES_MOST_TEXT);
    }
}

void rm_names_put_frames(struct rm_names_results *results, struct rm_names_span span,
                         struct rm_buffer *reply)
{
    rm_names_put_u32(reply, span.count);
    for (size_t i = span.first; i < span.first + span.count; i++) {
        const struct rm_names_frame *frame = &results->frames[i];
        put_name(results, frame->function, reply);
        put_name(results, frame->file, reply);
        rm_names_put_u32(reply, frame->line);
    }
}

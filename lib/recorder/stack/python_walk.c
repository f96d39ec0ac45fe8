/* SPDX-License-Identifier: MIT */
#include "stack/python_walk.h"

#include <string.h>

/* The two lowest bits of a pointer to a code object are a tag (_PyStackRef, from 3.14 on). */
#define TAG UINT64_C(3)

/* A frame that is no Python code stands for the C code that called the evaluation. */
void rm_python_walk_mark_entry(const struct rm_python *python, struct rm_python_walk *walk,
                               uint64_t address, const unsigned char *frame)
{
    const struct rm_python_layout *layout = &python->layout;
    struct rm_python_frame *last = walk->depth > 0 ? &walk->frames[walk->depth - 1] : NULL;
    bool is_entry = layout->frame_owner == 0 ||
                    (layout->frame_is_entry != 0 && frame[layout->frame_is_entry] != 0);
    if (last != NULL && last->entry == 0 && (address != 0 || is_entry)) {
        last->entry = address != 0 ? address : 1;
    }
}

void rm_python_walk_add(const struct rm_python *python, struct rm_python_walk *walk,
                        uint64_t address, const unsigned char *frame)
{
    const struct rm_python_layout *layout = &python->layout;
    struct rm_python_frame *added = &walk->frames[walk->depth];
    uint32_t narrow;
    if (walk->depth == RM_PYTHON_DEPTH) {
        walk->is_cut = true;
        return;
    }
    walk->address = walk->depth++ == 0 ? address : walk->address;
    *added = (struct rm_python_frame){.code = rm_python_word(frame, layout->frame_code) & ~TAG};
    if (layout->minor < 11) {
        memcpy(&narrow, frame + layout->frame_instruction, sizeof narrow);
        added->instruction = (uint64_t)(int64_t)(int32_t)narrow;
    } else {
        added->instruction = rm_python_word(frame, layout->frame_instruction);
    }
    if (layout->frame_copies != 0) {
        memcpy(&added->copy, frame + layout->frame_copies, sizeof added->copy);
    }
    rm_python_walk_mark_entry(python, walk, 0, frame);
}

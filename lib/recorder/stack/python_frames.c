/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "stack/python_frames.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text.h"
#include "os/file.h"
#include "stack/named_sources.h"
#include "stack/view.h"

void rm_python_frames_close(struct rm_python_frames *frames)
{
    rm_python_readers_free(frames->readers);
    frames->readers = NULL;
}

/* ---- interpreters ----------------------------------------------------------------------- */

#define PYTHON_WAKEUP 1U
#define OTHER_WAKEUP  8U

/* By the words of the command, or of the one that is about to start it. */
uint32_t rm_python_frames_wakeup(uint32_t pid, const struct rm_root *root,
                                 struct rm_scratch *scratch)
{
    static const char name[] = "python", ending[] = ".py";
    char path[64];
    struct rm_text text;
    (void)snprintf(path, sizeof path, "proc/%u/cmdline", pid);
    if (rm_file_read_once(root, path, scratch, &text) != RESMON_OK) {
        return OTHER_WAKEUP;
    }
    while (text.at < text.end) {
        size_t length = strnlen(text.at, rm_text_left(&text));
        const char *end = text.at + length;
        bool has_ending = length >= sizeof ending &&
                          memcmp(end - (sizeof ending - 1), ending, sizeof ending - 1) == 0;
        if (has_ending || memmem(text.at, length, name, sizeof name - 1) != NULL) {
            return PYTHON_WAKEUP;
        }
        text.at = end < text.end ? end + 1 : end;
    }
    return OTHER_WAKEUP;
}

/* Why an implementation of Python other than CPython is not read; NULL: there is none. */
static const char *other_python_in(const struct rm_space *space)
{
    static const struct {
        const char *name, *why;
    } others[] = {
        {"libpypy", "it is run by PyPy; those of CPython can be read"},
        {"libpythonvm", "it is run by GraalPy; those of CPython can be read"},
    };
    for (size_t i = 0; i < space->map_count; i++) {
        const struct rm_image *image = space->maps[i].image;
        const char *name = image != NULL ? rm_text_base_name(rm_image_path(image)) : "";
        for (size_t k = 0; k < RM_ARRAY_LEN(others); k++) {
            if (strncmp(name, others[k].name, strlen(others[k].name)) == 0) {
                return others[k].why;
            }
        }
    }
    return NULL;
}

/* The interpreter in a process; NULL: none can be read. */
static struct rm_interpreter *interpreter_of(struct rm_python_frames *frames,
                                             struct rm_space *space)
{
    const struct rm_interpreter_process process = {
        .pid = space->pid,
        .maps = space->maps,
        .map_count = space->map_count,
    };
    if (space->python == NULL && space->python_code == space->code) {
        return NULL;
    }
    space->python_code = space->code;
    bool can_read = rm_interpreter_find(&space->python, &process);
    const char *why =
        space->python != NULL ? rm_interpreter_refusal(space->python) : other_python_in(space);
    if (can_read && frames->readers == NULL &&
        rm_python_readers_start(frames->tree, frames->root, &frames->readers) != RESMON_OK) {
        can_read = false;
        why = resmon_last_error();
    }
    if (can_read) {
        rm_python_readers_add(frames->readers, rm_interpreter_target(space->python));
        return space->python;
    }
    if (why != NULL && frames->why_not[0] == '\0') {
        (void)snprintf(frames->why_not, sizeof frames->why_not,
                       "Python's functions of process %u are not read: %s", space->pid, why);
    }
    return NULL;
}

/* ---- one sample ------------------------------------------------------------------------- */

bool rm_python_is_start(const char *path)
{
    static const char *const names[] = {"libc.so", "libc-", "libpthread", "ld-", "python"};
    const char *name = rm_text_base_name(path);
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void name_code(struct rm_stack_writer *writer, const struct rm_interpreter *interpreter,
                      struct rm_python_code *code)
{
    code->value = rm_interpreter_is_own(interpreter)
                      ? rm_named_source_value(writer, code->text, &code->is_named)
                      : rm_stack_writer_name(writer, code->text);
}

/* What is further out than the cells of a notebook is the notebook's own server. */
static void cut_notebook(const struct rm_python_stack *stack, struct rm_joined_python *python)
{
    uint32_t end = python->depth, entry = 0;
    while (end > 0 && !stack->frames[end - 1].code->is_named) {
        end--;
    }
    if (end == 0) {
        return;
    }
    for (entry = end - 1; entry + 1 < python->depth && python->entries[entry] == 0; entry++) {
    }
    python->entries[end - 1] = python->entries[entry];
    python->depth = end;
}

bool rm_python_name(struct rm_stack_writer *writer, struct rm_interpreter *interpreter,
                    enum rm_python_result result, const struct rm_python_walk *walk,
                    struct rm_python_names *ret_names)
{
    struct rm_python_stack *stack = &ret_names->stack;
    struct rm_joined_python *python = &ret_names->joined;
    if (!rm_interpreter_symbolize(interpreter, result, walk, stack)) {
        return false;
    }
    python->depth = stack->depth;
    python->address = walk->address;
    python->instruction = stack->instruction;
    for (uint32_t i = 0; i < stack->depth; i++) {
        struct rm_python_code *code = stack->frames[i].code;
        if (code->value == 0) {
            name_code(writer, interpreter, code);
        }
        python->values[i] =
            code->value != 0 ? rm_stack_name_at(code->value, stack->frames[i].line) : 0;
        python->entries[i] = walk->frames[i].entry;
    }
    cut_notebook(stack, python);
    return true;
}

static bool name_python(struct rm_python_frames *frames, struct rm_space *space)
{
    return rm_python_name(frames->writer, space->python, frames->reading.result,
                          &frames->reading.walk, &frames->names);
}

/* Finds the Python stack of a sample, and whether it is of the same call.  A page fault is at one
 * line: the stack of another call does not count, but in a row of faults not each one is read, and
 * those of one call of C code have the same stack pointer. */
static bool find_python(struct rm_python_frames *frames, struct rm_space *space,
                        const struct rm_tree_record *record, const struct rm_native_stack *native,
                        bool has_own, bool *ret_is_same)
{
    static const enum rm_python_which all[] = {RM_PYTHON_AT, RM_PYTHON_BEFORE, RM_PYTHON_AFTER};
    struct rm_python_reading *reading = &frames->reading;
    struct rm_python_places *places = rm_interpreter_places(space->python);
    bool is_cpu = record->kind == RM_TREE_CPU;
    for (size_t i = 0; i < (is_cpu ? 1 : RM_ARRAY_LEN(all)); i++) {
        bool is_there =
            i == 0 ? has_own : rm_python_readers_copy(frames->readers, record, all[i], reading);
        if (is_there && reading->stack == rm_view_stack(&record->sample) &&
            name_python(frames, space)) {
            *ret_is_same = rm_python_is_same(native, &frames->names.joined, places, i == 0);
            if (is_cpu || *ret_is_same) {
                return true;
            }
        }
    }
    return false;
}

bool rm_python_frames_are_in(struct rm_python_frames *frames, struct rm_space *space)
{
    return interpreter_of(frames, space) != NULL;
}

/* The outermost frame of Python is the program's, also where native frames could not be unwound as
 * far as that. */
uint32_t rm_python_frames_join(struct rm_python_frames *frames, struct rm_space *space,
                               const struct rm_tree_record *record,
                               const struct rm_native_stack *native, uint64_t *ret_values,
                               uint32_t *is_cut)
{
    bool is_same = false;
    if (native->stacks == NULL || space->python == NULL) {
        return 0;
    }
    bool has_own = rm_python_readers_copy(frames->readers, record, RM_PYTHON_AT, &frames->reading);
    if (has_own && frames->reading.result == RM_PYTHON_IDLE) {
        return 0; /* a thread that runs no Python code: its frames are native ones */
    }
    if (!find_python(frames, space, record, native, has_own, &is_same)) {
        uint64_t not_read = rm_stack_writer_name(frames->writer, RM_PYTHON_NOT_READ);
        return rm_python_leave_out(native, not_read, ret_values, RM_STACK_DEPTH);
    }
    is_same = is_same ||
              (native->is_broken &&
               (frames->reading.is_prompt || rm_python_may_be_same(native, &frames->names.joined)));
    *is_cut = frames->reading.walk.is_cut ? 1 : 0;
    return rm_python_join(native, &frames->names.joined, is_same, ret_values, RM_STACK_DEPTH);
}

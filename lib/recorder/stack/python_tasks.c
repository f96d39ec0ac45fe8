/* SPDX-License-Identifier: MIT */
#include "stack/python_tasks.h"

#include <string.h>

#include "base/compiler.h"

#define MOST_TASKS 16U /* that wait for each other */

/* The two lowest bits of a reference on the stack of a frame are a tag (_PyStackRef). */
#define TAG UINT64_C(3)

#define OWNED_BY_COROUTINE 1 /* owner of a frame (pycore_frame.h) */

void rm_python_tasks_set(struct rm_python *python, const struct rm_python_tasks *tasks)
{
    struct rm_python_tasks *set = &python->tasks;
    if (python->layout.coroutine_frame == 0 || RM_LOAD(&set->running) != 0) {
        return;
    }
    set->coroutine = tasks->coroutine;
    set->waiting = tasks->waiting;
    set->is_task = tasks->is_task;
    set->waiting_is_set = tasks->waiting_is_set;
    set->task_bytes = tasks->task_bytes;
    RM_STORE_RELEASE(&set->running, tasks->running);
}

/* ---- tasks ------------------------------------------------------------------------------- */

/* The only element of a set; 0: it has none, or several. */
static uint64_t element_of(const struct rm_python *python, uint64_t set)
{
    const struct rm_python_layout *layout = &python->layout;
    const struct rm_python_memory *memory = &python->memory;
    uint64_t used, table, mask, entries[2 * 8];
    const struct rm_python_piece members[] = {
        {set + layout->set_used, &used, 8},
        {set + layout->set_table, &table, 8},
        {set + layout->set_mask, &mask, 8},
    };
    uint64_t element = 0;
    if (!memory->read(memory->context, members, RM_ARRAY_LEN(members)) || used != 1 ||
        mask != RM_ARRAY_LEN(entries) / 2 - 1 ||
        !rm_python_read(memory, table, entries, sizeof entries)) {
        return 0;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(entries); i += 2) {             /* an object and its hash */
        bool is_used = entries[i] != 0 && entries[i + 1] != UINT64_MAX; /* else it was removed */
        element = is_used ? entries[i] : element;
    }
    return element;
}

/* Also a future can be waited for, or wait: it has no coroutine. */
static struct rm_python_task read_task(const struct rm_python *python, uint64_t address)
{
    const struct rm_python_tasks *tasks = &python->tasks;
    unsigned char bytes[RM_PYTHON_OBJECT_BYTES];
    struct rm_python_task task = {.frame = 0};
    if (address == 0 || !rm_python_read(&python->memory, address, bytes, tasks->task_bytes) ||
        bytes[tasks->is_task] != 1 || rm_python_word(bytes, tasks->coroutine) == 0) {
        return task;
    }
    task.frame = rm_python_word(bytes, tasks->coroutine) + python->layout.coroutine_frame;
    task.waiting = rm_python_word(bytes, tasks->waiting);
    if (bytes[tasks->waiting_is_set] != 0) {
        task.waiting = element_of(python, task.waiting);
    }
    return task;
}

struct rm_python_task rm_python_tasks_running(const struct rm_python *python, uint64_t thread)
{
    uint32_t running = RM_LOAD_ACQUIRE(&python->tasks.running);
    uint64_t address = 0;
    bool is_read =
        running != 0 && rm_python_read(&python->memory, thread + running, &address, sizeof address);
    return is_read ? read_task(python, address) : (struct rm_python_task){.frame = 0};
}

/* ---- coroutines that wait ---------------------------------------------------------------- */

/* States of a suspended coroutine (pycore_frame.h). */
static bool is_suspended(uint32_t minor, int8_t state)
{
    return minor == 14 ? state == -2 || state == -1 : state >= 1 && state <= 3;
}

/* The coroutine that a suspended one waits for is the newest value of its stack; from 3.15 on, the
 * one before that. */
static uint64_t next_coroutine(const struct rm_python *python, const unsigned char *bytes)
{
    const struct rm_python_layout *layout = &python->layout;
    uint64_t end = rm_python_word(bytes, layout->coroutine_frame + layout->frame_stack), next = 0;
    uint64_t address = end - (layout->minor == 14 ? 8 : 16);
    return end != 0 && rm_python_read(&python->memory, address, &next, sizeof next) ? next & ~TAG
                                                                                    : 0;
}

/* Adds a coroutine and those that it waits for, one after the other, at the end of the walk: they
 * are suspended, of one type, and have frames of their own. */
static void add_coroutines(const struct rm_python *python, uint64_t address,
                           struct rm_python_walk *walk)
{
    const struct rm_python_layout *layout = &python->layout;
    unsigned char bytes[RM_PYTHON_OBJECT_BYTES + RM_PYTHON_FRAME_BYTES];
    uint32_t length = layout->coroutine_frame + layout->frame_bytes;
    uint64_t type = 0;
    while (address != 0 && !walk->is_cut &&
           rm_python_read(&python->memory, address, bytes, length)) {
        uint64_t type_now = rm_python_word(bytes, layout->object_type);
        const unsigned char *frame = bytes + layout->coroutine_frame;
        if ((type != 0 && type_now != type) || frame[layout->frame_owner] != OWNED_BY_COROUTINE ||
            !is_suspended(layout->minor, (int8_t)bytes[layout->coroutine_state])) {
            return;
        }
        rm_python_walk_add(python, walk, address + layout->coroutine_frame, frame);
        type = type_now;
        address = next_coroutine(python, bytes);
    }
}

static void reverse(struct rm_python_frame *frames, uint32_t first, uint32_t end)
{
    while (first + 1 < end) {
        struct rm_python_frame frame = frames[first];
        frames[first++] = frames[--end];
        frames[end] = frame;
    }
}

/* They are added at the end, the outermost of a task first, and brought to their place. */
void rm_python_tasks_add(const struct rm_python *python, const struct rm_python_task *task,
                         struct rm_python_walk *walk, uint32_t at)
{
    uint32_t end = walk->depth;
    uint64_t next = task->waiting;
    for (uint32_t i = 0; i < MOST_TASKS && next != 0 && !walk->is_cut; i++) {
        struct rm_python_task waiting = read_task(python, next);
        uint32_t first = walk->depth;
        if (waiting.frame != 0) {
            add_coroutines(python, waiting.frame - python->layout.coroutine_frame, walk);
        }
        reverse(walk->frames, first, walk->depth);
        next = walk->depth > first ? waiting.waiting : 0;
    }
    uint32_t added = walk->depth - end;
    if (added > 0) {
        reverse(walk->frames, at + 1, end);
        reverse(walk->frames, end, walk->depth);
        reverse(walk->frames, at + 1, walk->depth);
        walk->frames[at + added].entry = walk->frames[at].entry;
        walk->frames[at].entry = 0;
    }
}

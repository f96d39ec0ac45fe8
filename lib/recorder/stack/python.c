/* SPDX-License-Identifier: MIT */
#include "stack/python.h"

#include <string.h>

#include "base/compiler.h"
#include "base/status.h"
#include "stack/python_tasks.h"

#define TRIES             3
#define MOST_INTERPRETERS 256U
#define MOST_THREADS      8192U
#define MOST_WALKED       1024U /* frames of a stack that are read; the rest is cut off */

/* Owners of a frame from 3.11 on (pycore_frame.h): from this one on, the frame is no Python code.
 */
#define FIRST_FOREIGN_OWNER 3

resmon_status rm_python_open(struct rm_python *python, const struct rm_python_memory *memory,
                             uint64_t runtime, uint32_t minor)
{
    python->memory = *memory;
    python->runtime = runtime;
    return rm_python_layout_find(memory, runtime, minor, &python->layout);
}

static bool read_word(const struct rm_python *python, uint64_t address, uint64_t *ret_word)
{
    return rm_python_read(&python->memory, address, ret_word, sizeof *ret_word);
}

/* ---- the thread ------------------------------------------------------------------------- */

/* Its state is read together with the chunk that had its frames the last time. */
static bool read_thread(const struct rm_python *python, const struct rm_python_thread *thread,
                        struct rm_python_window *window,
                        unsigned char state[RM_PYTHON_THREAD_BYTES])
{
    const struct rm_python_piece pieces[] = {
        {thread->address, state, python->layout.thread_bytes},
        {thread->chunk, window->bytes, RM_PYTHON_CHUNK_BYTES},
    };
    window->address = thread->chunk;
    if (thread->chunk != 0 && python->memory.read(python->memory.context, pieces, 2)) {
        return true;
    }
    window->address = 0;
    return python->memory.read(python->memory.context, pieces, 1);
}

static bool is_of(const struct rm_python *python, const struct rm_python_thread *thread,
                  const unsigned char *state)
{
    const struct rm_python_layout *layout = &python->layout;
    bool is_same = layout->thread_native != 0
                       ? rm_python_word(state, layout->thread_native) == thread->number
                       : rm_python_word(state, layout->thread_pthread) == thread->pthread;
    return is_same && rm_python_word(state, layout->thread_interpreter) != 0;
}

/* A search for a thread among those of all interpreters. */
struct search {
    struct rm_python_thread *thread;
    uint64_t stack;  /* up to 3.10: of a thread other than the first */
    uint64_t latest; /* the oldest state of the first interpreter: that of the first thread */
    uint64_t nearest;
    bool is_found;
};

/* Up to 3.10 the kernel's number is not known.  The C library has a thread's pthread_t above its
 * stack, and the first thread's is the one made first. */
static void look_at(const struct rm_python *python, struct search *search, uint64_t address,
                    const unsigned char *state)
{
    const struct rm_python_layout *layout = &python->layout;
    uint64_t pthread = rm_python_word(state, layout->thread_pthread);
    bool is_nearer = search->stack != 0
                         ? pthread > search->stack && pthread - search->stack < search->nearest
                         : true;
    if (layout->thread_native != 0) {
        search->is_found = rm_python_word(state, layout->thread_native) == search->thread->number;
    } else if (is_nearer) {
        search->nearest = pthread - search->stack;
        search->thread->pthread = pthread;
        search->latest = address;
    }
    if (search->is_found) {
        search->thread->address = address;
    }
}

static bool look_in(const struct rm_python *python, struct search *search, uint64_t interpreter)
{
    unsigned char state[RM_PYTHON_THREAD_BYTES];
    uint64_t address;
    if (!read_word(python, interpreter + python->layout.threads, &address)) {
        return false;
    }
    for (uint32_t i = 0; i < MOST_THREADS && address != 0 && !search->is_found; i++) {
        if (!rm_python_read(&python->memory, address, state, python->layout.thread_bytes)) {
            return false;
        }
        if (rm_python_word(state, python->layout.thread_interpreter) == interpreter) {
            look_at(python, search, address, state);
        }
        address = rm_python_word(state, python->layout.thread_next);
    }
    return true;
}

/* False: not readable.  Without an address: the thread is none of Python's. */
static bool find_thread(const struct rm_python *python, struct rm_python_thread *thread,
                        uint64_t stack)
{
    struct search search = {.thread = thread, .stack = stack, .nearest = UINT64_C(1) << 30};
    uint64_t interpreter;
    thread->address = thread->chunk = 0;
    if (!read_word(python, python->runtime + python->layout.interpreters, &interpreter)) {
        return false;
    }
    for (uint32_t i = 0; i < MOST_INTERPRETERS && interpreter != 0 && !search.is_found; i++) {
        if (!look_in(python, &search, interpreter) ||
            !read_word(python, interpreter + python->layout.interpreter_next, &interpreter)) {
            return false;
        }
    }
    thread->address = search.is_found ? thread->address : search.latest;
    return true;
}

/* ---- frames ----------------------------------------------------------------------------- */

static bool is_in_window(const struct rm_python_window *window, uint64_t address, uint32_t bytes)
{
    return window->address != 0 && address >= window->address &&
           address - window->address <= RM_PYTHON_CHUNK_BYTES - bytes;
}

static void read_window(const struct rm_python *python, struct rm_python_window *window,
                        uint64_t address)
{
    window->address = address;
    if (address == 0 ||
        !rm_python_read(&python->memory, address, window->bytes, RM_PYTHON_CHUNK_BYTES)) {
        window->address = 0;
    }
}

/* Frames of a deep stack are in several chunks; those of generators are anywhere. */
static bool read_frame(const struct rm_python *python, struct rm_python_window *window,
                       uint64_t address, unsigned char frame[RM_PYTHON_FRAME_BYTES])
{
    uint32_t bytes = python->layout.frame_bytes;
    if (!is_in_window(window, address, bytes) && window->address != 0) {
        uint64_t before = rm_python_word(window->bytes, 0);
        bool is_before = address > before && address - before <= RM_PYTHON_CHUNK_BYTES - bytes;
        if (before != 0 && is_before) {
            read_window(python, window, before);
        }
    }
    if (is_in_window(window, address, bytes)) {
        memcpy(frame, window->bytes + (address - window->address), bytes);
        return true;
    }
    return rm_python_read(&python->memory, address, frame, bytes);
}

/* 3.11: the structs on the C stack are chained, from the innermost evaluation on. */
static void find_entries(const struct rm_python *python, uint64_t cframe,
                         struct rm_python_walk *walk)
{
    const struct rm_python_layout *layout = &python->layout;
    for (uint32_t i = 0; i < walk->depth && layout->cframe_previous != 0 && cframe != 0; i++) {
        if (walk->frames[i].entry != 0) {
            walk->frames[i].entry = cframe;
            if (!read_word(python, cframe + layout->cframe_previous, &cframe)) {
                return;
            }
        }
    }
}

/* The chain of a thread's frames. */
struct chain {
    uint64_t next; /* address of the next frame */
    uint64_t end;  /* 3.15: the last one */
    uint32_t walked;
    bool is_whole;
    struct rm_python_task task; /* that runs in the thread */
    uint32_t task_at;           /* number of the frame of its coroutine */
};

#define NO_TASK UINT32_MAX

/* Takes one frame; false: not readable. */
static bool step(const struct rm_python *python, struct rm_python_window *window,
                 struct chain *chain, struct rm_python_walk *walk)
{
    const struct rm_python_layout *layout = &python->layout;
    unsigned char frame[RM_PYTHON_FRAME_BYTES];
    if (!read_frame(python, window, chain->next, frame)) {
        return false;
    }
    bool is_foreign = layout->frame_owner != 0 && layout->frame_is_entry == 0 &&
                      frame[layout->frame_owner] >= FIRST_FOREIGN_OWNER;
    if (is_foreign) {
        rm_python_walk_mark_entry(python, walk, chain->next, frame);
    } else {
        bool is_task = chain->next == chain->task.frame && walk->depth < RM_PYTHON_DEPTH;
        chain->task_at = is_task ? walk->depth : chain->task_at;
        rm_python_walk_add(python, walk, chain->next, frame);
    }
    uint64_t previous = rm_python_word(frame, layout->frame_previous);
    bool is_entry = layout->frame_is_entry == 0 || frame[layout->frame_is_entry] != 0;
    chain->is_whole = previous == 0 && (is_foreign || layout->minor < 12) && is_entry &&
                      (chain->end == 0 || chain->end == chain->next);
    chain->next = previous == chain->next ? 0 : previous;
    return true;
}

/* The first frame and the last one; false: not readable. */
static bool begin_chain(const struct rm_python *python, uint64_t thread, uint64_t cframe,
                        const unsigned char *state, struct chain *chain)
{
    const struct rm_python_layout *layout = &python->layout;
    *chain = (struct chain){.task_at = NO_TASK};
    chain->task = rm_python_tasks_running(python, thread);
    if (layout->thread_base_frame != 0) {
        chain->end = rm_python_word(state, layout->thread_base_frame);
    }
    if (layout->thread_cframe != 0) {
        return read_word(python, cframe + layout->cframe_frame, &chain->next);
    }
    chain->next = rm_python_word(state, layout->thread_frame);
    return true;
}

static enum rm_python_result walk_frames(const struct rm_python *python,
                                         struct rm_python_thread *thread,
                                         const unsigned char *state,
                                         struct rm_python_window *window,
                                         struct rm_python_walk *walk)
{
    const struct rm_python_layout *layout = &python->layout;
    struct chain chain;
    uint64_t cframe = layout->thread_cframe != 0 ? rm_python_word(state, layout->thread_cframe) : 0;
    walk->depth = 0;
    walk->is_cut = false;
    if (layout->thread_chunk != 0 && rm_python_word(state, layout->thread_chunk) != thread->chunk) {
        thread->chunk = rm_python_word(state, layout->thread_chunk);
        read_window(python, window, thread->chunk);
    }
    if (!begin_chain(python, thread->address, cframe, state, &chain)) {
        return RM_PYTHON_TORN;
    }
    while (chain.next != 0 && chain.walked++ < MOST_WALKED) {
        if (!step(python, window, &chain, walk)) {
            return RM_PYTHON_TORN;
        }
    }
    bool is_long = chain.next != 0;
    walk->is_cut = walk->is_cut || is_long;
    find_entries(python, cframe, walk);
    if (!chain.is_whole && !is_long && chain.walked > 0) {
        return RM_PYTHON_TORN;
    }
    if (chain.task_at != NO_TASK) {
        rm_python_tasks_add(python, &chain.task, walk, chain.task_at);
    }
    return walk->depth > 0 ? RM_PYTHON_READ : RM_PYTHON_IDLE;
}

enum rm_python_result rm_python_walk(const struct rm_python *python,
                                     struct rm_python_thread *thread, uint64_t stack,
                                     struct rm_python_window *window,
                                     struct rm_python_walk *ret_walk)
{
    unsigned char state[RM_PYTHON_THREAD_BYTES];
    enum rm_python_result result = RM_PYTHON_UNREADABLE;
    for (int i = 0; i < TRIES; i++) {
        bool is_known = thread->address != 0 && read_thread(python, thread, window, state) &&
                        is_of(python, thread, state);
        if (!is_known && !find_thread(python, thread, stack)) {
            continue;
        }
        if (thread->address == 0) {
            return RM_PYTHON_IDLE;
        }
        if (!is_known && !read_thread(python, thread, window, state)) {
            continue;
        }
        result = walk_frames(python, thread, state, window, ret_walk);
        if (result == RM_PYTHON_READ || result == RM_PYTHON_IDLE) {
            return result;
        }
    }
    return result;
}

/* ---- symbolizing ------------------------------------------------------------------------ */

/* Position of an instruction in the code, for the line table; false: not in the code. */
static bool position_of(const struct rm_python *python, const struct rm_python_frame *frame,
                        const struct rm_python_code *code, int64_t *ret_position)
{
    const struct rm_python_layout *layout = &python->layout;
    uint64_t base = code->address + layout->code_bytecode;
    if (layout->minor < 11) {
        int64_t index = (int64_t)frame->instruction;
        *ret_position = layout->minor == 10 ? 2 * index : index;
        return true;
    }
    if (frame->copy != 0) {
        uint64_t copies = 0;
        if (!read_word(python, code->address + layout->code_copies, &copies) ||
            !read_word(python, copies + 8 + 8 * (uint64_t)frame->copy, &base)) {
            return false;
        }
    }
    int64_t bytes = (int64_t)(frame->instruction - base);
    *ret_position = bytes / 2;
    return bytes >= -2 && bytes / 2 <= (int64_t)code->bytecode_units;
}

/* Up to 3.10 the bytecode is a bytes object. */
static uint64_t address_of(const struct rm_python *python, const struct rm_python_frame *frame,
                           int64_t position)
{
    const struct rm_python_layout *layout = &python->layout;
    uint64_t bytecode;
    if (layout->minor >= 11) {
        return frame->instruction;
    }
    return read_word(python, frame->code + layout->code_bytecode, &bytecode)
               ? bytecode + layout->bytes_data + (uint64_t)position
               : 0;
}

bool rm_python_symbolize(const struct rm_python *python, struct rm_python_codes *codes,
                         const struct rm_python_walk *walk, int64_t now_ns,
                         struct rm_python_stack *ret_stack)
{
    uint64_t addresses[RM_PYTHON_DEPTH];
    struct rm_python_code *found[RM_PYTHON_DEPTH];
    int64_t position = 0;
    for (uint32_t i = 0; i < walk->depth; i++) {
        addresses[i] = walk->frames[i].code;
    }
    codes->now_ns = now_ns;
    if (!rm_python_codes_find(codes, &python->memory, &python->layout, addresses, walk->depth,
                              found)) {
        return false;
    }
    ret_stack->depth = walk->depth;
    for (uint32_t i = walk->depth; i-- > 0;) {
        if (!position_of(python, &walk->frames[i], found[i], &position)) {
            return false;
        }
        ret_stack->frames[i].code = found[i];
        ret_stack->frames[i].line = rm_python_code_line(found[i], python->layout.minor, position);
    }
    ret_stack->instruction = address_of(python, &walk->frames[0], position);
    return true;
}

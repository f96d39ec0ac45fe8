/* SPDX-License-Identifier: MIT */
#include "stack/python_inside.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/text.h"
#include "stack/python_frames.h"

#define SKIPS 16U

static struct {
    const struct rm_interpreter_target *target; /* atomic; NULL: no frames are read */
    /* On the library's thread: */
    struct rm_interpreter *interpreter;
    struct rm_python_walk walk;
    struct rm_python_names names;
} state;

/* ---- the interpreter -------------------------------------------------------------------- */

static const struct rm_interpreter_target *target_now(void)
{
    return __atomic_load_n(&state.target, __ATOMIC_ACQUIRE);
}

const char *rm_python_inside_find(const struct rm_modules *modules)
{
    if (rm_interpreter_find_own(&state.interpreter, modules) && target_now() == NULL) {
        __atomic_store_n(&state.target, rm_interpreter_target(state.interpreter), __ATOMIC_RELEASE);
    }
    return rm_interpreter_refusal(state.interpreter);
}

bool rm_python_inside_is_on(void)
{
    return target_now() != NULL;
}

void rm_python_inside_begin(struct rm_python_inside *python, uint32_t thread)
{
    python->thread = (struct rm_python_thread){.number = thread};
    python->skips = 0;
}

/* Its memory is touched, so that our page faults are not the program's. */
struct rm_python_inside *rm_python_inside_new(uint32_t thread)
{
    struct rm_python_inside *python = NULL;
    if (target_now() != NULL) {
        python = rm_alloc(1, sizeof *python);
    }
    if (python != NULL) {
        memset(python, 0xff, sizeof *python);
        rm_python_inside_begin(python, thread);
    }
    return python;
}

void rm_python_inside_forget(void)
{
    __atomic_store_n(&state.target, NULL, __ATOMIC_RELEASE);
    state.interpreter = NULL;
}

void rm_python_inside_free(void)
{
    struct rm_interpreter *interpreter = state.interpreter;
    rm_python_inside_forget();
    rm_interpreter_free(interpreter);
}

/* ---- in the handler --------------------------------------------------------------------- */

static bool is_in(const struct rm_interpreter_target *target, uint64_t address)
{
    return address >= target->start && address < target->end;
}

/* Whether it may run Python: a thread of C code, such as a BLAS's, does not. */
static bool may_run(const struct rm_interpreter_target *target, struct rm_slot_sample *sample)
{
    const uint64_t *addresses = rm_slot_addresses(sample);
    bool may = sample->is_broken != 0 || sample->is_cut != 0;
    for (uint32_t i = 0; i < sample->depth && !may; i++) {
        may = is_in(target, addresses[i]);
    }
    return may;
}

static void read_frames(const struct rm_interpreter_target *target, struct rm_python_inside *python,
                        struct rm_slot_sample *sample)
{
    bool is_first = python->thread.number == (uint32_t)getpid();
    enum rm_python_result result =
        rm_python_walk(&target->python, &python->thread, is_first ? 0 : sample->stack,
                       &python->window, &python->walk);
    sample->python = (uint8_t)result;
    sample->has_stacks = 1;
    memcpy(rm_slot_stacks(sample), python->stacks, sample->depth * sizeof(uint64_t));
    if (result == RM_PYTHON_READ) {
        sample->python_is_cut = python->walk.is_cut;
        sample->python_depth = python->walk.depth;
        sample->python_address = python->walk.address;
        memcpy(rm_slot_frames(sample), python->walk.frames,
               sample->python_depth * sizeof python->walk.frames[0]);
    }
}

void rm_python_inside_add(struct rm_python_inside *python, struct rm_slot_sample *sample)
{
    const struct rm_interpreter_target *target = target_now();
    if (target != NULL && may_run(target, sample)) {
        read_frames(target, python, sample);
    }
}

bool rm_python_inside_read(struct rm_python_inside *python, struct rm_slot_sample *sample)
{
    const struct rm_interpreter_target *target = target_now();
    if (target == NULL || python->skips > 0) {
        python->skips -= python->skips > 0 ? 1 : 0;
        return false;
    }
    read_frames(target, python, sample);
    bool is_known = python->thread.address != 0;
    python->skips = is_known ? 0 : SKIPS;
    return is_known;
}

/* ---- of a page fault -------------------------------------------------------------------- */

/* The thread gets the signal before it goes on.  After a fault in a system call, it may be about to
 * make the call again. */
#define LATE_NS     RM_NS_PER_MS
#define CALL_LENGTH 2U

bool rm_python_inside_is_of(const struct rm_slot_sample *python, const struct rm_slot_sample *fault)
{
    int64_t later_ns = python->t_ns - fault->t_ns;
    return python->has_stacks != 0 && python->stack == fault->stack &&
           fault->instruction - python->instruction <= CALL_LENGTH && later_ns >= 0 &&
           later_ns < LATE_NS;
}

/* ---- joining ---------------------------------------------------------------------------- */

static bool is_interpreter(void *context, uint64_t address)
{
    (void)context;
    return is_in(target_now(), address);
}

static bool is_start(void *context, uint64_t address)
{
    const struct rm_code *code = rm_code_now();
    const struct rm_module *module = code != NULL ? rm_modules_find(code->modules, address) : NULL;
    (void)context;
    return module != NULL && rm_python_is_start(module->entry.path);
}

static uint64_t itself(void *context, uint64_t address)
{
    (void)context;
    return address;
}

static bool name_frames(struct rm_stack_writer *writer, const struct rm_slot_sample *read)
{
    struct rm_slot_sample *sample = (struct rm_slot_sample *)(uintptr_t)read; // NOLINT
    struct rm_python_walk *walk = &state.walk;
    walk->depth = sample->python_depth;
    walk->is_cut = sample->python_is_cut != 0;
    walk->address = sample->python_address;
    memcpy(walk->frames, rm_slot_frames(sample), walk->depth * sizeof walk->frames[0]);
    return rm_python_name(writer, state.interpreter, (enum rm_python_result)sample->python, walk,
                          &state.names);
}

uint32_t rm_python_inside_join(struct rm_stack_writer *writer, const struct rm_slot_sample *native,
                               const struct rm_slot_sample *python, uint64_t *ret_values,
                               uint32_t *is_cut)
{
    const struct rm_interpreter_target *target = target_now();
    struct rm_slot_sample *parts = (struct rm_slot_sample *)(uintptr_t)native; // NOLINT
    if (target == NULL || native->has_stacks == 0 ||
        (python != NULL && python->python == RM_PYTHON_IDLE)) {
        return 0;
    }
    const struct rm_native_stack stack = {
        .depth = native->depth,
        .is_broken = native->is_broken != 0,
        .addresses = rm_slot_addresses(parts),
        .stacks = rm_slot_stacks(parts),
        .is_interpreter = is_interpreter,
        .is_start = is_start,
        .value = itself,
    };
    if (python == NULL || !name_frames(writer, python)) {
        uint64_t not_read = rm_stack_writer_name(writer, RM_PYTHON_NOT_READ);
        return rm_python_leave_out(&stack, not_read, ret_values, RM_STACK_DEPTH);
    }
    *is_cut = python->python_is_cut;
    return rm_python_join(&stack, &state.names.joined, true, ret_values, RM_STACK_DEPTH);
}

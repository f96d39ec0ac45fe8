/* SPDX-License-Identifier: MIT */
#include "stack/python_samples.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "stack/view.h"

/* A sample is unwound some milliseconds after it was taken. */
#define WAITING 256U

/* Age of a sample at which its thread may be elsewhere in the program.  A sample of CPU time stands
 * for some ten milliseconds of a thread that was running. */
#define LATE_NS (4 * RM_NS_PER_MS)

struct rm_python_samples {
    uint32_t next;
    struct rm_python_sample rows[WAITING];
    struct rm_python_stack stack;
};

struct rm_python_samples *rm_python_samples_new(void)
{
    return rm_alloc(1, sizeof(struct rm_python_samples));
}

void rm_python_samples_free(struct rm_python_samples *samples)
{
    rm_free(samples);
}

static uint64_t name_of(struct rm_python_code *code, struct rm_stack_writer *writer)
{
    if (code->value == 0) {
        code->value = rm_stack_writer_name(writer, code->text);
    }
    return code->value;
}

void rm_python_samples_read(struct rm_python_samples *samples, const struct rm_tree_record *record,
                            struct rm_interpreter *interpreter, struct rm_stack_writer *writer)
{
    struct rm_python_stack *stack = &samples->stack;
    if (rm_clock_monotonic_ns() - record->t_ns > LATE_NS) {
        return;
    }
    struct rm_python_sample *row = &samples->rows[samples->next++ % WAITING];
    row->thread = record->tid;
    row->t_ns = record->t_ns;
    row->depth = 0;
    row->result =
        rm_interpreter_take(interpreter, record->tid, rm_view_stack(&record->sample), stack);
    if (row->result != RM_PYTHON_READ) {
        return;
    }
    row->is_cut = stack->is_cut;
    row->address = stack->address;
    row->instruction = stack->instruction;
    for (uint32_t i = 0; i < stack->depth; i++) {
        uint64_t name = name_of(stack->frames[i].code, writer);
        row->values[i] = name != 0 ? rm_stack_name_at(name, stack->frames[i].line) : 0;
        row->entries[i] = stack->frames[i].entry;
    }
    row->depth = stack->depth;
}

const struct rm_python_sample *rm_python_samples_find(const struct rm_python_samples *samples,
                                                      const struct rm_tree_record *record)
{
    for (uint32_t i = 1; i <= WAITING; i++) {
        const struct rm_python_sample *row = &samples->rows[(samples->next - i) % WAITING];
        if (row->thread == record->tid && row->t_ns == record->t_ns) {
            return row;
        }
    }
    return NULL;
}

/* ---- joining ---------------------------------------------------------------------------- */

struct join {
    const struct rm_native_stack *native;
    const struct rm_python_sample *python;
    uint64_t *values;
    uint32_t depth, room;
};

static void put(struct join *join, uint64_t value)
{
    if (value != 0 && join->depth < join->room) {
        join->values[join->depth++] = value;
    }
}

static bool is_interpreter(const struct rm_native_stack *native, uint32_t i)
{
    return native->is_interpreter(native->context, native->addresses[i]);
}

/* Puts the native frames from `first` to before `end`, without the interpreter's. */
static void put_native(struct join *join, uint32_t first, uint32_t end)
{
    const struct rm_native_stack *native = join->native;
    for (uint32_t i = first; i < end; i++) {
        if (!is_interpreter(native, i)) {
            put(join, native->value(native->context, native->addresses[i]));
        }
    }
}

/* ---- the same call ---- */

/* What an evaluation keeps on the C stack is this near to its entry. */
#define NEAR_BYTES 1024U

/* In an evaluation, the next instruction is after its own, and after the data that is between. */
#define MOST_INSTRUCTION_BYTES 32U

struct marks {
    const struct rm_python_sample *python;
    bool has_frame, has_instruction;
};

static void look_at(struct marks *marks, uint64_t word)
{
    uint64_t behind = word - marks->python->instruction;
    marks->has_frame = marks->has_frame || word == marks->python->address;
    marks->has_instruction = marks->has_instruction || behind <= MOST_INSTRUCTION_BYTES;
}

/* Whether the native stack is of the same call of C code as the innermost Python frame: then the
 * evaluation has the addresses of this frame and of the next instruction in its registers, and so
 * in the registers of the sample or saved on the stack above. */
static bool is_same_call(const struct rm_native_stack *native,
                         const struct rm_python_sample *python, uint64_t end)
{
    struct marks marks = {.python = python};
    uint64_t word;
    for (uint32_t i = 0; i < RM_PERF_REGISTERS; i++) {
        look_at(&marks, native->sample->registers[i]);
    }
    for (uint64_t at = 0; at < end - rm_view_stack(native->sample) &&
                          rm_perf_record_read(native->sample, at, &word, sizeof word) &&
                          !(marks.has_frame && marks.has_instruction);
         at += sizeof word) {
        look_at(&marks, word);
    }
    return python->instruction != 0 && marks.has_frame && marks.has_instruction;
}

/* ---- evaluations ---- */

/* The innermost frames of an evaluation begin at `first`; the frame before `end` has the entry. */
struct evaluation {
    uint32_t first, end;
    uint64_t entry;
    uint32_t native; /* the native frame that evaluates; NONE: not the same in the native stack */
};
#define NONE UINT32_MAX

static uint32_t list_evaluations(const struct rm_python_sample *python,
                                 struct evaluation evaluations[RM_PYTHON_DEPTH])
{
    uint32_t count = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < python->depth; i++) {
        if (python->entries[i] != 0 || i + 1 == python->depth) {
            evaluations[count++] = (struct evaluation){first, i + 1, python->entries[i], NONE};
            first = i + 1;
        }
    }
    return count;
}

/* The native frame whose part of the stack has an address, before `end`; NONE: none. */
static uint32_t frame_at(const struct rm_native_stack *native, uint64_t address, uint32_t end)
{
    for (uint32_t i = 0; i < end && i + 1 < native->depth; i++) {
        if (address >= native->stacks[i] && address < native->stacks[i + 1]) {
            return is_interpreter(native, i) ? i : NONE;
        }
    }
    return NONE;
}

/* From the outermost on, as far as they are the same.  Those further out than the native stack,
 * which may end early, are not known. */
static void match(const struct rm_native_stack *native, struct evaluation *evaluations,
                  uint32_t count)
{
    uint32_t end = native->depth;
    while (count > 0 && (evaluations[count - 1].entry == 0 || native->depth == 0 ||
                         evaluations[count - 1].entry >= native->stacks[native->depth - 1])) {
        count--;
    }
    for (uint32_t i = count; i-- > 0 && end != NONE;) {
        end = frame_at(native, evaluations[i].entry, end);
        evaluations[i].native = end;
    }
}

/* The native frames around the interpreter's: further in than all of them, and further out. */
struct around {
    uint32_t inner_end, outer_first;
};

static struct around find_around(const struct rm_native_stack *native)
{
    struct around around = {0, native->depth};
    while (around.inner_end < native->depth && !is_interpreter(native, around.inner_end)) {
        around.inner_end++;
    }
    while (around.outer_first > around.inner_end &&
           !is_interpreter(native, around.outer_first - 1)) {
        around.outer_first--;
    }
    return around;
}

uint32_t rm_python_samples_join(const struct rm_native_stack *native,
                                const struct rm_python_sample *python, uint64_t *ret_values,
                                uint32_t room)
{
    struct join join = {native, python, ret_values, 0, room};
    struct evaluation evaluations[RM_PYTHON_DEPTH];
    struct around around = find_around(native);
    uint32_t count = list_evaluations(python, evaluations);
    match(native, evaluations, count);
    const struct evaluation *first = &evaluations[0], *last = &evaluations[count - 1];
    uint64_t end = first->entry > 1 ? first->entry + NEAR_BYTES : UINT64_MAX;
    if (is_same_call(native, python, end)) {
        put_native(&join, 0, first->native != NONE ? first->native : around.inner_end);
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = evaluations[i].first; k < evaluations[i].end; k++) {
            put(&join, python->values[k]);
        }
        if (evaluations[i].native != NONE && i + 1 < count && evaluations[i + 1].native != NONE) {
            put_native(&join, evaluations[i].native, evaluations[i + 1].native);
        }
    }
    if (last->native != NONE || last->entry == 1) {
        put_native(&join, around.outer_first, native->depth);
    }
    return join.depth;
}

uint32_t rm_python_samples_leave_out(const struct rm_native_stack *native, uint64_t instead,
                                     uint64_t *ret_values, uint32_t room)
{
    struct join join = {native, NULL, ret_values, 0, room};
    bool was_interpreter = false;
    for (uint32_t i = 0; i < native->depth; i++) {
        bool is_now = is_interpreter(native, i);
        if (is_now && !was_interpreter) {
            put(&join, instead);
        }
        put_native(&join, i, i + 1);
        was_interpreter = is_now;
    }
    return join.depth;
}

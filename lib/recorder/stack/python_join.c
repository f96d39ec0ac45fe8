/* SPDX-License-Identifier: MIT */
#include "stack/python_join.h"

#include "stack/view.h"

/* ---- joining ---------------------------------------------------------------------------- */

struct join {
    const struct rm_native_stack *native;
    const struct rm_joined_python *python;
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

/* ---- evaluations ------------------------------------------------------------------------ */

/* The innermost frames of an evaluation begin at `first`; the frame before `end` has the entry. */
struct evaluation {
    uint32_t first, end;
    uint64_t entry;
    uint32_t native; /* the native frame that evaluates; NONE: not the same in the native stack */
};
#define NONE UINT32_MAX

static uint32_t list_evaluations(const struct rm_joined_python *python,
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

/* ---- the same call ---------------------------------------------------------------------- */

/* After its own instruction, and after the data that is between. */
#define MOST_INSTRUCTION_BYTES 32U

/* Samples from which on the place is known, and the share of them that must agree. */
#define LEARNED 32U
#define AGREE   2U /* one half */

static bool is_next(const struct rm_joined_python *python, uint64_t word)
{
    return python->instruction != 0 && word - python->instruction <= MOST_INSTRUCTION_BYTES;
}

/* A word of a native frame; false: not known. */
static bool word_at(const struct rm_native_stack *native, uint32_t frame, uint32_t place,
                    uint64_t *ret_word)
{
    if (place < RM_UNWIND_SAVED) {
        *ret_word = native->saved[frame].words[place];
        return *ret_word != 0;
    }
    uint64_t at = native->stacks[frame] + (place - RM_UNWIND_SAVED) * sizeof *ret_word;
    return frame + 1 < native->depth && at < native->stacks[frame + 1] &&
           rm_perf_record_read(native->sample, at - rm_view_stack(native->sample), ret_word,
                               sizeof *ret_word);
}

/* What there is in a native frame; `learned`: NULL, or counts where. */
struct seen {
    bool has_address, has_next;
};

static struct seen see(const struct rm_native_stack *native, uint32_t frame,
                       const struct rm_joined_python *python, struct rm_python_places *learned)
{
    uint64_t word;
    struct seen seen = {false, false};
    for (uint32_t place = 0; place < RM_PYTHON_PLACES; place++) {
        if (word_at(native, frame, place, &word)) {
            if (learned != NULL && word == python->address) {
                learned->frames[place]++;
            }
            seen.has_address = seen.has_address || word == python->address;
            seen.has_next = seen.has_next || is_next(python, word);
        }
    }
    return seen;
}

/* The native frame that evaluates the innermost Python frame.  Up to 3.10 it is not known where its
 * entry is. */
static uint32_t find_evaluation(const struct rm_native_stack *native,
                                const struct rm_joined_python *python)
{
    struct evaluation evaluations[RM_PYTHON_DEPTH];
    uint32_t count = list_evaluations(python, evaluations);
    if (count == 0) {
        return NONE;
    }
    if (evaluations[0].entry != 1) {
        match(native, evaluations, count);
        return evaluations[0].native;
    }
    for (uint32_t i = 0; i < native->depth; i++) {
        struct seen seen = {false, false};
        if (is_interpreter(native, i)) {
            seen = see(native, i, python, NULL);
        }
        if (seen.has_address && seen.has_next) {
            return i;
        }
    }
    return NONE;
}

static uint32_t most_frequent(const uint32_t counts[RM_PYTHON_PLACES])
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < RM_PYTHON_PLACES; i++) {
        most = counts[i] > counts[most] ? i : most;
    }
    return most;
}

bool rm_python_is_same(const struct rm_native_stack *native, const struct rm_joined_python *python,
                       struct rm_python_places *places, bool learns)
{
    uint64_t address;
    uint32_t frame = find_evaluation(native, python);
    if (frame == NONE) {
        return false;
    }
    bool counts = learns && places->samples < LEARNED && python->instruction != places->latest;
    struct seen seen = see(native, frame, python, counts ? places : NULL);
    if (counts) {
        places->samples++;
        places->latest = python->instruction;
    }
    uint32_t place = most_frequent(places->frames);
    bool is_known = places->samples >= LEARNED && places->frames[place] >= LEARNED / AGREE;
    if (is_known && python->entries[0] != 1) { /* up to 3.10 the place is not always the same */
        seen.has_address = word_at(native, frame, place, &address) && address == python->address;
    }
    return seen.has_address && seen.has_next;
}

bool rm_python_may_be_same(const struct rm_native_stack *native,
                           const struct rm_joined_python *python)
{
    bool has_address = false, has_next = false;
    uint64_t word;
    for (uint32_t i = 0; i < RM_PERF_REGISTERS; i++) {
        word = native->sample->registers[i];
        has_address = has_address || word == python->address;
        has_next = has_next || is_next(python, word);
    }
    for (uint64_t at = 0;
         !(has_address && has_next) && rm_perf_record_read(native->sample, at, &word, sizeof word);
         at += sizeof word) {
        has_address = has_address || word == python->address;
        has_next = has_next || is_next(python, word);
    }
    return has_address && has_next;
}

/* ---- joining ----------------------------------------------------------------------------- */

/* Puts the native frames that called Python, if they are of a program that embeds it. */
static void put_outermost(struct join *join, uint32_t first)
{
    const struct rm_native_stack *native = join->native;
    for (uint32_t i = first; i < native->depth; i++) {
        if (!native->is_start(native->context, native->addresses[i])) {
            put_native(join, i, i + 1);
        }
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

uint32_t rm_python_join(const struct rm_native_stack *native, const struct rm_joined_python *python,
                        bool is_same, uint64_t *ret_values, uint32_t room)
{
    struct join join = {native, python, ret_values, 0, room};
    struct evaluation evaluations[RM_PYTHON_DEPTH];
    struct around around = find_around(native);
    uint32_t count = list_evaluations(python, evaluations);
    if (count == 0) {
        return 0;
    }
    match(native, evaluations, count);
    const struct evaluation *first = &evaluations[0], *last = &evaluations[count - 1];
    if (is_same) {
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
        put_outermost(&join, around.outer_first);
    }
    return join.depth;
}

uint32_t rm_python_leave_out(const struct rm_native_stack *native, uint64_t instead,
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

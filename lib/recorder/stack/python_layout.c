/* SPDX-License-Identifier: MIT */
#include "stack/python_layout.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"

bool rm_python_read(const struct rm_python_memory *memory, uint64_t address, void *target,
                    size_t bytes)
{
    const struct rm_python_piece piece = {address, target, bytes};
    return memory->read(memory->context, &piece, 1);
}

/* ---- up to 3.12 ------------------------------------------------------------------------- */

#define OBJECTS                                                                          \
    .object_type = 8, .size = 16, .text_length = 16, .text_state = 32, .text_ascii = 48, \
    .text_wide = 72, .bytes_data = 32

#define UP_TO_3_10                                                                    \
    .interpreters = 32, .threads = 8, .thread_next = 8, .thread_interpreter = 16,     \
    .thread_pthread = 176, .thread_frame = 24, .thread_bytes = 184, .frame_code = 32, \
    .frame_previous = 24, .code_file = 104, .code_name = 112, .code_lines = 120,      \
    .code_first_line = 40, .code_bytecode = 48, .code_bytes = 128, OBJECTS

static const struct rm_python_layout table[] = {
    {.minor = 9, .frame_instruction = 104, .frame_bytes = 108, UP_TO_3_10},
    {.minor = 10, .frame_instruction = 96, .frame_bytes = 100, UP_TO_3_10},
    {
        .minor = 11,
        .interpreters = 40,
        .threads = 16,
        .thread_next = 8,
        .thread_interpreter = 16,
        .thread_pthread = 152,
        .thread_native = 160,
        .thread_cframe = 56,
        .cframe_frame = 8,
        .cframe_previous = 16,
        .thread_chunk = 296,
        .thread_bytes = 304,
        .frame_code = 32,
        .frame_previous = 48,
        .frame_instruction = 56,
        .frame_owner = 69,
        .frame_is_entry = 68,
        .frame_bytes = 70,
        .code_file = 112,
        .code_name = 128,
        .code_lines = 136,
        .code_first_line = 72,
        .code_bytecode = 184,
        .code_bytes = 144,
        OBJECTS,
    },
    {
        .minor = 12,
        .interpreters = 40,
        .threads = 72,
        .thread_next = 8,
        .thread_interpreter = 16,
        .thread_pthread = 136,
        .thread_native = 144,
        .thread_cframe = 56,
        .thread_chunk = 232,
        .thread_bytes = 240,
        .frame_previous = 8,
        .frame_instruction = 56,
        .frame_owner = 70,
        .frame_bytes = 71,
        .code_file = 112,
        .code_name = 128,
        .code_lines = 136,
        .code_first_line = 68,
        .code_bytecode = 192,
        .code_bytes = 144,
        .object_type = 8,
        .size = 16,
        .text_length = 16,
        .text_state = 32,
        .text_ascii = 40,
        .text_wide = 56,
        .bytes_data = 32,
    },
};

/* ---- from 3.13 on ----------------------------------------------------------------------- */

/* _Py_DebugOffsets: a mark, the version, a flag, and then words in sections, which begin with a
 * size.  The positions of the sections differ between minor versions. */
#define MARK  "xdebugpy"
#define WORDS 111U /* of the longest, 3.15 */

struct published {
    uint32_t minor;
    /* Indexes of words: */
    uint8_t thread_frame, thread_pthread, frame, code, type, text;
    uint8_t base_frame, copies, wide, set, coroutine; /* 0: not published */
};

static const struct published published[] = {
    {.minor = 13,
     .thread_frame = 23,
     .thread_pthread = 24,
     .frame = 28,
     .code = 34,
     .type = 45,
     .text = 67},
    {.minor = 14,
     .thread_frame = 26,
     .thread_pthread = 27,
     .frame = 31,
     .code = 39,
     .type = 51,
     .text = 77,
     .copies = 38,
     .set = 62,
     .coroutine = 83},
    {.minor = 15,
     .thread_frame = 26,
     .thread_pthread = 30,
     .frame = 39,
     .code = 47,
     .type = 59,
     .text = 89,
     .base_frame = 27,
     .copies = 46,
     .wide = 93,
     .set = 74,
     .coroutine = 99},
};

/* A member's offset, from words that are not trusted. */
struct member {
    uint32_t *ret;
    uint64_t offset;
    uint32_t bytes; /* size of the member */
};

/* Sets the offsets of a structure's members, and the number of bytes that has them all. */
static bool take_members(const struct member *members, size_t count, uint64_t most,
                         uint32_t *ret_bytes)
{
    uint32_t end = 0;
    for (size_t i = 0; i < count; i++) {
        const struct member *member = &members[i];
        if (member->offset > most - member->bytes || member->offset % member->bytes != 0) {
            return false;
        }
        *member->ret = (uint32_t)member->offset;
        end = (uint32_t)member->offset + member->bytes > end
                  ? (uint32_t)member->offset + member->bytes
                  : end;
    }
    *ret_bytes = end;
    return true;
}

#define MOST_STRUCT_BYTES (UINT64_C(1) << 20) /* of an interpreter, which is read in parts */

static bool take_threads(const struct published *at, const uint64_t *words,
                         struct rm_python_layout *layout)
{
    uint32_t unused;
    const struct member of_interpreter[] = {
        {&layout->interpreters, words[5], 8},
        {&layout->interpreter_next, words[8], 8},
        {&layout->threads, words[9], 8},
    };
    const struct member of_thread[] = {
        {&layout->thread_next, words[at->thread_frame - 2], 8},
        {&layout->thread_interpreter, words[at->thread_frame - 1], 8},
        {&layout->thread_frame, words[at->thread_frame], 8},
        {&layout->thread_pthread, words[at->thread_pthread], 8},
        {&layout->thread_native, words[at->thread_pthread + 1], 8},
        {&layout->thread_chunk, words[at->thread_pthread + 2], 8},
        {&layout->thread_base_frame, at->base_frame > 0 ? words[at->base_frame] : 0, 8},
    };
    return take_members(of_interpreter, RM_ARRAY_LEN(of_interpreter), MOST_STRUCT_BYTES, &unused) &&
           take_members(of_thread, RM_ARRAY_LEN(of_thread), RM_PYTHON_THREAD_BYTES,
                        &layout->thread_bytes) &&
           layout->thread_native != 0 && layout->thread_frame != 0 && layout->thread_chunk != 0 &&
           (at->base_frame == 0 || layout->thread_base_frame != 0);
}

static bool take_code(const struct published *at, const uint64_t *words,
                      struct rm_python_layout *layout)
{
    bool has_copies = layout->is_free_threaded && at->copies > 0;
    const struct member of_frame[] = {
        {&layout->frame_previous, words[at->frame + 1], 8},
        {&layout->frame_code, words[at->frame + 2], 8},
        {&layout->frame_instruction, words[at->frame + 3], 8},
        {&layout->frame_owner, words[at->frame + 5], 1},
        {&layout->frame_copies, has_copies ? words[at->copies] : 0, 4},
        {&layout->frame_stack, at->coroutine > 0 ? words[at->frame + 6] : 0, 8},
    };
    const struct member of_code[] = {
        {&layout->code_file, words[at->code + 1], 8},
        {&layout->code_name, words[at->code + 3], 8},
        {&layout->code_lines, words[at->code + 4], 8},
        {&layout->code_first_line, words[at->code + 5], 4},
        {&layout->code_copies, has_copies ? words[at->code + 10] : 0, 8},
    };
    layout->code_bytecode = (uint32_t)words[at->code + 9];
    return words[at->code + 9] < RM_PYTHON_CODE_BYTES &&
           take_members(of_frame, RM_ARRAY_LEN(of_frame), RM_PYTHON_FRAME_BYTES,
                        &layout->frame_bytes) &&
           take_members(of_code, RM_ARRAY_LEN(of_code), RM_PYTHON_CODE_BYTES, &layout->code_bytes);
}

/* Before 3.15, the offset of text that is not ASCII is not published: two words after. */
static bool take_objects(const struct published *at, const uint64_t *words,
                         struct rm_python_layout *layout)
{
    uint32_t unused;
    const struct member members[] = {
        {&layout->object_type, words[at->type], 8},
        {&layout->size, words[at->type - 1], 8},
        {&layout->text_state, words[at->text + 1], 4},
        {&layout->text_length, words[at->text + 2], 8},
        {&layout->text_ascii, words[at->text + 3], 8},
        {&layout->text_wide, at->wide > 0 ? words[at->wide] : words[at->text + 3] + 16, 8},
        {&layout->bytes_data, words[at->type - 1] + 16, 8},
    };
    return take_members(members, RM_ARRAY_LEN(members), RM_PYTHON_OBJECT_BYTES, &unused);
}

static bool take_coroutines(const struct published *at, const uint64_t *words,
                            struct rm_python_layout *layout)
{
    uint32_t unused;
    if (at->coroutine == 0) {
        return true;
    }
    const struct member members[] = {
        {&layout->coroutine_frame, words[at->coroutine + 2], 8},
        {&layout->coroutine_state, words[at->coroutine + 3], 1},
        {&layout->set_used, words[at->set + 1], 8},
        {&layout->set_table, words[at->set + 2], 8},
        {&layout->set_mask, words[at->set + 3], 8},
    };
    return take_members(members, RM_ARRAY_LEN(members), RM_PYTHON_OBJECT_BYTES, &unused);
}

static resmon_status take_published(const uint64_t *words, struct rm_python_layout *layout)
{
    uint32_t minor = (uint32_t)(words[1] >> 16 & 0xff);
    const struct published *at = NULL;
    for (size_t i = 0; i < RM_ARRAY_LEN(published); i++) {
        at = published[i].minor == minor ? &published[i] : at;
    }
    if (at == NULL || words[1] >> 24 != 3) {
        return rm_error(RESMON_ENOTSUP, "Python 3.%u is newer than 3.%u, the last known here",
                        minor, RM_PYTHON_LAST_MINOR);
    }
    *layout = (struct rm_python_layout){.minor = minor, .is_free_threaded = words[2] != 0};
    if (!take_threads(at, words, layout) || !take_code(at, words, layout) ||
        !take_objects(at, words, layout) || !take_coroutines(at, words, layout)) {
        return rm_error(RESMON_EFORMAT, "the interpreter's table of offsets is damaged");
    }
    return RESMON_OK;
}

/* ---- version ---------------------------------------------------------------------------- */

uint32_t rm_python_minor_of(const char *file_name)
{
    static const char before[] = "python3.";
    const char *found = strstr(file_name, before);
    uint32_t minor = 0;
    for (const char *at = found != NULL ? found + sizeof before - 1 : "";
         *at >= '0' && *at <= '9' && minor < 100; at++) {
        minor = 10 * minor + (uint32_t)(*at - '0');
    }
    return minor;
}

/* ---- find ------------------------------------------------------------------------------- */

resmon_status rm_python_layout_find(const struct rm_python_memory *memory, uint64_t runtime,
                                    uint32_t minor, struct rm_python_layout *ret_layout)
{
    uint64_t words[WORDS];
    struct rm_python_layout layout;
    if (!rm_python_read(memory, runtime, words, 64)) {
        return rm_error(RESMON_EACCES, "the memory of the interpreter cannot be read");
    }
    if (memcmp(words, MARK, sizeof words[0]) == 0) {
        if (!rm_python_read(memory, runtime, words, sizeof words)) {
            return rm_error(RESMON_EFORMAT, "the interpreter's table of offsets is cut short");
        }
        resmon_status status = take_published(words, &layout);
        *ret_layout = status == RESMON_OK ? layout : *ret_layout;
        return status;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(table); i++) {
        if (table[i].minor == minor) {
            *ret_layout = table[i];
            return RESMON_OK;
        }
    }
    return rm_error(RESMON_ENOTSUP,
                    minor == 0 ? "the version of the interpreter is not known"
                               : "Python 3.%u is older than 3.%u, or not ready yet",
                    minor, RM_PYTHON_FIRST_MINOR);
}

/* ---- asyncio ---------------------------------------------------------------------------- */

#define SECTION ".AsyncioDebug"

/* Words of the section; those left out are not used: the sizes of the three structures, the name of
 * a task, and lists of all tasks. */
enum { WAITING = 2, IS_TASK, WAITING_IS_SET, COROUTINE, RUNNING = 11 };

#define MOST_THREAD_BYTES 65536U

bool rm_python_tasks_take(const uint64_t words[RM_PYTHON_TASK_WORDS],
                          struct rm_python_tasks *ret_tasks)
{
    *ret_tasks = (struct rm_python_tasks){.running = 0};
    for (uint32_t i = WAITING; i <= COROUTINE; i++) {
        uint64_t bytes = i == WAITING || i == COROUTINE ? 8 : 1;
        if (words[i] == 0 || words[i] > RM_PYTHON_OBJECT_BYTES - bytes || words[i] % bytes != 0) {
            return false;
        }
        uint32_t end = (uint32_t)(words[i] + bytes);
        ret_tasks->task_bytes = end > ret_tasks->task_bytes ? end : ret_tasks->task_bytes;
    }
    ret_tasks->waiting = (uint32_t)words[WAITING];
    ret_tasks->is_task = (uint32_t)words[IS_TASK];
    ret_tasks->waiting_is_set = (uint32_t)words[WAITING_IS_SET];
    ret_tasks->coroutine = (uint32_t)words[COROUTINE];
    bool is_right = words[RUNNING] < MOST_THREAD_BYTES && words[RUNNING] % 8 == 0;
    ret_tasks->running = is_right ? (uint32_t)words[RUNNING] : 0;
    return is_right && ret_tasks->running != 0;
}

bool rm_python_tasks_are_in(const char *path)
{
    return strstr(rm_text_base_name(path), "_asyncio") != NULL;
}

void rm_python_tasks_find(const struct rm_elf *elf, struct rm_python_tasks *ret_tasks)
{
    uint64_t words[RM_PYTHON_TASK_WORDS];
    char *content = NULL;
    const struct rm_elf_section *section = rm_elf_find(elf, SECTION, 0);
    *ret_tasks = (struct rm_python_tasks){.running = 0};
    if (section == NULL || section->bytes != sizeof words ||
        rm_elf_read(elf, section, sizeof words, &content) != RESMON_OK) {
        return;
    }
    memcpy(words, content, sizeof words);
    rm_free(content);
    (void)rm_python_tasks_take(words, ret_tasks);
}

/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* process_vm_readv */
#include "stack/interpreter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "os/library.h"
#include "stack/python_tasks.h"

/* An interpreter that is not ready is looked at again. */
#define AGAIN_NS (20 * RM_NS_PER_MS)

/* Failures before the first success that make an interpreter one that cannot be read. */
#define MOST_FAILURES 50U

#define RUNTIME "_PyRuntime" /* the variable that has all of an interpreter's data */

struct rm_interpreter {
    struct rm_interpreter_target target;
    struct rm_python_codes codes;
    struct rm_python_places places;
    const struct rm_image *image;
    bool is_open;
    size_t looked_maps; /* number of mappings when asyncio was looked for */
    int64_t again_ns;
    char why[160];
    bool has_read;
    uint32_t failures;
};

/* ---- memory ----------------------------------------------------------------------------- */

#define FEW_PIECES 4U

static bool read_into(void *context, const struct rm_python_piece *pieces, size_t count,
                      struct iovec *to, struct iovec *from)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        to[i] = (struct iovec){pieces[i].target, pieces[i].bytes};
        from[i].iov_base =
            (void *)(uintptr_t)pieces[i].address; // NOLINT(performance-no-int-to-ptr)
        from[i].iov_len = pieces[i].bytes;
        bytes += pieces[i].bytes;
    }
    ssize_t got = process_vm_readv((pid_t)(uintptr_t)context, to, count, from, count, 0);
    return got >= 0 && (size_t)got == bytes;
}

static RM_NOINLINE bool read_few(void *context, const struct rm_python_piece *pieces, size_t count)
{
    struct iovec to[FEW_PIECES], from[FEW_PIECES];
    return read_into(context, pieces, count, to, from);
}

static RM_NOINLINE bool read_many(void *context, const struct rm_python_piece *pieces, size_t count)
{
    struct iovec to[RM_PYTHON_PIECES], from[RM_PYTHON_PIECES];
    return read_into(context, pieces, count, to, from);
}

/* A signal handler reads few, and its stack may be small. */
static bool read_pieces(void *context, const struct rm_python_piece *pieces, size_t count)
{
    return count <= FEW_PIECES ? read_few(context, pieces, count)
                               : read_many(context, pieces, count);
}

/* ---- opening ---------------------------------------------------------------------------- */

/* Moves an address of the synthetic space to the process, by a mapping of the same image. */
static uint64_t in_process(const struct rm_space_map *map, uint64_t address)
{
    uint64_t start = rm_image_address(map->image, map->offset, map->end - map->start);
    return start != 0 ? map->start + (address - start) : 0;
}

static const struct rm_space_map *find_map(const struct rm_interpreter_process *process,
                                           struct rm_image_python *ret_python)
{
    for (size_t i = 0; i < process->map_count; i++) {
        const struct rm_space_map *map = &process->maps[i];
        if (map->image != NULL) {
            *ret_python = rm_image_python(map->image);
            if (ret_python->runtime != 0 && in_process(map, ret_python->runtime) != 0) {
                return map;
            }
        }
    }
    return NULL;
}

/* The exported version tells the minor where the file's name does not. */
static uint32_t minor_of(const struct rm_interpreter *interpreter, uint64_t version_at,
                         uint32_t named)
{
    uint64_t version;
    bool is_read = version_at != 0 && rm_python_read(&interpreter->target.python.memory, version_at,
                                                     &version, sizeof version);
    return is_read && (uint32_t)version >> 24 == 3 ? (uint32_t)version >> 16 & 0xff : named;
}

/* Why the memory of a process cannot be read; NULL: it can, or will perhaps be readable later. */
static const char *refusal_of(const struct rm_python *python)
{
    uint64_t word;
    if (rm_python_read(&python->memory, python->runtime, &word, sizeof word)) {
        return NULL;
    }
    return errno == EPERM    ? "another process's memory may not be read here "
                               "(kernel.yama.ptrace_scope, a container, or another user's process)"
           : errno == ENOSYS ? "process_vm_readv() is not permitted here"
                             : NULL;
}

static bool open_python(struct rm_interpreter *interpreter, uint64_t runtime, uint64_t version,
                        uint32_t named_minor)
{
    struct rm_python *python = &interpreter->target.python;
    const struct rm_python_memory memory = {
        read_pieces,
        (void *)(uintptr_t)interpreter->target.pid, // NOLINT(performance-no-int-to-ptr)
    };
    python->memory = memory;
    resmon_status status =
        rm_python_open(python, &memory, runtime, minor_of(interpreter, version, named_minor));
    const char *why = status == RESMON_ENOTSUP ? resmon_last_error()
                      : status != RESMON_OK    ? refusal_of(python)
                                               : NULL;
    interpreter->is_open = status == RESMON_OK;
    (void)rm_text_set(interpreter->why, sizeof interpreter->why, why != NULL ? why : "");
    return interpreter->is_open;
}

/* A program may load asyncio later. */
static void find_tasks(struct rm_interpreter *interpreter,
                       const struct rm_interpreter_process *process)
{
    struct rm_python *python = &interpreter->target.python;
    if (python->layout.coroutine_frame == 0 || python->tasks.running != 0 ||
        interpreter->looked_maps == process->map_count) {
        return;
    }
    interpreter->looked_maps = process->map_count;
    for (size_t i = 0; i < process->map_count; i++) {
        struct rm_image *image = process->maps[i].image;
        if (image != NULL &&
            (image == interpreter->image || rm_python_tasks_are_in(rm_image_path(image)))) {
            struct rm_image_python found = rm_image_python(image);
            rm_python_tasks_set(python, &found.tasks);
        }
    }
}

bool rm_interpreter_find(struct rm_interpreter **interpreter,
                         const struct rm_interpreter_process *process)
{
    int64_t now_ns = rm_clock_monotonic_ns();
    struct rm_image_python python = {.runtime = 0};
    if (*interpreter != NULL && (*interpreter)->is_open) {
        find_tasks(*interpreter, process);
        return true;
    }
    if (*interpreter != NULL && now_ns < (*interpreter)->again_ns) {
        return false;
    }
    const struct rm_space_map *map = find_map(process, &python);
    if (map != NULL && *interpreter == NULL) {
        *interpreter = rm_alloc(1, sizeof **interpreter);
    }
    if (map == NULL || *interpreter == NULL) {
        return false;
    }
    struct rm_interpreter *found = *interpreter;
    found->target.pid = process->pid;
    found->image = map->image;
    found->again_ns = now_ns + AGAIN_NS;
    bool is_open =
        open_python(found, in_process(map, python.runtime),
                    python.version != 0 ? in_process(map, python.version) : 0, python.minor);
    find_tasks(found, process);
    return is_open;
}

/* ---- the one of this process ------------------------------------------------------------ */

static uint64_t variable(const char *file, const char *name)
{
    return (uint64_t)(uintptr_t)rm_library_variable(file, name);
}

bool rm_interpreter_is_own(const struct rm_interpreter *interpreter)
{
    return interpreter->target.end != 0;
}

bool rm_interpreter_is_here(void)
{
    return variable(NULL, RUNTIME) != 0;
}

/* A library that a plug-in loaded for itself is found by its file only. */
static uint64_t find_own_runtime(const struct rm_modules *modules, const char **ret_file)
{
    uint64_t runtime = variable(NULL, RUNTIME);
    for (size_t i = 0; i < modules->count && runtime == 0; i++) {
        const char *path = modules->rows[i].entry.path;
        if (strstr(rm_text_base_name(path), "libpython") != NULL) {
            *ret_file = path;
            runtime = variable(path, RUNTIME);
        }
    }
    return runtime;
}

static void find_own_tasks(struct rm_interpreter *interpreter, const struct rm_modules *modules)
{
    struct rm_python *python = &interpreter->target.python;
    for (size_t i = 0; i < modules->count && python->layout.coroutine_frame != 0; i++) {
        struct rm_elf elf;
        struct rm_python_tasks tasks;
        const struct rm_module_entry *entry = &modules->rows[i].entry;
        bool may_be_in =
            entry->start == interpreter->target.start || rm_python_tasks_are_in(entry->path);
        if (python->tasks.running == 0 && may_be_in &&
            rm_elf_open(&elf, entry->path) == RESMON_OK) {
            rm_python_tasks_find(&elf, &tasks);
            rm_python_tasks_set(python, &tasks);
            rm_elf_close(&elf);
        }
    }
}

bool rm_interpreter_find_own(struct rm_interpreter **interpreter, const struct rm_modules *modules)
{
    const char *file = NULL;
    if (*interpreter != NULL && (*interpreter)->is_open) {
        find_own_tasks(*interpreter, modules);
        return true;
    }
    uint64_t runtime = find_own_runtime(modules, &file);
    const struct rm_module *module = runtime != 0 ? rm_modules_find(modules, runtime) : NULL;
    if (module != NULL && *interpreter == NULL) {
        *interpreter = rm_alloc(1, sizeof **interpreter);
    }
    if (module == NULL || *interpreter == NULL) {
        return false;
    }
    struct rm_interpreter_target *target = &(*interpreter)->target;
    target->pid = (uint32_t)getpid();
    target->start = module->entry.start;
    target->end = module->entry.end;
    bool is_open = open_python(*interpreter, runtime, variable(file, "Py_Version"),
                               rm_python_minor_of(rm_text_base_name(module->entry.path)));
    find_own_tasks(*interpreter, modules);
    return is_open;
}

void rm_interpreter_free(struct rm_interpreter *interpreter)
{
    if (interpreter != NULL) {
        rm_python_codes_free(&interpreter->codes);
        rm_free(interpreter);
    }
}

const char *rm_interpreter_refusal(const struct rm_interpreter *interpreter)
{
    return interpreter != NULL && interpreter->why[0] != '\0' ? interpreter->why : NULL;
}

struct rm_python_places *rm_interpreter_places(struct rm_interpreter *interpreter)
{
    return &interpreter->places;
}

bool rm_interpreter_is_at(const struct rm_interpreter *interpreter, const struct rm_space_map *map)
{
    return map != NULL && map->image == interpreter->image;
}

/* ---- stacks ----------------------------------------------------------------------------- */

const struct rm_interpreter_target *rm_interpreter_target(const struct rm_interpreter *interpreter)
{
    return &interpreter->target;
}

/* The number of a thread in the namespace of its process: the last one of "NSpid:". */
static uint32_t number_there(uint32_t pid, uint32_t thread, struct rm_interpreter_reader *reader)
{
    char path[64];
    struct rm_text text, line;
    uint64_t number = thread;
    (void)snprintf(path, sizeof path, "proc/%u/task/%u/status", pid, thread);
    if (rm_file_read_once(reader->root, path, &reader->scratch, &text) != RESMON_OK) {
        return thread;
    }
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, "NSpid:")) {
            for (uint64_t next; rm_parse_u64(&line, &next);) {
                number = next;
            }
        }
    }
    return (uint32_t)number;
}

enum rm_python_result rm_interpreter_walk(const struct rm_interpreter_target *target,
                                          struct rm_interpreter_reader *reader, uint32_t number,
                                          uint64_t stack, struct rm_python_walk *ret_walk)
{
    size_t at = number % RM_INTERPRETER_THREADS;
    struct rm_python_thread *thread = &reader->threads.rows[at].thread;
    if (reader->threads.rows[at].number != number || reader->threads.rows[at].pid != target->pid) {
        reader->threads.rows[at].number = number;
        reader->threads.rows[at].pid = target->pid;
        *thread = (struct rm_python_thread){.number = number_there(target->pid, number, reader)};
    }
    return rm_python_walk(&target->python, thread, number == target->pid ? 0 : stack,
                          &reader->window, ret_walk);
}

/* Structures of an interpreter that is not like those known, such as a debug build of an old one,
 * give no stack ever. */
static void judge(struct rm_interpreter *interpreter, bool is_read)
{
    if (is_read) {
        interpreter->has_read = true;
    } else if (!interpreter->has_read && ++interpreter->failures == MOST_FAILURES) {
        interpreter->is_open = false;
        interpreter->again_ns = INT64_MAX;
        (void)snprintf(interpreter->why, sizeof interpreter->why,
                       "the structures of this Python 3.%u are not the known ones (a debug build?)",
                       interpreter->target.python.layout.minor);
    }
}

bool rm_interpreter_symbolize(struct rm_interpreter *interpreter, enum rm_python_result result,
                              const struct rm_python_walk *walk, struct rm_python_stack *ret_stack)
{
    bool is_read = result == RM_PYTHON_READ &&
                   rm_python_symbolize(&interpreter->target.python, &interpreter->codes, walk,
                                       rm_clock_monotonic_ns(), ret_stack);
    if (is_read || result == RM_PYTHON_READ || result == RM_PYTHON_TORN) {
        judge(interpreter, is_read);
    }
    return is_read;
}

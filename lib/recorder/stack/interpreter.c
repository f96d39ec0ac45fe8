/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* process_vm_readv */
#include "stack/interpreter.h"

#include <errno.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"

/* Threads whose states are remembered: one row for each, by their number. */
#define THREADS 256U

/* An interpreter that is not ready is looked at again. */
#define AGAIN_NS (20 * RM_NS_PER_MS)

/* Failures before the first success that make an interpreter one that cannot be read. */
#define MOST_FAILURES 50U

struct known_thread {
    uint32_t number; /* in our namespace */
    struct rm_python_thread thread;
};

struct rm_interpreter {
    struct rm_python python;
    uint32_t pid;
    const struct rm_image *image;
    const struct rm_root *root;
    struct rm_scratch *scratch;
    bool is_open;
    int error; /* errno of the last failed reading */
    int64_t again_ns;
    char why[160];
    bool has_read;
    uint32_t failures;
    struct known_thread threads[THREADS];
};

/* ---- memory ----------------------------------------------------------------------------- */

static bool read_pieces(void *context, const struct rm_python_piece *pieces, size_t count)
{
    struct rm_interpreter *interpreter = context;
    struct iovec to[RM_PYTHON_PIECES], from[RM_PYTHON_PIECES];
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        to[i] = (struct iovec){pieces[i].target, pieces[i].bytes};
        from[i].iov_base =
            (void *)(uintptr_t)pieces[i].address; // NOLINT(performance-no-int-to-ptr)
        from[i].iov_len = pieces[i].bytes;
        bytes += pieces[i].bytes;
    }
    ssize_t got = process_vm_readv((pid_t)interpreter->pid, to, count, from, count, 0);
    interpreter->error = got < 0 ? errno : interpreter->error;
    return got >= 0 && (size_t)got == bytes;
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
static uint32_t minor_of(const struct rm_interpreter *interpreter,
                         const struct rm_image_python *python, const struct rm_space_map *map)
{
    uint64_t version;
    bool is_read = python->version != 0 &&
                   rm_python_read(&interpreter->python.memory, in_process(map, python->version),
                                  &version, sizeof version);
    return is_read && (uint32_t)version >> 24 == 3 ? (uint32_t)version >> 16 & 0xff : python->minor;
}

static void open_python(struct rm_interpreter *interpreter, const struct rm_image_python *python,
                        const struct rm_space_map *map)
{
    const struct rm_python_memory memory = {read_pieces, interpreter};
    interpreter->python.memory = memory;
    resmon_status status =
        rm_python_open(&interpreter->python, &memory, in_process(map, python->runtime),
                       minor_of(interpreter, python, map));
    interpreter->is_open = status == RESMON_OK;
    if (status == RESMON_EACCES && interpreter->error == EPERM) {
        (void)rm_text_set(interpreter->why, sizeof interpreter->why,
                          "another process's memory may not be read here "
                          "(kernel.yama.ptrace_scope, a container, or another user's process)");
    } else if (status == RESMON_EACCES && interpreter->error == ENOSYS) {
        (void)rm_text_set(interpreter->why, sizeof interpreter->why,
                          "process_vm_readv() is not permitted here");
    } else if (status == RESMON_ENOTSUP) {
        (void)rm_text_set(interpreter->why, sizeof interpreter->why, resmon_last_error());
    }
}

bool rm_interpreter_find(struct rm_interpreter **interpreter,
                         const struct rm_interpreter_process *process)
{
    int64_t now_ns = rm_clock_monotonic_ns();
    struct rm_image_python python = {.runtime = 0};
    if (*interpreter != NULL && ((*interpreter)->is_open || now_ns < (*interpreter)->again_ns)) {
        return (*interpreter)->is_open;
    }
    const struct rm_space_map *map = find_map(process, &python);
    if (map != NULL && *interpreter == NULL) {
        *interpreter = rm_alloc(1, sizeof **interpreter);
    }
    if (map == NULL || *interpreter == NULL) {
        return false;
    }
    struct rm_interpreter *found = *interpreter;
    found->pid = process->pid;
    found->image = map->image;
    found->root = process->root;
    found->scratch = process->scratch;
    found->again_ns = now_ns + AGAIN_NS;
    open_python(found, &python, map);
    return found->is_open;
}

void rm_interpreter_free(struct rm_interpreter *interpreter)
{
    if (interpreter != NULL) {
        rm_python_close(&interpreter->python);
        rm_free(interpreter);
    }
}

const char *rm_interpreter_refusal(const struct rm_interpreter *interpreter)
{
    return interpreter != NULL && interpreter->why[0] != '\0' ? interpreter->why : NULL;
}

bool rm_interpreter_is_at(const struct rm_interpreter *interpreter, const struct rm_space_map *map)
{
    return map != NULL && map->image == interpreter->image;
}

/* ---- stacks ----------------------------------------------------------------------------- */

/* The number of a thread in the namespace of its process: the last one of "NSpid:". */
static uint32_t number_there(struct rm_interpreter *interpreter, uint32_t thread)
{
    char path[64];
    struct rm_text text, line;
    uint64_t number = thread;
    (void)snprintf(path, sizeof path, "proc/%u/task/%u/status", interpreter->pid, thread);
    if (rm_file_read_once(interpreter->root, path, interpreter->scratch, &text) != RESMON_OK) {
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

/* Structures of an interpreter that is not like those known, such as a debug build of an old one,
 * give no stack ever. */
static void judge(struct rm_interpreter *interpreter, enum rm_python_result result)
{
    if (result == RM_PYTHON_READ) {
        interpreter->has_read = true;
    } else if (result == RM_PYTHON_TORN && !interpreter->has_read &&
               ++interpreter->failures == MOST_FAILURES) {
        interpreter->is_open = false;
        interpreter->again_ns = INT64_MAX;
        (void)snprintf(interpreter->why, sizeof interpreter->why,
                       "the structures of this Python 3.%u are not the known ones (a debug build?)",
                       interpreter->python.layout.minor);
    }
}

enum rm_python_result rm_interpreter_take(struct rm_interpreter *interpreter, uint32_t thread,
                                          uint64_t stack, struct rm_python_stack *ret_stack)
{
    struct known_thread *known = &interpreter->threads[thread % THREADS];
    bool is_first = thread == interpreter->pid;
    if (known->number != thread) {
        *known = (struct known_thread){.number = thread};
        known->thread.number = number_there(interpreter, thread);
    }
    enum rm_python_result result =
        rm_python_take(&interpreter->python, &known->thread, is_first ? 0 : stack,
                       rm_clock_monotonic_ns(), ret_stack);
    judge(interpreter, result);
    return result;
}

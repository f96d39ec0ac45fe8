/* SPDX-License-Identifier: MIT */
/*
 * Owns where CPython keeps what a profiler needs: the offsets of the members of its structures, for
 * 3.9 to 3.15.  From 3.13 on, an interpreter publishes them in its memory (_Py_DebugOffsets, in
 * Include/internal/pycore_debug_offsets.h); for older versions they are a table, made by compiling
 * offsetof() against the headers of 3.9.18, 3.10.13, 3.11.7 and 3.12.1 (64-bit).  All that is read
 * from a process is untrusted.
 */
#ifndef RM_STACK_PYTHON_LAYOUT_H
#define RM_STACK_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <resmon/status.h>

#include "os/elf_file.h"

/* A piece of memory to be read. */
struct rm_python_piece {
    uint64_t address;
    void *target;
    size_t bytes;
};

#define RM_PYTHON_PIECES 64U

/* Memory of an interpreter.  `read` reads all pieces, at most RM_PYTHON_PIECES, in one system call;
 * false: not all of them can be read. */
struct rm_python_memory {
    bool (*read)(void *context, const struct rm_python_piece *pieces, size_t count);
    void *context;
};

/** Reads one piece. */
bool rm_python_read(const struct rm_python_memory *memory, uint64_t address, void *target,
                    size_t bytes);

/* A word of a structure that was read. */
static inline uint64_t rm_python_word(const unsigned char *bytes, uint32_t offset)
{
    uint64_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

#define RM_PYTHON_FIRST_MINOR 9U
#define RM_PYTHON_LAST_MINOR  15U

#define RM_PYTHON_THREAD_BYTES 512U
#define RM_PYTHON_FRAME_BYTES  128U
#define RM_PYTHON_CODE_BYTES   256U
#define RM_PYTHON_OBJECT_BYTES 256U /* of others */

/* Offsets in bytes; 0 in a member other than the first of its structure: it does not exist. */
struct rm_python_layout {
    uint32_t minor; /* of 3.x */
    bool is_free_threaded;
    uint32_t interpreters;                     /* _PyRuntime: the first interpreter */
    uint32_t interpreter_next, threads;        /* PyInterpreterState */
    uint32_t thread_next, thread_interpreter;  /* PyThreadState */
    uint32_t thread_pthread, thread_native;    /* pthread_self(), gettid() */
    uint32_t thread_frame;                     /* the innermost frame; or 3.11, 3.12: see below */
    uint32_t thread_cframe, cframe_frame;      /* 3.11, 3.12: in a struct on the C stack */
    uint32_t cframe_previous;                  /* 3.11: the struct of the evaluation before */
    uint32_t thread_chunk;                     /* 3.11: the newest chunk of frames */
    uint32_t thread_base_frame;                /* 3.15: the end of each chain */
    uint32_t thread_bytes;                     /* of all members above */
    uint32_t frame_code, frame_previous;       /* a frame */
    uint32_t frame_instruction, frame_owner;   /* 3.9, 3.10: an index, and no owner */
    uint32_t frame_is_entry;                   /* 3.11: the outermost of an evaluation */
    uint32_t frame_copies;                     /* 3.14t: number of the thread's copy of bytecode */
    uint32_t frame_stack;                      /* 3.14: the end of its values */
    uint32_t frame_bytes;                      /* of all members above */
    uint32_t code_file, code_name, code_lines; /* PyCodeObject; the name is qualified from 3.11 */
    uint32_t code_first_line, code_bytecode;
    uint32_t code_copies; /* 3.14t */
    uint32_t code_bytes;  /* of all members above */
    uint32_t object_type; /* any object */
    uint32_t size;        /* of any object with a variable size */
    uint32_t text_length, text_state, text_ascii, text_wide; /* str */
    uint32_t bytes_data;                                     /* bytes */
    uint32_t coroutine_frame, coroutine_state;               /* 3.14: a coroutine */
    uint32_t set_used, set_table, set_mask;                  /* 3.14: set */
};

/** The minor version by the name of an interpreter's file: "python3.11", "libpython3.11d.so.1.0";
 * 0: the name does not tell it. */
uint32_t rm_python_minor_of(const char *file_name);

/**
 * Finds the layout of the interpreter whose `_PyRuntime` is at `runtime`.  `minor`: what is known
 * otherwise; 0: nothing.  RESMON_ENOTSUP: not a supported version; RESMON_EFORMAT: not an
 * interpreter; RESMON_EACCES: its memory cannot be read.
 */
resmon_status rm_python_layout_find(const struct rm_python_memory *memory, uint64_t runtime,
                                    uint32_t minor, struct rm_python_layout *ret_layout);

/* ---- asyncio ----------------------------------------------------------------------------- */

/* Offsets in bytes, from the section ".AsyncioDebug" of the file that has asyncio's code (struct
 * _Py_AsyncioModuleDebugOffsets, in Modules/_asynciomodule.c). */
struct rm_python_tasks {
    uint32_t running; /* PyThreadState: the task; 0: asyncio is not loaded.  Atomic: set last */
    uint32_t coroutine, waiting, is_task, waiting_is_set; /* a task */
    uint32_t task_bytes;                                  /* of all members above */
};

#define RM_PYTHON_TASK_WORDS 13U /* of the section, 64 bits each */

/** Takes the offsets; false: they are damaged. */
bool rm_python_tasks_take(const uint64_t words[RM_PYTHON_TASK_WORDS],
                          struct rm_python_tasks *ret_tasks);

/** Whether a file is asyncio's, by its path.  Else the interpreter's file may have it. */
bool rm_python_tasks_are_in(const char *path);

/** Finds the section in a file; `ret_tasks->running` is 0: it is not there. */
void rm_python_tasks_find(const struct rm_elf *elf, struct rm_python_tasks *ret_tasks);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the observed processes, and the code that each has mapped, by the kernel's records at the
 * time: a process may have ended when its samples are drained.
 */
#ifndef RM_STACK_SPACES_H
#define RM_STACK_SPACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/file.h"
#include "os/perf_tree.h"
#include "os/proc_pid.h"
#include "stack/images.h"
#include "stack/interpreter.h"
#include "stack/perf_map.h"
#include "stack/resident.h"

#define RM_SPACE_NAME_BYTES 16

struct rm_process_row; /* defined in store/run_records.h */

struct rm_space {
    uint32_t pid;
    uint64_t code; /* unique number, which changes with the mappings */
    char name[RM_SPACE_NAME_BYTES];
    struct rm_space_map *maps; /* sorted by address */
    size_t map_count, map_room;
    struct rm_perf_map *made;      /* names of code generated at run time; NULL: not loaded */
    struct rm_interpreter *python; /* NULL: none was found in the code of this number: */
    uint64_t python_code;
    struct rm_file_mappings mappings;
    int64_t mappings_ns; /* when the mappings were read; 0: never */
    struct rm_resident resident;
    uint64_t looks;   /* at what is still there; set by stack/outside */
    int64_t ended_ns; /* 0: alive */
    uint64_t used_ns; /* CPU time of its ended threads */
    /* the main thread has an account: a further one is of another process */
    bool has_account;
    uint32_t accounts;          /* number of threads with an account */
    uint64_t accounts_least_ns; /* lower bound of their CPU time */
    uint64_t accounts_most_ns;  /* upper bound of it, but for a tick each */
    uint64_t before_ns;         /* their CPU time before they were observed */
    uint32_t threads;           /* number of threads created */
    uint32_t living;            /* living threads: the process lives while there are any */
    bool has_lost_main;         /* the main thread has ended */
    /* time of the last exec, since when its memory is its own; 0: none seen */
    int64_t exec_ns;
    bool is_hidden;             /* it lives, and the kernel reports no events */
    bool was_hidden;            /* ends of some of its threads were not reported */
    uint64_t clock_ns;          /* its CPU clock at the last reading */
    uint64_t clock_before_ns;   /* its CPU clock when it was first observed */
    uint32_t accounted;         /* threads whose exit record has CPU time */
    uint64_t sampled_ns;        /* CPU time represented by samples */
    struct rm_process_row *row; /* of stack/processes; NULL: none */
    int watch;                  /* of os/process_end; -1: none */
};

struct rm_spaces;

/** NULL: out of memory. */
struct rm_spaces *rm_spaces_new(struct rm_images *images);
void rm_spaces_free(struct rm_spaces *spaces);

/** The process with a pid; NULL: not known. */
struct rm_space *rm_spaces_find(const struct rm_spaces *spaces, uint32_t pid);

/** Adds a running process, by /proc.  NULL: out of memory. */
struct rm_space *rm_spaces_begin(struct rm_spaces *spaces, uint32_t pid, const struct rm_root *root,
                                 struct rm_scratch *scratch);

/** Takes a record of the kernel about processes; ignores other records. */
void rm_spaces_note(struct rm_spaces *spaces, const struct rm_tree_record *record);

/** Reads the name again; and the mappings. */
void rm_space_rename(struct rm_space *space, const struct rm_root *root,
                     struct rm_scratch *scratch);
void rm_space_reread(struct rm_spaces *spaces, struct rm_space *space, const struct rm_root *root,
                     struct rm_scratch *scratch);

/** The mapping at an address; NULL: no code. */
const struct rm_space_map *rm_space_find(const struct rm_space *space, uint64_t address);

/** Whether the kernel reported the CPU time of all of its threads. */
static inline bool rm_space_is_accounted(const struct rm_space *space)
{
    return !space->was_hidden && space->accounted >= space->threads;
}

/** For a copy: it has no mappings or memory of its own, and leaves the original's alone. */
void rm_space_disown(struct rm_space *space);

typedef void (*rm_space_visit_fn)(void *context, struct rm_space *space);
void rm_spaces_visit(struct rm_spaces *spaces, rm_space_visit_fn visit, void *context);

/** Removes processes that ended before a time, and calls `settle` for each. */
void rm_spaces_forget(struct rm_spaces *spaces, int64_t before_ns, rm_space_visit_fn settle,
                      void *context);

#endif

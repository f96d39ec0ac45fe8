/* SPDX-License-Identifier: MIT */
/*
 * Owns the processes that are observed, and what each has mapped as code: as the kernel told when
 * it happened, since a process may be gone when its samples are looked at.
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
#include "stack/perf_map.h"

#define RM_SPACE_NAME_BYTES 16

struct rm_process_row; /* store/run_records.h */

/* A piece of code, by address. */
struct rm_space_map {
    uint64_t start, end, offset;
    struct rm_image *image; /* NULL: made at run time */
};

struct rm_space {
    uint32_t pid;
    uint64_t code; /* a number that no other has, and that changes with what is mapped */
    char name[RM_SPACE_NAME_BYTES];
    struct rm_space_map *maps; /* by address */
    size_t map_count, map_room;
    struct rm_perf_map *made; /* names of code that was made at run time; NULL: not looked for */
    struct rm_file_mappings mappings;
    int64_t mappings_ns;        /* when they were read; 0: never */
    int64_t ended_ns;           /* 0: it lives */
    uint64_t used_ns;           /* of its threads that ended, */
    bool has_account;           /* of its first thread: a further one is of another process */
    uint32_t told;              /* threads that there are accounts of; */
    uint64_t told_ns;           /* they used so much at the least, */
    uint64_t told_most_ns;      /* so much at the most but for a tick each, */
    uint64_t before_ns;         /* and what those used before they were observed */
    uint32_t threads;           /* of all that it had so many */
    uint32_t living;            /* threads; it lives as long as one does, */
    bool has_lost_main;         /* also without the first */
    int64_t exec_ns;            /* its latest exec: its memory is its own; 0: none was seen */
    bool is_hidden;             /* it lives, and the kernel tells nothing of it */
    bool was_hidden;            /* not all of its threads' ends are told of: */
    uint64_t clock_ns;          /* what its clock had when it was looked at last, */
    uint64_t clock_before_ns;   /* less what it had before it was observed */
    uint32_t accounted;         /* of which so many were told of */
    uint64_t sampled_ns;        /* that samples stand for */
    struct rm_process_row *row; /* of stack/processes; NULL: it has none */
    int watch;                  /* of os/process_end; -1: none */
};

struct rm_spaces;

/** NULL: no memory. */
struct rm_spaces *rm_spaces_new(struct rm_images *images);
void rm_spaces_free(struct rm_spaces *spaces);

/** The process of a number; NULL: it is not known. */
struct rm_space *rm_spaces_find(const struct rm_spaces *spaces, uint32_t pid);

/** Takes note of a process that runs already, by /proc.  NULL: no memory. */
struct rm_space *rm_spaces_begin(struct rm_spaces *spaces, uint32_t pid, const struct rm_root *root,
                                 struct rm_scratch *scratch);

/** Takes note of what the kernel tells of processes; other records are none of its business. */
void rm_spaces_note(struct rm_spaces *spaces, const struct rm_tree_record *record);

/** Reads anew what its name is; and what it has mapped. */
void rm_space_rename(struct rm_space *space, const struct rm_root *root,
                     struct rm_scratch *scratch);
void rm_space_reread(struct rm_spaces *spaces, struct rm_space *space, const struct rm_root *root,
                     struct rm_scratch *scratch);

/** What is mapped at an address; NULL: no code. */
const struct rm_space_map *rm_space_find(const struct rm_space *space, uint64_t address);

/** Whether the kernel told of all of its threads what they used. */
static inline bool rm_space_is_accounted(const struct rm_space *space)
{
    return !space->was_hidden && space->accounted >= space->threads;
}

/** Of a copy: it has nothing mapped, and leaves alone what the original has. */
void rm_space_disown_code(struct rm_space *space);

typedef void (*rm_space_visit_fn)(void *context, struct rm_space *space);
void rm_spaces_visit(struct rm_spaces *spaces, rm_space_visit_fn visit, void *context);

/** Forgets those that ended before a moment, and calls `settle` with each. */
void rm_spaces_forget(struct rm_spaces *spaces, int64_t before_ns, rm_space_visit_fn settle,
                      void *context);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owns the model of a profile: the stacks of a run, in plain structures.  Made of a run block by
 * store/run_profile.c, with places that are addresses only; named by stack/naming.c; or read from a
 * run document.  Sinks, report/ and the public accessors see nothing else.
 */
#ifndef RM_STORE_PROFILE_H
#define RM_STORE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/stack.h>

#define RM_STACK_KINDS 3 /* RESMON_STACK_CPU ... FILE */

/* Why samples, or parts of them, are missing: counts. */
enum rm_stack_loss {
    RM_LOSS_RING,    /* the thread's ring was full */
    RM_LOSS_ROOM,    /* no room for one more stack in the run */
    RM_LOSS_DEPTH,   /* stacks that were cut: deeper than the bound */
    RM_LOSS_UNWIND,  /* stacks that end early: a frame could not be unwound */
    RM_LOSS_BLOCKED, /* of threads that had the signal blocked */
    RM_LOSS_THREADS, /* threads that found no slot, or whose counter could not be opened */
    RM_LOSS_MODULES, /* programs and libraries for which the run has no room, most at a time */
    RM_LOSS_COUNT
};

/** What a loss is called in documents ("ring_full"), and what it says to people. */
extern const char *const rm_stack_loss_names[RM_LOSS_COUNT];
extern const char *const rm_stack_loss_texts[RM_LOSS_COUNT];
/** "cpu", "memory", "file". */
extern const char *const rm_stack_kind_names[RM_STACK_KINDS];

/* A program or library that was mapped. */
struct rm_run_module {
    const char *path;
    const char *build_id; /* hexadecimal; "" when it has none */
    uint64_t start, end;  /* of what is mapped */
    uint64_t bias; /* an address of the process, less this, is one of the file (its headers') */
};

/* What a frame is.  Frames share places. */
struct rm_run_place {
    const char *function; /* "": not known */
    const char *file;     /* "": not known */
    uint32_t line;        /* 0: not known */
    uint32_t is_inlined;  /* into the frame around it */
    int64_t module;       /* index; -1: none, as for code made at run time */
    uint64_t address;     /* in the process: of the instruction, or the last byte of a call */
};

/* A stack that was seen. */
struct rm_run_stack {
    int64_t scope; /* index of the innermost scope that was open; -1: none */
    size_t first;  /* its frames: frames[first] innermost, then outwards */
    uint32_t depth;
    uint32_t is_cut; /* frames further out are missing */
    uint64_t samples[RM_STACK_KINDS];
    double weight[RM_STACK_KINDS]; /* ns of CPU time; B of pages that came */
};

/* Where a thread was at the peak. */
struct rm_run_peak_stack {
    uint64_t thread; /* the kernel's number */
    const char *thread_name;
    int64_t scope;
    size_t first;
    uint32_t depth;
    uint32_t is_cut;
};

/* The stacks of all threads when memory was highest. */
struct rm_run_peak {
    int64_t t_ns; /* since the start of the run; -1: none was taken */
    double rss_bytes;
    double headroom_bytes; /* that the control group had left; NaN: not limited */
    struct rm_run_peak_stack *stacks;
    size_t stack_count;
};

/* Per kind: whether it was taken, and what is known about all that there was. */
struct rm_run_stack_kind {
    int32_t status;     /* RESMON_OK: sampled; RESMON_ESTATE: not asked for; else why not */
    const char *reason; /* text of that; or a remark */
    uint64_t period;    /* CPU: ns between samples of a thread; else page faults */
    double total;       /* of the process while it was sampled: ns, B; NaN: not known */
};

struct rm_run_profile {
    struct rm_run_stack_kind kinds[RM_STACK_KINDS];
    uint64_t lost[RM_LOSS_COUNT];
    struct rm_run_module *modules; /* by start */
    size_t module_count;
    struct rm_run_place *places;
    size_t place_count;
    uint32_t *frames; /* indexes of places */
    size_t frame_count;
    struct rm_run_stack *stacks;
    size_t stack_count;
    struct rm_run_peak peak;
};

struct resmon_run;

/** Whether any kind of stacks was asked for, or is there. */
int rm_profile_is_there(const struct rm_run_profile *profile);

/** A profile without anything. */
struct rm_run_profile rm_profile_none(void);

/** "function", or "module+0x1234", or "0x7f...": bounded, terminated; for tools that want a name.
 */
#define RM_PLACE_NAME_BYTES 512
void rm_place_name(const struct rm_run_profile *profile, const struct rm_run_place *place,
                   char name[RM_PLACE_NAME_BYTES]);

#endif

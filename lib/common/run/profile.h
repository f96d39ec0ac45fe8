/* SPDX-License-Identifier: MIT */
/*
 * Owns the model of a profile: the stacks of a run, in plain structures.  Made of a run block by
 * run/decode_profile.c, with places that are addresses only; named by symbols/naming.c; or read
 * from a run document.  Sinks, report/ and the public accessors see nothing else.
 */
#ifndef RM_RUN_PROFILE_H
#define RM_RUN_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/stack.h>

#include "base/compiler.h"
#include "store/stack_record.h"

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
    double error[RM_STACK_KINDS];  /* standard error of that, as sampling makes it */
};

/* Where a thread was at the peak. */
struct rm_run_peak_stack {
    uint64_t thread; /* the kernel's number */
    const char *thread_name;
    int64_t scope;
    size_t first;
    uint64_t is_cut;
    uint32_t depth;
};

/* The stacks of all threads when memory was highest. */
struct rm_run_peak {
    int64_t t_ns; /* since the start of the run; -1: none was taken */
    double rss_bytes;
    double headroom_bytes; /* that the control group had left; NaN: not limited */
    struct rm_run_peak_stack *stacks;
    size_t stack_count;
    double highest_rss_bytes; /* that was seen at any moment; NaN: not known */
    int64_t highest_t_ns;     /* when; -1: not known */
};

/* Per kind: whether it was taken, and what is known about all that there was. */
struct rm_run_stack_kind {
    int32_t status;     /* RESMON_OK: sampled; RESMON_ESTATE: not asked for; else why not */
    const char *reason; /* text of that; or a remark */
    uint64_t period;    /* CPU: ns between samples of a thread; else page faults */
    double total;       /* of the process while it was sampled: ns, B; NaN: not known */
    double first_bytes, last_bytes; /* RssAnon, or RssFile and RssShmem, when sampling began and
                                       ended; NaN: not known */
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
RM_SHARED int rm_profile_is_there(const struct rm_run_profile *profile);

/** Leaves a profile without stacks; the kinds that were taken say why.  `reason` lives on. */
void rm_profile_give_up(struct rm_run_profile *profile, int32_t status, const char *reason);

/** Adds `text` to the reasons of all kinds that were sampled, in place of what they say of names
 * that were left out; to all or to none.  false: no memory. */
RM_SHARED bool rm_profile_add_reason(struct resmon_run *run, const char *text);
#define RM_PROFILE_REASON_BYTES 8192 /* that are kept of a reason */

/** Says that the stacks have addresses and no names, and why. */
RM_SHARED void rm_profile_leave_names_out(struct resmon_run *run, const char *why);

/** A profile without anything. */
struct rm_run_profile rm_profile_none(void);

/* What an amount from samples is worth: between these in 95 of 100 cases. */
struct rm_stack_interval {
    double low, high;
};

/**
 * Of a weight and its standard error, by Byar's approximation of the exact limits of a Poisson
 * variable (Breslow and Day, Statistical Methods in Cancer Research II, 1987, 2.13), of as many
 * samples of equal weight as have that error: n = (weight / error)^2.  `most`: what there is at
 * all; NaN, or less than the weight: it bounds nothing.
 */
RM_SHARED struct rm_stack_interval rm_stack_interval_of(double weight, double error, double most);

/**
 * Leaves what is the program's: at the outer end of stacks, the C library's frames that start a
 * program or a thread are taken off; at the inner end this library's own, with what of the C
 * library they called.  A stack keeps one frame at least.  Names are needed, and it may be called
 * again.
 */
RM_SHARED void rm_profile_trim(struct rm_run_profile *profile);

/** "function", or "libz.so.1" of what has no names, or "0x7f...": bounded, terminated; for tools
 * that want a name.  Functions of one library without names are one. */
#define RM_PLACE_NAME_BYTES 512
RM_SHARED void rm_place_name(const struct rm_run_profile *profile, const struct rm_run_place *place,
                             char name[RM_PLACE_NAME_BYTES]);

#endif

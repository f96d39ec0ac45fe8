/* SPDX-License-Identifier: MIT */
/*
 * Owns the model of a profile: the stacks of a run, in plain structures. run/decode_profile.c makes
 * it from a run block, with addresses as places. symbols/naming.c symbolizes it. Or it is read from
 * a run document. Sinks, report/ and the public accessors use only this model.
 */
#ifndef RM_RUN_PROFILE_H
#define RM_RUN_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/stack.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "store/stack_record.h"

/* A program or library that was mapped. */
struct rm_run_module {
    const char *path;
    const char *build_id; /* hexadecimal; "" if the module has none */
    uint64_t start, end;  /* address range of the mapping */
    uint64_t bias;        /* an address in the process minus this: the address in the file */
};

/* The code of a frame. Frames share places. */
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
    int64_t scope; /* index of the innermost open scope; -1: none */
    size_t first;  /* the first frame: frames[first] is the innermost; frames further out follow */
    uint32_t depth;
    uint32_t is_cut; /* frames further out are missing */
    uint64_t samples[RM_STACK_KINDS];
    double weight[RM_STACK_KINDS]; /* ns of CPU time; B of pages that were mapped */
    double error[RM_STACK_KINDS];  /* standard error of the weight by sampling */
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
    int64_t t_ns; /* since the start of the run; -1: no peak was taken */
    double rss_bytes;
    double headroom_bytes; /* memory that the control group had left; NaN: not limited */
    struct rm_run_peak_stack *stacks;
    size_t stack_count;
    double highest_rss_bytes; /* highest RSS that was read at any moment; NaN: not known */
    int64_t highest_t_ns;     /* time of highest_rss_bytes; -1: not known */
};

/* For each kind of stacks: whether it was taken, and the totals as far as they are known. */
struct rm_run_stack_kind {
    int32_t status;     /* RESMON_OK: sampled; RESMON_ESTATE: not asked for; else the error */
    const char *reason; /* text of the error; or a remark */
    uint64_t period;    /* CPU: ns between samples of a thread; else page faults */
    double total;       /* total of the process while it was sampled: ns, B; NaN: not known */
    double first_bytes, last_bytes; /* RssAnon, or RssFile + RssShmem, when sampling began and
                                       ended; NaN: not known */
};

/* Source of code that is in no file. */
struct rm_run_named_source {
    const char *file; /* as places have it */
    const char **lines;
    size_t line_count;
};

struct rm_run_profile {
    struct rm_run_stack_kind kinds[RM_STACK_KINDS];
    uint64_t lost[RM_LOSS_COUNT];
    struct rm_run_module *modules; /* by start */
    size_t module_count;
    struct rm_run_place *places;
    size_t place_count;
    uint32_t *frames; /* indexes of places, by frame */
    size_t frame_count;
    struct rm_run_stack *stacks;
    size_t stack_count;
    struct rm_run_peak peak;
    struct rm_run_named_source *sources;
    size_t source_count;
};

/** Whether any kind of stacks was asked for, or is present. */
RM_SHARED int rm_profile_is_there(const struct rm_run_profile *profile);

/** Leaves a profile without stacks; the kinds that were taken give `reason`, which must stay valid.
 */
void rm_profile_give_up(struct rm_run_profile *profile, int32_t status, const char *reason);

/** Adds `text` to the reasons of all kinds that were sampled; it replaces remarks about names that
 * were left out. Either all kinds get it or none. False: no memory. */
RM_SHARED bool rm_profile_add_reason(struct rm_run_profile *profile, struct rm_arena *arena,
                                     const char *text);
#define RM_PROFILE_REASON_BYTES 8192 /* longest part of a reason that is kept */

/** Records that the stacks have addresses and no names, and the reason. */
RM_SHARED void rm_profile_leave_names_out(struct rm_run_profile *profile, struct rm_arena *arena,
                                          const char *why);

/** Leaves frames of Python, or the others, in stacks that have any. */
void rm_profile_keep(struct rm_run_profile *profile, bool keeps_python);

/** An empty profile. */
struct rm_run_profile rm_profile_none(void);

/* The 95 % confidence interval of an amount from samples. */
struct rm_stack_interval {
    double low, high;
};

/**
 * The interval of a weight with a standard error, by Byar's approximation of the exact limits of a
 * Poisson variable (Breslow and Day, Statistical Methods in Cancer Research II, 1987, 2.13). The
 * variable is the number of samples of equal weight that have this error: n = (weight / error)^2.
 * `most` is an upper bound of the amount; NaN, or less than the weight: no bound.
 */
RM_SHARED struct rm_stack_interval rm_stack_interval_of(double weight, double error, double most);

/** The upper bound of the weights of a kind; NaN: none.  What is still there may be more than what
 * was added: memory that was in use before may have been given back. */
static inline double rm_profile_most(const struct rm_run_profile *profile, int kind)
{
    return kind == RESMON_STACK_RESIDENT ? RM_NAN : profile->kinds[kind].total;
}

/**
 * Leaves only the program's frames. At the outer end of stacks, the C library's frames that start a
 * program or a thread are removed. At the inner end, this library's frames are removed, with the C
 * library's frames that they called. A stack keeps at least one frame. Names are needed. A second
 * call is harmless.
 */
RM_SHARED void rm_profile_trim(struct rm_run_profile *profile);

/** "function"; or "libz.so.1" for a module without names; or "0x7f...". Bounded and terminated, for
 * tools that need a name. All functions of one library without names have one name. */
#define RM_PLACE_NAME_BYTES 512
RM_SHARED void rm_place_name(const struct rm_run_profile *profile, const struct rm_run_place *place,
                             char name[RM_PLACE_NAME_BYTES]);

#endif

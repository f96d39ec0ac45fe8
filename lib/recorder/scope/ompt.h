/* SPDX-License-Identifier: MIT */
/*
 * Owns the interface to OMPT, through which an OpenMP runtime reports its threads to tools:
 * OpenMP API 5.1, chapter 4, "OMPT Interface".  The declarations are the parts of 4.2.1, 4.4 and
 * 4.5 that are used here, so that no header of a runtime is needed.  Layout and numbers are part
 * of the standard, and unchanged in 5.0 and 5.2.
 *
 * Called by the runtime: LLVM's (libomp, also as Intel's libiomp5).  GCC's libgomp has no OMPT.
 */
#ifndef RM_SCOPE_OMPT_H
#define RM_SCOPE_OMPT_H

#include <stdint.h>

typedef union rm_ompt_data {
    uint64_t value;
    void *ptr;
} rm_ompt_data;

typedef void (*rm_ompt_function)(void);
typedef rm_ompt_function (*rm_ompt_lookup)(const char *name);
typedef int (*rm_ompt_set_callback)(int event, rm_ompt_function callback);

struct rm_ompt_result { /* ompt_start_tool_result_t */
    int (*initialize)(rm_ompt_lookup lookup, int device, rm_ompt_data *tool);
    void (*finalize)(rm_ompt_data *tool);
    rm_ompt_data tool;
};

enum { /* ompt_callbacks_t */
       RM_OMPT_PARALLEL_BEGIN = 3,
       RM_OMPT_TASK_CREATE = 5,
       RM_OMPT_TASK_SCHEDULE = 6,
       RM_OMPT_IMPLICIT_TASK = 7,
       RM_OMPT_SYNC_REGION = 23,
};

enum { RM_OMPT_BEGIN = 1, RM_OMPT_END = 2 }; /* ompt_scope_endpoint_t */

enum { /* ompt_sync_region_t */
       RM_OMPT_BARRIER_IMPLICIT = 2,
       RM_OMPT_BARRIER_PARALLEL = 9,
};

enum { /* ompt_task_status_t */
       RM_OMPT_TASK_COMPLETE = 1,
       RM_OMPT_TASK_CANCEL = 3,
};

enum { /* ompt_task_flag_t */
       RM_OMPT_TASK_INITIAL = 1,
       RM_OMPT_TASK_EXPLICIT = 4,
};

typedef void (*rm_ompt_parallel_begin)(rm_ompt_data *encountering, const void *frame,
                                       rm_ompt_data *parallel, unsigned wanted, int flags,
                                       const void *code);
typedef void (*rm_ompt_implicit_task)(int endpoint, rm_ompt_data *parallel, rm_ompt_data *task,
                                      unsigned threads, unsigned index, int flags);
typedef void (*rm_ompt_sync_region)(int kind, int endpoint, rm_ompt_data *parallel,
                                    rm_ompt_data *task, const void *code);
typedef void (*rm_ompt_task_create)(rm_ompt_data *encountering, const void *frame,
                                    rm_ompt_data *task, int flags, int has_dependences,
                                    const void *code);
typedef void (*rm_ompt_task_schedule)(rm_ompt_data *prior, int status, rm_ompt_data *next);

/** The function that the runtime looks up in the process and in the libraries of
 * OMP_TOOL_LIBRARIES. NULL: another tool is used. */
struct rm_ompt_result *ompt_start_tool(unsigned omp_version, const char *runtime_version);

/** The tool, regardless of OMP_TOOL_LIBRARIES. */
struct rm_ompt_result *rm_ompt_tool(void);

#endif

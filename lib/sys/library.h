/* SPDX-License-Identifier: MIT */
/*
 * Owns the loading of a library when it is first needed, with the functions that are wanted of it.
 */
#ifndef RM_SYS_LIBRARY_H
#define RM_SYS_LIBRARY_H

#include <stddef.h>

#include <resmon/status.h>

/* A function of a library, and where its address goes. */
struct rm_library_function {
    const char *name;
    void *target; /* a pointer to a pointer to a function */
};

struct rm_library {
    const char *what;         /* for messages: "libdw, for the lines of stacks" */
    const char *const *names; /* file names to try, the last one NULL */
    const struct rm_library_function *functions;
    size_t function_count;
};

/**
 * Loads it for good.  RESMON_ENOTSUP: it is not there, or lacks a function; then no target is set.
 * To be called once per library and process.
 */
resmon_status rm_library_load(const struct rm_library *library);

#endif

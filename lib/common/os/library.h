/* SPDX-License-Identifier: MIT */
/*
 * Owns libraries of this process: loading one when it is first needed, the file of this one, and
 * the vDSO, which the kernel maps into each process, and which is in no file.
 */
#ifndef RM_OS_LIBRARY_H
#define RM_OS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "base/compiler.h"

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

#define RM_LIBRARY_PATH_BYTES 2048

/** The file that this code is in: the library, or the program that it is linked into; "": not
 * known. */
RM_SHARED void rm_library_own_file(char path[RM_LIBRARY_PATH_BYTES]);

/** The file that a path leads to, links followed; false: to none. */
bool rm_library_real_path(const char *path, char real[RM_LIBRARY_PATH_BYTES]);

/**
 * dlopen() with RTLD_NOW | RTLD_LOCAL | `flags`; NULL: *ret_why says why not, until the next call.
 * Never in a program that is linked statically: what glibc loads there has a second libc, and no
 * storage of its threads.
 */
void *rm_library_open(const char *name, int flags, const char **ret_why);

/**
 * Loads it for good.  RESMON_ENOTSUP: it is not there, or lacks a function; then no target is set.
 * To be called once per library and process.
 */
resmon_status rm_library_load(const struct rm_library *library);

/* ---- the vDSO ---------------------------------------------------------------------------- */

/** The name of the module. */
#define RM_VDSO_NAME "[vdso]"

/** A copy of its ELF image, which the caller frees (rm_free).  RESMON_ENOENT: this process has
 * none; RESMON_EFORMAT: it is not an ELF image with sections; RESMON_ENOMEM; or an error of
 * reading. */
resmon_status rm_vdso_read(char **ret_image, size_t *ret_length);

#endif

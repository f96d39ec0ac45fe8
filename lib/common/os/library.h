/* SPDX-License-Identifier: MIT */
/*
 * Owns libraries of this process: loading a library at its first use, the file of this library, and
 * the vDSO.  The kernel maps the vDSO into each process; there is no file of it.
 */
#ifndef RM_OS_LIBRARY_H
#define RM_OS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "base/compiler.h"

/* A function of a library, and the destination of its address. */
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

/** The file of this code: the library, or the program that it is linked into; "": not known. */
RM_SHARED void rm_library_own_file(char path[RM_LIBRARY_PATH_BYTES]);

/** Resolves all links of a path; false: no such file. */
bool rm_library_real_path(const char *path, char real[RM_LIBRARY_PATH_BYTES]);

/**
 * dlopen() with RTLD_NOW | RTLD_LOCAL | `flags`.  NULL: *ret_why has the reason, until the next
 * call.  Always NULL in a statically linked program: glibc would load a second libc there, without
 * thread-local storage for the program's threads.
 */
void *rm_library_open(const char *name, int flags, const char **ret_why);

/** The address of an exported variable: in the program and the libraries that it was linked with
 * (`file` NULL), or in a file that is loaded already.  NULL: none. */
void *rm_library_variable(const char *file, const char *name);

/**
 * Loads the library permanently.  RESMON_ENOTSUP: the library or a function of it is missing; then
 * no target is set.  To be called once per library and process.
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

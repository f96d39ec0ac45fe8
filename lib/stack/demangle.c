/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "stack/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "os/library.h"
#include "stack/rust_names.h"

/* By the C++ ABI: memory of malloc(), or NULL. */
static char *(*demangle)(const char *name, char *buffer, size_t *length, int *status);

static pthread_once_t load_once = PTHREAD_ONCE_INIT;

/* A program in C++ has one; others get one when the first such name turns up. */
static void load(void)
{
    static const char *const names[] = {"libstdc++.so.6", "libc++abi.so.1", NULL};
    static const struct rm_library_function functions[] = {{"__cxa_demangle", &demangle}};
    static const struct rm_library library = {"libstdc++, for names of C++", names, functions, 1};
    void *function = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    if (function != NULL) {
        memcpy(&demangle, &function, sizeof function);
    } else {
        (void)rm_library_load(&library);
    }
}

/* Of C++, and of Rust in the scheme that is like it: memory of malloc(), or NULL. */
static char *demangle_c(const char *name)
{
    int status = -1;
    (void)pthread_once(&load_once, load);
    char *text = demangle != NULL ? demangle(name, NULL, NULL, &status) : NULL;
    if (text != NULL) {
        rm_rust_name_mend(text);
    }
    return text;
}

const char *rm_demangle(struct rm_arena *arena, const char *name)
{
    char rust[RM_MOST_NAME_BYTES];
    bool is_short = strnlen(name, RM_MOST_NAME_BYTES) < RM_MOST_NAME_BYTES;
    if (is_short && rm_rust_name(name, rust, sizeof rust)) {
        return rm_arena_text(arena, rust, sizeof rust);
    }
    char *text = is_short && strncmp(name, "_Z", 2) == 0 ? demangle_c(name) : NULL;
    const char *shown = rm_arena_text(arena, text != NULL ? text : name, RM_MOST_NAME_BYTES);
    free(text); /* not ours */
    return shown;
}

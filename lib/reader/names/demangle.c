/* SPDX-License-Identifier: MIT */
#include "names/demangle.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "names/rust_names.h"
#include "os/library.h"

/* By the C++ ABI: memory of malloc(), or NULL. */
static char *(*demangle)(const char *name, char *buffer, size_t *length, int *status);

/* When the first such name turns up. */
static void load(void)
{
    static bool is_tried;
    static const char *const names[] = {"libstdc++.so.6", "libc++abi.so.1", NULL};
    static const struct rm_library_function functions[] = {{"__cxa_demangle", &demangle}};
    static const struct rm_library library = {"libstdc++, for names of C++", names, functions, 1};
    if (!is_tried) {
        is_tried = true;
        (void)rm_library_load(&library);
    }
}

void rm_demangle(const char *name, char *text, size_t room)
{
    int status = -1;
    if (strnlen(name, room) < room && rm_rust_name(name, text, room)) {
        return;
    }
    char *demangled = NULL;
    if (strncmp(name, "_Z", 2) == 0 && strnlen(name, room) < room) {
        load();
        demangled = demangle != NULL ? demangle(name, NULL, NULL, &status) : NULL;
    }
    if (demangled != NULL) {
        rm_rust_name_mend(demangled);
    }
    (void)rm_text_set(text, room, demangled != NULL ? demangled : name);
    free(demangled); /* not ours */
}

/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "os/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "base/status.h"

/* Of the program, which is the first of the list. */
static int has_interpreter(struct dl_phdr_info *program, size_t size, void *ret_has)
{
    (void)size;
    for (size_t i = 0; i < program->dlpi_phnum; i++) {
        *(bool *)ret_has |= program->dlpi_phdr[i].p_type == PT_INTERP;
    }
    return 1;
}

void *rm_library_open(const char *name, int flags, const char **ret_why)
{
    bool has_loader = false;
    (void)dl_iterate_phdr(has_interpreter, &has_loader);
    if (!has_loader) {
        *ret_why = "this program is linked statically";
        return NULL;
    }
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
    if (handle == NULL) {
        *ret_why = dlerror();
        *ret_why = *ret_why != NULL ? *ret_why : "no reason given";
    }
    return handle;
}

static resmon_status find_functions(const struct rm_library *library, void *handle)
{
    for (size_t i = 0; i < library->function_count; i++) {
        if (dlsym(handle, library->functions[i].name) == NULL) {
            return rm_error(RESMON_ENOTSUP, "%s: it has no function %s", library->what,
                            library->functions[i].name);
        }
    }
    for (size_t i = 0; i < library->function_count; i++) {
        void *function = dlsym(handle, library->functions[i].name);
        memcpy(library->functions[i].target, &function, sizeof function);
    }
    return RESMON_OK;
}

resmon_status rm_library_load(const struct rm_library *library)
{
    void *handle = NULL;
    const char *why = "it has no name";
    for (size_t i = 0; handle == NULL && library->names[i] != NULL; i++) {
        handle = rm_library_open(library->names[i], 0, &why);
    }
    if (handle == NULL) {
        return rm_error(RESMON_ENOTSUP, "%s cannot be loaded: %s", library->what, why);
    }
    resmon_status status = find_functions(library, handle);
    if (status != RESMON_OK) {
        (void)dlclose(handle);
    }
    return status;
}

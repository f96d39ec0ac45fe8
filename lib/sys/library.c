/* SPDX-License-Identifier: MIT */
#include "sys/library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/status.h"

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
    for (size_t i = 0; handle == NULL && library->names[i] != NULL; i++) {
        handle = dlopen(library->names[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (handle == NULL) {
        const char *why = dlerror();
        return rm_error(RESMON_ENOTSUP, "%s cannot be loaded: %s", library->what,
                        why != NULL ? why : "no reason given");
    }
    resmon_status status = find_functions(library, handle);
    if (status != RESMON_OK) {
        (void)dlclose(handle);
    }
    return status;
}

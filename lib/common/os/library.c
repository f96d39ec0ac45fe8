/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "os/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "os/identity.h"

/* ---- files ------------------------------------------------------------------------------ */

struct place {
    uintptr_t address;
    char *path;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *place_)
{
    struct place *place = place_;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && place->address - low < part->p_memsz) {
            (void)rm_text_set(place->path, RM_LIBRARY_PATH_BYTES, info->dlpi_name);
            return 1;
        }
    }
    return 0;
}

/* The program itself has no name there, and what it was called with is not to be trusted. */
void rm_library_own_file(char path[RM_LIBRARY_PATH_BYTES])
{
    struct place place = {.address = (uintptr_t)&rm_library_own_file, .path = path};
    path[0] = '\0';
    (void)dl_iterate_phdr(find_object, &place);
    if (path[0] == '\0') {
        rm_identity_program(path, RM_LIBRARY_PATH_BYTES);
    }
    path[0] = path[0] == '/' ? '/' : '\0';
}

bool rm_library_real_path(const char *path, char real[RM_LIBRARY_PATH_BYTES])
{
    char found[PATH_MAX];
    return realpath(path, found) != NULL && strlen(found) < RM_LIBRARY_PATH_BYTES &&
           rm_text_set(real, RM_LIBRARY_PATH_BYTES, found) > 0;
}

/* ---- loading ---------------------------------------------------------------------------- */

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

/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* dl_iterate_phdr, process_vm_readv, RTLD_DEFAULT */
#include "os/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
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

/* The program has no name in the list of modules, and argv[0] is not trusted. */
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

/* Called for the program, the first entry of the list. */
static int has_interpreter(struct dl_phdr_info *program, size_t size, void *ret_has)
{
    (void)size;
    for (size_t i = 0; i < program->dlpi_phnum; i++) {
        *(bool *)ret_has |= program->dlpi_phdr[i].p_type == PT_INTERP;
    }
    return 1;
}

static bool has_loader(void)
{
    bool has = false;
    (void)dl_iterate_phdr(has_interpreter, &has);
    return has;
}

void *rm_library_open(const char *name, int flags, const char **ret_why)
{
    if (!has_loader()) {
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

void *rm_library_variable(const char *file, const char *name)
{
    void *loaded = NULL;
    if (!has_loader()) {
        return NULL;
    }
    if (file != NULL) {
        loaded = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    }
    void *variable = file == NULL     ? dlsym(RTLD_DEFAULT, name)
                     : loaded != NULL ? dlsym(loaded, name)
                                      : NULL;
    if (loaded != NULL) {
        (void)dlclose(loaded);
    }
    return variable;
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

/* ---- the vDSO ----------------------------------------------------------------------------- */

#define MOST_BYTES ((size_t)1 << 20)

/* Reads through the kernel, which returns an error for unmapped addresses. */
static resmon_status copy_memory(uintptr_t address, void *bytes, size_t length)
{
    void *there = (void *)address; /* NOLINT(performance-no-int-to-ptr): as the kernel gives it */
    const struct iovec to = {bytes, length}, from = {there, length};
    ssize_t count = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (count < 0) {
        return rm_error_errno(errno, "cannot read the vDSO");
    }
    return (size_t)count == length ? RESMON_OK
                                   : rm_error(RESMON_EFORMAT, "the vDSO is shorter than it says");
}

/* The table of sections is the end of the image. */
static size_t length_of(const ElfW(Ehdr) * header)
{
    size_t table = (size_t)header->e_shnum * header->e_shentsize;
    return header->e_shoff < MOST_BYTES ? (size_t)header->e_shoff + table : 0;
}

resmon_status rm_vdso_read(char **ret_image, size_t *ret_length)
{
    ElfW(Ehdr) header;
    uintptr_t address = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
    if (address == 0) {
        return rm_error(RESMON_ENOENT, "the kernel gave this process no vDSO");
    }
    resmon_status status = copy_memory(address, &header, sizeof header);
    if (status != RESMON_OK) {
        return status;
    }
    size_t length = length_of(&header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || length < sizeof header ||
        length > MOST_BYTES) {
        return rm_error(RESMON_EFORMAT, "the vDSO is no ELF file with sections");
    }
    char *image = rm_alloc(length, 1);
    if (image == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the vDSO");
    }
    status = copy_memory(address, image, length);
    if (status != RESMON_OK) {
        rm_free(image);
        return status;
    }
    *ret_image = image;
    *ret_length = length;
    return RESMON_OK;
}

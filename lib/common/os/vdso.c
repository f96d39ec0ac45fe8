/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* process_vm_readv */
#include "os/vdso.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"

#define MOST_BYTES ((size_t)1 << 20)

/* Through the kernel, which says so where nothing is mapped. */
static resmon_status copy(uintptr_t address, void *bytes, size_t length)
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

/* Its sections, which are all that has no address, end with their table. */
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
    resmon_status status = copy(address, &header, sizeof header);
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
    status = copy(address, image, length);
    if (status != RESMON_OK) {
        rm_free(image);
        return status;
    }
    *ret_image = image;
    *ret_length = length;
    return RESMON_OK;
}

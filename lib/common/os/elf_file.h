/* SPDX-License-Identifier: MIT */
/*
 * Owns reading ELF files of this machine's byte order, of both classes: the section table, the
 * content of sections, and the build-id.  Data is read into memory, never mapped, since a file
 * may shrink meanwhile. The content of a file is untrusted.
 *
 * Called by stack/images.c and names/symtab.c.
 */
#ifndef RM_OS_ELF_FILE_H
#define RM_OS_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "os/file.h"

#define RM_ELF_BUILD_ID_BYTES  129 /* as text: 64 bytes in hexadecimal */
#define RM_ELF_MOST_FILE_BYTES (UINT64_C(1) << 40)

struct rm_elf_section {
    const char *name;
    uint32_t type, link; /* SHT_*; index of another section */
    uint64_t flags, address, offset, bytes, alignment;
};

struct rm_elf {
    struct rm_infile file;
    bool is_64;
    struct rm_elf_section *sections;
    size_t section_count;
    char *names; /* names of sections */
};

/** Opens `path`, which the caller keeps until close.  RESMON_EFORMAT: not an ELF file of this
 * machine's byte order. */
resmon_status rm_elf_open(struct rm_elf *elf, const char *path);

/** Opens an ELF file in memory, which the caller keeps until close; `name` is for messages. */
resmon_status rm_elf_of_memory(struct rm_elf *elf, const char *name, const void *memory,
                               uint64_t bytes);

void rm_elf_close(struct rm_elf *elf);

/** The first section with content, of this name (NULL: any) and type (0: any); NULL: none. */
const struct rm_elf_section *rm_elf_find(const struct rm_elf *elf, const char *name, uint32_t type);

/** Reads the content, followed by '\0', which the caller frees (rm_free); NULL unless RESMON_OK.
 * RESMON_EFORMAT: longer than `bound`, or not in the file. */
resmon_status rm_elf_read(const struct rm_elf *elf, const struct rm_elf_section *section,
                          uint64_t bound, char **ret_bytes);

/** As rm_elf_read(), and decompressed if the section is compressed (zlib); `ret_length`:
 * decompressed, without the '\0'. */
resmon_status rm_elf_unpack(const struct rm_elf *elf, const struct rm_elf_section *section,
                            uint64_t bound, char **ret_bytes, uint64_t *ret_length);

/** Reads the build-id in lower-case hexadecimal; "": none. */
resmon_status rm_elf_build_id(const struct rm_elf *elf, char build_id[RM_ELF_BUILD_ID_BYTES]);

#endif

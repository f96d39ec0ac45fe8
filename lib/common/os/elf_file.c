/* SPDX-License-Identifier: MIT */
#include "os/elf_file.h"

#include <elf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "os/gzip.h"

#define MOST_SECTIONS    (UINT64_C(1) << 20)
#define MOST_NAMES_BYTES (UINT64_C(64) << 20)
#define MOST_NOTE_BYTES  (UINT64_C(1) << 20)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_BYTE_ORDER ELFDATA2LSB
#else
#define OWN_BYTE_ORDER ELFDATA2MSB
#endif

/* The header's fields about the section table. */
struct table {
    uint64_t offset, count, names;
    uint16_t entry_bytes;
};

static resmon_status refuse(const struct rm_elf *elf, const char *why)
{
    return rm_error(RESMON_EFORMAT, "%s %s", elf->file.path, why);
}

static bool is_in_file(const struct rm_elf *elf, uint64_t offset, uint64_t bytes)
{
    return offset <= elf->file.bytes && bytes <= elf->file.bytes - offset;
}

static void widen(const Elf32_Shdr *narrow, Elf64_Shdr *wide)
{
    *wide = (Elf64_Shdr){
        .sh_name = narrow->sh_name,
        .sh_type = narrow->sh_type,
        .sh_flags = narrow->sh_flags,
        .sh_addr = narrow->sh_addr,
        .sh_offset = narrow->sh_offset,
        .sh_size = narrow->sh_size,
        .sh_link = narrow->sh_link,
        .sh_addralign = narrow->sh_addralign,
    };
}

static Elf64_Shdr entry_at(const struct rm_elf *elf, const char *bytes)
{
    Elf64_Shdr wide;
    if (elf->is_64) {
        memcpy(&wide, bytes, sizeof wide);
    } else {
        Elf32_Shdr narrow;
        memcpy(&narrow, bytes, sizeof narrow);
        widen(&narrow, &wide);
    }
    return wide;
}

static resmon_status read_header(struct rm_elf *elf, struct table *table)
{
    union {
        unsigned char ident[EI_NIDENT];
        Elf64_Ehdr wide;
        Elf32_Ehdr narrow;
    } header;
    resmon_status status = rm_infile_read(&elf->file, 0, &header, sizeof header);
    if (status != RESMON_OK) {
        return status;
    }
    if (memcmp(header.ident, ELFMAG, SELFMAG) != 0 || header.ident[EI_DATA] != OWN_BYTE_ORDER ||
        (header.ident[EI_CLASS] != ELFCLASS64 && header.ident[EI_CLASS] != ELFCLASS32)) {
        return refuse(elf, "is not an ELF file for this machine");
    }
    elf->is_64 = header.ident[EI_CLASS] == ELFCLASS64;
    if (elf->is_64) {
        *table = (struct table){header.wide.e_shoff, header.wide.e_shnum, header.wide.e_shstrndx,
                                header.wide.e_shentsize};
    } else {
        *table = (struct table){header.narrow.e_shoff, header.narrow.e_shnum,
                                header.narrow.e_shstrndx, header.narrow.e_shentsize};
    }
    return RESMON_OK;
}

/* Numbers too large for the header are in the first entry: elf(5). */
static resmon_status check_table(const struct rm_elf *elf, struct table *table)
{
    char bytes[sizeof(Elf64_Shdr)];
    size_t wanted = elf->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    if (table->offset == 0) {
        table->count = 0;
        return RESMON_OK;
    }
    if (table->entry_bytes != wanted || !is_in_file(elf, table->offset, wanted)) {
        return refuse(elf, "has no section table where it should be");
    }
    resmon_status status = rm_infile_read(&elf->file, table->offset, bytes, wanted);
    if (status != RESMON_OK) {
        return status;
    }
    Elf64_Shdr first = entry_at(elf, bytes);
    if (table->count == 0) {
        table->count = first.sh_size;
    }
    if (table->names == SHN_XINDEX) {
        table->names = first.sh_link;
    }
    if (table->count > MOST_SECTIONS || !is_in_file(elf, table->offset, table->count * wanted)) {
        return refuse(elf, "is truncated: its section table is not in it");
    }
    return RESMON_OK;
}

static void take_entry(struct rm_elf_section *section, const Elf64_Shdr *entry)
{
    *section = (struct rm_elf_section){
        .name = "",
        .type = entry->sh_type,
        .link = entry->sh_link,
        .flags = entry->sh_flags,
        .address = entry->sh_addr,
        .offset = entry->sh_offset,
        .bytes = entry->sh_size,
        .alignment = entry->sh_addralign,
    };
}

static resmon_status read_entries(struct rm_elf *elf, const struct table *table, char *bytes,
                                  uint32_t *name_offsets)
{
    resmon_status status =
        rm_infile_read(&elf->file, table->offset, bytes, table->count * table->entry_bytes);
    for (size_t i = 0; status == RESMON_OK && i < table->count; i++) {
        Elf64_Shdr entry = entry_at(elf, bytes + i * table->entry_bytes);
        take_entry(&elf->sections[i], &entry);
        name_offsets[i] = entry.sh_name;
    }
    if (status != RESMON_OK || table->names >= table->count) {
        return status;
    }
    elf->section_count = (size_t)table->count;
    const struct rm_elf_section *names = &elf->sections[table->names];
    status = rm_elf_read(elf, names, MOST_NAMES_BYTES, &elf->names);
    for (size_t i = 0; status == RESMON_OK && i < elf->section_count; i++) {
        if (name_offsets[i] < names->bytes) {
            elf->sections[i].name = elf->names + name_offsets[i];
        }
    }
    return status;
}

static resmon_status read_sections(struct rm_elf *elf)
{
    struct table table = {0};
    resmon_status status = read_header(elf, &table);
    if (status == RESMON_OK) {
        status = check_table(elf, &table);
    }
    if (status != RESMON_OK || table.count == 0) {
        return status;
    }
    char *bytes = rm_alloc((size_t)table.count, table.entry_bytes);
    uint32_t *name_offsets = rm_alloc((size_t)table.count, sizeof *name_offsets);
    elf->sections = rm_alloc((size_t)table.count, sizeof *elf->sections);
    if (bytes == NULL || name_offsets == NULL || elf->sections == NULL) {
        status = rm_error(RESMON_ENOMEM, "out of memory for the sections of %s", elf->file.path);
    } else {
        status = read_entries(elf, &table, bytes, name_offsets);
    }
    rm_free(bytes);
    rm_free(name_offsets);
    return status;
}

static resmon_status finish(struct rm_elf *elf, resmon_status status)
{
    if (status == RESMON_OK) {
        status = read_sections(elf);
    }
    if (status != RESMON_OK) {
        rm_elf_close(elf);
    }
    return status;
}

resmon_status rm_elf_open(struct rm_elf *elf, const char *path)
{
    *elf = (struct rm_elf){.sections = NULL};
    return finish(elf, rm_infile_open(&elf->file, path, RM_ELF_MOST_FILE_BYTES));
}

resmon_status rm_elf_of_memory(struct rm_elf *elf, const char *name, const void *memory,
                               uint64_t bytes)
{
    *elf = (struct rm_elf){.sections = NULL};
    return finish(elf,
                  rm_infile_of_memory(&elf->file, name, memory, bytes, RM_ELF_MOST_FILE_BYTES));
}

void rm_elf_close(struct rm_elf *elf)
{
    rm_infile_close(&elf->file);
    rm_free(elf->sections);
    rm_free(elf->names);
    *elf = (struct rm_elf){.sections = NULL};
}

const struct rm_elf_section *rm_elf_find(const struct rm_elf *elf, const char *name, uint32_t type)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct rm_elf_section *section = &elf->sections[i];
        if ((type == 0 || section->type == type) && section->type != SHT_NOBITS &&
            section->type != SHT_NULL && section->bytes > 0 &&
            (name == NULL || strcmp(section->name, name) == 0)) {
            return section;
        }
    }
    return NULL;
}

resmon_status rm_elf_read(const struct rm_elf *elf, const struct rm_elf_section *section,
                          uint64_t bound, char **ret_bytes)
{
    *ret_bytes = NULL;
    if (section->type == SHT_NOBITS || section->bytes > bound ||
        !is_in_file(elf, section->offset, section->bytes)) {
        return rm_error(RESMON_EFORMAT, "%s: the section %.64s is not in it, or too large",
                        elf->file.path, section->name);
    }
    char *bytes = rm_alloc((size_t)section->bytes + 1, 1);
    if (bytes == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the section %.64s of %s", section->name,
                        elf->file.path);
    }
    resmon_status status = rm_infile_read(&elf->file, section->offset, bytes, section->bytes);
    if (status != RESMON_OK) {
        rm_free(bytes);
        return status;
    }
    *ret_bytes = bytes;
    return RESMON_OK;
}

static resmon_status unpack(const struct rm_elf *elf, const char *packed, uint64_t length,
                            uint64_t bound, char **ret_bytes, uint64_t *ret_length)
{
    Elf64_Chdr header;
    if (length < sizeof header || !elf->is_64) {
        return refuse(elf, "has a truncated compressed section");
    }
    memcpy(&header, packed, sizeof header);
    if (header.ch_type != ELFCOMPRESS_ZLIB || header.ch_size > bound) {
        return refuse(elf, "has a section that is compressed in an unknown way, or too large");
    }
    char *bytes = rm_alloc((size_t)header.ch_size + 1, 1);
    if (bytes == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a section of %s", elf->file.path);
    }
    resmon_status status = rm_gzip_unpack(packed + sizeof header, (size_t)length - sizeof header,
                                          bytes, (size_t)header.ch_size);
    if (status != RESMON_OK) {
        rm_free(bytes);
        return status;
    }
    *ret_bytes = bytes;
    *ret_length = header.ch_size;
    return RESMON_OK;
}

resmon_status rm_elf_unpack(const struct rm_elf *elf, const struct rm_elf_section *section,
                            uint64_t bound, char **ret_bytes, uint64_t *ret_length)
{
    char *packed;
    *ret_length = section->bytes;
    resmon_status status = rm_elf_read(elf, section, bound, ret_bytes);
    if (status != RESMON_OK || (section->flags & SHF_COMPRESSED) == 0) {
        return status;
    }
    packed = *ret_bytes;
    *ret_bytes = NULL;
    status = packed != NULL ? unpack(elf, packed, section->bytes, bound, ret_bytes, ret_length)
                            : RESMON_EFORMAT;
    rm_free(packed);
    return status;
}

/* ---- the build-id ----------------------------------------------------------------------- */

static void print_id(const unsigned char *id, uint64_t bytes, char build_id[RM_ELF_BUILD_ID_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t most = (RM_ELF_BUILD_ID_BYTES - 1) / 2;
    uint64_t count = bytes < most ? bytes : most;
    for (uint64_t i = 0; i < count; i++) {
        build_id[2 * i] = digits[id[i] >> 4U];
        build_id[2 * i + 1] = digits[id[i] & 15U];
    }
    build_id[2 * count] = '\0';
}

/* Notes of both classes have the same layout. */
static bool find_id(const char *notes, uint64_t bytes, char build_id[RM_ELF_BUILD_ID_BYTES])
{
    uint64_t at = 0;
    while (bytes - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        uint64_t name = at + sizeof note;
        uint64_t id = name + ((uint64_t)note.n_namesz + 3U) / 4U * 4U;
        uint64_t next = id + ((uint64_t)note.n_descsz + 3U) / 4U * 4U;
        if (id > bytes || note.n_descsz > bytes - id) {
            return false;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(notes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
            print_id((const unsigned char *)notes + id, note.n_descsz, build_id);
            return true;
        }
        if (next > bytes) {
            return false;
        }
        at = next;
    }
    return false;
}

resmon_status rm_elf_build_id(const struct rm_elf *elf, char build_id[RM_ELF_BUILD_ID_BYTES])
{
    build_id[0] = '\0';
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct rm_elf_section *section = &elf->sections[i];
        char *notes = NULL;
        if (section->type != SHT_NOTE || section->alignment > 4 ||
            section->bytes > MOST_NOTE_BYTES) {
            continue;
        }
        resmon_status status = rm_elf_read(elf, section, MOST_NOTE_BYTES, &notes);
        if (notes != NULL && find_id(notes, section->bytes, build_id)) {
            rm_free(notes);
            return RESMON_OK;
        }
        rm_free(notes);
        if (status == RESMON_ENOMEM) {
            return status;
        }
    }
    return RESMON_OK;
}

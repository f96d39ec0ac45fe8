/* SPDX-License-Identifier: MIT */
#include "stack/debug_image.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"
#include "os/gzip.h"

#define ALIGNMENT 16U

/* What lines, functions and inlined functions need. */
static const char *const wanted[] = {
    ".debug_info",   ".debug_abbrev",      ".debug_line", ".debug_line_str", ".debug_str",
    ".debug_ranges", ".debug_str_offsets", ".debug_addr", ".debug_rnglists", ".debug_aranges",
};

/* Section 0, those wanted, and their names. */
#define MOST_SECTIONS (RM_ARRAY_LEN(wanted) + 2)
#define NAMES_BYTES   512U

/* Where the content of a section comes from. */
struct source {
    const struct rm_elf_section *section;
    bool unpacks; /* it is unpacked on the way */
};

struct plan {
    const struct rm_elf *elf;
    struct rm_debug_image image; /* lengths only */
    size_t bound;
    ElfW(Shdr) table[MOST_SECTIONS];
    struct source sources[MOST_SECTIONS];
    size_t count;
    char names[NAMES_BYTES];
    size_t name_bytes;
};

static size_t align(size_t length)
{
    return (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static resmon_status too_large(const struct plan *plan)
{
    return rm_error(RESMON_ERANGE, "%s has more than %zu MiB of debug information",
                    plan->elf->file.path, plan->bound >> 20U);
}

static resmon_status no_memory(const struct plan *plan)
{
    return rm_error(RESMON_ENOMEM, "out of memory for the debug information of %s",
                    plan->elf->file.path);
}

static bool has_room_for(const struct plan *plan, uint64_t bytes)
{
    return plan->image.length + plan->image.unpacked <= plan->bound &&
           bytes <= plan->bound - plan->image.length - plan->image.unpacked;
}

/* What a compressed section claims to be. */
static resmon_status read_claim(const struct plan *plan, const struct rm_elf_section *section,
                                ElfW(Chdr) * claim)
{
    if (section->bytes < sizeof *claim) {
        return rm_error(RESMON_EFORMAT, "%s: %s is truncated", plan->elf->file.path, section->name);
    }
    return rm_infile_read(&plan->elf->file, section->offset, claim, sizeof *claim);
}

static void add_name(struct plan *plan, ElfW(Shdr) * entry, const char *name)
{
    size_t length = strlen(name) + 1;
    entry->sh_name = (uint32_t)plan->name_bytes;
    memcpy(plan->names + plan->name_bytes, name, length);
    plan->name_bytes += length;
}

static ElfW(Shdr) * add_entry(struct plan *plan, const char *name, size_t bytes)
{
    ElfW(Shdr) *entry = &plan->table[plan->count++];
    entry->sh_offset = plan->image.length;
    entry->sh_size = bytes;
    entry->sh_addralign = 1;
    add_name(plan, entry, name);
    plan->image.length = align(plan->image.length + bytes);
    return entry;
}

/* What zlib packed is unpacked here, into memory that can be given back; else libelf does it. */
static resmon_status add_compressed(struct plan *plan, const struct rm_elf_section *section,
                                    const char *name)
{
    ElfW(Chdr) claim = {0};
    resmon_status status = read_claim(plan, section, &claim);
    if (status != RESMON_OK) {
        return status;
    }
    if (!has_room_for(plan, section->bytes) || !has_room_for(plan, claim.ch_size)) {
        return too_large(plan);
    }
    struct source *source = &plan->sources[plan->count];
    source->section = section;
    source->unpacks =
        claim.ch_type == ELFCOMPRESS_ZLIB && claim.ch_size > 0 && rm_gzip_can_unpack();
    if (source->unpacks) {
        add_entry(plan, name, (size_t)claim.ch_size)->sh_type = SHT_PROGBITS;
        return RESMON_OK;
    }
    ElfW(Shdr) *entry = add_entry(plan, name, (size_t)section->bytes);
    entry->sh_type = SHT_PROGBITS;
    entry->sh_flags = SHF_COMPRESSED;
    entry->sh_addralign = sizeof(ElfW(Addr));
    plan->image.unpacked += (size_t)claim.ch_size;
    return RESMON_OK;
}

static resmon_status add_section(struct plan *plan, const char *name)
{
    const struct rm_elf_section *section = rm_elf_find(plan->elf, name, 0);
    if (section == NULL) {
        return RESMON_OK;
    }
    if ((section->flags & SHF_COMPRESSED) != 0) {
        return add_compressed(plan, section, name);
    }
    if (!has_room_for(plan, section->bytes)) {
        return too_large(plan);
    }
    plan->sources[plan->count].section = section;
    add_entry(plan, name, (size_t)section->bytes)->sh_type = SHT_PROGBITS;
    return RESMON_OK;
}

static resmon_status make_plan(struct plan *plan)
{
    resmon_status status = RESMON_OK;
    plan->image.length = align(sizeof(ElfW(Ehdr)));
    plan->count = 1;
    plan->name_bytes = 1;
    for (size_t i = 0; status == RESMON_OK && i < RM_ARRAY_LEN(wanted); i++) {
        status = add_section(plan, wanted[i]);
    }
    if (status != RESMON_OK) {
        return status;
    }
    add_entry(plan, ".shstrtab", NAMES_BYTES)->sh_type = SHT_STRTAB;
    return plan->image.length + plan->image.unpacked <= plan->bound ? RESMON_OK : too_large(plan);
}

static void write_head(const struct plan *plan, char *bytes)
{
    ElfW(Ehdr) header = {
        .e_type = ET_DYN,
        .e_machine = plan->elf->machine,
        .e_version = EV_CURRENT,
        .e_shoff = plan->image.length,
        .e_ehsize = sizeof header,
        .e_shentsize = sizeof(ElfW(Shdr)),
        .e_shnum = (uint16_t)plan->count,
        .e_shstrndx = (uint16_t)(plan->count - 1),
    };
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = sizeof(ElfW(Addr)) == 8 ? ELFCLASS64 : ELFCLASS32;
    header.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + plan->image.length, plan->table, plan->count * sizeof *plan->table);
    memcpy(bytes + plan->table[plan->count - 1].sh_offset, plan->names, NAMES_BYTES);
}

static resmon_status unpack(const struct plan *plan, const struct rm_elf_section *section,
                            void *unpacked, size_t room)
{
    struct rm_mapping packed = {0};
    if (rm_mapping_anonymous(&packed, section->bytes) != RESMON_OK) {
        return no_memory(plan);
    }
    const char *bytes = packed.memory;
    resmon_status status =
        rm_infile_read(&plan->elf->file, section->offset, packed.memory, section->bytes);
    if (status == RESMON_OK) {
        status = rm_gzip_unpack(bytes + sizeof(ElfW(Chdr)),
                                (size_t)section->bytes - sizeof(ElfW(Chdr)), unpacked, room);
    }
    if (status == RESMON_EFORMAT) {
        status = rm_error(status, "%s: %s is damaged", plan->elf->file.path, section->name);
    }
    rm_mapping_free(&packed);
    return status;
}

static resmon_status read_section(const struct plan *plan, size_t number, char *bytes)
{
    const struct source *source = &plan->sources[number];
    const ElfW(Shdr) *entry = &plan->table[number];
    if (source->unpacks) {
        return unpack(plan, source->section, bytes + entry->sh_offset, (size_t)entry->sh_size);
    }
    return rm_infile_read(&plan->elf->file, source->section->offset, bytes + entry->sh_offset,
                          source->section->bytes);
}

static resmon_status fill(struct plan *plan, struct rm_debug_image *image)
{
    size_t length = plan->image.length + plan->count * sizeof *plan->table;
    struct rm_mapping mapping = {0};
    if (rm_mapping_anonymous(&mapping, length) != RESMON_OK) {
        return no_memory(plan);
    }
    char *bytes = mapping.memory;
    write_head(plan, bytes);
    for (size_t i = 1; i + 1 < plan->count; i++) {
        resmon_status status = read_section(plan, i, bytes);
        if (status != RESMON_OK) {
            rm_mapping_free(&mapping);
            return status;
        }
    }
    *image = (struct rm_debug_image){mapping, length, plan->image.unpacked};
    return RESMON_OK;
}

uint64_t rm_debug_image_measure(const struct rm_elf *elf)
{
    struct plan plan = {.elf = elf, .bound = RM_ELF_MOST_READ};
    return rm_elf_find(elf, ".debug_info", 0) != NULL && make_plan(&plan) == RESMON_OK
               ? plan.image.length + plan.image.unpacked
               : 0;
}

resmon_status rm_debug_image_read(const struct rm_elf *elf, size_t bound,
                                  struct rm_debug_image *image)
{
    struct plan plan = {.elf = elf, .bound = bound};
    if (elf->is_64 != (sizeof(ElfW(Addr)) == 8) ||
        (elf->type == ET_REL &&
         (rm_elf_find(elf, NULL, SHT_RELA) != NULL || rm_elf_find(elf, NULL, SHT_REL) != NULL))) {
        return rm_error(RESMON_ENOENT, "%s is not a program or library for this machine",
                        elf->file.path);
    }
    if (rm_elf_find(elf, ".debug_info", 0) == NULL ||
        rm_elf_find(elf, ".debug_abbrev", 0) == NULL) {
        return rm_error(RESMON_ENOENT, "%s has no debug information", elf->file.path);
    }
    resmon_status status = make_plan(&plan);
    for (size_t i = 1; status == RESMON_OK && i + 1 < plan.count; i++) {
        const struct rm_elf_section *source = plan.sources[i].section;
        if (source->offset > elf->file.bytes || source->bytes > elf->file.bytes - source->offset) {
            status = rm_error(RESMON_EFORMAT, "%s is truncated: %s is not in it", elf->file.path,
                              source->name);
        }
    }
    return status == RESMON_OK ? fill(&plan, image) : status;
}

void rm_debug_image_free(struct rm_debug_image *image)
{
    rm_mapping_free(&image->mapping);
    *image = (struct rm_debug_image){0};
}

/* SPDX-License-Identifier: MIT */
#include "stack/symbol_table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

/* A function. */
struct symbol {
    uint64_t address, bytes;
    uint32_t name;
    uint16_t section;
    uint8_t rank; /* of several names for one address, the lowest */
};

struct symbols {
    struct symbol *items;
    size_t count;
};

static Elf64_Sym entry_at(const struct rm_elf *elf, const char *bytes)
{
    Elf64_Sym wide;
    if (elf->is_64) {
        memcpy(&wide, bytes, sizeof wide);
    } else {
        Elf32_Sym narrow;
        memcpy(&narrow, bytes, sizeof narrow);
        wide = (Elf64_Sym){.st_name = narrow.st_name,
                           .st_info = narrow.st_info,
                           .st_shndx = narrow.st_shndx,
                           .st_value = narrow.st_value,
                           .st_size = narrow.st_size};
    }
    return wide;
}

static bool is_function(const Elf64_Sym *entry, const struct rm_symbol_table *table)
{
    unsigned type = ELF64_ST_TYPE(entry->st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && entry->st_shndx != SHN_UNDEF &&
           entry->st_shndx != SHN_ABS && entry->st_name < table->name_bytes &&
           table->names[entry->st_name] != '\0' && table->names[entry->st_name] != '@';
}

/* Of aliases, people know the one without underscores: "write", not "__write".  Names of a file's
 * own come last, and those without a size. */
static uint8_t rank_of(const Elf64_Sym *entry, const char *name)
{
    unsigned binding = ELF64_ST_BIND(entry->st_info);
    unsigned rank = entry->st_size == 0 ? 8U : 0U;
    rank += binding == STB_LOCAL ? 4U : 0U;
    rank += name[0] == '_' && strncmp(name, "_Z", 2) != 0 ? 2U : 0U;
    rank += binding == STB_WEAK ? 1U : 0U;
    return (uint8_t)rank;
}

static void gather(const struct rm_elf *elf, const struct rm_symbol_table *table,
                   const char *entries, size_t count, struct symbols *symbols)
{
    size_t wide = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    for (size_t i = 0; i < count; i++) {
        Elf64_Sym entry = entry_at(elf, entries + i * wide);
        if (is_function(&entry, table)) {
            symbols->items[symbols->count++] =
                (struct symbol){.address = entry.st_value,
                                .bytes = entry.st_size,
                                .name = entry.st_name,
                                .section = entry.st_shndx,
                                .rank = rank_of(&entry, table->names + entry.st_name)};
        }
    }
}

static int compare(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;
    if (a->address != b->address) {
        return a->address < b->address ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return (a->name > b->name) - (a->name < b->name);
}

/* One without a size, as of assembly, ends where the next one begins, or its section ends.  Where
 * only what is exported has names (`next` 0), what is behind it may well be another function. */
static uint64_t end_of(const struct rm_elf *elf, const struct symbol *symbol, uint64_t next)
{
    uint64_t end = symbol->address;
    if (symbol->bytes > 0) {
        return __builtin_add_overflow(symbol->address, symbol->bytes, &end) ? UINT64_MAX : end;
    }
    if (symbol->section < elf->section_count) {
        const struct rm_elf_section *section = &elf->sections[symbol->section];
        if (!__builtin_add_overflow(section->address, section->bytes, &end)) {
            return next < end ? next : end;
        }
    }
    return symbol->address;
}

static resmon_status make_ranges(const struct rm_elf *elf, bool is_full, struct symbols *symbols,
                                 struct rm_ranges *ranges)
{
    size_t next = 0;
    qsort(symbols->items, symbols->count, sizeof *symbols->items, compare);
    for (size_t i = 0; i < symbols->count; i = next) {
        const struct symbol *symbol = &symbols->items[i];
        for (next = i + 1; next < symbols->count && symbols->items[next].address == symbol->address;
             next++) {
        }
        uint64_t limit = next < symbols->count ? symbols->items[next].address : UINT64_MAX;
        limit = is_full ? limit : 0;
        struct rm_range range = {
            .low = symbol->address, .high = end_of(elf, symbol, limit), .value = symbol->name};
        if (!rm_ranges_add(ranges, range)) {
            return RESMON_ENOMEM;
        }
    }
    return rm_ranges_flatten(ranges) ? RESMON_OK : RESMON_ENOMEM;
}

/* Linkers of old write "name@VERSION" into .symtab. */
static void cut_versions(struct rm_symbol_table *table)
{
    for (char *at = table->names, *end = at + table->name_bytes;
         (at = memchr(at, '@', (size_t)(end - at))) != NULL; at++) {
        *at = '\0';
    }
}

static resmon_status read_table(const struct rm_elf *elf, const struct rm_elf_section *section,
                                const char *entries, struct rm_symbol_table *table)
{
    size_t wide = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    size_t count = (size_t)section->bytes / wide;
    const struct rm_elf_section *names = &elf->sections[section->link];
    resmon_status status = rm_elf_read(elf, names, RM_ELF_MOST_READ, &table->names);
    if (status != RESMON_OK) {
        return status;
    }
    table->name_bytes = names->bytes < UINT32_MAX ? names->bytes : UINT32_MAX;
    struct symbols symbols = {rm_alloc(count > 0 ? count : 1, sizeof *symbols.items), 0};
    if (symbols.items == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the symbols of %s", elf->file.path);
    }
    gather(elf, table, entries, count, &symbols);
    cut_versions(table);
    status = make_ranges(elf, section->type == SHT_SYMTAB, &symbols, &table->functions);
    rm_free(symbols.items);
    if (status != RESMON_OK) {
        return rm_error(status, "out of memory for the symbols of %s", elf->file.path);
    }
    return table->functions.count > 0
               ? RESMON_OK
               : rm_error(RESMON_ENOENT, "%s names no functions", elf->file.path);
}

bool rm_symbol_table_is_full(const struct rm_elf *elf)
{
    return rm_elf_find(elf, NULL, SHT_SYMTAB) != NULL;
}

static const struct rm_elf_section *find_table(const struct rm_elf *elf)
{
    const struct rm_elf_section *section = rm_elf_find(elf, NULL, SHT_SYMTAB);
    return section != NULL ? section : rm_elf_find(elf, NULL, SHT_DYNSYM);
}

/* The entries as they are read, as symbols, and as ranges: these in twice the room while their list
 * grows, and once more while they are flattened. */
uint64_t rm_symbol_table_measure(const struct rm_elf *elf)
{
    const struct rm_elf_section *section = find_table(elf);
    if (section == NULL || section->link >= elf->section_count) {
        return 0;
    }
    uint64_t count = section->bytes / (elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
    return section->bytes + elf->sections[section->link].bytes +
           count * (sizeof(struct symbol) + 3 * sizeof(struct rm_range));
}

resmon_status rm_symbol_table_read(const struct rm_elf *elf, struct rm_symbol_table *table)
{
    struct rm_symbol_table fresh = {.names = NULL};
    char *entries = NULL;
    const struct rm_elf_section *section = find_table(elf);
    if (section == NULL) {
        return rm_error(RESMON_ENOENT, "%s has no symbols", elf->file.path);
    }
    if (section->link >= elf->section_count) {
        return rm_error(RESMON_EFORMAT, "%s: its symbols have no names", elf->file.path);
    }
    resmon_status status = rm_elf_read(elf, section, RM_ELF_MOST_READ, &entries);
    if (status == RESMON_OK) {
        status = read_table(elf, section, entries, &fresh);
    }
    rm_free(entries);
    if (status != RESMON_OK) {
        rm_symbol_table_free(&fresh);
        return status;
    }
    *table = fresh;
    return RESMON_OK;
}

const char *rm_symbol_table_find(const struct rm_symbol_table *table, uint64_t address)
{
    uint32_t name = 0;
    return rm_ranges_find(&table->functions, address, &name) ? table->names + name : NULL;
}

void rm_symbol_table_free(struct rm_symbol_table *table)
{
    rm_ranges_free(&table->functions);
    rm_free(table->names);
    *table = (struct rm_symbol_table){.names = NULL};
}

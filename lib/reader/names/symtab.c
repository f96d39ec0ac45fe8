/* SPDX-License-Identifier: MIT */
#include "names/names.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "os/elf_file.h"
#include "os/library.h"
#include "os/proc_pid.h"

#define MOST_TABLE_BYTES ((uint64_t)1 << 30)

/* A symbol without a size has at least this rank. */
#define BARE 8U

/* ---- tables -----------------------------------------------------------------------------------
 */

/* Of aliases, the one without underscores is used: "write", not "__write".  Local symbols and
 * symbols without a size come last. */
static uint32_t rank_of(const struct rm_symbol_facts *facts)
{
    unsigned binding = ELF64_ST_BIND(facts->info);
    const char *name = facts->name;
    uint32_t rank = facts->bytes == 0 ? BARE : 0U;
    rank += binding == STB_LOCAL ? 4U : 0U;
    rank += name[0] == '_' && strncmp(name, "_Z", 2) != 0 ? 2U : 0U;
    rank += binding == STB_WEAK ? 1U : 0U;
    return rank;
}

/* The end of a symbol; one without a size, as in assembly, ends at the latest with its section. */
static uint64_t end_of(const struct rm_symbol_facts *facts)
{
    uint64_t end = facts->bytes > 0 ? facts->address + facts->bytes : facts->section_end;
    return end >= facts->address ? end : facts->bytes > 0 ? UINT64_MAX : facts->address;
}

void rm_symbols_add(struct rm_symbols *symbols, const struct rm_symbol_facts *facts)
{
    unsigned type = facts->name != NULL ? ELF64_ST_TYPE(facts->info) : STT_NOTYPE;
    /* Only a full symbol table has local symbols. */
    symbols->has_local |= facts->name != NULL && type != STT_SECTION && type != STT_NOTYPE &&
                          ELF64_ST_BIND(facts->info) == STB_LOCAL;
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || facts->section == SHN_UNDEF ||
        facts->section == SHN_ABS || facts->name[0] == '\0' || facts->name[0] == '@') {
        return;
    }
    symbols->all =
        rm_names_must(rm_grow(symbols->all, symbols->count, &symbols->room, sizeof *symbols->all));
    symbols->all[symbols->count++] = (struct rm_symbol){
        .low = facts->address,
        .high = end_of(facts),
        .name = facts->name,
        .rank = rank_of(facts),
    };
}

static int compare(const void *left, const void *right)
{
    const struct rm_symbol *a = left, *b = right;
    if (a->low != b->low) {
        return a->low < b->low ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

/* A symbol without a size ends where the next one begins.  In a stripped file the code behind it
 * may belong to a function without a symbol, so it has only its first address. */
void rm_symbols_sort(struct rm_symbols *symbols)
{
    uint64_t next = UINT64_MAX;
    if (symbols->count > 0) {
        qsort(symbols->all, symbols->count, sizeof *symbols->all, compare);
    }
    for (size_t i = symbols->count; i-- > 0;) {
        struct rm_symbol *symbol = &symbols->all[i];
        if (symbol->rank >= BARE) {
            uint64_t limit = symbols->has_local ? next : symbol->low;
            symbol->high = symbol->high < limit ? symbol->high : limit;
        }
        next = i > 0 && symbols->all[i - 1].low != symbol->low ? symbol->low : next;
    }
}

struct rm_symbol *rm_symbols_find(const struct rm_symbols *symbols, uint64_t address)
{
    size_t low = 0, high = symbols->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symbols->all[middle].low <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t steps = 0; low > 0 && steps < 64; steps++) {
        struct rm_symbol *symbol = &symbols->all[--low];
        if (address < symbol->high) {
            while (low > 0 && symbols->all[low - 1].low == symbol->low &&
                   address < symbols->all[low - 1].high) {
                symbol = &symbols->all[--low];
            }
            return symbol;
        }
    }
    return NULL;
}

uint32_t rm_symbol_text(struct rm_names_results *results, struct rm_symbol *symbol)
{
    symbol->text = symbol->text != 0 ? symbol->text : rm_names_function(results, symbol->name);
    return symbol->text;
}

/* ---- without libdw ------------------------------------------------------------------------ */

/* A file, and the names in it. */
struct table {
    struct rm_elf elf;
    struct rm_symbols symbols;
    char *entries, *names;
    uint64_t name_bytes;
    char *vdso; /* its image, which no file has; NULL: the module is a file */
};

static bool refuse(struct rm_names_module *module, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(struct rm_names_module *module, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(module->reason, sizeof module->reason, format, arguments);
    va_end(arguments);
    return false;
}

static resmon_status open_elf(struct table *table, const char *path)
{
    size_t bytes = 0;
    if (strcmp(path, RM_VDSO_NAME) != 0) {
        return rm_elf_open(&table->elf, path);
    }
    resmon_status status = rm_vdso_read(&table->vdso, &bytes);
    return status == RESMON_OK ? rm_elf_of_memory(&table->elf, path, table->vdso, bytes) : status;
}

static bool open_table(struct table *table, struct rm_names_module *module, const char *path)
{
    char build_id[RM_ELF_BUILD_ID_BYTES];
    struct stat info;
    if (open_elf(table, path) != RESMON_OK) {
        return refuse(module, "%s", resmon_last_error());
    }
    if (table->vdso == NULL && (stat(path, &info) != 0 || rm_names_was_changed(module, &info))) {
        rm_elf_close(&table->elf);
        return refuse(module, RM_NAMES_CHANGED, path);
    }
    if (module->build_id[0] != '\0' && (rm_elf_build_id(&table->elf, build_id) != RESMON_OK ||
                                        strcmp(build_id, module->build_id) != 0)) {
        rm_elf_close(&table->elf);
        return refuse(module, "%s is not the file that was mapped: its build-id differs", path);
    }
    return true;
}

/* A deleted or replaced program can be opened by /proc/PID/exe while it runs. */
static bool open_any(struct table *table, struct rm_names_module *module)
{
    char program[64], why[RM_NAMES_MOST_REASON];
    if (open_table(table, module, module->path)) {
        return true;
    }
    (void)rm_text_set(why, sizeof why, module->reason);
    if (module->pid != 0 && module->build_id[0] != '\0') {
        rm_process_file_program((uint32_t)module->pid, program, sizeof program);
        if (open_table(table, module, program)) {
            return true;
        }
    }
    return refuse(module, "%s", why);
}

static void add_entry(struct table *table, const Elf64_Sym *entry)
{
    const struct rm_elf *elf = &table->elf;
    const struct rm_elf_section *section =
        entry->st_shndx < elf->section_count ? &elf->sections[entry->st_shndx] : NULL;
    const struct rm_symbol_facts facts = {
        .name = entry->st_name < table->name_bytes ? table->names + entry->st_name : NULL,
        .address = entry->st_value,
        .bytes = entry->st_size,
        .section_end = section != NULL ? section->address + section->bytes : 0,
        .section = entry->st_shndx,
        .info = entry->st_info,
    };
    rm_symbols_add(&table->symbols, &facts);
}

static void read_table(struct table *table)
{
    const struct rm_elf *elf = &table->elf;
    const struct rm_elf_section *section = rm_elf_find(elf, NULL, SHT_SYMTAB);
    section = section != NULL ? section : rm_elf_find(elf, NULL, SHT_DYNSYM);
    if (section == NULL || !elf->is_64 || section->link >= elf->section_count) {
        return;
    }
    const struct rm_elf_section *names = &elf->sections[section->link];
    if (rm_elf_read(elf, section, MOST_TABLE_BYTES, &table->entries) != RESMON_OK ||
        rm_elf_read(elf, names, MOST_TABLE_BYTES, &table->names) != RESMON_OK) {
        return;
    }
    table->name_bytes = names->bytes;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section->bytes; at += sizeof(Elf64_Sym)) {
        Elf64_Sym entry;
        memcpy(&entry, table->entries + at, sizeof entry);
        add_entry(table, &entry);
    }
    rm_symbols_sort(&table->symbols);
}

static void add_frames(struct table *table, struct rm_names_module *module,
                       struct rm_names_results *results)
{
    for (size_t i = 0; i < module->count; i++) {
        struct rm_symbol *symbol = rm_symbols_find(&table->symbols, module->addresses[i]);
        uint32_t function = symbol != NULL ? rm_symbol_text(results, symbol) : 0;
        if (function != 0) {
            module->spans[i] = (struct rm_names_span){results->frame_count, 1};
            rm_names_add_frame(results, function, 0, 0);
        } else if (!table->symbols.has_local && table->vdso == NULL) {
            module->flags |= RM_NAMES_STRIPPED;
        }
    }
}

void rm_symtab_symbolize(struct rm_names_module *module, struct rm_names_results *results,
                         const char *why)
{
    struct table table = {.entries = NULL};
    if (!open_any(&table, module)) {
        module->flags = RM_NAMES_NO_NAMES;
        rm_free(table.vdso);
        return;
    }
    read_table(&table);
    module->flags = RM_NAMES_NO_LINES;
    (void)refuse(module, "%s", why);
    add_frames(&table, module, results);
    rm_free(table.symbols.all);
    rm_free(table.entries);
    rm_free(table.names);
    rm_elf_close(&table.elf);
    rm_free(table.vdso);
}

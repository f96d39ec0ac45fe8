/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "stack/code.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "os/identity.h"
#include "os/library.h"

/* ---- data of a module ------------------------------------------------------------------- */

static void find_range(const struct dl_phdr_info *info, struct rm_module *module)
{
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD) {
            low = part->p_vaddr < low ? part->p_vaddr : low;
            high = part->p_vaddr + part->p_memsz > high ? part->p_vaddr + part->p_memsz : high;
        }
    }
    module->entry.bias = info->dlpi_addr;
    module->entry.start = low < high ? info->dlpi_addr + low : 0;
    module->entry.end = low < high ? info->dlpi_addr + high : 0;
}

static const unsigned char *bytes_at(uint64_t address)
{
    return (const unsigned char *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 3) & ~UINT64_C(3);
}

/* The loader holds its lock, so the mappings do not change meanwhile. */
static void find_build_id(uint64_t address, uint64_t bytes, struct rm_module_entry *entry)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, bytes_at(address), sizeof note);
        uint64_t name = sizeof note;
        uint64_t value = name + padded(note.n_namesz);
        uint64_t end = value + padded(note.n_descsz);
        if (end > bytes) {
            return;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
            memcmp(bytes_at(address + name), "GNU", sizeof "GNU") == 0 &&
            note.n_descsz <= sizeof entry->build_id) {
            memcpy(entry->build_id, bytes_at(address + value), note.n_descsz);
            entry->build_id_length = note.n_descsz;
            return;
        }
        address += end;
        bytes -= end;
    }
}

static void find_unwind_table(uint64_t address, uint64_t bytes, struct rm_module *module)
{
    module->unwind_count = rm_frame_index_rows_of(bytes_at(address), bytes);
    if (module->unwind_count > 0) {
        module->unwind_header = address;
        module->unwind_table = address + RM_FRAME_INDEX_HEADER;
    }
}

/* musl gives the vDSO no name. */
static bool is_vdso(const struct dl_phdr_info *info, const char *name)
{
    return strncmp(name, "linux-vdso", 10) == 0 || strncmp(name, "linux-gate", 10) == 0 ||
           (name[0] == '\0' && info->dlpi_addr == getauxval(AT_SYSINFO_EHDR));
}

/* glibc gives the program no name, musl the one that it was called by. */
static void set_path(const struct dl_phdr_info *info, bool is_first,
                     char path[RM_MODULE_PATH_BYTES])
{
    char link[RM_MODULE_PATH_BYTES] = "";
    const char *name = info->dlpi_name != NULL ? info->dlpi_name : "";
    if (is_first && name[0] != '/') {
        rm_identity_program(link, sizeof link);
        name = link;
    } else if (is_vdso(info, name)) {
        name = RM_VDSO_NAME;
    }
    (void)rm_text_set(path, RM_MODULE_PATH_BYTES, name);
}

static void describe(const struct dl_phdr_info *info, bool is_first, struct rm_module *module)
{
    *module = (struct rm_module){.entry = {.start = 0}};
    find_range(info, module);
    set_path(info, is_first, module->entry.path);
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t address = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_NOTE && module->entry.build_id_length == 0) {
            find_build_id(address, part->p_memsz, &module->entry);
        } else if (part->p_type == PT_GNU_EH_FRAME) {
            find_unwind_table(address, part->p_memsz, module);
        }
    }
}

/* ---- all modules ------------------------------------------------------------------------ */

struct listing {
    struct rm_modules *modules; /* NULL: count only */
    size_t room;
    size_t count;
    uint64_t adds, removals;
};

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    struct listing *listing = context;
    (void)size;
    listing->adds = info->dlpi_adds;
    listing->removals = info->dlpi_subs;
    if (listing->modules != NULL && listing->count < listing->room) {
        describe(info, listing->count == 0, &listing->modules->rows[listing->count]);
    }
    listing->count++;
    return 0;
}

static int look_at_first(struct dl_phdr_info *info, size_t size, void *context)
{
    struct listing *listing = context;
    (void)size;
    listing->adds = info->dlpi_adds;
    listing->removals = info->dlpi_subs;
    return 1;
}

bool rm_modules_are_old(const struct rm_modules *modules)
{
    struct listing now = {.modules = NULL};
    (void)dl_iterate_phdr(look_at_first, &now);
    return modules == NULL || now.adds != modules->adds || now.removals != modules->removals;
}

static int by_start(const void *a_, const void *b_)
{
    const struct rm_module *a = a_;
    const struct rm_module *b = b_;
    return a->entry.start != b->entry.start ? (a->entry.start < b->entry.start ? -1 : 1) : 0;
}

/* Counted first, then listed into memory allocated outside of the loader's lock. */
resmon_status rm_modules_list(struct rm_modules **ret_modules)
{
    struct listing counted = {.modules = NULL};
    (void)dl_iterate_phdr(visit, &counted);
    struct listing listing = {.room = counted.count + 16};
    listing.modules =
        rm_alloc(1, sizeof *listing.modules + listing.room * sizeof listing.modules->rows[0]);
    if (listing.modules == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the list of libraries");
    }
    (void)dl_iterate_phdr(visit, &listing);
    struct rm_modules *modules = listing.modules;
    modules->count = listing.count < listing.room ? listing.count : listing.room;
    modules->adds = listing.adds;
    modules->removals = listing.removals;
    qsort(modules->rows, modules->count, sizeof modules->rows[0], by_start);
    *ret_modules = modules;
    return RESMON_OK;
}

const struct rm_module *rm_modules_find(const struct rm_modules *modules, uint64_t address)
{
    size_t low = 0;
    size_t high = modules->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (modules->rows[middle].entry.start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && address < modules->rows[low - 1].entry.end ? &modules->rows[low - 1] : NULL;
}

/* ---- steps ---------------------------------------------------------------------------------- */

#define ROOM  2048U /* a power of two */
#define TRIES 8U

struct cached_step {
    uint64_t address; /* atomic; 0: free */
    uint64_t is_set;  /* release, after the bytes */
    uint64_t bytes[RM_UNWIND_STEP_BYTES / 8];
};

struct rm_unwind_cache {
    struct cached_step rows[ROOM];
};

struct rm_unwind_cache *rm_unwind_cache_new(void)
{
    return rm_alloc(1, sizeof(struct rm_unwind_cache));
}

static struct cached_step *row_of(struct rm_unwind_cache *cache, uint64_t address, unsigned try)
{
    uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15) >> 32; /* Knuth's multiplicative hash */
    return &cache->rows[(hash + try) % ROOM];
}

void *rm_unwind_cache_find(struct rm_unwind_cache *cache, uint64_t address)
{
    for (unsigned try = 0; try < TRIES; try++) {
        struct cached_step *row = row_of(cache, address, try);
        uint64_t known = RM_LOAD(&row->address);
        if (known == address) {
            return RM_LOAD_ACQUIRE(&row->is_set) != 0 ? row->bytes : NULL;
        }
        if (known == 0) {
            return NULL;
        }
    }
    return NULL;
}

/* If two threads learn the same entry at once, the one that takes the row fills it. */
void rm_unwind_cache_add(struct rm_unwind_cache *cache, uint64_t address, const void *step,
                         size_t bytes)
{
    for (unsigned try = 0; try < TRIES && bytes <= RM_UNWIND_STEP_BYTES; try++) {
        struct cached_step *row = row_of(cache, address, try);
        uint64_t free = 0;
        if (__atomic_compare_exchange_n(&row->address, &free, address, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            memcpy(row->bytes, step, bytes);
            RM_STORE_RELEASE(&row->is_set, 1);
            return;
        }
        if (free == address) {
            return;
        }
    }
}

/* ---- both ----------------------------------------------------------------------------------- */

static struct rm_code *now; /* atomic */
static struct rm_code *retired;
static uint64_t latest_number;

static void free_one(struct rm_code *code)
{
    if (code != NULL) {
        rm_free(code->modules);
        rm_free(code->cache);
        rm_free(code);
    }
}

static resmon_status list(struct rm_code **ret_code)
{
    struct rm_code *code = rm_alloc(1, sizeof *code);
    resmon_status status = code != NULL ? rm_modules_list(&code->modules) : RESMON_ENOMEM;
    if (status != RESMON_OK) {
        rm_free(code);
        return status;
    }
    code->number = ++latest_number;
    code->cache = rm_unwind_cache_new();
    *ret_code = code;
    return RESMON_OK;
}

const struct rm_code *rm_code_now(void)
{
    return __atomic_load_n(&now, __ATOMIC_SEQ_CST);
}

bool rm_code_refresh(bool is_quiet)
{
    struct rm_code *fresh = NULL;
    if (retired != NULL && is_quiet) {
        free_one(retired);
        retired = NULL;
    }
    if (retired != NULL || !rm_modules_are_old(now != NULL ? now->modules : NULL) ||
        list(&fresh) != RESMON_OK) {
        return false;
    }
    retired = now;
    __atomic_store_n(&now, fresh, __ATOMIC_SEQ_CST);
    return true;
}

void rm_code_free(void)
{
    free_one(now);
    free_one(retired);
    rm_code_forget();
}

void rm_code_forget(void)
{
    __atomic_store_n(&now, NULL, __ATOMIC_SEQ_CST);
    retired = NULL;
}

/* ---- an index of unwind entries ------------------------------------------------------------- */

/* Pointer encodings (Linux Standard Base, "DWARF Exception Header Encoding"). */
#define PE_ABSOLUTE 0x00
#define PE_U4       0x03
#define PE_U8       0x04
#define PE_S4       0x0b
#define PE_S8       0x0c
#define PE_RELATIVE 0x10 /* relative to its own position */

struct section {
    const char *data;
    uint64_t bytes, address;
};

/* A record: a CIE, or an FDE, which begins with the position of its CIE. */
struct entry {
    uint64_t at;   /* position of its length */
    uint64_t body; /* position after the length */
    uint64_t past;
    uint32_t cie; /* 0: it is a CIE */
};

static bool read_u32(const struct section *section, uint64_t at, uint32_t *ret_value)
{
    if (at > section->bytes || section->bytes - at < sizeof *ret_value) {
        return false;
    }
    memcpy(ret_value, section->data + at, sizeof *ret_value);
    return true;
}

/* A length of 0 ends the section; 64-bit lengths are not used in practice. */
static bool next_entry(const struct section *section, uint64_t at, struct entry *ret_entry)
{
    uint32_t length;
    if (!read_u32(section, at, &length) || length < sizeof(uint32_t) || length == UINT32_MAX ||
        length > section->bytes - at - sizeof length) {
        return false;
    }
    *ret_entry = (struct entry){.at = at, .body = at + 4, .past = at + 4 + length};
    return read_u32(section, ret_entry->body, &ret_entry->cie);
}

static bool skip_leb128(const struct section *section, uint64_t *at, uint64_t past)
{
    while (*at < past) {
        if ((section->data[(*at)++] & 0x80) == 0) {
            return true;
        }
    }
    return false;
}

/* The letters of the augmentation describe its data in the same order; `at` is advanced to the data
 * of 'R'.  False: not supported. */
static bool find_encoding(const struct section *section, const char *letters, uint64_t *at,
                          uint64_t past)
{
    for (const char *letter = letters; *letter != '\0' && *letter != 'R'; letter++) {
        unsigned char kind = *at < past ? (unsigned char)section->data[*at] & 0x0fU : 0;
        if (*letter == 'P') { /* encoding of the personality routine, and its pointer */
            *at += kind == PE_U4 || kind == PE_S4 ? 5 : 9;
        } else if (*letter == 'L') {
            *at += 1;
        } else if (*letter != 'S' && *letter != 'B') {
            return false;
        }
    }
    return true;
}

/* Layout: version, augmentation, two factors, return register, length of the augmentation data, the
 * data.  False: not supported. */
static bool read_encoding(const struct section *section, const struct entry *cie,
                          unsigned char *ret_encoding)
{
    uint64_t at = cie->body + sizeof(uint32_t) + 1;
    const char *letters = section->data + at;
    uint64_t length = at < cie->past ? strnlen(letters, (size_t)(cie->past - at)) : 0;
    bool is_whole = at + length < cie->past;
    *ret_encoding = PE_ABSOLUTE;
    if (!is_whole || letters[0] != 'z') {
        return is_whole && length == 0;
    }
    at += length + 1;
    for (int i = 0; i < 4 && is_whole; i++) {
        is_whole = skip_leb128(section, &at, cie->past);
    }
    if (!is_whole || !find_encoding(section, letters + 1, &at, cie->past)) {
        return false;
    }
    if (strchr(letters, 'R') != NULL) {
        is_whole = at < cie->past;
        *ret_encoding = is_whole ? (unsigned char)section->data[at] : 0;
    }
    return is_whole;
}

/* Reads the begin of the function; false: an encoding that linkers do not use. */
static bool read_function(const struct section *section, uint64_t at, unsigned char encoding,
                          uint64_t *ret_address)
{
    uint32_t low = 0, high = 0;
    unsigned char kind = encoding & 0x0f;
    bool is_short = kind == PE_U4 || kind == PE_S4;
    if ((encoding & ~0x1fU) != 0 || !read_u32(section, at, &low) ||
        (!is_short && !read_u32(section, at + 4, &high))) {
        return false;
    }
    switch (kind) {
    case PE_U4:
        *ret_address = low;
        break;
    case PE_S4:
        *ret_address = (uint64_t)(int64_t)(int32_t)low;
        break;
    case PE_ABSOLUTE:
    case PE_U8:
    case PE_S8:
        *ret_address = (uint64_t)high << 32 | low;
        break;
    default:
        return false;
    }
    *ret_address += (encoding & PE_RELATIVE) != 0 ? section->address + at : 0;
    return true;
}

/* Version 1, a pointer and a count of 4 bytes, rows of two offsets from the header (Linux Standard
 * Base, "Exception Frame Header"). */
uint32_t rm_frame_index_rows_of(const void *header, uint64_t bytes)
{
    static const unsigned char usual[4] = {1, 0x1b, 0x03, 0x3b};
    uint32_t count;
    if (bytes < RM_FRAME_INDEX_HEADER || memcmp(header, usual, sizeof usual) != 0) {
        return 0;
    }
    memcpy(&count, (const char *)header + 8, sizeof count);
    return count <= (bytes - RM_FRAME_INDEX_HEADER) / sizeof(struct rm_frame_row) ? count : 0;
}

/* ---- the index --------------------------------------------------------------------------- */

static bool add_row(struct rm_frame_index *index, uint64_t function, uint64_t entry)
{
    int64_t to_function = (int64_t)(function - index->origin);
    int64_t to_entry = (int64_t)(entry - index->origin);
    struct rm_frame_row *rows = rm_grow(index->rows, index->count, &index->room, sizeof *rows);
    if (rows == NULL) {
        return false;
    }
    index->rows = rows;
    if (to_function >= INT32_MIN && to_function <= INT32_MAX && to_entry >= INT32_MIN &&
        to_entry <= INT32_MAX) {
        rows[index->count++] = (struct rm_frame_row){(int32_t)to_function, (int32_t)to_entry};
    }
    return true;
}

static bool add_entry(struct rm_frame_index *index, const struct section *section,
                      const struct entry *entry)
{
    struct entry cie;
    unsigned char encoding;
    uint64_t function;
    if (entry->cie == 0 || entry->cie > entry->body ||
        !next_entry(section, entry->body - entry->cie, &cie) || cie.cie != 0 ||
        !read_encoding(section, &cie, &encoding) ||
        !read_function(section, entry->body + 4, encoding, &function)) {
        return true; /* it is one less */
    }
    return add_row(index, function, section->address + entry->at);
}

bool rm_frame_index_add(struct rm_frame_index *index, const char *data, uint64_t bytes,
                        uint64_t address)
{
    const struct section section = {data, bytes, address};
    struct entry entry;
    bool has_room = true;
    for (uint64_t at = 0; has_room && next_entry(&section, at, &entry); at = entry.past) {
        has_room = add_entry(index, &section, &entry);
    }
    return has_room;
}

static int by_function(const void *left, const void *right)
{
    const struct rm_frame_row *a = left, *b = right;
    return (a->function > b->function) - (a->function < b->function);
}

void rm_frame_index_sort(struct rm_frame_index *index)
{
    if (index->count > 0) {
        qsort(index->rows, index->count, sizeof *index->rows, by_function);
    }
}

void rm_frame_index_free(struct rm_frame_index *index)
{
    rm_free(index->rows);
    *index = (struct rm_frame_index){.rows = NULL};
}

/* In .debug_frame, a CIE has the number -1, and an FDE has the offset of its CIE in the section,
 * and 8-byte addresses (DWARF 4, 6.4.1). */
void rm_frame_index_convert(char *data, uint64_t bytes, uint64_t bias)
{
    const struct section section = {data, bytes, 0};
    struct entry entry;
    for (uint64_t at = 0; next_entry(&section, at, &entry); at = entry.past) {
        uint64_t function;
        uint32_t back = (uint32_t)(entry.body - entry.cie);
        if (entry.cie == UINT32_MAX) {
            back = 0;
        } else if (entry.past - entry.body >= sizeof back + sizeof function) {
            memcpy(&function, data + entry.body + sizeof back, sizeof function);
            function += bias;
            memcpy(data + entry.body + sizeof back, &function, sizeof function);
        }
        memcpy(data + entry.body, &back, sizeof back);
    }
}

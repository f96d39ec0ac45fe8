/* SPDX-License-Identifier: MIT */
#include "stack/images.h"

#include <elf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/map.h"
#include "base/text.h"
#include "os/elf_file.h"
#include "os/library.h"
#include "os/proc_pid.h"
#include "stack/code.h"
#include "stack/python_layout.h"

/* The synthetic address space: above all addresses of processes, and exact in a double. */
#define SPACE_START (UINT64_C(1) << 48)
#define IMAGE_BITS  40
#define MOST_IMAGES 4096U
#define MOST_CODES  16U                   /* code sections per file */
#define MOST_TABLE  (UINT64_C(256) << 20) /* bound of a table's bytes */
#define INDEX_START (UINT64_C(1) << 39)   /* offset in an image of a table made here */

/* The sorted table, frames, and frames in debug information. */
enum { SORTED, FRAMES, DEBUG_FRAMES, TABLES };

struct table {
    uint64_t start, bytes; /* position in the file */
    char *data;
};

/* A code section: its position in the file, and in memory. */
struct code {
    uint64_t offset, bytes, address;
};

struct rm_image {
    uint64_t own_origin; /* origin of a sorted table made here; 0: it is the file's */
    char *path;
    uint64_t device, inode, generation;
    uint32_t pid;
    uint64_t base; /* in the synthetic space */
    bool is_read, is_good, is_old;
    struct rm_module_entry entry;
    struct table tables[TABLES];
    struct code codes[MOST_CODES];
    size_t code_count;
    bool has_looked; /* for an interpreter */
    struct rm_image_python python;
};

struct rm_images {
    struct rm_image *all[MOST_IMAGES];
    uint32_t count;
    struct rm_map map; /* index into `all` by path and inode */
};

struct rm_images *rm_images_new(void)
{
    return rm_alloc(1, sizeof(struct rm_images));
}

static void free_tables(struct rm_image *image)
{
    for (size_t i = 0; i < TABLES; i++) {
        rm_free(image->tables[i].data);
        image->tables[i] = (struct table){.data = NULL};
    }
}

void rm_images_free(struct rm_images *images)
{
    if (images == NULL) {
        return;
    }
    for (uint32_t i = 0; i < images->count; i++) {
        free_tables(images->all[i]);
        rm_free(images->all[i]->path);
        rm_free(images->all[i]);
    }
    rm_map_free(&images->map);
    rm_free(images);
}

/* ---- which file -------------------------------------------------------------------------- */

static uint64_t hash_of(const struct rm_image_key *key)
{
    uint64_t hash = rm_hash_bytes(RM_HASH_START, key->path, strlen(key->path));
    return rm_hash_u64(rm_hash_u64(hash, key->inode), key->generation);
}

static bool is_of(const struct rm_image *image, const struct rm_image_key *key)
{
    return image->inode == key->inode && image->device == key->device &&
           image->generation == key->generation && strcmp(image->path, key->path) == 0;
}

static struct rm_image *make(struct rm_images *images, const struct rm_image_key *key)
{
    struct rm_image *image = rm_alloc(1, sizeof *image);
    char *path = rm_strdup(key->path);
    if (image == NULL || path == NULL || !rm_map_reserve(&images->map, images->count + 1)) {
        rm_free(image);
        rm_free(path);
        return NULL;
    }
    *image = (struct rm_image){
        .path = path,
        .device = key->device,
        .inode = key->inode,
        .generation = key->generation,
        .pid = key->pid,
        .base = SPACE_START + ((uint64_t)images->count << IMAGE_BITS),
    };
    return image;
}

struct rm_image *rm_images_get(struct rm_images *images, const struct rm_image_key *key)
{
    struct rm_map_search search = {.hash = hash_of(key)};
    bool is_file = key->path[0] == '/' && key->path[1] != '/'; /* "//anon" is not a file */
    if (!is_file && strcmp(key->path, RM_VDSO_NAME) != 0) {
        return NULL;
    }
    for (uint32_t i; rm_map_next(&images->map, &search, &i);) {
        if (is_of(images->all[i], key)) {
            return images->all[i];
        }
    }
    struct rm_image *image = images->count < MOST_IMAGES ? make(images, key) : NULL;
    if (image != NULL) {
        rm_map_add(&images->map, search.hash, images->count);
        images->all[images->count++] = image;
    }
    return image;
}

/* ---- reading ----------------------------------------------------------------------------- */

static void read_table(const struct rm_elf *elf, const char *name, struct table *table)
{
    const struct rm_elf_section *section = rm_elf_find(elf, name, 0);
    if (section == NULL || section->address >> IMAGE_BITS != 0 ||
        rm_elf_read(elf, section, MOST_TABLE, &table->data) != RESMON_OK) {
        return;
    }
    table->start = section->address;
    table->bytes = section->bytes;
}

static void list_code(const struct rm_elf *elf, struct rm_image *image)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct rm_elf_section *section = &elf->sections[i];
        uint64_t end = section->address + section->bytes;
        if ((section->flags & SHF_ALLOC) == 0 || section->type == SHT_NOBITS ||
            end < section->address || end >> IMAGE_BITS != 0) {
            continue;
        }
        low = section->address < low ? section->address : low;
        high = end > high ? end : high;
        if ((section->flags & SHF_EXECINSTR) != 0 && image->code_count < MOST_CODES) {
            image->codes[image->code_count++] =
                (struct code){section->offset, section->bytes, section->address};
        }
    }
    image->entry.bias = image->base;
    image->entry.start = low < high ? image->base + low : 0;
    image->entry.end = low < high ? image->base + high : 0;
}

/* Go has its frames only there.  They are placed after the file's own memory. */
static void read_debug_frames(const struct rm_elf *elf, struct rm_image *image)
{
    struct table *table = &image->tables[DEBUG_FRAMES];
    const struct rm_elf_section *section = rm_elf_find(elf, ".debug_frame", 0);
    bool is_go = rm_elf_find(elf, ".gopclntab", 0) != NULL;
    if (section == NULL || (image->tables[FRAMES].data != NULL && !is_go) ||
        rm_elf_unpack(elf, section, MOST_TABLE, &table->data, &table->bytes) != RESMON_OK) {
        return;
    }
    table->start = (image->entry.end - image->base + 0xffff) & ~UINT64_C(0xffff);
    rm_frame_index_convert(table->data, table->bytes, image->base);
}

/* Statically linked programs lack a sorted table, and one for other frames would be incomplete. */
static void make_index(struct rm_image *image)
{
    struct table *tables = image->tables;
    struct rm_frame_index index = {.origin = 0};
    bool is_whole = tables[SORTED].data != NULL && tables[DEBUG_FRAMES].data == NULL;
    for (size_t i = FRAMES; i < TABLES && !is_whole; i++) {
        const struct table *frames = &tables[i];
        if (frames->data == NULL) {
            continue;
        }
        index.origin = index.count == 0 ? image->base + frames->start : index.origin;
        (void)rm_frame_index_add(&index, frames->data, frames->bytes, image->base + frames->start);
    }
    if (index.count > 0) {
        rm_frame_index_sort(&index);
        rm_free(tables[SORTED].data);
        image->own_origin = index.origin;
        tables[SORTED] =
            (struct table){INDEX_START, index.count * sizeof *index.rows, (char *)index.rows};
    } else {
        rm_frame_index_free(&index);
    }
}

static unsigned digit_of(char letter)
{
    return letter >= 'a' ? (unsigned)(letter - 'a') + 10U : (unsigned)(letter - '0');
}

static void read_build_id(const struct rm_elf *elf, struct rm_module_entry *entry)
{
    char text[RM_ELF_BUILD_ID_BYTES];
    if (rm_elf_build_id(elf, text) != RESMON_OK) {
        return;
    }
    size_t length = strlen(text) / 2;
    entry->build_id_length = length < RM_BUILD_ID_BYTES ? length : 0;
    for (size_t i = 0; i < entry->build_id_length; i++) {
        entry->build_id[i] =
            (unsigned char)(digit_of(text[2 * i]) << 4 | digit_of(text[2 * i + 1]));
    }
}

static bool read_elf(const struct rm_elf *elf, struct rm_image *image)
{
    if (!elf->is_64 || sizeof(void *) != 8) {
        return false; /* of another class or machine: its stacks cannot be unwound here */
    }
    list_code(elf, image);
    read_table(elf, ".eh_frame_hdr", &image->tables[SORTED]);
    read_table(elf, ".eh_frame", &image->tables[FRAMES]);
    read_debug_frames(elf, image);
    make_index(image);
    read_build_id(elf, &image->entry);
    return image->code_count > 0;
}

static bool read_vdso(struct rm_image *image)
{
    struct rm_elf elf;
    char *bytes = NULL;
    size_t length = 0;
    bool is_good = rm_vdso_read(&bytes, &length) == RESMON_OK &&
                   rm_elf_of_memory(&elf, RM_VDSO_NAME, bytes, length) == RESMON_OK;
    if (is_good) {
        is_good = read_elf(&elf, image);
        rm_elf_close(&elf);
    }
    rm_free(bytes);
    return is_good;
}

#define FILE_BYTES (RM_MODULE_PATH_BYTES + 32)

static bool open_file(const struct rm_image *image, char path[FILE_BYTES], struct rm_elf *elf)
{
    const struct rm_process_file file = {image->pid, image->path, image->device, image->inode};
    rm_process_file_path(&file, path, FILE_BYTES);
    return rm_elf_open(elf, path) == RESMON_OK;
}

static bool read_file(struct rm_image *image)
{
    struct rm_elf elf;
    char path[FILE_BYTES];
    if (!open_file(image, path, &elf)) {
        return false;
    }
    bool is_good = read_elf(&elf, image);
    rm_elf_close(&elf);
    return is_good;
}

bool rm_image_read(struct rm_image *image)
{
    if (!image->is_read) {
        image->is_read = true;
        (void)rm_text_set(image->entry.path, sizeof image->entry.path, image->path);
        image->is_good = image->path[0] == '/' ? read_file(image) : read_vdso(image);
    }
    return image->is_good;
}

/* ---- an interpreter ---------------------------------------------------------------------- */

#define MOST_SYMBOLS (UINT64_C(64) << 20) /* bytes of a symbol table */

/* The address of a symbol in the file; 0: none. */
static uint64_t find_symbol(const struct rm_elf *elf, const char *name)
{
    uint64_t address = 0;
    char *symbols = NULL, *names = NULL;
    const struct rm_elf_section *table = rm_elf_find(elf, NULL, SHT_DYNSYM);
    const struct rm_elf_section *texts =
        table != NULL && table->link < elf->section_count ? &elf->sections[table->link] : NULL;
    if (texts != NULL && rm_elf_read(elf, table, MOST_SYMBOLS, &symbols) == RESMON_OK &&
        rm_elf_read(elf, texts, MOST_SYMBOLS, &names) == RESMON_OK) {
        for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->bytes; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            memcpy(&symbol, symbols + at, sizeof symbol);
            if (symbol.st_name < texts->bytes && strcmp(names + symbol.st_name, name) == 0) {
                address = symbol.st_value;
                break;
            }
        }
    }
    rm_free(symbols);
    rm_free(names);
    return address;
}

/* From 3.10 on, _PyRuntime has a section of its own. */
static void look_for_python(const struct rm_elf *elf, struct rm_image *image)
{
    struct rm_image_python *python = &image->python;
    const char *name = rm_text_base_name(image->path);
    uint64_t runtime = 0;
    rm_python_tasks_find(elf, &python->tasks);
    for (size_t i = 0; i < elf->section_count && runtime == 0; i++) {
        runtime = strcmp(elf->sections[i].name, ".PyRuntime") == 0 ? elf->sections[i].address : 0;
    }
    if (runtime == 0 && strstr(name, "python") != NULL) {
        runtime = find_symbol(elf, "_PyRuntime");
    }
    if (runtime == 0 || runtime >> IMAGE_BITS != 0) {
        return;
    }
    uint64_t version = find_symbol(elf, "Py_Version");
    python->runtime = image->base + runtime;
    python->version = version != 0 && version >> IMAGE_BITS == 0 ? image->base + version : 0;
    python->minor = rm_python_minor_of(name);
}

struct rm_image_python rm_image_python(struct rm_image *image)
{
    struct rm_elf elf;
    char path[FILE_BYTES];
    if (!image->has_looked && image->path[0] == '/' && open_file(image, path, &elf)) {
        if (elf.is_64) {
            look_for_python(&elf, image);
        }
        rm_elf_close(&elf);
    }
    if (!image->has_looked && image->python.runtime != 0 && !rm_image_read(image)) {
        image->python.runtime = 0; /* its code cannot be placed */
    }
    image->has_looked = true;
    return image->python;
}

/* ---- results ----------------------------------------------------------------------------- */

const char *rm_image_path(const struct rm_image *image)
{
    return image->path;
}

const struct rm_module_entry *rm_image_entry(const struct rm_image *image)
{
    return &image->entry;
}

bool rm_image_is_new(struct rm_image *image)
{
    bool is_new = !image->is_old;
    image->is_old = true;
    return is_new;
}

uint64_t rm_image_address(const struct rm_image *image, uint64_t offset, uint64_t bytes)
{
    for (size_t i = 0; i < image->code_count; i++) {
        const struct code *code = &image->codes[i];
        if (code->offset < offset + bytes && offset < code->offset + code->bytes) {
            return image->base + (code->address - code->offset + offset);
        }
    }
    return 0;
}

struct rm_image_tables rm_image_tables_of(const struct rm_image *image)
{
    const struct table *sorted = &image->tables[SORTED];
    uint64_t address = image->base + sorted->start;
    if (image->own_origin != 0) {
        return (struct rm_image_tables){image->own_origin, address,
                                        sorted->bytes / sizeof(struct rm_frame_row)};
    }
    uint32_t count = sorted->data != NULL && image->tables[FRAMES].data != NULL
                         ? rm_frame_index_rows_of(sorted->data, sorted->bytes)
                         : 0;
    return count > 0 ? (struct rm_image_tables){address, address + RM_FRAME_INDEX_HEADER, count}
                     : (struct rm_image_tables){.header = 0};
}

/* Tables refer to other data of the file, such as the address of a personality routine, which is
 * not used. */
bool rm_images_word(const struct rm_images *images, uint64_t address, uint64_t *ret_word)
{
    uint64_t index = (address - SPACE_START) >> IMAGE_BITS;
    if (address < SPACE_START || index >= images->count) {
        return false;
    }
    const struct rm_image *image = images->all[index];
    uint64_t at = address - image->base;
    *ret_word = 0;
    for (size_t i = 0; i < TABLES; i++) {
        const struct table *table = &image->tables[i];
        uint64_t offset = at - table->start;
        if (table->data != NULL && at >= table->start && offset < table->bytes) {
            uint64_t left = table->bytes - offset; /* less than a word before the end */
            memcpy(ret_word, table->data + offset,
                   left < sizeof *ret_word ? (size_t)left : sizeof *ret_word);
            break;
        }
    }
    return true;
}

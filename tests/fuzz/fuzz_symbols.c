/* SPDX-License-Identifier: MIT */
/*
 * ELF files, as far as we read them ourselves: sections, build-ids, symbols, links to separate
 * debug information, and what of it is handed on to libdw.
 */
#include "fuzz.h"

#include <resmon/resmon.h>

#include "stack/debug_files.h"
#include "stack/debug_image.h"
#include "stack/demangle.h"
#include "stack/elf_file.h"
#include "stack/symbol_table.h"

static void check_ranges(const struct rm_ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++) {
        PROMISE(ranges->items[i].low < ranges->items[i].high);
        PROMISE(i == 0 || ranges->items[i].low >= ranges->items[i - 1].high);
    }
}

static void read_symbols(const struct rm_elf *elf)
{
    struct rm_symbol_table table = {.names = NULL};
    resmon_status status = rm_symbol_table_read(elf, &table);
    PROMISE((status == RESMON_OK) == (table.functions.count > 0));
    PROMISE(status == RESMON_OK || resmon_last_error()[0] != '\0');
    check_ranges(&table.functions);
    for (size_t i = 0; i < table.functions.count; i++) {
        const struct rm_range *range = &table.functions.items[i];
        const char *name = rm_symbol_table_find(&table, range->low);
        PROMISE(name != NULL && name[0] != '\0' && strchr(name, '@') == NULL);
        PROMISE(rm_symbol_table_find(&table, range->high - 1) == name);
    }
    rm_symbol_table_free(&table);
}

static void read_links(const struct rm_elf *elf)
{
    static struct rm_debug_file file;
    if (rm_debug_file_open(&file, elf, "/nonexistent") == RESMON_OK) {
        rm_debug_file_close(&file);
    }
    if (rm_debug_file_open_alternate(&file, elf, "/nonexistent") == RESMON_OK) {
        rm_debug_file_close(&file);
    }
}

/* It is an ELF file in turn. */
static void read_image(const struct rm_elf *elf)
{
    struct rm_debug_image image = {0};
    struct rm_elf again;
    if (rm_debug_image_read(elf, (size_t)1 << 22, &image) != RESMON_OK) {
        return;
    }
    PROMISE(image.mapping.memory != NULL);
    PROMISE(image.length + image.unpacked <= ((size_t)1 << 22) + 8192);
    PROMISE(rm_elf_of_memory(&again, "image", image.mapping.memory, image.length) == RESMON_OK);
    PROMISE(rm_elf_find(&again, ".debug_info", 0) != NULL);
    rm_elf_close(&again);
    rm_debug_image_free(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rm_elf elf;
    char build_id[RM_ELF_BUILD_ID_BYTES];
    if (rm_elf_of_memory(&elf, "/nonexistent/file", data, size) != RESMON_OK) {
        PROMISE(resmon_last_error()[0] != '\0');
        return 0;
    }
    PROMISE(rm_elf_build_id(&elf, build_id) == RESMON_OK);
    PROMISE(strlen(build_id) < sizeof build_id);
    read_symbols(&elf);
    read_links(&elf);
    read_image(&elf);
    rm_elf_close(&elf);
    return 0;
}

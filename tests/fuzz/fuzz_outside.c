/* SPDX-License-Identifier: MIT */
/*
 * What other processes write, or have a say in, when stacks of them are taken: their maps and files
 * (ELF), names of code made at run time (/tmp/perf-PID.map), names of Rust, and records of a ring
 * that are torn.
 */
#include "fuzz.h"

#include <sys/stat.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "base/alloc.h"
#include "names/names.h"
#include "os/elf_file.h"
#include "os/perf.h"
#include "os/proc_pid.h"
#include "stack/perf_map.h"

static void read_maps(const uint8_t *data, size_t size)
{
    struct rm_text text = rm_text_of((const char *)data, size), line;
    struct rm_proc_map map;
    while (rm_parse_line(&text, &line)) {
        if (rm_proc_map_parse(line, &map)) {
            PROMISE(map.start <= map.end);
            PROMISE(map.path.at >= line.at && map.path.end <= line.end &&
                    map.path.at <= map.path.end);
        }
    }
}

static void read_names(const uint8_t *data, size_t size)
{
    static struct rm_root root;
    char path[96];
    if (fuzz_path[0] == '\0') {
        (void)snprintf(path, sizeof path, "%s/tmp", fuzz_directory());
        PROMISE(mkdir(path, 0755) == 0);
        PROMISE(rm_root_open(&root, fuzz_directory()) == RESMON_OK);
    }
    (void)snprintf(path, sizeof path, "%s/tmp/perf-7.map", fuzz_directory());
    FILE *file = fopen(path, "wb");
    PROMISE(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    struct rm_perf_map *map = rm_perf_map_new(7);
    PROMISE(map != NULL);
    static const uint64_t addresses[] = {0, 1, 0x1000, 0x7f0000001234, UINT64_MAX};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        struct rm_perf_map_entry entry = {.name = NULL};
        if (rm_perf_map_find(map, addresses[i], &root, &entry)) {
            PROMISE(entry.start <= addresses[i] && addresses[i] - entry.start < entry.bytes);
            PROMISE(entry.name != NULL && strlen(entry.name) <= size);
        }
    }
    rm_perf_map_free(map);
}

static void read_elf(const uint8_t *data, size_t size)
{
    static const char *const sections[] = {".eh_frame_hdr", ".eh_frame", ".debug_frame"};
    struct rm_elf elf;
    char build_id[RM_ELF_BUILD_ID_BYTES];
    if (rm_elf_of_memory(&elf, "/nonexistent/file", data, size) != RESMON_OK) {
        PROMISE(resmon_last_error()[0] != '\0');
        return;
    }
    PROMISE(rm_elf_build_id(&elf, build_id) == RESMON_OK);
    PROMISE(strlen(build_id) < sizeof build_id);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        const struct rm_elf_section *section = rm_elf_find(&elf, sections[i], 0);
        char *bytes = NULL;
        uint64_t length = 0;
        if (section != NULL &&
            rm_elf_unpack(&elf, section, (uint64_t)1 << 22, &bytes, &length) == RESMON_OK) {
            PROMISE(length <= (uint64_t)1 << 22 && bytes[length] == '\0');
            rm_free(bytes);
        }
    }
    rm_elf_close(&elf);
}

static void read_rust(const uint8_t *data, size_t size)
{
    char symbol[512], text[256];
    size_t length = size < sizeof symbol - 1 ? size : sizeof symbol - 1;
    memcpy(symbol, data, length);
    symbol[length] = '\0';
    if (rm_rust_name(symbol, text, sizeof text)) {
        PROMISE(memchr(text, '\0', sizeof text) != NULL);
    }
    (void)snprintf(text, sizeof text, "%.255s", symbol);
    size_t before = strlen(text);
    rm_rust_name_mend(text);
    PROMISE(strlen(text) <= before);
}

/* The kernel's own, but a ring that is written over while it is read must end, too. */
static void read_ring(const uint8_t *data, size_t size)
{
    static unsigned char ring[4096];
    memset(ring, 0, sizeof ring);
    memcpy(ring, data, size < sizeof ring ? size : sizeof ring);
    struct rm_perf_buffer buffer = {
        .memory = ring, .data = ring, .mask = sizeof ring - 1, .head = sizeof ring};
    struct rm_perf_cursor cursor;
    for (size_t turns = 0; rm_perf_buffer_peek(&buffer, &cursor); turns++) {
        uint64_t word, words = 0;
        char path[40];
        PROMISE(turns <= sizeof ring / 8);
        (void)rm_perf_cursor_take(&cursor, path, sizeof path);
        while (rm_perf_cursor_word(&cursor, &word)) {
            PROMISE(++words <= sizeof ring / 8);
        }
        PROMISE(!rm_perf_cursor_skip(&cursor, 64));
        PROMISE(rm_perf_buffer_peek(&buffer, &cursor));
        rm_perf_buffer_pass(&buffer, &cursor);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_maps(data, size);
    read_names(data, size);
    read_elf(data, size);
    read_rust(data, size);
    read_ring(data, size);
    return 0;
}

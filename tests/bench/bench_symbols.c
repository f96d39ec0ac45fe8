/* SPDX-License-Identifier: MIT */
/*
 * Naming 10^5 distinct addresses of this program (or of BENCH_BINARY), against reading the parts of
 * the file that it needs; by its debug information and by symbols alone; beside addr2line, where
 * that is installed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/made_unnamed.h"
#include "bench.h"
#include "stack/debug_image.h"
#include "stack/elf_file.h"
#include "stack/naming.h"
#include "stack/symbol_table.h"

#define ADDRESSES 100000
#define MOST_S    2.0

struct setup {
    char path[4096];
    char build_id[RM_ELF_BUILD_ID_BYTES];
    uint64_t *addresses;
    size_t frames;
};

static void give_up(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", what, resmon_last_error());
    exit(2);
}

static void choose_addresses(struct setup *setup)
{
    struct rm_elf elf;
    if (rm_elf_open(&elf, setup->path) != RESMON_OK ||
        rm_elf_build_id(&elf, setup->build_id) != RESMON_OK) {
        give_up("cannot read the program");
    }
    const struct rm_elf_section *text = rm_elf_find(&elf, ".text", 0);
    setup->addresses = calloc(ADDRESSES, sizeof *setup->addresses);
    if (text == NULL || setup->addresses == NULL) {
        give_up("it has no code");
    }
    for (size_t i = 0; i < ADDRESSES; i++) {
        setup->addresses[i] =
            text->address + (uint64_t)((double)text->bytes / ADDRESSES * (double)i);
    }
    (void)printf("  %s: %.1f MiB, %.2f MiB of code, %s\n", setup->path,
                 (double)elf.file.bytes / 0x1p20, (double)text->bytes / 0x1p20,
                 rm_elf_find(&elf, ".debug_info", 0) != NULL ? "with debug information"
                                                             : "without debug information");
    rm_elf_close(&elf);
}

/* Reads it, and does nothing with it. */
static double floor_reads(void *context, size_t count)
{
    struct setup *setup = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        struct rm_elf elf;
        struct rm_debug_image image = {0};
        if (rm_elf_open(&elf, setup->path) != RESMON_OK) {
            give_up("cannot read the program");
        }
        (void)rm_debug_image_read(&elf, (size_t)RM_ELF_MOST_READ, &image);
        rm_debug_image_free(&image);
        rm_elf_close(&elf);
    }
    return (bench_now_ns() - start) / (double)count;
}

static double name_with(struct setup *setup, struct rm_naming *naming)
{
    struct resmon_run *run =
        made_unnamed(setup->path, setup->build_id, setup->addresses, ADDRESSES);
    double start = bench_now_ns();
    if (rm_naming_fill(naming, run) != RESMON_OK) {
        give_up("cannot name");
    }
    double took = bench_now_ns() - start;
    setup->frames = run->profile.frame_count;
    rm_run_free(run);
    return took;
}

static double our_names(void *context, size_t count)
{
    double took = 0.0;
    for (size_t i = 0; i < count; i++) {
        took += name_with(context, NULL);
    }
    return took / (double)count;
}

static double our_names_again(struct setup *setup)
{
    struct rm_naming *naming = NULL;
    if (rm_naming_new(NULL, &naming) != RESMON_OK) {
        give_up("cannot set up");
    }
    (void)name_with(setup, naming);
    double took = name_with(setup, naming);
    rm_naming_free(naming);
    return took;
}

static double symbols_alone(const struct setup *setup, size_t *ret_named)
{
    struct rm_elf elf;
    struct rm_symbol_table table = {0};
    double start = bench_now_ns();
    *ret_named = 0;
    if (rm_elf_open(&elf, setup->path) == RESMON_OK) {
        (void)rm_symbol_table_read(&elf, &table);
        for (size_t i = 0; i < ADDRESSES; i++) {
            *ret_named += rm_symbol_table_find(&table, setup->addresses[i]) != NULL;
        }
        rm_symbol_table_free(&table);
        rm_elf_close(&elf);
    }
    return bench_now_ns() - start;
}

static void peer(const struct setup *setup)
{
    char command[4200];
    if (system("addr2line --version > /dev/null 2>&1") != 0) {
        (void)printf("  addr2line: not installed\n");
        return;
    }
    (void)snprintf(command, sizeof command, "addr2line -fiCe '%s' > /dev/null", setup->path);
    double start = bench_now_ns();
    FILE *pipe = popen(command, "w");
    if (pipe == NULL) {
        return;
    }
    for (size_t i = 0; i < ADDRESSES; i++) {
        (void)fprintf(pipe, "%#llx\n", (unsigned long long)setup->addresses[i]);
    }
    int status = pclose(pipe);
    (void)printf("  addr2line: %.3f s%s\n", (bench_now_ns() - start) / 1e9,
                 status == 0 ? "" : " (it failed)");
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_symbols");
    static struct setup setup;
    size_t named = 0;
    const char *binary = getenv("BENCH_BINARY");
    ssize_t length = 0;
    if (binary != NULL) {
        (void)snprintf(setup.path, sizeof setup.path, "%s", binary);
    } else if ((length = readlink("/proc/self/exe", setup.path, sizeof setup.path - 1)) <= 0) {
        give_up("cannot tell where this program is");
    }
    choose_addresses(&setup);
    bench_ratio(&bench, "reading the file, and naming 10^5 addresses", floor_reads, our_names,
                &setup, 1, 0);
    bench_value(&bench, "naming 10^5 addresses", our_names(&setup, 3) / 1e9, "s", MOST_S);
    bench_value(&bench, "the same with what was opened before", our_names_again(&setup) / 1e9, "s",
                MOST_S);
    (void)printf("  %zu frames\n", setup.frames);
    double alone = symbols_alone(&setup, &named) / 1e9;
    bench_value(&bench, "symbols alone", alone, "s", 0.1 * MOST_S);
    (void)printf("  %zu named\n", named);
    peer(&setup);
    free(setup.addresses);
    return bench_end(&bench);
}

/* SPDX-License-Identifier: MIT */
/*
 * Symbolizing 10^5 distinct addresses of this program (or of BENCH_BINARY) by resmon-names, against
 * reading the file; and once more, of the kept reply; beside addr2line, where that is installed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/made_unnamed.h"
#include "bench.h"
#include "os/elf_file.h"
#include "symbols/naming.h"
#include "symbols/symbolizer.h"

#define ADDRESSES 100000
#define MOST_S    1.0 /* of a file of 29 MiB */

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
    static char bytes[1 << 20];
    struct setup *setup = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        FILE *file = fopen(setup->path, "rb");
        if (file == NULL) {
            give_up("cannot read the program");
        }
        while (fread(bytes, 1, sizeof bytes, file) > 0) {
        }
        (void)fclose(file);
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

/* Starting the program that looks names up, and asking it nothing. */
static double start_it(size_t count)
{
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        if (rm_symbolizer_check() != RESMON_OK) {
            give_up("cannot start resmon-names");
        }
    }
    return (bench_now_ns() - start) / (double)count;
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
    bench_value(&bench, "the same once more", our_names_again(&setup) / 1e9, "s", MOST_S);
    (void)printf("  %zu frames\n", setup.frames);
    bench_value(&bench, "starting resmon-names", start_it(20) / 1e9, "s", 0.02);
    peer(&setup);
    free(setup.addresses);
    return bench_end(&bench);
}

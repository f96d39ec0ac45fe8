/* SPDX-License-Identifier: MIT */
#include "collect/memory_modules.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "os/file.h"

#define EDAC "sys/devices/system/edac/mc"

/* "mc0/dimm3/size" in MiB; "rank3" is a part of a module. */
struct modules {
    const struct rm_root *root;
    struct rm_scratch *scratch;
    char controllers[16][16];
    size_t controller_count;
    unsigned numbers[256]; /* dimmN of the controller being listed */
    size_t number_count;
};

static bool keep_controller(void *context, const char *name)
{
    struct modules *modules = context;
    if (strncmp(name, "mc", 2) == 0 && strlen(name) < sizeof modules->controllers[0] &&
        modules->controller_count < RM_ARRAY_LEN(modules->controllers)) {
        (void)snprintf(modules->controllers[modules->controller_count++],
                       sizeof modules->controllers[0], "%.15s", name);
    }
    return true;
}

static bool keep_module(void *context, const char *name)
{
    struct modules *modules = context;
    struct rm_text text = rm_text_of(name, strlen(name));
    uint64_t number;
    if (rm_parse_literal(&text, "dimm") && rm_parse_u64(&text, &number) && number < 4096 &&
        modules->number_count < RM_ARRAY_LEN(modules->numbers)) {
        modules->numbers[modules->number_count++] = (unsigned)number;
    }
    return true;
}

static unsigned count_filled(struct modules *modules, const char *controller)
{
    unsigned filled = 0;
    for (size_t i = 0; i < modules->number_count; i++) {
        char path[96];
        uint64_t mib;
        (void)snprintf(path, sizeof path, EDAC "/%.15s/dimm%u/size", controller,
                       modules->numbers[i]);
        if (rm_file_read_u64(modules->root, path, modules->scratch, &mib) == RESMON_OK && mib > 0) {
            filled++;
        }
    }
    return filled;
}

unsigned rm_memory_modules(const struct rm_root *root, struct rm_scratch *scratch)
{
    struct modules modules = {.root = root, .scratch = scratch};
    unsigned count = 0;
    if (rm_dir_visit(root, EDAC, keep_controller, &modules) != RESMON_OK) {
        return 0;
    }
    for (size_t i = 0; i < modules.controller_count; i++) {
        char path[96];
        (void)snprintf(path, sizeof path, EDAC "/%.15s", modules.controllers[i]);
        modules.number_count = 0;
        if (rm_dir_visit(root, path, keep_module, &modules) == RESMON_OK) {
            count += count_filled(&modules, modules.controllers[i]);
        }
    }
    return count;
}

/* SPDX-License-Identifier: MIT */
#include "stack/named_modules.h"

#include "base/status.h"

static void drop(struct rm_named_modules *modules, size_t index)
{
    rm_symbols_free(modules->modules[index].symbols);
    modules->modules[index] = modules->modules[--modules->count];
}

static void drop_oldest(struct rm_named_modules *modules)
{
    size_t oldest = 0;
    for (size_t i = 1; i < modules->count; i++) {
        if (modules->modules[i].used < modules->modules[oldest].used) {
            oldest = i;
        }
    }
    drop(modules, oldest);
}

void rm_named_modules_begin(struct rm_named_modules *modules)
{
    modules->round++;
}

resmon_status rm_named_modules_get(struct rm_named_modules *modules,
                                   const struct rm_symbols_origin *origin,
                                   struct rm_symbols **ret_symbols)
{
    for (size_t i = 0; i < modules->count; i++) {
        struct rm_named_module *module = &modules->modules[i];
        if (rm_symbols_is_of(module->symbols, origin->path, origin->build_id)) {
            module->used = modules->round;
            *ret_symbols = module->symbols;
            return RESMON_OK;
        }
    }
    if (modules->count == RM_MOST_NAMED_MODULES) {
        drop_oldest(modules);
    }
    resmon_status status = rm_symbols_new(origin, ret_symbols);
    if (status == RESMON_OK) {
        modules->modules[modules->count++] = (struct rm_named_module){*ret_symbols, modules->round};
    }
    return status;
}

void rm_named_modules_end(struct rm_named_modules *modules)
{
    const char *reason = NULL;
    for (size_t i = modules->count; i-- > 0;) {
        if (rm_symbols_status(modules->modules[i].symbols, &reason) != RESMON_OK) {
            drop(modules, i);
        }
    }
}

void rm_named_modules_free(struct rm_named_modules *modules)
{
    for (size_t i = 0; i < modules->count; i++) {
        rm_symbols_free(modules->modules[i].symbols);
    }
    modules->count = 0;
}

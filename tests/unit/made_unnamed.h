/* SPDX-License-Identifier: MIT */
/*
 * Profiles as a sampler leaves them: places that are addresses in modules, and stacks of them.
 */
#ifndef RESMON_TESTS_MADE_UNNAMED_H
#define RESMON_TESTS_MADE_UNNAMED_H

#include <stdint.h>
#include <stdlib.h>

#include "run/record.h"
#include "run/run.h"

static inline void *made_array(struct resmon_run *run, size_t count, size_t size)
{
    void *memory = rm_arena_alloc(&run->strings, count, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* A run with one module (bias 0) and a stack of these addresses of its file, innermost first; its
 * second stack is all but the innermost. */
static inline struct resmon_run *made_unnamed(const char *path, const char *build_id,
                                              const uint64_t *addresses, size_t count)
{
    struct resmon_run *run = rm_run_new();
    if (run == NULL) {
        abort();
    }
    struct rm_run_profile *profile = &run->profile;
    profile->kinds[RESMON_STACK_CPU].status = RESMON_OK;
    profile->modules = made_array(run, 1, sizeof *profile->modules);
    profile->module_count = 1;
    profile->modules[0] =
        (struct rm_run_module){.path = path, .build_id = build_id, .end = UINT64_MAX};
    profile->places = made_array(run, count, sizeof *profile->places);
    profile->frames = made_array(run, count, sizeof *profile->frames);
    profile->place_count = profile->frame_count = count;
    for (size_t i = 0; i < count; i++) {
        profile->places[i] =
            (struct rm_run_place){.function = "", .file = "", .address = addresses[i]};
        profile->frames[i] = (uint32_t)i;
    }
    profile->stacks = made_array(run, 2, sizeof *profile->stacks);
    profile->stack_count = count > 0 ? 2 : 1;
    profile->stacks[0] = (struct rm_run_stack){.scope = -1, .depth = (uint32_t)count};
    profile->stacks[1] = (struct rm_run_stack){
        .scope = -1, .first = count > 0, .depth = count > 0 ? (uint32_t)count - 1 : 0};
    return run;
}

#endif

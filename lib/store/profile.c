/* SPDX-License-Identifier: MIT */
#include "store/profile.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text.h"

const char *const rm_stack_loss_names[RM_LOSS_COUNT] = {
    [RM_LOSS_RING] = "ring_full",     [RM_LOSS_ROOM] = "no_room",    [RM_LOSS_DEPTH] = "too_deep",
    [RM_LOSS_UNWIND] = "not_unwound", [RM_LOSS_BLOCKED] = "blocked", [RM_LOSS_THREADS] = "threads",
    [RM_LOSS_MODULES] = "modules",
};

const char *const rm_stack_loss_texts[RM_LOSS_COUNT] = {
    [RM_LOSS_RING] = "samples came faster than they were taken out",
    [RM_LOSS_ROOM] = "samples of stacks for which the run has no room",
    [RM_LOSS_DEPTH] = "samples of stacks deeper than 128 frames, cut there",
    [RM_LOSS_UNWIND] = "samples whose stack could be followed a part of the way only",
    [RM_LOSS_BLOCKED] = "samples of threads that had the signal blocked",
    [RM_LOSS_THREADS] = "threads could not be sampled",
    [RM_LOSS_MODULES] = "libraries past the first 1024: what is in them has addresses only",
};

const char *const rm_stack_kind_names[RM_STACK_KINDS] = {
    [RESMON_STACK_CPU] = "cpu", [RESMON_STACK_MEMORY] = "memory", [RESMON_STACK_FILE] = "file"};

struct rm_run_profile rm_profile_none(void)
{
    struct rm_run_profile profile = {.peak = {.t_ns = -1, .headroom_bytes = RM_NAN}};
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        profile.kinds[i] =
            (struct rm_run_stack_kind){.status = RESMON_ESTATE, .reason = "", .total = RM_NAN};
    }
    return profile;
}

int rm_profile_is_there(const struct rm_run_profile *profile)
{
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        if (profile->kinds[i].status != RESMON_ESTATE) {
            return 1;
        }
    }
    return profile->stack_count > 0 || profile->peak.stack_count > 0;
}

void rm_place_name(const struct rm_run_profile *profile, const struct rm_run_place *place,
                   char name[RM_PLACE_NAME_BYTES])
{
    if (place->function[0] != '\0') {
        (void)rm_text_set(name, RM_PLACE_NAME_BYTES, place->function);
        return;
    }
    if (place->module < 0 || (size_t)place->module >= profile->module_count) {
        (void)snprintf(name, RM_PLACE_NAME_BYTES, "0x%llx", (unsigned long long)place->address);
        return;
    }
    const struct rm_run_module *module = &profile->modules[place->module];
    const char *slash = strrchr(module->path, '/');
    (void)snprintf(name, RM_PLACE_NAME_BYTES, "%.400s+0x%llx",
                   slash != NULL ? slash + 1 : module->path,
                   (unsigned long long)(place->address - module->bias));
}

/* SPDX-License-Identifier: MIT */
/*
 * What the program resmon-names replies: the profile of a run is consistent and terminated,
 * whatever that was, and whether the program ended well or not (the first byte).
 */
#include "fuzz.h"

#include <resmon/resmon.h>

#include "../unit/made_unnamed.h"
#include "names/protocol.h"
#include "symbols/naming.h"
#include "symbols/symbolizer.h"

static const uint8_t *reply_bytes;
static size_t reply_length;
static resmon_status reply_with_bytes(const struct rm_buffer *request, struct rm_buffer *reply)
{
    PROMISE(request->status == RESMON_OK && request->length > 0);
    rm_buffer_add(reply, (const char *)reply_bytes, reply_length);
    return RESMON_OK;
}

static void check(const struct rm_run_profile *profile)
{
    for (size_t i = 0; i < profile->frame_count; i++) {
        PROMISE(profile->frames[i] < profile->place_count);
    }
    for (size_t i = 0; i < profile->place_count; i++) {
        const struct rm_run_place *place = &profile->places[i];
        PROMISE(place->module >= 0 && place->module < (int64_t)profile->module_count);
        PROMISE(strlen(place->function) <= RM_NAMES_MOST_TEXT);
        PROMISE(strlen(place->file) <= RM_NAMES_MOST_TEXT);
        PROMISE(place->line <= INT32_MAX && place->is_inlined <= 1);
    }
    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct rm_run_stack *stack = &profile->stacks[i];
        PROMISE(stack->first <= profile->frame_count);
        PROMISE(stack->depth <= profile->frame_count - stack->first);
    }
}

/* Two modules, with two addresses in each. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t addresses[] = {0x1000, 0x2000, 0x1000, 0x2000};
    reply_bytes = data;
    reply_length = size;
    rm_symbolizer.ask = reply_with_bytes;
    struct resmon_run *run = made_unnamed("/a", "", addresses, 4);
    struct rm_run_profile *profile = &run->profile;
    profile->modules = made_array(run, 2, sizeof *profile->modules);
    profile->module_count = 2;
    profile->modules[0] = (struct rm_run_module){.path = "/a", .build_id = ""};
    profile->modules[1] = (struct rm_run_module){.path = "/b", .build_id = "0123"};
    profile->places[2].module = profile->places[3].module = 1;
    PROMISE(rm_naming_fill(NULL, run) == RESMON_OK);
    check(profile);
    rm_run_free(run);
    return 0;
}

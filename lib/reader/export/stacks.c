/* SPDX-License-Identifier: MIT */
#include "export/stacks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"

resmon_status rm_stacks_check(const struct resmon_run *run, int32_t kind)
{
    const struct rm_run_stack_kind *kinds = run->profile.kinds;
    const char *reason = "";
    for (int32_t i = 0; i < RM_STACK_KINDS; i++) {
        if (kind >= 0 && kind != i) {
            continue;
        }
        if (kinds[i].status == RESMON_OK) {
            return RESMON_OK;
        }
        bool is_failure = kinds[i].status != RESMON_ESTATE && kinds[i].reason[0] != '\0';
        reason = is_failure && reason[0] == '\0' ? kinds[i].reason : reason;
    }
    return rm_error(RESMON_ENOENT, "the run has no stacks%s%s%s%s", kind >= 0 ? " of " : "",
                    kind >= 0 ? rm_stack_kind_names[kind] : "",
                    reason[0] != '\0' ? ": " : ": they were not requested (stacks=)", reason);
}

size_t rm_stacks_scopes(const struct resmon_run *run, int64_t scope, uint32_t path[RM_STACK_SCOPES])
{
    size_t count = 0;
    while (scope >= 0 && (size_t)scope < run->scope_count && count < RM_STACK_SCOPES) {
        path[count++] = (uint32_t)scope;
        int64_t parent = run->scopes[scope].parent;
        scope = parent < scope ? parent : -1;
    }
    for (size_t i = 0; i < count / 2; i++) {
        uint32_t inner = path[i];
        path[i] = path[count - 1 - i];
        path[count - 1 - i] = inner;
    }
    return count;
}

uint64_t rm_stacks_whole(double weight)
{
    return weight > 0.0 && weight < 0x1p62 ? (uint64_t)(weight + 0.5) : 0;
}

/* ---- frames ------------------------------------------------------------------------------- */

static uint32_t number_of(struct rm_stack_frames *frames, struct rm_buffer *text,
                          rm_stack_frame_print print, const char *name,
                          const struct rm_run_place *place)
{
    rm_buffer_clear(text);
    print(text, name, place);
    if (text->status != RESMON_OK || text->length == 0) {
        frames->texts.is_broken = true;
        return 0;
    }
    return rm_intern(&frames->texts, text->text, text->length);
}

static void add_scopes(const struct resmon_run *run, rm_stack_frame_print print,
                       struct rm_stack_frames *frames, struct rm_buffer *text)
{
    char name[RM_PLACE_NAME_BYTES], inner[RM_PLACE_NAME_BYTES - 2];
    for (size_t i = 0; i < run->scope_count && !frames->texts.is_broken; i++) {
        (void)rm_text_set(inner, sizeof inner, run->scopes[i].name);
        (void)snprintf(name, sizeof name, "[%s]", inner);
        frames->of_scope[i] = number_of(frames, text, print, name, NULL);
    }
}

static void add_places(const struct resmon_run *run, rm_stack_frame_print print,
                       struct rm_stack_frames *frames, struct rm_buffer *text)
{
    const struct rm_run_profile *profile = &run->profile;
    char name[RM_PLACE_NAME_BYTES];
    for (size_t i = 0; i < profile->place_count && !frames->texts.is_broken; i++) {
        rm_place_name(profile, &profile->places[i], name);
        rm_text_clean(name);
        frames->of_place[i] = number_of(frames, text, print, name, &profile->places[i]);
    }
}

resmon_status rm_stack_frames_make(const struct resmon_run *run, rm_stack_frame_print print,
                                   struct rm_stack_frames *ret_frames)
{
    struct rm_buffer text;
    *ret_frames = (struct rm_stack_frames){
        .of_place = rm_alloc(run->profile.place_count + 1, sizeof *ret_frames->of_place),
        .of_scope = rm_alloc(run->scope_count + 1, sizeof *ret_frames->of_scope),
    };
    if (ret_frames->of_place == NULL || ret_frames->of_scope == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the names of stacks");
    }
    rm_buffer_init(&text, (size_t)1 << 20);
    add_scopes(run, print, ret_frames, &text);
    add_places(run, print, ret_frames, &text);
    ret_frames->cut = number_of(ret_frames, &text, print, "(cut)", NULL);
    rm_buffer_free(&text);
    return ret_frames->texts.is_broken
               ? rm_error(RESMON_ENOMEM, "out of memory for the names of stacks")
               : RESMON_OK;
}

void rm_stack_frames_free(struct rm_stack_frames *frames)
{
    rm_intern_free(&frames->texts);
    rm_free(frames->of_place);
    rm_free(frames->of_scope);
    *frames = (struct rm_stack_frames){0};
}

size_t rm_stack_frames_most(const struct resmon_run *run)
{
    size_t deepest = 0;
    for (size_t i = 0; i < run->profile.stack_count; i++) {
        size_t depth = run->profile.stacks[i].depth;
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + RM_STACK_SCOPES + 1;
}

size_t rm_stack_frames_list(const struct rm_stack_frames *frames, const struct resmon_run *run,
                            const struct rm_run_stack *stack, uint32_t *list)
{
    uint32_t scopes[RM_STACK_SCOPES];
    size_t count = rm_stacks_scopes(run, stack->scope, scopes);
    for (size_t i = 0; i < count; i++) {
        list[i] = frames->of_scope[scopes[i]];
    }
    if (stack->is_cut || stack->depth == 0) {
        list[count++] = frames->cut;
    }
    for (uint32_t i = stack->depth; i > 0; i--) {
        list[count++] = frames->of_place[run->profile.frames[stack->first + i - 1]];
    }
    return count;
}

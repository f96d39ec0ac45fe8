/* SPDX-License-Identifier: MIT */
/* In place of stack/naming.c when the library is built without stacks: those of a run that another
 * library made keep their addresses, and the names that they have. */
#include <stdio.h>
#include <string.h>

#include "base/feature.h"
#include "base/status.h"
#include "run/run.h"
#include "stack/naming.h"

resmon_status rm_naming_new(const char *debug_root, struct rm_naming **ret_naming)
{
    (void)debug_root;
    *ret_naming = NULL;
    return RESMON_OK;
}

void rm_naming_try(struct rm_naming *naming, struct resmon_run *run)
{
    (void)naming;
    const struct rm_run_profile *profile = &run->profile;
    rm_profile_trim(&run->profile);
    for (size_t i = 0; i < profile->place_count; i++) {
        if (profile->places[i].function[0] != '\0' || profile->places[i].file[0] != '\0') {
            return;
        }
    }
    char text[RM_ERROR_TEXT_BYTES];
    (void)rm_feature_need(RM_FEATURE_STACKS);
    (void)snprintf(text, sizeof text, "names are left out: %s", resmon_last_error());
    for (size_t i = 0; i < RM_STACK_KINDS && profile->place_count > 0; i++) {
        struct rm_run_stack_kind *kind = &run->profile.kinds[i];
        if (kind->status == RESMON_OK && kind->reason[0] == '\0') {
            const char *reason = rm_arena_text(&run->strings, text, strlen(text));
            kind->reason = reason != NULL ? reason : "";
        }
    }
}

void rm_naming_put_off(struct resmon_run *run)
{
    (void)run;
}

void rm_naming_free(struct rm_naming *naming)
{
    (void)naming;
}

/* SPDX-License-Identifier: MIT */
#include "stack/shortage.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/text.h"
#include "store/profile.h"

#define MOST_PATH_BYTES 256

void rm_shortage_add(struct rm_shortage *shortage, const char *missing, const char *why)
{
    if (shortage->count++ == 0) {
        shortage->missing = missing;
        (void)rm_text_set(shortage->why, sizeof shortage->why, why);
    }
}

void rm_shortage_add_stripped(struct rm_shortage *shortage, const struct rm_run_module *module)
{
    if (shortage->stripped_count < RM_SHORTAGE_FILES) {
        shortage->stripped[shortage->stripped_count] = module;
    }
    shortage->stripped_count++;
}

static void write_reason(struct rm_buffer *text, const struct rm_shortage *shortage)
{
    if (shortage->count == 0) {
        return;
    }
    rm_buffer_printf(text, "%s are missing: %s", shortage->missing, shortage->why);
    if (shortage->count > 1) {
        rm_buffer_printf(text, " (and of %zu more files)", shortage->count - 1);
    }
}

static void write_stripped(struct rm_buffer *text, const struct rm_shortage *shortage)
{
    size_t count = shortage->stripped_count;
    if (count == 0) {
        return;
    }
    rm_buffer_puts(text, shortage->count > 0 ? "; names are missing: " : "names are missing: ");
    for (size_t i = 0; i < count && i < RM_SHORTAGE_FILES; i++) {
        const struct rm_run_module *module = shortage->stripped[i];
        rm_buffer_printf(text, "%s%.*s", i > 0 ? ", " : "", MOST_PATH_BYTES, module->path);
        if (module->build_id[0] != '\0') {
            rm_buffer_printf(text, " (build-id %s)", module->build_id);
        }
    }
    if (count > RM_SHORTAGE_FILES) {
        rm_buffer_printf(text, " and %zu more", count - RM_SHORTAGE_FILES);
    }
    rm_buffer_puts(text, count == 1 ? " is stripped, with no .symtab and no separate debug file: "
                                      "install its -dbg or -dbgsym package, or build it with -g "
                                      "and do not strip it"
                                    : " are stripped, with no .symtab and no separate debug "
                                      "files: install their -dbg or -dbgsym packages, or build "
                                      "them with -g and do not strip them");
}

const char *rm_shortage_text(const struct rm_shortage *shortage, struct rm_arena *arena)
{
    struct rm_buffer text;
    rm_buffer_init(&text, (size_t)RM_SHORTAGE_BYTES + 4096);
    write_reason(&text, shortage);
    write_stripped(&text, shortage);
    const char *kept = "";
    if (text.status != RESMON_OK) {
        kept = NULL;
    } else if (text.length > 0) {
        kept = rm_arena_text(arena, text.text, text.length);
    }
    rm_buffer_free(&text);
    return kept;
}

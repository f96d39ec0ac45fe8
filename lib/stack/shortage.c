/* SPDX-License-Identifier: MIT */
#include "stack/shortage.h"

#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/text.h"
#include "run/profile.h"

#define MOST_PATH_BYTES   256
#define MOST_REASON_BYTES 1024
#define MOST_BYTES        ((size_t)RM_SHORTAGE_BYTES + 4096)

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

static const char *keep(struct rm_buffer *text, struct rm_arena *arena)
{
    const char *kept = "";
    if (text->status != RESMON_OK) {
        kept = NULL;
    } else if (text->length > 0) {
        kept = rm_arena_text(arena, text->text, text->length);
    }
    rm_buffer_free(text);
    return kept;
}

const char *rm_shortage_text(const struct rm_shortage *shortage, struct rm_arena *arena)
{
    struct rm_buffer text;
    rm_buffer_init(&text, MOST_BYTES);
    write_reason(&text, shortage);
    write_stripped(&text, shortage);
    return keep(&text, arena);
}

const char *rm_shortage_join(const char *reason, const char *text, struct rm_arena *arena)
{
    struct rm_buffer joined;
    if (reason[0] == '\0' || strstr(reason, text) != NULL) {
        return reason[0] == '\0' ? text : reason;
    }
    rm_buffer_init(&joined, 2 * MOST_BYTES);
    rm_buffer_printf(&joined, "%.*s; %s", MOST_REASON_BYTES, reason, text);
    return keep(&joined, arena);
}

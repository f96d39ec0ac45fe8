/* SPDX-License-Identifier: MIT */
#include "run/profile.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"

#define LEFT_OUT "names are left out: "

struct rm_run_profile rm_profile_none(void)
{
    struct rm_run_profile profile = {
        .peak = {
            .t_ns = -1, .headroom_bytes = RM_NAN, .highest_rss_bytes = RM_NAN, .highest_t_ns = -1}};
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        profile.kinds[i] = (struct rm_run_stack_kind){.status = RESMON_ESTATE,
                                                      .reason = "",
                                                      .total = RM_NAN,
                                                      .first_bytes = RM_NAN,
                                                      .last_bytes = RM_NAN};
    }
    return profile;
}

/* The failed allocation may be the text of a reason, or the list of kinds. */
void rm_profile_give_up(struct rm_run_profile *profile, int32_t status, const char *reason)
{
    struct rm_run_profile none = rm_profile_none();
    bool is_any_known = false;
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        is_any_known = is_any_known || profile->kinds[i].status == RESMON_OK;
    }
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        int32_t known = profile->kinds[i].status;
        if (known == RESMON_OK || !is_any_known) {
            none.kinds[i].status = status;
            none.kinds[i].reason = reason;
        } else {
            none.kinds[i].status = known;
        }
    }
    *profile = none;
}

/* Appends `text` to a reason; a remark about names that were left out is replaced.
 * NULL: no memory. */
static const char *join(struct rm_arena *arena, const char *reason, const char *text)
{
    struct rm_buffer joined;
    const char *left_out = strstr(reason, LEFT_OUT);
    size_t length = left_out != NULL ? (size_t)(left_out - reason) : strlen(reason);
    length -= left_out != NULL && length >= 2 ? 2 : 0; /* "; " */
    if (left_out == NULL && strstr(reason, text) != NULL) {
        return reason;
    }
    rm_buffer_init(&joined, (size_t)2 * RM_PROFILE_REASON_BYTES);
    rm_buffer_add(&joined, reason,
                  length < RM_PROFILE_REASON_BYTES ? length : RM_PROFILE_REASON_BYTES);
    rm_buffer_printf(&joined, "%s%s", length > 0 && text[0] != '\0' ? "; " : "", text);
    const char *kept =
        joined.status == RESMON_OK ? rm_arena_text(arena, joined.text, joined.length) : NULL;
    rm_buffer_free(&joined);
    return kept;
}

bool rm_profile_add_reason(struct rm_run_profile *profile, struct rm_arena *arena, const char *text)
{
    const char *reasons[RM_STACK_KINDS];
    struct rm_run_stack_kind *kinds = profile->kinds;
    bool is_whole = true;
    for (size_t i = 0; i < RM_STACK_KINDS; i++) {
        const char *reason = kinds[i].reason;
        reasons[i] = kinds[i].status == RESMON_OK ? join(arena, reason, text) : reason;
        is_whole = is_whole && reasons[i] != NULL;
    }
    for (size_t i = 0; i < RM_STACK_KINDS && is_whole; i++) {
        kinds[i].reason = reasons[i];
    }
    return is_whole;
}

void rm_profile_leave_names_out(struct rm_run_profile *profile, struct rm_arena *arena,
                                const char *why)
{
    char text[RM_ERROR_TEXT_BYTES + sizeof LEFT_OUT];
    (void)snprintf(text, sizeof text, LEFT_OUT "%s", why);
    (void)rm_profile_add_reason(profile, arena, text);
}

struct rm_stack_interval rm_stack_interval_of(double weight, double error, double most)
{
    const double z = 1.959963984540054; /* the quantile 97.5 % of the normal distribution */
    if (!(error > 0.0) || !(weight > 0.0)) {
        return (struct rm_stack_interval){weight, weight};
    }
    double n = weight / error * (weight / error);
    double low = 1.0 - 1.0 / (9.0 * n) - z / (3.0 * sqrt(n));
    double high = 1.0 - 1.0 / (9.0 * (n + 1.0)) + z / (3.0 * sqrt(n + 1.0));
    struct rm_stack_interval interval = {
        .low = low > 0.0 ? weight * low * low * low : 0.0,
        .high = weight * (n + 1.0) / n * high * high * high,
    };
    if (most >= weight && most < interval.high) {
        interval.high = most;
    }
    return interval;
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

/* ---- what is not the program's ---------------------------------------------------------- */

static const char *module_of(const struct rm_run_profile *profile, const struct rm_run_place *place)
{
    return place->module >= 0 && (size_t)place->module < profile->module_count
               ? rm_text_base_name(profile->modules[place->module].path)
               : "";
}

static bool begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_start_up(const struct rm_run_profile *profile, const struct rm_run_place *place)
{
    static const char *const names[] = {"_start",
                                        "__libc_start_main",
                                        "__libc_start_main_impl",
                                        "__libc_start_call_main",
                                        "start_thread",
                                        "thread_start",
                                        "clone",
                                        "clone3",
                                        "__clone",
                                        "__clone3",
                                        "__GI___clone3",
                                        "__GI___clone"};
    (void)profile;
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        if (strcmp(place->function, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a place is in this library. If it is linked statically, its functions that programs call
 * have its name; the functions that these call are inside of them in the stack. */
static bool is_own(const struct rm_run_profile *profile, const struct rm_run_place *place)
{
    return begins(module_of(profile, place), "libresmon.so") || begins(place->function, "resmon_");
}

static bool is_of_c_library(const struct rm_run_profile *profile, const struct rm_run_place *place)
{
    static const char *const names[] = {"libc.so", "libc-",   "ld-linux",  "ld-",
                                        "[vdso]",  "libm.so", "libpthread"};
    const char *module = module_of(profile, place);
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        if (begins(module, names[i])) {
            return true;
        }
    }
    return false;
}

typedef bool (*place_test)(const struct rm_run_profile *profile, const struct rm_run_place *place);

struct frames {
    const uint32_t *list;
    uint32_t count;
};

static bool is_frame(const struct rm_run_profile *profile, struct frames frames, uint32_t index,
                     place_test test)
{
    return test(profile, &profile->places[frames.list[index]]);
}

/* Number of innermost frames that belong to this library. */
static uint32_t own_frames(const struct rm_run_profile *profile, struct frames frames)
{
    uint32_t at = 0;
    while (at < frames.count && is_frame(profile, frames, at, is_of_c_library)) {
        at++;
    }
    uint32_t first = at;
    while (at < frames.count && is_frame(profile, frames, at, is_own)) {
        at++;
    }
    return at > first ? at : 0;
}

/* The name of another process is the frame around all its frames: "[cc1]". */
static bool is_process(const struct rm_run_profile *profile, const struct rm_run_place *place)
{
    (void)profile;
    return place->module < 0 && place->function[0] == '[';
}

static void trim(const struct rm_run_profile *profile, size_t *first, uint32_t *depth, bool is_cut)
{
    struct frames frames = {&profile->frames[*first], *depth};
    uint32_t inner = own_frames(profile, frames);
    bool has_process =
        frames.count > inner && is_frame(profile, frames, frames.count - 1, is_process);
    uint32_t count = frames.count - (has_process ? 1 : 0);
    while (!is_cut && count > inner && is_frame(profile, frames, count - 1, is_start_up)) {
        count--;
    }
    if (has_process) {
        profile->frames[*first + count] = frames.list[frames.count - 1];
        count++;
    }
    if (count > inner) {
        *first += inner;
        *depth = count - inner;
    }
}

void rm_profile_trim(struct rm_run_profile *profile)
{
    for (size_t i = 0; i < profile->stack_count; i++) {
        struct rm_run_stack *stack = &profile->stacks[i];
        trim(profile, &stack->first, &stack->depth, stack->is_cut != 0);
    }
    for (size_t i = 0; i < profile->peak.stack_count; i++) {
        struct rm_run_peak_stack *stack = &profile->peak.stacks[i];
        trim(profile, &stack->first, &stack->depth, stack->is_cut != 0);
    }
}

void rm_place_name(const struct rm_run_profile *profile, const struct rm_run_place *place,
                   char name[RM_PLACE_NAME_BYTES])
{
    if (place->function[0] != '\0') {
        (void)rm_text_set(name, RM_PLACE_NAME_BYTES, place->function);
        return;
    }
    const char *module = module_of(profile, place);
    if (module[0] != '\0') {
        (void)rm_text_set(name, RM_PLACE_NAME_BYTES, module);
    } else {
        (void)snprintf(name, RM_PLACE_NAME_BYTES, "0x%llx", (unsigned long long)place->address);
    }
}

/* ---- one kind of frames ------------------------------------------------------------------ */

/* Code with a name and a file, and in no module.  Names in brackets belong to both. */
static bool is_kept(const struct rm_run_place *place, bool keeps_python)
{
    bool is_python = place->module < 0 && place->file[0] != '\0';
    return is_python == keeps_python || (place->module < 0 && place->function[0] == '[');
}

static void keep(struct rm_run_profile *profile, size_t first, uint32_t *depth, bool keeps_python)
{
    uint32_t *frames = &profile->frames[first];
    bool has_any = false;
    for (uint32_t i = 0; i < *depth; i++) {
        const struct rm_run_place *place = &profile->places[frames[i]];
        has_any = has_any || (is_kept(place, keeps_python) && place->function[0] != '[');
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < *depth && has_any; i++) {
        frames[count] = frames[i];
        count += is_kept(&profile->places[frames[i]], keeps_python) ? 1 : 0;
    }
    *depth = has_any ? count : *depth;
}

void rm_profile_keep(struct rm_run_profile *profile, bool keeps_python)
{
    for (size_t i = 0; i < profile->stack_count; i++) {
        keep(profile, profile->stacks[i].first, &profile->stacks[i].depth, keeps_python);
    }
    for (size_t i = 0; i < profile->peak.stack_count; i++) {
        struct rm_run_peak_stack *stack = &profile->peak.stacks[i];
        keep(profile, stack->first, &stack->depth, keeps_python);
    }
}

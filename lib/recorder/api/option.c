/* SPDX-License-Identifier: MIT */
/* <resmon/option.h>: the content of the tables of options and sinks. */
#include <resmon/option.h>

#include <string.h>

#include "api/plan.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "base/text.h"
#include "sink/sinks.h"

#define LARGEST_TEXT ((size_t)64 << 10)

/* ---- all sets of options ------------------------------------------------------------------ */

static const struct {
    const char *owner;
    const struct rm_option_set *set;
} own_sets[] = {
    {"monitor", &rm_monitor_options},
    {"carbon", &rm_carbon_options},
    {"environment", &rm_environment_options},
};

/* Set of options `index`; the sets of the sinks are last.  NULL: past the end. */
static const struct rm_option_set *set_at(size_t index, const char **ret_owner)
{
    if (index < RM_ARRAY_LEN(own_sets)) {
        *ret_owner = own_sets[index].owner;
        return own_sets[index].set;
    }
    const struct rm_sink_kind *kind = rm_sink_kind_at(index - RM_ARRAY_LEN(own_sets));
    *ret_owner = kind != NULL ? kind->set.name : "";
    return kind != NULL ? &kind->set : NULL;
}

resmon_status rm_plan_read(const char *text, bool is_environment, struct rm_plan *ret_plan)
{
    const struct rm_option_set *sinks[RM_PLAN_SINKS];
    struct rm_plan_terms terms = {.sinks = sinks, .is_environment = is_environment};
    const struct rm_sink_kind *kind;
    while (terms.sink_count < RM_PLAN_SINKS && (kind = rm_sink_kind_at(terms.sink_count)) != NULL) {
        sinks[terms.sink_count++] = &kind->set;
    }
    return rm_plan_parse(text, &terms, ret_plan);
}

/* ---- one by one --------------------------------------------------------------------------- */

size_t resmon_option_count(void)
{
    size_t count = 0;
    const char *owner;
    const struct rm_option_set *set;
    for (size_t i = 0; (set = set_at(i, &owner)) != NULL; i++) {
        count += set->count;
    }
    return count;
}

static resmon_option describe(const char *owner, const struct rm_option_set *set,
                              const struct rm_option *option)
{
    char text[RM_OPTION_VALUE_BYTES];
    resmon_option known = {
        .struct_size = sizeof known,
        .owner = owner,
        .key = option->key,
        .type = rm_option_type_name(option->type),
        .unit = option->type == RM_OPTION_DURATION ? "ms"
                : option->unit != NULL             ? option->unit
                                                   : "",
        .help = option->help,
        .is_needed = option->is_needed,
        .is_main = set->main != NULL && strcmp(set->main, option->key) == 0,
        .has_bare = option->bare != NULL,
    };
    rm_option_low(option, text);
    (void)rm_text_set(known.low, sizeof known.low, text);
    rm_option_high(option, text);
    (void)rm_text_set(known.high, sizeof known.high, text);
    rm_option_default(option, text);
    (void)rm_text_set(known.default_text, sizeof known.default_text, text);
    rm_option_list_names(option, known.values, sizeof known.values);
    return known;
}

resmon_status resmon_option_at(size_t index, resmon_option *ret_option)
{
    RM_KEEP_ERRNO;
    const char *owner;
    const struct rm_option_set *set;
    for (size_t i = 0; (set = set_at(i, &owner)) != NULL; i++) {
        if (index < set->count) {
            const resmon_option known = describe(owner, set, &set->options[index]);
            return rm_struct_give(&known, RM_STRUCT_SIZE(resmon_option), ret_option);
        }
        index -= set->count;
    }
    return rm_error(RESMON_ENOENT, "there is no such option: there are %zu", resmon_option_count());
}

resmon_status resmon_option_bits(const char *key, const char *names, uint64_t *ret_bits)
{
    RM_KEEP_ERRNO;
    if (key == NULL || names == NULL || ret_bits == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_option_bits: an argument is NULL");
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(own_sets); i++) {
        const struct rm_option *option = rm_option_find(own_sets[i].set, key);
        if (option != NULL && option->type == RM_OPTION_NAMES) {
            return rm_option_bits(option, names, ret_bits);
        }
    }
    return rm_error(RESMON_ENOENT, "resmon_option_bits: '%.64s' is not an option that takes names",
                    key);
}

size_t resmon_sink_kind_count(void)
{
    size_t count = 0;
    while (rm_sink_kind_at(count) != NULL) {
        count++;
    }
    return count;
}

static resmon_status give_kind(const struct rm_sink_kind *kind, resmon_sink_kind *ret_kind)
{
    const resmon_sink_kind known = {
        .struct_size = sizeof known,
        .name = kind->set.name,
        .main = kind->set.main,
        .help = kind->set.help,
        .stacks = kind->stacks,
        .events = kind->events,
        .parts = kind->parts,
        .files = kind->files != NULL ? kind->files : "",
    };
    return rm_struct_give(&known, RM_STRUCT_SIZE(resmon_sink_kind), ret_kind);
}

static resmon_status refuse_file(const char *path)
{
    char endings[256];
    size_t length = 0;
    const struct rm_sink_kind *kind;
    for (size_t i = 0; (kind = rm_sink_kind_at(i)) != NULL; i++) {
        if (kind->files != NULL) {
            length += rm_text_set(endings + length, sizeof endings - length, " ");
            length += rm_text_set(endings + length, sizeof endings - length, kind->files);
        }
    }
    return rm_error(RESMON_ENOENT, "the file extension of '%.200s' is unknown; use one of:%s", path,
                    endings);
}

resmon_status resmon_sink_kind_of_file(const char *path, resmon_sink_kind *ret_kind)
{
    RM_KEEP_ERRNO;
    if (path == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_sink_kind_of_file: the path is NULL");
    }
    const struct rm_sink_kind *kind = rm_sink_kind_of_file(path);
    return kind != NULL ? give_kind(kind, ret_kind) : refuse_file(path);
}

resmon_status resmon_sink_kind_at(size_t index, resmon_sink_kind *ret_kind)
{
    RM_KEEP_ERRNO;
    const struct rm_sink_kind *kind = rm_sink_kind_at(index);
    if (kind == NULL) {
        return rm_error(RESMON_ENOENT, "there is no such sink: there are %zu",
                        resmon_sink_kind_count());
    }
    return give_kind(kind, ret_kind);
}

/* ---- a text with all options ---------------------------------------------------------------- */

/* "interval=DURATION", "smaps", "signals[=NAMES]" */
static void write_usage(struct rm_buffer *buffer, const char *prefix,
                        const struct rm_option_set *set, const struct rm_option *option)
{
    const char *type = rm_option_type_name(option->type);
    bool is_flag = option->type == RM_OPTION_FLAG;
    rm_buffer_printf(buffer, "%s%s%s%s", prefix, set->name, set->name[0] != '\0' ? "." : "",
                     option->type == RM_OPTION_LABELS ? "label.NAME" : option->key);
    rm_buffer_puts(buffer, is_flag ? "" : option->bare != NULL ? "[=" : "=");
    for (const char *p = type; *p != '\0' && !is_flag; p++) {
        const char letter = (char)(*p - 'a' + 'A');
        rm_buffer_add(buffer, &letter, 1);
    }
    rm_buffer_puts(buffer, !is_flag && option->bare != NULL ? "]" : "");
}

static void write_option(struct rm_buffer *buffer, const char *prefix,
                         const struct rm_option_set *set, const struct rm_option *option)
{
    const resmon_option known = describe("", set, option);
    write_usage(buffer, prefix, set, option);
    rm_buffer_printf(buffer, "\n%s        %s", prefix, known.help);
    if (known.values[0] != '\0') {
        rm_buffer_printf(buffer, "; %s", known.values);
    }
    if (known.low[0] != '\0') {
        rm_buffer_printf(buffer, "; %s to %s", known.low, known.high);
    }
    if (known.default_text[0] != '\0') {
        rm_buffer_printf(buffer, "; default %s", known.default_text);
    }
    rm_buffer_puts(buffer, "\n");
}

static void write_set(struct rm_buffer *buffer, const char *prefix, const struct rm_option_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        write_option(buffer, prefix, set, &set->options[i]);
    }
}

resmon_status resmon_option_text(char **ret_text)
{
    RM_KEEP_ERRNO;
    struct rm_buffer buffer;
    const struct rm_sink_kind *kind;
    if (ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_option_text: an argument is NULL");
    }
    rm_buffer_init(&buffer, LARGEST_TEXT);
    rm_buffer_puts(&buffer, "RESMON=key=value,key,sink=value,sink.key=value,...\n"
                            "Put a value with a comma in double quotes; a duration ends with ms, "
                            "s, min or h.\n\nThe run\n");
    for (size_t i = 0; i < RM_ARRAY_LEN(own_sets); i++) {
        write_set(&buffer, "  ", own_sets[i].set);
    }
    rm_buffer_puts(&buffer, "\nOutputs\n");
    for (size_t i = 0; (kind = rm_sink_kind_at(i)) != NULL; i++) {
        rm_buffer_printf(&buffer, "  %s=%s\n          %s\n", kind->set.name, kind->set.main,
                         kind->set.help);
        write_set(&buffer, "    ", &kind->set);
    }
    return rm_buffer_give(&buffer, RESMON_OK, ret_text);
}

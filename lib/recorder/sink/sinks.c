/* SPDX-License-Identifier: MIT */
#include "sink/sinks.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"

/* ---- the table ---------------------------------------------------------------------------- */

/* clang-format off */
#define RM_SINK(name) static const struct rm_option name##_options[] = {
#define RM_OPTION(key, type, member, traits, help_) \
    RM_OPTION_ROW(RM_OWNER, key, type, member, traits .help = (help_)),
#define RM_SINK_END(name, main, flags, parts, needs, help)                       \
    };                                                                           \
    static resmon_status make_##name(const void *options, struct rm_sink *ret)   \
    {                                                                            \
        return rm_##name##_sink_new(options, ret);                               \
    }
#include "sink/sinks.def"

static resmon_status push_mlflow(const resmon_run *run, const void *options)
{
    return rm_mlflow_push(run, options);
}

#define RM_FLAGS                .flags_offset = offsetof(RM_OWNER, flags)
#define RM_NO_FLAGS             .flags_offset = SIZE_MAX
#define RM_NO_NEEDS
#define RM_FILES(endings)        .files = (endings),
#define RM_EXPORTED_WITH(flag)   .export_flags = (flag),
#define RM_PUSHED                .push = push_mlflow,
#define RM_NEEDS_STACKS(stacks_) .stacks = (stacks_),
#define RM_NEEDS_EVENTS(events_) .events = (events_),
#define RM_SINK(name)
#define RM_OPTION(key, type, member, traits, help)
#define RM_SINK_END(name_, main_, flags, parts_, needs, help_)       \
    {.set = {.name = #name_,                                         \
             .main = (main_),                                        \
             .help = (help_),                                        \
             .options = name_##_options,                             \
             .count = RM_ARRAY_LEN(name_##_options),                 \
             flags},                                                 \
     .size = {sizeof(RM_OWNER), sizeof(RM_OWNER), "options of " #name_}, \
     .parts = (parts_),                                              \
     needs                                                           \
     .make = make_##name_},

static const struct rm_sink_kind kinds[] = {
#include "sink/sinks.def"
};
/* clang-format on */

const struct rm_sink_kind *rm_sink_kind_at(size_t index)
{
    return index < RM_ARRAY_LEN(kinds) ? &kinds[index] : NULL;
}

const struct rm_sink_kind *rm_sink_kind_find(const char *name)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].set.name, name) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* Length of the longest ending of the name that is in `endings`; 0: none. */
static size_t length_of_ending(const char *path, const char *endings)
{
    size_t best = 0;
    size_t path_length = strlen(path);
    for (const char *at = endings; *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        bool is_end = path_length > length && memcmp(path + path_length - length, at, length) == 0;
        best = is_end && length > best ? length : best;
        at += length;
    }
    return best;
}

const struct rm_sink_kind *rm_sink_kind_of_file(const char *path)
{
    const struct rm_sink_kind *found = NULL;
    size_t best = 0;
    for (size_t i = 0; i < RM_ARRAY_LEN(kinds); i++) {
        size_t length = kinds[i].files != NULL ? length_of_ending(path, kinds[i].files) : 0;
        if (length > best) {
            best = length;
            found = &kinds[i];
        }
    }
    return found;
}

/* ---- options ------------------------------------------------------------------------------ */

resmon_status rm_sink_take(const struct rm_sink_kind *kind, const void *given, void *ret_options)
{
    resmon_status status = RESMON_OK;
    memset(ret_options, 0, kind->size.known);
    if (given != NULL) {
        status = rm_struct_take(given, kind->size, ret_options);
    }
    return status == RESMON_OK ? rm_options_complete(&kind->set, ret_options) : status;
}

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for the options of a sink");
}

resmon_status rm_sink_parse(const struct rm_sink_kind *kind, const char *text,
                            struct rm_sink_options *ret_options)
{
    ret_options->values = rm_alloc(1, kind->size.known);
    ret_options->room = rm_alloc(1, strlen(text) + 1);
    if (ret_options->values == NULL || ret_options->room == NULL) {
        rm_sink_options_free(ret_options);
        return out_of_memory();
    }
    const struct rm_option_target target = {ret_options->values, ret_options->labels};
    memcpy(ret_options->values, &kind->size.known, sizeof kind->size.known); /* struct_size */
    resmon_status status = rm_options_parse(&kind->set, text, ret_options->room, &target);
    if (status != RESMON_OK) {
        rm_sink_options_free(ret_options);
    }
    return status;
}

void rm_sink_options_free(struct rm_sink_options *options)
{
    rm_free(options->values);
    rm_free(options->room);
    options->values = NULL;
    options->room = NULL;
}

resmon_status rm_sink_make(const struct rm_sink_kind *kind, const void *given,
                           struct rm_sink *ret_sink)
{
    void *options = rm_alloc(1, kind->size.known);
    if (options == NULL) {
        return out_of_memory();
    }
    resmon_status status = rm_sink_take(kind, given, options);
    if (status == RESMON_OK) {
        status = kind->make(options, ret_sink);
    }
    if (status == RESMON_OK) {
        ret_sink->ops.parts = kind->parts;
    }
    rm_free(options);
    return status;
}

/* ---- finished runs ------------------------------------------------------------------------- */

static resmon_status deliver(const struct rm_sink *sink, const resmon_run *run)
{
    resmon_status status =
        sink->ops.start != NULL ? sink->ops.start(sink->context, run) : RESMON_OK;
    if (status == RESMON_OK && sink->ops.stop != NULL) {
        status = sink->ops.stop(sink->context, run);
    }
    if (status == RESMON_OK && sink->ops.flush != NULL) {
        status = sink->ops.flush(sink->context);
    }
    return status;
}

static resmon_status make_and_deliver(const struct rm_sink_kind *kind, const void *options,
                                      const resmon_run *run)
{
    struct rm_sink sink = {0};
    resmon_status status = kind->make(options, &sink);
    if (status == RESMON_OK) {
        status = deliver(&sink, run);
        if (sink.ops.close != NULL) {
            sink.ops.close(sink.context);
        }
    }
    return status;
}

resmon_status rm_sink_export(const struct rm_sink_kind *kind, const void *given,
                             const resmon_run *run)
{
    unsigned char *options = rm_alloc(1, kind->size.known);
    if (options == NULL) {
        return out_of_memory();
    }
    resmon_status status = rm_sink_take(kind, given, options);
    if (status == RESMON_OK && kind->set.flags_offset != SIZE_MAX) {
        uint64_t flags;
        memcpy(&flags, options + kind->set.flags_offset, sizeof flags);
        flags |= kind->export_flags;
        memcpy(options + kind->set.flags_offset, &flags, sizeof flags);
    }
    if (status == RESMON_OK) {
        status =
            kind->push != NULL ? kind->push(run, options) : make_and_deliver(kind, options, run);
    }
    rm_free(options);
    return status;
}

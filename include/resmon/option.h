/* SPDX-License-Identifier: MIT */
/*
 * resmon/option.h - tables of the options of monitors and sinks, by name.
 *
 *     resmon_option option = {.struct_size = sizeof option};
 *     for (size_t i = 0; resmon_option_at(i, &option) == RESMON_OK; i++) {
 *         printf("%s %s: %s\n", option.owner, option.key, option.help);
 *     }
 *
 * The environment variable RESMON, resmon_monitor_new_text(), resmon_monitor_add() and the Python
 * package use these options.  Units, bounds, defaults and help texts come from the library's own
 * table.
 *
 * As text, options are "key=value,key,key=value"; a flag is its key alone.
 *
 * - A value ends at a comma.  A value in double quotes may contain commas; \" is a quote and \\ a
 *   backslash.
 * - A duration has a unit ("100ms", "1.5s", "2min", "1h"; without unit: ms).
 * - Names are joined by '+'.
 * - Labels are "label.NAME=VALUE".
 * - If an option is repeated, its last value applies.
 */
#ifndef RESMON_OPTION_H
#define RESMON_OPTION_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** An option.  Strings behind pointers are static, and never NULL.  Since 0.1. */
typedef struct resmon_option {
    size_t struct_size;
    const char *owner; /**< "monitor"; "carbon" (keys are "carbon.pue"); "environment": in the
                            variable RESMON only; otherwise the sink ("json": "json.interval" in
                            RESMON, "interval" in resmon_monitor_add()) */
    const char *key;   /**< "interval" */
    const char *type;  /**< "duration", "count", "share" (above 0), "number", "names", "choice",
                            "flag", "text", "path", "secret", "labels" (the key is "label") */
    const char *unit;  /**< "ms", "Hz" ...; "": none */
    const char *help;  /**< one or two sentences */
    int32_t is_needed; /**< 1: the option is required */
    int32_t is_main;   /**< 1: a value without key sets this option: "json=run.json", "carbon=FR" */
    int32_t has_bare;  /**< 1: the key may be used without a value */
    int32_t reserved;
    char low[32];          /**< lower bound, "1 ms"; "": no bounds */
    char high[32];         /**< upper bound, "24 h" */
    char default_text[96]; /**< "100 ms", or in words; "": no default */
    char values[160];      /**< the names that "names" and "choice" allow, separated by ", " */
} resmon_option;

/** Returns the number of options.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_option_count(void);

/**
 * Gets option `index`; the options of the monitor come first.
 * RESMON_ENOENT: past the end; RESMON_EINVAL: NULL, or struct_size is too small.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_option_at(size_t index, resmon_option *ret_option);

/**
 * Converts names joined by '+' to bits: "wall+rss" of the option "scopes" to RESMON_METER_*.
 * RESMON_ENOENT: `key` is not an option of the type "names"; RESMON_EINVAL: a name is unknown, or
 * an argument is NULL. Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_option_bits(const char *key, const char *names, uint64_t *ret_bits);

/** A kind of sink.  Strings are static.  Since 0.1. */
typedef struct resmon_sink_kind {
    size_t struct_size;
    const char *name; /**< "json" */
    const char *main; /**< key of the option that a value without key sets: "path" */
    const char *help;
    uint64_t stacks;   /**< RESMON_STACKS_* that this sink enables unless the option stacks is
                            set; 0: none */
    uint64_t events;   /**< scope instances that the monitor keeps for this sink unless the option
                            events is set */
    uint64_t parts;    /**< RESMON_PART_* of a run that the sink uses (<resmon/sink.h>) */
    const char *files; /**< extensions of its files, separated by " ": ".pb.gz .pprof"; "": none of
                            its own */
} resmon_sink_kind;

/** Returns the number of kinds of sinks.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_sink_kind_count(void);

/**
 * Gets kind of sink `index`.
 * RESMON_ENOENT: past the end; RESMON_EINVAL: NULL, or struct_size is too small.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_sink_kind_at(size_t index, resmon_sink_kind *ret_kind);

/**
 * Finds the kind of sink for a file by its extension: "trace" for "run.trace.json".
 * RESMON_ENOENT: no kind has this extension; the error text lists all extensions.  RESMON_EINVAL:
 * NULL, or struct_size is too small.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_sink_kind_of_file(const char *path, resmon_sink_kind *ret_kind);

/**
 * Renders all options as text for people, as RESMON=help prints them.
 * Free `ret_text` with resmon_text_free() of <resmon/report.h>.
 * RESMON_EINVAL: `ret_text` is NULL; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_option_text(char **ret_text);

RESMON_END_DECLS

#endif

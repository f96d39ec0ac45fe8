/* SPDX-License-Identifier: MIT */
/*
 * resmon/option.h - the options of monitors and sinks by their names: what the environment variable
 * RESMON, resmon_monitor_new_text(), resmon_monitor_add() and the Python package know, with units,
 * bounds, defaults and help, from the library's own table.
 *
 * As text, options are "key=value,key,key=value": flags are their key alone.  A value ends at a
 * comma, unless it stands in double quotes, in which \" and \\ are a quote and a backslash.  A
 * duration has a unit ("100ms", "1.5s", "2min", "1h"; without: ms), names are joined by '+', and
 * labels are "label.NAME=VALUE".  Of an option that is said twice, the last one counts.
 */
#ifndef RESMON_OPTION_H
#define RESMON_OPTION_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** An option.  Texts behind pointers are static, and never NULL.  Since 0.1. */
typedef struct resmon_option {
    size_t struct_size;
    const char *owner; /**< "monitor"; "carbon" (keys are "carbon.pue"); "environment": only the
                            variable RESMON has it; else the sink ("json": "json.interval" in
                          RESMON, "interval" for resmon_monitor_add()) */
    const char *key;   /**< "interval" */
    const char *type;  /**< "duration", "count", "share" (above 0), "number", "names", "choice",
                            "flag", "text", "path", "secret", "labels" (the key is "label") */
    const char *unit;  /**< "ms", "Hz" ...; "": none */
    const char *help;  /**< one or two sentences */
    int32_t is_needed; /**< 1: it must be said */
    int32_t is_main;   /**< 1: what a bare value is of: "json=run.json", "carbon=FR" */
    int32_t has_bare;  /**< 1: the key may stand alone */
    int32_t reserved;
    char low[32];          /**< "1 ms"; "": it has no bounds */
    char high[32];         /**< "24 h" */
    char default_text[96]; /**< "100 ms", or in words; "": there is none to tell */
    char values[160];      /**< names, of names and choices, joined by ", " */
} resmon_option;

/** How many options there are; option `index`, those of the monitor first: RESMON_ENOENT past the
 * end.  Thread class: any thread.  Since 0.1. */
RESMON_API size_t resmon_option_count(void);
RESMON_API resmon_status resmon_option_at(size_t index, resmon_option *ret_option);

/**
 * Names joined by '+' as bits: "wall+rss" of the option "scopes" as RESMON_METER_*.
 * RESMON_ENOENT: `key` is no option of names; RESMON_EINVAL: there is no such name.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_option_bits(const char *key, const char *names, uint64_t *ret_bits);

/** A kind of sink.  Texts are static.  Since 0.1. */
typedef struct resmon_sink_kind {
    size_t struct_size;
    const char *name; /**< "json" */
    const char *main; /**< key of the option that a bare value is of: "path" */
    const char *help;
    uint64_t stacks;   /**< RESMON_STACKS_* that the monitor takes for it, unless its option stacks
                            says others; 0: none */
    uint64_t events;   /**< scope instances that the monitor keeps for it, unless its option events
                            says how many */
    uint64_t parts;    /**< RESMON_PART_* of a run that it looks at (<resmon/sink.h>) */
    const char *files; /**< endings of the names of its files, " " between: ".pb.gz .pprof"; "": it
                            has none of its own */
} resmon_sink_kind;

/** How many kinds of sinks there are; kind `index`: RESMON_ENOENT past the end.
 * Thread class: any thread.  Since 0.1. */
RESMON_API size_t resmon_sink_kind_count(void);
RESMON_API resmon_status resmon_sink_kind_at(size_t index, resmon_sink_kind *ret_kind);

/** The kind of sink of which a file is by the ending of its name: "run.trace.json" of trace.
 * RESMON_ENOENT: of none; the text has all endings.  Thread class: any thread.  Since 0.1. */
RESMON_API resmon_status resmon_sink_kind_of_file(const char *path, resmon_sink_kind *ret_kind);

/** All options as text for people, which RESMON=help prints.  Free `ret_text` with
 * resmon_text_free() of <resmon/report.h>.  RESMON_EINVAL, RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1. */
RESMON_API resmon_status resmon_option_text(char **ret_text);

RESMON_END_DECLS

#endif

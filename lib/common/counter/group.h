/* SPDX-License-Identifier: MIT */
/*
 * Owns the tables of counters (events.def, groups.def) and look-ups in them, the parser of the
 * options' groups and events, and formulas over counts: + - * / and parentheses, decimal
 * numbers, and names. Pure.
 */
#ifndef RM_COUNTER_GROUP_H
#define RM_COUNTER_GROUP_H

#include <resmon/status.h>

#include "base/parse.h"
#include "counter/event.h"

/* A metric of a microarchitecture. */
struct rm_counter_row {
    char group[12], metric[28];
    uint32_t archs;
    const char *formula; /* NULL: the hardware cannot measure it; `note` has the reason */
    const char *note;    /* NULL: no note */
};

/* An event of a microarchitecture. */
struct rm_counter_code {
    char alias[24]; /* name in formulas */
    uint32_t archs;
    const char *name; /* libpfm4 name; NULL: none */
    uint64_t code;
    uint64_t config1; /* of the kernel's attributes: mask of an offcore response; 0: none */
};

/** Row `index` of a table; NULL past the last. */
const struct rm_counter_row *rm_counter_row_at(size_t index);
const struct rm_counter_code *rm_counter_code_at(size_t index);

/** The row of a metric for a microarchitecture; NULL: no such metric. */
const struct rm_counter_row *rm_counter_row_of(const char *metric, uint32_t arch);

/** The event with this alias in formulas; false: none. */
bool rm_counter_event(const char *alias, uint32_t arch, struct rm_perf_event *ret_event);

#define RM_FORMULA_EVENTS 6

/** The row of a metric, and its formula's events.  RESMON_ENOTSUP: the hardware cannot measure it;
 * the text has the reason, and ret_row is set. */
resmon_status rm_counter_row_find(const char *metric, uint32_t arch,
                                  const struct rm_counter_row **ret_row,
                                  struct rm_perf_event ret_events[RM_FORMULA_EVENTS],
                                  size_t *ret_count);

/** The names in a formula, each once.  RESMON_EINVAL: bad formula, or too many names. */
resmon_status rm_counter_names(const char *formula,
                               char ret_names[RM_FORMULA_EVENTS][RM_EVENT_NAME_BYTES],
                               size_t *ret_count);

/* ---- requested counters ------------------------------------------------------------------- */

#define RM_COUNTERS_DEFAULT UINT32_C(1)
#define RM_COUNTERS_L2      UINT32_C(2)
#define RM_COUNTERS_L3      UINT32_C(4)
#define RM_COUNTERS_FLOPS   UINT32_C(8)
#define RM_COUNTERS_MEMORY  UINT32_C(16)
#define RM_COUNTERS_EVENTS  UINT32_C(32) /* events by name */
#define RM_COUNTERS_L2CACHE UINT32_C(64)
#define RM_COUNTERS_L3CACHE UINT32_C(128)

#define RM_WANTED_EVENTS 16

struct rm_counters_wanted {
    uint32_t groups; /* RM_COUNTERS_* */
    size_t event_count;
    struct rm_perf_event events[RM_WANTED_EVENTS];
};

/**
 * Parses "default+l2+INST_RETIRED:ANY_P": groups and events, joined by '+'.  RESMON_EINVAL: a
 * bad or repeated event, or more than `most`.
 */
resmon_status rm_counters_parse(const char *text, size_t most,
                                struct rm_counters_wanted *ret_wanted);

/** The nearest group or named event to `name`, for a suggestion; NULL: none. */
const char *rm_counters_nearest(const char *name);

/** Name of group `index`; NULL past the last. */
const char *rm_counters_group(size_t index, uint32_t *ret_bit);

/** Returns the value of a name; false: unknown name. */
typedef bool (*rm_formula_value_fn)(void *context, struct rm_text name, double *ret_value);

/**
 * Evaluates a formula; NaN if a value is NaN, and for a division by zero.  RESMON_EINVAL: bad
 * formula, nesting deeper than 32, or an unknown name.
 */
resmon_status rm_formula_evaluate(const char *text, rm_formula_value_fn value, void *context,
                                  double *ret_value);

#endif

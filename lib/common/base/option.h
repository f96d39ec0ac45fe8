/* SPDX-License-Identifier: MIT */
/*
 * Owns the definition of an option of a monitor or of a sink: a table row with its key, the struct
 * member of its value, its bounds, default and help.  The rows drive the parsing of
 * "key=value,key,...", the check of a struct that a program filled in, the defaults, and all texts
 * about options.  Pure.  The tables are setup/options.def and sink/sinks.def.
 */
#ifndef RM_BASE_OPTION_H
#define RM_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/prometheus.h>
#include <resmon/status.h>

#include "base/compiler.h"
#include "base/option_text.h"

enum rm_option_type {
    RM_OPTION_DURATION, /* uint64_t, ms; as text "100ms", "1.5s", "2min", "1h"; a bare number: ms */
    RM_OPTION_COUNT,    /* uint64_t, size_t or int64_t, from 1 on; 0 in a struct: not set */
    RM_OPTION_SHARE,    /* double above 0; 0: not set */
    RM_OPTION_NUMBER,   /* double; 0: not set, unless zero_flag is set */
    RM_OPTION_NAMES,    /* uint64_t, bits; as text names joined by '+'; 0: not set */
    RM_OPTION_CHOICE,   /* bits of `flags`; as text one name */
    RM_OPTION_FLAG,     /* one bit of `flags`; as text the key alone */
    RM_OPTION_TEXT,     /* const char *; NULL: not set */
    RM_OPTION_PATH,
    RM_OPTION_SECRET, /* a text that never appears in messages */
    RM_OPTION_LABELS  /* an array of resmon_label; as text "label.NAME=VALUE" */
};

/* How a name of an RM_OPTION_NAMES option can be used. */
enum rm_name_use {
    RM_NAME_JOINED, /* joined with others by '+' */
    RM_NAME_ALONE,  /* alone only: "none" */
    RM_NAME_FLAG    /* alone only; its bits go to the member `flags` */
};

struct rm_option_name {
    char name[16]; /* an array: each pointer would cost a relocation */
    uint64_t bits;
    enum rm_name_use use;
};

struct rm_option {
    char key[24];
    const char *help;
    const char *unit;         /* of a count or a number; NULL: none */
    const char *default_text; /* the default in words; NULL: the number `default_value` */
    const char *bare;         /* the value for a key without a value; NULL: a value is required */
    const struct rm_option_name *names;
    size_t name_count;
    double low, high, default_value; /* default_value 0: no default is filled in */
    uint64_t bits;                   /* of a flag; of names: the default */
    uint64_t zero_flag;              /* bit of `flags`: the number 0 is intended */
    enum rm_option_type type;
    bool is_needed;
    bool is_signed;      /* of a count: the member is an int64_t */
    bool is_without;     /* the option has no effect with `with_bits`, instead of without them */
    size_t offset;       /* of the member; not used for flags and choices */
    size_t count_offset; /* of the number of labels */
    const char *with; /* "stacks=cpu": the option needs this to have an effect; NULL: it always has
                         an effect */
    size_t with_offset;   /* of the member that is checked for `with_bits` */
    size_t or_offsets[2]; /* of other members that are enough if not 0; 0: no such member */
    uint64_t with_bits;   /* bits, any of which must be set */
};

/* The options of one owner, which one struct holds. */
struct rm_option_set {
    const char *name; /* "json", also the prefix of its keys in a longer text; "": the monitor */
    const char *main; /* key for a value without a key; NULL: no such key */
    const char *help;
    const struct rm_option *options;
    size_t count;
    size_t flags_offset;
};

/* Traits of a row: each ends in a comma, so that several can follow each other. */
#define RM_RANGE(low_, high_, default_) .low = (low_), .high = (high_), .default_value = (default_),
#define RM_DEFAULT(text)                .default_text = (text),
#define RM_UNIT(text)                   .unit = (text),
#define RM_NAMES(table)                 .names = (table), .name_count = RM_ARRAY_LEN(table),
#define RM_FILLED(bits_)                .bits = (bits_),
#define RM_BIT(bits_)                   .bits = (bits_), .bare = "",
#define RM_BARE(text)                   .bare = (text),
#define RM_SIGNED                       .is_signed = true,
#define RM_ZERO(flag)                   .zero_flag = (flag),
#define RM_NEEDED                       .is_needed = true,
#define RM_LABELS(type)                 .count_offset = offsetof(type, label_count),
#define RM_WITH(member, bits_, text) \
    .with = (text), .with_offset = offsetof(RM_OWNER, member), .with_bits = (bits_),
#define RM_WITH_ANY(member, other, third, text)                                \
    RM_WITH(member, UINT64_MAX, text).or_offsets = {offsetof(RM_OWNER, other), \
                                                    offsetof(RM_OWNER, third)},
#define RM_NOT_WITH(member, bits_, text) RM_WITH(member, bits_, text).is_without = true,

/* The offset of a member.  If the member does not have the option's type, an array has a negative
 * length. */
#define RM_OPTION_PLACE(owner, type_, member) \
    (offsetof(owner, member) +                                                              \
     0 * sizeof(char[_Generic(&((owner *)0)->member, uint64_t *                             \
                              : RM_OPTION_##type_ <= RM_OPTION_FLAG &&                      \
                                      RM_OPTION_##type_ != RM_OPTION_SHARE &&               \
                                      RM_OPTION_##type_ != RM_OPTION_NUMBER, int64_t *      \
                              : RM_OPTION_##type_ == RM_OPTION_COUNT, double *              \
                              : RM_OPTION_##type_ == RM_OPTION_SHARE ||                     \
                                      RM_OPTION_##type_ == RM_OPTION_NUMBER,                \
                                default                                                     \
                              : RM_OPTION_##type_ >= RM_OPTION_TEXT)                        \
                         ? 1                                                                \
                         : -1]))

/* A row: `owner` is the struct, traits and help follow. */
#define RM_OPTION_ROW(owner, key_, type_, member, ...)                                           \
    {                                                                                            \
        .key = key_, .type = RM_OPTION_##type_, .offset = RM_OPTION_PLACE(owner, type_, member), \
        __VA_ARGS__                                                                              \
    }

/* ---- values ----------------------------------------------------------------------------- */

#define RM_OPTION_LABELS_MOST 32

/* The destination of values. */
struct rm_option_target {
    void *options;        /* the struct of the set */
    resmon_label *labels; /* RM_OPTION_LABELS_MOST; NULL: the set has no labels */
};

/** The option of a key; for "label.NAME" the labels option.  NULL: no such option. */
RM_SHARED const struct rm_option *rm_option_find(const struct rm_option_set *set, const char *key);

/** Tries all keys of a set as suggestions. */
void rm_option_near(const struct rm_option_set *set, struct rm_nearest *nearest);

/** Sets the option to the value of a part; texts are not copied.  RESMON_EINVAL, RESMON_ERANGE: the
 * error text has the key, the value, the allowed values and the default. */
resmon_status rm_option_set(const struct rm_option_set *set, const struct rm_option *option,
                            const struct rm_option_part *part,
                            const struct rm_option_target *target);

/** RESMON_EINVAL: the part is not an option of the set; the error text has a suggestion and all
 * keys. */
resmon_status rm_option_refuse(const struct rm_option_set *set, const struct rm_option_part *part);

/** Parses a whole text of a set.  `room` is a buffer of strlen(text) + 1 bytes that holds the
 * texts. */
resmon_status rm_options_parse(const struct rm_option_set *set, const char *text, char *room,
                               const struct rm_option_target *target);

/** Checks a struct that a program filled in, and replaces 0 by defaults.  RESMON_ERANGE,
 * RESMON_EINVAL. */
resmon_status rm_options_complete(const struct rm_option_set *set, void *options);

/** Lists the options that are set in `given` but have no effect.  `completed` is `given` with its
 * defaults.  Lines such as "stack_hz has no effect without stacks=cpu", joined by "\n". */
void rm_options_remark(const struct rm_option_set *set, const void *given, const void *completed,
                       char *text, size_t room);

/** Unsets the option at the beginning of an error text: "counters: ...".  NULL: the text does not
 * begin with a set option. */
const struct rm_option *rm_options_forget(const struct rm_option_set *set, void *options,
                                          const char *failure);

/** Bits of names joined by '+'. */
resmon_status rm_option_bits(const struct rm_option *option, const char *text, uint64_t *ret_bits);

/* ---- texts about options ---------------------------------------------------------------- */

#define RM_OPTION_VALUE_BYTES 96

/* Units of durations, the longest first. */
#define RM_OPTION_TIMES 4
extern const struct rm_option_time {
    const char *name;
    uint64_t ms;
} rm_option_times[RM_OPTION_TIMES];

/** Formats a number: "1.5 s", "99 Hz", or "99" without its unit (a duration keeps its unit). */
void rm_option_write(const struct rm_option *option, double value, bool with_unit,
                     char text[RM_OPTION_VALUE_BYTES]);

/** "count", "duration" ... */
const char *rm_option_type_name(enum rm_option_type type);

/** The key as in RESMON: "json.interval". */
void rm_option_full_name(const struct rm_option_set *set, const struct rm_option *option,
                         char name[RM_OPTION_VALUE_BYTES]);

/** The default, or the bounds, as text; "" if there are none. */
void rm_option_default(const struct rm_option *option, char text[RM_OPTION_VALUE_BYTES]);
void rm_option_low(const struct rm_option *option, char text[RM_OPTION_VALUE_BYTES]);
void rm_option_high(const struct rm_option *option, char text[RM_OPTION_VALUE_BYTES]);

/** Lists the names of an option, or the keys of a set, joined by ", ". */
void rm_option_list_names(const struct rm_option *option, char *text, size_t room);
void rm_option_list_keys(const struct rm_option_set *set, char *text, size_t room);

#endif

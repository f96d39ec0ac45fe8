/* SPDX-License-Identifier: MIT */
/*
 * Owns what an option is, of a monitor or of a sink: a row of a table with its key, the member of a
 * struct that holds its value, its bounds, default and help.  From the rows come the reading of
 * "key=value,key,...", the check of a struct that a program filled in, defaults, and all texts
 * about them.  Pure.  The tables are setup/options.def and sink/sinks.def.
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
    RM_OPTION_COUNT,    /* uint64_t, size_t or int64_t, from 1 on; 0 in a struct: not said */
    RM_OPTION_SHARE,    /* double above 0; 0: not said */
    RM_OPTION_NUMBER,   /* double; 0: not said, unless zero_flag says that it is meant */
    RM_OPTION_NAMES,    /* uint64_t, bits; as text names joined by '+'; 0: not said */
    RM_OPTION_CHOICE,   /* bits of `flags`; as text one name */
    RM_OPTION_FLAG,     /* one bit of `flags`; as text the key alone */
    RM_OPTION_TEXT,     /* const char *; NULL: not said */
    RM_OPTION_PATH,
    RM_OPTION_SECRET, /* a text that no message shows */
    RM_OPTION_LABELS  /* an array of resmon_prometheus_label; as text "label.NAME=VALUE" */
};

/* How a name of an option of names is used. */
enum rm_name_use {
    RM_NAME_JOINED, /* with others, by '+' */
    RM_NAME_ALONE,  /* by itself only: "none" */
    RM_NAME_FLAG    /* by itself only, and its bits go to the member `flags` */
};

struct rm_option_name {
    char name[16]; /* no pointer: each costs a relocation */
    uint64_t bits;
    enum rm_name_use use;
};

struct rm_option {
    char key[24];
    const char *help;
    const char *unit;         /* of a count or a number; NULL: none */
    const char *default_text; /* the default in words; NULL: the number `default_value` */
    const char *bare;         /* what the key alone stands for; NULL: it takes a value */
    const struct rm_option_name *names;
    size_t name_count;
    double low, high, default_value; /* the default: 0: nothing is filled in */
    uint64_t bits;                   /* of a flag; of names: the default */
    uint64_t zero_flag;              /* of `flags`: the number 0 is meant */
    enum rm_option_type type;
    bool is_needed;
    bool is_signed;      /* of a count: the member is an int64_t */
    bool is_without;     /* it has no effect beside `with_bits`, not without them */
    size_t offset;       /* of the member; of flags and choices not used */
    size_t count_offset; /* of the number of labels */
    const char *with;    /* "stacks=cpu": it has no effect without that; NULL: it has one always */
    size_t with_offset;  /* of the member that says so: */
    size_t or_offset;    /* or of another, which is not 0; 0: there is none */
    uint64_t with_bits;  /* it has one of these bits */
};

/* The options of one owner, which one struct holds. */
struct rm_option_set {
    const char *name; /* "json", and the beginning of its keys in a longer text; "": the monitor */
    const char *main; /* key that a value without a key is of; NULL: there is none */
    const char *help;
    const struct rm_option *options;
    size_t count;
    size_t flags_offset;
};

/* Traits of a row: each ends in a comma, so that several stand side by side. */
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
#define RM_WITH_EITHER(member, other, text) \
    RM_WITH(member, UINT64_MAX, text).or_offset = offsetof(RM_OWNER, other),
#define RM_NOT_WITH(member, bits_, text) RM_WITH(member, bits_, text).is_without = true,

/* A member's place, if it is of the option's type: else there is an array of negative length. */
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

/* Where values go. */
struct rm_option_target {
    void *options;                   /* the struct of the set */
    resmon_prometheus_label *labels; /* RM_OPTION_LABELS_MOST; NULL: the set has none */
};

/** The option of a key; of "label.NAME" the labels.  NULL: there is none. */
RM_SHARED const struct rm_option *rm_option_find(const struct rm_option_set *set, const char *key);

/** Looks at all keys of a set for the one that was meant. */
void rm_option_near(const struct rm_option_set *set, struct rm_nearest *nearest);

/** Sets the option to the value of a part; texts point to where it stands.  RESMON_EINVAL,
 * RESMON_ERANGE: the text says key, value, what is allowed, and the default. */
resmon_status rm_option_set(const struct rm_option_set *set, const struct rm_option *option,
                            const struct rm_option_part *part,
                            const struct rm_option_target *target);

/** RESMON_EINVAL: the part is no option of the set; the one that was meant, and all that it has. */
resmon_status rm_option_refuse(const struct rm_option_set *set, const struct rm_option_part *part);

/** Reads a whole text of a set; `room` of strlen(text) + 1 bytes is where texts stay. */
resmon_status rm_options_parse(const struct rm_option_set *set, const char *text, char *room,
                               const struct rm_option_target *target);

/** Checks a struct that was filled in, and puts defaults where 0 stands for them.  RESMON_ERANGE,
 * RESMON_EINVAL. */
resmon_status rm_options_complete(const struct rm_option_set *set, void *options);

/** What was said in `given` and has no effect in `completed`, the same with its defaults, as
 * "stack_hz has no effect without stacks=cpu", joined by "\n". */
void rm_options_remark(const struct rm_option_set *set, const void *given, const void *completed,
                       char *text, size_t room);

/** Takes back the option that a text about a failure begins with: "counters: ...".  NULL: that is
 * none which was said. */
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

/** A value of a number: "1.5 s", "99 Hz", or "99" without its unit (that of a duration stays). */
void rm_option_write(const struct rm_option *option, double value, bool with_unit,
                     char text[RM_OPTION_VALUE_BYTES]);

/** "count", "duration" ... */
const char *rm_option_type_name(enum rm_option_type type);

/** The key as it stands in RESMON: "json.interval". */
void rm_option_full_name(const struct rm_option_set *set, const struct rm_option *option,
                         char name[RM_OPTION_VALUE_BYTES]);

/** The default; "" when there is none to tell.  Its least and most; "" where it has none. */
void rm_option_default(const struct rm_option *option, char text[RM_OPTION_VALUE_BYTES]);
void rm_option_low(const struct rm_option *option, char text[RM_OPTION_VALUE_BYTES]);
void rm_option_high(const struct rm_option *option, char text[RM_OPTION_VALUE_BYTES]);

/** Its names, or the keys of a set, joined by ", ". */
void rm_option_list_names(const struct rm_option *option, char *text, size_t room);
void rm_option_list_keys(const struct rm_option_set *set, char *text, size_t room);

#endif
